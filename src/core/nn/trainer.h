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
	const int  *tokens;			/* [rows] how much work a row is, so that the largest shard starts first; NULL: all the same.
								 * It does not change the result */
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
	bool		keep_last;		/* keep the weights of the last epoch and not those of the best: with few validation rows, the
								 * best epoch is mostly chance */
	int			threads;
	uint64_t	seed;
} pm_train_options;

/* Number of shards of a minibatch; more threads than that are of no use. */
#define PM_SHARDS 4

/* The largest minibatch that an option may ask for, and the samples of one of its shards. */
#define PM_MAX_MINIBATCH 1024
#define PM_MAX_SHARD ((PM_MAX_MINIBATCH + PM_SHARDS - 1) / PM_SHARDS)

/* Samples of one shard for minibatches of this size. */
int			pm_shard_samples(int batch);

/*
 * An upper bound of the size of a shard, whatever the shuffle: each total is summed
 * over the rows where it is largest.
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
 * Train w[n_params] in place on the rows train[n_train].  Keep the weights with the
 * best MAPE on the rows valid[n_valid], or the last weights if n_valid is 0 or
 * o->keep_last.  train and valid have indexes of rows, measured[] has the time of
 * each row, ms.  *report: epochs and errors.  PM_CANCELLED: the stop hook said so;
 * PM_ERR_DIVERGED: losses were not finite even after three restarts from the best
 * weights at a lower rate; PM_ERR_MEMORY.
 */
pm_code		pm_train(const pm_objective *net, pm_real *w, const double *measured, const int *train, int n_train,
					 const int *valid, int n_valid, const pm_train_options *o, const pm_hooks *hooks,
					 pm_arena *a, pm_fit_report *report, pm_status *st);

/* Bytes that pm_train() takes in addition to w. */
double		pm_train_memory(size_t n_params, size_t workspace_bytes, int n_rows, int threads);

/*
 * Divide the rows of d by structure into training and validation, so that about
 * this fraction of the rows validates.  train[*n_train] and valid[*n_valid] get
 * indexes of rows, and have room for d->n.  All rows train if fraction is 0 or
 * there are fewer than 10 structures.
 */
pm_code		pm_hold_out(const pm_dataset *d, double fraction, uint64_t seed, pm_arena *a,
						int *train, int *n_train, int *valid, int *n_valid, pm_status *st);

#endif
