/*
 * graph_write.h - a graph as the text of a perfmodel-graph/1 document.
 */
#ifndef PM_GRAPH_WRITE_H
#define PM_GRAPH_WRITE_H

#include "graph/graph.h"
#include "graph/text.h"

/*
 * Append the document of a finished graph to out.  pm_graph_from_json() makes the
 * same graph of it.  Attributes are copied from g->text unchanged.
 * PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_graph_write(const pm_graph *g, pm_text *out, pm_status *st);

#endif
