/*
 * graphs.h - documents of graphs, and their rows.
 */
#ifndef PM_PG_GRAPHS_H
#define PM_PG_GRAPHS_H

#include "utils/jsonb.h"

#include "graph/graph.h"
#include "problem.h"

/* Parse a stored or given document; *text is its text, which attrs_at refers to. Raises. */
extern void pm_graph_from_doc(Jsonb *doc, pm_arena *a, pm_graph *g, char **text);
/* Check and store a document; name NULL: its own. The id, also of the same graph that is there already. Raises. */
extern int64 pm_store_graph(Datum doc, const char *name);
/* Id of the graph of that name; 0, with *p filled, when there is none. */
extern int64 pm_graph_named(const char *name, pm_problem *p);
extern void pm_store_nodes(int64 graph_id, const pm_graph *g, const char *text);
extern Datum pm_shape_array(const pm_shape *s, int batch_dim, int64 batch);

#endif
