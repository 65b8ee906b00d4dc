/*
 * simulate.h - one simulation of a queue for pools of devices.
 *
 * A job holds its devices from start to end, all at once and without being
 * interrupted. Whenever jobs arrive or end, waiting jobs start in the order of
 * the queue while their devices are free. Without backfilling, the first that
 * does not fit holds up all behind it; with it, later ones that fit start.
 */
#ifndef PM_CORE_PLAN_SIMULATE_H
#define PM_CORE_PLAN_SIMULATE_H

#include "plan/order.h"

/* The free devices of a pool. Running jobs release their devices when they end. */
typedef struct pm_pool
{
	int64_t		free;			/* devices that nobody holds now */
} pm_pool;

typedef struct pm_simulator pm_simulator;

/*
 * Prepare for jobs[n] and pools[n_pools]; order[n] is that of pm_queue_order()
 * over all jobs. Jobs, pools and order must not change afterwards. A job that
 * needs more devices than its pool has never starts. PM_ERR_MEMORY.
 */
pm_code		pm_simulator_init(pm_simulator **s, const pm_queue_job *jobs, int n, const int32_t *order,
							  const pm_pool *pools, int n_pools, bool backfill, pm_arena *a, pm_status *st);

/*
 * Only the first n jobs matter: a simulation ends when they have started. For
 * other jobs that have not started by then, start_s and finish_s are INFINITY.
 */
void		pm_simulator_watch(pm_simulator *s, int n);

/* Whether the job can ever have the devices that it needs. */
bool		pm_simulator_fits(const pm_simulator *s, int job);

/*
 * Simulate with duration_s[n], in seconds: the whole duration of a waiting job,
 * the remaining one of a running job; NaN: the job is left out. Fills start_s[n]
 * and finish_s[n], in seconds from now: 0 and the remaining duration for a
 * running job, INFINITY for a job that never starts.  PM_CANCELLED.
 */
pm_code		pm_simulate(pm_simulator *s, const double *duration_s, double *start_s, double *finish_s, pm_status *st);

#endif
