/*
 * elastic_sql.c - allocate_elastic(): how many devices of which kind each job of a table gets.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "elastic.h"
#include "planner_sql.h"

PG_FUNCTION_INFO_V1(planner_allocate_elastic);

/* More numbers of devices than that are a mistake; times the kinds of devices they are still an int. */
#define MAX_COUNTS 1000

typedef struct elastic_job
{
	char	   *id;
	char	   *team;
	double		work;
	char	   *note;			/* why it takes no part, where its goodput is not the reason; or NULL */
	bool		runs;
} elastic_job;

typedef struct elastic_call
{
	elastic_policy policy;
	int			n_kinds;
	int			n_counts;
	char	  **kinds;
	double	   *workers;
	double	   *count;
	int			n;
	elastic_job *jobs;
	double	   *goodput;
	char	  **notes;			/* of each goodput; NULL: none */
	double	   *work;
} elastic_call;

static elastic_policy
policy_named(text *name)
{
	char	   *s = text_to_cstring(name);

	for (int i = 0; i < ELASTIC_N_POLICIES; i++)
		if (pg_strcasecmp(s, elastic_policy_name[i]) == 0)
			return (elastic_policy) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown policy \"%s\"", s),
			 errhint("Known are \"optimus\" and \"sia\".")));
}

/* The numbers of devices a job can have: rising, 1 or more. */
static void
read_counts(ArrayType *array, elastic_call *c)
{
	Datum	   *elems;
	bool	   *nulls;

	deconstruct_array(array, INT4OID, 4, true, TYPALIGN_INT, &elems, &nulls, &c->n_counts);
	if (c->n_counts > MAX_COUNTS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("gpu_counts must have at most %d elements, not %d", MAX_COUNTS, c->n_counts)));
	c->count = palloc(sizeof(double) * Max(c->n_counts, 1));
	for (int i = 0; i < c->n_counts; i++)
	{
		c->count[i] = nulls[i] ? 0 : DatumGetInt32(elems[i]);
		if (c->count[i] < 1 || (i > 0 && c->count[i] <= c->count[i - 1]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("gpu_counts must be numbers of 1 or more in rising order"),
					 errhint("For example: {1,2,4,8,16}.")));
	}
	if (c->n_counts == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("gpu_counts must have an element at least")));
}

/* A row of the query: jobs, then kinds, then counts. */
static void
read_row(elastic_call *c, uint64 row, MemoryContext cxt)
{
	int			per_job = c->n_kinds * c->n_counts;
	int			m = (int) (row / per_job);
	int			within = (int) (row % per_job);
	elastic_job *job = &c->jobs[m];
	double		goodput = planner_float8(row, 4);

	if (within == 0)
		*job = (elastic_job) {.id = planner_text(row, 1, cxt),.team = planner_text(row, 2, cxt),.work = planner_float8(row, 5)};
	if (m == 0 && within % c->n_counts == 0)
		c->kinds[within / c->n_counts] = planner_text(row, 3, cxt);
	c->goodput[row] = goodput > 0 && isfinite(goodput) ? goodput : 0;
	job->runs |= c->goodput[row] > 0;
	c->notes[row] = planner_text(row, 6, cxt);
}

