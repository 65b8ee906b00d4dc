/*
 * cell.c - train on all folds but one, predict that one, without a server:
 * the cells of the accuracy benchmark.
 *
 *   cell graphs=GRAPHS.ndjson rows=PROFILES.csv [option=value ...]
 *
 * graphs, rows        files; the columns graph, gpu, batch, dtype (or precision), framework, step_ms, and if
 *                     there are: layout, optimizer, mode, world_size, options
 * operators           measurements of single operators, in the columns of op_profile, for kinds that learn from them
 * also_graphs, also_rows   rows that always train, all of them; may be repeated
 * passes              forward passes of networks in `graphs`, in the columns of rows, that train along; those of tested networks, with
 *                     split=family of tested families, are tested
 * layout, framework   rows of `rows` to keep
 * test_layout, test_framework   of those, rows to test; the others train
 * kind, option:NAME   the predictor and its options; seed is short for option:seed; calibration_folds is 0 unless
 *                     it is given or trust is
 * trust=LEVEL         intervals at that level, such as 0.9, and the domain: coverage, mean width, share in the domain,
 *                     errors in and out of it, for each fold and over those that were run; columns of the results
 * split, folds, fold, split_seed   how rows are cut (folds.c); fold NAME or number: only this one
 *                     transfer: a network on one card, while its rows on others train
 * part                percent of the training structures to train on (100)
 * set, label          how results call the rows and the predictor
 * out                 folder of results, a file for each fold: SET__SPLIT__FOLD__LABEL.csv.  What is there is not run again
 * features=FILE       write what aggregate methods know of each row, and its fold; train nothing
 * parts=FILE          add the predicted time of each operator of each tested row
 * list=1              print the names of the kinds; threads=N, gpu_csv=FILE, source=TEXT (noted in results)
 * verbose=N           progress every N epochs, and with trust why rows are out of the domain
 */
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nn/blas.h"

#define MAX_ALSO	4

typedef struct job
{
	const char *graphs;
	const char *rows;
	const char *also_graphs[MAX_ALSO];
	const char *also_rows[MAX_ALSO];
	const char *operators;
	const char *passes;
	int			n_also_graphs;
	int			n_also_rows;
	filter		keep;
	filter		test;
	const pm_kind *kind;
	pm_setting	settings[PM_MAX_OPTIONS];
	int			n_settings;
	pm_options	options;
	const char *split;
	int			folds;
	const char *fold;
	uint64_t	split_seed;
	int			part;
	const char *set;
	const char *label;
	const char *out;
	const char *features;
	const char *parts;
	const char *gpu_csv;
	const char *source;
	double		trust;			/* level of intervals; 0: none */
	int			threads;
	int			verbose;
} job;

/* What was predicted, of all folds; [rows] each. */
typedef struct answers
{
	double	   *step_ms;		/* 0: not predicted */
	double	   *low_ms,
			   *high_ms;
	signed char *in_domain;
} answers;

/* What one fold gave. */
typedef struct cell
{
	pm_fit_report report;
	int			n_train;
	int			n_structures;
	int			twins;
	double		train_s;		/* processor time, with one thread what the clock says on an idle machine */
	double		predict_us;		/* the same, of one prediction */
	answers    *answers;
} cell;

static pm_arena arena;
static rows passes;

/* ---- options ---- */

static void
list_kinds(void)
{
	for (int i = 0; pm_kind_at(i); i++)
		puts(pm_kind_at(i)->name);
	exit(0);
}

static void
add_setting(job *j, const char *name, size_t len, const char *value)
{
	if (j->n_settings == PM_MAX_OPTIONS)
		die("too many options", NULL);
	read_setting(name, len, value, &arena, &j->settings[j->n_settings++]);
}

/* Errors alone are of interest, and calibration would take five times as long as the rest; unless it is asked for. */
static void
skip_calibration(job *j)
{
	int			at = pm_option_find(j->kind, "calibration_folds");

	if (j->trust > 0)
		return;
	for (int i = 0; i < j->n_settings; i++)
		if (strcmp(j->settings[i].name, "calibration_folds") == 0)
			return;
	if (at >= 0)
		j->options.value[at] = 0;
}

static const pm_kind *
kind_named(const char *name)
{
	const pm_kind *k = pm_kind_find(name);

	if (!k)
		die("there is no such kind", NULL);
	return k;
}

