/*
 * forest.c - trees that grow by the split of rows that lowers the sum of
 * squares most.
 */
#include "memory/forest.h"

#include <stdlib.h>
#include <string.h>

#define TREES	100

/* Rows below the split go left. */
typedef struct node
{
	int32_t		feature;		/* -1: a leaf */
	int32_t		left,
				right;
	double		split;
	double		mean;
} node;

struct pm_forest
{
	node	   *trees[TREES];
};

typedef struct pair
{
	double		x;
	double		y;
} pair;

/* Rows [from, to) of `rows` belong to a node. */
typedef struct grower
{
	const double *x;
	const double *y;
	int			n_features;
	int32_t    *rows;
	pair	   *pairs;			/* for a node's use */
	node	   *nodes;
	int			n_nodes;
} grower;

/* A node that is not yet split. */
typedef struct open_node
{
	int32_t		node;
	int32_t		from,
				to;
} open_node;

static int
by_x(const void *a, const void *b)
{
	double		x = ((const pair *) a)->x;
	double		y = ((const pair *) b)->x;

	return (x > y) - (x < y);
}

/* The best split of rows [from, to) by one feature: returns how much it is worth, -1 when there is none. */
static double
best_of_feature(grower *g, int from, int to, int feature, double *split)
{
	int			n = to - from;
	double		all = 0;
	double		left = 0;
	double		best = -1;

	for (int i = 0; i < n; i++)
	{
		int			row = g->rows[from + i];

		g->pairs[i] = (pair) {g->x[row * g->n_features + feature], g->y[row]};
		all += g->pairs[i].y;
	}
	qsort(g->pairs, (size_t) n, sizeof(pair), by_x);
	for (int i = 1; i < n; i++)
	{
		double		worth;

		left += g->pairs[i - 1].y;
		if (g->pairs[i].x <= g->pairs[i - 1].x)
			continue;
		worth = left * left / i + (all - left) * (all - left) / (n - i) - all * all / n;
		if (worth > best)
		{
			best = worth;
			*split = g->pairs[i - 1].x / 2 + g->pairs[i].x / 2;
			/* of neighbours the middle may be the left one */
			if (*split <= g->pairs[i - 1].x)
				*split = g->pairs[i].x;
		}
	}
	return best;
}

/* Rows below the split come first; returns where the others begin. */
static int
partition(grower *g, int from, int to, int feature, double split)
{
	int			at = from;

	for (int i = from; i < to; i++)
		if (g->x[g->rows[i] * g->n_features + feature] < split)
		{
			int32_t		row = g->rows[i];

			g->rows[i] = g->rows[at];
			g->rows[at++] = row;
		}
	return at;
}

static double
mean_of(const grower *g, int from, int to)
{
	double		sum = 0;

	for (int i = from; i < to; i++)
		sum += g->y[g->rows[i]];
	return sum / (to - from);
}

static bool
all_alike(const grower *g, int from, int to)
{
	for (int i = from + 1; i < to; i++)
		if (g->y[g->rows[i]] != g->y[g->rows[from]])
			return false;
	return true;
}

/* Split a node, or make it a leaf; the two new ones come to the end of open[]. Returns how many are open. */
static int
grow_node(grower *g, open_node *open, int n_open)
{
	open_node	o = open[--n_open];
	node	   *t = &g->nodes[o.node];
	double		best = 0;
	int			middle;

	*t = (node) {.feature = -1, .mean = mean_of(g, o.from, o.to)};
	if (o.to - o.from < 2 || all_alike(g, o.from, o.to))
		return n_open;
	for (int f = 0; f < g->n_features; f++)
	{
		double		split = 0;
		double		worth = best_of_feature(g, o.from, o.to, f, &split);

		if (worth > best)
		{
			best = worth;
			t->feature = f;
			t->split = split;
		}
	}
	if (t->feature < 0)
		return n_open;
	middle = partition(g, o.from, o.to, t->feature, t->split);
	t->left = g->n_nodes++;
	t->right = g->n_nodes++;
	open[n_open++] = (open_node) {t->left, o.from, middle};
	open[n_open++] = (open_node) {t->right, middle, o.to};
	return n_open;
}

pm_code
pm_forest_fit(const double *x, const double *y, int n, int n_features, uint64_t seed, pm_arena *a, const pm_forest **forest,
			  pm_status *st)
{
	grower		g = {.x = x, .y = y, .n_features = n_features};
	pm_forest  *f = PM_NEW(a, pm_forest, 1);
	open_node  *open = PM_NEW(a, open_node, n + 1);
	pm_rng		r;

	g.rows = PM_NEW(a, int32_t, n);
	g.pairs = PM_NEW(a, pair, n);
	g.nodes = PM_NEW(a, node, 2 * n);
	if (f == NULL || open == NULL || g.rows == NULL || g.pairs == NULL || g.nodes == NULL)
		return pm_no_memory(st, a);
	pm_rng_seed(&r, seed);
	for (int t = 0; t < TREES; t++)
	{
		int			n_open = 1;

		for (int i = 0; i < n; i++)
			g.rows[i] = (int32_t) (pm_rng_next(&r) % (uint64_t) n);
		g.n_nodes = 1;
		open[0] = (open_node) {0, 0, n};
		while (n_open > 0)
		{
			n_open = grow_node(&g, open, n_open);
			if (pm_stopped(a, st))
				return PM_CANCELLED;
		}
		if ((f->trees[t] = PM_NEW(a, node, g.n_nodes)) == NULL)
			return pm_no_memory(st, a);
		memcpy(f->trees[t], g.nodes, sizeof(node) * (size_t) g.n_nodes);
	}
	*forest = f;
	return PM_OK;
}

double
pm_forest_at(const pm_forest *forest, const double *x)
{
	double		sum = 0;

	for (int t = 0; t < TREES; t++)
	{
		const node *at = forest->trees[t];

		while (at->feature >= 0)
			at = &forest->trees[t][x[at->feature] < at->split ? at->left : at->right];
		sum += at->mean;
	}
	return sum / TREES;
}
