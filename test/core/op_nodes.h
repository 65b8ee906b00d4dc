/*
 * op_nodes.h - a graph from the text of its nodes, and the work and sizes of one of them.
 *
 * JSON stands here with ' in place of ", for the reader's sake.
 */
#ifndef PM_OP_NODES_H
#define PM_OP_NODES_H

#include "graph/graph.h"
#include "graph/graph_json.h"
#include "graph/op_geometry.h"
#include "graph/op_work.h"

#include <stdio.h>
#include <stdlib.h>

static pm_arena arena;
static pm_graph graph;

/* Read the nodes given into `graph`. */
static inline void
load(const char *nodes)
{
	static char text[8192];
	pm_status	st;
	int			len = snprintf(text, sizeof(text), "{'format':'perfmodel-graph/1','nodes':[%s]}", nodes);

	for (int i = 0; i < len; i++)
		if (text[i] == '\'')
			text[i] = '"';
	pm_arena_release(&arena);
	if (pm_graph_from_json(text, (size_t) len, &arena, &graph, &st) != PM_OK)
	{
		fprintf(stderr, "%s\n%s\n", st.message, text);
		exit(1);
	}
}

static inline pm_work
work(int node, int64_t batch, pm_dtype dtype, pm_optimizer opt)
{
	pm_work		w;

	pm_node_work(&graph, node, batch, dtype, PM_NCHW, opt, &w);
	return w;
}

static inline pm_geometry
geometry(int node, int64_t batch)
{
	pm_geometry geo;

	pm_node_geometry(&graph, node, batch, &geo);
	return geo;
}

#endif
