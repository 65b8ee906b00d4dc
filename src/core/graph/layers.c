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

static bool
is_product(const pm_node *n)
{
	return pm_op_class(n->op) == PM_CLASS_GEMM && n->n_weights > 0;
}

void
pm_norms_find(const pm_graph *g, uint8_t *norms)
{
	for (int i = 0; i < g->n_nodes; i++)
	{
		const pm_node *n = &g->nodes[i];

		norms[i] = PM_NORM_NONE;
		if (!n->view && pm_node_is_norm(n))
			norms[i] = n->n_inputs > 0 && is_product(&g->nodes[g->nodes[n->inputs[0]].memory]) ? PM_NORM_OF_PRODUCT : PM_NORM_OF_LAYER;
		for (int k = 0; !n->view && is_product(n) && k < n->n_inputs; k++)
			if (norms[g->nodes[n->inputs[k]].memory] == PM_NORM_OF_PRODUCT)
				norms[g->nodes[n->inputs[k]].memory] = PM_NORM_BETWEEN;
	}
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
