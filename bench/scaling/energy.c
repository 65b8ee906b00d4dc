/*
 * energy.c - power that a GPU draws in training, a card left out.
 *
 *     energy GRAPHS.ndjson ZEUS.csv H200.csv H100.csv
 *
 * Rows of ml-energy/zeus with a step time, each card at its highest limit:
 * ResNet-50 (224) and ShuffleNet V2 (CIFAR, 32).  The latter is asked about as
 * shufflenet_v2_x1_0 at 96, times (128/96)^2: its stem does not stride, so that
 * its maps are those of 128.  H200.csv and H100.csv are data/power_h200.csv and
 * data/busy_h100.csv, of which the training steps count.  Draw over limit is a line in the share of the
 * roofline, up to where it is full; fitted on all cards but one, each with the
 * same weight, and tested on that one.
 */
#include "graphs.h"

typedef struct point
{
	int			card;
	double		share;			/* roofline over step */
	double		draw;			/* over limit */
} point;

/* The numbers of pm_draw_w(). */
typedef struct line
{
	double		idle,
				arithmetic,
				most,			/* the largest draw of the cards fitted to */
				full_at;
} line;

/* Sheets as in data/gpu.csv. */
#define SHEET(sm, lanes, clock, capability, watts) .memory_gb = NAN, .sm_count = sm, .cores_per_sm = lanes, .clock_ghz = clock, .l2_mb = NAN, \
	PM_GPU_REST_UNKNOWN, .compute_capability = capability, .tdp_w = watts
#define N_CARDS	5
#define H200	3
#define H100	4

static const pm_gpu cards[N_CARDS] = {
	{.name = "P100", SHEET(56, 64, 1.303, 6.0, 250), .mem_bw_gbs = 732, .fp32_tflops = 9.3, .fp16_tensor_tflops = NAN},
	{.name = "V100", SHEET(80, 64, 1.38, 7.0, 250), .mem_bw_gbs = 900, .fp32_tflops = 14, .fp16_tensor_tflops = 112},
	{.name = "RTX6000", SHEET(72, 64, 1.77, 7.5, 260), .mem_bw_gbs = 672, .fp32_tflops = 16.3, .fp16_tensor_tflops = 130.5},
	{.name = "H200", SHEET(132, 128, 1.98, 9.0, 700), .mem_bw_gbs = 4800, .fp32_tflops = 66.9, .fp16_tensor_tflops = 989},
	{.name = "H100", SHEET(132, 128, 1.98, 9.0, 700), .mem_bw_gbs = 3350, .fp32_tflops = 66.9, .fp16_tensor_tflops = 989},
};

static point points[512];
static int	n_points;

static void
read_points(const csv *c, const pm_skeleton nets[2], pm_arena *a)
{
	for (int i = 0; i < c->n; i++)
		for (int card = 0; card < H200; card++)
		{
			bool		shuffle = strncmp(csv_text(c, i, "model"), "shuffle", 7) == 0;
			pm_question q = {.gpu = &cards[card],.batch = (int64_t) csv_number(c, i, "batch_per_gpu"),.dtype = PM_FP32,.optimizer = PM_SGD_MOMENTUM};
			pm_tokens	t;
			pm_status	st;
			double		limit = csv_option(c, i, "options", "power_limit_w");
			double		step = csv_number(c, i, "step_ms");

			if (strcmp(csv_text(c, i, "gpu"), cards[card].name) != 0 || isnan(step) || limit < 250 || (card == 2 && limit < 260))
				continue;
			q.graph = nets[shuffle].graph;
			if (pm_tokens_build_work(&nets[shuffle], &q, a, &t, &st) != PM_OK)
				csv_die(st.message, "tokens");
			points[n_points++] = (point) {
				card, t.total_roofline_us / 1000 * (shuffle ? pow(128.0 / 96, 2) : 1) / step,
				csv_option(c, i, "options", "average_power_w") / limit
			};
		}
}

