/*
 * gpt.c - GPT training over tensor, pipeline and data parallelism.
 *
 *     gpt VTRAIN.csv [BIGSCIENCE.csv]
 *
 * vTrain's steps on 2, 4 and 8 A100 of one machine, with recomputing.  The step
 * on one GPU was not measured, so that its time is a formula with five fitted
 * numbers: the rate at large and at small products, what is read and written
 * beside them, the launches of a layer, the update; a sixth is the factor on the
 * bandwidth between GPUs.  All else is pm_scaled_step().  Folds of whole models (layers and hidden size), and
 * of whole layouts (tp, dp, pp).  Then fitted to all of them: vTrain's own rows on
 * 64 GPUs and more, and those of BigScience on 320 to 384 A100 of machines
 * with four 100 Gb/s adapters each, of other people, another program and models
 * ten times as large; nothing is fitted to them.
 *
 * Each figure is given twice: by the formula alone, and with what
 * pm_divided_correction_fit() learns from the rows that the formula was fitted to.
 */
#include "csv.h"
#include "links.h"
#include "scaling/divided_correction.h"
#include "scaling/step.h"

#define MAX_ROWS	2000
#define PEAK_TFLOPS 312.0

/*
 * Share of the peak that products of any size may reach.  Within vTrain's sizes
 * the fit is left alone, and takes more than all of it for the largest; models
 * beyond them get what cuBLAS is known to reach with large products on an A100.
 */
static double best_share = INFINITY;
#define BEST_SHARE_BEYOND 0.85


typedef struct row
{
	double		layers,
				hidden,
				seq,
				micro,
				heads,
				vocabulary,
				step_ms;
	const pm_fabric *on;
	pm_parallel p;
	int			model;			/* groups */
	int			layout;
} row;

static row	rows[MAX_ROWS];
static int	n_rows;
static int	n_models;
static int	n_layouts;

static const pm_link_row infiniband_200[] = {{0, 0.85 * 25, NAN, 0}};
static const pm_fabric machine = {
	"a100", {"nvswitch", PM_LINK_NVSWITCH, 7, a100_rows}, {"infiniband", PM_LINK_INFINIBAND, 1, infiniband_200}, 8, 8, 0, PM_NOT_FITTED
};

/*
 * Jean Zay: four Omni-Path links of 100 Gb/s (train/tr11-176B-ml/README.md of bigscience-workshop/bigscience).
 * All-reduces on 16 and 32 A100 of four machines, for which NCCL took one of the links, reached 5.0 and 5.1 GB/s
 * (experiments/bandwidth there).
 */
static const pm_link_row omnipath_100[] = {{0, 5.06, NAN, 0}};
static const pm_fabric jean_zay = {
	"jean zay", {"nvswitch", PM_LINK_NVSWITCH, 7, a100_rows}, {"omnipath", PM_LINK_INFINIBAND, 1, omnipath_100}, 8, 4, 0, PM_NOT_FITTED
};

/* What is fitted, as logarithms. */
enum
{
	RATE,						/* share of the peak of the matrix units */
	HALF,						/* size of a product at which it is half of that, in 2^20 elements of its result */
	LAUNCH,						/* us of a layer on the processor, a third of forward and backward pass */
	UPDATE,						/* ns of a parameter, in thousands */
	COMM,						/* factor on the bandwidth between GPUs */
	TRAFFIC,					/* factor on the traffic to memory of what is divided */
	WHOLE,						/* the same, of what is not */
	HEAD,						/* share of the peak behind the layers: products, loss, embedding */
	HEAD_DIVIDED,				/* the same where the vocabulary is divided */
	N_NUMBERS
};
static const double start[N_NUMBERS] = {[RATE] = -0.5,[HALF] = -2,[LAUNCH] = 6,[UPDATE] = 1,[HEAD] = -0.7,[HEAD_DIVIDED] = -0.7};

/* Links were measured: how far the factor on them may be from 1. */
static const double spread[N_NUMBERS] = {3, 3, 3, 3, 0.05, 3, 3, 3, 3};