static const char *
one_more_file(const char **list, int *n, const char *path)
{
	if (*n == MAX_ALSO)
		die("too many files", NULL);
	return list[(*n)++] = path;
}

static void
set(job *j, const char *arg)
{
	const char *eq = strchr(arg, '=');
	size_t		n = eq ? (size_t) (eq - arg) : strlen(arg);
	const char *value = eq ? eq + 1 : "";

#define IS(name) (n == strlen(name) && strncmp(arg, name, n) == 0)
	if (IS("graphs")) j->graphs = value;
	else if (IS("rows")) j->rows = value;
	else if (IS("also_graphs")) one_more_file(j->also_graphs, &j->n_also_graphs, value);
	else if (IS("passes")) j->passes = value;
	else if (IS("operators")) j->operators = value;
	else if (IS("also_rows")) one_more_file(j->also_rows, &j->n_also_rows, value);
	else if (IS("layout")) j->keep.layout = value;
	else if (IS("framework")) j->keep.framework = value;
	else if (IS("test_layout")) j->test.layout = value;
	else if (IS("test_framework")) j->test.framework = value;
	else if (IS("kind")) j->kind = kind_named(value);
	else if (IS("split")) j->split = value;
	else if (IS("folds")) j->folds = atoi(value);
	else if (IS("fold")) j->fold = value;
	else if (IS("split_seed")) j->split_seed = strtoull(value, NULL, 10);
	else if (IS("part")) j->part = atoi(value);
	else if (IS("set")) j->set = value;
	else if (IS("label")) j->label = value;
	else if (IS("out")) j->out = value;
	else if (IS("features")) j->features = value;
	else if (IS("parts")) j->parts = value;
	else if (IS("gpu_csv")) j->gpu_csv = value;
	else if (IS("source")) j->source = value;
	else if (IS("trust")) j->trust = atof(value);
	else if (IS("threads")) j->threads = atoi(value);
	else if (IS("verbose")) j->verbose = atoi(value);
	else if (IS("list")) list_kinds();
	else if (IS("seed")) add_setting(j, arg, n, value);
	else if (n > 7 && strncmp(arg, "option:", 7) == 0) add_setting(j, arg + 7, n - 7, value);
	else
		die(arg, &(pm_status) {.message = "is not an option"});
}

static void
parse(job *j, int argc, char **argv)
{
	pm_status	st;

	j->kind = pm_kind_find("mdot");
	j->split = "structure";
	j->folds = 5;
	j->split_seed = 1;
	j->part = 100;
	j->set = "rows";
	j->out = ".";
	j->gpu_csv = "data/gpu.csv";
	j->source = "";
	j->threads = 1;
	for (int i = 1; i < argc; i++)
		set(j, argv[i]);
	if (!j->label)
		j->label = j->kind->name;
	if (!j->graphs || !j->rows || j->n_also_graphs != j->n_also_rows || j->part < 1 || j->part > 100 || j->threads < 1)
		die("usage: cell graphs=FILE rows=FILE [option=value ...]", NULL);
	if (j->trust != 0 && !(j->trust >= PM_LEVEL_MIN && j->trust <= PM_LEVEL_MAX))
		die("trust", &(pm_status) {.message = "is a level from 0.5 to 0.999"});
	if (pm_options_set(j->kind, j->settings, j->n_settings, &j->options, &st) != PM_OK)
		die("options", &st);
	skip_calibration(j);
}

/* ---- a fold ---- */

static void
show_progress(void *ctx, const pm_progress *p)
{
	const job  *j = ctx;

	if (j->verbose && (p->epoch % j->verbose == 0 || p->epoch == 1))
		fprintf(stderr, "  epoch %d/%d loss %.5f valid %.2f %% %.2f s an epoch\n", p->epoch, p->epochs, p->loss,
				100 * p->valid_mape, p->elapsed_s / p->epoch);
}

/* Seconds of processor time: other programs that share the machine do not count. */
static double
cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void
judge_row(const job *j, const rows *r, int i, const pm_predictor *p, answers *a, pm_arena *scratch)
{
	const pm_sample *s = &r->set.samples[i];
	pm_verdict	v;
	pm_status	st;

	if (pm_predictor_judge(p, s, a->step_ms[i], j->trust, scratch, &v, &st) != PM_OK)
		die(s->query.graph->name, &st);
	a->low_ms[i] = v.low_ms;
	a->high_ms[i] = v.high_ms;
	a->in_domain[i] = v.in_domain;
	if (j->verbose && !v.in_domain)
		fprintf(stderr, "  %s, batch %lld, %+.1f %%: %s\n", s->query.graph->name, (long long) s->query.batch,
				100 * (a->step_ms[i] / s->step_ms - 1), v.reason);
}

