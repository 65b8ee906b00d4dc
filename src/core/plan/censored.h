/*
 * censored.h - quantiles of numbers of which some are known only to be larger.
 */
#ifndef PM_CORE_PLAN_CENSORED_H
#define PM_CORE_PLAN_CENSORED_H

#include <stdbool.h>
#include <stdint.h>

/* What something of the past was over what had been predicted. */
typedef struct pm_ratio
{
	double		value;			/* > 0 */
	double		weight;			/* > 0; those that are wrong together have 1 together */
	double		pool_weight;	/* the same among those of its kind of device */
	int32_t		pool;			/* kind of device */
	bool		open;			/* not over yet: at least that */
} pm_ratio;

/* The quantile p in (0, 1] by weight (Kaplan and Meier 1958); sorts v[n], n >= 1. Where all beyond it is open: the largest. */
double		pm_censored_quantile(pm_ratio *v, int n, double p);

/* Put those of a kind of device side by side. */
void		pm_ratios_by_pool(pm_ratio *v, int n);

#endif
