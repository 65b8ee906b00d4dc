/*
 * make_graph.h - tiny graphs for the unit tests, built as the JSON text that
 * an exporter would write and read by pm_graph_from_json().
 *
 * JSON stands in the tests with ' in place of ", for the reader's sake.  A
 * test graph that is wrong is a bug of the test: everything here aborts.
 */
#ifndef MAKE_GRAPH_H
#define MAKE_GRAPH_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/predictor.h"
#include "predictor/stored.h"
#include "graph/graph_finish.h"
#include "graph/graph_json.h"

typedef struct graph_text
{
	char	   *text;
	size_t		len;
	size_t		size;
	int			nodes;
} graph_text;

static inline void
make_failed(const char *what, const pm_status *st)
{
	fprintf(stderr, "the test cannot make its %s: %s\n", what, st != NULL ? st->message : "out of memory");
	abort();
}

static inline void
text_add(graph_text *t, const char *fmt, va_list ap)
{
	int			n;

	if (t->size - t->len < 2048)
	{
		t->size = 2 * t->size + 4096;
		t->text = realloc(t->text, t->size);
		if (t->text == NULL)
			make_failed("graph text", NULL);
	}
	n = vsnprintf(t->text + t->len, t->size - t->len, fmt, ap);
	if (n < 0 || n >= 2048)
		make_failed("graph text", NULL);
	for (int i = 0; i < n; i++)
		if (t->text[t->len + i] == '\'')
			t->text[t->len + i] = '"';
	t->len += n;
}

static inline void PM_PRINTF(2, 3)
text_put(graph_text *t, const char *fmt,...)
{
	va_list		ap;

	va_start(ap, fmt);
	text_add(t, fmt, ap);
	va_end(ap);
}

static inline void
text_start(graph_text *t, const char *name, const char *model)
{
	memset(t, 0, sizeof(*t));
	text_put(t, "{'format':'perfmodel-graph/1','name':'%s','model':'%s','nodes':[", name, model);
}

/* Add a node; fmt is what stands behind its id: "'op':'Relu','inputs':[%d],...". Returns the id. */
static inline int PM_PRINTF(2, 3)
text_node(graph_text *t, const char *fmt,...)
{
	va_list		ap;

	text_put(t, "%s{'id':%d,", t->nodes > 0 ? "," : "", t->nodes);
	va_start(ap, fmt);
	text_add(t, fmt, ap);
	va_end(ap);
	text_put(t, "}");
	return t->nodes++;
}

static inline pm_graph *
text_finish(graph_text *t, pm_arena *a)
{
	pm_graph   *g = PM_NEW(a, pm_graph, 1);
	pm_status	st;

	text_put(t, "]}");
	if (g == NULL || pm_graph_from_json(t->text, t->len, a, g, &st) != PM_OK)
		make_failed("graph", g ? &st : NULL);
	free(t->text);
	return g;
}

/* ---- the usual operators, on planes of side x side ---- */

static inline int
net_input(graph_text *t, int channels, int side)
{
	return text_node(t, "'op':'Input','inputs':[],'shape':[1,%d,%d,%d],'batch_dim':0", channels, side, side);
}

/* Stride 1, padded so that the side stays. */
static inline int
net_conv(graph_text *t, int from, int in, int out, int side, int kernel, int group)
{
	return text_node(t, "'op':'Conv','inputs':[%d],'shape':[1,%d,%d,%d],'batch_dim':0,'weights':[[%d,%d,%d,%d]],"
					 "'attrs':{'kernel_shape':[%d,%d],'strides':[1,1],'pads':[%d,%d],'group':%d}",
					 from, out, side, side, out, in / group, kernel, kernel, kernel, kernel,
					 kernel / 2, kernel / 2, group);
}

/* An operator of one input that keeps its shape. */
static inline int
net_unary(graph_text *t, const char *op, int from, int channels, int side)
{
	return text_node(t, "'op':'%s','inputs':[%d],'shape':[1,%d,%d,%d],'batch_dim':0", op, from, channels, side, side);
}

static inline int
net_norm(graph_text *t, int from, int channels, int side)
{
	return text_node(t, "'op':'BatchNormalization','inputs':[%d],'shape':[1,%d,%d,%d],'batch_dim':0,"
					 "'weights':[[%d],[%d]]", from, channels, side, side, channels, channels);
}

