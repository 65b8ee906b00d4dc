/*
 * trainer.c - gradient descent, for every kind that uses it.
 *
 * One step: the shards run forward and backward on the pool's threads; then
 * blocks of parameters sum the shards' gradients and their squares; then the
 * same blocks apply AdamW.  Blocks and shards are fixed, and every sum has a
 * fixed order, so the bits do not depend on the number of threads.
 *
 * All memory is taken before the first thread starts.  The caller's hooks run
 * between steps, when the threads sleep.
 */
#include "nn/blas.h"
#include "nn/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/metrics.h"
#include "base/pool.h"

#define N_BLOCKS 16				/* of parameters */
#define GLANCE		10			/* epochs between two looks at the validation part when nothing depends on it */
#define MAX_RESTARTS 3
#define STRIDE 64				/* rows predicted between two questions whether to stop, ... */
#define STRIDE_TOKENS 16384		/* ... and operators, about */

typedef struct trainer
{
	const pm_objective *net;
	const pm_train_options *o;
	const double *measured;
	pm_thread_pool pool;
	pm_real    *w;				/* [p] being trained; the caller's */
	pm_real    *m, *v;			/* [p] AdamW */
	pm_real    *ema, *best;		/* [p] */
	pm_real    *grad;			/* [PM_SHARDS, p]; shard 0 receives the sum */
	double		squares[N_BLOCKS];
	double		loss[PM_SHARDS];
	char	   *workspace;		/* [threads, net->workspace_bytes] */
	double	   *predicted;		/* [rows] */
	int		   *order;			/* [n_train] shuffled */
	pm_rng		rng;			/* shuffles */

	/* the current step */
	const int  *batch;
	int			n_batch;
	int			turn[PM_SHARDS];	/* shards in the order in which they start */
	int64_t		step;			/* of all */
	int			adam_step;		/* since the moments were zero */
	int64_t		steps;
	double		rate_factor;	/* a quarter at each restart */
	double		grad_scale;
} trainer;

int
pm_shard_samples(int batch)
{
	return (batch + PM_SHARDS - 1) / PM_SHARDS;
}

void
pm_largest_shard_init(pm_largest_shard *l, int batch)
{
	memset(l, 0, sizeof(*l));
	l->per_shard = pm_shard_samples(batch);
}

/* Insert into top[n], largest first. */
static void
keep_largest(int *top, int n, int value)
{
	for (int i = 0; i < n && value > 0; i++)
		if (value > top[i])
		{
			int			t = top[i];

			top[i] = value;
			value = t;
		}
}

void
pm_largest_shard_add(pm_largest_shard *l, int tokens, int items)
{
	l->n += l->n < l->per_shard;
	keep_largest(l->tokens, l->per_shard, tokens);
	keep_largest(l->items, l->per_shard, items);
}

pm_pass_size
pm_largest_shard_size(const pm_largest_shard *l)
{
	pm_pass_size size = {0};

	for (int i = 0; i < l->n; i++)
		pm_pass_add(&size, l->tokens[i], l->items[i]);
	return size;
}

_Static_assert(PM_SHARDS <= PM_MAX_THREADS, "a thread for each shard");

/* A thread without a shard would only cost its workspace. */
static int
useful_threads(int threads)
{
	return threads < 1 ? 1 : threads < PM_SHARDS ? threads : PM_SHARDS;
}

double
pm_train_memory(size_t n_params, size_t workspace_bytes, int n_rows, int threads)
{
	return (double) n_params * sizeof(pm_real) * (4 + PM_SHARDS) + (double) workspace_bytes * useful_threads(threads) +
		(double) n_rows * 32;
}

/* ---- one step ---- */

/* The largest first: a thread that starts it last would keep the others waiting. */
static void
order_shards(trainer *t)
{
	int			per = pm_shard_samples(t->n_batch);
	int64_t		work[PM_SHARDS] = {0};

	for (int i = 0; i < t->n_batch && t->net->tokens != NULL; i++)
		work[i / per] += t->net->tokens[t->batch[i]];
	for (int s = 0; s < PM_SHARDS; s++)
	{
		int			at = s;

		for (; at > 0 && work[t->turn[at - 1]] < work[s]; at--)
			t->turn[at] = t->turn[at - 1];
		t->turn[at] = s;
	}
}

static void
run_shard(void *arg, int turn, int thread)
{
	trainer    *t = arg;
	int			shard = t->turn[turn];
	size_t		p = t->net->n_params;
	int			per = pm_shard_samples(t->n_batch);
	int			from = shard * per;
	int			n = t->n_batch - from < per ? t->n_batch - from : per;
	pm_rng		rng;

	memset(t->grad + shard * p, 0, p * sizeof(pm_real));
	t->loss[shard] = 0;
	if (n <= 0)
		return;
	pm_rng_seed(&rng, pm_mix(t->o->seed + UINT64_C(0x9e3779b97f4a7c15) * ((uint64_t) t->step * PM_SHARDS + shard + 1)));
	t->loss[shard] = t->net->pass(t->net->ctx, t->w, t->grad + shard * p, t->batch + from, n,
								  t->predicted + from, &rng, t->workspace + thread * t->net->workspace_bytes);
}

