/*
 * sharing.h - parameters that several operators use, such as the cell of a
 * recurrent network that is called step by step.
 */
#ifndef PM_SHARING_H
#define PM_SHARING_H

#include "graph/graph.h"

/*
 * Fill pm_node.shared of all nodes, in arena a.  The nodes are checked, with declared_params, attributes and weights.
 *
 * A graph names the owner of a shared weight only where the exporter knew it (attrs.tied).  Where the document says that the
 * network has fewer parameters than its nodes add up to, weights of a shape that was there before are taken to be shared, the
 * largest first, until the sum is right.  It does not say how many are frozen: the frozen weights of a module without modules
 * inside are shared by its calls, which the nodes of other modules tell apart.  PM_ERR_MEMORY.
 */
pm_code		pm_graph_find_shared(pm_graph *g, pm_arena *a, pm_status *st);

#endif
