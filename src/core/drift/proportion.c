/*
 * proportion.c - bounds of a probability from successes and trials.
 */
#include "drift/drift.h"

#include <float.h>
#include <math.h>

#define STEPS	2000			/* of a bisection */

/*
 * The continued fraction of the incomplete beta function by the method of Lentz
 * (Numerical Recipes, 6.4); converges where x < (a + 1) / (a + b + 2), in a
 * number of steps that grows with the square root of the larger of a and b.
 */
static double
beta_fraction(double a, double b, double x)
{
	double		c = 1;
	double		d = 1 / fmax(1 - (a + b) * x / (a + 1), DBL_MIN);
	double		f = d;
	int			steps = 200 + (int) (5 * sqrt(fmax(a, b)));

	for (int m = 1; m <= steps; m++)
	{
		double		even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double		odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double		change;

		d = 1 + even * d;
		d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
		c = 1 + even / c;
		c = fabs(c) < DBL_MIN ? DBL_MIN : c;
		f *= d * c;
		d = 1 + odd * d;
		d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
		c = 1 + odd / c;
		c = fabs(c) < DBL_MIN ? DBL_MIN : c;
		change = d * c;
		f *= change;
		if (fabs(change - 1) < 1e-14)
			break;
	}
	return f;
}

/* P(X <= x) of a beta distribution. */
static double
beta_cdf(double a, double b, double x)
{
	double		front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static double
beta_quantile(double a, double b, double p)
{
	double		low = 0;
	double		high = 1;

	for (int i = 0; i < STEPS && high - low > 1e-12 * high; i++)
	{
		double		middle = (low + high) / 2;

		if (beta_cdf(a, b, middle) < p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

void
pm_proportion_bounds(double k, double n, double level, double *low, double *high)
{
	double		tail = (1 - level) / 2;

	*low = k > 0 ? beta_quantile(k, n - k + 1, tail) : 0;
	*high = k < n ? beta_quantile(k + 1, n - k, 1 - tail) : 1;
}
