/*
 * duration.h - how long a job may take, as a distribution that draws can be made from.
 *
 * What is known of a duration are three quantiles of a prediction: 10, 50 and
 * 90 %. The logarithm of the duration is taken as normal below and above the
 * median, each side with the deviation that its quantile gives:
 *
 *   d(z) = p50 exp(z s),  s = ln(p50 / p10) / z90 for z < 0, ln(p90 / p50) / z90 above
 *
 * with z90 = 1.2816, the standard normal quantile of 90 %.
 */
#ifndef PM_CORE_PLAN_DURATION_H
#define PM_CORE_PLAN_DURATION_H

typedef struct pm_duration
{
	double		p50_s;			/* > 0 */
	double		below;			/* deviation of the logarithm below the median, >= 0 */
	double		above;
} pm_duration;

/* Quantiles of the duration in seconds; p10 or p90 may be NaN (then the other one's side counts for both; none: no spread). */
pm_duration pm_duration_of(double p10_s, double p50_s, double p90_s);

/* The duration at a standard normal number, and the number that a duration is at (-infinity for 0 and below). */
double		pm_duration_at(const pm_duration *d, double z);
double		pm_duration_z(const pm_duration *d, double seconds);

/* Standard normal distribution: the probability up to z, and its inverse for 0 < p < 1 (relative error below 1e-9). */
double		pm_normal_p(double z);
double		pm_normal_z(double p);

/* A standard normal number above `least`, for u from the uniform distribution on (0, 1); least may be -infinity. */
double		pm_normal_above(double least, double u);

#endif
