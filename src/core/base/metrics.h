/*
 * metrics.h - errors of predictions. No other file computes them, so that every
 * report means the same by them.
 *
 * Measured values are positive, in any unit.
 */
#ifndef PM_METRICS_H
#define PM_METRICS_H

#include "base/core.h"

/* Errors of rows that come one after the other; start with {0}. */
typedef struct pm_errors
{
	int			n;
	double		ape,			/* sums: of absolute errors over what was measured, */
				ae,				/* of absolute errors, */
				se;				/* of squared errors */
} pm_errors;

void		pm_errors_add(pm_errors *e, double measured, double predicted);
/* Means; NaN of no rows. mape is a fraction. */
double		pm_errors_mape(const pm_errors *e);
double		pm_errors_mae(const pm_errors *e);
double		pm_errors_rmse(const pm_errors *e);

/*
 * Standard deviations on either side of the middle that hold a share `level` (0 to 1, both exclusive) of a normal distribution:
 * the inverse of its distribution function by Abramowitz and Stegun 26.2.23, error below 4.5e-4.
 */
double		pm_deviations(double level);

/* Ascending. */
void		pm_sort(double *v, int n);
/* The quantile q, 0 to 1, of sorted[n], n >= 1, interpolated linearly as percentile_cont does. */
double		pm_percentile(const double *sorted, int n, double q);

typedef struct pm_metrics
{
	int			n;
	double		mape;			/* fractions, not percent */
	double		median_ape;
	double		p90_ape;
	double		mae;				/* in the unit of what is measured */
	double		rmse;
	double		within_10;		/* share of rows with an absolute percentage error of at most 10 % */
	double		bias;			/* mean of (predicted - measured) / measured */
} pm_metrics;

/* n >= 1; scratch: [n] doubles, overwritten. */
void		pm_metrics_compute(const double *measured, const double *predicted, int n, double *scratch, pm_metrics *m);

/* Intervals and domain of predictions, against what was measured. NaN: of no row. */
typedef struct pm_trust_metrics
{
	int			n_intervals;
	int			n_judged;		/* rows that are known to be in or out of the domain */
	double		coverage;		/* share of the intervals that hold the measured value */
	double		width;			/* mean of (high - low) / predicted */
	double		in_domain;		/* share of the judged rows */
	double		mape_in_domain; /* fractions */
	double		mape_out_of_domain;
} pm_trust_metrics;

/* low, high: NaN where there is no interval. domain: 1 in, 0 out, -1 not known. n >= 0. */
void		pm_trust_metrics_compute(const double *measured, const double *predicted, const double *low,
									 const double *high, const signed char *domain, int n, pm_trust_metrics *m);

#endif
