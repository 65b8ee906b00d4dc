/*
 * fuzz_onnx.c - the ONNX importer and all that is computed from what it makes.
 *
 * libFuzzer:
 *     mkdir -p build/gen && make -s -f src/sources.mk PROTO_OUT=build/gen print-PROTOC | sh
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
 *         -Isrc/core -Ibuild/gen test/fuzz/fuzz_onnx.c src/core/base/core.c src/core/graph/[a-z]*.c \
 *         $(ls src/core/import/onnx/[a-z]*.c | grep -v pb-c) build/gen/import/onnx/onnx.pb-c.c -lprotobuf-c -lm
 *     ./a.out -max_len=65536 new_inputs test/fuzz/corpus_onnx
 * With -DREPLAY a main() runs the files named on the command line instead.
 *
 * Whatever the bytes, the importer returns with a sound code.  Every node of a
 * graph that it makes has finite work, and its document is read as the same graph.  The first byte chooses between a dynamic batch and batch_dim.
 */
#include "graph/graph.h"
#include "import/onnx/onnx.h"
#include "graph/op_work.h"
#include "graph/graph_json.h"
#include "graph/graph_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET ((size_t) 96 * 1024 * 1024)

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

static void
check_work(const pm_graph *g)
{
	for (int i = 0; i < g->n_nodes; i++)
	{
		pm_work		w;

		pm_node_work(g, i, 64, PM_AMP, PM_NCHW, PM_ADAM, &w);
		must(isfinite(w.flops_forward) && w.flops_forward >= 0 && isfinite(w.bytes_backward) && w.bytes_backward >= 0);
	}
}

/* The document that is written of it is one that load_graph takes, and says the same graph. */
static void
check_document(const pm_graph *g, pm_arena *a)
{
	pm_text		text = {.arena = a};
	pm_graph	again;
	pm_status	st = {PM_OK};
	pm_code		code = pm_graph_write(g, &text, &st);

	if (code == PM_OK)
		code = pm_graph_from_json(text.s, text.len, a, &again, &st);
	if (code != PM_OK && code != PM_ERR_MEMORY)
	{
		fprintf(stderr, "%s\n%s\n", st.message, text.s);
		abort();
	}
	must(code != PM_OK || (strlen(text.s) == text.len && again.structure == g->structure));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pm_arena	a;
	pm_status	st;
	pm_onnx_options o = {.name = "fuzz", .batch_dim = -1};
	pm_graph	g;
	pm_code		code;

	if (size == 0)
		return 0;
	o.batch_dim = data[0] == '0' ? 0 : data[0] == '1' ? 1 : -1;
	memset(&st, 0, sizeof(st));
	pm_arena_init(&a, get, put, NULL, BUDGET);
	code = pm_onnx_import(data + 1, size - 1, &o, &a, &g, &st);
	must(code == PM_OK || code == PM_ERR_INPUT || code == PM_ERR_LIMIT || code == PM_ERR_MEMORY);
	must(code == PM_OK || (st.code == code && st.message[0] != '\0'));
	if (code == PM_OK)
	{
		check_work(&g);
		check_document(&g, &a);
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
