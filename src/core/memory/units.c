/*
 * units.c - layers of a transformer, or single operators.
 *
 * As FSDP is used: torch.distributed.fsdp wraps each layer, and the model as a
 * whole, whose unit has the rest.  The root gathers its weights when the step
 * begins, and keeps them to the end of the backward pass.
 */
#include "memory/units.h"

#include <math.h>

#include "graph/layers.h"
#include "graph/op_catalogue.h"

/* A norm belongs to the unit of the operator before it. */
static void
units_of_operators(const pm_graph *g, pm_memory_units *u)
{
	double		before = 0;
	double		now = 0;

	for (int i = 0; i < g->n_nodes; i++)
	{
		double		count = pm_node_params(&g->nodes[i]);

		if (count > 0 && pm_op_class(g->nodes[i].op) != PM_CLASS_NORM)
		{
			before = now;
			now = 0;
		}
		now += count;
		u->unit = fmax(u->unit, now);
		u->pair = fmax(u->pair, before + now);
	}
}

static bool
is_embedding(const pm_node *n)
{
	return pm_op_class(n->op) == PM_CLASS_EMBEDDING;
}

/* Parameters from one attention to the next are those of a layer, though the norm and the projections before are of the next one. */
void
pm_memory_units_of(const pm_graph *g, pm_memory_units *u)
{
	double		in_layers = 0;
	double		now = 0;
	int			layers = 0;
	int			last_norm = -1;

	for (int i = 0; i < g->n_nodes; i++)
		last_norm = pm_node_is_norm(&g->nodes[i]) ? i : last_norm;
	*u = (pm_memory_units) {0};
	for (int i = 0; i < g->n_nodes; i++)
	{
		const pm_node *n = &g->nodes[i];
		double		count = pm_node_params(n);

		if (pm_node_attends(n) && i < last_norm)
		{
			u->unit = layers > 0 ? fmax(u->unit, now) : 0;
			layers++;
			now = 0;
		}
		if (is_embedding(n) || i >= last_norm)
			u->root += count;
		else
		{
			in_layers += count;
			now += count;
		}
	}
	if (layers == 0)
	{
		*u = (pm_memory_units) {0};
		units_of_operators(g, u);
		return;
	}
	u->unit = fmax(u->unit, in_layers / layers);
	u->pair = fmin(2 * u->unit, in_layers);
}
