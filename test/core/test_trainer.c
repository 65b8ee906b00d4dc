/*
 * test_trainer.c - the trainer on a net that can be followed by hand: a
 * linear model with squared error.  What it does with threads, seeds, hooks,
 * losses that are not numbers, early stop; the hold-out; its memory.
 */
#include "check.h"
#include "make_graph.h"

#include "nn/trainer.h"

#include <time.h>

#define N_ROWS	40
#define N_PARAMS 6

static pm_arena arena;

/* measured = 10 + w x; the trained weights are all but the last, which is the constant. */
typedef struct problem
{
	double		x[N_ROWS][N_PARAMS];
	double		measured[N_ROWS];
	bool		noisy;			/* uses its random numbers */
	int			valid_from;		/* predictions of rows from here are scored against `shift` too */
	double		valid_shift;	/* added to what such rows predict, times the distance of w[0] from 0 */

	/* what the net was asked, and how it misbehaves */
	int			passes;			/* with a gradient */
	int			bad_from;		/* passes in [bad_from, bad_to) give NaN */
	int			bad_to;
	bool		bad_gradient;	/* in the gradient instead of the loss */
	int			rounds;			/* passes without a gradient */
	int			nan_rounds;		/* the first so many predict NaN */
	int			too_many;		/* samples beyond max_samples in one pass */
	int			begun;			/* epochs announced, ... */
	double		done[32];		/* ... with these shares done, ... */
	int			passes_before[32];	/* ... after these passes with a gradient */
} problem;

static void
make_problem(problem *p)
{
	pm_rng		rng;

	memset(p, 0, sizeof(*p));
	pm_rng_seed(&rng, 7);
	for (int i = 0; i < N_ROWS; i++)
	{
		p->measured[i] = 10;
		for (int k = 0; k < N_PARAMS; k++)
		{
			p->x[i][k] = k == N_PARAMS - 1 ? 1 : pm_rng_uniform(&rng) - 0.5;
			p->measured[i] += k == N_PARAMS - 1 ? 0 : (k + 1) * p->x[i][k];
		}
	}
	p->valid_from = N_ROWS;
}

static double
linear_pass(const void *ctx, const pm_real *w, pm_real *grad, const int *index, int n,
			double *predicted, pm_rng *rng, void *workspace)
{
	problem    *p = (problem *) ctx;
	int			turn = __atomic_fetch_add(grad != NULL ? &p->passes : &p->rounds, 1, __ATOMIC_RELAXED);
	bool		bad = grad != NULL && turn >= p->bad_from && turn < p->bad_to;
	double		loss = 0;

	if (n > pm_shard_samples(8))
		__atomic_fetch_add(&p->too_many, 1, __ATOMIC_RELAXED);
	((char *) workspace)[0] = 1;
	/* shards of different duration, so that threads take them in any order */
	if (p->noisy && grad != NULL && index[0] % 3 == 0)
		nanosleep(&(struct timespec) {.tv_nsec = 20000}, NULL);
	for (int i = 0; i < n; i++)
	{
		const double *x = p->x[index[i]];
		double		e = p->noisy && rng != NULL ? 0.1 * (pm_rng_uniform(rng) - 0.5) : 0;

		predicted[i] = 0;
		for (int k = 0; k < N_PARAMS; k++)
			predicted[i] += w[k] * x[k];
		if (grad == NULL && index[i] >= p->valid_from)
			predicted[i] += p->valid_shift * w[0];
		if (grad == NULL && turn < p->nan_rounds)
			predicted[i] = NAN;
		e += predicted[i] - p->measured[index[i]];
		loss += 0.5 * e * e;
		for (int k = 0; k < N_PARAMS && grad != NULL; k++)
			grad[k] += (pm_real) (bad && p->bad_gradient ? NAN : e * x[k]);
	}
	return bad && !p->bad_gradient ? NAN : loss;
}

static const uint8_t no_decay[N_PARAMS];

static const pm_train_options usual = {
	.epochs = 300, .batch = 8, .rate = 0.1, .rate_end = 1e-4, .warmup = 0.05, .threads = 1, .seed = 5
};

typedef struct outcome
{
	pm_code		rc;
	pm_real		w[N_PARAMS];
	pm_fit_report report;
	pm_status	st;
	double		taken;			/* bytes of the arena */
} outcome;

static void
note_epoch(void *ctx, double progress)
{
	problem    *p = ctx;

	if (p->begun < 32)
	{
		p->done[p->begun] = progress;
		p->passes_before[p->begun] = p->passes;
	}
	p->begun++;
}

