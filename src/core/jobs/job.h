/*
 * job.h - a whole training, computed from its step: time, cost, energy.
 */
#ifndef PM_JOB_H
#define PM_JOB_H

#include "base/core.h"

/* The predicted step. NaN in low and high: no interval. */
typedef struct pm_job_step
{
	double		step_ms,
				low_ms,
				high_ms;
	double		forward_ms;		/* forward pass without gradients, of a batch on one GPU, as in an evaluation */
	double		batch_samples;	/* of a forward pass, all GPUs together */
} pm_job_step;

/* The rest of a training. */
typedef struct pm_job
{
	double		steps;
	double		warmup_s;		/* before the first step */
	double		checkpoint_every,	/* steps; 0: never */
				checkpoint_s;
	double		eval_every,		/* steps; 0: never */
				eval_samples;
} pm_job;

typedef struct pm_job_time
{
	double		seconds,
				low_s,			/* NaN: no interval */
				high_s;
	double		busy_s;			/* of seconds, in which the GPUs train or evaluate */
	double		eval_s;			/* of busy_s, in which they evaluate */
} pm_job_time;

#define PM_JOB_MAX 1e15			/* of every count and time */

/* PM_ERR_OPTION names the first number that is not between 0 and PM_JOB_MAX; steps must be 1 or more. */
pm_code		pm_job_check(const pm_job *job, pm_status *st);

/*
 * One predictor predicts all steps of a job, for one network on one device.  If
 * the first step takes longer than predicted, all steps do.  So the interval is
 * that of the step times the number of steps; errors do not average out.
 */
void		pm_job_total(const pm_job *job, const pm_job_step *step, pm_job_time *to);

/*
 * Power in W that a GPU with the power limit limit_w (W) draws in training.
 * roofline_share: roofline time of what it does in a step / step time.  arithmetic_w:
 * pm_gpu_arithmetic_w(), or NaN.  The more power the arithmetic of a card can
 * take, the nearer it comes to its limit at full work.  The line was fitted to
 * measured power (docs/scaling.md).  NaN if limit_w is NaN.
 */
double		pm_draw_w(double limit_w, double arithmetic_w, double roofline_share);

#endif
