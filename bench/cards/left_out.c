/*
 * left_out.c - each card left out of training in turn, with all cards of the
 * same chip: the error of what is predicted for it, and what its intervals of
 * 90 % hold.
 *
 *   left_out rows=FOLDER [option=value ...]
 *
 * rows       a folder of tools/pretrain_rows.py, whose rows.csv may be a part of what that wrote
 * kind       of predictor (opclass); its options, such as calibration_folds, by their names
 * operators  a file of tools/pretrain_operators.py: single operators to train with, of all cards
 * cards      only these, separated by commas
 * steps      0: rows of the card left out stay out of training (default); N: those of N of its networks are in, seed 7
 * each       1: a line for each row that is tested
 * gpu_csv    data sheets (data/gpu.csv)
 */
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"

#define LEVEL			0.9
#define MAX_CARDS		64
#define LEAST_NETWORKS	2

/* Rows of one card that are tested, and what came out. */
typedef struct outcome
{
	const char *card;
	int			n;
	double		error;			/* sum of |relative error| */
	double		bias;			/* sum of ln(predicted / measured) */
	int			inside;
	double		width;			/* sum of (high - low) / predicted */
} outcome;

typedef struct job
{
	const char *folder;
	const char *gpu_csv;
	const char *operators;
	const char *cards;
	const pm_kind *kind;
	pm_setting	settings[PM_MAX_OPTIONS];
	int			n_settings;
	int			steps;
	bool		each;
} job;

static pm_arena arena;

static void
parse(job *j, int argc, char **argv)
{
	*j = (job) {.kind = pm_kind_find("opclass"), .gpu_csv = "data/gpu.csv"};
	for (int i = 1; i < argc; i++)
	{
		const char *value = strchr(argv[i], '=') ? strchr(argv[i], '=') + 1 : NULL;

		if (value == NULL || j->n_settings == PM_MAX_OPTIONS)
			die(argv[i], NULL);
#define IS(name) (strncmp(argv[i], name "=", strlen(name) + 1) == 0)
		if (IS("rows")) j->folder = value;
		else if (IS("kind")) j->kind = pm_kind_find(value);
		else if (IS("gpu_csv")) j->gpu_csv = value;
		else if (IS("operators")) j->operators = value;
		else if (IS("cards")) j->cards = value;
		else if (IS("steps")) j->steps = atoi(value);
		else if (IS("each")) j->each = atoi(value) != 0;
		else
			read_setting(argv[i], (size_t) (value - 1 - argv[i]), value, &arena, &j->settings[j->n_settings++]);
	}
	if (!j->folder || !j->kind)
		die("usage: left_out rows=FOLDER [option=value ...]", NULL);
}

