/*
 * layers.c - the operators by which the layers of a transformer are told.
 */
#include "graph/layers.h"
#include "graph/op_catalogue.h"

#include <string.h>

bool
pm_node_attends(const pm_node *n)
{
	const char *name = pm_op_name(n->op);

	return strcmp(name, "Attention") == 0 || (strcmp(name, "Softmax") == 0 && n->shape.rank >= 3 && !n->routes);
}

bool
pm_node_is_norm(const pm_node *n)
{
	const char *name = pm_op_name(n->op);

	return strcmp(name, "LayerNormalization") == 0 || strcmp(name, "RMSNormalization") == 0;
}

bool
pm_node_norms_layer(const pm_graph *g, const pm_node *n)
{
	const pm_node *read = n->n_inputs > 0 ? &g->nodes[g->nodes[n->inputs[0]].memory] : NULL;

	return pm_node_is_norm(n) && !(read != NULL && pm_op_class(read->op) == PM_CLASS_GEMM && read->n_weights > 0);
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
		layers += pm_node_attends(n);
		norms = norms || pm_node_is_norm(n);
	}
	return norms ? layers : 0;
}
