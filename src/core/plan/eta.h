/*
 * eta.h - when jobs of a queue start and end, as quantiles over many draws of how long they run.
 *
 * In each draw, every question has one factor, the same for all its jobs,
 * because an error of a prediction affects all jobs with this question. If a
 * running job has already run longer than this factor allows, it draws a factor
 * of its own, among the longer ones.
 *
 * Jobs that will be submitted later are not known. The jobs that were submitted
 * last can stand for them: in each draw these jobs come again, in the same order
 * and at the same intervals, from a random moment of the window on.
 */
#ifndef PM_CORE_PLAN_ETA_H
#define PM_CORE_PLAN_ETA_H

#include "plan/simulate.h"

#define PM_ETA_DRAWS_MIN 10
#define PM_ETA_DRAWS_MAX 10000
/* Largest number of jobs, with those to come, times draws: 34 million took 20 s on a busy machine. */
#define PM_ETA_STARTS_MAX INT64_C(50000000)

/* Seconds from now; NaN where the job has no forecast, INFINITY where it never starts. */
typedef struct pm_eta
{
	double		start_p50_s;
	double		start_p90_s;
	double		finish_p50_s;
	double		finish_p90_s;
	double		in_time;		/* share of draws that end by the deadline; NaN: no deadline or no forecast */
	bool		fits;			/* false: the pool has fewer devices than the job needs */
} pm_eta;

/* Factors on the waits for a kind of device. A constant is added to each wait before it is compared or stretched, so that none is 0. */
typedef struct pm_stretch
{
	double		p50;			/* 0 counts as 1 */
	double		p90;
	int			n;				/* forecasts of the past that they are from */
	bool		capped;			/* the factor was limited to the allowed range */
} pm_stretch;
#define PM_ETA_GRACE_S	60.0

typedef struct pm_eta_options
{
	int			draws;
	uint64_t	seed;
	bool		backfill;
	const pm_queue_job *recent; /* [n_recent] jobs submitted in the window, all as waiting jobs; or NULL */
	int			n_recent;
	double		window_s;		/* of them: submit_s is above -window_s and at most 0 */
	pm_policy	policy;			/* that they are put into the order by */
	const pm_stretch *stretch;	/* [n_pools] of the waits, as of pm_eta_backtest(), or NULL; between p50 and p90 it goes from one to the other */
} pm_eta_options;

/* Checks n and the options: PM_ERR_OPTION, PM_ERR_LIMIT. pm_queue_eta() checks them, too; call this before other long work. */
pm_code		pm_eta_check(int n, const pm_eta_options *options, pm_status *st);

/*
 * Fill eta[n]; order[n] is that of pm_queue_order() over all jobs. n_questions: one more than the largest question of a
 * job, recent ones included. The same input gives the same bits. Errors of pm_eta_check(), PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_queue_eta(const pm_queue_job *jobs, int n, int n_questions, const int32_t *order, const pm_pool *pools, int n_pools,
						 const pm_eta_options *options, pm_eta *eta, pm_arena *a, pm_status *st);

#endif
