/*
 * core_train.c - train a predictor without a server, on files: for benchmarks
 * of the core and for looking into its accuracy.
 *
 *   core_train GRAPHS.ndjson PROFILES.csv [option=value ...]
 *
 * PROFILES.csv has a header; the columns graph, gpu, batch, dtype (or
 * precision), layout, framework and step_ms are read.  Options: kind, folds
 * (0: train on everything), fold (-1: all), split, threads, seed, layout,
 * framework (rows to keep), gpu_csv (data sheets), out (predictions as CSV),
 * trust (a level, such as 0.9: coverage and mean width of intervals, and errors
 * in and out of the domain; with why=1 also the reasons), and any option of the
 * kind.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../src/core/blas.h"
#include "../src/core/metrics.h"

#define MAX_ROWS	20000
#define MAX_GRAPHS	4000
#define MAX_FIELDS	64

static pm_arena arena;
static pm_graph *graphs[MAX_GRAPHS];
static pm_skeleton *skeletons[MAX_GRAPHS];
static int	n_graphs;
static pm_gpu gpus[256];
static int	n_gpus;
static pm_sample samples[MAX_ROWS];
static int	n_samples;

static pm_setting settings[64];
static int	n_settings;
static const char *kind_name = "mdot";
static const char *keep_layout;
static const char *keep_framework;
static const char *gpu_csv = "data/gpu.csv";
static const char *split_name = "structure";
static const char *out_path;
static int	folds = 5;
static int	only_fold = -1;
static int	threads = 1;
static int	verbose = 0;
static double trust_level;		/* 0: not asked for */
static int	why = 0;

/* Of each row. */
static double low_ms[MAX_ROWS];
static double high_ms[MAX_ROWS];
static signed char domain[MAX_ROWS];

static void
die(const char *what, const pm_status *st)
{
	fprintf(stderr, "%s: %s %s %s\n", what, st ? st->message : "", st ? st->detail : "", st ? st->hint : "");
	exit(1);
}

/* Split a CSV line in place; quotes are honoured. */
static int
fields(char *line, char **f)
{
	int			n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	while (n < MAX_FIELDS)
	{
		bool		quoted = *line == '"';
		char	   *end;

		f[n++] = quoted ? ++line : line;
		end = quoted ? strchr(line, '"') : strchr(line, ',');
		if (quoted && end)
		{
			*end++ = '\0';
			end = *end == ',' ? end : NULL;
		}
		if (!end)
			break;
		*end = '\0';
		line = end + 1;
	}
	return n;
}

static int
column(char **header, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(header[i], name) == 0)
			return i;
	return -1;
}

static double
number(const char *s)
{
	return *s ? atof(s) : NAN;
}

static void
read_gpus(void)
{
	FILE	   *f = fopen(gpu_csv, "r");
	char		line[8192];
	char		head[8192];
	char	   *h[MAX_FIELDS];
	int			nh;

	if (!f || !fgets(head, sizeof(head), f))
		die(gpu_csv, NULL);
	nh = fields(head, h);
	while (fgets(line, sizeof(line), f))
	{
		char	   *v[MAX_FIELDS] = {0};
		pm_gpu	   *g = &gpus[n_gpus++];

		fields(line, v);
#define NUM(name) number(v[column(h, nh, name)])
		g->name = pm_strdup(&arena, v[column(h, nh, "name")], strlen(v[column(h, nh, "name")]));
		g->memory_gb = NUM("memory_gb");
		g->mem_bw_gbs = NUM("mem_bw_gbs");
		g->sm_count = NUM("sm_count");
		g->cores_per_sm = NUM("cores_per_sm");
		g->clock_ghz = NUM("clock_ghz");
		g->fp32_tflops = NUM("fp32_tflops");
		g->fp16_tensor_tflops = NUM("fp16_tensor_tflops");
		g->l2_mb = NUM("l2_mb");
		if (column(h, nh, "is_cpu") >= 0)
			g->is_cpu = v[column(h, nh, "is_cpu")][0] == 't' || v[column(h, nh, "is_cpu")][0] == '1';
	}
	fclose(f);
}

