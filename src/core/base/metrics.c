/*
 * metrics.c - errors of predictions.
 */
#include "base/metrics.h"

#include <math.h>
#include <stdlib.h>

void
pm_errors_add(pm_errors *e, double measured, double predicted)
{
	double		error = fabs(predicted - measured);

	e->n++;
	e->ape += error / measured;
	e->ae += error;
	e->se += error * error;
}

double
pm_errors_mape(const pm_errors *e)
{
	return e->n > 0 ? e->ape / e->n : NAN;
}

double
pm_errors_mae(const pm_errors *e)
{
	return e->n > 0 ? e->ae / e->n : NAN;
}

double
pm_errors_rmse(const pm_errors *e)
{
	return e->n > 0 ? sqrt(e->se / e->n) : NAN;
}

static int
by_value(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

void
pm_sort(double *v, int n)
{
	qsort(v, n, sizeof(double), by_value);
}

double
pm_percentile(const double *sorted, int n, double q)
{
	double		at = q * (n - 1);
	int			low = (int) floor(at);
	int			high = (int) ceil(at);

	return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

void
pm_metrics_compute(const double *measured, const double *predicted, int n, double *scratch, pm_metrics *m)
{
	pm_errors	sum = {0};
	double		bias = 0;
	int			within = 0;

	for (int i = 0; i < n; i++)
	{
		double		e = predicted[i] - measured[i];

		pm_errors_add(&sum, measured[i], predicted[i]);
		scratch[i] = fabs(e) / measured[i];
		bias += e / measured[i];
		within += scratch[i] <= 0.10;
	}
	pm_sort(scratch, n);
	m->n = n;
	m->mape = pm_errors_mape(&sum);
	m->median_ape = pm_percentile(scratch, n, 0.5);
	m->p90_ape = pm_percentile(scratch, n, 0.9);
	m->mae = pm_errors_mae(&sum);
	m->rmse = pm_errors_rmse(&sum);
	m->within_10 = (double) within / n;
	m->bias = bias / n;
}

void
pm_trust_metrics_compute(const double *measured, const double *predicted, const double *low,
						 const double *high, const signed char *domain, int n, pm_trust_metrics *m)
{
	pm_errors	errors[2] = {{0}, {0}};	/* out, in */
	int			held = 0;
	double		width = 0;

	m->n_intervals = 0;
	for (int i = 0; i < n; i++)
	{
		if (domain[i] >= 0)
			pm_errors_add(&errors[domain[i] != 0], measured[i], predicted[i]);
		if (isnan(low[i]))
			continue;
		m->n_intervals++;
		held += measured[i] >= low[i] && measured[i] <= high[i];
		width += (high[i] - low[i]) / predicted[i];
	}
	m->n_judged = errors[0].n + errors[1].n;
	m->coverage = m->n_intervals > 0 ? (double) held / m->n_intervals : NAN;
	m->width = m->n_intervals > 0 ? width / m->n_intervals : NAN;
	m->in_domain = m->n_judged > 0 ? (double) errors[1].n / m->n_judged : NAN;
	m->mape_in_domain = pm_errors_mape(&errors[1]);
	m->mape_out_of_domain = pm_errors_mape(&errors[0]);
}

double
pm_deviations(double level)
{
	double		t = sqrt(-2 * log((1 - level) / 2));

	return t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
}
