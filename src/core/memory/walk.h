/*
 * walk.h - a static estimate that walks over the graph, as DNNMem does.
 */
#ifndef PM_WALK_H
#define PM_WALK_H

#include "graph/graph.h"

/*
 * Bytes that outputs, their gradients and those of the weights take at the
 * event at which a batch of 64 has its peak: fixed + per * batch.  Each output lives until
 * the gradient of its operator is done, whatever the operator needs; a ReLU
 * runs in place; each reader makes a gradient of its own.  element: bytes of
 * an element.  After Gao et al., "Estimating GPU Memory Consumption of Deep
 * Learning Models" (ESEC/FSE 2020). PM_ERR_MEMORY.
 */
pm_code		pm_walk(const pm_graph *g, double element, pm_arena *a, double *fixed, double *per, pm_status *st);

#endif
