/*
 * job_rows.c - jobs of a table in the form that the planning functions use,
 * with the forecast of the duration of each.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "asking.h"
#include "cache/freshness.h"
#include "encoding.h"
#include "errors.h"
#include "gpus.h"
#include "plan/graph_names.h"
#include "plan/job_memory.h"
#include "plan/job_query.h"
#include "plan/job_read.h"
#include "plan/job_rows.h"
#include "plan/name_aliases.h"
#include "plans.h"

/* The interval whose ends are the quantiles of 10 and 90 %. */
#define LEVEL 0.8

/* A duration_s that differs by less from what a job took, or has run so far, is that and no forecast. */
#define HINDSIGHT_S 2

/* More than that in one plan is a mistake, and would not fit into one array. */
#define MAX_JOBS 5000000

/* Kinds of devices that a message names. */
#define MOST_KINDS 10

/* ---------- one job ---------- */

/* A number of devices that no job can have is none: it is said, and nothing is predicted of the job. */
static void
check_gpu_count(pm_job_row *r, pm_job_question *q)
{
	if (q->gpu_count >= 1 && q->gpu_count <= PM_MAX_GPU_COUNT)
		return;
	if (q->gpu_count == PM_NOT_WHOLE)
		pm_job_note(r, psprintf("gpu_count is no whole number from 1 to %d", PM_MAX_GPU_COUNT));
	else
		pm_job_note(r, psprintf("gpu_count is %d: it must be from 1 to %d", q->gpu_count, PM_MAX_GPU_COUNT));
	q->gpu_count = 1;
	r->lacks_count = true;
}

/* A format as name_alias says, where it is no word of ours. */
static void
resolve_dtype(pm_job_question *q)
{
	const char *alias = q->words.dtype != NULL ? pm_dtype_alias_of(text_to_cstring(q->words.dtype)) : NULL;

	if (alias != NULL)
		q->words.dtype = cstring_to_text(alias);
}

/* An optimizer that is none of ours is one of the others: collect_from_jobs() has the same rule. */
static void
resolve_optimizer(pm_job_question *q)
{
	char	   *given;

	if (q->words.optimizer == NULL)
		return;
	given = text_to_cstring(q->words.optimizer);
	if (pm_optimizer_parse(given) >= 0)
		return;
	q->taken = psprintf("optimizer \"%s\" is taken as \"%s\"", pm_shown_name(given), pm_optimizer_name[PM_OPT_OTHER]);
	q->words.optimizer = cstring_to_text(pm_optimizer_name[PM_OPT_OTHER]);
}

/* Names that the query has not found: other spellings, or why a name means no graph. A number that is none hides the name. */
static void
resolve_graphs(pm_jobs *jobs)
{
	pm_graph_names names;

	pm_graph_names_begin(&names);
	for (int i = 0; i < jobs->n_all; i++)
	{
		pm_job_question *q = &jobs->questions[i];

		CHECK_FOR_INTERRUPTS();
		if (q->has_graph_id || q->graph == NULL || q->not_meant != NULL)
			continue;
		q->has_graph_id = pm_graph_of(&names, q->graph, &q->words.graph_id, &q->not_meant);
	}
}

/* ---------- how long it runs ---------- */

/* In seconds that can be planned with; a table may hold anything. */
static bool
is_duration(double s)
{
	return s > 0 && s <= 1e12;
}

/* What of the work is left; false: the numbers of steps say nothing. */
static bool
share_left(const pm_job_question *q, double *share)
{
	double		done = isnan(q->done) ? 0 : q->done;

	*share = 1;
	if (!(q->steps > 0 && q->steps <= 1e15 && done >= 0 && done <= q->steps))
		return false;
	/* the last step may be under way */
	*share = Max(1 - done / q->steps, 1e-6);
	return true;
}

/* What is wrong with the numbers of steps; NULL: nothing, or there are none. */
static char *
wrong_steps(const pm_job_question *q)
{
	if (isnan(q->steps))
		return NULL;
	if (!(q->steps > 0 && q->steps <= 1e15))
		return psprintf("steps is %g: it must be above 0 and at most 1e15", q->steps);
	if (q->done < 0 || q->done > q->steps)
		return psprintf("done_steps is %g of %g", q->done, q->steps);
	return NULL;
}

