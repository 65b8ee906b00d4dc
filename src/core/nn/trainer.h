/*
 * trainer.h - epochs, minibatches, data-parallel threads, validation, early
 * stop: for every kind that learns by gradient descent.
 *
 * A kind hands over a pm_objective.  The trainer deals each minibatch to a fixed
 * number of shards; a shard is worked on by one thread and has a gradient of
 * its own; gradients are added up in the order of the shards.  So the result
 * does not depend on how many threads there are.
 */
#ifndef PM_TRAINER_H
#define PM_TRAINER_H

#include "features/dataset.h"
#include "nn/fit_report.h"
#include "nn/nn.h"
#include "nn/workspace.h"

typedef struct pm_objective
{
	size_t		n_params;
	size_t		workspace_bytes;	/* for one call of pass with at most max_samples samples */
	int			max_samples;
	/*
	 * Forward, and when grad is not NULL backward, over samples index[0..n-1].
	 * predicted[i] gets ms; grad[n_params] is added to; returns the sum of the
	 * losses.  rng is for dropout and augmentation; NULL: neither.
	 */
	double		(*pass) (const void *ctx, const pm_real *w, pm_real *grad, const int *index, int n,
						 double *predicted, pm_rng *rng, void *workspace);
	const uint8_t *decay;		/* [n_params] 1: weight decay applies */
	const int  *tokens;			/* [rows] how much work a row is: the largest shard starts first.  NULL: all the same.
								 * No result depends on it */
	/* Before every epoch, on the caller's thread; progress is the share of the epochs that is done.  May be NULL. */
	void		(*begin_epoch) (void *ctx, double progress);
	void	   *ctx;
} pm_objective;

typedef struct pm_train_options
{
	int			epochs;
	int			patience;		/* epochs without a better validation error; 0: never stop early */
	int			batch;			/* samples a step */
	double		rate;			/* peak; linear warm-up, then cosine to rate_end */
	double		rate_end;
	double		warmup;			/* fraction of all steps */
	double		weight_decay;
	double		clip;			/* global gradient norm; 0: none */
	double		ema;			/* moving average of the weights that is validated and kept; 0: none */
	bool		keep_last;		/* keep the weights of the last epoch, not those of the best: a small
								 * validation part chooses by chance */
	int			threads;
	uint64_t	seed;
} pm_train_options;

/* Samples of a minibatch are dealt to this many shards; also the most threads that are of use. */
#define PM_SHARDS 4

/* The largest minibatch that an option may ask for, and the samples of one of its shards. */
#define PM_MAX_MINIBATCH 1024
#define PM_MAX_SHARD ((PM_MAX_MINIBATCH + PM_SHARDS - 1) / PM_SHARDS)

/* Samples of one shard for minibatches of this size. */
int			pm_shard_samples(int batch);

/*
 * What no shard that a shuffle can produce exceeds: each total is taken from
 * the rows where it is largest.
 */
typedef struct pm_largest_shard
{
	int			n;				/* samples: of a whole shard, or all rows when these are fewer */
	int			per_shard;
	int			tokens[PM_MAX_SHARD];	/* largest first */
	int			items[PM_MAX_SHARD];
} pm_largest_shard;

void		pm_largest_shard_init(pm_largest_shard *l, int batch);
/* One more row; tokens and items as in pm_pass_add(). */
void		pm_largest_shard_add(pm_largest_shard *l, int tokens, int items);
pm_pass_size pm_largest_shard_size(const pm_largest_shard *l);

/*
 * Train w[n_params] in place on rows train[]; keep the weights with the best
 * validation MAPE, or the last when n_valid = 0 or keep_last is set.  measured[] is indexed like
 * train[] and valid[] (by row of the data set).
 * PM_CANCELLED when the stop hook says so, PM_ERR_DIVERGED when losses stay
 * non-finite after three restarts from the best weights at a lower rate.
 */
pm_code		pm_train(const pm_objective *net, pm_real *w, const double *measured, const int *train, int n_train,
					 const int *valid, int n_valid, const pm_train_options *o, const pm_hooks *hooks,
					 pm_arena *a, pm_fit_report *report, pm_status *st);

/* Bytes that pm_train takes besides w. */
double		pm_train_memory(size_t n_params, size_t workspace_bytes, int n_rows, int threads);

/*
 * Deal rows 0..n-1 into training and validation by structure, so that about
 * fraction of the rows validate.  train[] and valid[] have room for d->n.
 * All rows train when fraction is 0 or there are fewer than 10 structures.
 */
pm_code		pm_hold_out(const pm_dataset *d, double fraction, uint64_t seed, pm_arena *a,
						int *train, int *n_train, int *valid, int *n_valid, pm_status *st);

#endif
