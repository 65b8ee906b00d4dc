/*
 * predict.c - what a prediction costs in the core, stage by stage.
 *
 *     predict GRAPHS.ndjson PROFILES.csv [option=value ...]
 *
 * Options are those of the kind mdot and of mdot_epochs.c; export=FILE writes
 * the encoded rows of the two graphs for twin.py, in the same run.  It trains on
 * 200 rows: what a prediction costs does not depend on them.
 *
 * Two graphs: the first of the file whose name starts with "resnet50@224", and
 * the one with the most nodes.  Prints "graph.what value" lines, microseconds of
 * the processor, the median of many rounds.  Linked with -Wl,--wrap=pm_gemm, so
 * that the operations of the products can be counted.
 */
#define PM_EPOCHS_AS_PART
#include "mdot_epochs.c"
#include "graph/graph_json.h"

#define ROUNDS 31
#define TRAINED_ON 200

/* One graph asked about, from its document to the answer. */
typedef struct subject
{
	const char *label;
	char	   *text;			/* its line of the file */
	size_t		len;
	pm_sample	s;
} subject;

static double
median_us(double *seconds, int n)
{
	qsort(seconds, n, sizeof(double), ascending);
	return 1e6 * seconds[n / 2];
}

/* Median microseconds of `statement`, which may use round. */
#define TIME(us, statement) \
	do { \
		double		seconds_[ROUNDS]; \
		for (int round = 0; round < ROUNDS; round++) \
		{ \
			double		started_ = cpu_now(CLOCK_THREAD_CPUTIME_ID); \
			statement; \
			seconds_[round] = cpu_now(CLOCK_THREAD_CPUTIME_ID) - started_; \
		} \
		us = median_us(seconds_, ROUNDS); \
	} while (0)

static void
check(pm_code rc, const char *what, const pm_status *st)
{
	if (rc != PM_OK)
		die(what, st);
}

/* From text to skeleton, as a session does that has not seen the graph. */
static void
load_once(const subject *x)
{
	pm_arena	a;
	pm_graph	g;
	pm_skeleton k;
	pm_status	st;

	pm_arena_init_malloc(&a);
	check(pm_graph_from_json(x->text, x->len, &a, &g, &st), "parse", &st);
	check(pm_skeleton_build(&g, true, &a, &k, &st), "skeleton", &st);
	pm_arena_release(&a);
}

static void
parse_once(const subject *x)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;

	pm_arena_init_malloc(&a);
	check(pm_graph_from_json(x->text, x->len, &a, &g, &st), "parse", &st);
	pm_arena_release(&a);
}

static double
ask(const pm_predictor *p, const pm_sample *s, pm_arena *scratch)
{
	pm_status	st;
	double		ms;

	check(pm_predictor_predict(p, s, scratch, &ms, NULL, NULL, &st), "predict", &st);
	pm_arena_release(scratch);
	return ms;
}

static size_t
prepare_once(const pm_predictor *p, const pm_sample *s, pm_arena *kept, pm_arena *scratch, pm_workbench *bench, pm_prepared *x)
{
	pm_status	st;

	pm_arena_release(kept);
	kept->thrifty = true;
	check(pm_predictor_prepare(p, s, kept, scratch, bench, x, &st), "prepare", &st);
	pm_arena_reset(scratch, 8 << 20);
	return kept->used;
}

static double
ask_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, pm_arena *scratch)
{
	pm_status	st;
	double		ms;

	check(pm_predictor_predict_prepared(p, x, s, scratch, &ms, &st), "predict", &st);
	return ms;
}

static void
judge_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s)
{
	pm_status	st;
	pm_verdict	v;

	check(pm_predictor_judge_prepared(p, x, s, 100, 0.9, &v, &st), "judge", &st);
}

static void
judge_once(const pm_predictor *p, const pm_sample *s, pm_arena *scratch)
{
	pm_status	st;
	pm_verdict	v;

	check(pm_predictor_judge(p, s, 100, 0.9, scratch, &v, &st), "judge", &st);
	pm_arena_release(scratch);
}

static void
measure(const pm_predictor *p, subject *x)
{
	pm_arena	scratch;
	double		us;
	double		flop = 0;
	pm_arena	kept;
	pm_prepared	prepared;
	pm_workbench bench = {0};
	size_t		kept_bytes = 0;

	pm_arena_init_malloc(&scratch);
	pm_arena_init_malloc(&kept);
	pm_arena_init_malloc(&bench.arena);
	printf("%s.name %s\n%s.nodes %d\n%s.tokens %d\n", x->label, x->s.query.graph->name, x->label,
		   x->s.query.graph->n_nodes, x->label, x->s.skeleton->n);
	TIME(us, parse_once(x));
	printf("%s.parse %.1f\n", x->label, us);
	TIME(us, load_once(x));
	printf("%s.load %.1f\n", x->label, us);
	n_products = 0;
	noting = true;
	ask(p, &x->s, &scratch);
	noting = false;
	for (size_t i = 0; i < n_products; i++)
		flop += operations(&products[i]);
	printf("%s.mflop %.3f\n", x->label, flop / 1e6);
	TIME(us, (x->s.query.batch = 8 + round, ask(p, &x->s, &scratch)));
	printf("%s.predict %.1f\n%s.gflops %.2f\n", x->label, us, x->label, flop / us / 1e3);
	TIME(us, judge_once(p, &x->s, &scratch));
	printf("%s.judge %.1f\n", x->label, us);
	TIME(us, kept_bytes = prepare_once(p, &x->s, &kept, &scratch, &bench, &prepared));
	printf("%s.prepare %.1f\n%s.prepared_bytes %zu\n", x->label, us, x->label, kept_bytes);
	TIME(us, for (int i = 0; i < 100; i++) {x->s.query.batch = 8 + (round + i) % 100; ask_prepared(p, &prepared, &x->s, &scratch);});
	printf("%s.another_batch %.2f\n", x->label, us / 100);
	TIME(us, for (int i = 0; i < 100; i++) {judge_prepared(p, &prepared, &x->s);});
	printf("%s.judge_another %.2f\n", x->label, us / 100);
	pm_arena_release(&kept);
	pm_arena_release(&scratch);
}

