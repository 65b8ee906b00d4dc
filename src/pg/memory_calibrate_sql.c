/*
 * memory_calibrate_sql.c - calibrate_memory(): factors of memory from
 * measurements, a row of perfmodel.memory_factor for each device, framework
 * and number format; compare_memory(): errors of the simulation and of simpler
 * estimates on the same measurements.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "cache/freshness.h"
#include "cache/graph_cache.h"
#include "catalog.h"
#include "encoding.h"
#include "measurements.h"
#include "memory/rivals.h"
#include "memory_asking.h"
#include "plans.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_calibrate_memory);
PG_FUNCTION_INFO_V1(pm_compare_memory);

/* A measurement as it stands in the table. */
typedef struct measured_row
{
	int64		graph_id;
	char	   *gpu;
	char	   *dtype;
	char	   *layout;
	char	   *framework;		/* "": none */
	char	   *optimizer;
	int32		batch;
	int32		fits_batch;
	int32		oom_batch;		/* 0: none */
	double		peak_mb;		/* NaN: none */
	char	   *family;
} measured_row;

/* ---------- reading. Inside SPI_connect(). ---------- */

#define ROW_QUERY \
	"SELECT p.graph_id, p.gpu, p.dtype, p.layout, COALESCE(p.framework, ''), p.optimizer, p.batch, COALESCE(p.fits_batch, p.batch)," \
	" COALESCE(p.oom_batch, 0), CASE WHEN p.peak_memory_mb OPERATOR(pg_catalog.>) 0 THEN p.peak_memory_mb END, COALESCE(g.family, '') FROM perfmodel.profile p" \
	" JOIN perfmodel.graph g ON g.graph_id OPERATOR(pg_catalog.=) p.graph_id WHERE p.mode OPERATOR(pg_catalog.=) 'train' AND p.world_size OPERATOR(pg_catalog.=) 1" \
	" AND (p.peak_memory_mb OPERATOR(pg_catalog.>) 0 OR p.oom_batch IS NOT NULL)"
#define ROW_ORDER " ORDER BY p.gpu, 5, p.dtype, p.graph_id, p.batch"

