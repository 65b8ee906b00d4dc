/*
 * solve.h - symmetric positive definite systems of linear equations, by
 * LAPACK, which is in OpenBLAS.  Double precision, row-major; n is a few
 * dozen to a few hundred.
 */
#ifndef PM_SOLVE_H
#define PM_SOLVE_H

#include "base/core.h"

/*
 * Solve A x = b.  a[n, n]: the lower triangle of A, overwritten by its Cholesky
 * factor; b[n] becomes x.  False when A is not positive definite, or x not
 * finite; b is then of no use.
 */
bool		pm_solve_spd(double *a, double *b, int n);

/*
 * A Cholesky factor that grows row by row.  l[*, stride]: rows 0 to i - 1 are
 * those of the factor; row i holds the first i + 1 numbers of that row of A,
 * and becomes a row of the factor.  False when the rows above express row i:
 * what they leave of its diagonal is below `least`.
 */
bool		pm_cholesky_row(double *l, int stride, int i, double least);
/* Solve L L' x = b for the first n rows of such a factor; b[n] becomes x. */
void		pm_cholesky_solve(const double *l, int stride, int n, double *b);

#endif
