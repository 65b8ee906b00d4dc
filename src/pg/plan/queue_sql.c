/*
 * queue_sql.c - forecast_jobs(), queue_order(), queue_eta(), deadline_probability().
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "catalog.h"
#include "context_arena.h"
#include "errors.h"
#include "members.h"
#include "plan/backtest.h"
#include "plan/job_arguments.h"
#include "plan/job_rows.h"
#include "plan/name_aliases.h"
#include "plan/out_row.h"
#include "plan/overrun.h"
#include "plan/unknown_gpus.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_forecast_jobs);
PG_FUNCTION_INFO_V1(pm_queue_order_table);
PG_FUNCTION_INFO_V1(pm_queue_order_arrays);
PG_FUNCTION_INFO_V1(pm_queue_eta_table);
PG_FUNCTION_INFO_V1(pm_queue_eta_arrays);
PG_FUNCTION_INFO_V1(pm_deadline_table);
PG_FUNCTION_INFO_V1(pm_deadline_arrays);

/* ---------- arguments ---------- */

/* Arrays in the arguments from `first` on; those that are NULL are columns that there are not. */
typedef struct array_argument
{
	pm_job_column what;
	Oid			type;
} array_argument;

static const array_argument job_arrays[] = {
	{PM_COLUMN_ID, TEXTARRAYOID}, {PM_COLUMN_GPU, TEXTARRAYOID}, {PM_COLUMN_GPU_COUNT, INT4ARRAYOID},
	{PM_COLUMN_DURATION_S, FLOAT8ARRAYOID}, {PM_COLUMN_DURATION_P90_S, FLOAT8ARRAYOID}, {PM_COLUMN_SUBMITTED_AT, TIMESTAMPTZARRAYOID},
	{PM_COLUMN_STARTED_AT, TIMESTAMPTZARRAYOID}, {PM_COLUMN_DEADLINE, TIMESTAMPTZARRAYOID}
};

static void
open_arrays(FunctionCallInfo fcinfo, int first, pm_job_table *t)
{
	pm_require_catalog();
	pm_job_arrays_begin(t);
	for (int i = 0; i < lengthof(job_arrays); i++)
		if (!PG_ARGISNULL(first + i))
			pm_job_arrays_add(t, job_arrays[i].what, job_arrays[i].type, PG_GETARG_DATUM(first + i));
	pm_job_table_need(t, PM_COLUMN_DURATION_S);
	pm_job_arrays_end(t);
}

/* ---------- forecast_jobs ---------- */

Datum
pm_forecast_jobs(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_job_table t;
	pm_jobs		jobs;

	pm_rows_begin(fcinfo, &out);
	pm_job_table_argument(fcinfo, 0, 1, &t);
	pm_job_table_need_forecast(&t, false);
	pm_jobs_read(&t, pm_predictor_argument(fcinfo, 2), pm_at_argument(fcinfo, 3), DT_NOBEGIN, &jobs);
	for (int i = 0; i < jobs.n; i++)
	{
		const pm_job_row *r = &jobs.rows[i];
		pm_out_row	o = {.n = 0};

		pm_row_text(&o, r->id);
		pm_row_text(&o, r->team);
		pm_row_text(&o, r->gpu);
		pm_row_int4_or_null(&o, jobs.queue[i].gpus, r->lacks_count);
		pm_row_bool_or_null(&o, jobs.queue[i].elapsed_s >= 0, false);
		pm_row_time(&o, r->submitted_at);
		pm_row_time(&o, r->started_at);
		pm_row_time(&o, r->deadline);
		pm_row_float8(&o, r->p50_s);
		pm_row_float8(&o, r->p90_s);
		pm_row_float8(&o, r->step_ms);
		pm_row_bool_or_null(&o, r->in_domain, !r->domain_known);
		pm_row_text(&o, r->note);
		pm_rows_add(&out, o.values, o.nulls);
	}
	return (Datum) 0;
}

/* ---------- queue_order ---------- */