static measured_row *
read_rows(ArrayType *ids, MemoryContext into, int *n)
{
	static pm_plan all = {ROW_QUERY ROW_ORDER};
	static pm_plan some = {ROW_QUERY " AND p.profile_id OPERATOR(pg_catalog.=) ANY ($1)" ROW_ORDER, 1, {INT8ARRAYOID}};
	Datum		arg = PointerGetDatum(ids);
	measured_row *rows;

	pm_run(ids ? &some : &all, &arg, NULL, true);
	*n = (int) Min(SPI_processed, PG_INT32_MAX);
	rows = MemoryContextAllocHuge(into, sizeof(measured_row) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		rows[i] = (measured_row) {
			DatumGetInt64(pm_value(i, 1, INT8OID, NULL)), pm_value_text(i, 2, into), pm_value_text(i, 3, into), pm_value_text(i, 4, into),
			pm_value_text(i, 5, into), pm_value_text(i, 6, into), DatumGetInt32(pm_value(i, 7, INT4OID, NULL)),
			DatumGetInt32(pm_value(i, 8, INT4OID, NULL)), DatumGetInt32(pm_value(i, 9, INT4OID, NULL)), pm_value_float8(i, 10), pm_value_text(i, 11, into)
		};
	return rows;
}

static bool
same_group(const measured_row *a, const measured_row *b)
{
	return strcmp(a->gpu, b->gpu) == 0 && strcmp(a->framework, b->framework) == 0 && strcmp(a->dtype, b->dtype) == 0;
}

/* ---------- samples ---------- */

static void
ask(const measured_row *r, pm_memory_question *m)
{
	pm_asked_words words = {
		.graph_id = r->graph_id, .batch = r->batch, .gpu = cstring_to_text(r->gpu), .dtype = cstring_to_text(r->dtype),
		.layout = cstring_to_text(r->layout), .optimizer = cstring_to_text(r->optimizer),
		.framework = r->framework[0] ? cstring_to_text(r->framework) : NULL, .parallel = PM_PARALLEL_NONE
	};
	pm_problem	p;

	if (!pm_memory_ask(&words, false, m, &p))
		pm_problem_raise(&p);
}

static void
make_sample(const measured_row *r, pm_memory_sample *s)
{
	pm_memory_question m;

	ask(r, &m);
	pm_memory_sample_at(m.plan, &m.question, s);
	s->network = m.plan->structure;
	s->measured = r->peak_mb;
	if (r->oom_batch > 0)
	{
		s->need_fits = pm_memory_need_mb(m.plan, r->fits_batch);
		s->need_fails = pm_memory_need_mb(m.plan, r->oom_batch);
	}
}

/* ---------- storing. Inside SPI_connect(). ---------- */

static void
store(const measured_row *r, const pm_memory_factors *f, const pm_memory_fit *fit)
{
	static pm_plan query = {
		"INSERT INTO perfmodel.memory_factor (gpu, framework, dtype, context_mb, factor, workspace, need_factor, spread, context_spread_mb,"
		" fit_spread, networks, peaks, brackets) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
		" ON CONFLICT (gpu, framework, dtype) DO UPDATE SET context_mb = EXCLUDED.context_mb, factor = EXCLUDED.factor,"
		" workspace = EXCLUDED.workspace, need_factor = EXCLUDED.need_factor, spread = EXCLUDED.spread,"
		" context_spread_mb = EXCLUDED.context_spread_mb, fit_spread = EXCLUDED.fit_spread, networks = EXCLUDED.networks,"
		" peaks = EXCLUDED.peaks, brackets = EXCLUDED.brackets, calibrated_at = pg_catalog.now()",
		13, {TEXTOID, TEXTOID, TEXTOID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, INT4OID, INT4OID, INT4OID}
	};
	pm_args		a = {.n = 0};

	pm_arg_text(&a, r->gpu);
	pm_arg_text(&a, r->framework);
	pm_arg_text(&a, r->dtype);
	pm_arg_float8(&a, f->context_mb);
	pm_arg_float8(&a, f->factor);
	pm_arg_float8(&a, f->workspace);
	pm_arg_float8(&a, f->need_factor);
	pm_arg_float8(&a, f->spread);
	pm_arg_float8(&a, f->context_spread_mb);
	pm_arg_float8(&a, f->fit_spread);
	pm_arg(&a, Int32GetDatum(fit->networks));
	pm_arg(&a, Int32GetDatum(fit->peaks));
	pm_arg(&a, Int32GetDatum(fit->brackets));
	pm_run_store(&query, a.v, a.nulls, "memory_factor");
}

/* The measurements of one device must not keep those of all others from being used. */
static void
tell_implausible(const measured_row *r, const pm_memory_fit *fit)
{
	ereport(NOTICE,
			(errmsg("the memory factors of \"%s\" in %s%s%s are not changed", pm_shown_name(r->gpu), r->dtype,
					r->framework[0] ? " with " : "", pm_shown_name(r->framework)),
			 errdetail("No plausible factors explain its %d measured peaks and %d batches that ran out of memory.",
					   fit->peaks, fit->brackets),
			 errhint("Check its rows in perfmodel.profile: peak_memory_mb is in units of 2^20 bytes.")));
}

#define N_COLUMNS 10

static void
report(pm_rows_out *out, const measured_row *r, const pm_memory_fit *fit)
{
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};

	values[0] = CStringGetTextDatum(r->gpu);
	values[1] = CStringGetTextDatum(r->framework);
	values[2] = CStringGetTextDatum(r->dtype);
	values[3] = Int32GetDatum(fit->networks);
	values[4] = Int32GetDatum(fit->peaks);
	values[5] = Int32GetDatum(fit->brackets);
	values[6] = pm_rounded_or_null(fit->mape_before, &nulls[6]);
	values[7] = pm_rounded_or_null(fit->mape, &nulls[7]);
	values[8] = pm_rounded_or_null(fit->in_bracket_before, &nulls[8]);
	values[9] = pm_rounded_or_null(fit->in_bracket, &nulls[9]);
	pm_rows_add(out, values, nulls);
}

/* One device, framework and format: rows[n]. */
static void
calibrate(const measured_row *rows, int n, pm_rows_out *out)
{
	pm_memory_sample *samples = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(pm_memory_sample) * n);
	pm_memory_question m;
	pm_memory_factors f;
	pm_memory_fit fit;
	pm_status	st = {PM_OK};
	MemoryContext row = AllocSetContextCreate(CurrentMemoryContext, "perfmodel row", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(row);

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		make_sample(&rows[i], &samples[i]);
		MemoryContextReset(row);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(row);
	ask(&rows[0], &m);
	/* from the shipped ones, not from what an earlier call made of the same rows */
	pm_memory_shipped_factors(&m.question, &f);
	if (pm_memory_calibrate(samples, n, pm_memory_capacity_mb(m.question.gpu), m.question.gpu->is_cpu, pm_workspace(), &f, &fit, &st) != PM_OK)
		pm_raise(&st);
	if (pm_memory_factors_plausible(&f))
	{
		store(&rows[0], &f, &fit);
		report(out, &rows[0], &fit);
	}
	else
		tell_implausible(&rows[0], &fit);
	pfree(samples);
}

