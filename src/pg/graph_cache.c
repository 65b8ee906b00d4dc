/*
 * graph_cache.c - parsed graphs and their skeletons, by graph_id.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "pm_pg.h"

void
pm_no_such_graph(int64 graph_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("graph with graph_id %lld does not exist", (long long) graph_id),
			 errhint("perfmodel.graph_id(name) finds the id of a name; SELECT graph_id, name FROM perfmodel.graph lists them.")));
}

/* Parse the document of row 0 of SPI's result into a new entry. */
static pm_cached *
parse(int64 graph_id)
{
	pm_cached  *e = pm_cache_make(&(pm_cached_key) {PM_CACHED_GRAPH, graph_id});
	char	   *text;

	e->born = DatumGetTimestampTz(pm_value(0, 1, NULL));
	pm_graph_from_doc(DatumGetJsonbP(pm_value(0, 2, NULL)), &e->arena, &e->graph, &text);
	pm_cache_keep(e);
	return e;
}

static pm_cached *
load(int64 graph_id)
{
	static pm_plan query = {
		"SELECT loaded_at, doc FROM perfmodel.graph WHERE graph_id OPERATOR(pg_catalog.=) $1", 1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(graph_id);
	pm_cached  *e;

	SPI_connect();
	if (pm_run(&query, &arg, NULL, true) == 0)
		pm_no_such_graph(graph_id);
	e = parse(graph_id);
	SPI_finish();
	return e;
}

/* Whether the row that e was loaded from is there still. */
static bool
still_there(const pm_cached *e)
{
	static pm_plan query = {
		"SELECT loaded_at FROM perfmodel.graph WHERE graph_id OPERATOR(pg_catalog.=) $1", 1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(e->key.id);
	bool		same;

	SPI_connect();
	same = pm_run(&query, &arg, NULL, true) == 1 && DatumGetTimestampTz(pm_value(0, 1, NULL)) == e->born;
	SPI_finish();
	return same;
}

const pm_skeleton *
pm_skeleton_get(int64 graph_id, bool merged, pm_cached **entry)
{
	pm_cached  *e = pm_cache_find(&(pm_cached_key) {PM_CACHED_GRAPH, graph_id});
	pm_status	st = {PM_OK};
	pm_skeleton s;

	if (e != NULL && e->checked != pm_generation)
	{
		if (still_there(e))
			e->checked = pm_generation;
		else
		{
			pm_cache_drop(e);
			e = NULL;
		}
	}
	if (e == NULL)
		e = load(graph_id);
	if (e->skeleton[merged].graph == NULL)
	{
		if (pm_skeleton_build(&e->graph, merged, &e->arena, &s, &st) != PM_OK)
			pm_raise(&st);
		e->skeleton[merged] = s;
		pm_cache_grown(e);
	}
	*entry = e;
	return &e->skeleton[merged];
}
