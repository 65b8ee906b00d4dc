/*
 * passes.c - error on measured forward passes, by a predictor of training steps
 * that has learned from no pass, from forward times of steps, and from the passes
 * of other families of networks or of other cards.
 *
 *   passes rows=FOLDER [option=value ...]
 *
 * rows       a folder of tools/pretrain_rows.py, or one with its files graphs.ndjson and rows.csv and other rows in them
 * kind       of predictor (opclass); epochs=N and calibration_folds=N for kinds that have them
 * gpu_csv    data sheets (data/gpu.csv)
 * operators  a file of tools/pretrain_operators.py to train with, for levels of cards without steps
 *
 * Trains once, on all steps, and learns from passes anew for each pass that is
 * tested.  Prints MAPE in percent for each card, for the cards with and without
 * steps in training, and for all; and the share of the passes that lie in their
 * 90 % interval where passes of other families, or of other cards, were learned.
 */
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/passes.h"

#define LEVEL	0.9

typedef enum source
{
	NOTHING, STEPS, FAMILIES, CARDS, N_SOURCES
} source;

/* One test: ratio of predicted to measured, and whether the interval holds the pass, by what was learned from. */
typedef struct result
{
	const pm_sample *s;
	bool		known;			/* the card has steps in training */
	double		ratio[N_SOURCES];
	bool		inside[N_SOURCES];
	bool		has_interval;
} result;

static pm_arena arena;

static bool
same_card(const pm_sample *a, const pm_sample *b)
{
	return strcmp(a->query.gpu->name, b->query.gpu->name) == 0;
}

static bool
same_family(const pm_sample *a, const pm_sample *b)
{
	return strcmp(a->query.graph->family, b->query.graph->family) == 0;
}

/* The passes that may be learned from when s is tested. */
static pm_dataset
evidence(const pm_dataset *steps, const pm_dataset *passes, const pm_sample *s, source from, pm_arena *a)
{
	pm_dataset	d = *steps;

	d.passes = PM_NEW(a, pm_sample, passes->n);
	for (int i = 0; i < passes->n && from >= FAMILIES; i++)
		if (from == FAMILIES ? !same_family(&passes->samples[i], s) : !same_card(&passes->samples[i], s))
			d.passes[d.n_passes++] = passes->samples[i];
	return d;
}

static void
test_pass(pm_predictor *p, const pm_dataset *steps, const pm_dataset *passes, const pm_sample *s, result *r)
{
	const pm_hooks hooks = {0};
	pm_status	st = {PM_OK};

	r->s = s;
	for (int i = 0; i < steps->n && !r->known; i++)
		r->known = same_card(&steps->samples[i], s);
	for (int from = 0; from < N_SOURCES; from++)
	{
		pm_arena	scratch;
		pm_dataset	d;
		pm_verdict	v;
		double		ms;

		pm_arena_init_malloc(&scratch);
		d = evidence(steps, passes, s, from, &scratch);
		p->passes = NULL;
		if ((from != NOTHING && pm_passes_fit(p, pm_predictor_predict, &d, NULL, &hooks, &scratch, &p->passes, &st) != PM_OK) ||
			pm_predictor_predict(p, s, &scratch, &ms, NULL, NULL, &st) != PM_OK ||
			pm_predictor_judge(p, s, ms, LEVEL, &scratch, &v, &st) != PM_OK)
			die("pass", &st);
		r->ratio[from] = ms / s->step_ms;
		r->has_interval = !isnan(v.low_ms);
		r->inside[from] = v.low_ms <= s->step_ms && s->step_ms <= v.high_ms;
		pm_arena_release(&scratch);
	}
	p->passes = NULL;
}

/* ---- the table ---- */

typedef bool (*selector) (const result *r, const void *arg);

static bool
of_card(const result *r, const void *arg)
{
	return strcmp(r->s->query.gpu->name, arg) == 0;
}

static bool
with_steps(const result *r, const void *arg)
{
	return r->known == *(const bool *) arg;
}

static bool
any(const result *r, const void *arg)
{
	(void) r;
	(void) arg;
	return true;
}

