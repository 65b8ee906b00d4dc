/*
 * train_steps.c - the steps of a training, in their order.
 *
 * What is cheap to refuse comes first (name, kind, options, rights, rows,
 * memory), then the computation, then the rows.
 *
 * Memory: rows and graphs in "perfmodel rows"; the core's arena in "perfmodel
 * train", bounded by perfmodel.train_mem.  Both are below the context that the
 * step ran in and go with it when it fails.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "cache/freshness.h"
#include "cache/predictor_cache.h"
#include "context_arena.h"
#include "errors.h"
#include "kind_options.h"
#include "locks.h"
#include "measurements.h"
#include "op_measurements.h"
#include "plans.h"
#include "predictor_name.h"
#include "results.h"
#include "run_hooks.h"
#include "settings.h"
#include "tables.h"
#include "training.h"

double
pm_memory_needed(const pm_kind *kind, const pm_options *o, const pm_dataset *d, const pm_rows *rows, int threads)
{
	return (kind->memory != NULL ? kind->memory(o, d, threads) : 0) + pm_rows_bytes(rows);
}

double
pm_memory_limit(void)
{
	return (double) pm_train_mem_kb * 1024;
}

double
pm_check_memory(const pm_kind *kind, const pm_options *o, const pm_dataset *d, const pm_rows *rows, int threads)
{
	double		needed = pm_memory_needed(kind, o, d, rows, threads);

	if (needed > pm_memory_limit())
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("training needs about %.0f MB, more than perfmodel.train_mem allows",
						ceil(needed / (1024 * 1024))),
				 errdetail("perfmodel.train_mem is %.0f MB; there are %d measurements and %d threads.",
						   pm_memory_limit() / (1024 * 1024), d->n, threads),
				 errhint("Raise perfmodel.train_mem, lower perfmodel.train_threads, or train on fewer measurements.")));
	return needed;
}

/* ---------- before anything is read ---------- */

static void
choose_start(pm_training *t)
{
	const pm_kind *kind = t->predictor.kind;
	pm_predictor_ref from;
	pm_status	st = {PM_OK};

	if (kind->check_start == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("kind \"%s\" cannot start from another predictor", kind->name),
				 errhint("Kind \"mdot\" can; train the others from scratch.")));
	pm_freshen();
	pm_predictor_get(t->warm_start, &from);
	if (from.predictor->kind != kind)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("predictor \"%s\" is of kind \"%s\", and the training is of kind \"%s\"",
						t->warm_start, from.predictor->kind->name, kind->name),
				 errhint("A warm start needs a predictor of the same kind.")));
	pm_options_after_start(kind, from.predictor, t->settings, &t->predictor.options);
	if (kind->check_start(&t->predictor.options, from.predictor, &st) != PM_OK)
		pm_raise(&st);
}

void
pm_training_choose(pm_training *t, const char *kind, Jsonb *settings)
{
	t->predictor.kind = pm_kind_or_error(kind);
	t->settings = settings;
	if (t->warm_start != NULL)
		choose_start(t);
	else
		pm_options_from_jsonb(t->predictor.kind, settings, &t->predictor.options);
}

static void
check_rights(void)
{
	pm_require_privilege("predictor", ACL_INSERT);
	pm_require_privilege("predictor_weights", ACL_INSERT);
	pm_require_privilege("training_run", ACL_INSERT);
}

static void
check_name(const char *name)
{
	static pm_plan query = {
		"SELECT 1 FROM perfmodel.predictor WHERE name OPERATOR(pg_catalog.=) $1", 1, {TEXTOID}
	};
	Datum		arg = CStringGetTextDatum(name);

	pm_predictor_name_check(name);
	if (pm_is_blank(name))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("predictor name must not be blank"),
				 errhint("Give it letters or digits, such as 'spring'.")));
	pm_lock_name("predictor", name);
	if (pm_run(&query, &arg, NULL, false) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("predictor \"%s\" already exists", name),
				 errhint("Give the new one a name of its own, or drop the old one first: SELECT perfmodel.drop_predictor(%s).",
						 quote_literal_cstr(name))));
}

void
pm_training_check(const pm_training *t)
{
	check_rights();
	check_name(t->name);
	if (t->run_id == 0)
		pm_run_refuse_twin(t->name);
}

/* ---------- measurements ---------- */