static void
order_jobs(const pm_jobs *jobs, pm_policy policy, int32 *order, pm_arena *a)
{
	pm_status	st = {PM_OK};

	if (pm_queue_order(jobs->queue, jobs->n, policy, order, a, &st) != PM_OK)
		pm_raise(&st);
}

static const char *
why_last(pm_policy policy, const pm_queue_job *j)
{
	if (pm_policy_key(policy, j) != INFINITY)
		return NULL;
	return policy == PM_EDF ? "no deadline: last" : "no forecast: last";
}

static void
add_ordered(pm_rows_out *out, pm_jobs *jobs, int i, int64 position, pm_policy policy)
{
	pm_job_row *r = &jobs->rows[i];
	const pm_queue_job *j = &jobs->queue[i];
	const char *last = why_last(policy, j);
	pm_out_row	o = {.n = 0};

	if (last != NULL)
		pm_job_note(r, last);
	pm_row_int8_or_null(&o, position, false);
	pm_row_text(&o, r->id);
	pm_row_text(&o, r->team);
	pm_row_text(&o, r->gpu);
	pm_row_int4_or_null(&o, j->gpus, r->lacks_count);
	pm_row_time(&o, r->submitted_at);
	pm_row_time(&o, r->deadline);
	pm_row_float8(&o, r->p50_s);
	pm_row_float8(&o, r->p90_s);
	pm_row_float8(&o, r->p50_s * j->gpus);
	pm_row_text(&o, r->note);
	pm_rows_add(out, o.values, o.nulls);
}

static void
queue_order(FunctionCallInfo fcinfo, const pm_job_table *t, pm_rows_out *out, pm_policy policy, text *predictor, TimestampTz at)
{
	pm_arena	a;
	pm_jobs		jobs;
	int32	   *order;
	int64		position = 0;

	pm_jobs_read(t, predictor, at, DT_NOBEGIN, &jobs);
	order = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int32) * Max(jobs.n, 1));
	pm_context_arena(&a, CurrentMemoryContext, 0);
	order_jobs(&jobs, policy, order, &a);
	for (int k = 0; k < jobs.n; k++)
		if (jobs.queue[order[k]].elapsed_s < 0)
			add_ordered(out, &jobs, order[k], ++position, policy);
}

Datum
pm_queue_order_table(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_job_table t;
	pm_policy	policy;

	pm_rows_begin(fcinfo, &out);
	pm_job_table_argument(fcinfo, 0, 1, &t);
	policy = pm_policy_argument(fcinfo, 2);
	if (policy == PM_EDF)
		pm_job_table_need(&t, PM_COLUMN_DEADLINE);
	else if (policy != PM_FIFO)
		pm_job_table_need_forecast(&t, false);
	queue_order(fcinfo, &t, &out, policy, pm_predictor_argument(fcinfo, 3), pm_at_argument(fcinfo, 4));
	return (Datum) 0;
}

Datum
pm_queue_order_arrays(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_job_table t;

	pm_rows_begin(fcinfo, &out);
	open_arrays(fcinfo, 0, &t);
	queue_order(fcinfo, &t, &out, pm_policy_argument(fcinfo, 8), NULL, pm_at_argument(fcinfo, 9));
	return (Datum) 0;
}

/* ---------- queue_eta, deadline_probability ---------- */

typedef struct eta_call
{
	pm_rows_out out;
	pm_arena	arena;
	pm_jobs		jobs;
	pm_policy	policy;
	pm_eta_options options;
	TimestampTz at;
	TimestampTz recent_from;	/* what was submitted later stands for what is to come; DT_NOBEGIN: no jobs are to come */
	TimestampTz history_from;	/* jobs that are over are read from here on */
	bool		shortened;		/* the windows are shorter than asked for */
	bool		may_pass;		/* later jobs can pass those that wait */
	const char *unchecked;		/* said of all that wait; or NULL */
	bool	   *named;			/* [n_pools] whether "free" has it */
	StringInfoData free_names;	/* what "free" has */
	pm_pool    *pools;
	pm_stretch *stretch;		/* [n_pools] what the history says of the waits */
	pm_overrun *overrun;		/* [n_pools] and of the durations */
	int32	   *order;
	pm_eta	   *eta;
} eta_call;