/* Predictions of a fold, one by one as the extension makes them, tokens included. */
static void
predict_fold(const job *j, const rows *r, const folds *f, int fold, const pm_predictor *p, cell *c)
{
	pm_status	st;
	double		seconds = 0;
	int			n = 0;

	for (int i = 0; i < r->set.n; i++)
	{
		pm_arena	scratch;
		double		started = cpu_now();

		if (f->fold_of[i] != fold)
			continue;
		pm_arena_init_malloc(&scratch);
		if (pm_predictor_predict(p, &r->set.samples[i], &scratch, &c->answers->step_ms[i], NULL, NULL, &st) != PM_OK)
			die(r->set.samples[i].query.graph->name, &st);
		seconds += cpu_now() - started;
		n++;
		if (j->trust > 0)
			judge_row(j, r, i, p, c->answers, &scratch);
		pm_arena_release(&scratch);
	}
	c->predict_us = 1e6 * seconds / n;
}

static void
run_fold(const job *j, const rows *r, const folds *f, int fold, pm_predictor *p, pm_arena *a, cell *c)
{
	pm_hooks	hooks = {.progress = show_progress, .ctx = (void *) j};
	pm_dataset	train = training_rows(r, f, fold, j->part, j->split_seed, a, &c->twins);
	bool	   *tested = join_passes(&passes, r, f, fold, strcmp(j->split, "family") == 0, a, &train);
	uint64_t	seed = (uint64_t) pm_option_value(j->kind, &j->options, "seed");
	double		started = cpu_now();
	pm_status	st;

	c->n_train = train.n;
	c->n_structures = count_structures(&train);
	*p = (pm_predictor) {.kind = j->kind, .options = j->options};
	if (pm_predictor_fit(p, &train, seed, j->threads, &hooks, a, &c->report, &st) != PM_OK)
		die(j->label, &st);
	c->train_s = cpu_now() - started;
	predict_fold(j, r, f, fold, p, c);
	print_passes(&passes, tested, p);
}

/* ---- results ---- */

static void
result_path(const job *j, const char *fold, char *buf, size_t size)
{
	if (snprintf(buf, size, "%s/%s__%s__%s__%s.csv", j->out, j->set, j->split, fold, j->label) >= (int) size)
		die("the name of the results folder is too long", NULL);
}

static void
write_facts(FILE *f, const job *j, const char *fold, const cell *c)
{
	pm_blas_info blas;

	pm_blas_describe(&blas);
	fprintf(f, "# set=%s\n# split=%s\n# fold=%s\n# label=%s\n# kind=%s\n", j->set, j->split, fold, j->label, j->kind->name);
	fprintf(f, "# split_seed=%llu\n# seed=%.0f\n# part=%d\n", (unsigned long long) j->split_seed,
			pm_option_value(j->kind, &j->options, "seed"), j->part);
	fprintf(f, "# n_train=%d\n# structures=%d\n# twins=%d\n", c->n_train, c->n_structures, c->twins);
	fprintf(f, "# train_s=%.4f\n# predict_us=%.3f\n# threads=%d\n", c->train_s, c->predict_us, j->threads);
	fprintf(f, "# epochs=%d\n# best_epoch=%d\n# valid_mape=%.5f\n# params=%lld\n", c->report.epochs, c->report.best_epoch,
			c->report.valid_mape, (long long) c->report.n_params);
	fprintf(f, "# blas=%s\n# source=%s\n", blas.kernel, j->source);
	if (j->trust > 0)
		fprintf(f, "# trust=%g\n", j->trust);
	for (int i = 0; i < j->n_settings; i++)
		fprintf(f, "# option:%s=%s%.10g\n", j->settings[i].name, j->settings[i].text ? j->settings[i].text : "",
				j->settings[i].text ? 0 : j->settings[i].number);
}