static void
print_line(const char *label, const result *results, int n, selector wanted, const void *arg)
{
	double		mape[N_SOURCES] = {0};
	int			inside[N_SOURCES] = {0};
	int			rows = 0;
	bool		interval = false;

	for (int i = 0; i < n; i++)
	{
		if (!wanted(&results[i], arg))
			continue;
		rows++;
		interval = results[i].has_interval;
		for (int from = 0; from < N_SOURCES; from++)
		{
			mape[from] += 100 * fabs(results[i].ratio[from] - 1);
			inside[from] += results[i].inside[from];
		}
	}
	if (rows == 0)
		return;
	printf("%-28s %4d", label, rows);
	for (int from = 0; from < N_SOURCES; from++)
		printf(" %9.1f", mape[from] / rows);
	for (int from = FAMILIES; from < N_SOURCES; from++)
		if (interval)
			printf(" %9.0f", 100.0 * inside[from] / rows);
	printf("\n");
}

static void
print_table(const result *results, int n)
{
	const bool	yes = true;
	const bool	no = false;

	printf("%-28s %4s %9s %9s %9s %9s %9s %9s\n", "card", "n", "nothing", "steps", "families", "cards", "in, fam.", "in, cards");
	for (int i = 0; i < n; i++)
	{
		int			k = 0;

		while (!same_card(results[k].s, results[i].s))
			k++;
		if (k == i)
			print_line(results[i].s->query.gpu->name, results, n, of_card, results[i].s->query.gpu->name);
	}
	print_line("cards with steps", results, n, with_steps, &yes);
	print_line("cards without", results, n, with_steps, &no);
	print_line("all", results, n, any, NULL);
}

/* ---- options ---- */

static char *
path_of(const char *folder, const char *file)
{
	char	   *path = malloc(strlen(folder) + strlen(file) + 2);

	if (path == NULL)
		die("no memory", NULL);
	sprintf(path, "%s/%s", folder, file);
	return path;
}

int
main(int argc, char **argv)
{
	const char *folder = NULL;
	const char *kind = "opclass";
	const char *gpu_csv = "data/gpu.csv";
	const char *operators = NULL;
	const filter steps_only = {NULL, NULL, "train"};
	const filter passes_only = {NULL, NULL, "inference"};
	pm_setting	settings[PM_MAX_OPTIONS];
	int			n_settings = 0;
	pm_predictor p = {0};
	rows		steps = {0};
	rows		passes = {0};
	result	   *results;
	pm_fit_report report;
	const pm_hooks hooks = {0};
	pm_status	st = {PM_OK};

	pm_arena_init_malloc(&arena);
	for (int i = 1; i < argc; i++)
	{
		const char *value = strchr(argv[i], '=');

		if (value == NULL || n_settings == PM_MAX_OPTIONS)
			die(argv[i], NULL);
		if (strncmp(argv[i], "rows=", 5) == 0)
			folder = value + 1;
		else if (strncmp(argv[i], "kind=", 5) == 0)
			kind = value + 1;
		else if (strncmp(argv[i], "gpu_csv=", 8) == 0)
			gpu_csv = value + 1;
		else if (strncmp(argv[i], "operators=", 10) == 0)
			operators = value + 1;
		else
			read_setting(argv[i], (size_t) (value - argv[i]), value + 1, &arena, &settings[n_settings++]);
	}
	if (folder == NULL || (p.kind = pm_kind_find(kind)) == NULL)
		die("usage: passes rows=FOLDER [kind=KIND ...]", NULL);
	if (pm_options_set(p.kind, settings, n_settings, &p.options, &st) != PM_OK)
		die("options", &st);
	read_gpus(gpu_csv, &arena);
	read_rows(path_of(folder, "graphs.ndjson"), path_of(folder, "rows.csv"), &steps_only, NULL, true, &arena, &steps);
	if (operators != NULL)
		read_operators(operators, true, &arena, &steps);
	read_rows(path_of(folder, "graphs.ndjson"), path_of(folder, "rows.csv"), &passes_only, NULL, true, &arena, &passes);
	if (pm_predictor_fit(&p, &steps.set, 42, 1, &hooks, &arena, &report, &st) != PM_OK)
		die("training", &st);
	results = PM_NEW(&arena, result, passes.set.n);
	for (int i = 0; i < passes.set.n; i++)
	{
		/* as they are asked about */
		passes.set.samples[i].query.optimizer = PM_SGD_MOMENTUM;
		test_pass(&p, &steps.set, &passes.set, &passes.set.samples[i], &results[i]);
	}
	print_table(results, passes.set.n);
	pm_arena_release(&arena);
	return 0;
}
