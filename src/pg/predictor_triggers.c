/*
 * predictor_triggers.c - rules for predictors in all tables that hold some.
 *
 * The predictor of the extension perfmodel_pretrained stands in a table that
 * inherits from perfmodel.predictor.  No constraint of the server spans the two,
 * so triggers on both see to it that a name is used once, that of a quantity one
 * predictor at most is active, and that what came with an extension goes with it only and keeps its name.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "locks.h"
#include "plans.h"
#include "predictor_name.h"
#include "tables.h"
#include "triggers.h"

PG_FUNCTION_INFO_V1(pm_guard_predictor);
PG_FUNCTION_INFO_V1(pm_refuse_delete);

/* Name of a predictor in a table but this one with a word, in the current context; NULL: there is none. Inside SPI_connect(). */
static char *
in_other_table(pm_plan *query, Oid table, const char *word)
{
	Datum		args[2] = {ObjectIdGetDatum(table), CStringGetTextDatum(word)};

	return pm_run(query, args, NULL, false) > 0 ? pm_value_text(0, 1, CurrentMemoryContext) : NULL;
}

static void
guard_name(Oid table, const char *name)
{
	static pm_plan taken = {
		"SELECT name FROM perfmodel.predictor WHERE tableoid OPERATOR(pg_catalog.<>) $1 AND name OPERATOR(pg_catalog.=) $2",
		2, {OIDOID, TEXTOID}
	};

	pm_predictor_name_check(name);
	pm_lock_name("predictor", name);
	if (in_other_table(&taken, table, name) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("predictor \"%s\" already exists", name),
				 errhint("SELECT name FROM perfmodel.predictor lists the names that are taken.")));
}

/*
 * Of a quantity. A predictor that is inserted as the active one, as by pg_restore, takes over
 * from one that came with an extension and is active because it was the first.
 */
static void
guard_active(Oid table, const char *quantity, bool inserted)
{
	static pm_plan active = {
		"SELECT name FROM perfmodel.predictor WHERE active AND tableoid OPERATOR(pg_catalog.<>) $1"
		" AND quantity OPERATOR(pg_catalog.=) $2", 2, {OIDOID, TEXTOID}
	};
	static pm_plan deactivate = {
		"UPDATE perfmodel.predictor SET active = false WHERE active AND tableoid OPERATOR(pg_catalog.<>) $1"
		" AND quantity OPERATOR(pg_catalog.=) $2", 2, {OIDOID, TEXTOID}
	};
	Datum		args[2] = {ObjectIdGetDatum(table), CStringGetTextDatum(quantity)};
	char	   *other;

	pm_lock_name("active predictor", "");
	other = in_other_table(&active, table, quantity);
	if (other == NULL)
		return;
	if (!inserted || table != pm_table("predictor"))
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("predictor \"%s\" is already active, and only one can be", other),
				 errhint("perfmodel.activate_predictor makes another one the active one.")));
	pm_run(&deactivate, args, NULL, false);
}

/*
 * A predictor that came with an extension keeps its name: pg_dump leaves its row out, and CREATE EXTENSION
 * brings it back under the name that it came with, which a predictor trained here may have taken meanwhile.
 */
static void
guard_own_name(const TriggerData *t, const char *old_name)
{
	if (old_name != NULL && RelationGetRelid(t->tg_relation) != pm_table("predictor") && !creating_extension)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("predictor \"%s\" came with an extension and keeps its name", old_name),
				 errdetail("CREATE EXTENSION brings it back under this name when a dump is restored."),
				 errhint("If a predictor of your own needs this name, give that one another.")));
}

/* Trigger, before insert or update of each row of a table of predictors. */
Datum
pm_guard_predictor(PG_FUNCTION_ARGS)
{
	HeapTuple	row = pm_trigger_row(fcinfo, "guard_predictor");
	const TriggerData *t = (const TriggerData *) fcinfo->context;
	HeapTuple	old = pm_trigger_old_row(t);
	char	   *name = pm_trigger_text(t->tg_relation, row, "name");
	char	   *old_name = old ? pm_trigger_text(t->tg_relation, old, "name") : NULL;
	char	   *quantity = pm_trigger_text(t->tg_relation, row, "quantity");
	bool		active = pm_trigger_bool(t->tg_relation, row, "active");
	bool		was_active = old && pm_trigger_bool(t->tg_relation, old, "active");

	SPI_connect();
	if (name != NULL && (old_name == NULL || strcmp(name, old_name) != 0))
	{
		guard_name(RelationGetRelid(t->tg_relation), name);
		guard_own_name(t, old_name);
	}
	if (active && !was_active && quantity != NULL)
		guard_active(RelationGetRelid(t->tg_relation), quantity, old == NULL);
	SPI_finish();
	return PointerGetDatum(row);
}

/* Trigger, before delete of each row or before truncate: only a script of the extension may. Its argument is the hint. */
Datum
pm_refuse_delete(PG_FUNCTION_ARGS)
{
	const TriggerData *t = pm_trigger_call(fcinfo, "refuse_delete");

	if (!creating_extension)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("rows of perfmodel.%s came with an extension and go with it", RelationGetRelationName(t->tg_relation)),
				 t->tg_trigger->tgnargs > 0 ? errhint("%s", t->tg_trigger->tgargs[0]) : 0));
	return PointerGetDatum(pm_trigger_old_row(t));
}
