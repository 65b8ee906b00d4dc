/*
 * folds.c - how rows are cut into training and test.
 *
 * Splits that the library knows are the library's (pm_split_assign).  Two are
 * added: one fold for each of the ten largest families, and one for each model.
 */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST		10
#define MAX_GROUPS	4096

/* A family or model and its rows that may be tested. */
typedef struct group
{
	const char *name;
	int			n;
} group;

static const char *
numbered(pm_arena *a, int i)
{
	char		text[16];

	snprintf(text, sizeof(text), "%d", i);
	return pm_strdup(a, text, strlen(text));
}

/* The library's split over the rows that may be tested; the others keep -1. */
static void
cut_by_library(int split, int n_folds, uint64_t seed, const rows *r, pm_arena *a, folds *f)
{
	pm_dataset	tested = {.samples = PM_NEW(a, pm_sample, r->set.n)};
	int		   *fold = PM_NEW(a, int, r->set.n);
	pm_status	st;
	int			n = 0;

	for (int i = 0; i < r->set.n; i++)
		if (r->may_test[i])
			tested.samples[tested.n++] = r->set.samples[i];
	if (pm_split_assign((pm_split) split, n_folds, seed, &tested, a, fold, &f->n, &st) != PM_OK)
		die(pm_split_name[split], &st);
	for (int i = 0; i < r->set.n; i++)
		if (r->may_test[i])
			f->fold_of[i] = fold[n++];
	f->name = PM_NEW(a, const char *, f->n);
	for (int i = 0; i < f->n; i++)
		f->name[i] = numbered(a, i);
}

static const char *
group_name(const rows *r, int i, bool models)
{
	return models ? r->set.samples[i].query.graph->model : r->family[i];
}

static int
by_size(const void *a, const void *b)
{
	const group *x = a;
	const group *y = b;

	return x->n != y->n ? y->n - x->n : strcmp(x->name, y->name);
}

static int
find_group(const group *g, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(g[i].name, name) == 0)
			return i;
	return -1;
}

/* One fold a group, the largest first. */
static void
cut_by_group(bool models, int most, const rows *r, pm_arena *a, folds *f)
{
	group	   *g = PM_NEW(a, group, MAX_GROUPS);
	int			n = 0;

	for (int i = 0; i < r->set.n; i++)
	{
		int			at = r->may_test[i] ? find_group(g, n, group_name(r, i, models)) : 0;

		if (at < 0 && n == MAX_GROUPS)
			die("too many groups", NULL);
		if (at < 0)
			g[at = n++].name = group_name(r, i, models);
		g[at].n += r->may_test[i];
	}
	qsort(g, n, sizeof(group), by_size);
	f->n = n < most ? n : most;
	f->name = PM_NEW(a, const char *, f->n);
	for (int i = 0; i < f->n; i++)
		f->name[i] = g[i].name;
	for (int i = 0; i < r->set.n; i++)
		if (r->may_test[i])
			f->fold_of[i] = find_group(g, f->n, group_name(r, i, models));
}

void
cut_folds(const char *split, int n_folds, uint64_t seed, const rows *r, pm_arena *a, folds *f)
{
	int			known = pm_split_parse(split);

	f->fold_of = PM_NEW(a, int, r->set.n);
	for (int i = 0; i < r->set.n; i++)
		f->fold_of[i] = -1;
	/* the same network at other batches and on other devices is what these are about */
	f->drop_twins = known != PM_SPLIT_BATCH && known != PM_SPLIT_GPU && known != PM_SPLIT_TRANSFER;
	if (known >= 0)
		cut_by_library(known, n_folds, seed, r, a, f);
	else if (strcmp(split, "family10") == 0)
		cut_by_group(false, LARGEST, r, a, f);
	else if (strcmp(split, "model") == 0)
		cut_by_group(true, MAX_GROUPS, r, a, f);
	else
		die("split is one of structure, family, far, family10, model, batch, gpu, transfer", NULL);
}

/* ---- training rows ---- */

static uint64_t
structure_of(const pm_sample *s)
{
	return s->query.graph->structure;
}

static int
by_hash(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static bool
contains(const uint64_t *sorted, int n, uint64_t x)
{
	return bsearch(&x, sorted, n, sizeof(uint64_t), by_hash) != NULL;
}

/* Sort and drop what is there twice; the new length. */
static int
make_set(uint64_t *v, int n)
{
	int			kept = 0;

	qsort(v, n, sizeof(uint64_t), by_hash);
	for (int i = 0; i < n; i++)
		if (kept == 0 || v[kept - 1] != v[i])
			v[kept++] = v[i];
	return kept;
}

int
count_structures(const pm_dataset *d)
{
	uint64_t   *v = malloc((d->n + 1) * sizeof(uint64_t));
	int			n;

	for (int i = 0; i < d->n; i++)
		v[i] = structure_of(&d->samples[i]);
	n = make_set(v, d->n);
	free(v);
	return n;
}

/* Keep the first part of the structures in an order that the seed decides. */
static void
thin(pm_dataset *d, int part, uint64_t seed, pm_arena *a)
{
	uint64_t   *order = PM_NEW(a, uint64_t, d->n + 1);
	uint64_t	salt = pm_mix(seed + 1000);
	uint64_t	last;
	int			n;
	int			kept = 0;

	for (int i = 0; i < d->n; i++)
		order[i] = pm_mix(structure_of(&d->samples[i]) ^ salt);
	n = make_set(order, d->n);
	last = order[(n * part + 99) / 100 - 1];
	for (int i = 0; i < d->n; i++)
		if (pm_mix(structure_of(&d->samples[i]) ^ salt) <= last)
			d->samples[kept++] = d->samples[i];
	d->n = kept;
}

pm_dataset
training_rows(const rows *r, const folds *f, int fold, int part, uint64_t seed, pm_arena *a, int *twins)
{
	pm_dataset	d = {.samples = PM_NEW(a, pm_sample, r->set.n), .n_operators = r->set.n_operators,
		.operators = r->set.operators};
	uint64_t   *tested = PM_NEW(a, uint64_t, r->set.n + 1);
	int			n = 0;

	for (int i = 0; i < r->set.n; i++)
		if (f->fold_of[i] == fold)
			tested[n++] = structure_of(&r->set.samples[i]);
	n = make_set(tested, n);
	*twins = 0;
	for (int i = 0; i < r->set.n; i++)
	{
		if (f->fold_of[i] == fold)
			continue;
		if (f->drop_twins && contains(tested, n, structure_of(&r->set.samples[i])))
			(*twins)++;
		else
			d.samples[d.n++] = r->set.samples[i];
	}
	if (part < 100 && d.n > 0)
		thin(&d, part, seed, a);
	return d;
}
