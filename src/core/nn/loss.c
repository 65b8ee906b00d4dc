/*
 * loss.c - losses of one error, and their derivatives.
 */
#include "nn/loss.h"

#include <math.h>

double
pm_huber(double error, double *slope)
{
	*slope = fmax(-PM_HUBER_DELTA, fmin(PM_HUBER_DELTA, error));
	return fabs(error) <= PM_HUBER_DELTA ? 0.5 * error * error :
		PM_HUBER_DELTA * (fabs(error) - 0.5 * PM_HUBER_DELTA);
}

double
pm_cauchy(double error, double scale, double *slope)
{
	double		x = error / scale;

	*slope = error / (1 + x * x);
	return 0.5 * scale * scale * log1p(x * x);
}