static void
block_range(const trainer *t, int block, size_t *from, size_t *n)
{
	size_t		per = (t->net->n_params + N_BLOCKS - 1) / N_BLOCKS;
	size_t		start = block * per;

	*from = start < t->net->n_params ? start : t->net->n_params;
	*n = t->net->n_params - *from < per ? t->net->n_params - *from : per;
}

static void
sum_block(void *arg, int block, int thread)
{
	trainer    *t = arg;
	size_t		from,
				n;

	(void) thread;
	block_range(t, block, &from, &n);
	for (int s = 1; s < PM_SHARDS; s++)
		pm_add(t->grad + from, t->grad + s * t->net->n_params + from, (int) n);
	t->squares[block] = pm_sum_squares(t->grad + from, n);
}

/* Linear warm-up, then a cosine; progress is the share of all steps that is done. */
static double
learning_rate(const trainer *t, double progress)
{
	double		warm = t->o->warmup > 0 ? progress / t->o->warmup : 1;
	double		wave = 0.5 * (1 + cos(M_PI * (progress - t->o->warmup) / (1 - t->o->warmup)));

	return t->rate_factor * (warm < 1 ? t->o->rate * warm : t->o->rate_end + (t->o->rate - t->o->rate_end) * wave);
}

static void
update_block(void *arg, int block, int thread)
{
	trainer    *t = arg;
	pm_adamw	adam = {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-8, .weight_decay = t->o->weight_decay};
	double		keep = (1.0 + t->step) / (10.0 + t->step);
	size_t		from,
				n;

	(void) thread;
	block_range(t, block, &from, &n);
	adam.rate = learning_rate(t, (double) t->step / t->steps);
	pm_adamw_step(t->w + from, t->m + from, t->v + from, t->grad + from, t->net->decay + from, n,
				  &adam, t->adam_step, t->grad_scale);
	if (t->o->ema > 0)
		pm_ema(t->ema + from, t->w + from, n, keep < t->o->ema ? keep : t->o->ema);
}

/* Returns the summed loss; non-finite when the step was not applied. */
static double
train_step(trainer *t, const int *batch, int n)
{
	double		loss = 0;
	double		norm = 0;

	t->batch = batch;
	t->n_batch = n;
	order_shards(t);
	pm_pool_run(&t->pool, run_shard, t, PM_SHARDS);
	pm_pool_run(&t->pool, sum_block, t, N_BLOCKS);
	for (int s = 0; s < PM_SHARDS; s++)
		loss += t->loss[s];
	for (int b = 0; b < N_BLOCKS; b++)
		norm += t->squares[b];
	norm = sqrt(norm) / n;
	if (!isfinite(loss) || !isfinite(norm))
		return NAN;
	t->grad_scale = (t->o->clip > 0 && norm > t->o->clip) ? t->o->clip / norm / n : 1.0 / n;
	t->adam_step++;
	pm_pool_run(&t->pool, update_block, t, N_BLOCKS);
	return loss;
}

/* ---- prediction over rows ---- */

typedef struct row_task
{
	const pm_objective *net;
	const pm_real *w;
	const int  *index;
	int			n;
	double	   *predicted;
	char	   *workspace;
} row_task;

static void
predict_chunk(void *arg, int chunk, int thread)
{
	row_task   *r = arg;
	int			from = chunk * r->net->max_samples;
	int			n = r->n - from < r->net->max_samples ? r->n - from : r->net->max_samples;

	r->net->pass(r->net->ctx, r->w, NULL, r->index + from, n, r->predicted + from, NULL,
				 r->workspace + thread * r->net->workspace_bytes);
}

static void
predict_rows(pm_thread_pool *pool, const pm_objective *net, const pm_real *w, const int *index, int n,
			 double *predicted, char *workspace)
{
	row_task	r = {net, w, index, n, predicted, workspace};

	if (n > 0)
		pm_pool_run(pool, predict_chunk, &r, (n + net->max_samples - 1) / net->max_samples);
}

/* ---- epochs ---- */

static bool
wants_stop(const pm_hooks *hooks)
{
	return hooks != NULL && hooks->stop != NULL && hooks->stop(hooks->ctx);
}

/* How many of rows[n] to predict before asking whether to stop. */
static int
some_rows(const pm_objective *net, const int *rows, int n)
{
	int64_t		tokens = 0;
	int			i = 0;

	for (; i < n && i < STRIDE && tokens < STRIDE_TOKENS; i++)
		tokens += net->tokens != NULL ? net->tokens[rows[i]] : 0;
	return i;
}

