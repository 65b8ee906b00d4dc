/*
 * experts.c - finds the experts of a network.
 */
#include "graph/experts.h"
#include "graph/op_catalogue.h"
#include "graph/op_operands.h"

#include <string.h>

/* Whether a node is a product of tokens with the experts of their own. */
static bool
is_expert(const pm_graph *g, const pm_node *n)
{
	pm_operands o;
	int64_t		experts = n->n_weights > 0 ? n->weights[0].dim[0] : 0;

	if (n->view || n->n_weights == 0 || n->weights[0].rank != 3 || experts < 2 || pm_op_class(n->op) != PM_CLASS_GEMM || n->n_inputs == 0)
		return false;
	o = pm_gemm_operands(g, n);
	return o.data.shape != NULL && o.data.input >= 0 && n->batch_dim != n->shape.rank - PM_DIM_EXPERTS &&
		pm_stacked(n, &o) == (double) experts &&
		pm_dim_from_end(&n->shape, PM_DIM_EXPERTS) == experts && pm_dim_from_end(o.data.shape, PM_DIM_EXPERTS) == experts &&
		pm_dim_from_end(&n->shape, PM_DIM_TOKENS) == pm_dim_from_end(o.data.shape, PM_DIM_TOKENS);
}

/* ---------- what goes to the experts ---------- */

/* Of each node: whether what it holds has been through an expert of its layer, and whether it goes to one. */
#define FROM_EXPERT	1
#define TO_EXPERT	2
#define COUNTED		4			/* among what comes to the experts */

/* Marks what the experts of each layer read and make. A product that no other one leads to is the first of a layer. */
static void
mark_ways(const pm_graph *g, uint8_t *marks)
{
	for (int i = 0; i < g->n_nodes; i++)
	{
		const pm_node *n = &g->nodes[i];

		if (n->expert)
			marks[i] |= FROM_EXPERT;
		for (int k = 0; k < n->n_inputs; k++)
			if (pm_experts_alike(n, &g->nodes[n->inputs[k]]))
				marks[i] |= marks[n->inputs[k]] & FROM_EXPERT;
	}
	for (int i = g->n_nodes - 1; i >= 0; i--)
	{
		const pm_node *n = &g->nodes[i];
		bool		leads = (marks[i] & TO_EXPERT) || n->expert;

		for (int k = 0; k < n->n_inputs; k++)
			if (leads && pm_experts_alike(n, &g->nodes[n->inputs[k]]))
				marks[n->inputs[k]] |= TO_EXPERT;
	}
}

static void
add_expert(const pm_graph *g, int i, uint8_t *marks, pm_experts *x)
{
	const pm_node *n = &g->nodes[i];
	int			data = n->inputs[pm_gemm_operands(g, n).data.input];
	int64_t		experts = pm_dim_from_end(&n->shape, PM_DIM_EXPERTS);

	x->least = x->common == 0 || experts < x->least ? experts : x->least;
	x->most = experts > x->most ? experts : x->most;
	x->common = pm_common_divisor(experts, x->common);
	/* two products may read the same tokens */
	if (!(marks[data] & (FROM_EXPERT | COUNTED)))
	{
		marks[data] |= COUNTED;
		x->layers++;
		x->sent += pm_node_count(&g->nodes[data], 1);
	}
	if (!(marks[i] & TO_EXPERT))
		x->returned += pm_node_count(n, 1);
}

/* ---------- routers ---------- */

/* From one of the two operators of a router to the other: scaled, cast, in another shape. */
#define MOST_BETWEEN	8

static bool
is_op(const pm_node *n, const char *name)
{
	return strcmp(pm_op_name(n->op), name) == 0;
}

static bool
chooses(const pm_node *n)
{
	return is_op(n, "TopK") || is_op(n, "ArgMax");
}

/* A softmax of which the largest are chosen, or of those that were chosen; n is the later one of the two operators. */
static void
mark_router(pm_graph *g, pm_node *n)
{
	bool		choice = chooses(n);
	pm_node    *from = n;

	for (int i = 0; i < MOST_BETWEEN && from->n_inputs > 0; i++)
	{
		double		before = pm_node_count(from, 1);

		from = &g->nodes[from->inputs[0]];
		if (i > 0 && pm_node_count(from, 1) != before)
			return;
		if (choice ? is_op(from, "Softmax") : chooses(from))
		{
			(choice ? from : n)->routes = true;
			return;
		}
	}
}

pm_code
pm_experts_find(pm_graph *g, const pm_arena *a, pm_status *st)
{
	pm_arena	scratch;
	uint8_t    *marks;
	bool		some = false;

	g->experts = (pm_experts) {0};
	for (int i = 0; i < g->n_nodes; i++)
	{
		pm_node    *n = &g->nodes[i];

		some |= n->expert = is_expert(g, n);
		if (chooses(n) || is_op(n, "Softmax"))
			mark_router(g, n);
	}
	if (!some)
		return PM_OK;
	pm_arena_init_within(&scratch, a);
	if ((marks = PM_NEW(&scratch, uint8_t, g->n_nodes)) != NULL)
	{
		mark_ways(g, marks);
		for (int i = 0; i < g->n_nodes; i++)
			if (g->nodes[i].expert)
				add_expert(g, i, marks, &g->experts);
	}
	else
		pm_no_memory(st, &scratch);
	pm_arena_release(&scratch);
	return marks != NULL ? PM_OK : PM_ERR_MEMORY;
}
