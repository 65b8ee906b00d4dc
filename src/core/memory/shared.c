/*
 * shared.c - parameters that several operators use, such as the cell of a
 * recurrent network that is called step by step.
 *
 * A graph names the owner of a shared weight only where the exporter knew it
 * (attrs.tied).  Where the document says that the network has fewer parameters
 * than its nodes add up to, weights of a shape that was there before are taken
 * to be shared, the largest first, until the sum is right.
 */
#include "memory/step_build.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDING	0.002		/* of the sum, that documents may be off by */

typedef struct weight
{
	int32_t		at;				/* in shared, ascending with the nodes */
	double		count;
	uint64_t	shape;
} weight;

bool
pm_step_owns(const pm_step_build *b, int node, int k)
{
	return !b->shared[b->first_weight[node] + k];
}

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
	return (x->at > y->at) - (x->at < y->at);
}

/* Trained weights that nodes own by themselves, and how many weights there are, before anything is shared but what the graph ties. */
static double
number_weights(pm_step_build *b, int *n)
{
	double		sum = 0;

	*n = 0;
	for (int i = 0; i < b->g->n_nodes; i++)
	{
		const pm_node *node = &b->g->nodes[i];

		b->first_weight[i] = *n;
		for (int k = 0; k < node->n_weights; k++)
			if ((k > 0 || node->attrs.tied < 0) && !node->attrs.frozen)
				sum += pm_shape_count(&node->weights[k]);
		*n += node->n_weights;
	}
	return sum;
}

/* Share `excess` parameters among weights of the same shapes. w[n]: for its own use. */
static void
share(pm_step_build *b, weight *w, double excess)
{
	int			n = 0;

	for (int i = 0; i < b->g->n_nodes; i++)
		for (int k = 0; k < b->g->nodes[i].n_weights; k++)
		{
			const pm_shape *s = &b->g->nodes[i].weights[k];

			if (!b->shared[b->first_weight[i] + k] && !b->g->nodes[i].attrs.frozen)
				w[n++] = (weight) {b->first_weight[i] + k, pm_shape_count(s), hash_of(s)};
		}
	qsort(w, (size_t) n, sizeof(weight), by_size);
	for (int i = 1; i < n; i++)
		if (w[i].shape == w[i - 1].shape && w[i].count == w[i - 1].count && w[i].count <= excess)
		{
			b->shared[w[i].at] = true;
			excess -= w[i].count;
		}
}

void
pm_step_find_shared(pm_step_build *b)
{
	int			n;
	double		sum;
	weight	   *w;

	b->first_weight = PM_NEW(b->arena, int32_t, b->g->n_nodes + 1);
	if (b->first_weight == NULL)
	{
		b->failed = true;
		return;
	}
	sum = number_weights(b, &n);
	b->shared = PM_NEW(b->arena, bool, n + 1);
	if (b->shared == NULL)
	{
		b->failed = true;
		return;
	}
	for (int i = 0; i < b->g->n_nodes; i++)
		if (b->g->nodes[i].n_weights > 0 && b->g->nodes[i].attrs.tied >= 0)
			b->shared[b->first_weight[i]] = true;
	if (!(sum > b->g->declared_params * (1 + ROUNDING)))
		return;
	w = PM_NEW(b->arena, weight, n + 1);
	if (w == NULL)
		b->failed = true;
	else
		share(b, w, sum - b->g->declared_params * (1 - ROUNDING));
}
