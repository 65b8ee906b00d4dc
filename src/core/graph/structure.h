/*
 * structure.h - the hash of a network's operators, shapes and edges. It does
 * not depend on names.
 */
#ifndef PM_STRUCTURE_H
#define PM_STRUCTURE_H

#include "graph/graph.h"

/*
 * *structure: hash of operators, shapes, attributes and edges of g, whose derived
 * fields are filled (pm_graph_finish() calls this).  Names, modules and the order
 * of ids do not change it.  PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_structure_hash(const pm_graph *g, pm_arena *a, uint64_t *structure, pm_status *st);

#endif
