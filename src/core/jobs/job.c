/*
 * job.c - totals of a training.
 */
#include "jobs/job.h"

#include <math.h>

/*
 * Draw over power limit: at rest; what power for arithmetic over the limit adds at
 * full work; the most that a card holds; the same at full work where the power for
 * arithmetic is not known; the share of the roofline from where on work is full.
 * Least relative squares over ResNet-50 and ShuffleNet V2 of ml-energy/zeus
 * (Apache 2.0) on P100, V100 and Quadro RTX 6000 at their highest limit, and over
 * 170 steps on an H200 and 132 on an H100 (data/power_h200.csv, busy_h100.csv),
 * each card with the same weight: bench/scaling/energy.c.
 */
#define IDLE_SHARE	0.175
#define ARITHMETIC	0.84
#define MOST_SHARE	1.0
#define USUAL_SHARE	0.84
#define FULL_AT		0.51

static bool
allowed(double v)
{
	return v >= 0 && v <= PM_JOB_MAX;
}

pm_code
pm_job_check(const pm_job *job, pm_status *st)
{
	const struct
	{
		const char *name;
		double		value;
	}			numbers[] = {
		{"warmup_s", job->warmup_s}, {"checkpoint_every", job->checkpoint_every},
		{"checkpoint_s", job->checkpoint_s}, {"eval_every", job->eval_every}, {"eval_samples", job->eval_samples}
	};

	if (!(job->steps >= 1 && job->steps <= PM_JOB_MAX))
		return pm_fail(st, PM_ERR_OPTION, "steps must be between 1 and %g, not %g", PM_JOB_MAX, job->steps);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!allowed(numbers[i].value))
			return pm_fail(st, PM_ERR_OPTION, "%s must be between 0 and %g, not %g", numbers[i].name, PM_JOB_MAX, numbers[i].value);
	return PM_OK;
}

/* How often something happens that is done after every `every` steps; 0: never. */
static double
times(double steps, double every)
{
	return every > 0 ? floor(steps / every) : 0;
}

void
pm_job_total(const pm_job *job, const pm_job_step *step, pm_job_time *to)
{
	double		waits = job->warmup_s + times(job->steps, job->checkpoint_every) * job->checkpoint_s;
	double		eval_batches = times(job->steps, job->eval_every) * ceil(job->eval_samples / step->batch_samples);
	double		train_s = job->steps * step->step_ms / 1000;
	double		eval_s = eval_batches * step->forward_ms / 1000;

	to->eval_s = eval_s;
	to->busy_s = train_s + eval_s;
	to->seconds = waits + to->busy_s;
	to->low_s = waits + to->busy_s * step->low_ms / step->step_ms;
	to->high_s = waits + to->busy_s * step->high_ms / step->step_ms;
}

double
pm_draw_w(double limit_w, double arithmetic_w, double roofline_share)
{
	double		work = fmin(1, fmax(0, roofline_share / FULL_AT));
	double		full = isnan(arithmetic_w) ? USUAL_SHARE : fmin(MOST_SHARE, IDLE_SHARE + ARITHMETIC * arithmetic_w / limit_w);

	return limit_w * (IDLE_SHARE + (full - IDLE_SHARE) * work);
}