/* c NULL: by the formula alone.  *error_share, unless NULL, and x likewise: as pm_divided_correction_at() and pm_divided_correction_features() say. */
static double
corrected_ms(const row *r, const double *v, const pm_divided_correction *c, double *x, double *error_share)
{
	double		params = r->layers * 12 * r->hidden * r->hidden + r->vocabulary * r->hidden;
	double		tokens = r->micro * r->seq;
	double		flops = r->layers * 24 * tokens * r->hidden * r->hidden * (1 + r->seq / (6 * r->hidden));
	/* rows of a product, in thousands, times its width over the GPUs that share it */
	double		size = tokens / 1024 * r->hidden / 1024 / r->p.tp;
	double		rate = PEAK_TFLOPS * fmin(best_share, exp(v[RATE])) * size / (size + exp(v[HALF]));
	/* beside the products: 34 bytes an element, 10 of them not divided, 5 a score (Korthikanti et al. 2022) */
	double		whole = r->layers * tokens * 10 * r->hidden / 2039e6 * exp(v[WHOLE]);
	double		traffic = r->layers * tokens * (24 * r->hidden + 5 * r->heads * r->seq) / 2039e6 * exp(v[TRAFFIC]);
	double		forward = flops / (rate * 1e9) + traffic + whole;
	double		launch = r->layers * 3 * exp(v[LAUNCH]) / 1000;
	double		head = 3 * 2 * tokens * r->hidden * r->vocabulary / (PEAK_TFLOPS * 1e9 * exp(r->p.tp > 1 ? v[HEAD_DIVIDED] : v[HEAD]));
	pm_step_shape s = {
		.n = 0, .message_bytes = 25e6, .layers = (int) r->layers, .activation_bytes = 2 * tokens * r->hidden, .gradient_bytes = 2 * params,
		.head_ms = head, .undivided_ms = 3 * whole, .launch_ms = launch, .update_ms = params / 1e9 * exp(v[UPDATE])
	};
	pm_fabric	f = *r->on;
	pm_scaled	to;

	s.forward_ms = forward + head / 3;
	s.backward_ms = 2 * forward + head * 2 / 3;
	if (r->p.tp * r->p.pp == 1 && launch > 3 * forward)
	{
		s.forward_ms = launch / 3 + head / 3;
		s.backward_ms = launch * 2 / 3 + head * 2 / 3;
	}
	s.step_ms = s.forward_ms + s.backward_ms + s.update_ms;
	s.again_ms = s.forward_ms;	/* Megatron computes whole layers again */
	f.intra_factor = exp(v[COMM]);
	f.correction = c;
	if (r->p.tp * r->p.pp == 1)
	{
		s.n = 8;
		for (int k = 0; k < s.n; k++)
		{
			s.bytes[k] = s.gradient_bytes / s.n;
			s.bucket_ms[k] = s.backward_ms / s.n;
		}
	}
	pm_scaled_step(&s, &r->p, &f, 1, &to);
	if (x != NULL)
		pm_divided_correction_features(&s, &r->p, x);
	if (error_share != NULL)
	{
		bool		far;

		*error_share = pm_error_share(&s, &r->p, &f, &far);
	}
	return to.step_ms;
}

static double
predicted_ms(const row *r, const double *v)
{
	return corrected_ms(r, v, NULL, NULL, NULL);
}

static double
badness(const double *v, const bool *use)
{
	double		sum = 0;

	for (int i = 0; i < n_rows; i++)
		if (use[i])
			sum += fabs(log(predicted_ms(&rows[i], v) / rows[i].step_ms));
	for (int k = 0; k < N_NUMBERS; k++)
		sum += pow((v[k] - start[k]) / spread[k], 2);
	return sum;
}

/* One number after the other, in steps that become shorter. */
static void
fit(double *v, const bool *use)
{
	double		best;

	memcpy(v, start, sizeof(start));
	best = badness(v, use);
	for (double step = 0.5; step > 0.002; step /= 2)
		for (bool moved = true; moved;)
		{
			moved = false;
			for (int k = 0; k < 2 * N_NUMBERS; k++)
			{
				double		old = v[k / 2];
				double		e;

				v[k / 2] += k % 2 ? step : -step;
				e = badness(v, use);
				if (e < best - 1e-9)
				{
					best = e;
					moved = true;
				}
				else
					v[k / 2] = old;
			}
		}
}

/* What the formula leaves of the rows that it was fitted to; NULL: nothing that others of them confirm. */
static const pm_divided_correction *
learn(const double *v, const bool *use)
{
	static pm_divided_correction c;
	static double x[MAX_ROWS * PM_DIVIDED_FEATURES];
	static double left[MAX_ROWS];
	pm_arena	a;
	pm_status	st = {PM_OK};
	double		gain;
	int			n = 0;

	for (int i = 0; i < n_rows; i++)
		if (use[i] && pm_divided_correction_is_for(&rows[i].p))
		{
			left[n] = log(rows[i].step_ms / corrected_ms(&rows[i], v, NULL, x + n * PM_DIVIDED_FEATURES, NULL));
			n++;
		}
	pm_arena_init_malloc(&a);
	if (pm_divided_correction_fit(x, left, n, &a, &c, &gain, &st) != PM_OK)
		csv_die(st.message, "correction");
	pm_arena_release(&a);
	return c.n > 0 ? &c : NULL;
}

