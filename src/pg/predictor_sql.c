/*
 * predictor_sql.c - chooses and drops predictors, and the trigger that refuses
 * changes of rows.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "cache/predictor_cache.h"
#include "catalog.h"
#include "locks.h"
#include "plans.h"
#include "triggers.h"

PG_FUNCTION_INFO_V1(pm_activate_predictor);
PG_FUNCTION_INFO_V1(pm_drop_predictor);
PG_FUNCTION_INFO_V1(pm_refuse_update);

static const char *
name_arg(FunctionCallInfo fcinfo)
{
	pm_require_catalog();
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("predictor name must not be null")));
	return text_to_cstring(PG_GETARG_TEXT_PP(0));
}

static void
require_predictor(const char *name)
{
	static pm_plan find = {
		"SELECT FROM perfmodel.predictor WHERE name OPERATOR(pg_catalog.=) $1", 1, {TEXTOID}
	};
	Datum		arg = CStringGetTextDatum(name);

	if (pm_run(&find, &arg, NULL, false) == 0)
		pm_no_such_predictor(name);
}

/* Run a statement that returns the predictor_id of the one row it is for. done: what it does with it, for an error. */
static int64
run_for(pm_plan *p, const char *name, const char *done)
{
	Datum		arg = CStringGetTextDatum(name);

	if (pm_run(p, &arg, NULL, false) == 0)
	{
		/* only now: until then another transaction may have dropped it */
		require_predictor(name);
		pm_not_stored(p, "predictor", done);
	}
	return DatumGetInt64(pm_value(0, 1, INT8OID, NULL));
}

/* Make the others of its quantity no active ones. */
#define OTHER_ACTIVE \
	" WHERE active AND name OPERATOR(pg_catalog.<>) $1" \
	" AND quantity OPERATOR(pg_catalog.=) (SELECT quantity FROM perfmodel.predictor WHERE name OPERATOR(pg_catalog.=) $1)"
static void
deactivate_others(const char *name)
{
	static pm_plan deactivate = {"UPDATE perfmodel.predictor SET active = false" OTHER_ACTIVE, 1, {TEXTOID}};
	static pm_plan left = {"SELECT FROM perfmodel.predictor" OTHER_ACTIVE, 1, {TEXTOID}};
	Datum		arg = CStringGetTextDatum(name);

	pm_run(&deactivate, &arg, NULL, false);
	if (pm_run(&left, &arg, NULL, false) > 0)
		pm_not_stored(&deactivate, "predictor", "stored");
}

/*
 * Say which devices the active predictor was trained on and this one was not:
 * for them its answers come from data sheets alone. Before it takes over.
 */
static void
notice_devices_lost(const char *name)
{
	static pm_plan lost = {
		"SELECT a.name, pg_catalog.array_to_string(l.gpus[1:5], ', '), pg_catalog.cardinality(l.gpus)"
		" FROM perfmodel.predictor AS a JOIN perfmodel.predictor AS n ON n.quantity OPERATOR(pg_catalog.=) a.quantity,"
		" LATERAL (SELECT ARRAY(SELECT g FROM pg_catalog.unnest(a.gpus) AS g WHERE g OPERATOR(pg_catalog.<>) ALL (n.gpus)) AS gpus) AS l"
		" WHERE a.active AND a.name OPERATOR(pg_catalog.<>) n.name AND n.name OPERATOR(pg_catalog.=) $1"
		" AND pg_catalog.cardinality(l.gpus) OPERATOR(pg_catalog.>) 0", 1, {TEXTOID}
	};
	Datum		arg = CStringGetTextDatum(name);
	int			n;

	if (pm_run(&lost, &arg, NULL, false) == 0)
		return;
	n = DatumGetInt32(pm_value(0, 3, INT4OID, NULL));
	ereport(NOTICE,
			(errmsg("predictor \"%s\" was not trained on %d of the devices that \"%s\" was trained on", name, n,
					TextDatumGetCString(pm_value(0, 1, TEXTOID, NULL))),
			 errdetail("For %s%s its answers rest on data sheets.", TextDatumGetCString(pm_value(0, 2, TEXTOID, NULL)), n > 5 ? ", ..." : ""),
			 errhint("perfmodel.activate_predictor('%s') goes back.", TextDatumGetCString(pm_value(0, 1, TEXTOID, NULL)))));
}

Datum
pm_activate_predictor(PG_FUNCTION_ARGS)
{
	static pm_plan activate = {
		"UPDATE perfmodel.predictor SET active = true WHERE name OPERATOR(pg_catalog.=) $1 RETURNING predictor_id",
		1, {TEXTOID}
	};
	const char *name = name_arg(fcinfo);
	int64		id;

	PreventCommandIfReadOnly("perfmodel.activate_predictor()");
	SPI_connect();
	/* one at a time, so that there is never a moment with two */
	pm_lock_name("active predictor", "");
	require_predictor(name);
	notice_devices_lost(name);
	deactivate_others(name);
	id = run_for(&activate, name, "stored");
	SPI_finish();
	PG_RETURN_INT64(id);
}

/* Said before the trigger on its table would, whose words stand in the context of statements that the user has not written. */
static void
refuse_of_extension(const char *name)
{
	static pm_plan find = {
		"SELECT FROM perfmodel.predictor WHERE name OPERATOR(pg_catalog.=) $1 AND predictor_id OPERATOR(pg_catalog.<) 0", 1, {TEXTOID}
	};
	Datum		arg = CStringGetTextDatum(name);

	if (pm_run(&find, &arg, NULL, false) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("predictor \"%s\" came with an extension and goes with it", name),
				 errhint("DROP EXTENSION perfmodel_pretrained removes it; perfmodel.activate_predictor makes another one answer.")));
}

Datum
pm_drop_predictor(PG_FUNCTION_ARGS)
{
	static pm_plan drop = {
		"DELETE FROM perfmodel.predictor WHERE name OPERATOR(pg_catalog.=) $1 RETURNING predictor_id, active", 1, {TEXTOID}
	};
	const char *name = name_arg(fcinfo);
	int64		id;

	PreventCommandIfReadOnly("perfmodel.drop_predictor()");
	SPI_connect();
	refuse_of_extension(name);
	id = run_for(&drop, name, "deleted");
	if (DatumGetBool(pm_value(0, 2, BOOLOID, NULL)))
		ereport(NOTICE,
				(errmsg("predictor \"%s\" was the active one; none is active now", name),
				 errhint("perfmodel.activate_predictor('name') makes another one answer.")));
	SPI_finish();
	PG_RETURN_INT64(id);
}

/* Trigger, before update of each row: no. Its argument is the hint. */
Datum
pm_refuse_update(PG_FUNCTION_ARGS)
{
	TriggerData *t = pm_trigger_call(fcinfo, "refuse_update");

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("rows of perfmodel.%s cannot be changed", RelationGetRelationName(t->tg_relation)),
			 t->tg_trigger->tgnargs > 0 ? errhint("%s", t->tg_trigger->tgargs[0]) : 0));
}
