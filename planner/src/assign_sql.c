/*
 * assign_sql.c - assign() and assign_arrays(): Gavel's programmes over jobs of a table, or over numbers.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "gavel.h"
#include "planner_sql.h"

PG_FUNCTION_INFO_V1(planner_assign);
PG_FUNCTION_INFO_V1(planner_assign_arrays);

/* ---------- solving ---------- */

static gavel_policy
policy_named(text *name)
{
	char	   *s = text_to_cstring(name);

	for (int i = 0; i < GAVEL_N_POLICIES; i++)
		if (pg_strcasecmp(s, gavel_policy_name[i]) == 0)
			return (gavel_policy) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown policy \"%s\"", s),
			 errhint("Known are \"max_min\", \"makespan\" and \"cost\".")));
}

static void
solve(const gavel_input *in, gavel_policy policy, gavel_result *r)
{
	lp_status	status;

	r->share = planner_memory(sizeof(double) * in->n_jobs * in->n_kinds);
	r->unmet = planner_memory(sizeof(double) * in->n_jobs);
	status = r->share && r->unmet ? gavel_assign(in, policy, planner_memory, planner_cancelled, NULL, r) : LP_NO_MEMORY;
	/* numbers that are too far apart can come out of a library as anything */
	if (status == LP_OPTIMAL && !(isfinite(r->objective) && isfinite(r->bound)))
		status = LP_FAILED;
	planner_check_status(status, in->n_jobs, in->n_kinds);
}

/* ---------- numbers in arrays ---------- */

/* Raise for an array of more than one dimension, or whose rows have not so many elements; columns 0: it is no matrix. */
static void
check_dimensions(ArrayType *a, const char *name, int columns)
{
	if (ARR_NDIM(a) > (columns > 0 ? 2 : 1))
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must be an array of %s, not of %d", name, columns > 0 ? "two dimensions" : "one dimension", ARR_NDIM(a))));
	if (ARR_NDIM(a) == 2 && ARR_DIMS(a)[1] != columns)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("the rows of %s must have %d elements, not %d", name, columns, ARR_DIMS(a)[1]),
				 errdetail("There is a row for each job, with an element for each kind of device in workers."),
				 errhint("For example: assign_arrays('{{4,1},{1,1},{2,2}}', '{8,4}') for three jobs and two kinds of devices.")));
}

/* The elements of an array argument, without NULLs, each in [low, high] or `usual`; NULL argument: `usual` everywhere. */
static double *
numbers(FunctionCallInfo fcinfo, int arg, const char *name, int columns, int *n, double low, double high, double usual)
{
	ArrayType  *array;
	double	   *v;
	Datum	   *elems;
	bool	   *nulls;
	int			found;

	if (PG_ARGISNULL(arg))
	{
		v = palloc(sizeof(double) * Max(*n, 1));
		for (int i = 0; i < *n; i++)
			v[i] = usual;
		return v;
	}
	array = PG_GETARG_ARRAYTYPE_P(arg);
	check_dimensions(array, name, columns);
	deconstruct_array(array, FLOAT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &elems, &nulls, &found);
	if (*n >= 0 && found != *n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must have %d elements, not %d", name, *n, found)));
	*n = found;
	v = palloc(sizeof(double) * Max(found, 1));
	for (int i = 0; i < found; i++)
	{
		v[i] = nulls[i] ? get_float8_nan() : DatumGetFloat8(elems[i]);
		if (!(v[i] >= low && v[i] <= high) && v[i] != usual)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 usual >= low && usual <= high ? errmsg("%s[%d] must be between %g and %g", name, i + 1, low, high) :
					 errmsg("%s[%d] must be %s or between %g and %g", name, i + 1, isinf(usual) ? "Infinity" : "0", low, high)));
	}
	return v;
}

/* Raise where the policy lacks what it is about: another number in its place would give an answer to another question. */
static void
need_numbers(FunctionCallInfo fcinfo, gavel_policy policy, int steps, int prices)
{
	if (policy != GAVEL_MAX_MIN && PG_ARGISNULL(steps))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("policy \"%s\" needs steps", gavel_policy_name[policy]),
				 errhint("For example: steps => '{1000,20000}', the steps that each job has left.")));
	if (policy == GAVEL_COST && PG_ARGISNULL(prices))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("policy \"%s\" needs prices", gavel_policy_name[policy]),
				 errhint("For example: prices => '{0.35,2.9}', of a device and hour of each kind.")));
}

