/*
 * flow.h - what a tensor carries from one operator to the next: how it lies in
 * memory, how wide its elements are under autocast, and where gradients meet.
 *
 * None of it can be read off one node.  pm_flow_derive() fills pm_node.flow of
 * a whole graph, and the work of a node (op_work.h) is then a matter of the node
 * and those that it reads.
 */
#ifndef PM_FLOW_H
#define PM_FLOW_H

#include "graph/graph.h"

/* Fill pm_node.flow of all nodes of a graph whose other derived fields are there. scratch: forgotten afterwards. */
pm_code		pm_flow_derive(pm_graph *g, pm_arena *scratch, pm_status *st);

#endif