pm_rows *
pm_rows_load_apart(ArrayType *ids, const pm_kind *kind, const pm_options *o, Size limit, MemoryContext *cxt)
{
	MemoryContext old;
	pm_rows    *rows;

	*cxt = AllocSetContextCreate(CurrentMemoryContext, "perfmodel rows", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(*cxt);
	rows = pm_rows_load(ids, PM_ROWS_PASSES_APART, pm_predictor_merges(kind, o), limit);
	pm_rows_add_operators(rows, kind, o);
	MemoryContextSwitchTo(old);
	return rows;
}

int
pm_mark_seen(int64 predictor_id, bool corrected, const pm_rows *rows, bool *seen)
{
	static pm_plan query = {
		"WITH known AS (SELECT p.profile_id, p.graph_id FROM perfmodel.profile p WHERE p.profile_id OPERATOR(pg_catalog.=) ANY"
		" (SELECT perfmodel.learned_profiles($1, $3))),"
		" structures AS (SELECT DISTINCT g.structure FROM known k JOIN perfmodel.graph g"
		" ON g.graph_id OPERATOR(pg_catalog.=) k.graph_id)"
		" SELECT k.profile_id IS NOT NULL, s.structure IS NOT NULL FROM perfmodel.profile p"
		" JOIN perfmodel.graph g ON g.graph_id OPERATOR(pg_catalog.=) p.graph_id"
		" LEFT JOIN known k ON k.profile_id OPERATOR(pg_catalog.=) p.profile_id"
		" LEFT JOIN structures s ON s.structure OPERATOR(pg_catalog.=) g.structure"
		" JOIN pg_catalog.unnest($2) AS wanted(id) ON wanted.id OPERATOR(pg_catalog.=) p.profile_id"
		" ORDER BY p.profile_id", 3, {INT8OID, INT8ARRAYOID, BOOLOID}
	};
	Datum		args[3];
	int			trained_on = 0;

	args[0] = Int64GetDatum(predictor_id);
	args[1] = pm_int8_array(rows->ids, rows->set.n);
	args[2] = BoolGetDatum(corrected);
	if (pm_run(&query, args, NULL, true) != rows->set.n)
		elog(ERROR, "profiles changed while they were read");
	for (int i = 0; i < rows->set.n; i++)
	{
		trained_on += DatumGetBool(pm_value(i, 1, BOOLOID, NULL));
		seen[i] = DatumGetBool(pm_value(i, 2, BOOLOID, NULL));
	}
	return trained_on;
}

/* The predictor to go on from. */
static void
read_start(pm_training *t)
{
	bool	   *seen = palloc0(sizeof(bool) * Max(t->rows->set.n, 1));
	pm_predictor_ref from;

	pm_predictor_get_own(t->warm_start, &from);
	t->start_id = from.id;
	SPI_connect();
	pm_mark_seen(from.id, true, t->rows, seen);
	SPI_finish();
	t->start = (pm_start) {.predictor = from.predictor, .seen = seen};
	t->predictor.start = &t->start;
}

void
pm_training_read(pm_training *t)
{
	const pm_predictor *p = &t->predictor;
	MemoryContext cxt;

	pm_freshen();
	t->threads = pm_threads_allowed();
	t->seed = pm_option_seed(p->kind, &p->options);
	t->rows = pm_rows_load_apart(t->profiles, p->kind, &p->options, (Size) pm_memory_limit(), &cxt);
	pm_rows_notice_times(t->rows);
	t->memory_bytes = pm_check_memory(p->kind, &p->options, &t->rows->set, t->rows, t->threads);
	if (t->warm_start != NULL)
		read_start(t);
}

/* ---------- computation, result ---------- */

void
pm_training_fit(pm_training *t, pm_run_hooks *hooks)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "perfmodel train", ALLOCSET_DEFAULT_SIZES);
	pm_arena	arena;
	pm_status	st = {PM_OK};
	pm_code		code;

	pm_context_arena(&arena, cxt, (size_t) (pm_memory_limit() - pm_rows_bytes(t->rows)));
	code = pm_predictor_fit(&t->predictor, &t->rows->set, t->seed, t->threads, &hooks->hooks, &arena, &t->report, &st);
	pm_hooks_finish(hooks, code, &st);
	t->last = hooks->last;
}

int64
pm_training_store(const pm_training *t)
{
	int64		id = pm_predictor_store(t);

	if (t->run_id != 0)
		pm_run_finish(t, id);
	else
		pm_run_insert(t, id);
	return id;
}
