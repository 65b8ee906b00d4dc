/*
 * job_sql.c - predict_job(): a whole training.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/timestamp.h"

#include "arrays.h"
#include "asking.h"
#include "cache/freshness.h"
#include "encoding.h"
#include "errors.h"
#include "gpus.h"
#include "jobs/job.h"
#include "memory_asking.h"
#include "plan/job_memory.h"
#include "prices.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_predict_job);

/* Arguments that are not of a question. */
enum
{
	EPOCHS = 3, DATASET_SIZE, SAMPLES, STEPS, WARMUP_S, CHECKPOINT_EVERY, CHECKPOINT_S, EVAL_EVERY, EVAL_SAMPLES,
	PRICES, CARBON_REGION = PRICES + 4
};

#define N_COLUMNS 15
#define MOST_SAMPLES 1e18
#define USUAL_CHECKPOINT_S 10	/* the default in sql/install/functions_job.sql */
#define NOTE	10
#define REASONS 11
#define PEAK_MB 12

static double
float_arg(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? get_float8_nan() : PG_GETARG_FLOAT8(i);
}

static double
count_arg(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? get_float8_nan() : (double) PG_GETARG_INT64(i);
}

/* *p says what is wrong with how the job is described. Returns false. */
static bool
refuse(pm_problem *p, char *message, char *hint)
{
	*p = (pm_problem) {"bad_job", ERRCODE_INVALID_PARAMETER_VALUE, message, NULL, hint};
	return false;
}

/* What steps are made of, by the name that the user knows. */
static bool
is_positive(const char *name, double value, pm_problem *p)
{
	if (value > 0 && value <= MOST_SAMPLES)
		return true;
	return refuse(p, psprintf("%s must be above 0 and at most %g, not %.15g", name, MOST_SAMPLES, value), NULL);
}

/* How many steps: of epochs and dataset_size, samples, or steps exactly one is given. False: *p says what is wrong. */
static bool
steps_wanted(FunctionCallInfo fcinfo, double samples_per_step, double *wanted, pm_problem *p)
{
	double		epochs = float_arg(fcinfo, EPOCHS);
	double		samples = float_arg(fcinfo, SAMPLES);
	double		steps = float_arg(fcinfo, STEPS);
	int			given = !PG_ARGISNULL(EPOCHS) + !PG_ARGISNULL(SAMPLES) + !PG_ARGISNULL(STEPS);

	if (given != 1)
	{
		refuse(p, given == 0 ? "how long the job trains is not said" : "how long the job trains is said twice",
			   "Give one of steps, samples, or epochs with dataset_size.");
		if (given == 0)
			p->reason = "incomplete";
		return false;
	}
	/* a part of a step is a step, but less than one is no job */
	if (!PG_ARGISNULL(STEPS))
		*wanted = steps < 1 ? steps : ceil(steps);
	else if (!PG_ARGISNULL(SAMPLES))
	{
		if (!is_positive("samples", samples, p))
			return false;
		*wanted = ceil(samples / samples_per_step);
	}
	else if (PG_ARGISNULL(DATASET_SIZE))
		return refuse(p, "epochs need dataset_size", "Give the number of samples that an epoch has, such as dataset_size => 1281167.");
	else if (!is_positive("epochs", epochs, p) || !is_positive("dataset_size", count_arg(fcinfo, DATASET_SIZE), p))
		return false;
	else						/* an epoch ends with a step of what is left */
		*wanted = ceil(epochs * ceil(count_arg(fcinfo, DATASET_SIZE) / samples_per_step));
	return true;
}

/* The first argument about the course of the job that is NULL, or NULL. */
static const char *
absent_argument(FunctionCallInfo fcinfo)
{
	static const char *const names[] = {"warmup_s", "checkpoint_every", "checkpoint_s", "eval_every", "eval_samples"};

	for (int i = WARMUP_S; i <= EVAL_SAMPLES; i++)
		if (PG_ARGISNULL(i))
			return names[i - WARMUP_S];
	return NULL;
}

/*
 * How long a checkpoint or an evaluation takes counts for nothing where there is none. No error, as 0 may well be said of
 * one row of a table whose others have some, and one NOTICE a statement.
 */
