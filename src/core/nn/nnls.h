/*
 * nnls.h - least squares with coefficients that may not be negative.
 */
#ifndef PM_NNLS_H
#define PM_NNLS_H

#include "base/core.h"

/*
 * x >= 0 that minimises x'Gx - 2h'x.  With G = A'A and h = A'b that is |Ax - b|^2; weights of the rows
 * and penalties on x belong into G and h.  G: [n,n] row-major, symmetric, positive semidefinite.
 *
 * Active set method (Lawson and Hanson, Solving Least Squares Problems, 1974, ch. 23) on the normal
 * equations (Bro and de Jong, J. Chemometrics 11, 1997).  Columns are scaled to length 1 first, so that
 * units do not matter.  Coefficients of columns that are zero, or that other columns with a coefficient
 * express to six digits, are 0.  Takes scratch memory for n^2 numbers; PM_ERR_MEMORY is the only failure.
 */
pm_code		pm_nnls(const double *g, const double *h, int n, double *x, pm_arena *scratch, pm_status *st);

#endif
