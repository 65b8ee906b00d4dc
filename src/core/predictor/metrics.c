/*
 * metrics.c - errors of predictions, and splits of rows into folds.
 */
#include "predictor/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const pm_split_name[PM_N_SPLITS] = {"structure", "family", "batch", "gpu"};

int
pm_split_parse(const char *s)
{
	for (int i = 0; i < PM_N_SPLITS; i++)
		if (strcmp(s, pm_split_name[i]) == 0)
			return i;
	return -1;
}

static int
by_value(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* sorted[n]; as percentile_cont */
static double
percentile(const double *sorted, int n, double q)
{
	double		at = q * (n - 1);
	int			low = (int) floor(at);
	int			high = (int) ceil(at);

	return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

void
pm_metrics_compute(const double *measured, const double *predicted, int n, double *scratch, pm_metrics *m)
{
	double		ape = 0,
				ae = 0,
				se = 0,
				bias = 0;
	int			within = 0;

	for (int i = 0; i < n; i++)
	{
		double		e = predicted[i] - measured[i];

		scratch[i] = fabs(e) / measured[i];
		ape += scratch[i];
		ae += fabs(e);
		se += e * e;
		bias += e / measured[i];
		within += scratch[i] <= 0.10;
	}
	qsort(scratch, n, sizeof(double), by_value);
	m->n = n;
	m->mape = ape / n;
	m->median_ape = percentile(scratch, n, 0.5);
	m->p90_ape = percentile(scratch, n, 0.9);
	m->mae_ms = ae / n;
	m->rmse_ms = sqrt(se / n);
	m->within_10 = (double) within / n;
	m->bias = bias / n;
}

void
pm_trust_metrics_compute(const double *measured, const double *predicted, const double *low,
						 const double *high, const signed char *domain, int n, pm_trust_metrics *m)
{
	double		ape[2] = {0};	/* out, in */
	int			rows[2] = {0};
	int			held = 0;
	double		width = 0;

	m->n_intervals = 0;
	for (int i = 0; i < n; i++)
	{
		if (domain[i] >= 0)
		{
			ape[domain[i] != 0] += fabs(predicted[i] - measured[i]) / measured[i];
			rows[domain[i] != 0]++;
		}
		if (isnan(low[i]))
			continue;
		m->n_intervals++;
		held += measured[i] >= low[i] && measured[i] <= high[i];
		width += (high[i] - low[i]) / predicted[i];
	}
	m->n_judged = rows[0] + rows[1];
	m->coverage = m->n_intervals > 0 ? (double) held / m->n_intervals : NAN;
	m->width = m->n_intervals > 0 ? width / m->n_intervals : NAN;
	m->in_domain = m->n_judged > 0 ? (double) rows[1] / m->n_judged : NAN;
	m->mape_in_domain = rows[1] > 0 ? ape[1] / rows[1] : NAN;
	m->mape_out_of_domain = rows[0] > 0 ? ape[0] / rows[0] : NAN;
}

/* ---- folds ---- */

/* Rows with the same key stay together; order decides how keys are dealt. */
typedef struct card
{
	uint64_t	key;
	uint64_t	order;
	int			row;
} card;

static int
by_order(const void *a, const void *b)
{
	const card *x = a;
	const card *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->row - y->row;
}

static uint64_t
row_key(pm_split split, const pm_sample *s)
{
	if (split == PM_SPLIT_STRUCTURE)
		return s->query.graph->structure;
	if (split == PM_SPLIT_GPU)
		return pm_hash(PM_HASH_INIT, s->query.gpu->name, strlen(s->query.gpu->name));
	return pm_hash(PM_HASH_INIT, s->query.graph->family, strlen(s->query.graph->family));
}

/* Deal groups of rows round robin, in an order that the seed decides. */
static pm_code
deal(pm_split split, int folds, uint64_t seed, const pm_dataset *d, pm_arena *a,
	 int *fold_of, int *n_folds, pm_status *st)
{
	card	   *cards = PM_NEW(a, card, d->n);
	int			groups = 0;

	if (!cards)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
	{
		cards[i].key = row_key(split, &d->samples[i]);
		cards[i].order = pm_mix(cards[i].key ^ pm_mix(seed));
		cards[i].row = i;
	}
	qsort(cards, d->n, sizeof(card), by_order);
	for (int i = 0; i < d->n; i++)
	{
		groups += i == 0 || cards[i].key != cards[i - 1].key;
		fold_of[cards[i].row] = folds > 0 ? (groups - 1) % folds : groups - 1;
	}
	*n_folds = folds > 0 ? folds : groups;
	if (groups < 2 || groups < *n_folds)
		return pm_fail(st, PM_ERR_DATA, "split \"%s\" with %d folds needs at least that many groups, and there %s %d",
					   pm_split_name[split], folds > 0 ? folds : 2, groups == 1 ? "is" : "are", groups);
	return PM_OK;
}

/* Small batches train, larger than the median test. */
static pm_code
split_batch(const pm_dataset *d, pm_arena *a, int *fold_of, int *n_folds, pm_status *st)
{
	double	   *batch = PM_NEW(a, double, d->n);
	int			tested = 0;
	double		median;

	if (!batch)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
		batch[i] = (double) d->samples[i].query.batch;
	qsort(batch, d->n, sizeof(double), by_value);
	median = d->n > 0 ? percentile(batch, d->n, 0.5) : 0;
	for (int i = 0; i < d->n; i++)
	{
		bool		large = d->samples[i].query.batch > median;

		fold_of[i] = large ? 0 : -1;
		tested += large;
	}
	*n_folds = 1;
	if (tested == 0)
		return pm_fail(st, PM_ERR_DATA, "split \"batch\" needs rows with different batch sizes");
	return PM_OK;
}

pm_code
pm_split_assign(pm_split split, int folds, uint64_t seed, const pm_dataset *d,
				pm_arena *a, int *fold_of, int *n_folds, pm_status *st)
{
	if (split == PM_SPLIT_BATCH)
		return split_batch(d, a, fold_of, n_folds, st);
	if (split == PM_SPLIT_GPU)
		folds = 0;
	else if (folds < 2)
		return pm_fail(st, PM_ERR_OPTION, "folds must be at least 2");
	return deal(split, folds, seed, d, a, fold_of, n_folds, st);
}