static void
notice_unused(const pm_job *job)
{
	static TimestampTz told = 0;
	bool		checkpoint = job->checkpoint_every == 0 && job->checkpoint_s != USUAL_CHECKPOINT_S;
	bool		eval = job->eval_every == 0 && job->eval_samples > 0;

	if ((!checkpoint && !eval) || told == GetCurrentStatementStartTimestamp())
		return;
	told = GetCurrentStatementStartTimestamp();
	if (checkpoint)
		ereport(NOTICE,
				(errmsg("checkpoint_s is not used: checkpoint_every is 0, so the job writes no checkpoint"),
				 errhint("Give the steps between two checkpoints, such as checkpoint_every => 1000.")));
	if (eval)
		ereport(NOTICE,
				(errmsg("eval_samples is not used: eval_every is 0, so the job has no evaluation"),
				 errhint("Give the steps between two evaluations, such as eval_every => 5000.")));
}

/* False: *p says what is wrong with the job. */
static bool
read_job(FunctionCallInfo fcinfo, const pm_asked_words *q, pm_job *job, pm_problem *p)
{
	pm_status	st = {PM_OK};
	double		steps;

	if (!steps_wanted(fcinfo, pm_samples_of(q), &steps, p))
		return false;
	*job = (pm_job) {
		steps, float_arg(fcinfo, WARMUP_S), count_arg(fcinfo, CHECKPOINT_EVERY),
		float_arg(fcinfo, CHECKPOINT_S), count_arg(fcinfo, EVAL_EVERY), count_arg(fcinfo, EVAL_SAMPLES)
	};
	if (pm_job_check(job, &st) != PM_OK)
	{
		*p = pm_problem_of_status("bad_job", &st);
		return false;
	}
	if (job->eval_every > 0 && job->eval_samples == 0)
		return refuse(p, "eval_every needs eval_samples", "Give the samples of an evaluation, such as eval_samples => 50000.");
	notice_unused(job);
	return true;
}

/* What a job costs and draws; NaN where a figure is missing. */
typedef struct job_extras
{
	double		usd;
	double		kwh;
	double		co2_kg;
} job_extras;

/* What is to be said of an answer: the answer's own words, and more. */
typedef struct remarks
{
	StringInfoData note;
	const char *reasons[8];
	int			n;
} remarks;

static void
remark(remarks *r, const char *reason, const char *words)
{
	appendStringInfo(&r->note, "%s%s", r->note.len > 0 ? "; " : "", words);
	r->reasons[r->n++] = reason;
}

/*
 * Where the electricity comes from. False: the user has named a region that is
 * not known, and *p says so; one that prices are asked for may well be unknown.
 */
static bool
find_carbon(FunctionCallInfo fcinfo, const pm_price_wish *wish, double *g_per_kwh, remarks *r, pm_problem *p)
{
	bool		named = !PG_ARGISNULL(CARBON_REGION);
	const char *region = named ? text_to_cstring(PG_GETARG_TEXT_PP(CARBON_REGION)) : wish->region;
	char	   *hint;

	*g_per_kwh = region != NULL ? pm_carbon_of(region, &hint) : get_float8_nan();
	if (region == NULL)
		remark(r, "no_carbon_region", "no CO2: carbon_region is not given");
	else if (isnan(*g_per_kwh) && named)
	{
		*p = (pm_problem) {
			"unknown_carbon_region", ERRCODE_UNDEFINED_OBJECT,
			psprintf("perfmodel.carbon_intensity has no region \"%s\"", pm_shown_name(region)), NULL, hint
		};
		return false;
	}
	else if (isnan(*g_per_kwh))
		remark(r, "no_carbon_region",
			   psprintf("no CO2: perfmodel.carbon_intensity has no region \"%s\", and carbon_region is not given", pm_shown_name(region)));
	return true;
}

