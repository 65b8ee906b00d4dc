/*
 * attention.h - attention that a graph writes out as operators, and that one
 * kernel can compute: MatMul, scale, Softmax, Dropout, MatMul.
 */
#ifndef PM_ATTENTION_H
#define PM_ATTENTION_H

#include "graph/graph.h"

/* Marks of the nodes of such an attention. */
#define PM_FUSED_INSIDE	1		/* if one kernel computes the attention, the output of this node is never stored */
#define PM_FUSED_END	2		/* the last MatMul, whose output is stored */

/* An attention, by the numbers of two nodes. */
typedef struct pm_attention
{
	int32_t		scores;			/* the product of query and key */
	int32_t		end;			/* the product with the value */
} pm_attention;

/*
 * Find all such attentions of a finished graph: *found, which is in arena a, gets
 * *n of them.  masks: also find those that put a constant mask over the scores,
 * as decoders do, and those that the graph says run as written (attrs.plain):
 * that is what a program could call the library for.  fused[g->n_nodes], all 0 before, gets the marks of their
 * nodes.  PM_ERR_MEMORY.
 */
pm_code		pm_attention_find(const pm_graph *g, bool masks, pm_arena *a, uint8_t *fused, pm_attention **found, int *n, pm_status *st);

#endif