static int64
free_count(const char *gpu, const JsonbValue *v)
{
	int64		n = -1;

	if (v->type == jbvNumeric && !numeric_is_nan(v->val.numeric) && !numeric_is_inf(v->val.numeric))
	{
		double		d = pm_member_number(v);

		if (d >= 0 && d <= 1e9 && d == floor(d))
			n = (int64) d;
	}
	if (n < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("member \"%s\" of free must be a number of devices", pm_shown_name(gpu)),
				 errhint("For example: {\"T4\": 4, \"A100\": 0}: how many of each are free now.")));
	return n;
}

static void
read_free(Jsonb *object, eta_call *c)
{
	pm_members	m;
	pm_unknown_gpus unknown = {0};

	if (object == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"free\" must be given: how many devices of each kind are free now"),
				 c->jobs.n > 0 ? errdetail("The jobs ask for %s.", pm_jobs_kinds(&c->jobs)) : 0,
				 errhint("For example: free => '{\"T4\": 4, \"A100\": 0}'; running jobs give theirs back when they end.")));
	if (!JB_ROOT_IS_OBJECT(object))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("free must be an object"),
				 errhint("For example: {\"T4\": 4, \"A100\": 0}: how many of each are free now.")));
	initStringInfo(&c->free_names);
	for (pm_members_begin(&m, object); pm_next_member(&m);)
	{
		int64		n = free_count(m.name, &m.value);
		int			pool = pm_jobs_pool(&c->jobs, pm_job_gpu(m.name));

		appendStringInfo(&c->free_names, "%s%s", c->free_names.len > 0 ? ", " : "", pm_shown_name(m.name));
		if (pool < 0)
		{
			pm_unknown_gpus_add(&unknown, m.name);
			continue;
		}
		c->pools[pool].free += n;
		c->named[pool] = true;
	}
	pm_unknown_gpus_tell(&unknown, "free", &c->jobs);
}

/* Devices of each pool, those that jobs hold now included. */
static pm_pool *
all_devices(const eta_call *c)
{
	pm_pool    *all = palloc(sizeof(pm_pool) * (c->jobs.n_pools + 1));

	memcpy(all, c->pools, sizeof(pm_pool) * c->jobs.n_pools);
	for (int i = 0; i < c->jobs.n; i++)
		if (c->jobs.queue[i].elapsed_s >= 0)
			all[c->jobs.queue[i].pool].free += c->jobs.queue[i].gpus;
	return all;
}

/* Durations become what those of before turned out to be. */
static void
learn_durations(eta_call *c)
{
	pm_status	st = {PM_OK};
	pm_past_job *past;
	int			n;

	if (c->history_from == DT_NOBEGIN)
		return;
	n = pm_jobs_past(&c->jobs, c->at, &past);
	if (pm_overruns(past, n, c->jobs.n_questions, c->jobs.n_pools, c->overrun, &c->arena, &st) != PM_OK)
		pm_raise(&st);
	pfree(past);
	for (int i = 0; i < c->jobs.n_all; i++)
		c->jobs.queue[i].work.p50_s *= c->overrun[c->jobs.queue[i].pool].factor;
}

/* How far forecasts of before have to be stretched to be right. */
static void
check_past(eta_call *c)
{
	pm_status	st = {PM_OK};
	pm_past_job *past;
	int			n = pm_jobs_past(&c->jobs, c->at, &past);
	int			kept = 0;
	int			moments;

	/* of a device that nobody has told of, nothing can be said of the past either */
	for (int i = 0; i < n; i++)
		if (c->named[past[i].job.pool])
			past[kept++] = past[i];
	if (pm_eta_backtest(past, kept, c->jobs.n_questions, all_devices(c), c->jobs.n_pools, &c->options,
						((double) c->recent_from - (double) c->history_from) / USECS_PER_SEC, c->stretch, &moments, &c->arena, &st) != PM_OK)
		pm_raise(&st);
	c->options.stretch = c->stretch;
	pfree(past);
	if (moments < PM_BACKTEST_LEAST)
		c->unchecked = "p90 was not compared with the past: too few jobs waited in it";
}

