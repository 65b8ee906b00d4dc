/*
 * fit.h - what measurements of several GPUs say about a cluster.
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
} pm_scaled_row;

/*
 * Give f the factors, steal, straggler and contention with which it predicts
 * the rows best: least squares of the logarithms (Huber's, so that single rows
 * do not decide), with a ridge towards the values that f comes with.  So one
 * row moves them little, and what the rows say nothing about stays.
 * f->comm_error becomes the spread of what is left, seen as an error of
 * communication; f->fitted_rows becomes n.  *before and *after: mean absolute
 * error as a fraction.  PM_ERR_DATA: no rows.  PM_CANCELLED when the hooks of
 * scratch say so.
 */
pm_code		pm_fabric_fit(pm_fabric *f, const pm_scaled_row *rows, int n, pm_arena *scratch, double *before, double *after,
						  pm_status *st);

/* Mean absolute error of f on rows, as a fraction. */
double		pm_fabric_error(const pm_fabric *f, const pm_scaled_row *rows, int n);

#endif
