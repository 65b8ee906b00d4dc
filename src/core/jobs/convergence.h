/*
 * convergence.h - the number of samples that a training needs to reach its
 * target, by batch size.
 */
#ifndef PM_CONVERGENCE_H
#define PM_CONVERGENCE_H

#include "base/core.h"

#define PM_MAX_BATCHES	64		/* different batch sizes of one training */

/* All runs at one batch size (of a step, on all GPUs). */
typedef struct pm_runs
{
	double		batch;
	double		samples;		/* geometric mean over the runs that reached the target */
	int			reached;
	int			runs;			/* reached or not */
} pm_runs;

/*
 * The curve of the number of samples over the batch:
 *   constant  the same at every batch: the median of the known ones
 *   noise     least * (1 + batch / critical): McCandlish et al. 2018, and with phi for critical Pollux
 *   both      least * (1 + batch / critical + (low / batch)^2): a fixed learning rate wastes samples of small batches, too
 *   between   on a line between the two nearest batches, in logarithms; flat outside
 */
typedef enum pm_curve_kind
{
	PM_CURVE_CONSTANT, PM_CURVE_NOISE, PM_CURVE_BOTH, PM_CURVE_BETWEEN, PM_N_CURVES
} pm_curve_kind;

extern const char *const pm_curve_name[PM_N_CURVES];

typedef struct pm_curve
{
	pm_curve_kind kind;
	double		least;			/* samples; the constant */
	double		critical;		/* batch; infinity: none */
	double		low;			/* batch; 0: none */
	double		spread;			/* standard deviation of ln(samples) around the curve at a batch between the known ones */
	int			n;				/* batches, ascending, for PM_CURVE_BETWEEN */
	double		batch[PM_MAX_BATCHES];
	double		samples[PM_MAX_BATCHES];
	double		p_reached;		/* share of all runs that reached the target */
	double		from;			/* least and largest batch of all runs, whether or not they reached it */
	double		to;
} pm_curve;

/*
 * Fill *to: the curve with the smallest error on batches that are left out of runs[n]
 * in turn (ascending batches; those with reached = 0 are not used).  It is constant
 * if fewer than three batches have reached the target, or if no other curve has at
 * most 70 % of the constant's error.  phi: the noise scale that trainings reported
 * (batch * variance / square of the gradient), or NaN; if it is known, fewer than
 * three batches give the noise curve with critical = phi.  PM_ERR_DATA if no run has
 * reached the target; PM_ERR_LIMIT if more than PM_MAX_BATCHES batches have.
 */
pm_code		pm_curve_fit(const pm_runs *runs, int n, double phi, pm_curve *to, pm_status *st);

/* Samples to the target at a batch. */
double		pm_curve_at(const pm_curve *c, double batch);

/* By how many doublings the batch is above (below: negative) those that have reached the target; 0: between them. */
double		pm_curve_outside(const pm_curve *c, double batch);

/* The spread at a batch, which grows outside of those that have reached the target. */
double		pm_curve_spread(const pm_curve *c, double batch);

/* The probability that the target is reached; NaN: the batch is more than a doubling outside of all runs. */
double		pm_curve_p_reached(const pm_curve *c, double batch);

#endif
