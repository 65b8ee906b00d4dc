/*
 * windows.h - training that fits into windows of time in which devices are idle.
 *
 * A job that runs in a window pays for its start and, before the window closes,
 * for a checkpoint; what is left is for steps:
 *
 *   steps = floor((time - start-up - checkpoint) / step)
 *
 * Several jobs can run in a window one after the other, each with its own start
 * and checkpoint. Which ones, so that most training gets done, is a knapsack.
 */
#ifndef PM_CORE_PLAN_WINDOWS_H
#define PM_CORE_PLAN_WINDOWS_H

#include "base/core.h"

/* Times in seconds from any moment; all of a window's devices open and close together. */
typedef struct pm_window
{
	double		opens_s;
	double		closes_s;
	int32_t		pool;			/* kind of device */
	int32_t		gpus;			/* how many */
} pm_window;

typedef struct pm_filler
{
	double		step_s;			/* > 0: how long a step may take */
	double		gain;			/* > 0: what a step is worth */
	double		steps;			/* >= 1, whole: left of the job */
	int32_t		pool;
	int32_t		gpus;			/* runs in windows that have as many at least */
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
 * Fill the windows in the order in which they open. A job goes on in a later
 * window where an earlier one left it; it is in no two windows at once.
 *
 * In each window the choice is the better of two: greedily, again and again
 * the job that gets most done in what is left; and exactly, on a grid of 1/400
 * of the window, over the 32 jobs that could get most done.
 */
pm_code		pm_windows_fill(const pm_window *windows, int n_windows, const pm_filler *jobs, int n_jobs,
							double startup_s, double checkpoint_s, pm_fillings *out, pm_arena *a, pm_status *st);

#endif
