/*
 * probes.c - error on a card that was left out of training, as its data sheet
 * has it and after pm_recalibrate() with a few networks measured on it.
 *
 *   probes rows=FOLDER [option=value ...]
 *
 * rows       a folder of tools/pretrain_rows.py, whose rows.csv may be a part of what that wrote
 * kind       of predictor (opclass); epochs=N for kinds that have them
 * draws      of networks for each card and number of networks (20); seed=N (7)
 * networks   how many are measured ("1 2 5 10 20 40"): cards with at least three more take part
 * choose     1: the networks that pm_choose_probes() takes out of a random half of the card's against random ones of that
 *            half, both judged on the other half
 * format     only steps in this one are measured, and those of the same card and network in others are predicted
 * card       only this one
 * keep       folder for trained predictors, which are then not trained again
 * gpu_csv    data sheets (data/gpu.csv)
 * intervals  1: train with them, and print besides how many rows are in the interval of 90 %, and its width (high - low) /
 *            predicted, before and after
 *
 * Prints for each card and number: error before and after, on all rows of the
 * networks that were not measured, mean over the draws.
 */
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/probes.h"
#include "predictor/recalibrate.h"
#include "predictor/sensitivity.h"
#include "predictor/stored.h"

#define MAX_CARDS	64
#define MAX_COUNTS	8
#define LEAST_NETWORKS 4
#define LEFT		3			/* networks that are not measured, at least */

typedef struct job
{
	const char *rows;
	const pm_kind *kind;
	int			draws;
	uint64_t	seed;
	int			counts[MAX_COUNTS];
	int			n_counts;
	bool		choose;
	bool		intervals;
	const char *format;
	const char *epochs;
	const char *card;
	const char *keep;
	const char *gpu_csv;
	pm_options	options;
} job;

/* What a predictor says of the rows of a card: means, in percent. */
typedef struct verdict
{
	double		error;			/* NaN: too few networks */
	double		inside;
	double		width;
} verdict;

/* A card and its rows, those of a network next to each other. */
typedef struct card
{
	const char *name;
	int			n;
	pm_sample  *rows;			/* [n] */
	int		   *network;		/* [n] */
	int			networks;
	verdict		before[MAX_COUNTS];
	verdict		after[MAX_COUNTS];
	verdict		chosen[MAX_COUNTS];
} card;

static pm_arena arena;

/* ---- options ---- */

static void
read_counts(job *j, const char *text)
{
	char	   *end;

	for (j->n_counts = 0; *text && j->n_counts < MAX_COUNTS; text = end + strspn(end, " "))
		j->counts[j->n_counts++] = (int) strtol(text, &end, 10);
}

static void
set(job *j, const char *arg)
{
	const char *value = strchr(arg, '=') ? strchr(arg, '=') + 1 : "";

#define IS(name) (strncmp(arg, name "=", strlen(name) + 1) == 0)
	if (IS("rows")) j->rows = value;
	else if (IS("kind")) j->kind = pm_kind_find(value);
	else if (IS("draws")) j->draws = atoi(value);
	else if (IS("seed")) j->seed = strtoull(value, NULL, 10);
	else if (IS("networks")) read_counts(j, value);
	else if (IS("epochs")) j->epochs = value;
	else if (IS("choose")) j->choose = atoi(value) != 0;
	else if (IS("intervals")) j->intervals = atoi(value) != 0;
	else if (IS("format")) j->format = value;
	else if (IS("card")) j->card = value;
	else if (IS("keep")) j->keep = value;
	else if (IS("gpu_csv")) j->gpu_csv = value;
	else
		die(arg, &(pm_status) {.message = "is not an option"});
}

static void
parse(job *j, int argc, char **argv)
{
	pm_setting	settings[2];
	int			n = 1;
	pm_status	st;

	*j = (job) {.kind = pm_kind_find("opclass"), .draws = 20, .seed = 7, .gpu_csv = "data/gpu.csv"};
	read_counts(j, "1 2 5 10 20 40");
	for (int i = 1; i < argc; i++)
		set(j, argv[i]);
	if (!j->rows || !j->kind || j->draws < 1)
		die("usage: probes rows=FOLDER [option=value ...]", NULL);
	read_setting("calibration_folds", strlen("calibration_folds"), j->intervals ? "5" : "0", &arena, &settings[0]);
	if (j->epochs)
		read_setting("epochs", strlen("epochs"), j->epochs, &arena, &settings[n++]);
	if (pm_options_set(j->kind, settings, n, &j->options, &st) != PM_OK)
		die("options", &st);
}

/* ---- cards ---- */

