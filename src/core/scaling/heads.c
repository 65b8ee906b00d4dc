/*
 * heads.c - the attention heads of a network.
 */
#include "scaling/heads.h"

#include <string.h>

#include "graph/op_catalogue.h"

/* From a softmax back to its product: scaled, masked, cast, in another shape. */
#define MOST_BETWEEN	8

static bool
is_op(const pm_node *n, const char *name)
{
	return strcmp(pm_op_name(n->op), name) == 0;
}

/* Whether the first input of n, through operators of one element each and views, is a product of two tensors. */
static bool
is_of_product(const pm_graph *g, const pm_node *n)
{
	int64_t		elements = (int64_t) pm_node_count(n, 1);

	for (int i = 0; i < MOST_BETWEEN && n->n_inputs > 0; i++)
	{
		n = &g->nodes[n->inputs[0]];
		if ((int64_t) pm_node_count(n, 1) != elements)
			return false;
		if (pm_op_class(n->op) == PM_CLASS_GEMM)
			return n->n_weights == 0 && n->n_inputs >= 2;
	}
	return false;
}

/* Heads of an operator; 0: it has none, or does not say. */
static int64_t
heads_of(const pm_graph *g, const pm_node *n)
{
	bool		fused = is_op(n, "Attention");

	if (!fused && !(is_op(n, "Softmax") && is_of_product(g, n)))
		return 0;
	if (n->attrs.num_heads > 0)
		return n->attrs.num_heads;
	if (n->batch_dim != 0)
		return 0;
	if (n->shape.rank == 4)
		return n->shape.dim[1];
	/* one with the batch; where there is nothing but the batch, it may have any number */
	return n->shape.rank == 3 && n->shape.dim[0] > 1 ? n->shape.dim[0] : 0;
}

pm_heads
pm_heads_of(const pm_graph *g)
{
	pm_heads	h = {0};

	for (int i = 0; i < g->n_nodes; i++)
	{
		int64_t		n = heads_of(g, &g->nodes[i]);

		if (n <= 0)
			continue;
		h.least = h.common == 0 || n < h.least ? n : h.least;
		h.most = n > h.most ? n : h.most;
		h.common = pm_common_divisor(n, h.common);
	}
	return h;
}

pm_code
pm_heads_check(int tp, const pm_heads *h, pm_status *st)
{
	char		divisors[200];
	int64_t		odd = h->least % tp != 0 ? h->least : h->most % tp != 0 ? h->most : h->common;

	if (h->common == 0 || h->common % tp == 0)
		return PM_OK;
	pm_list_divisors(h->common, divisors, sizeof(divisors));
	pm_fail(st, PM_ERR_OPTION, "tp must divide the attention heads of each layer, and %d does not divide %lld", tp, (long long) odd);
	if (h->least == h->most)
		pm_detail(st, "Each layer of the graph has %lld heads.", (long long) h->most);
	else
		pm_detail(st, "The layers of the graph have %lld to %lld heads; the greatest common divisor is %lld.",
				  (long long) h->least, (long long) h->most, (long long) h->common);
	pm_hint(st, "tp can be %s.", divisors);
	return PM_ERR_OPTION;
}