static void
read_graphs(const char *path, bool merge)
{
	FILE	   *f = fopen(path, "r");
	char	   *line = NULL;
	size_t		cap = 0;
	ssize_t		len;
	pm_status	st;

	if (!f)
		die(path, NULL);
	while ((len = getline(&line, &cap, f)) > 0)
	{
		pm_graph   *g = PM_NEW(&arena, pm_graph, 1);

		if (pm_graph_from_json(line, (size_t) len, &arena, g, &st) != PM_OK)
			die(path, &st);
		skeletons[n_graphs] = PM_NEW(&arena, pm_skeleton, 1);
		if (pm_skeleton_build(g, merge, &arena, skeletons[n_graphs], &st) != PM_OK)
			die(path, &st);
		graphs[n_graphs++] = g;
	}
	free(line);
	fclose(f);
}

static int
find_graph(const char *name)
{
	for (int i = 0; i < n_graphs; i++)
		if (strcmp(graphs[i]->name, name) == 0)
			return i;
	return -1;
}

static pm_gpu *
find_gpu(const char *name)
{
	for (int i = 0; i < n_gpus; i++)
		if (strcmp(gpus[i].name, name) == 0)
			return &gpus[i];
	return NULL;
}

static void
read_profiles(const char *path)
{
	FILE	   *f = fopen(path, "r");
	char		line[8192];
	char		head[8192];
	char	   *h[MAX_FIELDS];
	int			nh;
	int			dtype;

	if (!f || !fgets(head, sizeof(head), f))
		die(path, NULL);
	nh = fields(head, h);
	dtype = column(h, nh, "dtype") >= 0 ? column(h, nh, "dtype") : column(h, nh, "precision");
	while (fgets(line, sizeof(line), f) && n_samples < MAX_ROWS)
	{
		char	   *v[MAX_FIELDS] = {0};
		pm_sample  *s = &samples[n_samples];
		const char *layout;
		const char *framework;
		int			g;

		fields(line, v);
		layout = v[column(h, nh, "layout")];
		framework = v[column(h, nh, "framework")];
		if ((keep_layout && strcmp(layout, keep_layout) != 0) ||
			(keep_framework && strcmp(framework, keep_framework) != 0))
			continue;
		g = find_graph(v[column(h, nh, "graph")]);
		if (g < 0)
			continue;
		s->query.graph = graphs[g];
		s->skeleton = skeletons[g];
		s->query.gpu = find_gpu(v[column(h, nh, "gpu")]);
		if (!s->query.gpu)
			die(v[column(h, nh, "gpu")], NULL);
		s->query.batch = atoll(v[column(h, nh, "batch")]);
		s->query.dtype = (pm_dtype) pm_dtype_parse(v[dtype]);
		s->query.layout = (pm_layout) pm_layout_parse(layout);
		s->query.optimizer = PM_SGD_MOMENTUM;
		s->query.framework = pm_strdup(&arena, framework, strlen(framework));
		s->step_ms = atof(v[column(h, nh, "step_ms")]);
		s->forward_ms = s->backward_ms = NAN;
		s->weight = 1;
		s->id = n_samples++;
	}
	fclose(f);
}

static void
show_progress(void *ctx, const pm_progress *p)
{
	(void) ctx;
	if (verbose && (p->epoch % verbose == 0 || p->epoch == 1))
		fprintf(stderr, "  epoch %d/%d loss %.5f valid %.2f %% rate %.2e  %.2f s/epoch\n", p->epoch, p->epochs, p->loss,
				100 * p->valid_mape, p->rate, p->elapsed_s / p->epoch);
}

static void
print_metrics(const char *what, const pm_metrics *m)
{
	printf("%-10s n %4d  mape %6.2f %%  median %6.2f %%  p90 %6.2f %%  mae %8.2f ms  rmse %8.2f ms  within10 %5.1f %%  bias %+6.2f %%\n",
		   what, m->n, 100 * m->mape, 100 * m->median_ape, 100 * m->p90_ape, m->mae_ms, m->rmse_ms, 100 * m->within_10,
		   100 * m->bias);
	fflush(stdout);
}