/* The table's own forecast, of the whole job. */
static void
take_duration(pm_job_row *r, const pm_job_question *q)
{
	double		share;

	if (!is_duration(q->duration_s))
	{
		pm_job_note(r, psprintf("duration_s is %g: it must be above 0 and at most 1e12", q->duration_s));
		return;
	}
	if (share_left(q, &share))
	{
		r->step_ms = 1000 * q->duration_s / q->steps;
		r->steps_left = q->steps - (isnan(q->done) ? 0 : q->done);
	}
	r->share_left = share;
	r->p50_s = q->duration_s * share;
	if (isnan(q->duration_p90_s))
		pm_job_note(r, "no p90 of the duration: taken as exact");
	else if (q->duration_p90_s >= q->duration_s && is_duration(q->duration_p90_s))
	{
		r->p90_s = q->duration_p90_s * share;
		r->p10_s = r->p50_s * (r->p50_s / r->p90_s);
	}
	else
		pm_job_note(r, psprintf("duration_p90_s is %g: it must be at least duration_s and at most 1e12", q->duration_p90_s));
}

/* Reports and nightly() know a column of that name, too: how long a job took that is over. That is no forecast. */
static bool
is_hindsight(const pm_job_row *r, const pm_job_question *q)
{
	if (r->live || TIMESTAMP_NOT_FINITE(r->started_at) || TIMESTAMP_NOT_FINITE(r->finished_at))
		return false;
	return fabs(q->duration_s - ((double) r->finished_at - (double) r->started_at) / USECS_PER_SEC) < HINDSIGHT_S;
}

/* What starts after the time that is asked for does not run yet. */
static bool
has_started(const pm_job_row *r, TimestampTz at)
{
	return !TIMESTAMP_NOT_FINITE(r->started_at) && r->started_at <= at;
}

/*
 * Schedulers log of a job that runs how long it has run.  A forecast that the job has outlasted looks the same, and is
 * worth as little; one with a p90 is surely a forecast.
 */
static bool
is_outlasted(const pm_job_row *r, const pm_job_question *q, TimestampTz at)
{
	if (!r->live || !has_started(r, at) || !isnan(q->duration_p90_s))
		return false;
	return q->duration_s < ((double) at - (double) r->started_at) / USECS_PER_SEC + HINDSIGHT_S;
}

/* What the predictor cannot be asked without; NULL: nothing. */
static const char *
missing_for_question(const pm_job_row *r, const pm_job_question *q)
{
	if (!q->has_graph_id)
		return q->not_meant != NULL ? q->not_meant : q->duration_s == 0 ? "duration_s is 0, and no graph is given" : "neither duration_s nor a graph";
	if (r->gpu == NULL)
		return "no gpu";
	if (!q->has_batch)
		return q->no_batch;
	if (isnan(q->steps))
		return "neither steps nor duration_s";
	return wrong_steps(q);
}

/* Time of the steps that this run has to do; a job that runs and says what is done has that as its whole run from now. */
static void
ask_duration(pm_job_row *r, pm_job_question *q)
{
	const pm_manner how = {.level = LEVEL,.problem_is_null = true};
	pm_answer	a;
	pm_problem	p;
	const char *missing = missing_for_question(r, q);
	double		factor;

	if (missing != NULL)
	{
		pm_job_note(r, missing);
		return;
	}
	q->words.gpu = cstring_to_text(r->gpu);
	if (!pm_ask(&q->words, &how, &a, &p))
	{
		pm_job_note(r, p.message);
		return;
	}
	r->steps_left = q->steps - (isnan(q->done) ? 0 : q->done);
	factor = Max(r->steps_left, 0.001) / 1000;
	r->share_left = Max(r->steps_left, 0.001) / q->steps;
	r->step_ms = a.step_ms;
	r->asked = true;
	r->p50_s = a.step_ms * factor;
	r->p10_s = a.low_ms * factor;
	r->p90_s = a.high_ms * factor;
	r->in_domain = a.in_domain;
	r->domain_known = true;
	if (q->taken != NULL)
		pm_job_note(r, q->taken);
	if (a.note != NULL)
		pm_job_note(r, a.note);
}