static void
write_key(FILE *f, const rows *r, int i)
{
	const pm_question *q = &r->set.samples[i].query;

	fprintf(f, "%s,%s,%016llx,%s,%lld,%s,%s", q->graph->name, r->family[i], (unsigned long long) q->graph->structure,
			q->gpu->name, (long long) q->batch, pm_layout_name[q->layout], q->framework ? q->framework : "");
}

/* No interval: empty. */
static void
write_trust(FILE *f, const answers *a, int i)
{
	if (isnan(a->low_ms[i]))
		fprintf(f, ",,,%d", a->in_domain[i]);
	else
		fprintf(f, ",%.8g,%.8g,%d", a->low_ms[i], a->high_ms[i], a->in_domain[i]);
}

static void
write_row(FILE *f, const job *j, const rows *r, int i, const answers *a)
{
	write_key(f, r, i);
	fprintf(f, ",%.8g,%.8g", r->set.samples[i].step_ms, a->step_ms[i]);
	if (j->trust > 0)
		write_trust(f, a, i);
	fprintf(f, "\n");
}

/* Complete or not there at all. */
static void
write_result(const job *j, const rows *r, const folds *folds, int fold, const cell *c)
{
	char		path[1024];
	char		unfinished[1040];
	FILE	   *f;

	result_path(j, folds->name[fold], path, sizeof(path));
	snprintf(unfinished, sizeof(unfinished), "%s.new", path);
	f = fopen(unfinished, "w");
	if (!f)
		die(unfinished, NULL);
	write_facts(f, j, folds->name[fold], c);
	fprintf(f, "graph,family,structure,gpu,batch,layout,framework,step_ms,predicted_ms%s\n",
			j->trust > 0 ? ",low_ms,high_ms,in_domain" : "");
	for (int i = 0; i < r->set.n; i++)
		if (folds->fold_of[i] == fold)
			write_row(f, j, r, i, c->answers);
	if (fclose(f) != 0 || rename(unfinished, path) != 0)
		die(path, NULL);
}

/* ---- figures ---- */

/* Rows that were predicted, one after the other; fold -1: of all folds. */
typedef struct tested
{
	int			n;
	double	   *measured;
	answers		a;
	double	   *scratch;
} tested;

static void
make_answers(answers *a, int n, pm_arena *arena)
{
	*a = (answers) {PM_NEW(arena, double, n), PM_NEW(arena, double, n), PM_NEW(arena, double, n),
		PM_NEW(arena, signed char, n)};
}

static tested
gather(const rows *r, const folds *f, int fold, const answers *all, pm_arena *a)
{
	tested		t = {0, PM_NEW(a, double, r->set.n), {0}, PM_NEW(a, double, r->set.n)};

	make_answers(&t.a, r->set.n, a);
	for (int i = 0; i < r->set.n; i++)
	{
		if (all->step_ms[i] == 0 || (fold >= 0 && f->fold_of[i] != fold))
			continue;
		t.measured[t.n] = r->set.samples[i].step_ms;
		t.a.step_ms[t.n] = all->step_ms[i];
		t.a.low_ms[t.n] = all->low_ms[i];
		t.a.high_ms[t.n] = all->high_ms[i];
		t.a.in_domain[t.n++] = all->in_domain[i];
	}
	return t;
}

static void
print_trust(const job *j, const tested *t)
{
	pm_trust_metrics m;

	pm_trust_metrics_compute(t->measured, t->a.step_ms, t->a.low_ms, t->a.high_ms, t->a.in_domain, t->n, &m);
	printf("    trust at %g: %d intervals, coverage %.1f %%, width %.1f %%; in domain %.1f %%, mape %.2f %% in, %.2f %% out\n",
		   j->trust, m.n_intervals, 100 * m.coverage, 100 * m.width, 100 * m.in_domain, 100 * m.mape_in_domain,
		   100 * m.mape_out_of_domain);
}

static void
print_figures(const job *j, const char *fold, const tested *t)
{
	pm_metrics	e;

	pm_metrics_compute(t->measured, t->a.step_ms, t->n, t->scratch, &e);
	printf("%-10s %-9s %-12s %-12s test %4d  mape %6.2f %%  mae %8.2f ms  rmse %8.2f ms", j->set, j->split, fold, j->label,
		   t->n, 100 * e.mape, e.mae, e.rmse);
}