/* Jobs of the past that stand for those that are to come, where they can make a difference. */
static void
use_history(eta_call *c)
{
	pm_queue_job *recent;
	pm_status	st = {PM_OK};

	if (c->recent_from == DT_NOBEGIN)
		return;
	if (c->jobs.n_all == c->jobs.n)
	{
		c->unchecked = "jobs that are still to come are not counted: the table has none that are over";
		return;
	}
	c->options.n_recent = pm_jobs_recent(&c->jobs, c->recent_from, c->at, &recent);
	c->options.recent = recent;
	c->options.window_s = ((double) c->at - (double) c->recent_from) / USECS_PER_SEC;
	if (pm_eta_check(c->jobs.n, &c->options, &st) != PM_OK)
		pm_raise(&st);
	check_past(c);
}

/* What is over is read as far back as it is not more than this: so time and memory stay bounded. */
#define HISTORY_JOBS_MAX	30000
/* How far forecasts of the past are compared, in windows of arrivals. */
#define WINDOWS_COMPARED	2

/* Shorten all windows alike where the history has more jobs than can be used. */
static void
bound_history(eta_call *c, const pm_job_table *t)
{
	TimestampTz from;

	if (c->history_from == DT_NOBEGIN || t->column[PM_COLUMN_FINISHED_AT] == NULL)
		return;
	from = pm_jobs_read_from(t, c->history_from, HISTORY_JOBS_MAX);
	if (from == c->history_from)
		return;
	c->history_from = from;
	/* of durations, so many are enough */
	if (c->recent_from == DT_NOBEGIN)
		return;
	c->shortened = true;
	c->recent_from = from < c->at ? c->at - (c->at - from) / (1 + WINDOWS_COMPARED) : c->at;
	if (c->recent_from < c->at)
		return;
	c->recent_from = c->history_from = DT_NOBEGIN;
	c->unchecked = psprintf("jobs that are still to come are not counted: more than %d ended at or after \"at\"", HISTORY_JOBS_MAX);
}

static void
compute_eta(eta_call *c, const pm_job_table *t, text *predictor, Jsonb *free)
{
	pm_status	st = {PM_OK};

	bound_history(c, t);
	pm_jobs_read(t, predictor, c->at, c->history_from, &c->jobs);
	pm_context_arena(&c->arena, CurrentMemoryContext, 0);
	c->pools = palloc0(sizeof(pm_pool) * (c->jobs.n_pools + 1));
	c->overrun = palloc0(sizeof(pm_overrun) * (c->jobs.n_pools + 1));
	c->stretch = palloc0(sizeof(pm_stretch) * (c->jobs.n_pools + 1));
	c->named = palloc0(sizeof(bool) * (c->jobs.n_pools + 1));
	c->order = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int32) * Max(c->jobs.n, 1));
	c->eta = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(pm_eta) * Max(c->jobs.n, 1));
	read_free(free, c);
	c->options.policy = c->policy;
	learn_durations(c);
	use_history(c);
	order_jobs(&c->jobs, c->policy, c->order, &c->arena);
	if (pm_queue_eta(c->jobs.queue, c->jobs.n, c->jobs.n_questions, c->order, c->pools, c->jobs.n_pools, &c->options, c->eta, &c->arena, &st) != PM_OK)
		pm_raise(&st);
}

/* Factors that are worth a word. */
#define SAID_ABOVE 1.05

/* How far the history moves the duration of a job. */
static void
note_duration(eta_call *c, int i)
{
	pm_job_row *r = &c->jobs.rows[i];
	const pm_overrun *o = &c->overrun[c->jobs.queue[i].pool];
	const char *limit = o->capped ? psprintf(", between %g and %g at most", PM_OVERRUN_MIN, PM_OVERRUN_MAX) : "";

	if (o->factor == 0 || isnan(c->jobs.queue[i].work.p50_s) || fmax(o->factor, 1 / o->factor) < SAID_ABOVE)
		return;
	pm_job_note(r, psprintf("history: jobs on %s take %.2g times the prediction (n %d%s); counted in", r->gpu != NULL ? pm_shown_name(r->gpu) : "no gpu",
							o->factor, o->n, limit));
}