/* Whether the list, separated by commas, has this name; NULL: it has all. */
static bool
is_listed(const char *list, const char *name)
{
	size_t		len = strlen(name);

	if (list == NULL)
		return true;
	for (const char *at = list; at != NULL; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}

static bool
is_of(const pm_sample *s, const char *card)
{
	return strcmp(s->query.gpu->name, card) == 0;
}

/* Whether the sample is of the card, or of one with the same chip: V100-PCIE-32GB and V100-SXM2-16GB. */
static bool
is_kin(const pm_sample *s, const char *card)
{
	size_t		chip = strcspn(card, " -");

	return is_of(s, card) || (card[chip] == '-' && strncmp(s->query.gpu->name, card, chip + 1) == 0);
}

/* Structures of the card's rows; returns how many there are. */
static int
structures_of(const pm_dataset *d, const char *card, uint64_t *list)
{
	int			n = 0;

	for (int i = 0; i < d->n; i++)
	{
		uint64_t	s = d->samples[i].query.graph->structure;
		int			at = 0;

		while (at < n && list[at] != s)
			at++;
		if (is_of(&d->samples[i], card) && at == n)
			list[n++] = s;
	}
	return n;
}

/* The rows of d, less those of the card whose network is not among the first `known` of the list, and those of cards with its chip. */
static pm_dataset
rest_of(const pm_dataset *d, const char *card, const uint64_t *list, int known, bool *tested)
{
	pm_dataset	rest = *d;

	rest.samples = PM_NEW(&arena, pm_sample, d->n);
	rest.n = 0;
	for (int i = 0; i < d->n; i++)
	{
		tested[i] = is_of(&d->samples[i], card);
		for (int k = 0; k < known; k++)
			tested[i] = tested[i] && d->samples[i].query.graph->structure != list[k];
		if (!tested[i] && (is_of(&d->samples[i], card) || !is_kin(&d->samples[i], card)))
			rest.samples[rest.n++] = d->samples[i];
	}
	return rest;
}

static void
print_row(const pm_sample *s, double ms, const pm_verdict *v)
{
	printf("    %-24s %-9s %4lld %-5s %-24s %9.2f %9.2f %6.2f  %9.2f %9.2f\n", s->query.gpu->name, s->query.graph->family, (long long) s->query.batch,
		   pm_dtype_name[s->query.dtype], s->query.framework ? s->query.framework : "", s->step_ms, ms, ms / s->step_ms, v->low_ms, v->high_ms);
}

static void
test_row(const job *j, const pm_predictor *p, const pm_sample *s, outcome *o)
{
	pm_arena	scratch;
	pm_verdict	v;
	pm_status	st;
	double		ms;

	pm_arena_init_malloc(&scratch);
	if (pm_predictor_predict(p, s, &scratch, &ms, NULL, NULL, &st) != PM_OK ||
		pm_predictor_judge(p, s, ms, LEVEL, &scratch, &v, &st) != PM_OK)
		die(o->card, &st);
	o->n++;
	o->error += fabs(ms / s->step_ms - 1);
	o->bias += log(ms / s->step_ms);
	o->inside += v.low_ms <= s->step_ms && s->step_ms <= v.high_ms;
	o->width += (v.high_ms - v.low_ms) / ms;
	if (j->each)
		print_row(s, ms, &v);
	pm_arena_release(&scratch);
}

static void
test_card(const job *j, const pm_dataset *all, outcome *o)
{
	uint64_t   *list = PM_NEW(&arena, uint64_t, all->n);
	uint64_t   *known = PM_NEW(&arena, uint64_t, all->n);
	int32_t    *order = PM_NEW(&arena, int32_t, all->n);
	bool	   *tested = PM_NEW(&arena, bool, all->n);
	int			networks = structures_of(all, o->card, list);
	pm_predictor p = {.kind = j->kind};
	pm_dataset	train;
	pm_fit_report report;
	pm_rng		rng;
	pm_status	st;

	if (networks < LEAST_NETWORKS + j->steps)
		return;
	pm_rng_seed(&rng, 7);
	for (int i = 0; i < networks; i++)
		order[i] = i;
	pm_rng_shuffle(&rng, order, networks);
	for (int i = 0; i < j->steps; i++)
		known[i] = list[order[i]];
	train = rest_of(all, o->card, known, j->steps, tested);
	if (pm_options_set(p.kind, j->settings, j->n_settings, &p.options, &st) != PM_OK ||
		pm_predictor_fit(&p, &train, 42, 1, NULL, &arena, &report, &st) != PM_OK)
		die(o->card, &st);
	for (int i = 0; i < all->n; i++)
		if (tested[i])
			test_row(j, &p, &all->samples[i], o);
	printf("%-26s %5d %7.1f %7.1f", o->card, o->n, 100 * o->error / o->n, 100 * (exp(o->bias / o->n) - 1));
	if (!isnan(o->width))
		printf(" %9.0f %7.0f", 100.0 * o->inside / o->n, 100 * o->width / o->n);
	printf("\n");
	fflush(stdout);
}

static int
by_error(const void *a, const void *b)
{
	const outcome *x = a;
	const outcome *y = b;
	double		d = x->error / x->n - y->error / y->n;

	return (d > 0) - (d < 0);
}

static void
print_summary(outcome *o, int n)
{
	outcome		all = {0};
	double		mean = 0;
	int			kept = 0;

	for (int i = 0; i < n; i++)
		if (o[i].n > 0)
		{
			all.n += o[i].n;
			all.inside += o[i].inside;
			all.width += o[i].width;
			mean += 100 * o[i].error / o[i].n;
			o[kept++] = o[i];
		}
	if (kept == 0)
		return;
	qsort(o, kept, sizeof(*o), by_error);
	printf("\n%d cards, %d rows: median %.1f, mean %.1f, worst %.1f %%", kept, all.n,
		   50 * (o[(kept - 1) / 2].error / o[(kept - 1) / 2].n + o[kept / 2].error / o[kept / 2].n), mean / kept,
		   100 * o[kept - 1].error / o[kept - 1].n);
	if (!isnan(all.width))
		printf("; in the interval of 90 %%: %.0f %%, width %.0f %%", 100.0 * all.inside / all.n, 100 * all.width / all.n);
	printf("\n");
}

int
main(int argc, char **argv)
{
	static outcome cards[MAX_CARDS];
	char		graphs[512];
	char		profiles[512];
	rows		all = {0};
	job			j;
	int			n = 0;

	pm_arena_init_malloc(&arena);
	parse(&j, argc, argv);
	read_gpus(j.gpu_csv, &arena);
	snprintf(graphs, sizeof(graphs), "%s/graphs.ndjson", j.folder);
	snprintf(profiles, sizeof(profiles), "%s/rows.csv", j.folder);
	read_rows(graphs, profiles, &(filter) {0}, NULL, true, &arena, &all);
	if (j.operators != NULL)
		read_operators(j.operators, true, &arena, &all);
	printf("%-26s %5s %7s %7s %9s %7s\n", "left out", "rows", "MAPE %", "bias %", "inside %", "width %");
	for (int i = 0; i < all.set.n; i++)
	{
		const pm_gpu *gpu = all.set.samples[i].query.gpu;
		int			at = 0;

		while (at < n && strcmp(cards[at].card, gpu->name) != 0)
			at++;
		if (at < n || gpu->is_cpu || n == MAX_CARDS)
			continue;
		cards[n++].card = gpu->name;
		if (is_listed(j.cards, gpu->name))
			test_card(&j, &all.set, &cards[n - 1]);
	}
	print_summary(cards, n);
	pm_arena_release(&arena);
	return 0;
}