static void
print_fold(const job *j, const rows *r, const folds *f, int fold, const cell *c, pm_arena *a)
{
	tested		t = gather(r, f, fold, c->answers, a);

	print_figures(j, f->name[fold], &t);
	printf("  train %4d  %6.1f s  %6.0f us\n", c->n_train, c->train_s, c->predict_us);
	if (j->trust > 0)
		print_trust(j, &t);
	fflush(stdout);
}

/* Over the folds of this run. */
static void
print_all(const job *j, const rows *r, const folds *f, const answers *all)
{
	tested		t = gather(r, f, -1, all, &arena);

	print_figures(j, "all", &t);
	printf("\n");
	if (j->trust > 0)
		print_trust(j, &t);
}

/* ---- times of operators ---- */

/* Time of every operator of a row, one copy, by node; node -1: the rest of the step. */
static void
write_parts(FILE *f, const rows *r, int i, const pm_predictor *p)
{
	const pm_sample *s = &r->set.samples[i];
	const pm_skeleton *sk = s->skeleton;
	pm_arena	scratch;
	pm_part    *parts;
	double	   *of_token;
	double		rest = 0;
	double		step;
	int			n = 0;
	pm_tokens	t;
	pm_status	st;

	pm_arena_init_malloc(&scratch);
	parts = PM_NEW(&scratch, pm_part, sk->n + 1);
	of_token = PM_NEW(&scratch, double, sk->n);
	if (pm_predictor_predict(p, s, &scratch, &step, parts, &n, &st) != PM_OK ||
		pm_tokens_build(sk, &s->query, &scratch, &t, &st) != PM_OK)
		die(s->query.graph->name, &st);
	for (int k = 0; k < n; k++)
		*(parts[k].token < 0 ? &rest : &of_token[parts[k].token]) += parts[k].step_ms;
	for (int k = 0; k < sk->dag.n; k++)
	{
		int			token = sk->token_of[k];
		int			node = sk->dag.node[k];

		fprintf(f, "%s,%s,%lld,%d,%s,%s,%d,%.0f,%.8g,%.8g\n", s->query.graph->name, s->query.gpu->name,
				(long long) s->query.batch, node, s->query.graph->nodes[node].op_name, pm_class_name[t.op_class[token]], token,
				sk->copies[token], of_token[token] / sk->copies[token], t.roofline_us[token] / 1000);
	}
	fprintf(f, "%s,%s,%lld,-1,,,-1,1,%.8g,0\n", s->query.graph->name, s->query.gpu->name, (long long) s->query.batch, rest);
	pm_arena_release(&scratch);
}

static FILE *
open_parts(const job *j)
{
	FILE	   *f;

	if (!j->parts)
		return NULL;
	f = fopen(j->parts, "w");
	if (!f)
		die(j->parts, NULL);
	fprintf(f, "graph,gpu,batch,node,op,class,token,copies,predicted_ms,roofline_ms\n");
	return f;
}

/* ---- what aggregate methods know ---- */

static const char *const totals[] = {
	"log_batch", "params", "flops", "bytes", "roofline_us", "launches", "operators", "distinct", "depth", "inputs"
};
static const char *const sums[] = {"flops", "bytes", "roofline_us", "launches", "operators"};
#define N_SUMS ((int) (sizeof(sums) / sizeof(sums[0])))

static void
feature_names(FILE *f)
{
	fprintf(f, "graph,family,structure,gpu,batch,layout,framework,fold,drop_twins,step_ms");
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
		fprintf(f, ",%s", totals[i]);
	for (int g = 0; g < PM_N_GROUPS; g++)
		for (int i = 0; i < N_SUMS; i++)
			if (g < PM_N_CLASSES)
				fprintf(f, ",%s:%s", pm_class_name[g], sums[i]);
			else
				fprintf(f, ",conv_%s:%s", pm_conv_kind_name[g - PM_N_CLASSES], sums[i]);
	fprintf(f, "\n");
}

static void
write_sums(FILE *f, const pm_tokens *t)
{
	double		sum[PM_N_GROUPS][N_SUMS] = {{0}};

	for (int i = 0; i < t->n; i++)
	{
		double		copies = t->skeleton->copies[i];
		double	   *to = sum[pm_token_group(t, i)];

		to[0] += copies * t->flops[i];
		to[1] += copies * t->bytes[i];
		to[2] += copies * t->roofline_us[i];
		to[3] += copies * t->kernels[i];
		to[4] += copies;
	}
	for (int g = 0; g < PM_N_GROUPS; g++)
		for (int i = 0; i < N_SUMS; i++)
			fprintf(f, ",%.10g", sum[g][i]);
	fprintf(f, "\n");
}

