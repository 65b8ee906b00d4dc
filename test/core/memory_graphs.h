/*
 * memory_graphs.h - graphs that the tests of memory read: documents written by
 * hand, Transformers, and operators at random.
 */
#ifndef PM_TEST_MEMORY_GRAPHS_H
#define PM_TEST_MEMORY_GRAPHS_H

#include "check.h"
#include "graph/graph_json.h"
#include "memory/breakdown.h"
#include "memory/step.h"

#include <stdlib.h>

static pm_arena arena;
static pm_graph graph;
static char text[65536];
static bool plain_attention;	/* what load_transformer() makes says so */
static const char *more_of_document = "";	/* members beside the nodes */

/* Read the nodes given, with ' in place of ", into `graph`. */
static void
load(const char *nodes)
{
	static char doc[sizeof(text) + 64];
	pm_status	st;
	int			len = snprintf(doc, sizeof(doc), "{'format':'perfmodel-graph/1',%s'nodes':[%s]}", more_of_document, nodes);

	for (int i = 0; i < len; i++)
		if (doc[i] == '\'')
			doc[i] = '"';
	pm_arena_release(&arena);
	if (pm_graph_from_json(doc, (size_t) len, &arena, &graph, &st) != PM_OK)
	{
		fprintf(stderr, "%s\n%s\n", st.message, doc);
		exit(1);
	}
}

/* ---------- a Transformer ---------- */

#define SEQ		32
#define HIDDEN	64
#define HEADS	4

static int
add(char *at, size_t room, const char *op, int id, const char *inputs, const char *shape, const char *more)
{
	return snprintf(at, room, "%s{'id':%d,'op':'%s','inputs':[%s],'shape':%s,'batch_dim':0%s}", id > 0 ? "," : "", id, op, inputs,
					shape, more);
}

/* Nodes of one layer that reads node `in`; returns the number of the next node. */
static int
layer(char **at, int id, int in)
{
	char		inputs[32];
	char		x[32],
				wide[32],
				heads[40],
				scores[40],
				norm[64],
				gemm[64],
				up[64],
				down[64];
	int			start = id;

	snprintf(x, sizeof(x), "[1,%d,%d]", SEQ, HIDDEN);
	snprintf(wide, sizeof(wide), "[1,%d,%d]", SEQ, 4 * HIDDEN);
	snprintf(heads, sizeof(heads), "[1,%d,%d,%d]", HEADS, SEQ, HIDDEN / HEADS);
	snprintf(scores, sizeof(scores), "[1,%d,%d,%d]", HEADS, SEQ, SEQ);
	snprintf(norm, sizeof(norm), ",'weights':[[%d],[%d]]", HIDDEN, HIDDEN);
	snprintf(gemm, sizeof(gemm), ",'weights':[[%d,%d]]", HIDDEN, HIDDEN);
	snprintf(up, sizeof(up), ",'weights':[[%d,%d]]", 4 * HIDDEN, HIDDEN);
	snprintf(down, sizeof(down), ",'weights':[[%d,%d]]", HIDDEN, 4 * HIDDEN);
#define ADD(op, shape, more, ...) \
	do { \
		snprintf(inputs, sizeof(inputs), __VA_ARGS__); \
		*at += add(*at, 512, op, id++, inputs, shape, more); \
	} while (0)
	ADD("LayerNormalization", x, norm, "%d", in);
	for (int i = 1; i <= 3; i++)
		ADD("Gemm", x, gemm, "%d", start);
	for (int i = 1; i <= 3; i++)
		ADD("Reshape", heads, ",'view':true", "%d", start + i);
	ADD("MatMul", scores, "", "%d,%d", start + 4, start + 5);
	ADD("Mul", scores, "", "%d", start + 7);
	ADD("Softmax", scores, plain_attention ? ",'attrs':{'plain':1}" : "", "%d", start + 8);
	ADD("Dropout", scores, "", "%d", start + 9);
	ADD("MatMul", heads, "", "%d,%d", start + 10, start + 6);
	ADD("Reshape", x, ",'view':true", "%d", start + 11);
	ADD("Gemm", x, gemm, "%d", start + 12);
	ADD("Dropout", x, "", "%d", start + 13);
	ADD("Add", x, "", "%d,%d", in, start + 14);
	ADD("LayerNormalization", x, norm, "%d", start + 15);
	ADD("Gemm", wide, up, "%d", start + 16);
	ADD("Gelu", wide, "", "%d", start + 17);
	ADD("Gemm", x, down, "%d", start + 18);
	ADD("Dropout", x, "", "%d", start + 19);
	ADD("Add", x, "", "%d,%d", start + 15, start + 20);
#undef ADD
	return id;
}

