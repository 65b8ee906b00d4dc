/*
 * graph_json.h - reader of perfmodel-graph/1 (docs/graph_format.md).
 */
#ifndef PM_GRAPH_JSON_H
#define PM_GRAPH_JSON_H

#include "graph/graph.h"

/*
 * Read text of len bytes, which need not end in NUL, into *g, finished.  Memory
 * comes from a.  PM_ERR_INPUT, PM_ERR_LIMIT (both name the node and the key),
 * PM_ERR_MEMORY or PM_CANCELLED; *g is of no use then.
 */
pm_code		pm_graph_from_json(const char *text, size_t len, pm_arena *a, pm_graph *g, pm_status *st);

#endif