static inline int
net_add(graph_text *t, int a, int b, int channels, int side)
{
	return text_node(t, "'op':'Add','inputs':[%d,%d],'shape':[1,%d,%d,%d],'batch_dim':0", a, b, channels, side, side);
}

/* Global pool, a view, and a matrix product. */
static inline int
net_classifier(graph_text *t, int from, int channels, int classes)
{
	int			pool = net_unary(t, "GlobalAveragePool", from, channels, 1);
	int			flat = text_node(t, "'op':'Flatten','view':true,'inputs':[%d],'shape':[1,%d],'batch_dim':0",
								 pool, channels);

	return text_node(t, "'op':'Gemm','inputs':[%d],'shape':[1,%d],'batch_dim':0,'weights':[[%d,%d],[%d]]",
					 flat, classes, classes, channels, classes);
}

/*
 * A small residual network: a stem, `blocks` blocks of two convolutions (the
 * second of the given groups) with a skip each, a long skip from the stem to
 * the last block, a classifier.
 */
static inline pm_graph *
make_net(pm_arena *a, const char *name, int width, int blocks, int side, int group)
{
	graph_text	t;
	int			stem;
	int			x;

	text_start(&t, name, name);
	x = net_input(&t, 3, side);
	x = net_conv(&t, x, 3, width, side, 3, 1);
	x = net_norm(&t, x, width, side);
	x = stem = net_unary(&t, "Relu", x, width, side);
	for (int b = 0; b < blocks; b++)
	{
		int			skip = x;

		x = net_conv(&t, x, width, width, side, 1, 1);
		x = net_norm(&t, x, width, side);
		x = net_unary(&t, "Relu", x, width, side);
		x = net_conv(&t, x, width, width, side, 3, group);
		x = net_norm(&t, x, width, side);
		x = net_add(&t, x, skip, width, side);
	}
	x = net_add(&t, x, stem, width, side);
	net_classifier(&t, x, width, 10 * width);
	return text_finish(&t, a);
}

/*
 * The same graph with its nodes in another topological order, which seed
 * decides: node i of g becomes node place[i] (place: [n_nodes]) of the result.
 */
static inline pm_graph *
make_renumbered(const pm_graph *g, uint64_t seed, int32_t *place, pm_arena *a)
{
	pm_graph   *r = PM_NEW(a, pm_graph, 1);
	int32_t    *ready = PM_NEW(a, int32_t, g->n_nodes);
	pm_status	st;
	pm_rng		rng;

	*r = *g;
	r->nodes = PM_NEW(a, pm_node, g->n_nodes);
	pm_rng_seed(&rng, seed);
	for (int i = 0; i < g->n_nodes; i++)
		place[i] = -1;
	for (int next = 0; next < g->n_nodes; next++)
	{
		int			n_ready = 0;
		int			pick;

		for (int i = 0; i < g->n_nodes; i++)
		{
			bool		waits = place[i] >= 0;

			for (int k = 0; k < g->nodes[i].n_inputs; k++)
				waits |= place[g->nodes[i].inputs[k]] < 0;
			if (!waits)
				ready[n_ready++] = i;
		}
		pick = ready[(int) (pm_rng_uniform(&rng) * n_ready)];
		place[pick] = next;
		r->nodes[next] = g->nodes[pick];
		r->nodes[next].inputs = PM_NEW(a, int32_t, g->nodes[pick].n_inputs);
		for (int k = 0; k < g->nodes[pick].n_inputs; k++)
			r->nodes[next].inputs[k] = place[g->nodes[pick].inputs[k]];
	}
	if (pm_graph_finish(r, a, &st) != PM_OK)
		make_failed("renumbered graph", &st);
	return r;
}

/* ---- what goes with a graph ---- */

static inline pm_skeleton *
make_skeleton(const pm_graph *g, bool merge, pm_arena *a)
{
	pm_skeleton *s = PM_NEW(a, pm_skeleton, 1);
	pm_status	st;

	if (s == NULL || pm_skeleton_build(g, merge, a, s, &st) != PM_OK)
		make_failed("skeleton", s ? &st : NULL);
	return s;
}

