/*
 * backtest.h - how wrong pm_queue_eta() was of late, where it is known when jobs started.
 *
 * Quantiles of a simulation promise too much where what comes is not like what
 * came, and where all predictions err to one side. Both show in the past: at
 * some moments of it the queue is asked as it would have been asked then, and
 * the ratio of true to predicted waits says how far p50 and p90 have to be
 * stretched. Of m moments, the quantile 0.9 (m + 1) / m is taken and not 0.9, as
 * conformal intervals do, since m is small; what that is more is the same for
 * all kinds of devices.
 *
 * Each kind of device has factors of its own, since forecasts of a card that was
 * never measured are worse than those of others. Few moments say little: of a
 * kind in whose queue jobs waited at m moments, the logarithm of the factor is
 * the mean of its own, with weight m, and of that of all kinds together, with
 * weight PM_STRETCH_SHARED. A history that says more than PM_STRETCH_MAX, or less than
 * PM_STRETCH_MIN, is not one of wrong predictions: columns are mixed up, or devices were away.
 */
#ifndef PM_CORE_PLAN_BACKTEST_H
#define PM_CORE_PLAN_BACKTEST_H

#include "plan/eta.h"

/* Moments that are looked at, and how many of them must have had jobs that waited. */
#define PM_BACKTEST_MOMENTS	12
#define PM_BACKTEST_LEAST	6
/* The weight of all kinds of devices together in the factors of one, in moments, and the range of factors. */
#define PM_STRETCH_SHARED	6.0
#define PM_STRETCH_MIN	0.1
#define PM_STRETCH_MAX	20.0
/* Draws of each moment: fewer where draws times jobs (with those that come, and questions) would be above the work, but never below the minimum. */
#define PM_BACKTEST_DRAWS_MIN	20
#define PM_BACKTEST_DRAWS_MAX	60
#define PM_BACKTEST_WORK	INT64_C(2400000)

/* A job of the past. Times in seconds from now, below 0. */
typedef struct pm_past_job
{
	pm_queue_job job;			/* as a waiting job of its whole work */
	double		start_s;		/* INFINITY: it has not started */
	double		finish_s;		/* INFINITY: it has not ended */
	bool		hindsight;		/* its forecast is what it took, and says nothing of forecasts */
} pm_past_job;

/* Draws of a moment with so many jobs and questions together. */
int			pm_backtest_draws(int64_t n);

/*
 * Fill stretch[n_pools] with the factors for pm_eta_options; moments is how many had
 * jobs that waited, and below PM_BACKTEST_LEAST all factors are 1. devices has
 * all devices of each pool. Moments lie in the last span_s seconds; arrivals at
 * each are what was submitted in the options' window_s before it, so that past[n]
 * should go back as far as both. Of the options, seed, backfill, window_s and
 * policy count. PM_ERR_LIMIT, PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_eta_backtest(const pm_past_job *past, int n, int n_questions, const pm_pool *devices, int n_pools, const pm_eta_options *options,
							double span_s, pm_stretch *stretch, int *moments, pm_arena *a, pm_status *st);

#endif
