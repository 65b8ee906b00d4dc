/*
 * gradient_graphs.h - two small graphs for the gradient tests: twelve
 * operators with a fork, a join and a long skip; and blocks that repeat.
 */
#ifndef GRADIENT_GRAPHS_H
#define GRADIENT_GRAPHS_H

#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "graph/graph_json.h"

#define CONV(id, in, co, ci, k, h) \
	"{\"id\":" #id ",\"op\":\"Conv\",\"inputs\":[" #in "],\"shape\":[1," #co "," #h "," #h "],\"batch_dim\":0," \
	"\"attrs\":{\"kernel_shape\":[" #k "," #k "],\"strides\":[1,1],\"pads\":[1,1],\"dilations\":[1,1],\"group\":1}," \
	"\"weights\":[[" #co "," #ci "," #k "," #k "]]}"
#define UNARY(id, op, in, ch, h) \
	"{\"id\":" #id ",\"op\":\"" op "\",\"inputs\":[" in "],\"shape\":[1," #ch "," #h "," #h "],\"batch_dim\":0}"
#define HEAD(name) "{\"format\":\"perfmodel-graph/1\",\"name\":\"" name "\",\"model\":\"test\",\"input\":[1,3,16,16],\"nodes\":[" \
	"{\"id\":0,\"op\":\"Input\",\"inputs\":[],\"shape\":[1,3,16,16],\"batch_dim\":0},"

/* 1 forks to 2 and 4; 7 joins; 11 reads 1 again over a long skip */
#define GRAPH_FORK_JOIN_SKIP HEAD("fork") \
	CONV(1, 0, 8, 3, 3, 16) "," UNARY(2, "Relu", "1", 8, 16) "," CONV(3, 2, 8, 8, 3, 16) "," \
	CONV(4, 1, 8, 8, 1, 16) "," UNARY(5, "Sigmoid", "4", 8, 16) "," UNARY(6, "Relu", "3", 8, 16) "," \
	UNARY(7, "Add", "5,6", 8, 16) "," CONV(8, 7, 16, 8, 3, 16) "," UNARY(9, "Gelu", "8", 16, 16) "," \
	CONV(10, 9, 8, 16, 1, 16) "," UNARY(11, "Add", "10,1", 8, 16) "," UNARY(12, "Softmax", "11", 8, 16) "]}"

/* the same block three times over */
#define GRAPH_REPEATED HEAD("repeated") \
	CONV(1, 0, 8, 3, 3, 16) "," CONV(2, 1, 8, 8, 3, 16) "," UNARY(3, "Relu", "2", 8, 16) "," \
	CONV(4, 3, 8, 8, 3, 16) "," UNARY(5, "Relu", "4", 8, 16) "," CONV(6, 5, 8, 8, 3, 16) "," \
	UNARY(7, "Relu", "6", 8, 16) "]}"

static inline pm_graph *
gradient_graph(const char *text, pm_arena *a)
{
	pm_graph   *g = PM_NEW(a, pm_graph, 1);
	pm_status	st;

	if (pm_graph_from_json(text, strlen(text), a, g, &st) != PM_OK)
	{
		fprintf(stderr, "test graph: %s %s\n", st.message, st.detail);
		exit(1);
	}
	return g;
}

#endif