/* throughputs, workers, policy, gpu_counts, weights, steps, deadlines_s, prices */
Datum
planner_assign_arrays(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	gavel_input in = {0};
	gavel_result r;
	gavel_policy policy;
	gavel_job  *jobs;
	double	   *counts, *weights, *steps, *deadlines;
	int			n = -1;
	int			n_kinds = -1;

	pm_rows_begin(fcinfo, &out);
	planner_need(fcinfo, 0, "throughputs", "'{{4,1},{1,1}}', steps a second of two jobs on two kinds of devices");
	planner_need(fcinfo, 1, "workers", "'{8,4}', devices of each kind");
	planner_need(fcinfo, 2, "policy", "'max_min'");
	policy = policy_named(PG_GETARG_TEXT_PP(2));
	need_numbers(fcinfo, policy, 5, 7);
	in.workers = numbers(fcinfo, 1, "workers", 0, &n_kinds, 1e-3, 1e9, 0);
	if (n_kinds < 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("workers must have an element at least"),
				 errhint("It has one for each kind of device: how many devices there are.")));
	in.throughput = numbers(fcinfo, 0, "throughputs", n_kinds, &n, 1e-9, 1e9, 0);
	if (n % n_kinds != 0)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("throughputs has %d elements, which are no rows of %d kinds of devices", n, n_kinds)));
	in.n_kinds = n_kinds;
	in.n_jobs = n / n_kinds;
	planner_check_size(in.n_jobs, in.n_kinds);
	if (in.n_jobs == 0)
		return (Datum) 0;
	counts = numbers(fcinfo, 3, "gpu_counts", 0, &in.n_jobs, 1, 1e6, 1);
	weights = numbers(fcinfo, 4, "weights", 0, &in.n_jobs, 1e-6, 1e6, 1);
	steps = numbers(fcinfo, 5, "steps", 0, &in.n_jobs, 1e-3, 1e15, 1);
	deadlines = numbers(fcinfo, 6, "deadlines_s", 0, &in.n_jobs, 1e-3, 1e15, INFINITY);
	in.price = numbers(fcinfo, 7, "prices", 0, &in.n_kinds, 1e-6, 1e6, 1);
	jobs = palloc(sizeof(gavel_job) * in.n_jobs);
	for (int m = 0; m < in.n_jobs; m++)
		jobs[m] = (gavel_job) {counts[m], weights[m], steps[m], deadlines[m]};
	in.jobs = jobs;
	solve(&in, policy, &r);
	for (int m = 0; m < in.n_jobs; m++)
		for (int j = 0; j < in.n_kinds; j++)
		{
			double		share = r.share[(size_t) m * in.n_kinds + j];
			bool		nulls[6] = {false, false, false, policy != GAVEL_COST, false, false};
			Datum		values[6] = {
				Int32GetDatum(m + 1), Int32GetDatum(j + 1), Float8GetDatum(share), Float8GetDatum(r.unmet[m]), Float8GetDatum(r.objective), Float8GetDatum(r.bound)
			};

			if (share > 0)
				pm_rows_add(&out, values, nulls);
		}
	return (Datum) 0;
}

/* ---------- jobs of a table ---------- */

/* A job as the query has it. */
typedef struct job_of_table
{
	char	   *id;
	char	   *team;
	int32		gpus;
	double		steps;			/* left; NaN: not known */
	double		deadline_s;		/* INFINITY: none */
	double		weight;
	bool		runs;			/* on one of the devices at least */
	int			number;			/* in the programme; -1: left out */
} job_of_table;

typedef struct planning
{
	pm_rows_out out;
	gavel_policy policy;
	TimestampTz at;
	int			n_kinds;
	char	  **kinds;			/* usual names, once the query has been run */
	double	   *workers;
	double	   *price;
	int			n;
	job_of_table *jobs;
	double	   *throughput;		/* [n * n_kinds] */
	char	  **notes;			/* [n * n_kinds] */
} planning;

static void
read_prices(planning *p, Jsonb *object)
{
	char	  **names;
	double	   *values;
	int			n = planner_read_object(object, "prices", 1e-6, 1e6, &names, &values);

	for (int j = 0; j < p->n_kinds; j++)
	{
		p->price[j] = 0;
		for (int i = 0; i < n; i++)
			if (strcmp(names[i], p->kinds[j]) == 0)
				p->price[j] = values[i];
		if (p->price[j] <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("prices does not name \"%s\"", p->kinds[j]),
					 errhint("It has the price of a device and hour for each kind of workers, by the same name.")));
	}
}

/* A row of the query: columns as in its select list. */
static void
read_row(planning *p, uint64 row, MemoryContext cxt)
{
	int			m = (int) (row / p->n_kinds);
	int			j = (int) (row % p->n_kinds);
	job_of_table *job = &p->jobs[m];
	double		step_ms = planner_float8(row, 5);
	bool		isnull;
	Datum		deadline;

	p->throughput[row] = step_ms > 0 ? 1000 / step_ms : 0;
	if (j == 0)
	{
		*job = (job_of_table) {
			.id = planner_text(row, 1, cxt),.team = planner_text(row, 2, cxt),.steps = planner_float8(row, 6),.weight = planner_float8(row, 8),.deadline_s = INFINITY
		};
		job->gpus = DatumGetInt32(planner_column(row, 4, &isnull));
		deadline = planner_column(row, 7, &isnull);
		if (!isnull && !TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(deadline)))
			job->deadline_s = ((double) DatumGetTimestampTz(deadline) - (double) p->at) / USECS_PER_SEC;
	}
	if (m == 0)
		p->kinds[j] = planner_text(row, 3, cxt);
	job->runs |= step_ms > 0 && p->workers[j] > 0;
	p->notes[row] = planner_text(row, 9, cxt);
}

