/*
 * energy.c - power that a GPU draws in training, a card left out.
 *
 *     energy GRAPHS.ndjson ZEUS.csv
 *
 * Rows of ml-energy/zeus with a step time, each card at its highest limit:
 * ResNet-50 (224) and ShuffleNet V2 (CIFAR, 32).  The latter is asked about as
 * shufflenet_v2_x1_0 at 96, times (128/96)^2: its stem does not stride, so that
 * its maps are those of 128.  Draw over limit is a line in the share of the
 * roofline, up to where it is full; fitted on two cards, tested on the third.
 */
#include "graphs.h"

typedef struct point
{
	int			card;
	double		share;			/* roofline over step */
	double		draw;			/* over limit */
} point;

static const pm_gpu cards[3] = {
	{.name = "P100", ROOFLINE_ONLY, .mem_bw_gbs = 732, .fp32_tflops = 9.3, .fp16_tensor_tflops = NAN},
	{.name = "V100", ROOFLINE_ONLY, .mem_bw_gbs = 900, .fp32_tflops = 14.1, .fp16_tensor_tflops = 112},
	{.name = "RTX6000", ROOFLINE_ONLY, .mem_bw_gbs = 672, .fp32_tflops = 16.3, .fp16_tensor_tflops = 130},
};

static point points[256];
static int	n_points;

static void
read_points(const csv *c, const pm_skeleton nets[2], pm_arena *a)
{
	for (int i = 0; i < c->n; i++)
		for (int card = 0; card < 3; card++)
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

/* Least squares of draw on min(1, share / full), without a card (-1: all); returns the error. */
static double
fit_line(double full, int without, double *idle, double *slope)
{
	double		n = 0,
				x1 = 0,
				x2 = 0,
				y1 = 0,
				xy = 0,
				e = 0;

	for (int i = 0; i < n_points; i++)
	{
		double		x = fmin(1, points[i].share / full);

		if (points[i].card == without)
			continue;
		n++;
		x1 += x;
		x2 += x * x;
		y1 += points[i].draw;
		xy += x * points[i].draw;
	}
	*slope = (n * xy - x1 * y1) / (n * x2 - x1 * x1);
	*idle = (y1 - *slope * x1) / n;
	for (int i = 0; i < n_points; i++)
		if (points[i].card != without)
			e += pow(*idle + *slope * fmin(1, points[i].share / full) - points[i].draw, 2);
	return e;
}

static double
fit(int without, double *idle, double *slope, double *full)
{
	double		best = INFINITY;

	for (double f = 0.05; f <= 1; f += 0.01)
	{
		double		i,
					s;
		double		e = fit_line(f, without, &i, &s);

		if (e < best)
		{
			best = e;
			*idle = i;
			*slope = s;
			*full = f;
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
	double		idle,
				slope,
				full;

	if (argc != 3)
		csv_die("GRAPHS.ndjson ZEUS.csv", argv[0]);
	pm_arena_init_malloc(&a);
	read_graph(argv[1], "resnet50@224", &a, &nets[0]);
	read_graph(argv[1], "shufflenet_v2_x1_0@96", &a, &nets[1]);
	c = csv_read(argv[2]);
	read_points(&c, nets, &a);
	fit(-1, &idle, &slope, &full);
	printf("all cards: n %d, draw/limit = %.2f + %.2f * min(1, share/%.2f)\n", n_points, idle, slope, full);
	for (int card = 0; card < 3; card++)
	{
		double		e = 0,
					limit = 0;
		int			n = 0;

		fit(card, &idle, &slope, &full);
		for (int i = 0; i < n_points; i++)
			if (points[i].card == card)
			{
				e += fabs((idle + slope * fmin(1, points[i].share / full)) / points[i].draw - 1);
				limit += fabs(1 / points[i].draw - 1);
				n++;
			}
		printf("%s left out: n %d, error %.1f %%; from the limit alone %.1f %%\n", cards[card].name, n, 100 * e / n, 100 * limit / n);
	}
	return 0;
}