/* A running job is said to be overdue from so many times its forecast on. */
#define OVERDUE_FROM 3

/* That a job runs for much longer than was predicted, so that nothing is known of its end. */
static void
note_overdue(eta_call *c, int i)
{
	const pm_queue_job *j = &c->jobs.queue[i];

	double		times = j->elapsed_s / j->work.p50_s;

	if (j->work.p50_s > 0 && times > OVERDUE_FROM)
		pm_job_note(&c->jobs.rows[i], psprintf("has run %.*f times as long as forecast: its end is a guess", times < 10 ? 1 : 0, times));
}

/* How far it moves the start. */
static void
note_history(eta_call *c, pm_job_row *r, int32 pool)
{
	const pm_stretch *s = &c->stretch[pool];
	const char *limit = s->capped ? psprintf(", between %g and %g at most", PM_STRETCH_MIN, PM_STRETCH_MAX) : "";

	if (c->options.stretch == NULL || s->p50 == 0 || fmax(fmax(s->p50, 1 / s->p50), fmax(s->p90, 1 / s->p90)) < SAID_ABOVE)
		return;
	pm_job_note(r, psprintf("history: waits for %s were %.2g times the simulated ones (p90 %.2g, n %d%s); counted in", r->gpu != NULL ? pm_shown_name(r->gpu) : "no gpu",
							s->p50, s->p90, s->n, limit));
}

/* What keeps a job from having a start or an end. */
static void
note_eta(eta_call *c, int i)
{
	pm_job_row *r = &c->jobs.rows[i];
	const pm_queue_job *j = &c->jobs.queue[i];

	if (isfinite(c->eta[i].finish_p90_s) && !pm_in_calendar(c->at, c->eta[i].finish_p90_s))
		pm_job_note(r, "ends after the last day of the calendar");
	/* what has no forecast has a note that says why already */
	if (j->elapsed_s >= 0 || isnan(j->work.p50_s))
		return;
	if (!c->named[j->pool] && r->gpu != NULL && !c->eta[i].fits)
		pm_job_note(r, psprintf("never starts: free does not name %s (it names %s)", pm_shown_name(r->gpu),
								c->free_names.len > 0 ? pm_shown_name(c->free_names.data) : "nothing"));
	else if (!c->named[j->pool] && r->gpu != NULL)
		pm_job_note(r, psprintf("free does not name %s: only devices of running jobs are counted", pm_shown_name(r->gpu)));
	else if (!c->eta[i].fits)
		pm_job_note(r, psprintf("never starts: it needs %d of these devices, and there are fewer", j->gpus));
	if (c->eta[i].fits && isinf(c->eta[i].start_p50_s))
		pm_job_note(r, "never starts: it waits for devices of jobs without a forecast");
	else if (c->eta[i].fits && c->unchecked != NULL)
		pm_job_note(r, c->unchecked);
	if (isfinite(c->eta[i].start_p90_s) && c->eta[i].start_p90_s > 0)
		note_history(c, r, j->pool);
	if (c->shortened && c->options.n_recent > 0 && c->eta[i].start_p90_s > c->options.window_s && isfinite(c->eta[i].start_p50_s))
		pm_job_note(r, psprintf("jobs to come are counted for %.1f hours only: the history of arrivals has more than %d jobs", c->options.window_s / 3600, HISTORY_JOBS_MAX));
}

/* Waiting jobs in their order behind the running ones; the caller's function makes a row. */
static void
for_each_job(eta_call *c, void (*add) (eta_call *c, int i, int64 position))
{
	int64		position = 0;

	for (int running = 1; running >= 0; running--)
		for (int k = 0; k < c->jobs.n; k++)
		{
			int			i = c->order[k];

			if ((c->jobs.queue[i].elapsed_s >= 0) != running)
				continue;
			note_duration(c, i);
			note_overdue(c, i);
			note_eta(c, i);
			add(c, i, running ? 0 : ++position);
		}
}

