/*
 * layers.c - the operators by which the layers of a transformer are told.
 */
#include "graph/layers.h"
#include "graph/op_catalogue.h"

#include <string.h>

/* From a softmax back to its product: cast, or in another shape. */
#define MOST_BETWEEN	8

static bool
is_of_weights(const pm_graph *g, const pm_node *n)
{
	double		elements = pm_node_count(n, 1);

	for (int i = 0; i < MOST_BETWEEN && n->n_inputs > 0; i++)
	{
		n = &g->nodes[n->inputs[0]];
		if (pm_node_count(n, 1) != elements)
			return false;
		if (pm_op_class(n->op) == PM_CLASS_GEMM)
			return n->n_weights > 0;
	}
	return false;
}

bool
pm_node_attends(const pm_graph *g, const pm_node *n)
{
	const char *name = pm_op_name(n->op);

	return strcmp(name, "Attention") == 0 || (strcmp(name, "Softmax") == 0 && n->shape.rank >= 3 && !is_of_weights(g, n));
}

bool
pm_node_is_norm(const pm_node *n)
{
	const char *name = pm_op_name(n->op);

	return strcmp(name, "LayerNormalization") == 0 || strcmp(name, "RMSNormalization") == 0;
}

int
pm_layers_of(const pm_graph *g)
{
	int			layers = 0;
	bool		norms = false;

	for (int i = 0; i < g->n_nodes; i++)
	{
		const pm_node *n = &g->nodes[i];

		if (n->view)
			continue;
		layers += pm_node_attends(g, n);
		norms = norms || pm_node_is_norm(n);
	}
	return norms ? layers : 0;
}
