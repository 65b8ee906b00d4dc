/*
 * split.c - counts structures, and divides rows into folds.
 */
#include "features/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/metrics.h"
#include "features/split_far.h"

static int
by_number(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

int
pm_count_different(uint64_t *v, int n)
{
	int			different = 0;

	qsort(v, n, sizeof(uint64_t), by_number);
	for (int i = 0; i < n; i++)
		different += i == 0 || v[i] != v[i - 1];
	return different;
}

/* How many of sorted[n] are below v. */
static int
count_below(const uint64_t *sorted, int n, uint64_t v)
{
	int			low = 0;

	while (low < n)
	{
		int			middle = low + (n - low) / 2;

		if (sorted[middle] < v)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

int
pm_count_same(const uint64_t *v, int n, uint64_t *sorted, int *same)
{
	int			different;

	if (n > 0)
		memcpy(sorted, v, n * sizeof(uint64_t));
	different = pm_count_different(sorted, n);
	for (int i = 0; i < n; i++)
		same[i] = (v[i] < UINT64_MAX ? count_below(sorted, n, v[i] + 1) : n) - count_below(sorted, n, v[i]);
	return different;
}

int
pm_count_structures(const pm_dataset *d, uint64_t *found)
{
	for (int i = 0; i < d->n; i++)
		found[i] = d->samples[i].query.graph->structure;
	return pm_count_different(found, d->n);
}

uint64_t
pm_transfer_key(const pm_sample *s)
{
	return pm_mix(s->query.graph->structure) ^ pm_hash(PM_HASH_INIT, s->query.gpu->name, strlen(s->query.gpu->name));
}

const char *const pm_split_name[PM_N_SPLITS] = {"structure", "family", "batch", "gpu", "far", "transfer"};

int
pm_split_parse(const char *s)
{
	for (int i = 0; i < PM_N_SPLITS; i++)
		if (strcmp(s, pm_split_name[i]) == 0)
			return i;
	return -1;
}

/* ---- folds ---- */

/* Rows with the same key stay together; order decides how keys are dealt. */
typedef struct card
{
	uint64_t	key;
	uint64_t	order;
	int			row;
} card;

static int
by_order(const void *a, const void *b)
{
	const card *x = a;
	const card *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->row - y->row;
}

static uint64_t
row_key(pm_split split, const pm_sample *s)
{
	if (split == PM_SPLIT_STRUCTURE)
		return s->query.graph->structure;
	if (split == PM_SPLIT_GPU)
		return pm_hash(PM_HASH_INIT, s->query.gpu->name, strlen(s->query.gpu->name));
	if (split == PM_SPLIT_TRANSFER)
		return pm_transfer_key(s);
	return pm_hash(PM_HASH_INIT, s->query.graph->family, strlen(s->query.graph->family));
}

/* Rows of one key: cards[from..from + n). */
typedef struct group
{
	int			from;
	int			n;
} group;

static int
largest_first(const void *a, const void *b)
{
	const group *x = a;
	const group *y = b;

	return x->n != y->n ? y->n - x->n : x->from - y->from;
}

/* Cards in an order that the seed decides, those of a key together; returns how many keys there are. */
static int
shuffle(pm_split split, uint64_t seed, const pm_dataset *d, card *cards, group *groups)
{
	int			n = 0;

	for (int i = 0; i < d->n; i++)
	{
		cards[i].key = row_key(split, &d->samples[i]);
		cards[i].order = pm_mix(cards[i].key ^ pm_mix(seed));
		cards[i].row = i;
	}
	qsort(cards, d->n, sizeof(card), by_order);
	for (int i = 0; i < d->n; i++)
	{
		if (i == 0 || cards[i].key != cards[i - 1].key)
			groups[n++] = (group) {.from = i};
		groups[n - 1].n++;
	}
	return n;
}

/* The fold that has the fewest rows; the first of those. */
static int
lightest(const int *rows, int folds)
{
	int			best = 0;

	for (int i = 1; i < folds; i++)
		if (rows[i] < rows[best])
			best = i;
	return best;
}

/*
 * Deal groups of rows to folds: families, which differ in size, the largest
 * first and each to the fold with the fewest rows; others round robin.
 */
static pm_code
deal_groups(pm_split split, int folds, const card *cards, group *groups, int n, pm_arena *a, int *fold_of, pm_status *st)
{
	int		   *rows = PM_NEW(a, int, folds);

	if (!rows)
		return pm_no_memory(st, a);
	if (split == PM_SPLIT_FAMILY)
		qsort(groups, n, sizeof(group), largest_first);
	for (int i = 0; i < n; i++)
	{
		int			fold = split == PM_SPLIT_FAMILY ? lightest(rows, folds) : i % folds;

		rows[fold] += groups[i].n;
		for (int k = 0; k < groups[i].n; k++)
			fold_of[cards[groups[i].from + k].row] = fold;
	}
	return PM_OK;
}

static pm_code
too_few_groups(pm_split split, int folds, int groups, pm_status *st)
{
	if (folds <= 0)
		return pm_fail(st, PM_ERR_DATA, "split \"%s\" needs measurements of at least 2 devices, and there are those of %d",
					   pm_split_name[split], groups);
	if (split == PM_SPLIT_TRANSFER)
		return pm_fail(st, PM_ERR_DATA, "split \"%s\" needs at least %d pairs of a network and a device, one for each fold, of networks "
					   "that were measured on 2 devices or more; there %s %d", pm_split_name[split], folds, groups == 1 ? "is" : "are", groups);
	pm_fail(st, PM_ERR_DATA, "split \"%s\" needs at least %d groups of measurements, one for each fold; there %s %d",
			pm_split_name[split], folds, groups == 1 ? "is" : "are", groups);
	pm_hint(st, groups >= 2 ? "Choose fewer folds, or add measurements." : "Add measurements.");
	return PM_ERR_DATA;
}

/* folds 0: one for each group. */
static pm_code
deal(pm_split split, int folds, uint64_t seed, const pm_dataset *d, pm_arena *a,
	 int *fold_of, int *n_folds, pm_status *st)
{
	card	   *cards = PM_NEW(a, card, d->n);
	group	   *groups = PM_NEW(a, group, d->n);
	int			n;

	if (!cards || !groups)
		return pm_no_memory(st, a);
	n = shuffle(split, seed, d, cards, groups);
	*n_folds = folds > 0 ? folds : n;
	if (n < 2 || n < *n_folds)
		return too_few_groups(split, folds, n, st);
	return deal_groups(split, *n_folds, cards, groups, n, a, fold_of, st);
}

/* Small batches train, larger than the median test. */
static pm_code
split_batch(const pm_dataset *d, pm_arena *a, int *fold_of, int *n_folds, pm_status *st)
{
	double	   *batch = PM_NEW(a, double, d->n);
	int			tested = 0;
	double		median;

	if (!batch)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
		batch[i] = (double) d->samples[i].query.batch;
	pm_sort(batch, d->n);
	median = d->n > 0 ? pm_percentile(batch, d->n, 0.5) : 0;
	for (int i = 0; i < d->n; i++)
	{
		bool		large = d->samples[i].query.batch > median;

		fold_of[i] = large ? 0 : -1;
		tested += large;
	}
	*n_folds = 1;
	if (tested == 0)
		return pm_fail(st, PM_ERR_DATA, "split \"batch\" needs rows with different batch sizes");
	return PM_OK;
}

/* A row's network and card. */
typedef struct cell
{
	uint64_t	structure;
	uint64_t	gpu;			/* hash of the name */
	int			row;
} cell;

static int
by_cell(const void *a, const void *b)
{
	const cell *x = a;
	const cell *y = b;

	if (x->structure != y->structure)
		return x->structure < y->structure ? -1 : 1;
	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	return x->row - y->row;
}

/* Rows of networks that were measured on two cards or more, in the order of d: row[]; returns how many. */
static int
rows_on_several_cards(const pm_dataset *d, cell *cells, int *row)
{
	int			n = 0;

	for (int i = 0; i < d->n; i++)
	{
		const pm_question *q = &d->samples[i].query;

		cells[i] = (cell) {q->graph->structure, pm_hash(PM_HASH_INIT, q->gpu->name, strlen(q->gpu->name)), i};
		row[i] = -1;
	}
	qsort(cells, d->n, sizeof(cell), by_cell);
	for (int i = 0, end; i < d->n; i = end)
	{
		for (end = i; end < d->n && cells[end].structure == cells[i].structure; end++)
			;
		for (int k = i; k < end && cells[i].gpu != cells[end - 1].gpu; k++)
			row[cells[k].row] = 0;
	}
	for (int i = 0; i < d->n; i++)
		if (row[i] == 0)
			row[n++] = i;
	return n;
}

/* Networks on one card are dealt; rows of networks that were measured on one card alone always train. */
static pm_code
split_transfer(int folds, uint64_t seed, const pm_dataset *d, pm_arena *a, int *fold_of, int *n_folds, pm_status *st)
{
	pm_dataset	several = {.samples = PM_NEW(a, pm_sample, d->n)};
	cell	   *cells = PM_NEW(a, cell, d->n);
	int		   *row = PM_NEW(a, int, d->n);
	int		   *fold = PM_NEW(a, int, d->n);
	pm_code		rc;

	if (!several.samples || !cells || !row || !fold)
		return pm_no_memory(st, a);
	several.n = rows_on_several_cards(d, cells, row);
	for (int i = 0; i < several.n; i++)
		several.samples[i] = d->samples[row[i]];
	if ((rc = deal(PM_SPLIT_TRANSFER, folds, seed, &several, a, fold, n_folds, st)) != PM_OK)
		return rc;
	for (int i = 0; i < d->n; i++)
		fold_of[i] = -1;
	for (int i = 0; i < several.n; i++)
		fold_of[row[i]] = fold[i];
	return PM_OK;
}

pm_code
pm_split_assign(pm_split split, int folds, uint64_t seed, const pm_dataset *d,
				pm_arena *a, int *fold_of, int *n_folds, pm_status *st)
{
	if (split == PM_SPLIT_BATCH)
		return split_batch(d, a, fold_of, n_folds, st);
	if (split == PM_SPLIT_GPU)
		folds = 0;
	else if (folds < 2)
		return pm_fail(st, PM_ERR_OPTION, "folds must be at least 2");
	if (split == PM_SPLIT_FAR)
	{
		*n_folds = folds;
		return pm_split_far(folds, d, a, fold_of, st);
	}
	if (split == PM_SPLIT_TRANSFER)
		return split_transfer(folds, seed, d, a, fold_of, n_folds, st);
	return deal(split, folds, seed, d, a, fold_of, n_folds, st);
}

/* ---- forward passes ---- */

static bool
goes_with(pm_split split, const pm_question *step, const pm_question *pass)
{
	bool		same_gpu = strcmp(step->gpu->name, pass->gpu->name) == 0;
	bool		same_network = step->graph->structure == pass->graph->structure;

	if (split == PM_SPLIT_GPU)
		return same_gpu;
	if (split == PM_SPLIT_FAMILY)
		return same_network || strcmp(step->graph->family, pass->graph->family) == 0;
	return same_network && (split != PM_SPLIT_TRANSFER || same_gpu);
}

int
pm_split_fold_of_pass(pm_split split, const pm_dataset *d, const int *fold_of, const pm_sample *pass)
{
	int64_t		largest = 0;

	for (int i = 0; i < d->n; i++)
	{
		const pm_question *q = &d->samples[i].query;

		if (split == PM_SPLIT_BATCH && fold_of[i] < 0 && q->batch > largest)
			largest = q->batch;
		if (split != PM_SPLIT_BATCH && fold_of[i] >= 0 && goes_with(split, q, &pass->query))
			return fold_of[i];
	}
	return split == PM_SPLIT_BATCH && pass->query.batch > largest ? 0 : -1;
}
