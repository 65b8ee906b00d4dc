/*
 * censored.c - quantiles of numbers, if some are only known to be larger than a
 * bound.
 */
#include "plan/censored.h"

#include <stdlib.h>

static int
by_value(const void *a, const void *b)
{
	const pm_ratio *x = a;
	const pm_ratio *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->open - y->open;
}

double
pm_censored_quantile(pm_ratio *v, int n, double p)
{
	double		left = 0;
	double		beyond = 1;

	qsort(v, n, sizeof(pm_ratio), by_value);
	for (int i = 0; i < n; i++)
		left += v[i].weight;
	for (int i = 0; i < n; i++)
	{
		if (!v[i].open)
			beyond *= 1 - v[i].weight / left;
		if (1 - beyond >= p - 1e-9)
			return v[i].value;
		left -= v[i].weight;
	}
	return v[n - 1].value;
}

static int
by_pool(const void *a, const void *b)
{
	const pm_ratio *x = a;
	const pm_ratio *y = b;

	return (x->pool > y->pool) - (x->pool < y->pool);
}

void
pm_ratios_by_pool(pm_ratio *v, int n)
{
	qsort(v, n, sizeof(pm_ratio), by_pool);
}