static void
read_rows(const csv *c)
{
	for (int i = 0; i < c->n && n_rows < MAX_ROWS; i++)
	{
		row		   *r = &rows[n_rows++];
		double		dp = csv_option(c, i, "parallelism", "dp");

		*r = (row) {
			csv_option(c, i, "options", "layers"), csv_option(c, i, "options", "hidden"), csv_option(c, i, "options", "seq"),
			csv_option(c, i, "options", "micro_batch"), csv_option(c, i, "options", "heads"), 51200, csv_number(c, i, "step_ms"), &machine,
			{.world_size = (int) csv_number(c, i, "n_gpus"),.bucket_mb = 25,.tp = (int) csv_option(c, i, "parallelism", "tp"),
			.pp = (int) csv_option(c, i, "parallelism", "pp"),.interleave = 1,.cp = 1,.recompute = true}
		};
		r->p.accumulation = (int) rint(csv_option(c, i, "options", "global_batch") / (r->micro * dp));
		r->p.nodes = (r->p.world_size + 7) / 8;
		if (!(r->layers > 0 && r->hidden > 0 && r->micro > 0 && r->p.accumulation >= 1 && r->step_ms > 0))
		{
			n_rows--;
			continue;
		}
		r->model = n_models;
		r->layout = n_layouts;
		for (int k = 0; k < n_rows - 1; k++)
		{
			if (rows[k].layers == r->layers && rows[k].hidden == r->hidden)
				r->model = rows[k].model;
			if (rows[k].p.tp == r->p.tp && rows[k].p.pp == r->p.pp && rows[k].p.world_size == r->p.world_size)
				r->layout = rows[k].layout;
		}
		n_models += r->model == n_models;
		n_layouts += r->layout == n_layouts;
	}
}

/* Rows in the same group are left out together. */
typedef int (*grouping) (const row *r);

static int
by_model(const row *r)
{
	return r->model;
}

static int
by_layout(const row *r)
{
	return r->layout;
}

static int
by_hidden(const row *r)
{
	return (int) (r->hidden / 2048);
}

static int
by_tp(const row *r)
{
	return (int) log2(r->p.tp);
}

static int
by_pp(const row *r)
{
	return (int) log2(r->p.pp);
}

static int
by_micro_batch(const row *r)
{
	return (int) log2(r->micro);
}

/* Sums of errors: [0] by the formula alone, [1] corrected. */
typedef struct tally
{
	double		error[2];
	double		bias[2];
	int			n;
	int			divided;		/* of n, the rows that are corrected */
	int			held;			/* of these, within the 90 % that the correction gives itself */
} tally;

static void
add(tally *t, const row *r, const double *v, const pm_divided_correction *c)
{
	double		share = 1;
	double		ms[2] = {predicted_ms(r, v), corrected_ms(r, v, c, NULL, &share)};

	for (int k = 0; k < 2; k++)
	{
		t->error[k] += fabs(ms[k] / r->step_ms - 1);
		t->bias[k] += ms[k] / r->step_ms - 1;
	}
	t->n++;
	if (c != NULL && pm_divided_correction_is_for(&r->p))
	{
		t->divided++;
		t->held += fabs(log(ms[1] / r->step_ms)) <= 1.645 * share * hypot(c->spread, c->scatter);
	}
}

static void
show(const char *what, const tally *t)
{
	printf("%s: n %d, error %.1f %%, corrected %.1f %%; bias %.1f and %.1f %%", what, t->n, 100 * t->error[0] / t->n, 100 * t->error[1] / t->n,
		   100 * t->bias[0] / t->n, 100 * t->bias[1] / t->n);
	if (t->divided > 0)
		printf("; %d of %d with tp or pp within their 90 %%", t->held, t->divided);
	printf("\n");
}

static void
test(const char *what, int folds, grouping group)
{
	tally		t = {0};

	for (int fold = 0; fold < folds; fold++)
	{
		bool		use[MAX_ROWS];
		double		v[N_NUMBERS];
		const pm_divided_correction *c;

		for (int i = 0; i < n_rows; i++)
			use[i] = rows[i].p.world_size <= 8 && group(&rows[i]) % folds != fold;
		fit(v, use);
		c = learn(v, use);
		for (int i = 0; i < n_rows; i++)
			if (rows[i].p.world_size <= 8 && !use[i])
				add(&t, &rows[i], v, c);
	}
	show(what, &t);
}

/*
 * Layers and hidden sizes of BigScience's models, which stand in the text around
 * its tables.  "182B" is 84 layers of 13,312 or 78 of 13,824, which have the
 * same work.  Models of hidden size 14,400 are left out: the text leaves their layers
 * open, and with 96 heads the size of a head, 150, is no multiple of 8.
 */