/* Whether the job surely ends for want of memory on its own device, which is said in its note; what runs or has run does not. */
static bool
lacks_memory(const pm_jobs *jobs, pm_job_row *r, pm_job_question *q, TimestampTz at)
{
	pm_job_fit	fit;
	char	   *note;

	if (!r->live || has_started(r, at) || !q->has_graph_id || !q->has_batch || r->gpu == NULL)
		return false;
	q->words.gpu = cstring_to_text(r->gpu);
	fit = pm_job_fit_of(jobs->fits, &q->words);
	note = pm_job_fit_note(&fit, r->gpu);
	if (note != NULL)
		pm_job_note(r, note);
	r->lacks_memory = pm_job_cannot_fit(&fit);
	return r->lacks_memory;
}

/* ---------- numbers of pools and questions ---------- */

typedef struct numbered
{
	char		key[NAMEDATALEN * 2];
	int			number;
} numbered;

static HTAB *
numbers(const char *name)
{
	HASHCTL		c = {.keysize = NAMEDATALEN * 2,.entrysize = sizeof(numbered),.hcxt = CurrentMemoryContext};

	return hash_create(name, 256, &c, HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
}

/* A number for each different text; *n counts them. Long texts by their beginning and hash. */
static int
number_of(HTAB *h, const char *text, int *n)
{
	char		key[NAMEDATALEN * 2];
	size_t		len = strlen(text);
	bool		found;
	numbered   *e;

	if (len < sizeof(key))
		strlcpy(key, text, sizeof(key));
	else
		snprintf(key, sizeof(key), "%.*s %016llx", NAMEDATALEN, text,
				 (unsigned long long) hash_bytes_extended((const unsigned char *) text, (int) len, 0));
	e = hash_search(h, key, HASH_ENTER, &found);
	if (!found)
		e->number = (*n)++;
	return e->number;
}

/* ---------- all of them ---------- */

static double
seconds_from(TimestampTz at, TimestampTz t)
{
	/* the difference of two times need not fit into an integer */
	return ((double) t - (double) at) / USECS_PER_SEC;
}

/* Jobs of a graph on a device are off by the same factor, those with durations of their own each by its own. */
static int
question_number(HTAB *h, const pm_job_row *r, const pm_job_question *q, int i, int *n)
{
	if (!r->asked)
		return number_of(h, psprintf("job %d", i), n);
	return number_of(h, psprintf(INT64_FORMAT " %s", q->words.graph_id, r->gpu), n);
}

static void
fill_queue_job(pm_queue_job *j, const pm_job_row *r, const pm_job_question *q, TimestampTz at)
{
	*j = (pm_queue_job) {
		.submit_s = TIMESTAMP_NOT_FINITE(r->submitted_at) ? 0 : seconds_from(at, r->submitted_at),
			.deadline_s = TIMESTAMP_NOT_FINITE(r->deadline) ? INFINITY : seconds_from(at, r->deadline),
			.elapsed_s = -1,.work = pm_duration_of(r->p10_s, r->p50_s, r->p90_s),.gpus = q->gpu_count
	};
	if (!has_started(r, at))
		return;
	/* what is done has been taken off already */
	j->elapsed_s = isnan(r->steps_left) || isnan(q->done) ? Max(-seconds_from(at, r->started_at), 0) : 0;
}

static void
forecast(const pm_jobs *jobs, pm_job_row *r, pm_job_question *q, TimestampTz at)
{
	if (r->gpu != NULL)
		r->gpu = pm_job_gpu(r->gpu);
	if (r->lacks_count || lacks_memory(jobs, r, q, at))
		return;
	r->hindsight = is_hindsight(r, q);
	/* 0 is what schedulers log of a job that has not begun, how long it ran */
	if (isnan(q->duration_s) || q->duration_s == 0 || r->hindsight)
		ask_duration(r, q);
	else if (is_outlasted(r, q, at) && (missing_for_question(r, q) == NULL || q->not_meant != NULL))
	{
		ask_duration(r, q);
		if (r->asked)
			pm_job_note(r, "duration_s is no longer than the job has run: predicted from its steps");
	}
	if (!isnan(q->duration_s) && q->duration_s != 0 && !r->asked)
		take_duration(r, q);
	r->hindsight = r->hindsight && !r->asked;
}

/* The rows of the query as they stand there. */
static void
read_rows(pm_jobs *jobs, text *predictor, MemoryContext cxt)
{
	int			over = 0;

	jobs->n_all = (int) SPI_processed;
	for (int i = 0; i < jobs->n_all; i++)
		jobs->n += DatumGetBool(pm_value(i, Q_LIVE, BOOLOID, NULL));
	jobs->rows = MemoryContextAllocHuge(cxt, sizeof(pm_job_row) * Max(jobs->n_all, 1));
	jobs->queue = MemoryContextAllocHuge(cxt, sizeof(pm_queue_job) * Max(jobs->n_all, 1));
	jobs->questions = MemoryContextAllocHuge(cxt, sizeof(pm_job_question) * Max(jobs->n_all, 1));
	for (int i = 0, live = 0; i < jobs->n_all; i++)
	{
		bool		is_live = DatumGetBool(pm_value(i, Q_LIVE, BOOLOID, NULL));
		int			to = is_live ? live++ : jobs->n + over++;

		CHECK_FOR_INTERRUPTS();
		pm_job_read_row(i, cxt, &jobs->rows[to], &jobs->questions[to]);
		jobs->questions[to].words.predictor = predictor;
		/* of what is over, the whole work counts */
		if (!is_live)
			jobs->questions[to].done = get_float8_nan();
	}
}

TimestampTz
pm_jobs_read_from(const pm_job_table *t, TimestampTz recent_from, int most)
{
	pm_job_table asked = *t;
	char	   *submitted = pm_job_table_value(t, PM_COLUMN_SUBMITTED_AT, "pg_catalog.timestamptz");
	char	   *finished = pm_job_table_value(t, PM_COLUMN_FINISHED_AT, "pg_catalog.timestamptz");
	int			arg = t->nargs + 1;
	char	   *sql = psprintf("SELECT GREATEST(%s, %s) FROM %s WHERE %s OPERATOR(pg_catalog.>) $%d OR (NOT (%s) AND %s OPERATOR(pg_catalog.>) $%d) "
							   "ORDER BY 1 DESC OFFSET %d LIMIT 1", submitted, finished, t->relation, finished, arg, pm_job_table_is_null(t, PM_COLUMN_FINISHED_AT), submitted, arg, most);

	asked.types[asked.nargs] = TIMESTAMPTZOID;
	asked.args[asked.nargs++] = TimestampTzGetDatum(recent_from);
	SPI_connect();
	pm_job_check_times(t, true);
	if (SPI_execute_with_args(sql, asked.nargs, asked.types, asked.args, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "cannot read the jobs");
	if (SPI_processed > 0)
		recent_from = pm_job_time_or_none(0, 1);
	SPI_finish();
	return recent_from;
}

void
pm_jobs_read_only(const pm_job_table *t, text *predictor, TimestampTz at, TimestampTz recent_from, pm_jobs *jobs)
{
	MemoryContext cxt = CurrentMemoryContext;
	bool		recent = recent_from != DT_NOBEGIN && t->column[PM_COLUMN_FINISHED_AT] != NULL;
	char	   *sql = pm_job_query(t, recent);
	pm_job_table asked = *t;

	*jobs = (pm_jobs) {.fits = pm_job_fits()};
	if (recent)
	{
		asked.types[asked.nargs] = TIMESTAMPTZOID;
		asked.args[asked.nargs++] = TimestampTzGetDatum(recent_from);
	}
	SPI_connect();
	pm_job_check_values(t, &asked, recent);
	if (SPI_execute_with_args(sql, asked.nargs, asked.types, asked.args, NULL, true, MAX_JOBS + 1) != SPI_OK_SELECT)
		elog(ERROR, "cannot read the jobs");
	if (SPI_processed > MAX_JOBS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are more than %d jobs", MAX_JOBS),
				 errhint("Make a view of the jobs that wait or run.")));
	MemoryContextSwitchTo(cxt);
	read_rows(jobs, predictor, cxt);
	SPI_finish();
	pm_freshen();
	for (int i = 0; i < jobs->n_all; i++)
	{
		CHECK_FOR_INTERRUPTS();
		check_gpu_count(&jobs->rows[i], &jobs->questions[i]);
		resolve_dtype(&jobs->questions[i]);
		resolve_optimizer(&jobs->questions[i]);
	}
	if (t->column[PM_COLUMN_GRAPH] != NULL)
		resolve_graphs(jobs);
	for (int i = 0; i < jobs->n_all; i++)
		fill_queue_job(&jobs->queue[i], &jobs->rows[i], &jobs->questions[i], at);
}

void
pm_jobs_read(const pm_job_table *t, text *predictor, TimestampTz at, TimestampTz recent_from, pm_jobs *jobs)
{
	HTAB	   *pools = numbers("perfmodel pools");
	HTAB	   *questions = numbers("perfmodel questions");

	pm_jobs_read_only(t, predictor, at, recent_from, jobs);
	jobs->pools = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(char *) * (jobs->n_all + 1));
	for (int i = 0; i < jobs->n_all; i++)
	{
		pm_job_row *r = &jobs->rows[i];
		pm_job_question *q = &jobs->questions[i];
		int			before = jobs->n_pools;

		CHECK_FOR_INTERRUPTS();
		forecast(jobs, r, q, at);
		fill_queue_job(&jobs->queue[i], r, q, at);
		jobs->queue[i].pool = number_of(pools, r->gpu != NULL ? r->gpu : "", &jobs->n_pools);
		if (jobs->n_pools > before)
			jobs->pools[before] = r->gpu != NULL ? r->gpu : "";
		if (i < jobs->n)
			jobs->n_live_pools = jobs->n_pools;
		jobs->queue[i].question = question_number(questions, r, q, i, &jobs->n_questions);
	}
}

