/*
 * train_sql.c - train() and estimate_training().
 *
 * Training runs in the foreground, in the transaction of its caller: it is
 * cancelled like any query and rolls back clean.  Order: what is cheap to
 * refuse first (name, kind, options, rights, rows, memory), then the
 * computation, then the rows.
 *
 * Memory: rows and graphs in "perfmodel rows"; the core's arena in "perfmodel
 * train", bounded by perfmodel.train_mem.  Both are below the function's
 * context and go with it when it fails.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "pm_pg.h"

PG_FUNCTION_INFO_V1(pm_train_sql);
PG_FUNCTION_INFO_V1(pm_estimate_training);

static double
memory_limit(void)
{
	return (double) pm_train_mem_kb * 1024;
}

static double
memory_needed(const pm_kind *kind, const pm_options *o, const pm_dataset *d, int threads)
{
	return kind->memory != NULL ? kind->memory(o, d, threads) : 0;
}

double
pm_check_memory(const pm_kind *kind, const pm_options *o, const pm_dataset *d, int threads)
{
	double		needed = memory_needed(kind, o, d, threads);

	if (needed > memory_limit())
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("training needs about %.0f MB, more than perfmodel.train_mem allows",
						ceil(needed / (1024 * 1024))),
				 errdetail("perfmodel.train_mem is %.0f MB; there are %d measurements and %d threads.",
						   memory_limit() / (1024 * 1024), d->n, threads),
				 errhint("Raise perfmodel.train_mem, lower perfmodel.train_threads, or train on fewer measurements.")));
	return needed;
}

/* Everything that can be refused before the measurements are read. Inside SPI_connect(). */
static void
check_name(const char *name)
{
	static pm_plan query = {
		"SELECT 1 FROM perfmodel.predictor WHERE name OPERATOR(pg_catalog.=) $1", 1, {TEXTOID}
	};
	Datum		arg = CStringGetTextDatum(name);

	if (name[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("predictor name must not be empty")));
	pm_lock_name("perfmodel.predictor", name);
	if (pm_run(&query, &arg, NULL, false) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("predictor \"%s\" already exists", name),
				 errhint("Give the new one a name of its own, or drop the old one first: SELECT perfmodel.drop_predictor(%s).",
						 quote_literal_cstr(name))));
}

static void
check_rights(void)
{
	pm_require_privilege("predictor", ACL_INSERT);
	pm_require_privilege("predictor_weights", ACL_INSERT);
	pm_require_privilege("training_run", ACL_INSERT);
}

static pm_rows *
load_rows(ArrayType *ids, const pm_kind *kind, const pm_options *o, MemoryContext *cxt)
{
	MemoryContext old;
	pm_rows    *rows;

	*cxt = AllocSetContextCreate(CurrentMemoryContext, "perfmodel rows", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(*cxt);
	rows = pm_rows_load(ids, pm_predictor_merges(kind, o));
	pm_rows_add_operators(rows, kind, o);
	MemoryContextSwitchTo(old);
	return rows;
}

static void
fit(pm_trained *t, pm_predictor *p, pm_fit_report *report)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "perfmodel train", ALLOCSET_DEFAULT_SIZES);
	pm_arena	arena;
	pm_run_hooks hooks;
	pm_status	st = {PM_OK};
	pm_code		code;

	pm_context_arena(&arena, cxt, (size_t) memory_limit());
	pm_hooks_init(&hooks, psprintf("training \"%s\"", t->name));
	code = pm_predictor_fit(p, &t->rows->set, t->seed, t->threads, &hooks.hooks, &arena, report, &st);
	pm_hooks_finish(&hooks, code, &st);
}

static ArrayType *
array_arg(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : PG_GETARG_ARRAYTYPE_P(i);
}

static Jsonb *
jsonb_arg(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : PG_GETARG_JSONB_P(i);
}

static const char *
kind_arg(FunctionCallInfo fcinfo, int i)
{
	if (PG_ARGISNULL(i))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("kind must not be null")));
	return text_to_cstring(PG_GETARG_TEXT_PP(i));
}

Datum
pm_train_sql(PG_FUNCTION_ARGS)
{
	pm_trained	t = {0};
	pm_predictor p = {0};
	pm_fit_report report = {0};
	MemoryContext rows_cxt;
	int64		id;

	PreventCommandIfReadOnly("perfmodel.train()");
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("predictor name must not be null")));
	t.started_at = GetCurrentTimestamp();
	t.name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	p.kind = pm_kind_or_error(kind_arg(fcinfo, 1));
	pm_options_from_jsonb(p.kind, jsonb_arg(fcinfo, 3), &p.options);
	check_rights();
	SPI_connect();
	check_name(t.name);
	SPI_finish();

	pm_freshen();
	t.threads = pm_threads_allowed();
	t.seed = pm_option_seed(p.kind, &p.options);
	t.rows = load_rows(array_arg(fcinfo, 2), p.kind, &p.options, &rows_cxt);
	t.memory_bytes = pm_check_memory(p.kind, &p.options, &t.rows->set, t.threads);
	fit(&t, &p, &report);
	t.predictor = &p;
	t.report = &report;
	SPI_connect();
	id = pm_predictor_store(&t);
	SPI_finish();
	PG_RETURN_INT64(id);
}

Datum
pm_estimate_training(PG_FUNCTION_ARGS)
{
	const pm_kind *kind = pm_kind_or_error(kind_arg(fcinfo, 0));
	pm_options	options;
	pm_rows    *rows;
	MemoryContext rows_cxt;
	Datum		values[5];
	bool		nulls[5] = {false};
	int			threads = pm_threads_allowed();

	pm_options_from_jsonb(kind, jsonb_arg(fcinfo, 2), &options);
	pm_freshen();
	rows = load_rows(array_arg(fcinfo, 1), kind, &options, &rows_cxt);
	values[0] = Int32GetDatum(rows->set.n);
	values[1] = Int32GetDatum(rows->n_graphs);
	values[2] = Int32GetDatum(threads);
	values[3] = Int64GetDatum((int64) ceil(memory_needed(kind, &options, &rows->set, threads)));
	values[4] = Int64GetDatum((int64) memory_limit());
	MemoryContextDelete(rows_cxt);
	return pm_record(fcinfo, values, nulls);
}