/* Errors of w on rows[n]; asks every few rows whether to stop, and returns false when so. */
static bool
measure(trainer *t, const pm_real *w, const int *rows, int n, const pm_hooks *hooks, pm_fit_report *r)
{
	pm_errors	sum = {0};

	for (int from = 0, some; from < n; from += some)
	{
		some = some_rows(t->net, rows + from, n - from);
		predict_rows(&t->pool, t->net, w, rows + from, some, t->predicted + from, t->workspace);
		if (wants_stop(hooks))
			return false;
	}
	for (int i = 0; i < n; i++)
		pm_errors_add(&sum, t->measured[rows[i]], t->predicted[i]);
	r->valid_n = n;
	r->valid_mape = pm_errors_mape(&sum);
	r->valid_mae = pm_errors_mae(&sum);
	r->valid_rmse = pm_errors_rmse(&sum);
	return true;
}

/* Go back to the best weights, forget the moments, and be more careful. */
static bool
restart(trainer *t, int *restarts)
{
	size_t		bytes = t->net->n_params * sizeof(pm_real);

	if (++*restarts > MAX_RESTARTS)
		return false;
	memcpy(t->w, t->best, bytes);
	memcpy(t->ema, t->best, bytes);
	memset(t->m, 0, bytes);
	memset(t->v, 0, bytes);
	t->adam_step = 0;
	t->rate_factor /= 4;
	return true;
}

static pm_code
diverged(const char *what, pm_status *st)
{
	pm_fail(st, PM_ERR_DIVERGED, "training diverged: %s", what);
	pm_hint(st, "Lower the option \"learning_rate\".");
	return PM_ERR_DIVERGED;
}

/* Weights that are numbers may still predict what is none. */
static bool
all_answered(const double *predicted, int n)
{
	for (int i = 0; i < n; i++)
		if (!(predicted[i] > 0 && isfinite(predicted[i])))
			return false;
	return true;
}

/* One epoch of steps; *loss is the mean per sample. */
static pm_code
run_epoch(trainer *t, int n_train, const pm_hooks *hooks, int *restarts, double *loss, pm_status *st)
{
	int			samples = 0;

	*loss = 0;
	pm_rng_shuffle(&t->rng, t->order, n_train);
	for (int from = 0; from < n_train; from += t->o->batch, t->step++)
	{
		int			n = n_train - from < t->o->batch ? n_train - from : t->o->batch;
		double		sum = train_step(t, t->order + from, n);

		if (isfinite(sum))
		{
			*loss += sum;
			samples += n;
		}
		else if (!restart(t, restarts))
			return diverged("the loss is not finite", st);
		if (wants_stop(hooks))
			return pm_fail(st, PM_CANCELLED, "training was cancelled");
	}
	*loss /= samples > 0 ? samples : 1;
	return PM_OK;
}

static void
report_progress(const trainer *t, const pm_hooks *hooks, int epoch, double loss, double valid, double started)
{
	pm_progress p = {.epoch = epoch, .epochs = t->o->epochs, .loss = loss,
	.valid_mape = isfinite(valid) ? valid : NAN};

	if (hooks == NULL || hooks->progress == NULL)
		return;
	p.elapsed_s = pm_now() - started;
	p.left_s = p.elapsed_s / epoch * (t->o->epochs - epoch);
	p.rate = learning_rate(t, (double) epoch / t->o->epochs);
	hooks->progress(hooks->ctx, &p);
}

static pm_code
run_epochs(trainer *t, int n_train, const int *valid, int n_valid, const pm_hooks *hooks,
		   pm_fit_report *report, pm_status *st)
{
	size_t		bytes = t->net->n_params * sizeof(pm_real);
	const pm_real *judged = t->o->ema > 0 ? t->ema : t->w;
	double		started = pm_now();
	pm_fit_report now;
	int			restarts = 0;

	report->valid_mape = NAN;
	for (int epoch = 1; epoch <= t->o->epochs; epoch++)
	{
		double		loss;
		pm_code		rc;

		if (t->net->begin_epoch != NULL)
			t->net->begin_epoch(t->net->ctx, (epoch - 1.0) / t->o->epochs);
		rc = run_epoch(t, n_train, hooks, &restarts, &loss, st);
		if (rc != PM_OK)
			return rc;
		report->epochs = epoch;
		/* what decides nothing need not be known of every epoch */
		if (!t->o->keep_last || epoch % GLANCE == 1 || epoch == t->o->epochs)
			if (!measure(t, judged, valid, n_valid, hooks, &now))
				return pm_fail(st, PM_CANCELLED, "training was cancelled");
		/* the first epochs may predict what is not a number: anything is better */
		if (n_valid == 0 || t->o->keep_last || isnan(report->valid_mape) || now.valid_mape < report->valid_mape)
		{
			report->valid_mape = now.valid_mape;
			report->valid_mae = now.valid_mae;
			report->valid_rmse = now.valid_rmse;
			report->valid_n = now.valid_n;
			report->best_epoch = epoch;
			memcpy(t->best, judged, bytes);
		}
		report_progress(t, hooks, epoch, loss, now.valid_mape, started);
		if (n_valid > 0 && !t->o->keep_last && t->o->patience > 0 && epoch - report->best_epoch >= t->o->patience)
			break;
	}
	memcpy(t->w, t->best, bytes);
	if (!pm_all_finite(t->w, t->net->n_params))
		return diverged("weights are not finite", st);
	if (!measure(t, t->w, t->order, n_train, hooks, &now))
		return pm_fail(st, PM_CANCELLED, "training was cancelled");
	if (!all_answered(t->predicted, n_train))
		return diverged("what it predicts for its own rows is not positive and finite", st);
	report->train_mape = now.valid_mape;
	return PM_OK;
}

