/*
 * heads.h - the attention heads of a network, among which tensor parallelism
 * divides its layers (Megatron: a GPU has whole heads).
 */
#ifndef PM_SCALING_HEADS_H
#define PM_SCALING_HEADS_H

#include "graph/graph.h"

typedef struct pm_heads
{
	int64_t		common;			/* the largest number that divides the heads of each layer; 0: no operator says how many it has */
	int64_t		least;			/* of a layer */
	int64_t		most;
} pm_heads;

/*
 * Of all operators that attend and say how many heads they have: by their
 * num_heads, or by their shape, [batch, heads, queries, keys or width], or
 * [batch and heads, ...]. A softmax counts if it is of a product of two tensors.
 */
pm_heads	pm_heads_of(const pm_graph *g);

/* Checks that tp, at least 1, divides them. PM_ERR_OPTION, with the reason. A network that does not say how many it has can be divided into any number. */
pm_code		pm_heads_check(int tp, const pm_heads *h, pm_status *st);

#endif
