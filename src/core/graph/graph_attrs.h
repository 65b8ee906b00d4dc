/*
 * graph_attrs.h - the attributes of a node, as perfmodel-graph/1 has them (docs/graph_format.md).
 */
#ifndef PM_GRAPH_ATTRS_H
#define PM_GRAPH_ATTRS_H

#include "graph/graph.h"
#include "graph/json_reader.h"

/* Read the object of attributes at r into node->attrs, and note its range of the text. False: r->code and r->st say why. */
bool		pm_read_attrs(pm_json *r, pm_node *node);

/*
 * For importers of other formats: read the attributes of a node from its range of g->text (attrs_at, attrs_len), which holds
 * them as JSON.  PM_ERR_INPUT, PM_ERR_LIMIT (both name the node and the key), PM_ERR_MEMORY or PM_CANCELLED.
 */
pm_code		pm_attrs_from_json(pm_graph *g, int node, pm_arena *a, pm_status *st);

#endif