static pm_code
prepare(trainer *t, const int *train, int n_train, int n_valid, pm_arena *a, pm_status *st)
{
	size_t		p = t->net->n_params;
	int			rows = n_train > n_valid ? n_train : n_valid;

	t->m = PM_NEW(a, pm_real, p);
	t->v = PM_NEW(a, pm_real, p);
	t->ema = PM_NEW(a, pm_real, p);
	t->best = PM_NEW(a, pm_real, p);
	t->grad = PM_NEW(a, pm_real, p * PM_SHARDS);
	t->workspace = pm_alloc(a, useful_threads(t->o->threads), t->net->workspace_bytes);
	t->predicted = PM_NEW(a, double, rows + t->o->batch);
	t->order = PM_NEW(a, int, n_train);
	if (!t->m || !t->v || !t->ema || !t->best || !t->grad || !t->workspace || !t->predicted || !t->order)
		return pm_no_memory(st, a);
	memcpy(t->ema, t->w, p * sizeof(pm_real));
	memcpy(t->best, t->w, p * sizeof(pm_real));
	memcpy(t->order, train, n_train * sizeof(int));
	pm_rng_seed(&t->rng, t->o->seed);
	t->rate_factor = 1;
	t->steps = (int64_t) t->o->epochs * ((n_train + t->o->batch - 1) / t->o->batch);
	return PM_OK;
}

pm_code
pm_train(const pm_objective *net, pm_real *w, const double *measured, const int *train, int n_train,
		 const int *valid, int n_valid, const pm_train_options *o, const pm_hooks *hooks,
		 pm_arena *a, pm_fit_report *report, pm_status *st)
{
	trainer		t = {.net = net, .w = w, .o = o, .measured = measured};
	pm_code		rc = prepare(&t, train, n_train, n_valid, a, st);
	double		started = pm_now();

	if (rc != PM_OK)
		return rc;
	if ((rc = pm_blas_reserve(useful_threads(o->threads), st)) != PM_OK)
		return rc;
	pm_pool_start(&t.pool, useful_threads(o->threads));
	rc = run_epochs(&t, n_train, valid, n_valid, hooks, report, st);
	pm_pool_stop(&t.pool);
	report->seconds = pm_now() - started;
	report->n_params = (int64_t) net->n_params;
	return rc;
}

/* ---- hold-out ---- */

typedef struct lot
{
	uint64_t	key;			/* mixed structure: a random order that seed decides */
	int			row;
} lot;

static int
by_key(const void *a, const void *b)
{
	const lot  *x = a;
	const lot  *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->row - y->row;
}

pm_code
pm_hold_out(const pm_dataset *d, double fraction, uint64_t seed, pm_arena *a,
			int *train, int *n_train, int *valid, int *n_valid, pm_status *st)
{
	lot		   *lots = PM_NEW(a, lot, d->n);
	int			structures = 0;
	int			wanted = (int) (fraction * d->n + 0.5);

	if (!lots)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
	{
		lots[i].key = pm_mix(d->samples[i].query.graph->structure ^ pm_mix(seed));
		lots[i].row = i;
	}
	qsort(lots, d->n, sizeof(lot), by_key);
	for (int i = 0; i < d->n; i++)
		structures += i == 0 || lots[i].key != lots[i - 1].key;
	if (structures < 10)
		wanted = 0;
	*n_train = *n_valid = 0;
	for (int i = 0; i < d->n; i++)
	{
		bool		same = i > 0 && *n_valid > 0 && *n_train == 0 && lots[i].key == lots[i - 1].key;

		if (*n_train == 0 && (*n_valid < wanted || same))
			valid[(*n_valid)++] = lots[i].row;
		else
			train[(*n_train)++] = lots[i].row;
	}
	return PM_OK;
}