static void
ask(FunctionCallInfo fcinfo, elastic_call *c)
{
	MemoryContext cxt = CurrentMemoryContext;
	Oid			types[] = {REGCLASSOID, TEXTARRAYOID, JSONBOID, INT4ARRAYOID, TEXTOID};
	Datum	   *names = palloc(sizeof(Datum) * c->n_kinds);
	Datum		args[5];
	char		nulls[] = {' ', ' ', PG_ARGISNULL(1) ? 'n' : ' ', ' ', PG_ARGISNULL(5) ? 'n' : ' '};
	int			per_job = c->n_kinds * c->n_counts;

	for (int j = 0; j < c->n_kinds; j++)
		names[j] = CStringGetTextDatum(c->kinds[j]);
	args[0] = PG_GETARG_DATUM(0);
	args[1] = PointerGetDatum(construct_array(names, c->n_kinds, TEXTOID, -1, false, TYPALIGN_INT));
	args[2] = nulls[2] == 'n' ? (Datum) 0 : PG_GETARG_DATUM(1);
	args[3] = PG_GETARG_DATUM(4);
	args[4] = nulls[4] == 'n' ? (Datum) 0 : PG_GETARG_DATUM(5);
	SPI_connect();
	if (SPI_execute_with_args("SELECT job_id, team, gpu, goodput_per_s, samples_left, note FROM perfmodel.what_if_jobs(jobs => $1, gpus => $2, columns => $3,"
							  " gpu_counts => $4, predictor => $5)",
							  5, types, args, nulls, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "cannot ask for the steps of the jobs");
	if (SPI_processed % per_job != 0)
		elog(ERROR, "the steps of the jobs are incomplete");
	MemoryContextSwitchTo(cxt);
	c->n = (int) (SPI_processed / per_job);
	planner_check_size(c->n, per_job);
	c->jobs = MemoryContextAllocHuge(cxt, sizeof(elastic_job) * Max(c->n, 1));
	c->goodput = MemoryContextAllocHuge(cxt, sizeof(double) * Max(SPI_processed, 1));
	c->notes = MemoryContextAllocHuge(cxt, sizeof(char *) * Max(SPI_processed, 1));
	c->work = MemoryContextAllocHuge(cxt, sizeof(double) * Max(c->n, 1));
	for (uint64 row = 0; row < SPI_processed; row++)
		read_row(c, row, cxt);
	SPI_finish();
	/* without work, a job that optimus is to shorten takes no part */
	for (int m = 0; m < c->n; m++)
	{
		c->work[m] = c->jobs[m].work;
		if (c->policy == ELASTIC_SIA || c->work[m] > 0)
			continue;
		for (int i = 0; i < per_job; i++)
			c->goodput[(size_t) m * per_job + i] = 0;
		if (c->jobs[m].runs)
			c->jobs[m].note = "no steps are left, or steps is not known";
		c->work[m] = 0;
	}
}

/* Whether it could run on the devices if it were alone. */
static bool
could_run(const elastic_call *c, int m)
{
	size_t		at = (size_t) m * c->n_kinds * c->n_counts;

	for (int j = 0; j < c->n_kinds; j++)
		for (int i = 0; i < c->n_counts; i++)
			if (c->goodput[at + j * c->n_counts + i] > 0 && c->count[i] <= c->workers[j])
				return true;
	return false;
}

/* Why a job gets no devices. */
static const char *
why_none(const elastic_call *c, int m)
{
	int			per_job = c->n_kinds * c->n_counts;
	char	   *notes = planner_notes_where_not(c->notes + (size_t) m * per_job, c->goodput + (size_t) m * per_job, per_job);

	if (c->jobs[m].note != NULL)
		return c->jobs[m].note;
	if (!c->jobs[m].runs)
		return notes != NULL ? notes : "no device of the workers runs it";
	return planner_joined(could_run(c, m) ? "other jobs get the devices that it could run on" : "it needs more devices than the workers have", notes);
}

static void
add_job(pm_rows_out *out, const elastic_call *c, const elastic_result *r, int m)
{
	const elastic_job *job = &c->jobs[m];
	int			kind = r->kind[m];
	bool		none = kind < 0;
	size_t		at = none ? 0 : ((size_t) m * c->n_kinds + kind) * c->n_counts + r->count[m];
	double		goodput = c->goodput[at];
	const char *note = none ? why_none(c, m) : c->notes[at];
	Datum		values[9];
	bool		nulls[9];

	planner_put(values, nulls, 0, job->id ? CStringGetTextDatum(job->id) : 0, job->id == NULL);
	planner_put(values, nulls, 1, job->team ? CStringGetTextDatum(job->team) : 0, job->team == NULL);
	planner_put(values, nulls, 2, none ? 0 : CStringGetTextDatum(c->kinds[kind]), none);
	planner_put(values, nulls, 3, Int32GetDatum(none ? 0 : (int32) c->count[r->count[m]]), false);
	planner_put(values, nulls, 4, Float8GetDatum(planner_digits(goodput, 5)), none);
	planner_put(values, nulls, 5, Float8GetDatum(none ? 0 : planner_digits(job->work / goodput, 5)), none || isnan(job->work));
	planner_put(values, nulls, 6, Float8GetDatum(planner_digits(r->objective, 8)), false);
	planner_put(values, nulls, 7, Float8GetDatum(planner_digits(r->bound, 8)), c->policy != ELASTIC_SIA);
	planner_put(values, nulls, 8, note ? CStringGetTextDatum(note) : 0, note == NULL);
	pm_rows_add(out, values, nulls);
}

/* jobs, columns, workers, policy, gpu_counts, predictor */
Datum
planner_allocate_elastic(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	elastic_call c = {0};
	elastic_input in;
	elastic_result r = {0};
	lp_status	status;

	pm_rows_begin(fcinfo, &out);
	planner_need(fcinfo, 0, "jobs", "'public.job', the table of the jobs");
	planner_need_workers(fcinfo, 2);
	planner_need(fcinfo, 3, "policy", "'optimus'");
	planner_need(fcinfo, 4, "gpu_counts", "'{1,2,4,8,16}'");
	c.policy = policy_named(PG_GETARG_TEXT_PP(3));
	c.n_kinds = planner_read_object(PG_GETARG_JSONB_P(2), "workers", 0, 1e9, &c.kinds, &c.workers);
	planner_check_size(0, c.n_kinds);
	read_counts(PG_GETARG_ARRAYTYPE_P(4), &c);
	ask(fcinfo, &c);
	in = (elastic_input) {c.n, c.n_kinds, c.n_counts, c.count, c.goodput, c.work, c.workers};
	r.kind = planner_memory(sizeof(int) * Max(c.n, 1));
	r.count = planner_memory(sizeof(int) * Max(c.n, 1));
	status = r.kind && r.count ? elastic_allocate(&in, c.policy, planner_memory, planner_cancelled, NULL, &r) : LP_NO_MEMORY;
	planner_check_status(status, c.n, c.n_kinds);
	for (int m = 0; m < c.n; m++)
		add_job(&out, &c, &r, m);
	return (Datum) 0;
}
