/*
 * op_measurements.c - reads measurements of single operators from
 * perfmodel.op_profile, in addition to the steps that measurements.c reads.
 */
#include "postgres.h"

#include <math.h>

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "graphs.h"
#include "measurements.h"
#include "op_measurements.h"
#include "plans.h"
#include "results.h"

enum
{
	Q_ID = 1, Q_OPERATOR, Q_GPU, Q_BATCH, Q_DTYPE, Q_LAYOUT, Q_FRAMEWORK, Q_FORWARD, Q_BACKWARD
};

/* All rows: those of a device without steps teach its level (kinds/cards.h). */
static uint64
query_operators(void)
{
	static pm_plan query = {
		"SELECT op_profile_id, operator, gpu, batch, dtype, layout, framework, forward_ms, backward_ms"
		" FROM perfmodel.op_profile ORDER BY op_profile_id", 0
	};

	return pm_run(&query, NULL, NULL, true);
}

/* Graph and skeleton of a document of one operator. */
static void
read_operator(pm_sample *s, Jsonb *doc, bool merged, pm_arena *arena)
{
	pm_graph   *graph = PM_NEW(arena, pm_graph, 1);
	pm_skeleton *skeleton = PM_NEW(arena, pm_skeleton, 1);
	pm_status	st = {PM_OK};

	if (graph == NULL || skeleton == NULL)
	{
		pm_no_memory(&st, arena);
		pm_raise(&st);
	}
	pm_graph_from_doc(doc, arena, graph);
	pfree(unconstify(char *, graph->text));
	graph->text = NULL;
	if (pm_skeleton_build(graph, merged, arena, skeleton, &st) != PM_OK)
		pm_raise(&st);
	s->query.graph = graph;
	s->skeleton = skeleton;
}

/* False for a document that does not come to one operator. */
static bool
read_row(pm_rows *rows, uint64 i, bool merged, pm_arena *arena, MemoryContext cxt, pm_sample *s)
{
	const pm_graph *g;
	const char *framework;

	memset(s, 0, sizeof(*s));
	read_operator(s, DatumGetJsonbP(pm_value(i, Q_OPERATOR, JSONBOID, NULL)), merged, arena);
	g = s->query.graph;
	s->id = DatumGetInt64(pm_value(i, Q_ID, INT8OID, NULL));
	s->query.alone = true;
	s->query.gpu = pm_rows_sheet(rows, TextDatumGetCString(pm_value(i, Q_GPU, TEXTOID, NULL)));
	s->query.batch = DatumGetInt32(pm_value(i, Q_BATCH, INT4OID, NULL));
	s->query.dtype = pm_dtype_run(s->query.gpu, pm_value_word(i, Q_DTYPE, &pm_dtype_words));
	s->query.layout = pm_layout_run(g->has_layout, pm_value_word(i, Q_LAYOUT, &pm_layout_words));
	framework = pm_value_text_or_null(i, Q_FRAMEWORK, cxt);
	s->query.framework = framework ? MemoryContextStrdup(cxt, pm_to_core_lossy(framework)) : NULL;
	s->query.optimizer = PM_SGD;
	s->forward_ms = pm_value_float8(i, Q_FORWARD);
	s->backward_ms = pm_value_float8(i, Q_BACKWARD);
	s->step_ms = s->forward_ms + (isnan(s->backward_ms) ? 0 : s->backward_ms);
	s->query.forward_only = isnan(s->backward_ms) && g->nodes[g->n_nodes - 1].grad;
	s->weight = 1;
	return s->skeleton->n == 1;
}

static uint64
hash_operators(uint64 h, const pm_dataset *set)
{
	for (int i = 0; i < set->n_operators; i++)
	{
		const pm_sample *s = &set->operators[i];
		const char *framework = s->query.framework ? s->query.framework : "";
		double		numbers[] = {s->query.batch, s->query.dtype, s->query.layout, s->step_ms};

		h = pm_hash(h, &s->query.graph->structure, sizeof(uint64));
		h = pm_hash(h, numbers, sizeof(numbers));
		h = pm_hash(h, s->query.gpu->name, strlen(s->query.gpu->name) + 1);
		h = pm_hash(h, framework, strlen(framework) + 1);
	}
	return h;
}

static void
add_operators(pm_rows *rows, bool merged)
{
	MemoryContext cxt = CurrentMemoryContext;
	pm_dataset *set = &rows->set;
	pm_arena	arena;
	uint64		n;

	pm_context_arena(&arena, cxt, 0);
	SPI_connect();
	n = query_operators();
	set->operators = MemoryContextAllocZero(cxt, sizeof(pm_sample) * Max(n, 1));
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (read_row(rows, i, merged, &arena, cxt, &set->operators[set->n_operators]))
			set->n_operators++;
		if (i % 256 == 0)
			pm_rows_check_limit(rows);
	}
	SPI_finish();
	rows->hash = hash_operators(rows->hash, set);
}

void
pm_rows_add_operators(pm_rows *rows, const pm_kind *kind, const pm_options *o)
{
	if (kind->learns_operators != NULL && kind->learns_operators(o))
		add_operators(rows, pm_predictor_merges(kind, o));
}