static void
add_eta(eta_call *c, int i, int64 position)
{
	const pm_job_row *r = &c->jobs.rows[i];
	const pm_queue_job *j = &c->jobs.queue[i];
	const pm_eta *e = &c->eta[i];
	pm_out_row	o = {.n = 0};

	pm_row_int8_or_null(&o, position, position == 0);
	pm_row_text(&o, r->id);
	pm_row_text(&o, r->team);
	pm_row_text(&o, r->gpu);
	pm_row_int4_or_null(&o, j->gpus, r->lacks_count);
	pm_row_float8(&o, r->p50_s);
	pm_row_float8(&o, r->p90_s);
	if (position == 0)
	{
		pm_row_time(&o, r->started_at);
		pm_row_time(&o, r->started_at);
	}
	else
	{
		pm_row_seconds_from(&o, c->at, e->start_p50_s);
		pm_row_seconds_from(&o, c->at, e->start_p90_s);
	}
	pm_row_seconds_from(&o, c->at, e->finish_p50_s);
	pm_row_seconds_from(&o, c->at, e->finish_p90_s);
	pm_row_text(&o, r->note);
	pm_rows_add(&c->out, o.values, o.nulls);
}

static void
add_deadline(eta_call *c, int i, int64 position)
{
	pm_job_row *r = &c->jobs.rows[i];
	const pm_eta *e = &c->eta[i];
	pm_out_row	o = {.n = 0};

	if (TIMESTAMP_NOT_FINITE(r->deadline))
		return;
	pm_row_text(&o, r->id);
	pm_row_text(&o, r->team);
	pm_row_text(&o, r->gpu);
	pm_row_int4_or_null(&o, c->jobs.queue[i].gpus, r->lacks_count);
	pm_row_time(&o, r->deadline);
	pm_row_float8(&o, e->in_time);
	pm_row_seconds_from(&o, c->at, e->finish_p50_s);
	pm_row_seconds_from(&o, c->at, e->finish_p90_s);
	pm_row_text(&o, r->note);
	pm_rows_add(&c->out, o.values, o.nulls);
}

/* Arguments from `first` on: policy, backfill, predictor (of tables only), at, draws, seed. */
static void
eta_arguments(FunctionCallInfo fcinfo, int first, bool has_predictor, eta_call *c)
{
	int			at = first + (has_predictor ? 3 : 2);

	pm_need_argument(fcinfo, first + 1, "backfill", "false");
	pm_need_argument(fcinfo, at + 1, "draws", "200");
	pm_need_argument(fcinfo, at + 2, "seed", "1");
	c->policy = pm_policy_argument(fcinfo, first);
	c->at = pm_at_argument(fcinfo, at);
	c->may_pass = c->policy != PM_FIFO || PG_GETARG_BOOL(first + 1);
	c->options = (pm_eta_options) {
		.draws = PG_GETARG_INT32(at + 1),.seed = (uint64) PG_GETARG_INT64(at + 2),.backfill = PG_GETARG_BOOL(first + 1)
	};
}

/* Where jobs can pass others and nobody says otherwise. */
#define USUAL_ARRIVALS_DAYS 7
static TimestampTz
before(TimestampTz at, Datum interval)
{
	return DatumGetTimestampTz(DirectFunctionCall2(timestamptz_mi_interval, TimestampTzGetDatum(at), interval));
}

#define MOST_ARRIVALS_YEARS 100

static void
check_arrivals(Datum arrivals)
{
	Interval	none = {0};
	Interval	most = {.month = 12 * MOST_ARRIVALS_YEARS};
	Interval	hour = {.time = USECS_PER_HOUR};

	if (DatumGetBool(DirectFunctionCall2(interval_lt, arrivals, IntervalPGetDatum(&none))) ||
		DatumGetBool(DirectFunctionCall2(interval_gt, arrivals, IntervalPGetDatum(&most))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("arrivals must be an interval of 0 or more, and at most %d years", MOST_ARRIVALS_YEARS),
				 errhint("For example '7 days': the jobs of the last 7 days stand for the jobs to come. '0': no jobs come.")));
	pm_notice_short("arrivals", arrivals, IntervalPGetDatum(&hour), "only the jobs of so short a time stand for the jobs to come", "7 days");
}

