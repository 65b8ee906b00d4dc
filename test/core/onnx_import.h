/*
 * onnx_import.h - build an ONNX file and import it, for tests.
 */
#ifndef ONNX_IMPORT_H
#define ONNX_IMPORT_H

#include "check.h"
#include "graph/graph.h"
#include "graph/graph_finish.h"
#include "graph/graph_json.h"
#include "graph/graph_write.h"
#include "import/onnx/onnx.h"
#include "onnx_builder.h"

#define IMAGE "input x 1 N,4,8,8;"
#define SEQ "input x 1 N,6,8;"
#define FLAT "input x 1 N,8;"
#define IDS "input x 7 N,6;"
#define MS " domain=com.microsoft"

static bytes file;			/* what was built last */

typedef struct imported
{
	pm_arena	arena;
	pm_graph	g;
	pm_status	st;
	pm_code		code;
} imported;

/* The document that is written says the same graph. */
static inline void
check_document(imported *m)
{
	pm_text		text = {.arena = &m->arena};
	pm_graph	again;
	pm_status	st = {PM_OK};

	if (pm_graph_write(&m->g, &text, &st) != PM_OK || pm_graph_from_json(text.s, text.len, &m->arena, &again, &st) != PM_OK)
		check_report(0, __FILE__, __LINE__, st.message);
	else
		CHECK(strlen(text.s) == text.len && again.structure == m->g.structure && again.n_nodes == m->g.n_nodes &&
			  again.params == m->g.params && again.output == m->g.output && strcmp(again.source, m->g.source) == 0);
}

static inline void
import_bytes(const uint8_t *v, size_t n, int batch_dim, imported *m)
{
	pm_onnx_dim dims[1] = {{"S", 16}};
	pm_onnx_options o = {.name = "m", .batch_dim = batch_dim, .n_dims = 1, .dims = dims};

	memset(m, 0, sizeof(*m));
	pm_arena_init_malloc(&m->arena);
	m->code = pm_onnx_import(v, n, &o, &m->arena, &m->g, &m->st);
	if (m->code == PM_OK)
		check_document(m);
}

static inline void
import(const char *text, int batch_dim, imported *m)
{
	build_onnx(text, &file);
	import_bytes(file.v, file.n, batch_dim, m);
}

/* Nodes that work, in order, as "LayerNormalization Gelu". */
static inline void
check_folded(const char *model, const char *want)
{
	imported	m;
	char		got[400] = "";

	import(model, -1, &m);
	CHECK_HAS(m.st.message, "");
	for (int i = 0; m.code == PM_OK && i < m.g.n_nodes; i++)
		if (!m.g.nodes[i].view && strcmp(m.g.nodes[i].op_name, "Input") != 0)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", got[0] ? " " : "", m.g.nodes[i].op_name);
	check_report(strcmp(got, want) == 0, __FILE__, __LINE__, want);
	if (strcmp(got, want) != 0)
		fprintf(stderr, "    got \"%s\" %s\n", got, m.st.message);
	pm_arena_release(&m.arena);
}

/* Importing `model` ends with `code`, and a message that has `message` in it. */
static inline void
check_error(const char *model, pm_code code, const char *message)
{
	imported	m;

	import(model, -1, &m);
	CHECK_EQ(m.code, code);
	CHECK_HAS(m.st.message, message);
	pm_arena_release(&m.arena);
}

#endif
