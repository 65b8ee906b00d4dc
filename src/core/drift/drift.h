/*
 * drift.h - evidence that measurements have left what a predictor promises.
 *
 * A predictor promises more than an interval: the rank of each measurement
 * among its calibration residuals (0: faster than all of them, 1: slower than
 * all) is uniform on 0..1 for a new network.  A bettor who starts with 1 and
 * bets on another distribution cannot expect to have more than 1 at any time
 * while this holds, and has 20 at some time with a probability of at most 5 %
 * (Ville's inequality), however often one looks.  What he has is the e-value.
 * docs/drift.md gives reasons and figures.
 */
#ifndef PM_DRIFT_H
#define PM_DRIFT_H

#include "base/core.h"

#define PM_DRIFT_ALARM	20.0	/* e-value of one group that is evidence enough: at most 1 false alarm in 20 */

/* One measurement, in the order in which networks were first measured. */
typedef struct pm_drift_row
{
	int64_t		network;		/* rows of one network are one bet */
	double		low;			/* its rank lies in low..high, 0 <= low <= high <= 1: as near as is known */
	double		high;
} pm_drift_row;

/* How the measurements differ: which bets won most. */
typedef enum pm_drift_sort
{
	PM_DRIFT_NONE,				/* no rows */
	PM_DRIFT_SLOWER,			/* steps take longer than predicted */
	PM_DRIFT_FASTER,
	PM_DRIFT_WIDER,				/* to both sides: the spread is larger than promised */
	PM_N_DRIFT_SORTS
} pm_drift_sort;
extern const char *const pm_drift_sort_name[PM_N_DRIFT_SORTS];

typedef struct pm_drift
{
	int			n_networks;
	double		e_now;			/* what the bettor has after the last network; 1 of no rows */
	double		e_max;			/* the most he had: at least 1, at most about 1e304 */
	pm_drift_sort sort;
} pm_drift;

/* The smallest sample that intervals of a device are made of. */
#define PM_DRIFT_CALIBRATION_MIN	20

/*
 * The evidence in rows[n].  A network counts where its first row stands.
 * calibration: how many networks the calibration was made of; fewer than
 * PM_DRIFT_CALIBRATION_MIN are taken as that many.
 * PM_ERR_INPUT: a rank that is not in 0..1; PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_drift_run(const pm_drift_row *rows, int n, int calibration, pm_arena *a, pm_drift *result, pm_status *st);

/*
 * Bounds of a probability of which k of n trials were successes, each passed
 * by at most (1 - level) / 2 (Clopper and Pearson 1934).  k may be a fraction,
 * where a trial is partly a success: a network of which some rows are covered.
 * 0 <= k <= n, 0 < n <= PM_MOST_TRIALS, 0 < level < 1.
 */
#define PM_MOST_TRIALS 1e9		/* of more, rounding decides and the time is felt */

void		pm_proportion_bounds(double k, double n, double level, double *low, double *high);

#endif
