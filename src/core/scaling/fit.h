/*
 * fit.h - fits a cluster to measurements on several GPUs.
 */
#ifndef PM_SCALING_FIT_H
#define PM_SCALING_FIT_H

#include "scaling/step.h"

/* A measured step on several GPUs, and what is known of the same step on one. */
typedef struct pm_scaled_row
{
	const pm_step_shape *shape; /* rows of one network and batch may share it */
	pm_parallel parallel;		/* checked, world_size above 1 */
	double		step_ms;
	int			network;		/* rows of one network have the same number, from 0 */
} pm_scaled_row;

/*
 * Give f the factors, steal, straggler, contention and the like with which it
 * predicts the rows best: least squares of relative errors (Huber's, so that
 * single rows do not decide), all networks of the same weight, with a ridge
 * towards the values that f comes with.  So one row moves them little, and what
 * the rows say nothing about stays.
 * f->step_error and f->comm_error become the spread of what is left.  Where the
 * rows are of three networks or more, f->unseen_above and unseen_below become the
 * errors on networks that are left out of the fit.  f->fitted_rows becomes n.  f->correction is learned from what is left of
 * the rows where tp or pp divide the model; it lies in scratch, NULL for none.  *before and *after: mean absolute
 * error as a fraction.  own: NULL, or by the number of a network what it suffers
 * from GPUs beside its own more than others do (f->own_contention of its steps):
 * at least 0, from where it comes to what its rows say; most networks keep 0, since
 * a penalty by its absolute value has to be made up for.  With one network alone
 * it stays, and f->contention is fitted.  PM_ERR_DATA, with f and own as they were: no rows, or a fit that is
 * not plausible.  PM_CANCELLED when the hooks of scratch say so.
 */
pm_code		pm_fabric_fit(pm_fabric *f, const pm_scaled_row *rows, int n, double *own, pm_arena *scratch, double *before, double *after,
						  pm_status *st);
#define PM_OWN_CONTENTION_MAX 1.5

/* Let f be as it is described, with nothing fitted. */
void		pm_fabric_forget(pm_fabric *f);

/*
 * plausible.c: whether f, which was fitted to rows with these errors, can be true:
 * PM_ERR_DATA says why not.  Most steps take less than 0.6 of those on one GPU;
 * the fit is wrong by more than half, or worse than what was known before; links
 * are a thousand times slower than they should.  Links are never fitted to more
 * than twice the bandwidth that they come with.
 */
pm_code		pm_fabric_plausible(const pm_fabric *f, const pm_scaled_row *rows, int n, double before, double after, pm_status *st);

/* Share of the speed of its rows, bandwidth or fixed time, that the slowest link of f is left with. */
double		pm_fabric_slowest(const pm_fabric *f);
#define PM_FABRIC_SLOW	0.01	/* below, something is not as the cluster is described, such as NVLink that is not used */

/* Mean absolute error of f on rows, as a fraction. */
double		pm_fabric_error(const pm_fabric *f, const pm_scaled_row *rows, int n);

#endif
