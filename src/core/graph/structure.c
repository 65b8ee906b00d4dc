/*
 * structure.c - the hash of a graph's structure.
 *
 * A view moves no data, so it is no work and does not count: its readers read
 * what it looks at.  A detach() counts, because it saves a backward pass.  The shape a reader sees is part of the reader's hash, so
 * two graphs that differ in a way that changes work differ in their hash, while
 * exporters that only spell the same reinterpretation in other steps agree.
 */
#include "graph/structure.h"

#include <math.h>
#include <string.h>

#include "graph/op_catalogue.h"

static uint64_t
fold(uint64_t h, uint64_t v)
{
	return pm_mix(h * UINT64_C(0x9e3779b97f4a7c15) + (v ^ UINT64_C(0x2545f4914f6cdd1d)));
}

static uint64_t
fold_shape(uint64_t h, const pm_shape *s)
{
	h = fold(h, (uint64_t) s->rank);
	for (int i = 0; i < s->rank; i++)
		h = fold(h, (uint64_t) s->dim[i]);
	return h;
}

static uint64_t
fold_shapes(uint64_t h, int n, const pm_shape *shapes)
{
	h = fold(h, (uint64_t) n);
	for (int i = 0; i < n; i++)
		h = fold_shape(h, &shapes[i]);
	return h;
}

static uint64_t
fold_attrs(uint64_t h, const pm_attrs *a)
{
	h = fold(h, (uint64_t) a->spatial);
	for (int i = 0; i < a->spatial; i++)
	{
		h = fold(h, (uint64_t) a->kernel[i]);
		h = fold(h, (uint64_t) a->stride[i]);
		h = fold(h, (uint64_t) a->pad[i]);
		h = fold(h, (uint64_t) a->dilation[i]);
	}
	h = fold(h, (uint64_t) a->group);
	h = fold(h, (uint64_t) a->axis);
	h = fold(h, (uint64_t) a->hidden_size);
	h = fold(h, (uint64_t) a->num_layers);
	h = fold(h, (uint64_t) a->num_heads);
	if (a->flash != 0)
		h = fold(h, (uint64_t) a->flash);
	if (a->window != 0)
		h = fold(fold(h, UINT64_C(0x77)), (uint64_t) a->window);	/* no release of FlashAttention */
	if (!isnan(a->alpha))
		h = pm_hash(h, &a->alpha, sizeof(a->alpha));
	return fold(h, (a->bidirectional ? 1u : 0u) | (a->tied >= 0 ? 2u : 0u) | (a->requires_grad ? 4u : 0u) |
				(a->is_causal ? 8u : 0u) | (a->frozen ? 16u : 0u) | (a->plain ? 32u : 0u) | (a->complex ? 64u : 0u) |
				(a->sparse ? 128u : 0u));
}

/* What a node is, its inputs aside.  Aliases of an operator hash alike. */
static uint64_t
own_hash(const pm_node *n)
{
	const char *name = n->op == PM_OP_UNKNOWN ? n->op_name : pm_op_name(n->op);
	uint64_t	h = pm_hash(PM_HASH_INIT, name, strlen(name));

	h = fold_shape(h, &n->shape);
	h = fold_shapes(h, n->n_shapes, n->shapes);
	h = fold(h, (uint64_t) (n->batch_dim + 1));
	h = fold_attrs(h, &n->attrs);
	h = fold_shapes(h, n->n_weights, n->weights);
	return fold_shapes(h, n->n_consts, n->consts);
}

static bool
is_nothing(const pm_node *n)
{
	return n->view && !pm_op_detaches(n->op);
}

/* What a reader sees of producer p: the shape read and the memory behind it. */
static uint64_t
fold_read(uint64_t h, const pm_graph *g, const pm_node *p)
{
	const pm_node *m = &g->nodes[p->memory];

	h = fold_shape(h, &p->shape);
	h = fold(h, (uint64_t) (p->batch_dim + 1));
	h = fold(h, (uint64_t) (int64_t) fmin(pm_shape_count(&m->shape), 0x1p62));
	return fold(h, (uint64_t) (m->batch_dim >= 0));
}

/* Upward hash of node i: itself and all that leads to it. up: of all nodes before it. */
static uint64_t
upward(const pm_graph *g, int i, const uint64_t *up)
{
	const pm_node *n = &g->nodes[i];
	uint64_t	h;

	if (is_nothing(n) && n->n_inputs == 1)
		return up[n->inputs[0]];
	h = is_nothing(n) && n->n_inputs > 0 ? PM_HASH_INIT : own_hash(n);
	for (int k = 0; k < n->n_inputs; k++)
	{
		if (!is_nothing(n))
			h = fold_read(h, g, &g->nodes[n->inputs[k]]);
		h = fold(h, up[n->inputs[k]]);
	}
	return h;
}

/*
 * The downward pass adds to each node a sum over its readers, so that one node
 * read twice differs from two equal nodes.  Sums do not depend on the order of
 * ids.  below: zeroed, one word a node.
 */
static pm_code
downward(const pm_graph *g, const uint64_t *up, uint64_t *below, const pm_arena *a, uint64_t *structure, pm_status *st)
{
	uint64_t	total = 0;

	for (int i = g->n_nodes - 1; i >= 0; i--)
	{
		const pm_node *n = &g->nodes[i];
		uint64_t	h = is_nothing(n) ? below[i] : fold(up[i], below[i]);

		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		if (!is_nothing(n))
			total += pm_mix(h);
		if (!is_nothing(n) && n->attrs.tied >= 0)
			total += fold(h, up[n->attrs.tied]);
		if (is_nothing(n) && below[i] == 0)
			continue;			/* nobody reads it */
		for (int k = 0; k < n->n_inputs; k++)
			below[n->inputs[k]] += is_nothing(n) && n->n_inputs == 1 ? h : fold(h, (uint64_t) k);
	}
	*structure = pm_mix(total);
	return PM_OK;
}

pm_code
pm_structure_hash(const pm_graph *g, pm_arena *a, uint64_t *structure, pm_status *st)
{
	uint64_t   *up = PM_NEW(a, uint64_t, (size_t) g->n_nodes);
	uint64_t   *below = PM_NEW(a, uint64_t, (size_t) g->n_nodes);

	if (up == NULL || below == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < g->n_nodes; i++)
	{
		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		up[i] = upward(g, i, up);
	}
	return downward(g, up, below, a, structure, st);
}
