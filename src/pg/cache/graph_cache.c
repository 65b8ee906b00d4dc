/*
 * graph_cache.c - known and parsed graphs, by graph_id.
 *
 * Of a known graph it is checked, once a generation, that its row is there
 * still; a parsed one stands behind a known one and goes when that does.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "cache/cache.h"
#include "cache/freshness.h"
#include "cache/graph_cache.h"
#include "errors.h"
#include "graph/expert_part.h"
#include "graphs.h"
#include "plans.h"

static pm_problem
no_such_graph(int64 graph_id)
{
	return (pm_problem) {
		"unknown_graph", ERRCODE_UNDEFINED_OBJECT, psprintf("graph with graph_id %lld does not exist", (long long) graph_id), NULL,
		"perfmodel.graph_id(name) finds the id of a name; SELECT graph_id, name FROM perfmodel.graph lists them."
	};
}

void
pm_no_such_graph(int64 graph_id)
{
	pm_problem	p = no_such_graph(graph_id);

	pm_problem_raise(&p);
}

static pm_cached_key
key_of(pm_cached_what what, int64 graph_id, int32 expert_part)
{
	return (pm_cached_key) {what, graph_id,.expert_part = expert_part};
}

/* Parse the document of row 0 of SPI's result into a new entry; NULL: it is no graph, or its experts cannot be divided so (*divided). */
static pm_cached *
parse(int64 graph_id, int32 expert_part, bool *divided, pm_status *st)
{
	pm_cached_key key = key_of(PM_CACHED_PARSED, graph_id, expert_part);
	pm_cached  *e = pm_cache_make(&key);
	pm_graph	whole;

	*divided = false;
	e->born = DatumGetTimestampTz(pm_value(0, 1, TIMESTAMPTZOID, NULL));
	/* what is not kept goes with the memory of SPI */
	if (!pm_graph_from_row(graph_id, DatumGetJsonbP(pm_value(0, 2, JSONBOID, NULL)), &e->arena, &e->graph[0], st))
		return NULL;
	if (expert_part > 1)
	{
		*divided = true;
		whole = e->graph[0];
		if (pm_experts_divide(&whole, expert_part, &e->arena, &e->graph[0], st) != PM_OK)
			return NULL;
	}
	pm_cache_keep(e);
	return e;
}