static void
write_features(const job *j, const rows *r, const folds *folds)
{
	FILE	   *f = fopen(j->features, "w");

	if (!f)
		die(j->features, NULL);
	feature_names(f);
	for (int i = 0; i < r->set.n; i++)
	{
		const pm_sample *s = &r->set.samples[i];
		pm_arena	scratch;
		pm_tokens	t;
		pm_status	st;

		pm_arena_init_malloc(&scratch);
		if (pm_tokens_build(s->skeleton, &s->query, &scratch, &t, &st) != PM_OK)
			die(s->query.graph->name, &st);
		write_key(f, r, i);
		fprintf(f, ",%s,%d,%.8g", folds->fold_of[i] < 0 ? "" : folds->name[folds->fold_of[i]], folds->drop_twins, s->step_ms);
		fprintf(f, ",%.10g,%.10g,%.10g,%.10g,%.10g,%.10g,%d,%d,%d,%.10g", log((double) s->query.batch), t.params,
				t.total_flops, t.total_bytes, t.total_roofline_us, t.n_kernels, s->skeleton->dag.n, t.n,
				s->skeleton->dag.max_depth, (double) s->query.batch * pm_shape_count(&s->query.graph->input));
		write_sums(f, &t);
		pm_arena_release(&scratch);
	}
	if (fclose(f) != 0)
		die(j->features, NULL);
}

/* ---- all of it ---- */

static bool
is_done(const job *j, const char *fold)
{
	char		path[1024];

	result_path(j, fold, path, sizeof(path));
	return access(path, F_OK) == 0;
}

static bool
is_chosen(const job *j, const folds *f, int fold)
{
	char		number[16];

	snprintf(number, sizeof(number), "%d", fold);
	return !j->fold || strcmp(j->fold, f->name[fold]) == 0 || strcmp(j->fold, number) == 0;
}

static void
do_fold(const job *j, const rows *r, const folds *f, int fold, answers *all, FILE *parts)
{
	pm_arena	a;
	pm_predictor p;
	cell		c = {.answers = all};

	pm_arena_init_malloc(&a);
	run_fold(j, r, f, fold, &p, &a, &c);
	print_fold(j, r, f, fold, &c, &a);
	if (parts)
		for (int i = 0; i < r->set.n; i++)
			if (f->fold_of[i] == fold)
				write_parts(parts, r, i, &p);
	write_result(j, r, f, fold, &c);
	pm_arena_release(&a);
}

static void
run_folds(const job *j, const rows *r, const folds *f, FILE *parts)
{
	answers		all;
	int			n = 0;

	make_answers(&all, r->set.n, &arena);
	for (int i = 0; i < f->n; i++)
		if (is_chosen(j, f, i) && (parts || !is_done(j, f->name[i])))
		{
			do_fold(j, r, f, i, &all, parts);
			n++;
		}
	if (n > 1)
		print_all(j, r, f, &all);
}

int
main(int argc, char **argv)
{
	job			j = {0};
	rows		r = {0};
	folds		f = {0};
	bool		merge;
	FILE	   *parts;

	pm_arena_init_malloc(&arena);
	pm_blas_init();
	parse(&j, argc, argv);
	merge = pm_predictor_merges(j.kind, &j.options);
	read_gpus(j.gpu_csv, &arena);
	read_rows(j.graphs, j.rows, &j.keep, &j.test, merge, &arena, &r);
	for (int i = 0; i < j.n_also_rows; i++)
		read_rows(j.also_graphs[i], j.also_rows[i], &(filter) {0}, NULL, merge, &arena, &r);
	if (j.passes)
		read_rows(j.graphs, j.passes, &(filter) {.layout = j.keep.layout, .mode = "inference"}, NULL, merge, &arena, &passes);
	if (j.operators)
		read_operators(j.operators, merge, &arena, &r);
	cut_folds(j.split, j.folds, j.split_seed, &r, &arena, &f);
	if (j.features)
	{
		write_features(&j, &r, &f);
		return 0;
	}
	parts = open_parts(&j);
	run_folds(&j, &r, &f, parts);
	if (parts && fclose(parts) != 0)
		die(j.parts, NULL);
	return 0;
}
