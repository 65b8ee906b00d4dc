/*
 * attention.c - attention written out as operators that one kernel computes.
 *
 * From PyTorch 2.0 on, libraries call scaled_dot_product_attention() where they
 * had written MatMul, scale, Softmax, Dropout, MatMul before.  Its kernels keep
 * query, key, value, output and a number a row; the scores are never stored.
 */
#include "graph/attention.h"
#include "graph/op_catalogue.h"

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

/* A constant mask over the scores. */
static bool
is_mask(const pm_node *n)
{
	return n->n_inputs == 1 && n->n_weights == 0 && (is_op(n, "aten::masked_fill") || is_op(n, "Where") || is_op(n, "Add"));
}

/* A walk over a graph. */
typedef struct search
{
	const pm_graph *g;
	bool		masks;			/* may stand between */
	int32_t    *first;			/* [n_nodes] the first reader */
	int32_t    *readers;		/* [n_nodes] how many */
	uint8_t    *fused;
} search;

/* From node i along only readers to the next operator of that name; marks what lies between when mark. -1: there is none. */
static int
follow(const search *s, int i, const char *name, bool mark)
{
	for (int at = only_reader(s->first, s->readers, i); at >= 0; at = only_reader(s->first, s->readers, at))
	{
		if (is_op(&s->g->nodes[at], name))
			return at;
		if (!passes(&s->g->nodes[at]) && !(s->masks && is_mask(&s->g->nodes[at])))
			return -1;
		if (mark)
			s->fused[at] = PM_FUSED_INSIDE;
	}
	return -1;
}

/* The last product of an attention whose scores are node i; -1: node i begins none. Marks its nodes. */
static int
attention_from(const search *s, int i)
{
	int			softmax;
	int			end;

	if (!is_op(&s->g->nodes[i], "MatMul") || s->g->nodes[i].n_inputs != 2)
		return -1;
	softmax = follow(s, i, "Softmax", false);
	if (softmax >= 0 && s->g->nodes[softmax].attrs.plain && !s->masks)
		return -1;
	end = softmax < 0 ? -1 : follow(s, softmax, "MatMul", false);
	if (end < 0)
		return -1;
	(void) follow(s, i, "Softmax", true);
	(void) follow(s, softmax, "MatMul", true);
	s->fused[i] = s->fused[softmax] = PM_FUSED_INSIDE;
	s->fused[end] = PM_FUSED_END;
	return end;
}

pm_code
pm_attention_find(const pm_graph *g, bool masks, pm_arena *a, uint8_t *fused, pm_attention **found, int *n, pm_status *st)
{
	search		s = {g, masks, PM_NEW(a, int32_t, g->n_nodes), PM_NEW(a, int32_t, g->n_nodes), fused};

	*n = 0;
	*found = PM_NEW(a, pm_attention, g->n_nodes);
	if (s.first == NULL || s.readers == NULL || *found == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < g->n_nodes; i++)
		for (int k = 0; k < g->nodes[i].n_inputs; k++)
			if (s.readers[g->nodes[i].inputs[k]]++ == 0)
				s.first[g->nodes[i].inputs[k]] = i;
	for (int i = 0; i < g->n_nodes; i++)
	{
		int			end = attention_from(&s, i);

		if (end >= 0)
			(*found)[(*n)++] = (pm_attention) {i, end};
	}
	return PM_OK;
}