static void
judge(const pm_predictor *p, int i, double predicted)
{
	pm_verdict	v;
	pm_arena	scratch;
	pm_status	st;

	pm_arena_init_malloc(&scratch);
	if (pm_predictor_judge(p, &samples[i], predicted, trust_level, &scratch, &v, &st) != PM_OK)
		die("judge", &st);
	pm_arena_release(&scratch);
	low_ms[i] = v.low_ms;
	high_ms[i] = v.high_ms;
	domain[i] = v.in_domain;
	if (why && !v.in_domain)
		printf("  %s, batch %lld, %+.1f %%: %s\n", samples[i].query.graph->name, (long long) samples[i].query.batch,
			   100 * (predicted / samples[i].step_ms - 1), v.reason);
}

/* Rows of a fold, -1: all that were tested. */
static void
print_trust(const double *predicted, const int *fold_of, int fold)
{
	double	   *v = malloc(n_samples * sizeof(double) * 4);
	signed char *d = malloc(n_samples);
	pm_trust_metrics m;
	int			n = 0;

	for (int i = 0; i < n_samples; i++)
	{
		if (fold >= 0 ? fold_of[i] != fold : fold_of[i] < 0)
			continue;
		v[n] = samples[i].step_ms;
		v[n_samples + n] = predicted[i];
		v[2 * n_samples + n] = low_ms[i];
		v[3 * n_samples + n] = high_ms[i];
		d[n++] = domain[i];
	}
	pm_trust_metrics_compute(v, v + n_samples, v + 2 * n_samples, v + 3 * n_samples, d, n, &m);
	printf("  trust at %g: %d intervals, coverage %5.1f %%, width %5.1f %%; in domain %5.1f %%, mape %6.2f %% in, %6.2f %% out\n",
		   trust_level, m.n_intervals, 100 * m.coverage, 100 * m.width, 100 * m.in_domain, 100 * m.mape_in_domain,
		   100 * m.mape_out_of_domain);
	free(v);
	free(d);
}

static void
run_fold(const pm_kind *kind, const pm_options *o, const int *fold_of, int fold, double *predicted)
{
	pm_arena	a;
	pm_status	st;
	pm_fit_report report;
	pm_hooks	hooks = {.progress = show_progress};
	pm_predictor p = {.kind = kind, .options = *o};
	pm_dataset	train = {0};
	double	   *m = malloc(n_samples * sizeof(double) * 3);
	double	   *q = m + n_samples;
	int			n = 0;
	char		name[32];
	pm_metrics	metrics;

	pm_arena_init_malloc(&a);
	train.samples = PM_NEW(&a, pm_sample, n_samples);
	for (int i = 0; i < n_samples; i++)
		if (fold_of[i] != fold)
			train.samples[train.n++] = samples[i];
	if (pm_predictor_fit(&p, &train, (uint64_t) pm_option_value(kind, o, "seed"), threads, &hooks, &a, &report, &st) != PM_OK)
		die("fit", &st);
	for (int i = 0; i < n_samples; i++)
		if (fold_of[i] == fold || folds == 0)
		{
			pm_arena	scratch;

			pm_arena_init_malloc(&scratch);
			if (pm_predictor_predict(&p, &samples[i], &scratch, &predicted[i], NULL, NULL, &st) != PM_OK)
				die("predict", &st);
			pm_arena_release(&scratch);
			if (trust_level > 0)
				judge(&p, i, predicted[i]);
			m[n] = samples[i].step_ms;
			q[n++] = predicted[i];
		}
	pm_metrics_compute(m, q, n, q + n_samples, &metrics);
	snprintf(name, sizeof(name), "fold %d", fold);
	printf("train %.1f s, %d epochs (best %d), valid %.2f %% n %d, %lld params, %.0f MB; ", report.seconds, report.epochs,
		   report.best_epoch, 100 * report.valid_mape, report.valid_n, (long long) report.n_params, a.used / 1e6);
	print_metrics(name, &metrics);
	if (trust_level > 0 && folds > 0)
		print_trust(predicted, fold_of, fold);
	pm_arena_release(&a);
	free(m);
}

