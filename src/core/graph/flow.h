/*
 * flow.h - what one operator passes to the next in addition to numbers: the memory
 * order of a tensor, the width of its elements under autocast, and the places
 * where gradients are added.
 *
 * A single node does not show any of this. pm_flow_derive() fills pm_node.flow
 * of a whole graph; after that, the work of a node (op_work.h) depends only on
 * the node and on the nodes that it reads.
 */
#ifndef PM_FLOW_H
#define PM_FLOW_H

#include "graph/graph.h"

/*
 * Fill pm_node.flow of all nodes, and g->has_layout, of a graph whose other derived fields are filled.  Nothing in the arena
 * `scratch` is needed afterwards.  PM_ERR_MEMORY.
 */
pm_code		pm_flow_derive(pm_graph *g, pm_arena *scratch, pm_status *st);

#endif