int
pm_jobs_recent(const pm_jobs *jobs, TimestampTz recent_from, TimestampTz at, pm_queue_job **recent)
{
	int			n = 0;

	*recent = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(pm_queue_job) * Max(jobs->n_all, 1));
	for (int i = 0; i < jobs->n_all; i++)
	{
		const pm_job_row *r = &jobs->rows[i];
		pm_queue_job *j = &(*recent)[n];

		if (TIMESTAMP_NOT_FINITE(r->submitted_at) || r->submitted_at <= recent_from || r->submitted_at > at || isnan(r->p50_s))
			continue;
		*j = jobs->queue[i];
		j->work.p50_s /= r->share_left;
		j->elapsed_s = -1;
		n++;
	}
	return n;
}

int
pm_jobs_past(const pm_jobs *jobs, TimestampTz at, pm_past_job **past)
{
	int			n = 0;

	*past = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(pm_past_job) * Max(jobs->n_all, 1));
	for (int i = 0; i < jobs->n_all; i++)
	{
		const pm_job_row *r = &jobs->rows[i];
		bool		started = has_started(r, at);
		pm_past_job *p = &(*past)[n];

		/* what is over without having run was withdrawn at a time that nobody knows */
		if (TIMESTAMP_NOT_FINITE(r->submitted_at) || r->submitted_at > at || isnan(r->p50_s) || (!r->live && (!started || r->finished_at < r->started_at)))
			continue;
		p->job = jobs->queue[i];
		p->job.work.p50_s /= r->share_left;
		p->job.elapsed_s = -1;
		p->hindsight = r->hindsight;
		p->start_s = started ? seconds_from(at, r->started_at) : INFINITY;
		p->finish_s = r->live || r->finished_at > at ? INFINITY : seconds_from(at, r->finished_at);
		n++;
	}
	return n;
}