/* Train on the rows before n_train, validate on those behind. */
static outcome
train(problem *p, int n_train, const pm_train_options *o, const pm_hooks *hooks)
{
	pm_objective		net = {.n_params = N_PARAMS, .workspace_bytes = 1 << 16, .max_samples = pm_shard_samples(o->batch),
		.pass = linear_pass, .decay = no_decay, .begin_epoch = note_epoch, .ctx = p};
	int			row[N_ROWS];
	pm_arena	a;
	outcome		out;

	memset(&out, 0, sizeof(out));
	for (int i = 0; i < N_ROWS; i++)
		row[i] = i;
	pm_arena_init_malloc(&a);
	out.rc = pm_train(&net, out.w, p->measured, row, n_train, row + n_train, N_ROWS - n_train, o, hooks, &a,
					  &out.report, &out.st);
	out.taken = (double) a.used;
	CHECK(out.taken <= pm_arena_memory(pm_train_memory(N_PARAMS, net.workspace_bytes, N_ROWS, o->threads)));
	pm_arena_release(&a);
	for (int k = 0; k < N_PARAMS; k++)
		CHECK(isfinite(out.w[k]));
	CHECK_EQ(p->too_many, 0);
	return out;
}

/* ---------- learning ---------- */

static void
test_converges(void)
{
	problem		p;
	outcome		out;

	make_problem(&p);
	out = train(&p, N_ROWS, &usual, NULL);
	CHECK_EQ(out.rc, PM_OK);
	CHECK_EQ(out.report.epochs, 300);
	CHECK_EQ(out.report.best_epoch, 300);
	CHECK_EQ(out.report.n_params, N_PARAMS);
	CHECK_EQ(p.passes, 300 * 5 * PM_SHARDS);
	CHECK(isnan(out.report.valid_mape) && out.report.valid_n == 0);
	for (int k = 0; k < N_PARAMS; k++)
		CHECK_NEAR(out.w[k], k == N_PARAMS - 1 ? 10 : k + 1, 0.02);
	/* the last minibatch of an epoch may be smaller, and a minibatch smaller than the shards */
	make_problem(&p);
	out = train(&p, 35, &usual, NULL);
	CHECK_EQ(out.rc, PM_OK);
	CHECK_NEAR(out.w[2], 3, 0.02);
	CHECK_EQ(out.report.valid_n, 5);
	CHECK(out.report.valid_mape < 1e-3 && out.report.valid_mae < 0.01 && out.report.valid_rmse < 0.01);
	make_problem(&p);
	out = train(&p, 2, &usual, NULL);
	CHECK_EQ(out.rc, PM_OK);
}

static void
test_options_matter(void)
{
	problem		p;
	pm_train_options o = usual;
	outcome		plain, other;

	make_problem(&p);
	o.epochs = 20;
	plain = train(&p, N_ROWS, &o, NULL);
	o.ema = 0.9;
	other = train(&p, N_ROWS, &o, NULL);
	CHECK(other.rc == PM_OK && memcmp(plain.w, other.w, sizeof(plain.w)) != 0);
	o.ema = 0;
	o.clip = 0.01;
	other = train(&p, N_ROWS, &o, NULL);
	CHECK(other.rc == PM_OK && memcmp(plain.w, other.w, sizeof(plain.w)) != 0);
	o.clip = 1e9;				/* never reached */
	other = train(&p, N_ROWS, &o, NULL);
	CHECK(other.rc == PM_OK && memcmp(plain.w, other.w, sizeof(plain.w)) == 0);
	o.clip = 0;
	o.rate = 0.01;
	other = train(&p, N_ROWS, &o, NULL);
	CHECK(fabs(other.w[N_PARAMS - 1] - 10) > fabs(plain.w[N_PARAMS - 1] - 10));
}

static void
test_same_bits(void)
{
	problem		p;
	pm_train_options o = usual;
	outcome		first, other;

	make_problem(&p);
	p.noisy = true;
	o.epochs = 30;
	o.ema = 0.9;
	o.clip = 1;
	first = train(&p, 33, &o, NULL);
	for (o.threads = 1; o.threads <= 8; o.threads++)
	{
		other = train(&p, 33, &o, NULL);
		CHECK(memcmp(first.w, other.w, sizeof(first.w)) == 0);
		CHECK_EQ(other.report.valid_mape, first.report.valid_mape);
	}
	o.threads = 1;
	o.seed++;
	other = train(&p, 33, &o, NULL);
	CHECK(memcmp(first.w, other.w, sizeof(first.w)) != 0);
	/* the seed decides the shuffles and what a shard draws */
	p.noisy = false;
	first = train(&p, 33, &o, NULL);
	p.noisy = true;
	other = train(&p, 33, &o, NULL);
	CHECK(memcmp(first.w, other.w, sizeof(first.w)) != 0);
}