/* Cost, energy and CO2 of a job that takes so long. False: *p says what is wrong with the region. */
static bool
count_costs(FunctionCallInfo fcinfo, const pm_asked_words *q, const pm_answer *a, const pm_job_time *t, job_extras *x, remarks *r, pm_problem *p)
{
	const pm_gpu *gpu = pm_gpu_find(text_to_cstring(q->gpu));
	const char *name = pm_from_core(gpu->name);
	double		gpus = q->parallel.world_size;
	double		share = a->roofline_ms / a->step_ms;
	double		limit_w = gpu->tdp_w;
	double		arithmetic_w = pm_gpu_arithmetic_w(gpu);
	pm_price_wish wish;
	double		g_per_kwh;
	char	   *spot;
	char	   *why = NULL;

	pm_price_wish_read(fcinfo, PRICES, &wish);
	x->usd = gpus * t->seconds / 3600 * pm_price_of(name, &wish, &spot, &why);
	if (spot != NULL)
		remark(r, "spot_price", spot);
	if (why != NULL)
		remark(r, "no_price", why);
	/* in an evaluation, each GPU works for itself */
	x->kwh = gpus * (pm_draw_w(limit_w, arithmetic_w, share) * (t->busy_s - t->eval_s) + pm_draw_w(limit_w, arithmetic_w, a->alone_share) * t->eval_s +
					 pm_draw_w(limit_w, arithmetic_w, 0) * (t->seconds - t->busy_s)) / 3.6e6;
	if (isnan(x->kwh))
		remark(r, "no_power_limit", psprintf("no energy and CO2: tdp_w of gpu \"%s\" is not in perfmodel.gpu", pm_shown_name(name)));
	if (!find_carbon(fcinfo, &wish, &g_per_kwh, r, p))
		return false;
	x->co2_kg = x->kwh * g_per_kwh / 1000;
	return true;
}

/* Says where it is not sure that a step of the job fits into the memory of each device. */
static void
remark_memory(const pm_asked_words *q, const pm_answer *a, remarks *r)
{
	pm_job_fit	fit;
	char	   *note;

	if (isnan(a->p_fits))
		remark(r, "no_memory_size", "whether it fits is not known: memory_gb of the device is not in perfmodel.gpu");
	if (!(a->p_fits < PM_MEMORY_SURE))
		return;
	fit = pm_job_fit_ask(q);
	note = pm_job_fit_note(&fit, pm_from_core(pm_gpu_find(text_to_cstring(q->gpu))->name));
	if (note != NULL)
		remark(r, "may_not_fit", note);
}

/* The answer's reasons, and those of r; null: neither has any. */
static Datum
all_reasons(Datum reasons, bool none, const remarks *r, bool *isnull)
{
	const char *names[lengthof(r->reasons) + 64];
	int			n = 0;
	Datum	   *known;

	if (!none)
	{
		pm_array_read(DatumGetArrayTypeP(reasons), &known, NULL, &n);
		n = Min(n, 64);
		for (int i = 0; i < n; i++)
			names[i] = TextDatumGetCString(known[i]);
	}
	for (int i = 0; i < r->n; i++)
		names[n++] = r->reasons[i];
	*isnull = n == 0;
	return n == 0 ? (Datum) 0 : pm_text_array(names, n);
}

/* in_domain, note and reasons: those of the answer, and what r has to say. */
static void
fill_remarks(const pm_asked_words *q, const pm_answer *a, remarks *r, Datum *values, bool *nulls)
{
	Datum		answer[PM_N_ANSWER];
	bool		no_answer[PM_N_ANSWER] = {false};
	pm_answer	without_note = *a;

	/* the note is in r; that of a may have gone with the memo since */
	without_note.note = NULL;
	pm_fill_answer(&without_note, q, answer, no_answer);
	values[NOTE - 1] = answer[4];
	nulls[NOTE - 1] = no_answer[4];
	values[NOTE] = pm_text_or_null(r->note.len > 0 ? r->note.data : NULL, &nulls[NOTE]);
	values[REASONS] = all_reasons(answer[7], no_answer[7], r, &nulls[REASONS]);
}

/* ms of a batch of an evaluation on one GPU: what mode "inference" answers, or else the forward part of the step. */
static double
evaluation_ms(const pm_asked_words *q, const pm_answer *a)
{
	pm_asked_words pass = *q;
	pm_manner	how = {.level = get_float8_nan(),.problem_is_null = true};
	pm_answer	answer;
	pm_problem	p;

	pass.mode = cstring_to_text("inference");
	pass.optimizer = pass.cluster = NULL;
	pass.parallel = (pm_parallel) PM_PARALLEL_NONE;
	return pm_ask(&pass, &how, &answer, &p) ? answer.step_ms : a->forward_ms;
}

