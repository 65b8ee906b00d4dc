/*
 * fit.h - fits a cluster to measurements on several GPUs.
 */
#ifndef PM_SCALING_FIT_H
#define PM_SCALING_FIT_H

#include "scaling/step.h"

/* A measured step on several GPUs, and the same step on one. */
typedef struct pm_scaled_row
{
	const pm_step_shape *shape; /* rows of one network and batch may share it */
	pm_parallel parallel;		/* checked, world_size above 1 */
	double		step_ms;
	int			network;		/* rows of one network have the same number, from 0 */
} pm_scaled_row;

/*
 * Fit the factors, steal, straggler, contention and so on of f to the rows: least
 * squares of relative errors (Huber's, so that single rows do not decide), with
 * the same weight for all networks, and a ridge towards the values that f comes
 * with.  So one row changes them little, and numbers that do not affect the rows
 * stay.
 *
 * Results in f: step_error and comm_error are the spread of the remaining errors.
 * With rows of at least three networks, unseen_above and unseen_below are the
 * errors on networks that are left out of the fit.  fitted_rows is n.  correction
 * is learned from the remaining errors of rows with tp or pp; it lies in scratch,
 * and is NULL for none.  *before and *after: mean absolute error as a fraction.
 *
 * own: NULL, or, by the number of a network, its own contention
 * (f->own_contention of its steps), at least 0; read and written.  A penalty by
 * its absolute value keeps it 0 for most networks.  With a single network it
 * does not change, and f->contention is fitted.
 *
 * PM_ERR_DATA: no rows, or a result that is not plausible; f and own then do not
 * change.  PM_CANCELLED if the hooks of scratch say so.
 */
pm_code		pm_fabric_fit(pm_fabric *f, const pm_scaled_row *rows, int n, double *own, pm_arena *scratch, double *before, double *after,
						  pm_status *st);
#define PM_OWN_CONTENTION_MAX 1.5

/*
 * What turns the spread of n networks, at least 2, into the standard deviation of a normal
 * distribution whose inner 90 % are the interval that n networks allow for one
 * more: Student's t with n - 1 degrees of freedom over 1.645, and the doubt about
 * their mean.  For tests.
 */
double		pm_few_networks(int n);

/* Reset f to its description, without fitted numbers. */
void		pm_fabric_forget(pm_fabric *f);

/*
 * plausible.c: checks f after a fit to rows with these errors.  PM_ERR_DATA, with
 * the reason: most rows are of steps that take less than 0.6 of those on one GPU
 * although tp and pp do not divide the model; the error is
 * above one half, or larger than before; or links are a thousand times slower
 * than their description.  A link is never fitted to more than twice the
 * bandwidth of its description.
 */
pm_code		pm_fabric_plausible(const pm_fabric *f, const pm_scaled_row *rows, int n, double before, double after, pm_status *st);

/* Speed of the slowest link of f (bandwidth or fixed time) after the fit, as a share of its description. */
double		pm_fabric_slowest(const pm_fabric *f);
#define PM_FABRIC_SLOW	0.01	/* below, something is not as the cluster is described, such as NVLink that is not used */

/* Mean absolute error of f on rows, as a fraction. */
double		pm_fabric_error(const pm_fabric *f, const pm_scaled_row *rows, int n);

#endif