static int
by_network(const void *a, const void *b)
{
	const pm_sample *x = a;
	const pm_sample *y = b;
	uint64_t	s = x->query.graph->structure;
	uint64_t	t = y->query.graph->structure;

	return s != t ? (s < t ? -1 : 1) : (x->id > y->id) - (x->id < y->id);
}

static void
count_networks(card *c)
{
	qsort(c->rows, c->n, sizeof(pm_sample), by_network);
	c->network = PM_NEW(&arena, int, c->n);
	for (int i = 0; i < c->n; i++)
		c->network[i] = i == 0 ? 0 : c->network[i - 1] + (c->rows[i].query.graph->structure != c->rows[i - 1].query.graph->structure);
	c->networks = c->network[c->n - 1] + 1;
}

/* Whether a step is to be measured, or predicted where that was said of the step's network. */
static bool
takes_part(const job *j, const pm_sample *s, bool measured)
{
	return j->format == NULL || (strcmp(pm_dtype_name[s->query.dtype], j->format) == 0) == measured;
}

/* With a format: only the networks that have steps in it and in others. */
static void
drop_networks(const job *j, card *c)
{
	bool	   *of[2] = {PM_NEW(&arena, bool, c->networks), PM_NEW(&arena, bool, c->networks)};
	int			n = 0;

	for (int i = 0; i < c->n; i++)
		for (int measured = 0; measured < 2; measured++)
			of[measured][c->network[i]] |= takes_part(j, &c->rows[i], measured);
	for (int i = 0; i < c->n; i++)
		if (of[0][c->network[i]] && of[1][c->network[i]])
			c->rows[n++] = c->rows[i];
	c->n = n;
	c->networks = 0;
	if (n > 0)
		count_networks(c);
}

static int
find_cards(const job *j, const rows *all, card *cards)
{
	int			n = 0;
	int			kept = 0;

	for (int i = 0; i < all->set.n; i++)
	{
		const pm_gpu *gpu = all->set.samples[i].query.gpu;
		int			at = 0;

		while (at < n && strcmp(cards[at].name, gpu->name) != 0)
			at++;
		if (gpu->is_cpu || at == MAX_CARDS)
			continue;
		if (at == n)
			cards[n++] = (card) {.name = gpu->name, .rows = PM_NEW(&arena, pm_sample, all->set.n)};
		cards[at].rows[cards[at].n++] = all->set.samples[i];
	}
	for (int i = 0; i < n; i++)
	{
		count_networks(&cards[i]);
		drop_networks(j, &cards[i]);
		if (cards[i].networks >= LEAST_NETWORKS)
			cards[kept++] = cards[i];
	}
	return kept;
}

/* ---- predictors ---- */

static bool
read_kept(const char *path, pm_predictor *p)
{
	FILE	   *f = fopen(path, "rb");
	uint8_t    *data;
	size_t		len;
	pm_status	st;

	if (!f)
		return false;
	fseek(f, 0, SEEK_END);
	len = (size_t) ftell(f);
	rewind(f);
	data = pm_alloc(&arena, len, 1);
	if (fread(data, 1, len, f) != len || pm_predictor_load(data, len, &arena, p, &st) != PM_OK)
		die(path, NULL);
	fclose(f);
	return true;
}

static void
keep(const char *path, const pm_predictor *p)
{
	FILE	   *f = fopen(path, "wb");
	uint8_t    *data;
	size_t		len;

	if (!f || pm_predictor_save(p, &arena, &data, &len, NULL) != PM_OK || fwrite(data, 1, len, f) != len || fclose(f) != 0)
		die(path, NULL);
}

/* Of all rows but those of c. */
static pm_predictor
train_without(const job *j, const rows *all, const card *c)
{
	pm_dataset	train = {.samples = PM_NEW(&arena, pm_sample, all->set.n)};
	pm_predictor p;
	pm_fit_report report;
	pm_status	st;
	char		path[512];

	snprintf(path, sizeof(path), "%s/%s without %s", j->keep ? j->keep : "", j->kind->name, c->name);
	if (j->keep && read_kept(path, &p))
		return p;
	for (int i = 0; i < all->set.n; i++)
		if (strcmp(all->set.samples[i].query.gpu->name, c->name) != 0)
			train.samples[train.n++] = all->set.samples[i];
	p = (pm_predictor) {.kind = j->kind, .options = j->options};
	if (pm_predictor_fit(&p, &train, 42, 1, NULL, &arena, &report, &st) != PM_OK)
		die(c->name, &st);
	if (j->keep)
		keep(path, &p);
	return p;
}

