/*
 * fuzz_graph.c - the graph importer and all that is computed from what it accepts.
 *
 * libFuzzer:
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -Isrc/core test/fuzz/fuzz_graph.c \
 *         src/core/base/core.c src/core/graph/[a-z]*.c -lm
 * With -DREPLAY a main() runs the files named on the command line instead.
 *
 * Whatever the bytes, the importer returns with a sound code; an accepted graph
 * has finite, non-negative work, a dag in order, and survives a small budget.
 */
#include "graph/graph.h"
#include "graph/op_work.h"
#include "graph/op_geometry.h"
#include "graph/dag.h"
#include "graph/graph_json.h"
#include "graph/graph_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET ((size_t) 64 * 1024 * 1024)

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool ok)
{
	if (!ok)
		abort();
}

static void *
get(void *ctx, size_t size)
{
	(void) ctx;
	return malloc(size);
}

static void
put(void *ctx, void *block)
{
	(void) ctx;
	free(block);
}

static bool
sound(double v)
{
	return isfinite(v) && v >= 0;
}

static void
check_work(const pm_graph *g, int i, int64_t batch, pm_dtype dtype)
{
	pm_work		w;
	pm_geometry geo;

	pm_node_work(g, i, batch, dtype, (pm_layout) (i % PM_N_LAYOUTS), PM_ADAM, &w);
	must(sound(w.flops_forward) && sound(w.flops_backward) && sound(w.flops_update));
	must(sound(w.bytes_forward) && sound(w.bytes_backward) && sound(w.bytes_update));
	must(sound(w.params) && sound(w.in_elems) && sound(w.out_elems) && sound(w.weight_elems));
	must(sound(w.kernels_forward) && sound(w.kernels_backward));
	must(!g->nodes[i].view || w.flops_forward + w.bytes_forward + w.kernels_forward == 0);
	pm_node_geometry(g, i, batch, &geo);
	must(sound(geo.in_ch) && sound(geo.out_ch) && sound(geo.in_h) && sound(geo.in_w) && sound(geo.out_h) && sound(geo.out_w));
	must(sound(geo.k_h) && sound(geo.k_w) && sound(geo.ch_per_group) && sound(geo.groups));
	must(sound(geo.gemm_m) && sound(geo.gemm_n) && sound(geo.gemm_k) && sound(geo.gemm_batch));
	must(sound(geo.heads) && sound(geo.seq_len));
}

static void
check_dag(const pm_graph *g, pm_arena *a)
{
	pm_dag		dag;
	pm_status	st;

	if (pm_dag_build(g, a, &dag, &st) != PM_OK)
	{
		must(st.message[0] != '\0');
		return;
	}
	must(dag.n <= g->n_nodes);
	for (int i = 0; i < dag.n; i++)
	{
		for (int j = dag.parent_at[i]; j < dag.parent_at[i + 1]; j++)
		{
			must(dag.parent[j] < i && dag.depth[dag.parent[j]] < dag.depth[i]);
			must(j == dag.parent_at[i] || dag.parent[j - 1] < dag.parent[j]);
		}
		must(dag.depth[i] + dag.height[i] <= dag.max_depth);
	}
	if (dag.n > 0 && dag.n < 2000)
	{
		uint64_t   *rows = PM_NEW(a, uint64_t, pm_reach_words(dag.n) * (size_t) dag.n);

		if (rows != NULL)
			must(pm_dag_reach(&dag, a, rows, &st) == PM_OK);
	}
}

/* What is written is read as the same graph. */
static void
check_document(const pm_graph *g, pm_arena *a)
{
	pm_text		text = {.arena = a};
	pm_graph	again;
	pm_status	st;
	pm_code		code = pm_graph_write(g, &text, &st);

	if (code == PM_OK)
		code = pm_graph_from_json(text.s, text.len, a, &again, &st);
	must(code == PM_ERR_MEMORY || (code == PM_OK && again.structure == g->structure && again.params == g->params &&
								   strcmp(again.family, g->family) == 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_code		code;

	memset(&st, 0, sizeof(st));
	pm_arena_init(&a, get, put, NULL, BUDGET);
	code = pm_graph_from_json((const char *) data, size, &a, &g, &st);
	must(code == PM_OK || code == PM_ERR_INPUT || code == PM_ERR_LIMIT || code == PM_ERR_MEMORY);
	must(code == PM_OK || (st.code == code && st.message[0] != '\0'));
	if (code == PM_OK)
	{
		check_dag(&g, &a);
		check_document(&g, &a);
		for (int i = 0; i < g.n_nodes; i++)
		{
			must(g.nodes[i].attrs_at + g.nodes[i].attrs_len <= size);
			check_work(&g, i, 1, PM_FP32);
			check_work(&g, i, 1 << 20, PM_AMP);
		}
	}
	pm_arena_release(&a);
	return 0;
}

#ifdef REPLAY
int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
	{
		FILE	   *f = fopen(argv[i], "rb");
		static uint8_t data[1 << 20];

		if (f == NULL)
			return 1;
		LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), f));
		fclose(f);
	}
	return 0;
}
#endif
