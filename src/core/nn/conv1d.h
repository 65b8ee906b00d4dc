/*
 * conv1d.h - convolution over one dimension, as a matrix product.
 *
 * x[r, length, channels] is cut into overlapping windows, one row each; a
 * product with w[kernel * channels, out] and a bias does the rest (pm_linear).
 * Windows start every `stride`; the last may reach past the end, where there
 * are zeros, so that nothing of x is left out.
 */
#ifndef PM_CONV1D_H
#define PM_CONV1D_H

#include "base/core.h"

typedef struct pm_conv1d
{
	int			length;
	int			channels;
	int			kernel;
	int			stride;			/* at most kernel */
} pm_conv1d;

/* Number of windows of one row of x. */
int			pm_conv1d_windows(const pm_conv1d *c);
/* y[r * windows, kernel * channels]: the windows of x[r, length, channels], one after the other. */
void		pm_unfold(pm_real *y, const pm_real *x, const pm_conv1d *c, int r);
/* The backward pass: dx[r, length, channels] is overwritten with the sums of dy over the windows. */
void		pm_unfold_back(pm_real *dx, const pm_real *dy, const pm_conv1d *c, int r);

#endif