/* The argument arrivals: recent_from and history_from of the call. */
static void
window_argument(FunctionCallInfo fcinfo, int arg, pm_job_table *t, eta_call *c)
{
	Interval	usual = {.day = USUAL_ARRIVALS_DAYS};
	bool		has_columns = t->column[PM_COLUMN_FINISHED_AT] != NULL && t->column[PM_COLUMN_SUBMITTED_AT] != NULL;

	c->recent_from = c->history_from = DT_NOBEGIN;
	if (PG_ARGISNULL(arg) && !has_columns)
	{
		if (!c->may_pass)
			return;
		c->unchecked = "jobs that are still to come are not counted: the table has none that are over";
		return;
	}
	if (!PG_ARGISNULL(arg))
		check_arrivals(PG_GETARG_DATUM(arg));
	c->recent_from = c->history_from = before(c->at, PG_ARGISNULL(arg) ? IntervalPGetDatum(&usual) : PG_GETARG_DATUM(arg));
	if (c->recent_from >= c->at)
	{
		c->recent_from = c->history_from = DT_NOBEGIN;
		return;
	}
	for (int i = 0; i < WINDOWS_COMPARED; i++)
		c->history_from = before(c->history_from, PG_ARGISNULL(arg) ? IntervalPGetDatum(&usual) : PG_GETARG_DATUM(arg));
	if (c->may_pass)
		pm_job_table_need(t, PM_COLUMN_SUBMITTED_AT);
	else
		c->recent_from = DT_NOBEGIN;
}

static Datum
eta_of_table(FunctionCallInfo fcinfo, void (*add) (eta_call *c, int i, int64 position))
{
	eta_call	c = {{0}};
	pm_job_table t;

	pm_rows_begin(fcinfo, &c.out);
	pm_job_table_argument(fcinfo, 0, 1, &t);
	eta_arguments(fcinfo, 3, true, &c);
	pm_job_table_need_forecast(&t, true);
	if (add == add_deadline || c.policy == PM_EDF)
		pm_job_table_need(&t, PM_COLUMN_DEADLINE);
	window_argument(fcinfo, 9, &t, &c);
	compute_eta(&c, &t, pm_predictor_argument(fcinfo, 5), PG_ARGISNULL(2) ? NULL : PG_GETARG_JSONB_P(2));
	for_each_job(&c, add);
	return (Datum) 0;
}

static Datum
eta_of_arrays(FunctionCallInfo fcinfo, void (*add) (eta_call *c, int i, int64 position))
{
	eta_call	c = {{0}};
	pm_job_table t;

	pm_rows_begin(fcinfo, &c.out);
	eta_arguments(fcinfo, 9, false, &c);
	open_arrays(fcinfo, 1, &t);
	c.recent_from = c.history_from = DT_NOBEGIN;
	if (c.may_pass)
		c.unchecked = "jobs that are still to come are not counted";
	compute_eta(&c, &t, NULL, PG_ARGISNULL(0) ? NULL : PG_GETARG_JSONB_P(0));
	for_each_job(&c, add);
	return (Datum) 0;
}

Datum
pm_queue_eta_table(PG_FUNCTION_ARGS)
{
	return eta_of_table(fcinfo, add_eta);
}

Datum
pm_queue_eta_arrays(PG_FUNCTION_ARGS)
{
	return eta_of_arrays(fcinfo, add_eta);
}

Datum
pm_deadline_table(PG_FUNCTION_ARGS)
{
	return eta_of_table(fcinfo, add_deadline);
}

Datum
pm_deadline_arrays(PG_FUNCTION_ARGS)
{
	return eta_of_arrays(fcinfo, add_deadline);
}