static void
set(const char *arg)
{
	const char *eq = strchr(arg, '=');
	size_t		n = eq ? (size_t) (eq - arg) : 0;
	const char *value = eq ? eq + 1 : "";

#define IS(name) (n == strlen(name) && strncmp(arg, name, n) == 0)
	if (IS("kind")) kind_name = value;
	else if (IS("folds")) folds = atoi(value);
	else if (IS("fold")) only_fold = atoi(value);
	else if (IS("split")) split_name = value;
	else if (IS("threads")) threads = atoi(value);
	else if (IS("only_layout")) keep_layout = value;
	else if (IS("only_framework")) keep_framework = value;
	else if (IS("gpu_csv")) gpu_csv = value;
	else if (IS("out")) out_path = value;
	else if (IS("verbose")) verbose = atoi(value);
	else if (IS("trust")) trust_level = atof(value);
	else if (IS("why")) why = atoi(value);
	else
	{
		pm_setting *s = &settings[n_settings++];

		s->name = pm_strdup(&arena, arg, n);
		s->is_bool = strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
		s->number = s->is_bool ? value[0] == 't' : atof(value);
		s->text = !s->is_bool && isalpha((unsigned char) value[0]) ? value : NULL;
	}
}

static void
write_predictions(const double *predicted, const int *fold_of)
{
	FILE	   *f = fopen(out_path, "w");

	if (!f)
		die(out_path, NULL);
	fprintf(f, "graph,gpu,batch,layout,framework,fold,step_ms,predicted_ms%s\n", trust_level > 0 ? ",low_ms,high_ms,in_domain" : "");
	for (int i = 0; i < n_samples; i++)
	{
		fprintf(f, "%s,%s,%lld,%s,%s,%d,%.6g,%.6g", samples[i].query.graph->name, samples[i].query.gpu->name,
				(long long) samples[i].query.batch, pm_layout_name[samples[i].query.layout], samples[i].query.framework,
				fold_of[i], samples[i].step_ms, predicted[i]);
		if (trust_level > 0)
			fprintf(f, ",%.6g,%.6g,%d", low_ms[i], high_ms[i], domain[i]);
		fputc('\n', f);
	}
	fclose(f);
}

int
main(int argc, char **argv)
{
	pm_blas_info blas;
	pm_status	st;
	pm_options	o;
	const pm_kind *kind;
	int		   *fold_of;
	int			n_folds = 1;
	double	   *predicted;
	double		started;

	pm_arena_init_malloc(&arena);
	pm_blas_init();
	if (argc < 3)
		die("usage: core_train GRAPHS.ndjson PROFILES.csv [option=value ...]", NULL);
	for (int i = 3; i < argc; i++)
		set(argv[i]);
	kind = pm_kind_find(kind_name);
	if (!kind || pm_options_set(kind, settings, n_settings, &o, &st) != PM_OK)
		die("options", kind ? &st : NULL);
	read_gpus();
	started = pm_now();
	read_graphs(argv[1], pm_predictor_merges(kind, &o));
	read_profiles(argv[2]);
	pm_blas_describe(&blas);
	printf("%d graphs in %.2f s, %d rows, kernel %s, %d threads\n", n_graphs, pm_now() - started, n_samples, blas.kernel, threads);
	fold_of = calloc(n_samples, sizeof(int));
	predicted = calloc(n_samples, sizeof(double));
	if (folds > 0)
	{
		pm_dataset	all = {n_samples, samples};

		if (pm_split_assign((pm_split) pm_split_parse(split_name), folds, 1, &all, &arena, fold_of, &n_folds, &st) != PM_OK)
			die("split", &st);
	}
	else
		for (int i = 0; i < n_samples; i++)
			fold_of[i] = -1;
	for (int f = 0; f < n_folds; f++)
		if (only_fold < 0 || f == only_fold)
			run_fold(kind, &o, fold_of, f, predicted);
	if (folds > 1 && only_fold < 0)
	{
		double	   *m = malloc(3 * n_samples * sizeof(double));
		pm_metrics	all;
		int			n = 0;

		for (int i = 0; i < n_samples; i++)
			if (fold_of[i] >= 0)
			{
				m[n] = samples[i].step_ms;
				m[n_samples + n++] = predicted[i];
			}
		pm_metrics_compute(m, m + n_samples, n, m + 2 * n_samples, &all);
		print_metrics("all folds", &all);
		if (trust_level > 0)
			print_trust(predicted, fold_of, -1);
		free(m);
	}
	if (out_path)
		write_predictions(predicted, fold_of);
	return 0;
}