static void
test_decay(void)
{
	static const uint8_t decay[N_PARAMS] = {1, 0, 0, 0, 0, 0};
	problem		p;
	pm_objective		net = {.n_params = N_PARAMS, .workspace_bytes = 64, .max_samples = 2, .pass = linear_pass,
		.decay = decay, .ctx = &p};
	pm_train_options o = usual;
	pm_real		w[N_PARAMS] = {0};
	int			row[N_ROWS];
	pm_fit_report report = {0};

	make_problem(&p);
	for (int i = 0; i < N_ROWS; i++)
		row[i] = i;
	o.weight_decay = 5;
	CHECK_EQ(pm_train(&net, w, p.measured, row, N_ROWS, NULL, 0, &o, NULL, &arena, &report, NULL), PM_OK);
	CHECK(w[0] < 0.9);			/* should be 1 */
	CHECK_NEAR(w[N_PARAMS - 1], 10, 0.1);
}

/* ---------- hooks ---------- */

typedef struct watch
{
	problem    *p;
	int			stop_at;		/* the stop hook says yes at this call */
	int			stops;
	int			passes_at_stop;
	int			epochs;
	int			wrong;
	double		peak;
} watch;

static bool
stop_hook(void *ctx)
{
	watch	   *w = ctx;

	if (++w->stops < w->stop_at)
		return false;
	w->passes_at_stop = w->p->passes;
	return true;
}

static void
progress_hook(void *ctx, const pm_progress *p)
{
	watch	   *w = ctx;

	w->epochs++;
	w->wrong += p->epoch != w->epochs || p->epochs != 20 || !(p->loss >= 0) || !(p->elapsed_s >= 0) || !(p->left_s >= 0) ||
		!(p->rate > 0) || p->rate > usual.rate * 1.0001 || isnan(p->valid_mape) || (p->epoch == 20 && p->left_s != 0);
	w->peak = fmax(w->peak, p->rate);
	if (p->epoch == 1)
		w->wrong += fabs(p->rate - usual.rate / 4) > 1e-9;	/* a quarter of the warm-up is done */
	if (p->epoch == 20)
		w->wrong += fabs(p->rate - usual.rate_end) > 1e-9;
}

static void
test_stop(void)
{
	for (int at = 1; at <= 13; at += 3)
		for (int threads = 1; threads <= 3; threads += 2)
		{
			problem		p;
			watch		w = {.p = &p, .stop_at = at};
			pm_hooks	hooks = {.stop = stop_hook, .ctx = &w};
			pm_train_options o = usual;
			outcome		out;

			make_problem(&p);
			o.threads = threads;
			out = train(&p, N_ROWS, &o, &hooks);
			CHECK_EQ(out.rc, PM_CANCELLED);
			CHECK_HAS(out.st.message, "cancelled");
			CHECK_EQ(p.passes, at * PM_SHARDS);
			CHECK_EQ(w.passes_at_stop, p.passes);
			CHECK_EQ(w.stops, at);
		}
}

static void
test_progress(void)
{
	problem		p;
	watch		w = {.p = &p, .stop_at = 1 << 30};
	pm_hooks	hooks = {.stop = stop_hook, .progress = progress_hook, .ctx = &w};
	pm_train_options o = usual;

	make_problem(&p);
	o.epochs = 20;
	o.warmup = 0.2;
	CHECK_EQ(train(&p, 35, &o, &hooks).rc, PM_OK);
	CHECK_EQ(w.epochs, 20);
	CHECK_EQ(w.wrong, 0);
	CHECK_EQ(p.begun, 20);
	for (int i = 0; i < 20; i++)
	{
		CHECK_NEAR(p.done[i], i / 20.0, 1e-12);
		CHECK_EQ(p.passes_before[i], i * (4 * PM_SHARDS + 3));	/* 35 rows: four full steps, and one of three rows */
	}
	CHECK_NEAR(w.peak, usual.rate, 1e-9);
	CHECK_EQ(w.stops, 20 * (5 + 1) + 1);	/* after each step, in validation, and in the last look at the training rows */
}

/* ---------- losses that are not numbers ---------- */

