/*
 * steps.c - steps on more GPUs than were fitted, and of networks that were not.
 *
 *     steps GRAPHS.ndjson SCALING.csv [ROWS]
 *
 * With ROWS, at most so many measurements of a network are fitted to, evenly taken.
 *
 * Rows of six networks on six clusters (Sia's profiles).  The step on one GPU is
 * the measured one of the same network, cluster and batch, so that the error is
 * of scaling alone.  When gradients are ready is that of a graph that ships,
 * of the network or of its kind, with as many parameters as the network has.
 *
 *  own: fitted to the rows of a network on up to 4 GPUs, tested on its rows above
 *  together: fitted to the rows of all networks on up to 4 GPUs, tested above
 *  other: fitted to all rows of the other networks, tested on the rows of this
 *         one over several machines
 *  prior: nothing fitted
 *
 * Behind each error stands how many rows are in the interval of 90 % that scaling
 * has by itself, mean over networks, and the median over networks of its width:
 * (high - low) / predicted, mean over the rows.
 */
#include "csv.h"
#include "graphs.h"
#include "links.h"
#include "scaling/fit.h"

#define MAX_ROWS 15000

static struct
{
	const char *model;
	const char *graph;			/* YOLOv3 is a Darknet-53 with heads */
	double		params;
	bool		amp;
	pm_skeleton skeleton;
}			nets[] = {
	{"bert", "bert_base@s128", 110e6, false}, {"cifar10", "resnet18@96", 11.2e6, false}, {"imagenet", "resnet50@224", 25.6e6, true},
	{"deepspeech2", "deepspeech@s192", 41e6, false}, {"yolov3", "darknet53@160", 61.9e6, true}, {"ncf", "ncf", 1.6e6, false}
};
#define N_NETS ((int) (sizeof(nets) / sizeof(nets[0])))

static const pm_link_row pcie3_row[] = {{0, 12, NAN, 0}};
static const pm_link_row ethernet_50[] = {{0, 0.85 * 6.25, NAN, 0}};
static const pm_link_row ethernet_25[] = {{0, 0.85 * 3.125, NAN, 0}};
static const pm_link_row infiniband_100[] = {{0, 0.85 * 12.5, NAN, 0}};
static const pm_link_row infiniband_200[] = {{0, 0.85 * 25, NAN, 0}};

#define ETHERNET(rows) {"net", PM_LINK_ETHERNET, 1, rows}
#define INFINIBAND(rows) {"net", PM_LINK_INFINIBAND, 1, rows}
#define PCIE {"pcie3", PM_LINK_PCIE, 1, pcie3_row}

static pm_fabric clusters[] = {
	{"aws", PCIE, ETHERNET(ethernet_50), 4, 1, 0, PM_NOT_FITTED},
	{"azure", {"nvlink", PM_LINK_NVLINK, 7, v100_rows}, INFINIBAND(infiniband_100), 8, 1, 0, PM_NOT_FITTED},
	{"dgx", {"nvswitch", PM_LINK_NVSWITCH, 7, a100_rows}, INFINIBAND(infiniband_200), 8, 8, 0, PM_NOT_FITTED},
	{"dgx-ext", {"nvswitch", PM_LINK_NVSWITCH, 7, a100_rows}, INFINIBAND(infiniband_200), 8, 8, 0, PM_NOT_FITTED},
	{"rtx", PCIE, ETHERNET(ethernet_25), 8, 1, 0, PM_NOT_FITTED},
	{"quad", PCIE, ETHERNET(ethernet_25), 4, 1, 0, PM_NOT_FITTED},
};
#define N_CLUSTERS ((int) (sizeof(clusters) / sizeof(clusters[0])))

#define CARD(bw, fp32, matrix) {.name = "card", ROOFLINE_ONLY, .mem_bw_gbs = bw, .fp32_tflops = fp32, .fp16_tensor_tflops = matrix}
static const pm_gpu cards[] = {
	CARD(320, 8.1, 65), CARD(900, 15.7, 125), CARD(1555, 19.5, 312), CARD(1555, 19.5, 312), CARD(616, 13.4, 107), CARD(672, 16.3, 130)
};

typedef struct row
{
	int			cluster;
	int			net;
	int			batch;
	int			gpus;
	int			nodes;
	double		step_ms;
	pm_step_shape *shape;
} row;

static row	rows[MAX_ROWS];
static int	n_rows;

