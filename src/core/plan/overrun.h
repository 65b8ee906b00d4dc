/*
 * overrun.h - how much longer jobs of the past ran than was predicted, by kind of device.
 *
 * A predicted step knows nothing of loading, checkpoints and validation, and may
 * be wrong for a card. Of the jobs of each kind of device the median of true over
 * predicted durations says by how much; jobs that still run count as at least that
 * long. All jobs of one question (a network on a device) have a weight of 1
 * together. A kind with q questions has the mean of its own logarithm, with
 * weight q, and of that of all kinds, with weight PM_OVERRUN_SHARED, and that of all
 * is drawn towards 0 in the same way.
 *
 * Below PM_OVERRUN_MIN a history is one of jobs that were ended early, and above
 * PM_OVERRUN_MAX one of jobs that waited or were interrupted while they ran.
 */
#ifndef PM_CORE_PLAN_OVERRUN_H
#define PM_CORE_PLAN_OVERRUN_H

#include "plan/backtest.h"

#define PM_OVERRUN_SHARED	5.0
#define PM_OVERRUN_MIN		0.8
#define PM_OVERRUN_MAX		4.0
/* With fewer jobs that are over, nothing is said. */
#define PM_OVERRUN_LEAST	10

typedef struct pm_overrun
{
	double		factor;			/* of predicted durations */
	int			n;				/* jobs of this kind of device that it is from */
	bool		capped;
} pm_overrun;

/* Fill overrun[n_pools]. n_questions: one more than the largest question of a job. PM_ERR_MEMORY. */
pm_code		pm_overruns(const pm_past_job *past, int n, int n_questions, int n_pools, pm_overrun *overrun, pm_arena *a, pm_status *st);

#endif