static const struct
{
	const char *name;
	double		layers,
				hidden;
}			models[] = {
	{"gpt-176B", 70, 14336}, {"gpt-177B", 96, 12288}, {"gpt-178B", 82, 13312}, {"gpt-181B", 72, 14336}, {"gpt-182B", 78, 13824},
	{"gpt-184B", 100, 12288}, {"gpt-187B", 80, 13824}, {"gpt-196B", 84, 13824}, {"gpt-203B", 94, 13312}
};

/* False: the row is of none of these models, or on other GPUs, or on fewer than 64. */
static bool
read_bigscience_row(const csv *c, int i, row *r)
{
	double		heads = csv_option(c, i, "options", "nheads");
	double		zero = csv_option(c, i, "parallelism", "zs");
	int			k = 0;
	int			n = (int) (sizeof(models) / sizeof(models[0]));
	/* the one model of this size that has other layers and the embeddings as layers of their own */
	bool		rebalanced = strcmp(csv_text(c, i, "model"), "gpt-195B") == 0 && csv_option(c, i, "parallelism", "tp") == 4;

	while (k < n && strcmp(csv_text(c, i, "model"), models[k].name) != 0)
		k++;
	if ((k == n && !rebalanced) || strstr(csv_text(c, i, "gpu"), "A100") == NULL || !(csv_number(c, i, "n_gpus") >= 64) || !(csv_number(c, i, "step_ms") > 0))
		return false;
	*r = (row) {
		rebalanced ? 106 : models[k].layers, rebalanced ? 12288 : models[k].hidden, 2048, csv_option(c, i, "options", "mbs"), isnan(heads) ? 64 : heads, 250880,
		csv_number(c, i, "step_ms"), &jean_zay,
		{.world_size = (int) csv_number(c, i, "n_gpus"),.bucket_mb = 25,.tp = (int) csv_option(c, i, "parallelism", "tp"),
		.pp = (int) csv_option(c, i, "parallelism", "pp"),.interleave = 1,.cp = 1,.zero = isnan(zero) ? 1 : (int) zero,.recompute = true}
	};
	r->p.accumulation = (int) rint(csv_option(c, i, "options", "gbs") / (r->micro * PM_REPLICAS(&r->p)));
	r->p.nodes = (r->p.world_size + 7) / 8;
	return true;
}

/* Tensor cores take 16-bit products whose sizes are multiples of 8: heads of another size are reported apart. */
static void
test_bigscience(const char *path, const double *v, const pm_divided_correction *correction)
{
	csv			c = csv_read(path);
	tally		t[2] = {0};

	for (int i = 0; i < c.n; i++)
	{
		row			r;

		if (read_bigscience_row(&c, i, &r))
			add(&t[fmod(r.hidden / r.heads, 8) != 0], &r, v, correction);
	}
	for (int k = 0; k < 2; k++)
		if (t[k].n > 0)
			show(k == 0 ? "BigScience, 320 to 384 GPUs, fitted to vTrain's 2, 4 and 8, heads multiples of 8" : "the same, heads no multiples of 8", &t[k]);
}

static void
test_large(const char *bigscience)
{
	bool		use[MAX_ROWS];
	double		v[N_NUMBERS];
	tally		t = {0};
	const pm_divided_correction *c;

	for (int i = 0; i < n_rows; i++)
		use[i] = rows[i].p.world_size <= 8;
	best_share = BEST_SHARE_BEYOND;
	fit(v, use);
	c = learn(v, use);
	for (int i = 0; i < n_rows; i++)
		if (!use[i])
			add(&t, &rows[i], v, c);
	if (t.n > 0)
		show("64 GPUs and more, fitted to 2, 4 and 8", &t);
	if (bigscience != NULL)
		test_bigscience(bigscience, v, c);
	printf("fitted to all of 2, 4 and 8:");
	for (int k = 0; k < N_NUMBERS; k++)
		printf(" %.3f", exp(v[k]));
	printf("\n");
}

int
main(int argc, char **argv)
{
	csv			c;

	if (argc < 2 || argc > 3)
		csv_die("VTRAIN.csv [BIGSCIENCE.csv]", argv[0]);
	c = csv_read(argv[1]);
	read_rows(&c);
	test("folds of models", 5, by_model);
	test("folds of layouts", 5, by_layout);
	test("a hidden size left out", 2, by_hidden);
	test("a tp left out", 4, by_tp);
	test("a pp left out", 3, by_pp);
	test("a micro-batch left out", 4, by_micro_batch);
	test_large(argv[2]);
	return 0;
}