const pm_asked_words *
pm_jobs_asked(const pm_jobs *jobs, int job)
{
	return jobs->rows[job].asked ? &jobs->questions[job].words : NULL;
}

double
pm_jobs_samples(const pm_jobs *jobs, int job, int gpu_count)
{
	const pm_job_question *q = &jobs->questions[job];

	return q->has_batch ? (double) q->words.batch * gpu_count : get_float8_nan();
}

double
pm_jobs_steps_left(const pm_jobs *jobs, int job, char **why)
{
	const pm_job_question *q = &jobs->questions[job];
	double		share;

	*why = wrong_steps(q);
	return share_left(q, &share) ? q->steps - (isnan(q->done) ? 0 : q->done) : get_float8_nan();
}

/* Whether a step of the job may fit into the memory of so many of a device, and what is to be said of that; what runs there does. */
static bool
fits_on(const pm_jobs *jobs, int job, const char *gpu, int gpu_count, char **note)
{
	const pm_job_row *r = &jobs->rows[job];
	pm_job_fit	fit;

	*note = NULL;
	if (jobs->queue[job].elapsed_s >= 0 && gpu_count == jobs->queue[job].gpus && r->gpu != NULL && strcmp(pm_job_gpu(r->gpu), gpu) == 0)
		return true;
	fit = pm_job_fit_of(jobs->fits, &jobs->questions[job].words);
	*note = pm_job_fit_note(&fit, gpu);
	return !pm_job_cannot_fit(&fit);
}

