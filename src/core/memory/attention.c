/*
 * attention.c - attention written out as operators that one kernel computes.
 *
 * From PyTorch 2.0 on, libraries call scaled_dot_product_attention() where they
 * had written MatMul, scale, Softmax, Dropout, MatMul before.  Its kernels keep
 * query, key, value, output and a number a row; the scores are never stored.
 */
#include "memory/step_build.h"

#include <string.h>

/* The only reader of node i, -1: none or several. first: the first reader of each node; readers: how many. */
static int
only_reader(const int32_t *first, const int32_t *readers, int i)
{
	return readers[i] == 1 ? first[i] : -1;
}

static bool
is_op(const pm_node *n, const char *name)
{
	return !n->view && strcmp(pm_op_name(n->op), name) == 0;
}

/* Views, a scale by a number, dropout: what stands between the products and the softmax. */
static bool
passes(const pm_node *n)
{
	return n->view || (n->n_inputs == 1 && n->n_weights == 0 &&
					   (is_op(n, "Mul") || is_op(n, "Div") || is_op(n, "Dropout") || is_op(n, "aten::clone")));
}

/* From node i along only readers to the next operator of that name; marks what lies between when mark. -1: there is none. */
static int
follow(pm_step_build *b, const int32_t *first, const int32_t *readers, int i, const char *name, bool mark)
{
	for (int at = only_reader(first, readers, i); at >= 0; at = only_reader(first, readers, at))
	{
		if (is_op(&b->g->nodes[at], name))
			return at;
		if (!passes(&b->g->nodes[at]))
			return -1;
		if (mark)
			b->fused[at] = PM_FUSED_INSIDE;
	}
	return -1;
}

void
pm_step_find_attention(pm_step_build *b)
{
	const pm_graph *g = b->g;
	int32_t    *first = PM_NEW(b->arena, int32_t, g->n_nodes);
	int32_t    *readers = PM_NEW(b->arena, int32_t, g->n_nodes);

	if (first == NULL || readers == NULL)
	{
		b->failed = true;
		return;
	}
	for (int i = 0; i < g->n_nodes; i++)
		for (int k = 0; k < g->nodes[i].n_inputs; k++)
			if (readers[g->nodes[i].inputs[k]]++ == 0)
				first[g->nodes[i].inputs[k]] = i;
	for (int i = 0; i < g->n_nodes; i++)
	{
		int			softmax;
		int			end;

		if (!is_op(&g->nodes[i], "MatMul") || g->nodes[i].n_inputs != 2)
			continue;
		softmax = follow(b, first, readers, i, "Softmax", false);
		end = softmax < 0 ? -1 : follow(b, first, readers, softmax, "MatMul", false);
		if (end < 0)
			continue;
		(void) follow(b, first, readers, i, "Softmax", true);
		(void) follow(b, first, readers, softmax, "MatMul", true);
		b->fused[i] = b->fused[softmax] = PM_FUSED_INSIDE;
		b->fused[end] = PM_FUSED_END;
	}
}
