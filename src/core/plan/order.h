/*
 * order.h - jobs of a queue, and the order in which they are to start.
 */
#ifndef PM_CORE_PLAN_ORDER_H
#define PM_CORE_PLAN_ORDER_H

#include "base/core.h"
#include "plan/duration.h"

/* Times are in seconds from the moment that is planned at. */
typedef struct pm_queue_job
{
	double		submit_s;		/* waits from then on; in the past or to come */
	double		deadline_s;		/* INFINITY: none */
	double		elapsed_s;		/* of a job that runs: how long it has; negative: it waits */
	pm_duration work;			/* of the whole run from its start; p50_s NaN: not known */
	int32_t		gpus;			/* >= 1 */
	int32_t		pool;			/* kind of device, from 0 */
	int32_t		question;		/* jobs of one question are predicted with the same error; from 0 */
} pm_queue_job;

typedef enum pm_policy
{
	PM_FIFO,					/* first in, first out */
	PM_SJF,						/* shortest job first: the time that is predicted for it */
	PM_SRTF,					/* shortest remaining time first: less what a running job has behind it */
	PM_SRSF,					/* shortest remaining service first: that times the devices */
	PM_EDF,						/* earliest deadline first */
	PM_N_POLICIES
} pm_policy;

extern const char *const pm_policy_name[PM_N_POLICIES]; /* "fifo", ... */

/* By name, in any case; -1 when there is none. */
int			pm_policy_find(const char *name);

/* What the policy orders by, the least first; INFINITY where the job has no such thing. */
double		pm_policy_key(pm_policy policy, const pm_queue_job *j);

/*
 * The jobs in the order of the policy: order[n] are indices. Among equals, those
 * submitted first are first, then those that come first in jobs.  PM_ERR_MEMORY.
 */
pm_code		pm_queue_order(const pm_queue_job *jobs, int n, pm_policy policy, int32_t *order, pm_arena *a, pm_status *st);

#endif
