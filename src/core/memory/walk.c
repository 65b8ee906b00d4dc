/*
 * walk.c - outputs on the way forward, gradients on the way back.
 */
#include "memory/walk.h"

#include <string.h>

#include "graph/op_catalogue.h"

#define BATCH	64				/* at which the peak is looked for */

typedef struct walk
{
	const pm_graph *g;
	double		element;
	int32_t    *root;			/* [n_nodes] node whose output a view, or what runs in place, shows */
	int32_t    *gradients;		/* [n_nodes] of its output that are there */
	double		now_fixed,
				now_per;
	double		peak_fixed,
				peak_per;
} walk;

static void
take(walk *w, double bytes, bool by_batch)
{
	*(by_batch ? &w->now_per : &w->now_fixed) += bytes;
	if (w->now_fixed + BATCH * w->now_per > w->peak_fixed + BATCH * w->peak_per)
	{
		w->peak_fixed = w->now_fixed;
		w->peak_per = w->now_per;
	}
}

static void
take_output(walk *w, int i, double times)
{
	const pm_node *n = &w->g->nodes[i];

	take(w, times * pm_node_count_all(n, 1) * w->element, n->batch_dim >= 0);
}

static void
backward(walk *w, int i)
{
	const pm_node *n = &w->g->nodes[i];

	for (int k = 0; k < n->n_inputs; k++)
	{
		int			p = w->root[n->inputs[k]];

		if (!w->g->nodes[p].grad || w->root[i] != i)
			continue;
		w->gradients[p]++;
		take_output(w, p, 1);
	}
	for (int k = 0; pm_node_trains(n) && k < n->n_weights; k++)
		if (pm_node_owns(n, k))
			take(w, pm_shape_count(&n->weights[k]) * w->element, false);
	if (w->root[i] == i)
		take_output(w, i, -1 - w->gradients[i]);
}

pm_code
pm_walk(const pm_graph *g, double element, pm_arena *a, double *fixed, double *per, pm_status *st)
{
	walk		w = {.g = g, .element = element};

	w.root = PM_NEW(a, int32_t, g->n_nodes);
	w.gradients = PM_NEW(a, int32_t, g->n_nodes);
	if (w.root == NULL || w.gradients == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < g->n_nodes; i++)
	{
		const pm_node *n = &g->nodes[i];
		bool		shows = n->n_inputs > 0 && (n->view || strcmp(pm_op_name(n->op), "Relu") == 0);

		w.root[i] = shows ? w.root[n->inputs[0]] : i;
		if (!shows)
			take_output(&w, i, 1);
	}
	for (int i = g->n_nodes - 1; i >= 0; i--)
		backward(&w, i);
	*fixed = w.peak_fixed;
	*per = w.peak_per;
	return PM_OK;
}
