/*
 * expert_part.h - the part of a network with experts that one of several GPUs has.
 */
#ifndef PM_EXPERT_PART_H
#define PM_EXPERT_PART_H

#include "graph/graph.h"

/*
 * *to, in arena a: finished graph g as one of ep GPUs runs it that divide the experts
 * among themselves.  It has experts / ep of them, and the tokens of ep GPUs for these,
 * so the work is the same; experts of *to are those of g.  Document and names are those of g, which must stay.
 * PM_ERR_OPTION: there are no experts, or ep does not divide those of each layer;
 * PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_experts_divide(const pm_graph *g, int ep, pm_arena *a, pm_graph *to, pm_status *st);

#endif