/* A data sheet with every field known; not a real device. */
static const pm_gpu test_gpu = {
	.name = "Test 1000", .memory_gb = 16, .mem_bw_gbs = 500, .sm_count = 40, .cores_per_sm = 64,
	.clock_ghz = 1.5, .fp32_tflops = 10, .fp16_tensor_tflops = 80, .l2_mb = 4,
	.tdp_w = 150, .base_clock_ghz = 1, .compute_capability = 8, .l1_kb = 128, .register_kb = 256, .fp16_tflops = 20
};

static inline pm_sample
make_sample(const pm_graph *g, const pm_skeleton *s, int64_t batch, double step_ms)
{
	return (pm_sample) {
		.query = {.graph = g, .gpu = &test_gpu, .batch = batch, .dtype = PM_FP32, .layout = PM_NCHW,
			.optimizer = PM_SGD, .framework = "pytorch 2"},
		.skeleton = s, .step_ms = step_ms, .forward_ms = NAN, .backward_ms = NAN, .weight = 1
	};
}

/*
 * Different networks in `batches` batch sizes each, and step times from
 * `rule`: a caller's function of the tokens of the row.
 */
typedef double (*time_rule) (const pm_tokens *t);

static inline pm_dataset
make_dataset(int networks, int batches, bool merge, time_rule rule, pm_arena *a)
{
	pm_dataset	d = {.samples = PM_NEW(a, pm_sample, (size_t) networks * batches)};

	for (int i = 0; i < networks; i++)
	{
		char		name[32];
		const pm_graph *g;
		const pm_skeleton *s;

		snprintf(name, sizeof(name), "net%c_%d", 'a' + i % 26, i);
		g = make_net(a, name, 8 + 4 * (i % 7), 1 + i % 4, 16 + 8 * (i % 5), i % 3 == 2 ? 4 : 1);
		s = make_skeleton(g, merge, a);
		for (int b = 0; b < batches; b++)
		{
			pm_sample  *row = &d.samples[d.n];
			pm_tokens	tokens;
			pm_status	st;

			*row = make_sample(g, s, INT64_C(2) << b, 0);
			row->id = d.n + 1;
			if (pm_tokens_build(s, &row->query, a, &tokens, &st) != PM_OK)
				make_failed("tokens", &st);
			row->step_ms = rule(&tokens);
			d.n++;
		}
	}
	return d;
}

/* A predictor of this kind fitted with settings; aborts when that fails. */
static inline pm_predictor
make_predictor(const char *kind, const pm_setting *settings, int n, const pm_dataset *d, pm_arena *a)
{
	pm_predictor p = {.kind = pm_kind_find(kind)};
	pm_fit_report report;
	pm_status	st;

	if (p.kind == NULL || pm_options_set(p.kind, settings, n, &p.options, &st) != PM_OK ||
		pm_predictor_fit(&p, d, 1, 1, NULL, a, &report, &st) != PM_OK)
		make_failed("predictor", p.kind ? &st : NULL);
	return p;
}

/* Prediction for one row, NaN when refused. */
static inline double
predict_row(const pm_predictor *p, const pm_sample *row)
{
	pm_arena	scratch;
	pm_status	st;
	double		ms;

	pm_arena_init_malloc(&scratch);
	if (pm_predictor_predict(p, row, &scratch, &ms, NULL, NULL, &st) != PM_OK)
		ms = NAN;
	pm_arena_release(&scratch);
	return ms;
}

/* A fork into three branches, one of them empty, a join, and a long skip over all. */
static inline pm_graph *
make_fork(pm_arena *a)
{
	graph_text	t;
	int			x, left, right, skip;

	text_start(&t, "fork", "fork");
	x = net_input(&t, 3, 8);
	x = skip = net_conv(&t, x, 3, 8, 8, 3, 1);
	left = net_unary(&t, "Relu", x, 8, 8);
	left = net_conv(&t, left, 8, 8, 8, 1, 1);
	right = net_conv(&t, x, 8, 8, 8, 5, 8);
	right = net_unary(&t, "Sigmoid", right, 8, 8);
	x = net_add(&t, left, right, 8, 8);
	x = net_norm(&t, x, 8, 8);
	x = net_add(&t, x, skip, 8, 8);
	net_classifier(&t, x, 8, 10);
	return text_finish(&t, a);
}

#endif