char *
pm_both_notes(char *a, char *b)
{
	return a == NULL ? b : b == NULL ? a : psprintf("%s; %s", a, b);
}

bool
pm_jobs_step(pm_jobs *jobs, int job, const char *gpu, int gpu_count, int nodes, double *p10_ms, double *p50_ms, double *p90_ms, bool *in_domain, char **why)
{
	const pm_manner how = {.level = LEVEL,.problem_is_null = true};
	pm_job_question *q = &jobs->questions[job];
	pm_answer	a;
	pm_problem	p;
	char	   *memory;

	if (jobs->rows[job].lacks_count)
	{
		*why = jobs->rows[job].note;
		return false;
	}
	if (!q->has_graph_id || !q->has_batch)
	{
		*why = pstrdup(!q->has_batch ? q->no_batch : q->not_meant != NULL ? q->not_meant : "no graph");
		return false;
	}
	q->words.gpu = cstring_to_text(gpu);
	q->words.parallel.world_size = gpu_count;
	q->words.parallel.nodes = nodes;
	if (!fits_on(jobs, job, gpu, gpu_count, &memory))
	{
		*why = memory;
		return false;
	}
	if (!pm_ask(&q->words, &how, &a, &p))
	{
		*why = p.message;
		return false;
	}
	*p10_ms = a.low_ms;
	*p50_ms = a.step_ms;
	*p90_ms = a.high_ms;
	*in_domain = a.in_domain;
	*why = pm_both_notes(memory, pm_both_notes(q->taken, a.note));
	return true;
}

int
pm_jobs_pool(const pm_jobs *jobs, const char *gpu)
{
	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < jobs->n_pools; i++)
		if (strcmp(jobs->pools[i], gpu) == 0)
			return i;
	return -1;
}

char *
pm_jobs_kinds(const pm_jobs *jobs)
{
	StringInfoData s;
	int			n = 0;

	initStringInfo(&s);
	for (int i = 0; i < jobs->n_live_pools; i++)
		if (jobs->pools[i][0] != '\0' && ++n <= MOST_KINDS)
			appendStringInfo(&s, "%s\"%s\"", n > 1 ? ", " : "", pm_shown_name(jobs->pools[i]));
	if (n > MOST_KINDS)
		appendStringInfo(&s, " and %d more", n - MOST_KINDS);
	return n > 0 ? s.data : "no device";
}