static void
test_diverges(void)
{
	problem		p;
	outcome		out;

	for (int gradient = 0; gradient <= 1; gradient++)
	{
		make_problem(&p);
		p.bad_to = 1 << 30;
		p.bad_gradient = gradient;
		out = train(&p, N_ROWS, &usual, NULL);
		CHECK_EQ(out.rc, PM_ERR_DIVERGED);
		CHECK_HAS(out.st.message, "diverged");
		CHECK_HAS(out.st.hint, "learning_rate");
		CHECK_EQ(p.passes, 4 * PM_SHARDS);	/* the first, and three restarts */
		for (int k = 0; k < N_PARAMS; k++)
			CHECK_EQ(out.w[k], 0);	/* nothing was applied */
	}
	/* late: after some epochs, weights are those of the best epoch */
	make_problem(&p);
	p.bad_from = 100 * 5 * PM_SHARDS;
	p.bad_to = 1 << 30;
	out = train(&p, N_ROWS, &usual, NULL);
	CHECK_EQ(out.rc, PM_ERR_DIVERGED);
	CHECK(out.w[N_PARAMS - 1] > 5);
}

static void
test_recovers(void)
{
	problem		p;
	outcome		out;

	make_problem(&p);
	p.bad_from = 30;
	p.bad_to = 31;
	out = train(&p, N_ROWS, &usual, NULL);
	CHECK_EQ(out.rc, PM_OK);
	CHECK_EQ(out.report.epochs, 300);
	CHECK_NEAR(out.w[N_PARAMS - 1], 10, 0.3);
	/* the first validations are not numbers */
	make_problem(&p);
	p.nan_rounds = 9;
	out = train(&p, 32, &usual, NULL);
	CHECK_EQ(out.rc, PM_OK);
	CHECK(out.report.valid_mape < 1e-3);
	CHECK(out.report.best_epoch > 3);
	CHECK_NEAR(out.w[N_PARAMS - 1], 10, 0.02);
	/* all of them are not, nor what it predicts for its own rows: that is no predictor */
	make_problem(&p);
	p.nan_rounds = 1 << 30;
	out = train(&p, 32, &usual, NULL);
	CHECK_EQ(out.rc, PM_ERR_DIVERGED);
	CHECK(isnan(out.report.valid_mape));
}

/* ---------- early stop ---------- */

/* Validation gets worse once w[0] has grown, since these rows want another w[0]. */
static void
test_patience(void)
{
	problem		p;
	pm_train_options o = usual;
	outcome		patient, stopped;
	double		mape = 0;

	make_problem(&p);
	p.valid_from = 32;
	p.valid_shift = -5;
	o.epochs = 200;
	patient = train(&p, 32, &o, NULL);
	CHECK_EQ(patient.rc, PM_OK);
	CHECK_EQ(patient.report.epochs, 200);
	CHECK(patient.report.best_epoch < 150);
	o.patience = 7;
	stopped = train(&p, 32, &o, NULL);
	CHECK_EQ(stopped.rc, PM_OK);
	CHECK(stopped.report.epochs < 200);
	CHECK_EQ(stopped.report.epochs, stopped.report.best_epoch + 7);
	/* the weights that come back are those that validated best */
	for (int i = 32; i < N_ROWS; i++)
	{
		double		y = p.valid_shift * stopped.w[0];

		for (int k = 0; k < N_PARAMS; k++)
			y += stopped.w[k] * p.x[i][k];
		mape += fabs(y - p.measured[i]) / p.measured[i] / 8;
	}
	CHECK_NEAR(stopped.report.valid_mape, mape, 1e-12);
	/* without a validation part there is nothing to be patient about */
	stopped = train(&p, N_ROWS, &o, NULL);
	CHECK_EQ(stopped.report.epochs, 200);
}

/* ---------- hold-out ---------- */

static double
any_time(const pm_tokens *t)
{
	return t->total_roofline_us / 1000;
}

static void
check_hold_out(const pm_dataset *d, double fraction, uint64_t seed, int *n_valid, int *valid)
{
	int		   *train_rows = PM_NEW(&arena, int, d->n);
	int		   *seen = PM_NEW(&arena, int, d->n);
	int			n_train;
	int			torn = 0;

	CHECK_EQ(pm_hold_out(d, fraction, seed, &arena, train_rows, &n_train, valid, n_valid, NULL), PM_OK);
	CHECK_EQ(n_train + *n_valid, d->n);
	for (int i = 0; i < n_train; i++)
		seen[train_rows[i]]++;
	for (int i = 0; i < *n_valid; i++)
	{
		seen[valid[i]]++;
		for (int j = 0; j < n_train; j++)
			torn += d->samples[valid[i]].query.graph->structure == d->samples[train_rows[j]].query.graph->structure;
	}
	CHECK_EQ(torn, 0);
	for (int i = 0; i < d->n; i++)
		CHECK_EQ(seen[i], 1);
	CHECK(n_train > 0);
}