/* What p says of the rows of networks that are tested is added to *to. */
static void
add_verdict(const job *j, const pm_predictor *p, const card *c, const bool *tested, verdict *to)
{
	verdict		sum = {0};
	int			n = 0;

	for (int i = 0; i < c->n; i++)
	{
		pm_arena	scratch;
		pm_status	st;
		pm_verdict	v;
		double		ms;
		double		measured = c->rows[i].step_ms;

		if (!tested[c->network[i]] || !takes_part(j, &c->rows[i], false))
			continue;
		pm_arena_init_malloc(&scratch);
		if (pm_predictor_predict(p, &c->rows[i], &scratch, &ms, NULL, NULL, &st) != PM_OK ||
			(j->intervals && pm_predictor_judge(p, &c->rows[i], ms, PM_LEVEL_USUAL, &scratch, &v, &st) != PM_OK))
			die(c->name, &st);
		pm_arena_release(&scratch);
		sum.error += fabs(ms / measured - 1);
		sum.inside += j->intervals && v.low_ms <= measured && measured <= v.high_ms;
		sum.width += j->intervals ? (v.high_ms - v.low_ms) / ms : 0;
		n++;
	}
	to->error += 100 * sum.error / n;
	to->inside += 100 * sum.inside / n;
	to->width += 100 * sum.width / n;
}

/* Errors of p, and of p recalibrated on the measured networks. */
static void
judge(const job *j, const pm_predictor *p, const card *c, const bool *measured, const bool *tested, verdict *before, verdict *after)
{
	pm_dataset	few = {.samples = malloc(c->n * sizeof(pm_sample))};
	pm_predictor fitted;
	pm_recalibration r;
	pm_arena	a;
	pm_status	st;

	for (int i = 0; i < c->n; i++)
		if (measured[c->network[i]] && takes_part(j, &c->rows[i], true))
			few.samples[few.n++] = c->rows[i];
	pm_arena_init_malloc(&a);
	if (pm_recalibrate(p, &few, NULL, NULL, &a, &fitted, &r, &st) != PM_OK)
		die(c->name, &st);
	add_verdict(j, p, c, tested, before);
	add_verdict(j, &fitted, c, tested, after);
	pm_arena_release(&a);
	free(few.samples);
}

/* Which networks are measured, and which are tested, in one draw. */
typedef struct draw
{
	int32_t    *order;			/* [networks] */
	bool	   *measured;
	bool	   *tested;
} draw;

static void
shuffle(const card *c, pm_rng *rng, draw *d)
{
	for (int n = 0; n < c->networks; n++)
		d->order[n] = n;
	pm_rng_shuffle(rng, d->order, c->networks);
}

/* The first k of the order are measured; the others are tested, or the second half is. */
static void
take_first(const job *j, const card *c, int k, draw *d)
{
	for (int n = 0; n < c->networks; n++)
	{
		d->measured[d->order[n]] = n < k;
		d->tested[d->order[n]] = n >= (j->choose ? (c->networks + 1) / 2 : k);
	}
}

/* k networks of the first half of the order, chosen, in place of the first. */
static void
take_chosen(const pm_predictor *p, const card *c, int k, draw *d)
{
	int			rows = 0;
	double	   *z = malloc(c->n * PM_N_FACTORS * sizeof(double));
	double	   *log_ms = malloc(c->n * sizeof(double));
	int64_t    *network = malloc(c->n * sizeof(int64_t));
	int		   *picked = malloc(k * sizeof(int));
	double	   *doubt = malloc((k + 1) * sizeof(double));
	int			n;
	pm_arena	a;
	pm_status	st;

	pm_arena_init_malloc(&a);
	for (int i = 0; i < c->n; i++)
	{
		double		ms;

		if (d->tested[c->network[i]])
			continue;
		if (pm_sensitivity(p, &c->rows[i], NULL, &a, &ms, z + (size_t) rows * PM_N_FACTORS, &st) != PM_OK)
			die(c->name, &st);
		log_ms[rows] = log(ms);
		network[rows++] = c->network[i];
	}
	if (pm_choose_probes(&(pm_probe_questions) {.n = rows, .z = z, .log_ms = log_ms, .network = network}, k, &a, picked, &n, doubt, &st) != PM_OK)
		die(c->name, &st);
	memset(d->measured, 0, c->networks * sizeof(bool));
	for (int i = 0; i < n; i++)
		d->measured[network[picked[i]]] = true;
	pm_arena_release(&a);
	free(z);
	free(log_ms);
	free(network);
	free(picked);
	free(doubt);
}

static void
divide(verdict *v, int n)
{
	v->error /= n;
	v->inside /= n;
	v->width /= n;
}

static void
print_count(const job *j, const card *c, int k)
{
	printf("  %d: %.1f > %.1f", j->counts[k], c->before[k].error, c->after[k].error);
	if (j->choose)
		printf(", chosen %.1f", c->chosen[k].error);
	if (j->intervals)
		printf(" (%.0f of %.0f > %.0f of %.0f)", c->before[k].inside, c->before[k].width, c->after[k].inside, c->after[k].width);
	fflush(stdout);
}

