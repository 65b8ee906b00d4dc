/*
 * graphs.h - documents of graphs, and their rows.
 */
#ifndef PM_PG_GRAPHS_H
#define PM_PG_GRAPHS_H

#include "utils/jsonb.h"

#include "graph/graph.h"
#include "problem.h"

/* Parse a stored or given document. g->text is of the current memory context; the rest is of the arena. Raises. */
extern void pm_graph_from_doc(Jsonb *doc, pm_arena *a, pm_graph *g);
/*
 * The same of a row of perfmodel.graph: a role that may insert there need not call load_graph.  False: the document is no
 * graph, and *st says so, with the row.  Raises what is no matter of the document.
 */
extern bool pm_graph_from_row(int64 graph_id, Jsonb *doc, pm_arena *a, pm_graph *g, pm_status *st);
/* An error for a name that is NULL, empty or too long. */
extern void pm_check_graph_name(const char *name);
/* Store the document of g under g->name. The id, also of the same network that is there already under that name. Raises. */
extern int64 pm_store_graph(Datum doc, const pm_graph *g);
/* Its nodes. Inside SPI_connect(). */
extern void pm_store_nodes(int64 graph_id, const pm_graph *g);
/* Id of the graph of that name; 0, with *p filled, when there is none. */
extern int64 pm_graph_named(const char *name, pm_problem *p);
extern Datum pm_shape_array(const pm_shape *s, int batch_dim, int64 batch);

#endif