static void
test_hold_out(void)
{
	pm_dataset	d = make_dataset(20, 3, true, any_time, &arena);
	pm_dataset	few = make_dataset(9, 3, true, any_time, &arena);
	int			valid[60], again[60], other[60];
	int			n, m;

	check_hold_out(&d, 0.2, 1, &n, valid);
	CHECK_EQ(n, 12);
	check_hold_out(&d, 0.2, 1, &m, again);
	CHECK(m == n && memcmp(valid, again, n * sizeof(int)) == 0);
	check_hold_out(&d, 0.2, 2, &m, other);
	CHECK(m != n || memcmp(valid, other, n * sizeof(int)) != 0);
	check_hold_out(&d, 0.12, 1, &n, valid);
	CHECK_EQ(n, 9);				/* 7.2 rows, whole structures */
	check_hold_out(&d, 0.5, 1, &n, valid);
	CHECK_EQ(n, 30);
	check_hold_out(&d, 0, 1, &n, valid);
	CHECK_EQ(n, 0);
	check_hold_out(&few, 0.3, 1, &n, valid);
	CHECK_EQ(n, 0);
}

/* ---------- memory ---------- */

static void
test_no_memory(void)
{
	problem		p;
	pm_objective		net = {.n_params = N_PARAMS, .workspace_bytes = 64, .max_samples = 2, .pass = linear_pass,
		.decay = no_decay, .ctx = &p};
	pm_real		w[N_PARAMS] = {0};
	pm_train_options o = usual;
	pm_fit_report report = {0};
	pm_code		rc = PM_ERR_MEMORY;
	int			row[N_ROWS];
	int			refused = 0;

	make_problem(&p);
	for (int i = 0; i < N_ROWS; i++)
		row[i] = i;
	for (size_t limit = 128; rc == PM_ERR_MEMORY; limit += 128)
	{
		pm_arena	a;

		pm_arena_init_malloc(&a);
		a.limit = limit;
		rc = pm_train(&net, w, p.measured, row, N_ROWS, NULL, 0, &o, NULL, &a, &report, NULL);
		refused += rc != PM_OK;
		pm_arena_release(&a);
	}
	CHECK_EQ(rc, PM_OK);
	CHECK(refused > 3);
}

static void
check_kind_memory(const char *kind, const pm_setting *settings, int n_settings, int threads)
{
	pm_dataset	d = make_dataset(12, 3, true, any_time, &arena);
	pm_predictor p = {.kind = pm_kind_find(kind)};
	pm_fit_report report;
	pm_status	st;
	pm_arena	a;
	double		estimate;

	CHECK_EQ(pm_options_set(p.kind, settings, n_settings, &p.options, &st), PM_OK);
	estimate = p.kind->memory(&p.options, &d, threads);
	pm_arena_init_malloc(&a);
	CHECK_EQ(pm_predictor_fit(&p, &d, 1, threads, NULL, &a, &report, &st), PM_OK);
	CHECK(estimate >= (double) a.used);
	/* what a member needs while it is trained is given back, and not in a.used any more */
	CHECK(estimate <= 4.0 * a.used + (56 << 20));
	if (getenv("VERBOSE"))
		printf("%s, %d threads: estimated %.0f kB, taken %.0f kB of %.0f kB obtained\n", kind, threads, estimate / 1024,
			   (a.used - a.left) / 1024.0, a.used / 1024.0);
	pm_arena_release(&a);
}

static void
test_kind_memory(void)
{
	const pm_setting quick = {.name = "epochs", .number = 1};
	const pm_setting other[] = {quick, {.name = "d_model", .number = 16}, {.name = "batch_size", .number = 1024}};

	for (int threads = 1; threads <= 8; threads *= 2)
		check_kind_memory("mdot", &quick, 1, threads);
	check_kind_memory("mdot", other, 3, 2);
	check_kind_memory("roofline", NULL, 0, 1);
	check_kind_memory("linear", NULL, 0, 1);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_converges();
	test_options_matter();
	test_same_bits();
	test_decay();
	test_stop();
	test_progress();
	test_diverges();
	test_recovers();
	test_patience();
	test_hold_out();
	test_no_memory();
	test_kind_memory();
	pm_arena_release(&arena);
	return check_done("trainer");
}