/* False: *p says why there is no answer. */
static bool
fill_job(FunctionCallInfo fcinfo, const pm_asked_words *q, pm_answer *a, const pm_job *job, Datum *values, bool *nulls, pm_problem *p)
{
	pm_job_step step = {
		.step_ms = a->step_ms, .low_ms = a->low_ms, .high_ms = a->high_ms,
		.batch_samples = (double) q->batch * q->parallel.world_size
	};
	pm_job_time t;
	job_extras	x;
	remarks		r = {.n = 0};

	initStringInfo(&r.note);
	if (a->note != NULL)
		appendStringInfoString(&r.note, a->note);
	if (!pm_ask_memory(q, a, p))
		return false;
	remark_memory(q, a, &r);
	/* another question: what is remembered of a may go */
	step.forward_ms = job->eval_every > 0 ? evaluation_ms(q, a) : 0;
	pm_job_total(job, &step, &t);
	if (!count_costs(fcinfo, q, a, &t, &x, &r, p))
		return false;
	values[0] = Float8GetDatum(t.seconds);
	values[1] = pm_float8_or_null(t.low_s, &nulls[1]);
	values[2] = pm_float8_or_null(t.high_s, &nulls[2]);
	values[3] = Float8GetDatum(job->steps);
	values[4] = Float8GetDatum(a->step_ms);
	values[5] = Float8GetDatum(q->parallel.world_size * t.seconds / 3600);
	values[6] = pm_float8_or_null(x.usd, &nulls[6]);
	values[7] = pm_float8_or_null(x.kwh, &nulls[7]);
	values[8] = pm_float8_or_null(x.co2_kg, &nulls[8]);
	fill_remarks(q, a, &r, values, nulls);
	values[PEAK_MB] = pm_float8_or_null(a->peak_mb, &nulls[PEAK_MB]);
	values[PEAK_MB + 1] = BoolGetDatum(a->p_fits >= PM_MEMORY_SURE);
	values[PEAK_MB + 2] = pm_probability_or_null(a->p_fits, &nulls[PEAK_MB + 2]);
	nulls[PEAK_MB + 1] = nulls[PEAK_MB + 2];
	return true;
}

static void
fill_no_job(const pm_problem *p, Datum *values, bool *nulls)
{
	Datum		answer[PM_N_ANSWER];
	bool		no_answer[PM_N_ANSWER];

	pm_fill_problem(p, answer, no_answer);
	memset(nulls, true, N_COLUMNS * sizeof(bool));
	values[NOTE] = answer[6];
	values[REASONS] = answer[7];
	nulls[NOTE] = nulls[REASONS] = false;
}

Datum
pm_predict_job(PG_FUNCTION_ARGS)
{
	pm_asked_words q;
	pm_manner	how;
	pm_answer	a;
	pm_problem	p;
	pm_job		job;
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};

	if (!pm_question_read(fcinfo, &q, &how))
	{
		if (!pm_question_absent(fcinfo, &p))
			PG_RETURN_NULL();
		fill_no_job(&p, values, nulls);
	}
	/* the question first: how many samples a step has is known only of one that can be asked */
	else if (!pm_ask(&q, &how, &a, &p))
		fill_no_job(&p, values, nulls);
	else if (absent_argument(fcinfo) != NULL)
	{
		if (!how.problem_is_null)
			PG_RETURN_NULL();
		pm_problem_incomplete(psprintf("%s is null", absent_argument(fcinfo)), &p);
		fill_no_job(&p, values, nulls);
	}
	else if (!read_job(fcinfo, &q, &job, &p) || !fill_job(fcinfo, &q, &a, &job, values, nulls, &p))
	{
		if (!how.problem_is_null)
			pm_problem_raise(&p);
		fill_no_job(&p, values, nulls);
	}
	return pm_record(fcinfo, values, nulls);
}
