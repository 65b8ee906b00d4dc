/*
 * solve.c - elimination without a choice of rows, which positive definite equations do not need.
 */
#include "memory/solve.h"

void
pm_memory_solve(double *m, double *y, double *x, int n)
{
	for (int k = 0; k < n; k++)
		for (int i = k + 1; i < n; i++)
		{
			double		r = m[i * n + k] / m[k * n + k];

			for (int j = k; j < n; j++)
				m[i * n + j] -= r * m[k * n + j];
			y[i] -= r * y[k];
		}
	for (int i = n - 1; i >= 0; i--)
	{
		x[i] = y[i];
		for (int j = i + 1; j < n; j++)
			x[i] -= m[i * n + j] * x[j];
		x[i] /= m[i * n + i];
	}
}
