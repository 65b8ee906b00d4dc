/*
 * place.h - on which machines jobs of several devices run.
 *
 * A step on devices of one machine takes less time than on devices of several,
 * and a large machine that is kept whole has room for a large job. So each job,
 * in the order that is given, goes into the one machine that has room for it
 * with the least left over; if there is none, into the fewest machines: those
 * with the most room, and for the last part the one with the least left over.
 */
#ifndef PM_CORE_PLAN_PLACE_H
#define PM_CORE_PLAN_PLACE_H

#include "plan/order.h"

typedef struct pm_machine
{
	int32_t		pool;			/* kind of device; -1: none that a job asks for */
	int32_t		free;			/* devices that nobody holds */
} pm_machine;

/* Devices of one job on one machine. */
typedef struct pm_placed
{
	int32_t		job;
	int32_t		node;
	int32_t		gpus;
} pm_placed;

typedef struct pm_placement
{
	pm_placed  *v;				/* in the order of the jobs; parts of a job side by side, the largest first */
	int			n;
	int32_t    *parts;			/* [n_jobs] machines of each job; 0: no room */
} pm_placement;

/*
 * Place the waiting jobs of order[n]. Devices of running jobs are not free. If
 * there is no room for a job, jobs behind it may take the free devices.  PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_place(const pm_queue_job *jobs, int n, const int32_t *order, const pm_machine *nodes, int n_nodes,
					 pm_placement *out, pm_arena *a, pm_status *st);

/* The needs of a job on one device. NaN: not known; the job then shares with no other. */
typedef struct pm_device_need
{
	double		busy;			/* share of its step in which the device works, 0..1 */
	double		peak_mb;		/* upper bound of its memory, MB of 2^20 bytes */
	double		memory_mb;		/* usable memory of such a device, MB of 2^20 bytes */
} pm_device_need;

typedef struct pm_pair
{
	int32_t		with;			/* the job on the same device; -1: none */
	double		slowdown;		/* of each of the two; 1 where it is alone */
} pm_pair;

/*
 * A job of order[n] that found no room and needs one device shares the device of
 * another such job, if both fit into its memory and neither takes more than
 * max_slowdown times as long: jobs take turns, so with busy_a + busy_b above 1,
 * each takes that many times as long. Of several devices, the one with the least
 * slowdown is taken; at most two jobs share a device. need[n], pair[n]. The new
 * parts are added to the end of the placement.  PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_place_together(const pm_queue_job *jobs, int n, const int32_t *order, const pm_device_need *need, double max_slowdown,
							  pm_placement *out, pm_pair *pair, pm_arena *a, pm_status *st);

#endif
