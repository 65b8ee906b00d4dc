/*
 * mdot_epochs.c - how fast the core trains MDOT: seconds an epoch, and what
 * share of the processor's matrix rate that is.
 *
 *     mdot_epochs GRAPHS.ndjson PROFILES.csv [option=value ...]
 *
 * Options are those of the kind mdot, and:
 *   layout, framework   rows to keep
 *   gpu_csv=FILE, threads=N, verbose=1
 *   export=FILE   write the encoded rows for twin.py, and train nothing
 *   shapes=1      list the products that the time goes to
 *
 * All rows train and none validate.  Prints "name value" lines for train.sh.
 * Linked with -Wl,--wrap=pm_gemm: one epoch is run with every product noted
 * down, which gives the operations of an epoch exactly and allows the products
 * to be repeated alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kinds/mdot/mdot.h"
#include "accuracy/rows.h"

static pm_arena arena;
static rows all;
static filter keep;
static const char *gpu_csv = "data/gpu.csv";
static int	threads = 1;
static bool verbose;
static const char *export_path;
static bool show_shapes;
static int	head_width;

/* ---- products ---- */

typedef struct product
{
	bool		ta, tb;
	int			m, n, k;
	int			lda, ldb, ldc;
	pm_real		alpha, beta;
} product;

static product *products;
static size_t n_products, cap_products;
static bool noting;

void		__real_pm_gemm(bool ta, bool tb, int m, int n, int k, pm_real alpha, const pm_real *a, int lda,
						   const pm_real *b, int ldb, pm_real beta, pm_real *c, int ldc);
void		__wrap_pm_gemm(bool ta, bool tb, int m, int n, int k, pm_real alpha, const pm_real *a, int lda,
						   const pm_real *b, int ldb, pm_real beta, pm_real *c, int ldc);

