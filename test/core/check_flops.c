/*
 * check_flops.c - compares the catalogue's forward FLOPs with the advisory
 * "flops" of recorded graphs.
 *
 *     gzip -dc graphs.ndjson.gz | check_flops
 *
 * Reads one perfmodel-graph/1 document a line.  Convolutions, matrix products
 * and LSTMs must agree to 0.1 % on every node, at batch 1 and at another.
 * Other operators are counted by different conventions; the ratio must then be
 * one of those that `explained` lists, with the reason.  Prints a table per operator; exit status 1 when
 * something disagrees or a document is refused.
 */
#define _POSIX_C_SOURCE 200809L

#include "graph/op_catalogue.h"
#include "graph/op_work.h"
#include "graph/graph_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define TOLERANCE 0.001
#define OTHER_BATCH 7

/* Ratios ours / advisory that are not 1, and why. */
static const struct explained
{
	const char *op;
	double		ratio;
	const char *why;
}			explained[] =
{
	{"BatchNormalization", 8.0 / 5, "ours counts training statistics"},
	{"LayerNormalization", 8.0 / 5, "ours counts training statistics"},
	{"GroupNormalization", 8.0 / 5, "ours counts training statistics"},
	{"Gelu", 8, "a special function is 8"},
	{"Silu", 8, "a special function is 8"},
	{"Sigmoid", 8, "a special function is 8"},
	{"Tanh", 8, "a special function is 8"},
	{"Elu", 8, "a special function is 8"},
	{"Exp", 8, "a special function is 8"},
	{"Log", 8, "a special function is 8"},
	{"Pow", 8, "a special function is 8"},
	{"Sin", 8, "a special function is 8"},
	{"Cos", 8, "a special function is 8"},
	{"ReduceLogSumExp", 8, "a special function is 8"},
	{"HardSwish", 4, "add, clip, scale, multiply"},
	{"HardSigmoid", 3, "scale, add, clip"},
	{"Dropout", 2, "random number and scaling"},
	{"ReduceL2", 2, "square and add"},
	{"aten::var", 3, "mean, square, add"},
	{"aten::addcmul", 2, "two products, an addition"},
	{"Resize", 1.0 / 4, "bicubic reads 16 values, ours counts 4 for any mode"},
	{"aten::col2im", 9.0 / 4, "ours adds every element of the columns: 3x3 windows, stride 2"},
	{"Cast", 0, "a copy is no arithmetic"},
};

typedef struct tally
{
	long		n;
	long		agree;
	long		explained;
	double		least,
				most;
	const char *why;
} tally;

static bool
near(double a, double b)
{
	return fabs(a - b) <= TOLERANCE * fmax(fabs(a), fabs(b));
}

static bool
must_agree(const char *op)
{
	return strcmp(op, "Conv") == 0 || strcmp(op, "ConvTranspose") == 0 || strcmp(op, "Gemm") == 0 ||
		strcmp(op, "MatMul") == 0 || strcmp(op, "LSTM") == 0;
}

static const char *
explain(const char *op, double ratio)
{
	for (size_t i = 0; i < sizeof(explained) / sizeof(explained[0]); i++)
		if (strcmp(explained[i].op, op) == 0 && near(explained[i].ratio, ratio))
			return explained[i].why;
	return NULL;
}

/* At another batch the advisory count is flops0 + N * (flops - flops0). */
static bool
agrees_at_batch(const pm_graph *g, int i)
{
	const pm_node *n = &g->nodes[i];
	double		fixed = isnan(n->flops0) ? (n->batch_dim < 0 ? n->flops : 0) : n->flops0;
	pm_work		w;

	pm_node_work(g, i, OTHER_BATCH, PM_FP32, PM_NCHW, PM_SGD, &w);
	return near(w.flops_forward, fixed + OTHER_BATCH * (n->flops - fixed));
}

/* Compare one node; false when it neither agrees nor is explained. */
static bool
check_node(const pm_graph *g, int i, tally *tallies)
{
	const char *op = pm_op_name(g->nodes[i].op);
	double		advisory = g->nodes[i].flops;
	tally	   *t = &tallies[g->nodes[i].op];
	pm_work		w;
	double		ratio;
	const char *why;

	if (!(advisory > 0))
		return true;			/* absent or a mere move */
	pm_node_work(g, i, 1, PM_FP32, PM_NCHW, PM_SGD, &w);
	ratio = w.flops_forward / advisory;
	t->least = t->n == 0 ? ratio : fmin(t->least, ratio);
	t->most = t->n == 0 ? ratio : fmax(t->most, ratio);
	t->n++;
	if (near(w.flops_forward, advisory) && (!must_agree(op) || agrees_at_batch(g, i)))
	{
		t->agree++;
		return true;
	}
	why = must_agree(op) ? NULL : explain(op, ratio);
	if (why != NULL)
	{
		t->explained++;
		t->why = why;
		return true;
	}
	fprintf(stderr, "%s node %d (%s): %.17g, advisory %.17g\n", g->name ? g->name : "?", i,
			g->nodes[i].op_name, w.flops_forward, advisory);
	return false;
}

static void
print_table(const tally *tallies)
{
	printf("%-28s %8s %8s %9s %10s %10s  %s\n", "operator", "n", "agree", "explained", "least", "most", "why");
	for (int op = 0; op < pm_op_count(); op++)
	{
		const tally *t = &tallies[op];

		if (t->n > 0)
			printf("%-28s %8ld %8ld %9ld %10.6g %10.6g  %s\n", pm_op_name(op), t->n, t->agree, t->explained,
				   t->least, t->most, t->why ? t->why : "");
	}
}

int
main(void)
{
	tally	   *tallies = calloc((size_t) pm_op_count(), sizeof(tally));
	char	   *line = NULL;
	size_t		size = 0;
	ssize_t		len;
	long		graphs = 0,
				nodes = 0,
				wrong = 0,
				unknown = 0,
				params_differ = 0;
	double		spent = 0;

	if (tallies == NULL)
		return 1;
	while ((len = getline(&line, &size, stdin)) > 0)
	{
		pm_arena	a;
		pm_graph	g;
		pm_status	st;
		double		start = pm_now();

		pm_arena_init_malloc(&a);
		if (pm_graph_from_json(line, (size_t) len, &a, &g, &st) != PM_OK)
		{
			fprintf(stderr, "graph %ld: %s\n", graphs + 1, st.message);
			wrong++;
			pm_arena_release(&a);
			continue;
		}
		spent += pm_now() - start;
		graphs++;
		nodes += g.n_nodes;
		unknown += g.n_unknown;
		params_differ += !isnan(g.declared_params) && g.params != g.declared_params;
		for (int i = 0; i < g.n_nodes; i++)
			wrong += !check_node(&g, i, tallies);
		pm_arena_release(&a);
	}
	print_table(tallies);
	printf("%ld graphs, %ld nodes, %ld with an unknown operator, %ld graphs with other parameters than declared, "
		   "read in %.0f ms, %ld wrong\n", graphs, nodes, unknown, params_differ, spent * 1e3, wrong);
	free(line);
	free(tallies);
	return graphs == 0 || wrong != 0 || unknown != 0;
}
