/*
 * job.h - a whole training, computed from its step: time, cost, energy.
 */
#ifndef PM_JOB_H
#define PM_JOB_H

#include "base/core.h"

/* What is known of the step. NaN in low and high: no interval. */
typedef struct pm_job_step
{
	double		step_ms,
				low_ms,
				high_ms;
	double		forward_ms;		/* without gradients, of a batch on one GPU: what a batch of an evaluation takes */
	double		samples;		/* of a step, all GPUs together */
	double		batch_samples;	/* of a forward pass, likewise */
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
} pm_job_time;

#define PM_JOB_MAX 1e15			/* of every count and time */

/* PM_ERR_OPTION names the first number that is not between 0 and PM_JOB_MAX, or no step. */
pm_code		pm_job_check(const pm_job *job, pm_status *st);

/*
 * All steps of a job are predicted by one predictor for one network on one
 * device: what makes the first of them longer than predicted makes all of them
 * longer.  So the ends of the interval are those of the step times the number
 * of steps; nothing averages out.
 */
void		pm_job_total(const pm_job *job, const pm_job_step *step, pm_job_time *to);

/*
 * Watts that a GPU with the power limit limit_w draws in training, given the
 * share of its peak (roofline time over time) that it works at.  arithmetic_w:
 * pm_gpu_arithmetic_w(), or NaN.  At full work a card comes the nearer to its
 * limit the more power its arithmetic can take.  The line was fitted to measured
 * draws (docs/scaling.md).  NaN where limit_w is.
 */
double		pm_draw_w(double limit_w, double arithmetic_w, double roofline_share);

#endif
