/*
 * skeleton.h - the tokens of a graph: the part that depends neither on the device
 * nor on the batch.
 *
 * Operators that are alike are merged into one token with a multiplicity. A
 * skeleton has their positions in the graph, and their relations. Every
 * question about the graph uses it, so it is kept.
 */
#ifndef PM_SKELETON_H
#define PM_SKELETON_H

#include "graph/graph.h"
#include "graph/dag.h"

#define PM_MAX_OPS		20000	/* operators of one graph that a skeleton can hold, before merging */
#define PM_MAX_TOKENS	4096	/* and after: attention is quadratic */

#define PM_N_RELATIONS 8
typedef enum pm_relation
{
	PM_REL_SELF, PM_REL_PARENT, PM_REL_CHILD, PM_REL_ANCESTOR, PM_REL_DESCENDANT,
	PM_REL_SIBLING, PM_REL_UNRELATED, PM_REL_JOB
} pm_relation;

/* The direction of an edge from a token. */
typedef enum pm_edge_way
{
	PM_TO_PRODUCERS, PM_TO_CONSUMERS, PM_N_EDGE_WAYS
} pm_edge_way;

/* Edges between tokens: those of token i stand from at[i] to at[i + 1]. */
typedef struct pm_edges
{
	int32_t    *at;				/* [n+1] */
	int32_t    *to;				/* tokens, each once for a token */
	pm_real    *weight;			/* those of a token add up to the share of its copies that have such edges */
} pm_edges;

#define PM_SINUSOID		32		/* width of one sinusoid */
#define PM_N_DEGREES	9		/* 0..7, 8 and more */
/* depth | relative depth | height | parents | children | indegree | outdegree */
#define PM_POSITION_DIM	(5 * PM_SINUSOID + 2 * PM_N_DEGREES)

typedef struct pm_skeleton
{
	const pm_graph *graph;
	pm_dag		dag;			/* before merging */
	int			n;				/* tokens, without the job token */
	int32_t    *token_of;		/* [dag.n] token of each operator */
	int32_t    *node;			/* [n] a representative node of the graph */
	double	   *copies;			/* [n] multiplicity */
	pm_real    *position;		/* [n, PM_POSITION_DIM] averaged over the copies */
	uint8_t    *relation;		/* [n+1, n+1] what column is to row: pm_relation of the closest
								 * pair of copies; row and column 0 are the job token */
	const struct pm_skeleton *trained;	/* the same of the graph with all weights trained; NULL: they are */
	pm_edges	edges[PM_N_EDGE_WAYS];	/* of each token, the mean over its copies of the operators that a copy reads, or that read it */
} pm_skeleton;

/*
 * *s, in arena a: the skeleton of a finished graph, which must stay.  merge:
 * operators with the same type, configuration and load become one token.  Then
 * positions are means over the copies, and the relation of two tokens is the
 * closest one between any two of their copies (self, parent, child, sibling, then
 * ancestor or descendant).  Nothing depends on how nodes are numbered.
 * PM_ERR_LIMIT: more than PM_MAX_OPS operators or PM_MAX_TOKENS tokens;
 * PM_ERR_INPUT: a graph without any operator; PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_skeleton_build(const pm_graph *g, bool merge, pm_arena *a, pm_skeleton *s, pm_status *st);

/*
 * Copy the part of s that is still needed after its tokens were built: for the work
 * at another batch (pm_tokens_rework()), and for the names of operators.  *g gets
 * the nodes of the tokens and those that they read; *slim gets n, node, copies and
 * dag.n, and nothing else.  Both are in arena a, and do not refer to s or its
 * graph.  PM_ERR_MEMORY.
 */
pm_code		pm_skeleton_slim(const pm_skeleton *s, pm_arena *a, pm_graph *g, pm_skeleton *slim, pm_status *st);

#endif
