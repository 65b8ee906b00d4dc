/*
 * sequence.c - a topological order that does not depend on node numbers.
 *
 * Kahn's algorithm with a stack: what an operator makes ready runs next, so
 * that a branch runs to its join before another begins.
 */
#include "graph/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "graph/op_geometry.h"

typedef struct ready
{
	int32_t		height;
	int32_t		op;
	uint64_t	hash;
} ready;

/* Towards the top of the stack: greater height, then greater hash. */
static int
by_turn(const void *a, const void *b)
{
	const ready *x = a;
	const ready *y = b;

	if (x->height != y->height)
		return x->height < y->height ? -1 : 1;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return y->op - x->op;		/* alike in every way: the order does not show */
}

/*
 * What the operator is, whatever the batch and the device: else neighbouring
 * batch sizes could be put in different orders.
 */
static uint64_t
operator_hash(const pm_graph *g, int node)
{
	double		elements = pm_node_count(&g->nodes[node], 1);
	uint64_t	h = pm_hash(PM_HASH_INIT, &g->nodes[node].op, sizeof(g->nodes[node].op));
	pm_geometry geo;

	pm_node_geometry(g, node, 1, &geo);
	h = pm_hash(h, &elements, sizeof(elements));
	/* the numbers between its first and its last field, which have no gaps */
	return pm_mix(pm_hash(h, (const char *) &geo + offsetof(pm_geometry, in_ch),
						  offsetof(pm_geometry, has_bias) - offsetof(pm_geometry, in_ch)));
}

/* hash[i]: the operator, everything below it and everything above it; sums, so that order does not matter. */
static pm_code
hash_operators(const pm_graph *g, const pm_dag *d, const pm_arena *a, uint64_t *hash, uint64_t *below, pm_status *st)
{
	for (int i = d->n - 1; i >= 0; i--)
	{
		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		below[i] = operator_hash(g, d->node[i]);
		for (int e = d->child_at[i]; e < d->child_at[i + 1]; e++)
			below[i] += pm_mix(below[d->child[e]] + 1);
	}
	for (int i = 0; i < d->n; i++)
	{
		hash[i] = below[i];
		for (int e = d->parent_at[i]; e < d->parent_at[i + 1]; e++)
			hash[i] += pm_mix(hash[d->parent[e]] + 2);
	}
	return PM_OK;
}

double
pm_sequence_memory(const pm_dag *d)
{
	return (double) d->n * (2 * sizeof(uint64_t) + sizeof(ready) + 2 * sizeof(int32_t));
}

pm_code
pm_sequence(const pm_graph *g, const pm_dag *d, pm_arena *a, int32_t **order, pm_status *st)
{
	uint64_t   *hash = PM_NEW(a, uint64_t, d->n);
	uint64_t   *below = PM_NEW(a, uint64_t, d->n);
	ready	   *stack = PM_NEW(a, ready, d->n);
	int32_t    *waits = PM_NEW(a, int32_t, d->n);
	int			top = 0;
	pm_code		code;

	*order = PM_NEW(a, int32_t, d->n);
	if (!hash || !below || !stack || !waits || !*order)
		return pm_no_memory(st, a);
	code = hash_operators(g, d, a, hash, below, st);
	if (code != PM_OK)
		return code;
	for (int i = 0; i < d->n; i++)
		if ((waits[i] = d->parent_at[i + 1] - d->parent_at[i]) == 0)
			stack[top++] = (ready) {d->height[i], i, hash[i]};
	qsort(stack, top, sizeof(ready), by_turn);
	for (int at = 0; top > 0; at++)
	{
		int			i = (*order)[at] = stack[--top].op;
		int			from = top;

		for (int e = d->child_at[i]; e < d->child_at[i + 1]; e++)
			if (--waits[d->child[e]] == 0)
				stack[top++] = (ready) {d->height[d->child[e]], d->child[e], hash[d->child[e]]};
		qsort(stack + from, top - from, sizeof(ready), by_turn);
	}
	return PM_OK;
}
