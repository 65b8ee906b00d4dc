/*
 * training.c - training code that all networks share.
 */
#include "kinds/training.h"

#include <math.h>

#define LEAST_SIGMA		0.01

pm_train_options
pm_training_schedule(const double *v, uint64_t seed, int threads)
{
	return (pm_train_options) {
		.epochs = (int) v[PM_TRAIN_EPOCHS], .patience = (int) v[PM_TRAIN_PATIENCE], .batch = (int) v[PM_TRAIN_BATCH_SIZE],
		.rate = v[PM_TRAIN_LEARNING_RATE], .rate_end = fmin(v[PM_TRAIN_FINAL_RATE], v[PM_TRAIN_LEARNING_RATE]),
		.warmup = v[PM_TRAIN_WARMUP], .weight_decay = v[PM_TRAIN_WEIGHT_DECAY], .clip = v[PM_TRAIN_CLIP],
		.ema = v[PM_TRAIN_EMA], .keep_last = v[PM_TRAIN_PATIENCE] == 0, .threads = threads, .seed = seed
	};
}

pm_code
pm_training_rows_take(pm_training_rows *r, const pm_dataset *d, int steps, const double *v, uint64_t seed,
					  pm_arena *a, pm_status *st)
{
	pm_dataset	judged = {.n = steps, .samples = d->samples};
	pm_code		rc;

	r->n = d->n;
	r->step_ms = PM_NEW(a, double, d->n);
	r->weight = PM_NEW(a, double, d->n);
	r->tokens = PM_NEW(a, int, d->n);
	r->train = PM_NEW(a, int, d->n);
	r->valid = PM_NEW(a, int, d->n);
	if (!r->step_ms || !r->weight || !r->tokens || !r->train || !r->valid)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
	{
		r->step_ms[i] = d->samples[i].step_ms;
		r->weight[i] = d->samples[i].weight;
		r->tokens[i] = d->samples[i].skeleton->n;
	}
	rc = pm_hold_out(&judged, v[PM_TRAIN_VALID], seed, a, r->train, &r->n_train, r->valid, &r->n_valid, st);
	for (int i = steps; i < d->n; i++)
		r->train[r->n_train++] = i;
	return rc;
}

void
pm_log_moments(const pm_sample *samples, int n, double *mean, double *sigma)
{
	double		sum = 0,
				squares = 0;

	for (int i = 0; i < n; i++)
	{
		double		l = log(samples[i].step_ms);

		sum += l;
		squares += l * l;
	}
	*mean = sum / n;
	*sigma = fmax(sqrt(fmax(squares / n - *mean * *mean, 0)), LEAST_SIGMA);
}