/* Whether g is a better choice than what x has: name NULL, one with more nodes; else the first whose name starts so. */
static bool
better(const subject *x, const pm_graph *g, const char *name)
{
	if (name)
		return !x->text && strncmp(g->name, name, strlen(name)) == 0;
	return !x->text || g->n_nodes > x->s.query.graph->n_nodes;
}

/* x asks about a graph of the file, on the device of the first row. */
static void
choose(subject *x, const char *name, bool merge, const char *path)
{
	FILE	   *f = fopen(path, "r");
	char	   *line = NULL;
	size_t		cap = 0;
	ssize_t		len;
	pm_skeleton *k = PM_NEW(&arena, pm_skeleton, 1);
	pm_status	st;

	if (!f)
		die(path, NULL);
	x->s = all.set.samples[0];
	while ((len = getline(&line, &cap, f)) > 0)
	{
		pm_graph   *g = PM_NEW(&arena, pm_graph, 1);

		check(pm_graph_from_json(line, (size_t) len, &arena, g, &st), "graph", &st);
		if (!better(x, g, name))
			continue;
		x->s.query.graph = g;
		x->text = pm_strdup(&arena, line, (size_t) len);
		x->len = (size_t) len;
	}
	free(line);
	fclose(f);
	if (!x->text)
		die(name ? name : path, &(pm_status) {.message = "is no graph of the file"});
	check(pm_skeleton_build(x->s.query.graph, merge, &arena, k, &st), "skeleton", &st);
	x->s.skeleton = k;
}

/*
 * The network alone, on rows encoded beforehand: what twin.py is timed at, too.
 * Rows 0 and 1 are the two graphs, eight others are passed together.
 */
static void
measure_network(const pm_options *o, const subject *subjects)
{
	pm_options	wide = *o;
	pm_sample  *samples = all.set.samples;
	model		m = {0};
	pm_mdot_data data;
	void	   *workspace;
	double		ms[8];
	double		us;
	int			rows[10];

	for (int i = 0; i < 10; i++)
		rows[i] = i;
	all.set.n = all.set.n < 10 ? all.set.n : 10;
	for (int i = 0; i < 2; i++)
	{
		samples[i] = subjects[i].s;
		samples[i].step_ms = 100;
	}
	wide.value[OPT_TRAINING + PM_TRAIN_BATCH_SIZE] = 8 * PM_SHARDS; /* eight rows a pass */
	prepare_model(&m, &wide);
	data = (pm_mdot_data) {.net = &m.net, .inputs = m.inputs, .step_ms = m.step_ms, .weight = m.weight};
	workspace = pm_alloc(&arena, m.workspace_bytes, 1);
	for (int i = 0; i < 2; i++)
	{
		TIME(us, pm_mdot_pass(&data, m.w, NULL, rows + i, 1, ms, NULL, workspace));
		printf("%s.network %.1f\n", subjects[i].label, us);
	}
	TIME(us, pm_mdot_pass(&data, m.w, NULL, rows + 2, all.set.n - 2, ms, NULL, workspace));
	printf("several.network %.1f\n", us);
	TIME(us, for (int i = 2; i < all.set.n; i++) pm_mdot_pass(&data, m.w, NULL, rows + i, 1, ms, NULL, workspace));
	printf("several.one_by_one %.1f\n", us);
	if (export_path)
		export_rows(&m, pm_kind_find("mdot"), o);
}

static void
fit(pm_predictor *p)
{
	pm_dataset	d = {.n = all.set.n < TRAINED_ON ? all.set.n : TRAINED_ON, .samples = all.set.samples};
	pm_fit_report report;
	pm_status	st;

	check(pm_predictor_fit(p, &d, 1, threads, NULL, &arena, &report, &st), "fit", &st);
}

int
main(int argc, char **argv)
{
	static subject subjects[2] = {{.label = "usual"}, {.label = "largest"}};
	pm_predictor p = {.kind = pm_kind_find("mdot")};
	pm_blas_info blas;
	pm_real    *operand[3];
	bool		merge;

	pm_arena_init_malloc(&arena);
	pm_blas_init();
	pm_blas_describe(&blas);
	parse(p.kind, argc, argv, &p.options);
	merge = pm_predictor_merges(p.kind, &p.options);
	read_gpus(gpu_csv, &arena);
	read_rows(argv[1], argv[2], &keep, NULL, merge, &arena, &all);
	fit(&p);
	choose(&subjects[0], "resnet50@224", merge, argv[1]);
	choose(&subjects[1], NULL, merge, argv[1]);
	for (int i = 0; i < 3; i++)
		operand[i] = pm_alloc(&arena, 512 * 512, sizeof(pm_real));
	printf("kernel %s\npeak_gflops %.2f\n", blas.kernel, peak_rate(operand) / 1e9);
	for (int i = 0; i < 2; i++)
		measure(&p, &subjects[i]);
	measure_network(&p.options, subjects);
	return 0;
}