/* Training steps that we measured on a card, where power was. */
static void
read_own(const csv *c, int card, const char *graphs, pm_arena *a)
{
	for (int i = 0; i < c->n; i++)
	{
		bool		nhwc = strcmp(csv_text(c, i, "layout"), "nhwc") == 0;
		pm_question q = {.gpu = &cards[card],.batch = (int64_t) csv_number(c, i, "batch"),.layout = nhwc ? PM_NHWC : PM_NCHW};
		pm_skeleton k;
		pm_tokens	t;
		pm_status	st;

		if (strcmp(csv_text(c, i, "mode"), "train") != 0 || isnan(csv_number(c, i, "power_w")) || !has_graph(graphs, csv_text(c, i, "graph")))
			continue;
		q.optimizer = (pm_optimizer) pm_optimizer_parse(csv_text(c, i, "optimizer"));
		q.dtype = (pm_dtype) pm_dtype_parse(csv_text(c, i, "dtype"));
		read_graph(graphs, csv_text(c, i, "graph"), a, &k);
		q.graph = k.graph;
		if (pm_tokens_build_work(&k, &q, a, &t, &st) != PM_OK)
			csv_die(st.message, "tokens");
		points[n_points++] = (point) {card, t.total_roofline_us / 1000 / csv_number(c, i, "step_ms"), csv_number(c, i, "power_w") / cards[card].tdp_w};
	}
}

static double
draw(const line *l, const point *p)
{
	const pm_gpu *gpu = &cards[p->card];
	double		full = fmin(l->most, l->idle + l->arithmetic * pm_gpu_arithmetic_w(gpu) / gpu->tdp_w);

	return l->idle + (full - l->idle) * fmin(1, p->share / l->full_at);
}

/* Means of relative squares over the cards without one (-1: all). */
static double
badness(const line *l, int without)
{
	double		e[N_CARDS] = {0};
	int			n[N_CARDS] = {0};
	double		sum = 0;

	for (int i = 0; i < n_points; i++)
	{
		e[points[i].card] += pow(draw(l, &points[i]) / points[i].draw - 1, 2);
		n[points[i].card]++;
	}
	for (int card = 0; card < N_CARDS; card++)
		if (card != without && n[card] > 0)
			sum += e[card] / n[card];
	return sum;
}

static line
fit(int without)
{
	line		best = {0};
	line		l = {0};
	double		least = INFINITY;

	for (int i = 0; i < n_points; i++)
		if (points[i].card != without)
			l.most = fmax(l.most, points[i].draw);
	for (l.idle = 0.05; l.idle < 0.3; l.idle += 0.005)
		for (l.arithmetic = 0.5; l.arithmetic < 1.3; l.arithmetic += 0.02)
			for (l.full_at = 0.2; l.full_at < 0.8; l.full_at += 0.01)
			{
				double		e = badness(&l, without);

				if (e < least)
				{
					least = e;
					best = l;
				}
			}
	return best;
}

int
main(int argc, char **argv)
{
	pm_arena	a;
	pm_skeleton nets[2];
	csv			c;
	line		l;

	if (argc != 5)
		csv_die("GRAPHS.ndjson ZEUS.csv H200.csv H100.csv", argv[0]);
	pm_arena_init_malloc(&a);
	read_graph(argv[1], "resnet50@224", &a, &nets[0]);
	read_graph(argv[1], "shufflenet_v2_x1_0@96", &a, &nets[1]);
	c = csv_read(argv[2]);
	read_points(&c, nets, &a);
	c = csv_read(argv[3]);
	read_own(&c, H200, argv[1], &a);
	c = csv_read(argv[4]);
	read_own(&c, H100, argv[1], &a);
	l = fit(-1);
	printf("all cards: n %d, at rest %.3f, arithmetic %.2f, at most %.2f, full at %.2f of the roofline\n", n_points, l.idle, l.arithmetic, l.most, l.full_at);
	for (int card = 0; card < N_CARDS; card++)
	{
		double		e = 0,
					bias = 0,
					limit = 0;
		int			n = 0;

		l = fit(card);
		for (int i = 0; i < n_points; i++)
			if (points[i].card == card)
			{
				double		off = draw(&l, &points[i]) / points[i].draw - 1;

				e += fabs(off);
				bias += off;
				limit += fabs(1 / points[i].draw - 1);
				n++;
			}
		printf("%s left out: n %d, error %.1f %%, bias %.1f %%; from the limit alone %.1f %%\n", cards[card].name, n, 100 * e / n, 100 * bias / n,
			   100 * limit / n);
	}
	return 0;
}