/* Steps of each job on each kind of device, from perfmodel. */
static void
ask(FunctionCallInfo fcinfo, planning *p)
{
	MemoryContext cxt = CurrentMemoryContext;
	Oid			types[] = {REGCLASSOID, TEXTARRAYOID, JSONBOID, TEXTOID};
	Datum	   *names = palloc(sizeof(Datum) * p->n_kinds);
	Datum		args[4];
	char		nulls[] = {' ', ' ', PG_ARGISNULL(1) ? 'n' : ' ', PG_ARGISNULL(5) ? 'n' : ' '};

	for (int j = 0; j < p->n_kinds; j++)
		names[j] = CStringGetTextDatum(p->kinds[j]);
	args[0] = PG_GETARG_DATUM(0);
	args[1] = PointerGetDatum(construct_array(names, p->n_kinds, TEXTOID, -1, false, TYPALIGN_INT));
	args[2] = nulls[2] == 'n' ? (Datum) 0 : PG_GETARG_DATUM(1);
	args[3] = nulls[3] == 'n' ? (Datum) 0 : PG_GETARG_DATUM(5);
	SPI_connect();
	if (SPI_execute_with_args("SELECT job_id, team, gpu, gpu_count, step_ms, steps_left, deadline, weight, note"
							  " FROM perfmodel.what_if_jobs(jobs => $1, gpus => $2, columns => $3, predictor => $4)", 4, types, args, nulls, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "cannot ask for the steps of the jobs");
	if (SPI_processed % p->n_kinds != 0)
		elog(ERROR, "the steps of the jobs are incomplete");
	MemoryContextSwitchTo(cxt);
	p->n = (int) (SPI_processed / p->n_kinds);
	planner_check_size(p->n, p->n_kinds);
	p->jobs = MemoryContextAllocHuge(cxt, sizeof(job_of_table) * Max(p->n, 1));
	p->throughput = MemoryContextAllocHuge(cxt, sizeof(double) * Max(SPI_processed, 1));
	p->notes = MemoryContextAllocHuge(cxt, sizeof(char *) * Max(SPI_processed, 1));
	for (uint64 row = 0; row < SPI_processed; row++)
		read_row(p, row, cxt);
	SPI_finish();
}

/* Where the job cannot run, and why; NULL: nothing is to be said. */
static char *
notes_where_not(const planning *p, int m)
{
	size_t		at = (size_t) m * p->n_kinds;

	return planner_notes_where_not(p->notes + at, p->throughput + at, p->n_kinds);
}

/* Why a job cannot take part; NULL: it can. */
static const char *
left_out(const planning *p, int m)
{
	const job_of_table *job = &p->jobs[m];

	if (!job->runs)
	{
		char	   *notes = notes_where_not(p, m);

		return notes != NULL ? notes : "no device of the workers runs it";
	}
	if (p->policy != GAVEL_MAX_MIN && !(job->steps >= 1e-3))
		return "no steps are left, or steps is not known";
	return NULL;
}

/* The jobs that take part, as the programme has them. */
static void
make_input(planning *p, gavel_input *in)
{
	gavel_job  *jobs = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(gavel_job) * Max(p->n, 1));
	double	   *throughput = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(double) * Max((Size) p->n * p->n_kinds, 1));

	*in = (gavel_input) {.n_kinds = p->n_kinds,.jobs = jobs,.throughput = throughput,.workers = p->workers,.price = p->price};
	for (int m = 0; m < p->n; m++)
	{
		job_of_table *job = &p->jobs[m];

		job->number = -1;
		if (left_out(p, m) != NULL)
			continue;
		job->number = in->n_jobs++;
		jobs[job->number] = (gavel_job) {job->gpus, job->weight >= 1e-6 && job->weight <= 1e6 ? job->weight : 1, p->policy == GAVEL_MAX_MIN ? 1 : job->steps, INFINITY};
		if (p->policy == GAVEL_COST && job->deadline_s > 0)
			jobs[job->number].deadline_s = job->deadline_s;
		memcpy(throughput + (size_t) job->number * p->n_kinds, p->throughput + (size_t) m * p->n_kinds, sizeof(double) * p->n_kinds);
	}
}

