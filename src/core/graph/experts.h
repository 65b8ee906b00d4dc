/*
 * experts.h - the experts of a network (mixture of experts).
 *
 * Experts are products with a stack of weights, a matrix for each of them, as
 * decoder_graph() writes them and as exporters write grouped products: data
 * [..., experts, tokens, in], weights [experts, ., .] and output [..., experts,
 * tokens, out].  A program that runs one expert after the other has no such
 * products.
 */
#ifndef PM_EXPERTS_H
#define PM_EXPERTS_H

#include "graph/graph.h"

/* Dimensions of the tensors, counted from the end. */
#define PM_DIM_EXPERTS	3
#define PM_DIM_TOKENS	2

/* The size of a dimension; 0: there is none. */
static inline int64_t
pm_dim_from_end(const pm_shape *s, int from_end)
{
	return s->rank >= from_end ? s->dim[s->rank - from_end] : 0;
}

/* Whether both have the tokens of experts, and as many of each. */
static inline bool
pm_experts_alike(const pm_node *a, const pm_node *b)
{
	return a->shape.rank >= PM_DIM_EXPERTS && pm_dim_from_end(&a->shape, PM_DIM_EXPERTS) == pm_dim_from_end(&b->shape, PM_DIM_EXPERTS) &&
		pm_dim_from_end(&a->shape, PM_DIM_TOKENS) == pm_dim_from_end(&b->shape, PM_DIM_TOKENS);
}

/* Fill experts of a graph, and expert and routes of its nodes, whose operators and shapes are known. PM_ERR_MEMORY. */
pm_code		pm_experts_find(pm_graph *g, const pm_arena *a, pm_status *st);

#endif
