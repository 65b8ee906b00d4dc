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
 * Drop views and nodes without work (inputs, constants) of a finished graph;
 * who read them reads what they read.  The arena owns the result.
 * PM_ERR_LIMIT when views of several inputs multiply the edges beyond reason;
 * PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_dag_build(const pm_graph *g, pm_arena *a, pm_dag *dag, pm_status *st);

/*
 * Reachability: bit j of row i is set when i is an ancestor of j.  rows:
 * [dag->n][pm_reach_words(dag->n)], zeroed by the caller.  a: whose hooks are
 * asked; PM_CANCELLED.
 */
size_t		pm_reach_words(int n);	/* 64-bit words of one row */
pm_code		pm_dag_reach(const pm_dag *dag, const pm_arena *a, uint64_t *rows, pm_status *st);

#endif