void
__wrap_pm_gemm(bool ta, bool tb, int m, int n, int k, pm_real alpha, const pm_real *a, int lda,
			   const pm_real *b, int ldb, pm_real beta, pm_real *c, int ldc)
{
	/* only with one thread */
	if (noting)
	{
		if (n_products == cap_products)
			products = realloc(products, (cap_products = 2 * cap_products + 4096) * sizeof(product));
		products[n_products++] = (product) {ta, tb, m, n, k, lda, ldb, ldc, alpha, beta};
	}
	__real_pm_gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* Seconds of this processor: other programs that share it do not count. */
static double
cpu_now(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static double
operations(const product *p)
{
	return 2.0 * p->m * p->n * p->k;
}

/* Room for any operand of any product. */
static size_t
largest_operand(void)
{
	size_t		top = 512 * 512;

	for (size_t i = 0; i < n_products; i++)
	{
		const product *p = &products[i];
		size_t		a = (size_t) (p->ta ? p->k : p->m) * p->lda;
		size_t		b = (size_t) (p->tb ? p->n : p->k) * p->ldb;
		size_t		c = (size_t) p->m * p->ldc;

		top = a > top ? a : top;
		top = b > top ? b : top;
		top = c > top ? c : top;
	}
	return top;
}

static void
repeat(const product *p, pm_real *const operand[3])
{
	__real_pm_gemm(p->ta, p->tb, p->m, p->n, p->k, p->alpha, operand[0], p->lda, operand[1], p->ldb, p->beta,
				   operand[2], p->ldc);
}

/* Seconds of the best of three rounds over the products. */
static double
time_products(const product *list, size_t n, pm_real *const operand[3])
{
	double		best = INFINITY;

	for (int round = 0; round < 3; round++)
	{
		double		started = cpu_now(CLOCK_THREAD_CPUTIME_ID);

		for (size_t i = 0; i < n; i++)
			repeat(&list[i], operand);
		best = fmin(best, cpu_now(CLOCK_THREAD_CPUTIME_ID) - started);
	}
	return best;
}

/*
 * What makes two products one shape: all but the number of rows, and inside
 * attention, which is told by the width of a head, all but the two widths.
 */
static void
shape_of(const product *p, int key[4])
{
	bool		attention = p->n == head_width || p->k == head_width;

	key[0] = attention;
	key[1] = p->ta * 2 + p->tb;
	key[2] = attention ? p->n == head_width : (p->ta ? p->m : p->k);
	key[3] = attention ? 0 : p->n;
}

static int
by_shape(const void *x, const void *y)
{
	int			a[4];
	int			b[4];

	shape_of(x, a);
	shape_of(y, b);
	return memcmp(a, b, sizeof(a));
}

static void
list_shapes(pm_real *const operand[3])
{
	qsort(products, n_products, sizeof(product), by_shape);
	for (size_t from = 0, to; from < n_products; from = to)
	{
		double		flop = 0;
		double		rows = 0;
		double		s;

		for (to = from; to < n_products && by_shape(&products[from], &products[to]) == 0; to++)
		{
			flop += operations(&products[to]);
			rows += products[to].ta ? products[to].k : products[to].m;
		}
		s = time_products(products + from, to - from, operand);
		fprintf(stderr, "%-9s %c%c  rows %4.0f  e.g. %4d x %4d x %4d  %6zu calls %7.3f GFLOP %7.4f s %6.1f GFLOP/s\n",
				products[from].n == head_width || products[from].k == head_width ? "attention" : "linear",
				"NT"[products[from].ta], "NT"[products[from].tb], rows / (double) (to - from), products[from].m,
				products[from].n, products[from].k, to - from, flop / 1e9, s, flop / s / 1e9);
	}
}

/* ---- rows ---- */

typedef struct model
{
	pm_mdot_net net;
	pm_codec	codec;
	pm_input   *inputs;
	double	   *step_ms,
			   *weight;
	int		   *rows;
	int		   *tokens;
	pm_real    *w;
	uint8_t    *decay;
	size_t		workspace_bytes;
} model;

/*
 * Features are of the reference batch where the network does not see the batch, times at peak of the row's own: as fit.c.  All
 * rows are shown in the format of the first, which a file of one format does not notice.
 */
static void
encode_rows(model *m, const pm_options *o)
{
	int			n = all.set.n;
	const pm_mdot plain = {.format = all.set.samples[0].query.dtype};
	pm_dataset	at_features = {.n = n, .samples = PM_NEW(&arena, pm_sample, n)};
	pm_tokens  *tokens;
	pm_tokens	work;
	pm_status	st;

	for (int i = 0; i < n; i++)
	{
		at_features.samples[i] = all.set.samples[i];
		at_features.samples[i].query = pm_mdot_feature_question(&plain, o, &all.set.samples[i].query);
	}
	if (pm_tokens_of(&at_features, &arena, &tokens, &st) != PM_OK ||
		pm_codec_fit(&m->codec, &pm_schema_here, &at_features, tokens, &arena, &st) != PM_OK)
		die("tokens", &st);
	for (int i = 0; i < n; i++)
	{
		const pm_sample *s = &all.set.samples[i];

		if (pm_codec_encode(&m->codec, &tokens[i], &at_features.samples[i].query, &arena, &m->inputs[i], &st) != PM_OK ||
			pm_tokens_build(s->skeleton, &s->query, &arena, &work, &st) != PM_OK)
			die(s->query.graph->name, &st);
		pm_input_rework(&m->inputs[i], &work);
		m->step_ms[i] = s->step_ms;
		m->weight[i] = 1;
		m->rows[i] = i;
	}
}

static void
prepare_model(model *m, const pm_options *o)
{
	int			per_shard = pm_shard_samples((int) o->value[OPT_TRAINING + PM_TRAIN_BATCH_SIZE]);
	int			longest = 0;
	pm_pass_size size = {0};
	pm_status	st;
	pm_mdot_config c;
	pm_rng		rng;

	m->inputs = PM_NEW(&arena, pm_input, all.set.n);
	m->step_ms = PM_NEW(&arena, double, all.set.n);
	m->weight = PM_NEW(&arena, double, all.set.n);
	m->rows = PM_NEW(&arena, int, all.set.n);
	m->tokens = PM_NEW(&arena, int, all.set.n);
	encode_rows(m, o);
	for (int i = 0; i < all.set.n; i++)
	{
		m->tokens[i] = m->inputs[i].n;
		longest = m->tokens[i] > longest ? m->tokens[i] : longest;
	}
	for (int i = 0; i < per_shard; i++)
		pm_pass_add(&size, longest, 0);
	c = pm_mdot_configure(o, m->codec.n_types, m->codec.n_frameworks, m->codec.n_gpus);
	if (pm_mdot_net_init(&m->net, &c, &arena, &st) != PM_OK)
		die("network", &st);
	m->w = PM_NEW(&arena, pm_real, m->net.tensors.n_params);
	m->decay = PM_NEW(&arena, uint8_t, m->net.tensors.n_params);
	pm_tensors_decay(&m->net.tensors, m->decay);
	pm_rng_seed(&rng, 1);
	pm_tensors_start(&m->net.tensors, m->w, &rng);
	m->workspace_bytes = pm_mdot_workspace(&m->net, &size);
}

/* ---- export ---- */

/* A line of JSON with sizes and options, then fields one after the other, each for all rows: bench/twin.py. */
static void
export_rows(const model *m, const pm_kind *kind, const pm_options *o)
{
	FILE	   *f = fopen(export_path, "wb");
	const pm_mdot_config *c = &m->net.c;
	static const int32_t no_edges[PM_MAX_TOKENS + 1];
	bool		on_cpus = m->inputs[0].on_cpu;	/* a file has rows of one sort of device */

	if (!f)
		die(export_path, NULL);
	fprintf(f, "{\"rows\": %d, \"config\": {", all.set.n);
#define SIZE(name, value) fprintf(f, "\"%s\": %d, ", name, value)
	SIZE("n_slots", PM_N_SLOTS);
	SIZE("n_loads", PM_N_LOADS);
	SIZE("n_job", PM_N_JOB);
	SIZE("position_dim", PM_POSITION_DIM);
	SIZE("n_relations", PM_N_RELATIONS);
	SIZE("n_classes", PM_N_CLASSES);
	SIZE("n_dtypes", PM_N_DTYPES);
	SIZE("n_types", c->n_types);
	SIZE("n_frameworks", c->n_frameworks);
	SIZE("n_gpus", c->n_gpus);
	SIZE("d", c->d);
	SIZE("heads", c->heads);
	SIZE("layers", c->layers);
	SIZE("d_op", c->d_op);
	SIZE("op_heads", c->op_heads);
	SIZE("op_layers", c->op_layers);
	SIZE("hidden", c->hidden);
#undef SIZE
	fprintf(f, "\"estimates\": %d, \"residual\": %s, \"dropout\": %g, \"drop_path\": %g, \"head_dropout\": %g, \"unknown\": %g}",
			on_cpus ? 1 : c->estimates, c->residual ? "true" : "false", c->dropout, c->drop_path, c->head_dropout, c->unknown);
	for (int i = 0; i < kind->n_options; i++)
	{
		char		text[64];

		pm_option_print(&kind->options[i], o->value[i], text, sizeof(text));
		fprintf(f, ", \"%s\": \"%s\"", kind->options[i].name, text);
	}
	fprintf(f, "}\n");
#define EACH(type, count, expression) \
	for (int i = 0; i < all.set.n; i++) { \
		const pm_input *in = &m->inputs[i]; \
		const type *v = (expression); \
		(void) in; \
		if (fwrite(v, sizeof(type), (count), f) != (size_t) (count)) die(export_path, NULL); \
	}
	EACH(int, 1, &in->n);
	EACH(int, 1, &in->dtype);
	EACH(int, 1, &in->layout);
	EACH(int, 1, &in->framework);
	EACH(int, 1, &in->gpu);
	EACH(double, 1, &m->step_ms[i]);
	EACH(int32_t, in->n, in->type);
	EACH(int32_t, in->n, in->op_class);
	EACH(double, in->n, in->copies);
	EACH(double, in->n, in->compute_us);
	EACH(double, in->n, in->memory_us);
	EACH(double, in->n, in->compute_ref_us);
	EACH(double, in->n, in->memory_ref_us);
	EACH(double, in->n, in->to_peak);
	EACH(double, in->n, in->floor_us);
	EACH(double, in->n, in->kernels);
	EACH(pm_real, PM_N_JOB, in->job);
	EACH(pm_real, (size_t) in->n * 2 * PM_N_SLOTS, in->config);
	EACH(pm_real, (size_t) in->n * PM_N_LOADS, in->load);
	EACH(pm_real, (size_t) in->n * PM_POSITION_DIM, in->skeleton->position);
	EACH(uint8_t, (size_t) (in->n + 1) * (in->n + 1), in->skeleton->relation);
	for (int way = 0; way < PM_N_EDGE_WAYS; way++)
	{
		EACH(int32_t, in->n + 1, on_cpus ? no_edges : in->skeleton->edges[way].at);
		EACH(int32_t, on_cpus ? 0 : in->skeleton->edges[way].at[in->n], in->skeleton->edges[way].to);
		EACH(pm_real, on_cpus ? 0 : in->skeleton->edges[way].at[in->n], in->skeleton->edges[way].weight);
	}
#undef EACH
	if (fclose(f) != 0)
		die(export_path, NULL);
}

/* ---- epochs ---- */

typedef struct clock_of_epochs
{
	double		last;
	double		cpu_started;	/* processor time of all threads */
	double		cpu;			/* of all epochs */
	double		seconds[1024];
	int			n;
} clock_of_epochs;

static void
note_epoch(void *ctx, const pm_progress *p)
{
	clock_of_epochs *c = ctx;
	double		now = pm_now();

	if (c->n < 1024)
		c->seconds[c->n++] = now - c->last;
	c->last = now;
	c->cpu = cpu_now(CLOCK_PROCESS_CPUTIME_ID) - c->cpu_started;
	/* the pass over the training rows after the last epoch is no part of an epoch */
	noting = false;
	if (verbose)
		fprintf(stderr, "  epoch %d loss %.5f  %.3f s\n", p->epoch, p->loss, c->seconds[c->n - 1]);
}

static void
train_epochs(model *m, const pm_options *o, int epochs, int n_threads, clock_of_epochs *c)
{
	const double *v = o->value;
	pm_mdot_data data = {.net = &m->net, .inputs = m->inputs, .step_ms = m->step_ms, .weight = m->weight};
	pm_train_options t = {
		.epochs = epochs, .batch = (int) v[OPT_TRAINING + PM_TRAIN_BATCH_SIZE], .rate = v[OPT_TRAINING + PM_TRAIN_LEARNING_RATE], .rate_end = v[OPT_TRAINING + PM_TRAIN_FINAL_RATE],
		.warmup = v[OPT_TRAINING + PM_TRAIN_WARMUP], .weight_decay = v[OPT_TRAINING + PM_TRAIN_WEIGHT_DECAY], .clip = v[OPT_TRAINING + PM_TRAIN_CLIP], .ema = v[OPT_TRAINING + PM_TRAIN_EMA],
		.keep_last = true, .threads = n_threads, .seed = 1
	};
	pm_objective		net = {.n_params = m->net.tensors.n_params, .max_samples = pm_shard_samples(t.batch), .pass = pm_mdot_pass,
		.decay = m->decay, .tokens = m->tokens, .ctx = &data, .workspace_bytes = m->workspace_bytes};
	pm_hooks	hooks = {.progress = note_epoch, .ctx = c};
	pm_fit_report report = {0};
	pm_arena	a;
	pm_status	st;

	pm_arena_init_malloc(&a);
	c->n = 0;
	c->last = pm_now();
	c->cpu_started = cpu_now(CLOCK_PROCESS_CPUTIME_ID);
	if (pm_train(&net, m->w, m->step_ms, m->rows, all.set.n, NULL, 0, &t, &hooks, &a, &report, &st) != PM_OK)
		die("train", &st);
	pm_arena_release(&a);
}

static int
ascending(const void *x, const void *y)
{
	double		a = *(const double *) x;
	double		b = *(const double *) y;

	return (a > b) - (a < b);
}

/* Rate of a product of two 512 x 512 matrices, the best of several. */
static double
peak_rate(pm_real *const operand[3])
{
	product		p = {.m = 512, .n = 512, .k = 512, .lda = 512, .ldb = 512, .ldc = 512, .alpha = 1};
	double		best = INFINITY;

	for (int i = 0; i < 60; i++)
	{
		double		started = cpu_now(CLOCK_THREAD_CPUTIME_ID);

		repeat(&p, operand);
		best = fmin(best, cpu_now(CLOCK_THREAD_CPUTIME_ID) - started);
	}
	return operations(&p) / best;
}

#ifndef PM_EPOCHS_AS_PART		/* predict.c includes this file and has a report and a main of its own */
static void
report(model *m, const pm_options *o)
{
	int			epochs = (int) o->value[OPT_TRAINING + PM_TRAIN_EPOCHS];
	static clock_of_epochs c;
	pm_blas_info blas;
	pm_real    *operand[3];
	double		flop = 0;
	double		median;
	double		tokens = 0;
	double		alone;

	head_width = m->net.c.d / m->net.c.heads;
	noting = true;
	train_epochs(m, o, 1, 1, &c);
	for (int i = 0; i < 3; i++)
		operand[i] = pm_alloc(&arena, largest_operand(), sizeof(pm_real));
	for (size_t i = 0; i < n_products; i++)
		flop += operations(&products[i]);
	for (int i = 0; i < all.set.n; i++)
		tokens += m->inputs[i].n;
	train_epochs(m, o, epochs, threads, &c);
	qsort(c.seconds, c.n, sizeof(double), ascending);
	median = c.seconds[c.n / 2];
	alone = time_products(products, n_products, operand);
	pm_blas_describe(&blas);
	printf("kernel %s\nthreads %d\nrows %d\ntokens %.0f\nparams %zu\n", blas.kernel, threads, all.set.n, tokens,
		   m->net.tensors.n_params);
	printf("epoch_s %.4f\nepoch_best_s %.4f\nepoch_cpu_s %.4f\nsamples_per_s %.1f\n", median, c.seconds[0], c.cpu / c.n,
		   all.set.n / median);
	printf("gflop_per_epoch %.3f\ngflops %.2f\n", flop / 1e9, flop / median / 1e9);
	printf("peak_gflops %.2f\nown_shapes_gflops %.2f\nproducts_s %.4f\n", peak_rate(operand) / 1e9,
		   flop / alone / 1e9, alone);
	if (show_shapes)
		list_shapes(operand);
}

#endif

/* Whether arg is NAME=value of this program; else it is an option of the kind. */
static bool
own_option(const char *arg)
{
	const char *eq = strchr(arg, '=');
	size_t		n = eq ? (size_t) (eq - arg) : 0;
	const char *value = eq ? eq + 1 : "";

#define IS(name) (n == strlen(name) && strncmp(arg, name, n) == 0)
	if (IS("layout")) keep.layout = value;
	else if (IS("framework")) keep.framework = value;
	else if (IS("gpu_csv")) gpu_csv = value;
	else if (IS("threads")) threads = atoi(value);
	else if (IS("verbose")) verbose = atoi(value) != 0;
	else if (IS("export")) export_path = value;
	else if (IS("shapes")) show_shapes = atoi(value) != 0;
	else
		return false;
#undef IS
	return true;
}

static void
parse(const pm_kind *kind, int argc, char **argv, pm_options *o)
{
	pm_setting	settings[PM_MAX_OPTIONS];
	int			n = 0;
	pm_status	st;

	if (argc < 3)
		die("usage: mdot_epochs GRAPHS.ndjson PROFILES.csv [option=value ...]", NULL);
	for (int i = 3; i < argc; i++)
	{
		const char *eq = strchr(argv[i], '=');

		if (own_option(argv[i]))
			continue;
		if (!eq || n == PM_MAX_OPTIONS)
			die(argv[i], &(pm_status) {.message = "is not option=value, or one too many"});
		read_setting(argv[i], eq - argv[i], eq + 1, &arena, &settings[n++]);
	}
	if (pm_options_set(kind, settings, n, o, &st) != PM_OK)
		die("options", &st);
}

#ifndef PM_EPOCHS_AS_PART
int
main(int argc, char **argv)
{
	const pm_kind *kind = pm_kind_find("mdot");
	pm_options	o;
	model		m = {0};

	pm_arena_init_malloc(&arena);
	pm_blas_init();
	parse(kind, argc, argv, &o);
	read_gpus(gpu_csv, &arena);
	read_rows(argv[1], argv[2], &keep, NULL, pm_predictor_merges(kind, &o), &arena, &all);
	prepare_model(&m, &o);
	if (export_path)
		export_rows(&m, kind, &o);
	else
		report(&m, &o);
	return 0;
}
#endif
