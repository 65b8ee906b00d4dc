/*
 * drift_sql.c - drift_evidence() and proportion_bounds(), which drift() calls.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "arrays.h"
#include "context_arena.h"
#include "errors.h"
#include "results.h"
#include "drift/drift.h"

PG_FUNCTION_INFO_V1(pm_drift_evidence);
PG_FUNCTION_INFO_V1(pm_proportion_bounds_sql);

/* The elements of array argument i, of which there are as many as in the others. */
static Datum *
elements(FunctionCallInfo fcinfo, int i, int *n)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(i);
	Datum	   *v;
	bool	   *nulls;
	int			count;

	pm_array_read(array, &v, &nulls, &count);
	if (ARR_HASNULL(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("networks, rank_low and rank_high must not contain nulls")));
	if (*n >= 0 && *n != count)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("networks, rank_low and rank_high must have the same length"),
				 errdetail("One has %d elements, another %d.", *n, count)));
	*n = count;
	return v;
}

static pm_drift_row *
rows_arg(FunctionCallInfo fcinfo, int *n)
{
	Datum	   *network,
			   *low,
			   *high;
	pm_drift_row *rows;

	*n = -1;
	network = elements(fcinfo, 0, n);
	low = elements(fcinfo, 1, n);
	high = elements(fcinfo, 2, n);
	rows = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(pm_drift_row) * Max(*n, 1));
	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < *n; i++)
		rows[i] = (pm_drift_row) {DatumGetInt64(network[i]), DatumGetFloat8(low[i]), DatumGetFloat8(high[i])};
	return rows;
}

Datum
pm_drift_evidence(PG_FUNCTION_ARGS)
{
	int			n;
	pm_drift_row *rows = rows_arg(fcinfo, &n);
	Datum		values[4];
	bool		nulls[4] = {false};
	pm_status	st = {PM_OK};
	pm_arena	arena;
	pm_drift	d;

	pm_context_arena(&arena, CurrentMemoryContext, 0);
	if (pm_drift_run(rows, n, PG_GETARG_INT32(3), &arena, &d, &st) != PM_OK)
		pm_raise(&st);
	values[0] = Int32GetDatum(d.n_networks);
	values[1] = Float8GetDatum(d.e_max);
	values[2] = Float8GetDatum(d.e_now);
	values[3] = CStringGetTextDatum(pm_drift_sort_name[d.sort]);
	pm_arena_release(&arena);
	return pm_record(fcinfo, values, nulls);
}

Datum
pm_proportion_bounds_sql(PG_FUNCTION_ARGS)
{
	double		k = PG_GETARG_FLOAT8(0);
	double		n = PG_GETARG_FLOAT8(1);
	double		level = PG_GETARG_FLOAT8(2);
	double		low,
				high;
	Datum		values[2];
	bool		nulls[2] = {false};

	if (!(k >= 0 && k <= n && n > 0 && n <= PM_MOST_TRIALS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("trials must be above 0 and at most %g, and successes between 0 and trials", PM_MOST_TRIALS)));
	if (!(level > 0 && level < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("level must be between 0 and 1")));
	pm_proportion_bounds(k, n, level, &low, &high);
	values[0] = Float8GetDatum(low);
	values[1] = Float8GetDatum(high);
	return pm_record(fcinfo, values, nulls);
}
