/*
 * metrics.h - errors of predictions, and splits of rows into folds.
 */
#ifndef PM_METRICS_H
#define PM_METRICS_H

#include "predictor/predictor.h"

typedef struct pm_metrics
{
	int			n;
	double		mape;			/* fractions, not percent */
	double		median_ape;
	double		p90_ape;
	double		mae_ms;
	double		rmse_ms;
	double		within_10;		/* share of rows with an absolute percentage error of at most 10 % */
	double		bias;			/* mean of (predicted - measured) / measured */
} pm_metrics;

/* n >= 1; scratch: [n] doubles, overwritten. Percentiles interpolate linearly, as percentile_cont does. */
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

typedef enum pm_split
{
	PM_SPLIT_STRUCTURE,			/* R: identical graphs stay on one side */
	PM_SPLIT_FAMILY,			/* F: families dealt to folds */
	PM_SPLIT_BATCH,				/* B: one fold; rows up to the median batch train, larger ones test */
	PM_SPLIT_GPU,				/* G: one fold a GPU */
	PM_N_SPLITS
} pm_split;

int			pm_split_parse(const char *s);	/* -1 unknown */
extern const char *const pm_split_name[PM_N_SPLITS];

/*
 * fold_of[i] gets 0..*n_folds-1: the fold in which row i is tested; -1: always in training (batch split).
 * folds is ignored by 'batch' (1) and 'gpu' (number of GPUs).
 * PM_ERR_DATA when there are fewer groups than folds.
 */
pm_code		pm_split_assign(pm_split split, int folds, uint64_t seed, const pm_dataset *d,
							pm_arena *a, int *fold_of, int *n_folds, pm_status *st);

#endif