static pm_step_shape *
make_shape(const row *r, double step_ms, pm_arena *a)
{
	pm_step_shape *s = calloc(1, sizeof(*s));
	const pm_skeleton *k = &nets[r->net].skeleton;
	double		scale = nets[r->net].params / k->graph->params;
	bool		a100 = strncmp(clusters[r->cluster].name, "dgx", 3) == 0;
	pm_question q = {
		.graph = k->graph,.gpu = &cards[r->cluster],.batch = r->batch,.dtype = nets[r->net].amp ? PM_AMP : a100 ? PM_TF32 : PM_FP32,
		.optimizer = PM_SGD_MOMENTUM
	};
	pm_arena	part;
	pm_tokens	t;
	pm_buckets	b;
	pm_status	st;

	pm_arena_init_within(&part, a);
	if (pm_tokens_build_work(k, &q, &part, &t, &st) != PM_OK || pm_buckets_build(k, q.dtype, 25 / scale, &part, &b, &st) != PM_OK)
		csv_die(st.message, nets[r->net].graph);
	pm_step_shape_of(&b, &t, r->batch, step_ms, s);
	for (int i = 0; i < s->n; i++)
		s->bytes[i] *= scale;
	s->message_bytes *= scale;
	s->gradient_bytes *= scale;
	pm_arena_release(&part);
	return s;
}

static void
read_all_rows(const csv *c)
{
	for (int i = 0; i < c->n; i++)
	{
		row			r = {-1, -1, (int) csv_number(c, i, "local_batch"), (int) csv_number(c, i, "world_size"), (int) csv_number(c, i, "nodes"), csv_number(c, i, "step_ms")};

		for (int k = 0; k < N_CLUSTERS; k++)
			if (strcmp(csv_text(c, i, "cluster"), clusters[k].name) == 0)
				r.cluster = k;
		for (int k = 0; k < N_NETS; k++)
			if (strcmp(csv_text(c, i, "model"), nets[k].model) == 0)
				r.net = k;
		if (r.cluster >= 0 && r.net >= 0 && r.batch > 0 && n_rows < MAX_ROWS)
			rows[n_rows++] = r;
	}
}

static bool
alike(const row *a, const row *b)
{
	return a->net == b->net && a->cluster == b->cluster && a->batch == b->batch;
}

/* The step on one GPU of each row, the mean of its measurements, in one shape for all rows alike; none: the row is not used. */
static void
find_single_steps(pm_arena *a)
{
	for (int i = 0; i < n_rows; i++)
	{
		pm_step_shape *shape;
		double		sum = 0;
		int			n = 0;
		bool		first = true;

		for (int k = 0; k < i && first; k++)
			first = !alike(&rows[k], &rows[i]);
		for (int k = i; k < n_rows && first; k++)
			if (rows[k].gpus == 1 && alike(&rows[k], &rows[i]))
			{
				sum += rows[k].step_ms;
				n++;
			}
		if (n == 0)
			continue;
		shape = make_shape(&rows[i], sum / n, a);
		for (int k = i; k < n_rows; k++)
			if (rows[k].gpus > 1 && alike(&rows[k], &rows[i]))
				rows[k].shape = shape;
	}
}

/* Rows of a cluster: of the network or of all others, min..max GPUs, over several nodes only. */
static int
select_rows(int cluster, int net, bool others, int min, int max, bool several_nodes, pm_scaled_row *to)
{
	int			n = 0;

	for (int i = 0; i < n_rows; i++)
	{
		const row  *r = &rows[i];

		if (r->cluster == cluster && (r->net == net) != others && r->shape != NULL && r->gpus >= min && r->gpus <= max && (!several_nodes || r->nodes > 1))
			to[n++] = (pm_scaled_row) {
				r->shape, {.world_size = r->gpus,.nodes = r->nodes,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, r->step_ms, r->net
			};
	}
	return n;
}

static int	most_rows = MAX_ROWS;

/* At most most_rows rows of each network; returns how many are left. */
static int
thin(pm_scaled_row *r, int n)
{
	int			of[N_NETS] = {0};
	int			seen[N_NETS] = {0};
	int			left = 0;

	for (int i = 0; i < n; i++)
		of[r[i].network]++;
	for (int i = 0; i < n; i++)
	{
		int			k = r[i].network;
		int			at = seen[k]++;

		if (of[k] <= most_rows || (int64_t) at * most_rows / of[k] != (int64_t) (at + 1) * most_rows / of[k])
			r[left++] = r[i];
	}
	return left;
}

typedef struct score
{
	double		sum;
	double		inside;
	double		width[N_NETS];
	int			networks;
	int			n;
} score;

#define DEVIATIONS 1.645		/* of 90 % */

static void
add(score *s, const pm_fabric *f, const pm_scaled_row *test, int n)
{
	double		inside = 0;
	double		width = 0;

	if (n == 0)
		return;
	for (int i = 0; i < n; i++)
	{
		pm_step_ends e = pm_scaled_ends(test[i].shape, test[i].shape, test[i].shape, &test[i].parallel, f, DEVIATIONS);
		pm_scaled	mid;

		pm_scaled_step(test[i].shape, &test[i].parallel, f, 1, &mid);
		inside += e.low_ms <= test[i].step_ms && test[i].step_ms <= e.high_ms;
		width += (e.high_ms - e.low_ms) / mid.step_ms;
	}
	s->sum += pm_fabric_error(f, test, n);
	s->inside += inside / n;
	s->width[s->networks++] = width / n;
	s->n += n;
}

/* The error of one network, and whether it is predicted too fast (-) or too slow (+). */
static void
show_network(const char *cluster, const char *model, const pm_fabric *f, const pm_scaled_row *test, int n)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
	{
		pm_scaled	s;

		pm_scaled_step(test[i].shape, &test[i].parallel, f, 1, &s);
		sum += s.step_ms / test[i].step_ms - 1;
	}
	printf("  %s, %s left out: %.1f %%, in the mean %+.1f %% (n %d)\n", cluster, model, 100 * pm_fabric_error(f, test, n), 100 * sum / n, n);
}

