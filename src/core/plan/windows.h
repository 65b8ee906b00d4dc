/*
 * windows.h - training that fits into windows of time in which devices are idle.
 *
 * A job that runs in a window needs time for its start and, before the window
 * closes, for a checkpoint. The rest is for steps:
 *
 *   steps = floor((time - start-up - checkpoint) / step)
 *
 * Several jobs can run in a window one after the other, each with its own start
 * and checkpoint. To choose those that train most is a knapsack problem.
 */
#ifndef PM_CORE_PLAN_WINDOWS_H
#define PM_CORE_PLAN_WINDOWS_H

#include "base/core.h"

/* Times in seconds from a common moment. All devices of a window open and close together. */
typedef struct pm_window
{
	double		opens_s;
	double		closes_s;
	int32_t		pool;			/* kind of device */
	int32_t		gpus;			/* how many */
} pm_window;

typedef struct pm_filler
{
	double		step_s;			/* > 0: seconds that are planned for a step */
	double		gain;			/* > 0: value of a step; the sum is maximised */
	double		steps;			/* >= 1, whole: steps left of the job */
	int32_t		pool;
	int32_t		gpus;			/* devices that it needs; runs in windows with at least as many */
} pm_filler;

typedef struct pm_filling
{
	int32_t		window;
	int32_t		job;
	double		steps;			/* whole */
	double		starts_s;
	double		ends_s;			/* with start-up and checkpoint; not after the window closes */
} pm_filling;

typedef struct pm_fillings
{
	pm_filling *v;				/* by window as given, in order of time within one */
	int			n;
} pm_fillings;

/*
 * Fill the windows in the order in which they open. A job continues in a later
 * window; it is never in two windows at the same time.
 *
 * In each window, two choices are computed and the better one is taken: a greedy
 * one, which repeatedly takes the job that trains most in the remaining time;
 * and an exact one, on a grid of 1/400 of the window, over the 32 jobs that
 * could train most. PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_windows_fill(const pm_window *windows, int n_windows, const pm_filler *jobs, int n_jobs,
							double startup_s, double checkpoint_s, pm_fillings *out, pm_arena *a, pm_status *st);

#endif
