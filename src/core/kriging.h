/*
 * kriging.h - what is left of an error after training, as a smooth function of
 * where a network lies among those that were measured.
 *
 * Simple kriging (a Gaussian process with mean zero): near networks whose
 * times were over- or underestimated, the next one is expected to be so too;
 * far from all of them the correction vanishes, and the predictor stands alone.
 */
#ifndef PM_KRIGING_H
#define PM_KRIGING_H

#include "inputs.h"

#define PM_KRIGING_MAX	2000	/* points kept: the fit is cubic, an answer linear in them */

typedef struct pm_kriging
{
	int			n;				/* points; 0: no correction */
	int			d;				/* coordinates */
	pm_real    *mean,			/* [d] */
			   *factor;			/* [d] 1/sigma; 0 where the points do not vary */
	pm_real    *at;				/* [n, d] scaled coordinates of the points */
	double	   *alpha;			/* [n] */
} pm_kriging;

/*
 * residual[i] = ln(measured / predicted) of row i at raw[i * d ..], where the
 * prediction did not know the row.  Rows of the same key lie on one point and
 * are averaged.  The covariance of two points is exp(-distance / LENGTH), the
 * distance the root mean square over standardised coordinates held to +-4;
 * a single row adds NOISE to its own variance.
 */
pm_code		pm_kriging_fit(pm_kriging *k, const pm_real *raw, int d, const double *residual, const uint64_t *key, int n,
						   pm_arena *a, pm_status *st);
/* Expected ln(measured / predicted) at raw[d]; *nearest (may be NULL) gets the covariance with the nearest point, 0..1. */
double		pm_kriging_correction(const pm_kriging *k, const pm_real *raw, double *nearest);

void		pm_kriging_save(const pm_kriging *k, pm_buffer *b);
pm_code		pm_kriging_load(pm_kriging *k, int d, pm_reader *r, pm_arena *a, pm_status *st);

#endif