static int
by_width(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

static void
print_score(const char *what, score *s)
{
	int			k = s->networks;

	if (k == 0)
		return;
	qsort(s->width, k, sizeof(double), by_width);
	printf("  %-26s %5.1f %%, in the interval %3.0f %%, width %3.0f %% (n %d)\n", what, 100 * s->sum / k, 100 * s->inside / k,
		   100 * (s->width[(k - 1) / 2] + s->width[k / 2]) / 2, s->n);
}

/* f fitted to n rows, and own what each network has of its own; refused: f stays as it was. */
static void
fit(pm_fabric *f, pm_scaled_row *train, int n, double *own, pm_arena *a)
{
	double		before,
				after;
	pm_status	st;

	if (pm_fabric_fit(f, train, thin(train, n), own, a, &before, &after, &st) != PM_OK)
		printf("%s: %s\n", f->name, st.message);
}

static pm_scaled_row train[MAX_ROWS];
static pm_scaled_row test[MAX_ROWS];

/* Fitted to a network on up to 4 GPUs, tested above. */
static void
score_own(int cluster, int net, score *prior, score *fitted, pm_arena *a)
{
	pm_fabric	f = clusters[cluster];
	int			n = select_rows(cluster, net, false, 5, 1000, false, test);
	int			n_train = select_rows(cluster, net, false, 2, 4, false, train);

	if (n == 0 || n_train == 0)
		return;
	add(prior, &f, test, n);
	fit(&f, train, n_train, NULL, a);
	f.measured = true;
	add(fitted, &f, test, n);
}

/* Fitted to all other networks, tested over several machines. */
static void
score_other(int cluster, int net, score *prior, score *fitted, pm_arena *a)
{
	pm_fabric	f = clusters[cluster];
	double		own[N_NETS] = {0};
	int			n = select_rows(cluster, net, false, 2, 1000, true, test);
	int			n_train = select_rows(cluster, net, true, 2, 1000, false, train);

	if (n == 0 || n_train == 0)
		return;
	add(prior, &f, test, n);
	fit(&f, train, n_train, own, a);
	add(fitted, &f, test, n);
	show_network(clusters[cluster].name, nets[net].model, &f, test, n);
}

/* Fitted to all networks on up to 4 GPUs at once, each tested above: with what each has of its own, and without. */
static void
score_together(int cluster, score *with, score *without, pm_arena *a)
{
	pm_fabric	same = clusters[cluster];
	pm_fabric	f = clusters[cluster];
	double		own[N_NETS] = {0};
	int			n_train = select_rows(cluster, -1, true, 2, 4, false, train);

	if (n_train == 0)
		return;
	fit(&same, train, n_train, NULL, a);
	fit(&f, train, n_train, own, a);
	same.measured = f.measured = true;
	for (int net = 0; net < N_NETS; net++)
	{
		int			n = select_rows(cluster, net, false, 5, 1000, false, test);

		add(without, &same, test, n);
		f.own_contention = own[net];
		add(with, &f, test, n);
		printf("  %s, %s: contention of its own %.3f\n", f.name, nets[net].model, own[net]);
	}
}

int
main(int argc, char **argv)
{
	csv			c;
	pm_arena	a;

	if (argc != 3 && argc != 4)
		csv_die("GRAPHS.ndjson SCALING.csv [ROWS]", argv[0]);
	if (argc == 4)
		most_rows = atoi(argv[3]);
	pm_arena_init_malloc(&a);
	for (int k = 0; k < N_NETS; k++)
		read_graph(argv[1], nets[k].graph, &a, &nets[k].skeleton);
	c = csv_read(argv[2]);
	read_all_rows(&c);
	find_single_steps(&a);
	for (int k = 0; k < N_CLUSTERS; k++)
		pm_fabric_forget(&clusters[k]);
	for (int k = 0; k < N_CLUSTERS; k++)
	{
		score		own = {0},
					own_prior = {0},
					with = {0},
					without = {0},
					other = {0},
					other_prior = {0};

		for (int net = 0; net < N_NETS; net++)
		{
			score_own(k, net, &own_prior, &own, &a);
			score_other(k, net, &other_prior, &other, &a);
		}
		score_together(k, &with, &without, &a);
		printf("%s, mean over networks:\n", clusters[k].name);
		print_score("nothing fitted, above 4", &own_prior);
		print_score("own, up to 4 -> above", &own);
		print_score("together, up to 4 -> above", &with);
		print_score("the same, none of its own", &without);
		print_score("nothing fitted, machines", &other_prior);
		print_score("others -> machines", &other);
		fflush(stdout);
	}
	return 0;
}
