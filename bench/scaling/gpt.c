/*
 * gpt.c - GPT training over tensor, pipeline and data parallelism.
 *
 *     gpt VTRAIN.csv
 *
 * vTrain's steps on 2, 4 and 8 A100 of one machine, with recomputing.  The step
 * on one GPU was not measured, so that its time is a formula with five fitted
 * numbers: the rate at large and at small products, what is read and written
 * beside them, the launches of a layer, the update; a sixth is the factor on the
 * bandwidth between GPUs.  All else is pm_scaled_step().  Folds of whole models (layers and hidden size), and
 * of whole layouts (tp, dp, pp); then fitted to all of them, 64 GPUs and more.
 */
#include "csv.h"
#include "links.h"
#include "scaling/step.h"

#define MAX_ROWS	2000
#define PEAK_TFLOPS 312.0
#define VOCABULARY	51200
#define N_NUMBERS	6

typedef struct row
{
	double		layers,
				hidden,
				seq,
				micro,
				heads,
				step_ms;
	pm_parallel p;
	int			model;			/* groups */
	int			layout;
} row;

static row	rows[MAX_ROWS];
static int	n_rows;
static int	n_models;
static int	n_layouts;

static const pm_link_row infiniband_200[] = {{0, 0.85 * 25, NAN}};
static const pm_fabric machine = {
	"a100", {"nvswitch", PM_LINK_NVSWITCH, 7, a100_rows}, {"infiniband", PM_LINK_INFINIBAND, 1, infiniband_200}, 8, 8, 0, NOT_FITTED
};

/*
 * What is fitted, as logarithms: share of the peak, size at which it is half, us
 * of a layer, ns of the update of 1000 parameters, factors on the bandwidth
 * between GPUs and on the traffic to memory.
 */
static const double start[N_NUMBERS] = {-0.5, -2, 6, 1, 0, 0};

static double
flops_forward(const row *r)
{
	double		tokens = r->micro * r->seq;

	return r->layers * 24 * tokens * r->hidden * r->hidden * (1 + r->seq / (6 * r->hidden)) + 2 * tokens * r->hidden * VOCABULARY;
}

static double
predicted_ms(const row *r, const double *v)
{
	double		params = r->layers * 12 * r->hidden * r->hidden + VOCABULARY * r->hidden;
	/* rows of a product, in thousands, times its width over the GPUs that share it */
	double		size = r->micro * r->seq / 1024 * r->hidden / 1024 / r->p.tp;
	double		rate = PEAK_TFLOPS * exp(v[0]) * size / (size + exp(v[1]));
	/* what is read and written beside the products: 34 bytes an element, 5 a score (Korthikanti et al. 2022) */
	double		bytes = r->layers * r->micro * r->seq * (34 * r->hidden + 5 * r->heads * r->seq);
	double		forward = flops_forward(r) / (rate * 1e9) + bytes / 2039e6 * exp(v[5]);
	double		launch = r->layers * 3 * exp(v[2]) / 1000;
	pm_step_shape s = {
		.n = 0, .message_bytes = 25e6, .layers = (int) r->layers, .activation_bytes = 2 * r->micro * r->seq * r->hidden,
		.gradient_bytes = 2 * params, .forward_ms = forward, .backward_ms = 2 * forward, .update_ms = params / 1e9 * exp(v[3])
	};
	pm_fabric	f = machine;
	pm_scaled	to;

	s.launch_ms = launch;
	s.head_ms = 3 * 2 * r->micro * r->seq * r->hidden * VOCABULARY / (rate * 1e9);
	if (r->p.tp * r->p.pp == 1 && launch > 3 * forward)
	{
		s.forward_ms = launch / 3;
		s.backward_ms = launch * 2 / 3;
	}
	s.step_ms = s.forward_ms + s.backward_ms + s.update_ms;
	f.intra_factor = exp(v[4]);
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
	return to.step_ms;
}

static double
badness(const double *v, const bool *use)
{
	double		sum = 0;

	for (int i = 0; i < n_rows; i++)
		if (use[i])
			sum += fabs(log(predicted_ms(&rows[i], v) / rows[i].step_ms));
	for (int k = 0; k < N_NUMBERS; k++)
		sum += 0.1 * (v[k] - start[k]) * (v[k] - start[k]);
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

static void
read_rows(const csv *c)
{
	for (int i = 0; i < c->n && n_rows < MAX_ROWS; i++)
	{
		row		   *r = &rows[n_rows++];
		double		dp = csv_option(c, i, "parallelism", "dp");

		*r = (row) {
			csv_option(c, i, "options", "layers"), csv_option(c, i, "options", "hidden"), csv_option(c, i, "options", "seq"),
			csv_option(c, i, "options", "micro_batch"), csv_option(c, i, "options", "heads"), csv_number(c, i, "step_ms"),
			{.world_size = (int) csv_number(c, i, "n_gpus"),.bucket_mb = 25,.tp = (int) csv_option(c, i, "parallelism", "tp"),
			.pp = (int) csv_option(c, i, "parallelism", "pp"),.interleave = 1,.recompute = true}
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

static void
test(const char *what, int folds, bool by_layout)
{
	double		error = 0;
	int			n = 0;

	for (int fold = 0; fold < folds; fold++)
	{
		bool		use[MAX_ROWS];
		double		v[N_NUMBERS];

		for (int i = 0; i < n_rows; i++)
			use[i] = rows[i].p.world_size <= 8 && (by_layout ? rows[i].layout : rows[i].model) % folds != fold;
		fit(v, use);
		for (int i = 0; i < n_rows; i++)
			if (rows[i].p.world_size <= 8 && !use[i])
			{
				error += fabs(predicted_ms(&rows[i], v) / rows[i].step_ms - 1);
				n++;
			}
	}
	printf("%s: n %d, error %.1f %%\n", what, n, 100 * error / n);
}

static void
test_large(void)
{
	bool		use[MAX_ROWS];
	double		v[N_NUMBERS];
	double		error = 0;
	double		bias = 0;
	int			n = 0;

	for (int i = 0; i < n_rows; i++)
		use[i] = rows[i].p.world_size <= 8;
	fit(v, use);
	for (int i = 0; i < n_rows; i++)
		if (!use[i])
		{
			double		e = predicted_ms(&rows[i], v) / rows[i].step_ms - 1;

			error += fabs(e);
			bias += e;
			n++;
		}
	if (n > 0)
		printf("64 GPUs and more, fitted to 2, 4 and 8: n %d, error %.1f %%, bias %.1f %%\n", n, 100 * error / n, 100 * bias / n);
	printf("fitted: rate %.2f of the peak, half at %.2f, %.0f us a layer, %.2f ns a thousand parameters, bandwidth %.2f\n",
		   exp(v[0]), exp(v[1]), exp(v[2]), exp(v[3]), exp(v[4]));
	printf("traffic %.2f\n", exp(v[5]));
}

int
main(int argc, char **argv)
{
	csv			c;

	if (argc != 2)
		csv_die("VTRAIN.csv", argv[0]);
	c = csv_read(argv[1]);
	read_rows(&c);
	test("folds of models", 5, false);
	test("folds of layouts", 5, true);
	test_large();
	return 0;
}
