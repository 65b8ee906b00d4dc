/*
 * attention.h - attention that a graph writes out as operators, and that one
 * kernel can compute: MatMul, scale, Softmax, Dropout, MatMul.
 */
#ifndef PM_ATTENTION_H
#define PM_ATTENTION_H

#include "graph/graph.h"

/* Nodes of such an attention. */
#define PM_FUSED_INSIDE	1		/* its output is never in memory when one kernel computes all */
#define PM_FUSED_END	2		/* the last MatMul */

/* Nodes of the graph: the product of query and key, and that with the value. */
typedef struct pm_attention
{
	int32_t		scores;
	int32_t		end;
} pm_attention;

/*
 * All of them in g: *found, in a, has *n.  masks: those, too, whose scores a
 * constant mask is put over, as a decoder's.
 * fused[g->n_nodes], 0 before, has the marks of their nodes; what one attention
 * reads of another is marked once.  PM_ERR_MEMORY.
 */
pm_code		pm_attention_find(const pm_graph *g, bool masks, pm_arena *a, uint8_t *fused, pm_attention **found, int *n, pm_status *st);

#endif