/* Leave out the rows whose graph is none: one of them must not keep all others from being used. Returns how many are left. */
static int
leave_out_unfit(measured_row *rows, int n)
{
	pm_problem	p = {0};
	pm_problem	first = {0};
	int			left = 0;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (pm_graph_look_up(rows[i].graph_id, 0, &p) != NULL)
			rows[left++] = rows[i];
		else if (first.message == NULL)
			first = p;
	}
	if (left < n)
		ereport(NOTICE,
				(errmsg_plural("%d measurement is left out: its graph cannot be read",
							   "%d measurements are left out: their graphs cannot be read", n - left, n - left),
				 errdetail("%c%s.", pg_toupper((unsigned char) first.message[0]), first.message + 1)));
	return left;
}

typedef void (*group_function) (const measured_row *rows, int n, pm_rows_out *out);

/* Call f for the measurements of each device, framework and format. */
static void
for_each_group(FunctionCallInfo fcinfo, group_function f)
{
	pm_rows_out out;
	MemoryContext caller = CurrentMemoryContext;
	ArrayType  *ids;
	measured_row *rows;
	int			n;
	int			end;

	pm_rows_begin(fcinfo, &out);
	pm_require_catalog();
	ids = pm_some_profiles_arg(fcinfo, 0);
	if (ids != NULL)
		ids = pm_stored_profiles(ids);
	pm_freshen();
	SPI_connect();
	rows = read_rows(ids, caller, &n);
	n = leave_out_unfit(rows, n);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("no measurement has a peak memory or a batch that did not fit"),
				 errhint("Fill peak_memory_mb or oom_batch of perfmodel.profile.")));
	for (int first = 0; first < n; first = end)
	{
		for (end = first + 1; end < n && same_group(&rows[first], &rows[end]); end++)
			;
		f(&rows[first], end - first, &out);
	}
	SPI_finish();
}

Datum
pm_calibrate_memory(PG_FUNCTION_ARGS)
{
	PreventCommandIfReadOnly("perfmodel.calibrate_memory()");
	for_each_group(fcinfo, calibrate);
	return (Datum) 0;
}

/* ---------- compare_memory ---------- */

#define N_COMPARED 8

static void
report_error(pm_rows_out *out, const measured_row *r, pm_memory_method method, int n, const pm_memory_error *e)
{
	Datum		values[N_COMPARED];
	bool		nulls[N_COMPARED] = {false};

	values[0] = CStringGetTextDatum(r->gpu);
	values[1] = CStringGetTextDatum(r->framework);
	values[2] = CStringGetTextDatum(r->dtype);
	values[3] = CStringGetTextDatum(pm_memory_method_name[method]);
	values[4] = Int32GetDatum(n);
	values[5] = pm_rounded_or_null(e->mape, &nulls[5]);
	values[6] = pm_rounded_or_null(e->median, &nulls[6]);
	values[7] = pm_rounded_or_null(e->p90, &nulls[7]);
	pm_rows_add(out, values, nulls);
}

/* One device, framework and format: rows[n]. Those without a peak say nothing here. */
static void
compare(const measured_row *rows, int n, pm_rows_out *out)
{
	pm_memory_rival_row *all = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(pm_memory_rival_row) * n);
	pm_memory_error errors[PM_N_MEMORY_METHODS];
	pm_memory_question m;
	pm_memory_factors f;
	pm_status	st = {PM_OK};
	MemoryContext row = AllocSetContextCreate(CurrentMemoryContext, "perfmodel row", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(row);
	int			k = 0;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (isnan(rows[i].peak_mb))
			continue;
		ask(&rows[i], &m);
		pm_memory_rival_row_at(m.plan, rows[i].batch, &all[k]);
		pm_memory_sample_at(m.plan, &m.question, &all[k].sample);
		all[k].sample.measured = rows[i].peak_mb;
		all[k++].sample.network = pm_hash(PM_HASH_INIT, rows[i].family, strlen(rows[i].family));
		MemoryContextReset(row);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(row);
	if (k == 0)
		return;
	ask(&rows[0], &m);
	pm_memory_shipped_factors(&m.question, &f);
	if (pm_memory_compare(all, k, m.question.gpu->is_cpu, &f, pm_workspace(), errors, &st) != PM_OK)
		pm_raise(&st);
	for (int i = 0; i < PM_N_MEMORY_METHODS; i++)
		report_error(out, &rows[0], (pm_memory_method) i, k, &errors[i]);
	pfree(all);
}

Datum
pm_compare_memory(PG_FUNCTION_ARGS)
{
	for_each_group(fcinfo, compare);
	return (Datum) 0;
}