/* Digits of rows: rates are predictions, and how far an objective is from its bound has to be seen. */
#define RATE_DIGITS 5
#define SHARE_DIGITS 7
#define OBJECTIVE_DIGITS 8

static void
add_share(planning *p, int m, int kind, double share, const gavel_result *r, const char *note)
{
	const job_of_table *job = &p->jobs[m];
	Datum		values[10];
	bool		nulls[10];
	bool		none = kind < 0;

	planner_put(values, nulls, 0, job->id ? CStringGetTextDatum(job->id) : 0, job->id == NULL);
	planner_put(values, nulls, 1, job->team ? CStringGetTextDatum(job->team) : 0, job->team == NULL);
	planner_put(values, nulls, 2, none ? 0 : CStringGetTextDatum(p->kinds[kind]), none);
	planner_put(values, nulls, 3, Int32GetDatum(job->gpus), false);
	/* rounded down, so that shares of a device stay within it; of many jobs each has a small one */
	planner_put(values, nulls, 4, Float8GetDatum(share >= 1 ? share : planner_digits(share * (1 - 0.5 * pow(10, 1 - SHARE_DIGITS)), SHARE_DIGITS)), job->number < 0);
	planner_put(values, nulls, 5, Float8GetDatum(none ? 0 : planner_digits(share * p->throughput[(size_t) m * p->n_kinds + kind], RATE_DIGITS)), job->number < 0);
	planner_put(values, nulls, 6, Float8GetDatum(job->number < 0 ? 0 : r->unmet[job->number]), job->number < 0 || p->policy != GAVEL_COST || isinf(job->deadline_s) || job->deadline_s <= 0);
	planner_put(values, nulls, 7, Float8GetDatum(planner_digits(r->objective, OBJECTIVE_DIGITS)), job->number < 0);
	planner_put(values, nulls, 8, Float8GetDatum(planner_digits(r->bound, OBJECTIVE_DIGITS)), job->number < 0);
	planner_put(values, nulls, 9, note ? CStringGetTextDatum(note) : 0, note == NULL);
	pm_rows_add(&p->out, values, nulls);
}

/* What is said of a job on a kind of device (-1: on none), and of those that it cannot run on. */
static const char *
note_on(const planning *p, int m, int kind)
{
	const char *passed = p->policy == GAVEL_COST && p->jobs[m].deadline_s <= 0 ? "the deadline has passed" : NULL;
	const char *on = kind < 0 ? "no time is left for it on the devices that it could run on" : p->notes[(size_t) m * p->n_kinds + kind];

	return planner_joined(passed, planner_joined(on, notes_where_not(p, m)));
}

static void
add_job(planning *p, int m, const gavel_result *r)
{
	const job_of_table *job = &p->jobs[m];
	bool		any = false;

	if (job->number < 0)
	{
		add_share(p, m, -1, 0, r, left_out(p, m));
		return;
	}
	for (int j = 0; j < p->n_kinds; j++)
	{
		double		share = r->share[(size_t) job->number * p->n_kinds + j];

		if (share <= 0)
			continue;
		add_share(p, m, j, share, r, note_on(p, m, j));
		any = true;
	}
	if (!any)
		add_share(p, m, -1, 0, r, note_on(p, m, -1));
}

/* jobs, columns, workers, policy, prices, predictor, at */
Datum
planner_assign(PG_FUNCTION_ARGS)
{
	planning	p = {{0}};
	gavel_input in;
	gavel_result r = {0};

	pm_rows_begin(fcinfo, &p.out);
	planner_need(fcinfo, 0, "jobs", "'public.job', the table of the jobs");
	planner_need_workers(fcinfo, 2);
	planner_need(fcinfo, 3, "policy", "'max_min'");
	planner_need(fcinfo, 6, "at", "now(), which is its default");
	p.policy = policy_named(PG_GETARG_TEXT_PP(3));
	p.at = PG_GETARG_TIMESTAMPTZ(6);
	if (TIMESTAMP_NOT_FINITE(p.at))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"at\" must be a finite time")));
	p.n_kinds = planner_read_object(PG_GETARG_JSONB_P(2), "workers", 0, 1e9, &p.kinds, &p.workers);
	planner_check_size(0, p.n_kinds);
	p.price = palloc0(sizeof(double) * p.n_kinds);
	if (p.policy == GAVEL_COST && PG_ARGISNULL(4))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("policy \"cost\" needs prices"),
				 errhint("For example: prices => '{\"T4\": 0.35, \"A100\": 2.9}', of a device and hour.")));
	if (p.policy == GAVEL_COST)
		read_prices(&p, PG_GETARG_JSONB_P(4));
	ask(fcinfo, &p);
	make_input(&p, &in);
	if (in.n_jobs > 0)
		solve(&in, p.policy, &r);
	for (int m = 0; m < p.n; m++)
		add_job(&p, m, &r);
	return (Datum) 0;
}