/* NULL: *p says that there is no such row, or that its document is no graph. */
static pm_cached *
load(int64 graph_id, int32 expert_part, pm_problem *p)
{
	static pm_plan query = {
		"SELECT loaded_at, doc FROM perfmodel.graph WHERE graph_id OPERATOR(pg_catalog.=) $1", 1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(graph_id);
	pm_cached  *e = NULL;
	pm_status	st = {PM_OK};
	bool		divided;

	SPI_connect();
	if (pm_run(&query, &arg, NULL, true) > 0)
		e = parse(graph_id, expert_part, &divided, &st);
	SPI_finish();
	if (e == NULL)
		*p = st.code != PM_OK ? pm_problem_of_status(divided ? "bad_parallel" : "unfit_graph", &st) : no_such_graph(graph_id);
	return e;
}

/* Whether the row that e was loaded from is there still. */
static bool
still_there(const pm_cached *e)
{
	static pm_plan query = {
		/* the document for the right to read it */
		"SELECT loaded_at FROM perfmodel.graph WHERE doc IS NOT NULL AND graph_id OPERATOR(pg_catalog.=) $1", 1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(e->key.id);
	bool		same;

	SPI_connect();
	same = pm_run(&query, &arg, NULL, true) == 1 && DatumGetTimestampTz(pm_value(0, 1, TIMESTAMPTZOID, NULL)) == e->born;
	SPI_finish();
	return same;
}

static void
drop_if_there(const pm_cached_key *key)
{
	pm_cached  *e = pm_cache_find(key);

	if (e != NULL)
		pm_cache_drop(e);
}

pm_cached *
pm_graph_look_up(int64 graph_id, int32 expert_part, pm_problem *p)
{
	const pm_cached_key key = key_of(PM_CACHED_GRAPH, graph_id, expert_part);
	const pm_cached_key parsed_key = key_of(PM_CACHED_PARSED, graph_id, expert_part);
	pm_cached  *e = pm_cache_find(&key);
	pm_cached  *parsed;

	if (e != NULL && e->checked == pm_generation)
		return e;
	if (e != NULL && still_there(e))
	{
		e->checked = pm_generation;
		return e;
	}
	/* a parsed one alone may be of any age */
	drop_if_there(&key);
	drop_if_there(&parsed_key);
	parsed = load(graph_id, expert_part, p);
	if (parsed == NULL)
		return NULL;
	e = pm_cache_make(&key);
	e->born = parsed->born;
	e->checked = pm_generation;
	e->has_layout = parsed->graph[0].has_layout;
	pm_cache_keep(e);
	return e;
}

/* The parsed graph behind a known one. Raises. */
static pm_cached *
parsed_of(pm_cached *graph)
{
	const pm_cached_key key = key_of(PM_CACHED_PARSED, graph->key.id, graph->key.expert_part);
	pm_cached  *e = pm_cache_find(&key);
	pm_problem	p;

	Assert(pm_cache_good(graph));
	if (e == NULL)
		e = load(graph->key.id, graph->key.expert_part, &p);
	if (e == NULL)
		pm_problem_raise(&p);
	return e;
}

const pm_graph *
pm_graph_whole(pm_cached *graph)
{
	return &parsed_of(graph)->graph[0];
}

/* NULL: *st says why. */
static const pm_skeleton *
build_skeleton(pm_cached *graph, bool merged, pm_status *st)
{
	pm_cached  *e = parsed_of(graph);
	pm_skeleton s;

	if (e->skeleton[merged].graph == NULL)
	{
		if (pm_skeleton_build(&e->graph[0], merged, &e->arena, &s, st) != PM_OK)
		{
			/* what was built until then is not left behind for each question anew */
			pm_cache_drop(e);
			return NULL;
		}
		e->skeleton[merged] = s;
		pm_cache_grown(e);
	}
	return &e->skeleton[merged];
}

const pm_skeleton *
pm_skeleton_get(pm_cached *graph, bool merged)
{
	pm_status	st = {PM_OK};
	const pm_skeleton *s = build_skeleton(graph, merged, &st);

	if (s == NULL)
		pm_raise(&st);
	return s;
}

bool
pm_graph_suffices(pm_cached *graph, bool merged, pm_problem *p)
{
	pm_status	st = {PM_OK};

	Assert(pm_cache_good(graph));
	if (graph->skeleton[merged].graph != NULL)
		return true;
	if (graph->unfit[merged] == NULL)
	{
		if (build_skeleton(graph, merged, &st) != NULL)
			return true;
		if (st.code != PM_ERR_INPUT && st.code != PM_ERR_LIMIT)
			pm_raise(&st);
		graph->unfit[merged] = MemoryContextAlloc(graph->cxt, sizeof(pm_status));
		*graph->unfit[merged] = st;
		pm_cache_grown(graph);
	}
	*p = pm_problem_of_status("unfit_graph", graph->unfit[merged]);
	return false;
}

const pm_skeleton *
pm_skeleton_get_slim(pm_cached *graph, bool merged)
{
	pm_skeleton s;
	pm_status	st = {PM_OK};

	Assert(pm_cache_good(graph));
	if (graph->skeleton[merged].graph == NULL)
	{
		if (pm_skeleton_slim(pm_skeleton_get(graph, merged), &graph->arena, &graph->graph[merged], &s, &st) != PM_OK)
			pm_raise(&st);
		graph->skeleton[merged] = s;
		pm_cache_grown(graph);
	}
	return &graph->skeleton[merged];
}
