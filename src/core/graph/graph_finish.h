/*
 * graph_finish.h - the last step of every importer: checks a graph, and
 * computes what its readers need.
 */
#ifndef PM_GRAPH_FINISH_H
#define PM_GRAPH_FINISH_H

#include "graph/graph.h"

/*
 * Check what docs/graph_format.md demands (producers first, ranks, dimensions,
 * counts), look operators up, and fill the derived fields of g, in arena a.
 * PM_ERR_INPUT, PM_ERR_LIMIT: the message names the node and the key;
 * PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_graph_finish(pm_graph *g, pm_arena *a, pm_status *st);

/*
 * *trained, in arena a: a finished graph with all weights trained, whose document and names are those of g.  PM_ERR_MEMORY;
 * PM_CANCELLED.
 */
pm_code		pm_graph_train_all(const pm_graph *g, pm_arena *a, const pm_graph **trained, pm_status *st);

/* After sizes of nodes of a finished graph have changed: what is computed from them.  PM_ERR_MEMORY; PM_CANCELLED. */
pm_code		pm_graph_resized(pm_graph *g, pm_arena *a, pm_status *st);

/* Give a finished graph another name. If its family was derived from the old name, it is derived again. PM_ERR_MEMORY. */
pm_code		pm_graph_rename(pm_graph *g, const char *name, pm_arena *a, pm_status *st);

#endif
