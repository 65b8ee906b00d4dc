/*
 * expert_part.c - the experts of a network, divided among GPUs.
 */
#include "graph/expert_part.h"
#include "graph/experts.h"
#include "graph/graph_finish.h"

#include <string.h>

static pm_code
check(int ep, const pm_experts *x, pm_status *st)
{
	char		divisors[200];

	if (x->layers == 0)
	{
		pm_fail(st, PM_ERR_OPTION, "ep divides the experts of a network, and the graph has none");
		pm_detail(st, "Experts are products with a stack of weights, one matrix for the tokens of each expert.");
		pm_hint(st, "Leave ep out. decoder_graph(..., experts => 8) makes graphs with experts.");
		return PM_ERR_OPTION;
	}
	if (x->common % ep == 0)
		return PM_OK;
	pm_list_divisors(x->common, divisors, sizeof(divisors));
	pm_fail(st, PM_ERR_OPTION, "ep must divide the experts of each layer, and %d does not divide %lld", ep,
			(long long) (x->least % ep != 0 ? x->least : x->most % ep != 0 ? x->most : x->common));
	if (x->least == x->most)
		pm_detail(st, "Each layer with experts has %lld of them.", (long long) x->most);
	else
		pm_detail(st, "The layers of the graph have %lld to %lld experts; the greatest common divisor is %lld.",
				  (long long) x->least, (long long) x->most, (long long) x->common);
	pm_hint(st, "ep can be %s.", divisors);
	return PM_ERR_OPTION;
}

/* The node that stands for all that a chain of alike ones connects with i. */
static int
root_of(int32_t *up, int i)
{
	while (up[i] != i)
		i = up[i] = up[up[i]];
	return i;
}

/*
 * Nodes that are alike an expert's product, around it: their experts become fewer, and the tokens of each more.  Each
 * edge is looked at once: a network may have a chain of as many nodes as a graph can have, upwards or downwards.
 */
static pm_code
mark_region(const pm_graph *g, pm_arena *a, uint8_t *inside, pm_status *st)
{
	int32_t    *up = PM_NEW(a, int32_t, g->n_nodes);

	if (up == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < g->n_nodes; i++)
	{
		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		up[i] = i;
		for (int k = 0; k < g->nodes[i].n_inputs; k++)
			if (pm_experts_alike(&g->nodes[i], &g->nodes[g->nodes[i].inputs[k]]))
				up[root_of(up, g->nodes[i].inputs[k])] = root_of(up, i);
	}
	for (int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i].expert)
			inside[root_of(up, i)] = true;
	for (int i = 0; i < g->n_nodes; i++)
		inside[i] = inside[root_of(up, i)];
	return PM_OK;
}

static void
divide_shape(pm_shape *s, int64_t experts, int64_t tokens, int ep)
{
	if (pm_dim_from_end(s, PM_DIM_EXPERTS) != experts || pm_dim_from_end(s, PM_DIM_TOKENS) != tokens)
		return;
	s->dim[s->rank - PM_DIM_EXPERTS] /= ep;
	s->dim[s->rank - PM_DIM_TOKENS] *= ep;
}

/* Weights and outputs in arena a: those of g stay as they are. False: no memory. */
static bool
divide_node(pm_node *n, bool expert, int ep, pm_arena *a)
{
	int64_t		experts = pm_dim_from_end(&n->shape, PM_DIM_EXPERTS);
	int64_t		tokens = pm_dim_from_end(&n->shape, PM_DIM_TOKENS);

	divide_shape(&n->shape, experts, tokens, ep);
	if (n->n_shapes > 0)
	{
		if ((n->shapes = PM_LONGER(a, pm_shape, n->shapes, n->n_shapes, n->n_shapes)) == NULL)
			return false;
		for (int k = 0; k < n->n_shapes; k++)
			divide_shape(&n->shapes[k], experts, tokens, ep);
	}
	if (!expert)
		return true;
	if ((n->weights = PM_LONGER(a, pm_shape, n->weights, n->n_weights, n->n_weights)) == NULL)
		return false;
	for (int k = 0; k < n->n_weights; k++)
		if (n->weights[k].rank > 0 && n->weights[k].dim[0] == experts)
			n->weights[k].dim[0] /= ep;
	return true;
}

static pm_code
divide_nodes(const pm_graph *g, int ep, pm_arena *a, pm_graph *to, pm_status *st)
{
	pm_arena	scratch;
	uint8_t    *inside;
	pm_code		rc;

	pm_arena_init_within(&scratch, a);
	inside = PM_NEW(&scratch, uint8_t, g->n_nodes);
	to->nodes = PM_NEW(a, pm_node, g->n_nodes);
	if (inside == NULL || to->nodes == NULL)
		rc = pm_no_memory(st, a);
	else
	{
		memcpy(to->nodes, g->nodes, g->n_nodes * sizeof(pm_node));
		rc = mark_region(g, &scratch, inside, st);
	}
	for (int i = 0; rc == PM_OK && i < g->n_nodes; i++)
		if (inside[i] && !divide_node(&to->nodes[i], g->nodes[i].expert, ep, a))
			rc = pm_no_memory(st, a);
	pm_arena_release(&scratch);
	return rc;
}

pm_code
pm_experts_divide(const pm_graph *g, int ep, pm_arena *a, pm_graph *to, pm_status *st)
{
	double		before = g->params + g->frozen;
	pm_code		rc = check(ep, &g->experts, st);

	*to = *g;
	if (rc == PM_OK)
		rc = divide_nodes(g, ep, a, to, st);
	if (rc == PM_OK)
		rc = pm_graph_resized(to, a, st);
	/* a document that counts its parameters counts those of all experts */
	to->declared_params = g->declared_params * (rc == PM_OK && before > 0 ? (to->params + to->frozen) / before : 1);
	return rc;
}
