/*
 * solve.c - symmetric positive definite systems of linear equations.
 */
#include "nn/solve.h"

#include <cblas.h>
#include <math.h>

/* LAPACK's Cholesky factorisation; column-major, so that its upper triangle is our lower one. */
extern void dpotrf_(const char *uplo, const blasint *n, double *a, const blasint *lda, blasint *info);

void
pm_cholesky_solve(const double *l, int stride, int n, double *b)
{
	cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, l, stride, b, 1);
	cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, n, l, stride, b, 1);
}

bool
pm_solve_spd(double *a, double *b, int n)
{
	const blasint size = n;
	blasint		info;

	dpotrf_("U", &size, a, &size, &info);
	if (info != 0)
		return false;
	pm_cholesky_solve(a, n, n, b);
	for (int i = 0; i < n; i++)
		if (!isfinite(b[i]))
			return false;
	return true;
}

bool
pm_cholesky_row(double *l, int stride, int i, double least)
{
	double	   *row = l + (size_t) i * stride;
	double		left;

	cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, i, l, stride, row, 1);
	left = row[i] - cblas_ddot(i, row, 1, row, 1);
	if (!(left >= least))
		return false;
	row[i] = sqrt(left);
	return true;
}
