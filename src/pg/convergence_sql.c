/*
 * convergence_sql.c - fit_convergence(): the curve of samples to a target over the batch size.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "arrays.h"
#include "encoding.h"
#include "errors.h"
#include "jobs/convergence.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_fit_convergence);

#define N_COLUMNS 8
#define LEAST		1e-18		/* batch and samples; with these bounds every curve is finite at every batch */
#define MOST_BATCH	1e18
#define MOST_SAMPLES 1e30
#define LEAST_PHI	1e-250
#define MOST_PHI	1e250

typedef struct column
{
	Datum	   *v;
	int			n;
} column;

/* An array without NULLs; of any length for n < 0. */
static column
column_arg(FunctionCallInfo fcinfo, int arg, const char *name, int n)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(arg);
	column		c;
	bool	   *nulls;

	pm_array_read(array, &c.v, &nulls, &c.n);
	for (int i = 0; i < c.n; i++)
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not have NULLs", name)));
	if (n >= 0 && c.n != n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must have as many elements as batches, %d, not %d", name, n, c.n)));
	return c;
}

static void
check_runs(const pm_runs *r, const pm_runs *before)
{
	if (!(r->batch >= LEAST && r->batch <= MOST_BATCH && r->samples >= LEAST && r->samples <= MOST_SAMPLES && r->reached >= 0 && r->runs >= r->reached))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the runs of batch %g are impossible: samples %g, reached %d, runs %d", r->batch, r->samples, r->reached, r->runs),
				 errdetail("The batch must be between %g and %g, the samples between %g and %g, and reached between 0 and runs.", LEAST, MOST_BATCH, LEAST, MOST_SAMPLES)));
	if (before != NULL && before->batch >= r->batch)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("batches must be in ascending order, without duplicates")));
}

static pm_runs *
read_runs(FunctionCallInfo fcinfo, int *n)
{
	column		batch = column_arg(fcinfo, 0, "batches", -1);
	column		samples = column_arg(fcinfo, 1, "samples", batch.n);
	column		reached = column_arg(fcinfo, 2, "reached", batch.n);
	column		runs = column_arg(fcinfo, 3, "runs", batch.n);
	pm_runs    *r = palloc(sizeof(pm_runs) * Max(batch.n, 1));

	for (int i = 0; i < batch.n; i++)
	{
		r[i] = (pm_runs) {
			DatumGetFloat8(batch.v[i]), DatumGetFloat8(samples.v[i]), DatumGetInt32(reached.v[i]), DatumGetInt32(runs.v[i])
		};
		check_runs(&r[i], i > 0 ? &r[i - 1] : NULL);
	}
	*n = batch.n;
	return r;
}

/* NaN: not known. */
static double
phi_arg(FunctionCallInfo fcinfo)
{
	double		phi = PG_ARGISNULL(4) ? get_float8_nan() : PG_GETARG_FLOAT8(4);

	if (PG_ARGISNULL(4) || phi == 0 || (phi >= LEAST_PHI && phi <= MOST_PHI))
		return phi;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("phi must be 0 or between %g and %g, not %.15g", LEAST_PHI, MOST_PHI, phi),
			 errdetail("It is the noise scale that trainings have reported, grad_var / grad_sqr."),
			 errhint("Give NULL where none has.")));
}

/* What the answer at a batch has against it, as a sentence and as codes. */
static void
notes_at(const pm_curve *c, double batch, double p_reached, Datum *values, bool *nulls)
{
	double		outside = pm_curve_outside(c, batch);
	StringInfoData note;
	const char *codes[2];
	int			n = 0;

	initStringInfo(&note);
	if (outside != 0)
	{
		appendStringInfo(&note, "total batch %.15g is %s %.15g, the %s that has reached the target", batch, outside > 0 ? "above" : "below",
						 outside > 0 ? c->batch[c->n - 1] : c->batch[0], outside > 0 ? "largest" : "smallest");
		codes[n++] = outside > 0 ? "batch_above_runs" : "batch_below_runs";
	}
	if (isnan(p_reached))
	{
		appendStringInfo(&note, "%swhether %.15g reaches it is not known, as no run is within a factor of 2", n > 0 ? "; " : "", batch);
		codes[n++] = "reach_not_known";
	}
	nulls[0] = nulls[1] = n == 0;
	if (n == 0)
		return;
	values[0] = CStringGetTextDatum(note.data);
	values[1] = pm_text_array(codes, n);
}

/* fit_convergence(batches, samples, reached, runs, phi, ask): no rows where no run has reached the target. */
Datum
pm_fit_convergence(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_status	st = {PM_OK};
	pm_curve	c;
	pm_runs    *runs;
	column		ask;
	pm_code		rc;
	int			n;

	pm_rows_begin(fcinfo, &out);
	for (int i = 0; i < 6; i++)
		if (PG_ARGISNULL(i) && i != 4)
			return (Datum) 0;
	runs = read_runs(fcinfo, &n);
	ask = column_arg(fcinfo, 5, "ask", -1);
	rc = pm_curve_fit(runs, n, phi_arg(fcinfo), &c, &st);
	if (rc == PM_ERR_DATA)
		return (Datum) 0;
	if (rc != PM_OK)
		pm_raise(&st);
	for (int i = 0; i < ask.n; i++)
	{
		double		batch = DatumGetFloat8(ask.v[i]);
		bool		nulls[N_COLUMNS] = {false};
		Datum		values[N_COLUMNS] = {ask.v[i], 0, 0, 0,
		CStringGetTextDatum(pm_curve_name[c.kind])};

		if (!(batch >= LEAST && batch <= MOST_BATCH))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("a batch must be between %g and %g, not %.15g", LEAST, MOST_BATCH, batch)));
		values[1] = Float8GetDatum(pm_curve_at(&c, batch));
		values[2] = Float8GetDatum(pm_curve_spread(&c, batch));
		values[3] = pm_probability_or_null(pm_curve_p_reached(&c, batch), &nulls[3]);
		values[5] = pm_float8_or_null(isinf(c.critical) || c.kind == PM_CURVE_BETWEEN ? get_float8_nan() : c.critical, &nulls[5]);
		notes_at(&c, batch, pm_curve_p_reached(&c, batch), &values[6], &nulls[6]);
		pm_rows_add(&out, values, nulls);
	}
	return (Datum) 0;
}
