/*
 * sharing.c - which weights another node owns.
 */
#include "graph/sharing.h"

#include <stdlib.h>

#define ROUNDING	0.002		/* of the sum, that documents may be off by */

typedef struct weight
{
	int32_t		node;
	int32_t		k;				/* of its weights */
	double		count;
	uint64_t	shape;
} weight;

static uint64_t
hash_of(const pm_shape *s)
{
	uint64_t	h = (uint64_t) s->rank;

	for (int d = 0; d < s->rank; d++)
		h = pm_mix(h ^ (uint64_t) s->dim[d]);
	return h;
}

/* The largest first; of one shape, in the order of the nodes. */
static int
by_size(const void *a, const void *b)
{
	const weight *x = a;
	const weight *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->shape != y->shape)
		return x->shape < y->shape ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->k > y->k) - (x->k < y->k);
}

/* Trained weights, and what they add up to, before anything is shared but what the graph ties. */
static double
sum_trained(const pm_graph *g, int *n)
{
	double		sum = 0;

	*n = 0;
	for (int i = 0; i < g->n_nodes; i++)
	{
		const pm_node *node = &g->nodes[i];

		if (node->attrs.frozen)
			continue;
		sum += pm_node_params(node);
		*n += node->n_weights;
	}
	return sum;
}

static pm_code
say_shared(pm_graph *g, int node, int k, pm_arena *a, pm_status *st)
{
	pm_node    *n = &g->nodes[node];

	if (n->shared == NULL && (n->shared = PM_NEW(a, bool, n->n_weights)) == NULL)
		return pm_no_memory(st, a);
	n->shared[k] = true;
	return PM_OK;
}

/* Share `excess` parameters, give or take `slack`, among weights of the same shapes. w[]: room for all weights. */
static pm_code
share(pm_graph *g, weight *w, double excess, double slack, pm_arena *a, pm_status *st)
{
	int			n = 0;
	pm_code		rc = PM_OK;

	for (int i = 0; i < g->n_nodes; i++)
		for (int k = 0; k < g->nodes[i].n_weights; k++)
			if (pm_node_owns(&g->nodes[i], k) && !g->nodes[i].attrs.frozen)
				w[n++] = (weight) {i, k, pm_shape_count(&g->nodes[i].weights[k]), hash_of(&g->nodes[i].weights[k])};
	qsort(w, (size_t) n, sizeof(weight), by_size);
	for (int i = 1; i < n && excess > slack && rc == PM_OK; i++)
		if (w[i].shape == w[i - 1].shape && w[i].count == w[i - 1].count && w[i].count <= excess)
		{
			rc = say_shared(g, w[i].node, w[i].k, a, st);
			excess -= w[i].count;
		}
	return rc;
}

pm_code
pm_graph_find_shared(pm_graph *g, pm_arena *a, pm_status *st)
{
	int			n;
	double		sum;
	double		excess;
	double		slack;
	pm_arena	scratch;
	weight	   *w;
	pm_code		rc = PM_OK;

	for (int i = 0; i < g->n_nodes && rc == PM_OK; i++)
		if (g->nodes[i].n_weights > 0 && g->nodes[i].attrs.tied >= 0)
			rc = say_shared(g, i, 0, a, st);
	if (rc != PM_OK)
		return rc;
	sum = sum_trained(g, &n);
	excess = sum - g->declared_params;
	slack = ROUNDING * g->declared_params;
	if (!(excess > slack))
		return PM_OK;
	pm_arena_init_within(&scratch, a);
	w = PM_NEW(&scratch, weight, n);
	rc = w == NULL ? pm_no_memory(st, &scratch) : share(g, w, excess, slack, a, st);
	pm_arena_release(&scratch);
	return rc;
}