static void
load_transformer(int layers)
{
	char	   *at = text;
	int			id = 2;

	at += snprintf(at, 512, "{'id':0,'op':'Input','inputs':[],'shape':[1,%d],'batch_dim':0},"
				   "{'id':1,'op':'Gather','inputs':[0],'shape':[1,%d,%d],'batch_dim':0,'weights':[[100,%d]]}", SEQ, SEQ, HIDDEN, HIDDEN);
	for (int i = 0; i < layers; i++)
		id = layer(&at, id, id - 1);
	load(text);
}

/* ---------- any graph ---------- */

/* Nodes of operators at random, which read nodes before them at random. */
static inline void
load_random(pm_rng *r)
{
	static const char *const ops[] = {
		"Input", "Conv", "Relu", "Add", "Mul", "Div", "Concat", "MatMul", "Softmax", "LayerNormalization", "MaxPool", "Dropout", "Split", "Reshape",
		"LSTM", "Attention", "Bernoulli", "InPlaceABN"
	};
	int			n = 2 + (int) (pm_rng_next(r) % 40);
	char	   *at = text;

	for (int i = 0; i < n; i++)
	{
		int			n_inputs = i == 0 ? 0 : (int) (pm_rng_next(r) % 4);
		bool		by_batch = pm_rng_next(r) % 5 != 0;

		at += snprintf(at, 200, "%s{'id':%d,'op':'%s','shape':[%d,%d,%d,%d],'batch_dim':%s,'view':%s%s,'inputs':[", i ? "," : "", i,
					   ops[pm_rng_next(r) % (sizeof(ops) / sizeof(ops[0]))], 1 + (int) (pm_rng_next(r) % 3), (int) (pm_rng_next(r) % 4), 5, 6,
					   by_batch ? "0" : "null", pm_rng_next(r) % 4 == 0 && n_inputs > 0 ? "true" : "false",
					   pm_rng_next(r) % 3 == 0 ? ",'weights':[[4,4,1,1],[4]]" : pm_rng_next(r) % 5 == 0 ? ",'shapes':[[1,2],[1,2]]" : "");
		for (int k = 0; k < n_inputs; k++)
			at += snprintf(at, 16, "%s%d", k ? "," : "", (int) (pm_rng_next(r) % (uint64_t) i));
		at += snprintf(at, 4, "]}");
	}
	load(text);
}

static inline pm_step
simulate(pm_step_options o)
{
	pm_step		s;
	pm_status	st;

	if (pm_step_simulate(&graph, &o, &arena, &s, &st) != PM_OK)
	{
		fprintf(stderr, "%s\n", st.message);
		exit(1);
	}
	return s;
}

/* Bytes of a role that are held when the phase begins. */
static inline double
held_before(const pm_step *s, pm_step_phase phase, pm_memory_role role, int64_t batch)
{
	bool	   *held = PM_NEW(&arena, bool, s->n_tensors);
	double		bytes = 0;

	pm_memory_held_after(s, s->phase_at[phase] - 1, held);
	for (int t = 0; t < s->n_tensors; t++)
		if (held[t] && s->tensors[t].role == role)
			bytes += pm_memory_tensor_bytes(&s->tensors[t], batch);
	return bytes;
}

#endif
