/*
 * divided_correction.h - what the formula of a step leaves unexplained on one cluster
 * where tensor or pipeline parallelism divide the model.
 *
 * Kernels of one size on one machine are faster or slower than their work says,
 * and no formula of the work tells which.  Measurements do: a Gaussian process
 * (Rasmussen and Williams 2006, chapters 2 and 5) on ln(measured / predicted)
 * follows them where they are and is 0 far from them.  It depends on nothing
 * that a step becomes longer by in steady proportion (layers, micro-batches).
 * Data parallel steps are not corrected: the numbers of the cluster are for
 * them, and so more GPUs never make such a step shorter.
 */
#ifndef PM_DIVIDED_CORRECTION_H
#define PM_DIVIDED_CORRECTION_H

#include "scaling/shape.h"

#define PM_DIVIDED_POINTS	64	/* that are kept, however many measurements there are */
#define PM_DIVIDED_MIN_ROWS	8	/* measurements; fewer say too little */
#define PM_DIVIDED_FACTOR	2.0 /* a step is corrected by at most so much, up or down */

/* What a correction depends on; all are logarithms. */
enum
{
	PM_BY_TP, PM_BY_PP, PM_BY_COPIES,
	PM_BY_WIDTH,				/* half of ln(bytes of gradients of a layer): the hidden size */
	PM_BY_TOKENS,				/* ln(bytes between layers) less the width: samples times tokens of a micro-batch */
	PM_DIVIDED_FEATURES
};

typedef struct pm_divided_correction
{
	int			n;				/* points, at least 1 */
	int			rows;			/* measurements that they are the means of */
	double		sd;				/* of ln(measured / predicted) far from all points */
	double		noise;			/* of a point, in units of sd */
	double		scatter;		/* root mean square of ln(measured / predicted) of measurements around their point */
	double		length[PM_DIVIDED_FEATURES]; /* how far a point matters */
	double		at[PM_DIVIDED_POINTS][PM_DIVIDED_FEATURES];
	double		left[PM_DIVIDED_POINTS]; /* ln(measured / predicted) at a point */
	/* computed from the above, when it is learned or read */
	double		spread;			/* root mean square of left */
	double		weight[PM_DIVIDED_POINTS];
	double		factor[PM_DIVIDED_POINTS * PM_DIVIDED_POINTS];
} pm_divided_correction;

/* Whether steps of p are corrected: tensor or pipeline parallelism divide the model. */
bool		pm_divided_correction_is_for(const pm_parallel *p);

/* x[PM_DIVIDED_FEATURES] of a step. */
void		pm_divided_correction_features(const pm_step_shape *s, const pm_parallel *p, double *x);

/*
 * Fill *to: learn from n measurements with features x[n, PM_DIVIDED_FEATURES] and
 * left[n] = ln(measured / predicted).  Lengths and noise are those with which
 * each point is told best by the others (leave one out); a length is never more
 * than the points reach.  *gain: error of points told by the others, over their
 * error without correction; above PM_DIVIDED_WORTH, or with fewer than
 * PM_DIVIDED_MIN_ROWS measurements, to->n is 0: nothing is learned.
 * PM_ERR_MEMORY, PM_CANCELLED.
 */
#define PM_DIVIDED_WORTH 0.9
pm_code		pm_divided_correction_fit(const double *x, const double *left, int n, pm_arena *scratch, pm_divided_correction *to, double *gain, pm_status *st);

/*
 * Factor on the step with features x.  *error_share, unless NULL: how far the
 * corrected step may be off, over how far it may be without, 0 to 1.
 */
double		pm_divided_correction_at(const pm_divided_correction *c, const double *x, double *error_share);

/* The stored form: PM_DIVIDED_NUMBERS(c->n) numbers. */
#define PM_DIVIDED_HEAD	(4 + PM_DIVIDED_FEATURES)
#define PM_DIVIDED_NUMBERS(points) (PM_DIVIDED_HEAD + (points) * (PM_DIVIDED_FEATURES + 1))
void		pm_divided_correction_write(const pm_divided_correction *c, double *to);
/* PM_ERR_DATA: these numbers are not what pm_divided_correction_write() makes; *to is then of no use. */
pm_code		pm_divided_correction_read(const double *numbers, int n, pm_divided_correction *to, pm_status *st);

#endif
