/*
 * structure.h - the hash of a network's operators, shapes and edges. It does
 * not depend on names.
 */
#ifndef PM_STRUCTURE_H
#define PM_STRUCTURE_H

#include "graph/graph.h"

/*
 * *structure: hash of operators, shapes, attributes and edges of g, whose nodes
 * are looked up and derived (pm_graph_finish calls this).  The same whatever
 * names, modules and the order of ids are.  PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_structure_hash(const pm_graph *g, pm_arena *a, uint64_t *structure, pm_status *st);

#endif