/* Errors for k networks, means over the draws. */
static void
run_count(const job *j, const pm_predictor *p, card *c, int k, draw *d)
{
	pm_rng		rng;
	int			count = j->counts[k];

	if (c->networks < (j->choose ? 2 * count : count + LEFT))
	{
		c->before[k].error = c->after[k].error = c->chosen[k].error = NAN;
		return;
	}
	pm_rng_seed(&rng, j->seed);
	for (int i = 0; i < j->draws; i++)
	{
		verdict		again = {0};

		shuffle(c, &rng, d);
		take_first(j, c, count, d);
		judge(j, p, c, d->measured, d->tested, &c->before[k], &c->after[k]);
		if (!j->choose)
			continue;
		take_chosen(p, c, count, d);
		judge(j, p, c, d->measured, d->tested, &again, &c->chosen[k]);
	}
	divide(&c->before[k], j->draws);
	divide(&c->after[k], j->draws);
	divide(&c->chosen[k], j->draws);
	print_count(j, c, k);
}

static void
run_card(const job *j, const pm_predictor *p, card *c)
{
	draw		d = {PM_NEW(&arena, int32_t, c->networks), PM_NEW(&arena, bool, c->networks), PM_NEW(&arena, bool, c->networks)};
	verdict		sheet = {0};

	memset(d.tested, true, c->networks * sizeof(bool));
	add_verdict(j, p, c, d.tested, &sheet);
	printf("%-26s %4d rows %4d networks, from the sheet %5.1f %%;", c->name, c->n, c->networks, sheet.error);
	for (int k = 0; k < j->n_counts; k++)
		run_count(j, p, c, k, &d);
	printf("\n");
}

/* ---- summary ---- */

static int
by_value(const void *a, const void *b)
{
	return (*(const double *) a > *(const double *) b) - (*(const double *) a < *(const double *) b);
}

static void
print_spread(double *v, int n)
{
	double		sum = 0;

	qsort(v, n, sizeof(double), by_value);
	for (int i = 0; i < n; i++)
		sum += v[i];
	printf(" %5.1f %5.1f %5.1f", n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2, sum / n, v[n - 1]);
}

static void
print_summary(const job *j, const card *cards, int n)
{
	printf("\nnetworks cards  after: median mean worst  before: median mean worst%s%s\n", j->choose ? "  chosen: median mean worst" : "",
		   j->intervals ? "  before: in the interval, width  after: in the interval, width" : "");
	for (int k = 0; k < j->n_counts; k++)
	{
		double		before[MAX_CARDS];
		double		after[MAX_CARDS];
		double		chosen[MAX_CARDS];
		verdict		with[2] = {{0}};
		int			m = 0;

		for (int i = 0; i < n; i++)
			if (!isnan(cards[i].after[k].error))
			{
				before[m] = cards[i].before[k].error;
				chosen[m] = cards[i].chosen[k].error;
				after[m++] = cards[i].after[k].error;
				with[0].inside += cards[i].before[k].inside;
				with[0].width += cards[i].before[k].width;
				with[1].inside += cards[i].after[k].inside;
				with[1].width += cards[i].after[k].width;
			}
		if (m == 0)
			continue;
		printf("%8d %5d ", j->counts[k], m);
		print_spread(after, m);
		printf("  ");
		print_spread(before, m);
		if (j->choose)
		{
			printf("  ");
			print_spread(chosen, m);
		}
		if (j->intervals)
			printf("  %.0f %% %.0f %%  %.0f %% %.0f %%", with[0].inside / m, with[0].width / m, with[1].inside / m, with[1].width / m);
		printf("\n");
	}
}

int
main(int argc, char **argv)
{
	static card cards[MAX_CARDS];
	job			j;
	rows		all = {0};
	char		graphs[512];
	char		profiles[512];
	int			n;
	int			run = 0;

	pm_arena_init_malloc(&arena);
	parse(&j, argc, argv);
	read_gpus(j.gpu_csv, &arena);
	snprintf(graphs, sizeof(graphs), "%s/graphs.ndjson", j.rows);
	snprintf(profiles, sizeof(profiles), "%s/rows.csv", j.rows);
	read_rows(graphs, profiles, &(filter) {0}, NULL, true, &arena, &all);
	n = find_cards(&j, &all, cards);
	for (int i = 0; i < n; i++)
	{
		pm_predictor p;

		if (j.card != NULL && strcmp(j.card, cards[i].name) != 0)
			continue;
		p = train_without(&j, &all, &cards[i]);
		run_card(&j, &p, &cards[i]);
		cards[run++] = cards[i];
	}
	print_summary(&j, cards, run);
	return 0;
}
