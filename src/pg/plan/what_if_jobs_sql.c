/*
 * what_if_jobs_sql.c - what_if_jobs(): the step of each job on each of several devices, or numbers of devices.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "arrays.h"
#include "errors.h"
#include "plan/job_arguments.h"
#include "plan/job_rows.h"
#include "plan/name_aliases.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_what_if_jobs);

/* Rows of one call: jobs times devices times counts. */
#define MAX_ROWS INT64CONST(20000000)

typedef struct grid
{
	int			n_gpus;
	Datum	   *gpus;
	bool	   *gpu_nulls;
	int			n_counts;		/* 0: as the job says */
	Datum	   *counts;
	bool	   *count_nulls;
} grid;

static void
read_grid(FunctionCallInfo fcinfo, grid *g)
{
	*g = (grid) {0};
	pm_array_read(PG_GETARG_ARRAYTYPE_P(2), &g->gpus, &g->gpu_nulls, &g->n_gpus);
	if (!PG_ARGISNULL(3))
		pm_array_read(PG_GETARG_ARRAYTYPE_P(3), &g->counts, &g->count_nulls, &g->n_counts);
	for (int i = 0; i < g->n_gpus; i++)
		if (g->gpu_nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("gpus must not have NULLs")));
	for (int i = 0; i < g->n_counts; i++)
		if (g->count_nulls[i] || DatumGetInt32(g->counts[i]) < 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("gpu_counts must be 1 or more")));
}

/*
 * Samples a second of so many devices, as many of the job's own batch as they
 * are worth: (phi + M0) / (phi + M) of them, with M samples in a step, M0 in
 * one of the job as it is, phi its gradient noise scale (McCandlish et al.
 * 2018; Pollux, OSDI 2021). Without a noise scale all count.
 */
static double
goodput(const pm_jobs *jobs, int i, int count, double step_ms)
{
	double		phi = jobs->rows[i].noise_scale;
	double		base = pm_jobs_samples(jobs, i, jobs->queue[i].gpus);
	double		samples = pm_jobs_samples(jobs, i, count);
	double		efficiency = phi > 0 && isfinite(phi) ? (phi + base) / (phi + samples) : 1;

	return 1000 * samples / step_ms * efficiency;
}

/* What a job may count: more than assign() can weigh against each other is a slip. */
#define LEAST_WEIGHT	1e-6
#define MOST_WEIGHT		1e6

static void
check_weight(const pm_job_row *r, int64 number)
{
	/* NaN: none */
	if (isnan(r->weight) || (r->weight >= LEAST_WEIGHT && r->weight <= MOST_WEIGHT))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("weight of a job must be between %g and %g, not %.15g", LEAST_WEIGHT, MOST_WEIGHT, r->weight),
			 r->id != NULL ? errdetail("It is the weight of job \"%s\".", pm_shown_name(r->id)) : errdetail("It is the weight of job " INT64_FORMAT ".", number),
			 errhint("A job that counts twice as much as others has twice their weight. To leave a job out, make a view without it.")));
}

/* given: a number of devices; 0: as the job says. */
static void
add_row(pm_rows_out *out, pm_jobs *jobs, int i, const char *gpu, int given)
{
	const pm_job_row *r = &jobs->rows[i];
	int			count = given > 0 ? given : jobs->queue[i].gpus;
	double		p10 = NAN;
	double		p50 = NAN;
	double		p90 = NAN;
	bool		in_domain = false;
	char	   *note;
	char	   *wrong_steps;
	double		steps_left = pm_jobs_steps_left(jobs, i, &wrong_steps);
	bool		answered = pm_jobs_step(jobs, i, gpu, count, 0, &p10, &p50, &p90, &in_domain, &note);
	bool		nulls[14] = {false};
	Datum		values[14] = {
		Int64GetDatum((int64) i + 1),
		pm_text_or_null(r->id, &nulls[1]),
		pm_text_or_null(r->team, &nulls[2]),
		CStringGetTextDatum(gpu),
		Int32GetDatum(count),
		pm_figure_or_null(p50, &nulls[5]),
		pm_figure_or_null(p90, &nulls[6]),
		pm_float8_or_null(steps_left, &nulls[7]),
		TimestampTzGetDatum(r->deadline),
		pm_float8_or_null(r->weight, &nulls[9]),
		BoolGetDatum(in_domain),
		pm_text_or_null(pm_both_notes(note, wrong_steps), &nulls[11]),
		pm_figure_or_null(goodput(jobs, i, count, p50), &nulls[12]),
		pm_float8_or_null(r->lacks_count ? NAN : steps_left * pm_jobs_samples(jobs, i, jobs->queue[i].gpus), &nulls[13])
	};

	nulls[4] = given == 0 && r->lacks_count;
	nulls[8] = r->deadline == DT_NOBEGIN;
	nulls[10] = !answered;
	pm_rows_add(out, values, nulls);
}

/* jobs, columns, gpus, gpu_counts, predictor */
Datum
pm_what_if_jobs(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_job_table t;
	pm_jobs		jobs;
	grid		g;
	char	  **gpus;
	MemoryContext row;

	pm_rows_begin(fcinfo, &out);
	pm_job_table_argument(fcinfo, 0, 1, &t);
	pm_need_argument(fcinfo, 2, "gpus", "'{T4,A100}'");
	pm_job_table_need_question(&t);
	read_grid(fcinfo, &g);
	pm_jobs_read_only(&t, pm_predictor_argument(fcinfo, 4), GetCurrentTransactionStartTimestamp(), DT_NOBEGIN, &jobs);
	if ((int64) jobs.n * g.n_gpus * Max(g.n_counts, 1) > MAX_ROWS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%d jobs on %d devices are too many", jobs.n, g.n_gpus * Max(g.n_counts, 1)),
				 errhint("At most " INT64_FORMAT " rows are made in a call.", MAX_ROWS)));
	gpus = palloc(sizeof(char *) * Max(g.n_gpus, 1));
	for (int k = 0; k < g.n_gpus; k++)
		gpus[k] = pm_job_gpu(TextDatumGetCString(g.gpus[k]));
	for (int i = 0; i < jobs.n; i++)
		check_weight(&jobs.rows[i], (int64) i + 1);
	row = AllocSetContextCreate(CurrentMemoryContext, "perfmodel what_if_jobs", ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < jobs.n; i++)
		for (int k = 0; k < g.n_gpus; k++)
			for (int c = 0; c < Max(g.n_counts, 1); c++)
			{
				MemoryContext old = MemoryContextSwitchTo(row);

				CHECK_FOR_INTERRUPTS();
				add_row(&out, &jobs, i, gpus[k], g.n_counts > 0 ? DatumGetInt32(g.counts[c]) : 0);
				MemoryContextSwitchTo(old);
				MemoryContextReset(row);
			}
	return (Datum) 0;
}
