/*
 * job_sql.c - predict_job(): a whole training.
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/timestamp.h"

#include "asking.h"
#include "cache/freshness.h"
#include "encoding.h"
#include "errors.h"
#include "gpus.h"
#include "jobs/job.h"
#include "prices.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_predict_job);

/* Arguments that are not of a question. */
enum
{
	EPOCHS = 3, DATASET_SIZE, SAMPLES, STEPS, WARMUP_S, CHECKPOINT_EVERY, CHECKPOINT_S, EVAL_EVERY, EVAL_SAMPLES,
	PROVIDER, REGION, PRICE_KIND, AT, CARBON_REGION
};

#define N_COLUMNS 12

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

static const char *
text_arg(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(i));
}

static void
refuse(const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s", message), errhint("%s", hint)));
}

/* How many steps: of epochs and dataset_size, samples, or steps exactly one is given. */
static double
steps_wanted(FunctionCallInfo fcinfo, double samples_per_step)
{
	double		epochs = float_arg(fcinfo, EPOCHS);
	double		samples = float_arg(fcinfo, SAMPLES);
	double		steps = float_arg(fcinfo, STEPS);
	int			given = !isnan(epochs) + !isnan(samples) + !isnan(steps);

	if (given != 1)
		refuse(given == 0 ? "how long the job trains is not said" : "how long the job trains is said twice",
			   "Give one of steps, samples, or epochs with dataset_size.");
	if (!isnan(epochs) && PG_ARGISNULL(DATASET_SIZE))
		refuse("epochs need dataset_size", "Give the number of samples that an epoch has.");
	if (!isnan(steps))
		return ceil(steps);
	/* an epoch ends with a step of what is left */
	return isnan(epochs) ? ceil(samples / samples_per_step) : ceil(epochs * ceil(count_arg(fcinfo, DATASET_SIZE) / samples_per_step));
}

/* False: an argument is NULL that the answer needs. */
static bool
read_job(FunctionCallInfo fcinfo, const pm_asked_words *q, pm_job *job)
{
	pm_status	st = {PM_OK};

	for (int i = WARMUP_S; i <= EVAL_SAMPLES; i++)
		if (PG_ARGISNULL(i))
			return false;
	if (PG_ARGISNULL(AT))
		return false;
	*job = (pm_job) {
		steps_wanted(fcinfo, pm_samples_of(q)), float_arg(fcinfo, WARMUP_S), count_arg(fcinfo, CHECKPOINT_EVERY),
		float_arg(fcinfo, CHECKPOINT_S), count_arg(fcinfo, EVAL_EVERY), count_arg(fcinfo, EVAL_SAMPLES)
	};
	if (pm_job_check(job, &st) != PM_OK)
		pm_raise(&st);
	return true;
}

/* Cost, energy and CO2 of a job that takes so long; NaN where a figure is missing. */
static void
count_costs(FunctionCallInfo fcinfo, const pm_asked_words *q, const pm_answer *a, const pm_job_time *t, double *usd, double *kwh, double *co2)
{
	const pm_gpu *gpu = pm_gpu_find(text_to_cstring(q->gpu));
	pm_price_wish wish = {
		pm_from_core(gpu->name), text_arg(fcinfo, PROVIDER), text_arg(fcinfo, REGION), text_arg(fcinfo, PRICE_KIND), PG_GETARG_TIMESTAMPTZ(AT)
	};
	const char *carbon_region = PG_ARGISNULL(CARBON_REGION) ? wish.region : text_arg(fcinfo, CARBON_REGION);
	double		gpus = q->parallel.world_size;
	double		share = a->roofline_ms * q->parallel.accumulation / a->step_ms;
	double		waits_s = t->seconds - t->busy_s;

	*usd = gpus * t->seconds / 3600 * pm_price_of(&wish);
	*kwh = gpus * (pm_draw_w(gpu->tdp_w, share) * t->busy_s + pm_draw_w(gpu->tdp_w, 0) * waits_s) / 3.6e6;
	*co2 = *kwh * pm_carbon_of(carbon_region) / 1000;
}

static void
fill_job(FunctionCallInfo fcinfo, const pm_asked_words *q, const pm_answer *a, const pm_job *job, Datum *values, bool *nulls)
{
	Datum		answer[PM_N_ANSWER];
	bool		no_answer[PM_N_ANSWER] = {false};
	pm_job_step step = {
		.step_ms = a->step_ms, .low_ms = a->low_ms, .high_ms = a->high_ms, .forward_ms = a->forward_ms,
		.samples = pm_samples_of(q), .batch_samples = (double) q->batch * q->parallel.world_size
	};
	pm_job_time t;
	double		usd;
	double		kwh;
	double		co2;

	pm_job_total(job, &step, &t);
	count_costs(fcinfo, q, a, &t, &usd, &kwh, &co2);
	pm_fill_answer(a, q, answer, no_answer);
	values[0] = Float8GetDatum(t.seconds);
	values[1] = pm_float8_or_null(t.low_s, &nulls[1]);
	values[2] = pm_float8_or_null(t.high_s, &nulls[2]);
	values[3] = Float8GetDatum(job->steps);
	values[4] = Float8GetDatum(a->step_ms);
	values[5] = Float8GetDatum(q->parallel.world_size * t.seconds / 3600);
	values[6] = pm_float8_or_null(usd, &nulls[6]);
	values[7] = pm_float8_or_null(kwh, &nulls[7]);
	values[8] = pm_float8_or_null(co2, &nulls[8]);
	for (int i = 0; i < 3; i++)
	{
		/* in_domain, note, reasons */
		static const int from[3] = {4, 6, 7};

		values[9 + i] = answer[from[i]];
		nulls[9 + i] = no_answer[from[i]];
	}
}

static void
fill_no_job(const pm_problem *p, Datum *values, bool *nulls)
{
	Datum		answer[PM_N_ANSWER];
	bool		no_answer[PM_N_ANSWER];

	pm_fill_problem(p, answer, no_answer);
	memset(nulls, true, N_COLUMNS * sizeof(bool));
	values[10] = answer[6];
	values[11] = answer[7];
	nulls[10] = nulls[11] = false;
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
		PG_RETURN_NULL();
	/* the question first: how many samples a step has is known only of one that can be asked */
	if (!pm_ask(&q, &how, &a, &p))
		fill_no_job(&p, values, nulls);
	else if (read_job(fcinfo, &q, &job))
		fill_job(fcinfo, &q, &a, &job, values, nulls);
	else
		PG_RETURN_NULL();
	return pm_record(fcinfo, values, nulls);
}
