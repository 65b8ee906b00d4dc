/*
 * duration.c - the duration of a job as a distribution, from which it can be
 * drawn.
 */
#include "plan/duration.h"

#include <math.h>

#define Z90 1.2815515655446004

pm_duration
pm_duration_of(double p10_s, double p50_s, double p90_s)
{
	pm_duration d = {.p50_s = p50_s};

	if (p10_s > 0 && p10_s < p50_s)
		d.below = log(p50_s / p10_s) / Z90;
	if (p90_s > p50_s)
		d.above = log(p90_s / p50_s) / Z90;
	if (isnan(p10_s))
		d.below = d.above;
	if (isnan(p90_s))
		d.above = d.below;
	return d;
}

double
pm_duration_at(const pm_duration *d, double z)
{
	return d->p50_s * exp(z * (z < 0 ? d->below : d->above));
}

double
pm_duration_z(const pm_duration *d, double seconds)
{
	double		l;
	double		s;

	if (!(seconds > 0))
		return -INFINITY;
	l = log(seconds / d->p50_s);
	s = l < 0 ? d->below : d->above;
	if (s > 0)
		return l / s;
	/* no spread: it is known to lie on one side */
	return l < 0 ? -INFINITY : INFINITY;
}

double
pm_normal_p(double z)
{
	return 0.5 * erfc(-z / M_SQRT2);
}

/*
 * Acklam's rational approximation (relative error 1.15e-9), then a step of
 * Halley's method against erfc.
 */
double
pm_normal_z(double p)
{
	static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02,
	1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239e+00};
	static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
	6.680131188771972e+01, -1.328068155288572e+01};
	static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
	-2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00};
	static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
	double		tail = p < 0.5 ? p : 1 - p;
	double		x;
	double		e;

	if (tail < 0.02425)
	{
		double		q = sqrt(-2 * log(tail));

		x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
			((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
	}
	else
	{
		double		q = tail - 0.5;
		double		r = q * q;

		x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
			(((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
	}
	e = (pm_normal_p(x) - tail) * sqrt(2 * M_PI) * exp(x * x / 2);
	x -= e / (1 + x * e / 2);
	return p < 0.5 ? x : -x;
}

double
pm_normal_above(double least, double u)
{
	double		tail;

	if (least == -INFINITY)
		return pm_normal_z(u);
	/* so far out that the rest of the distribution is next to nothing: just above */
	if (!(least < 8))
		return fmin(least, 1e3);
	/* in terms of the upper tail, which keeps its digits */
	tail = pm_normal_p(-least) * (1 - u);
	return tail > 1e-300 ? -pm_normal_z(tail) : least;
}
