/*
 * dag.h - the operators that run, and the connections between them.
 */
#ifndef PM_DAG_H
#define PM_DAG_H

#include "graph/graph.h"

/*
 * The graph without views and inputs that only pass data on: what runs.
 * `node[i]` is an index into pm_graph.nodes, in topological order.
 */
typedef struct pm_dag
{
	int			n;
	int32_t    *node;			/* [n] */
	int32_t    *parent_at;		/* [n+1] offsets into parent */
	int32_t    *parent;			/* distinct, ascending */
	int32_t    *child_at;		/* [n+1] */
	int32_t    *child;
	int32_t    *depth;			/* [n] longest path from a source */
	int32_t    *height;			/* [n] longest path to a sink */
	int32_t		max_depth;
} pm_dag;

/*
 * *dag, which is in arena a: a finished graph without views and nodes without work
 * (inputs, constants).  Nodes that read these then read what these read.
 * PM_ERR_LIMIT: views of several inputs would give too many edges (PM_MAX_EDGES);
 * PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_dag_build(const pm_graph *g, pm_arena *a, pm_dag *dag, pm_status *st);

/* 64-bit words of one row of pm_dag_reach() for n operators. */
size_t		pm_reach_words(int n);
/*
 * Reachability: set bit j of row i if i is an ancestor of j.  rows:
 * [dag->n][pm_reach_words(dag->n)], zeroed by the caller.  The hooks of a may
 * stop it: PM_CANCELLED.
 */
pm_code		pm_dag_reach(const pm_dag *dag, const pm_arena *a, uint64_t *rows, pm_status *st);

#endif
