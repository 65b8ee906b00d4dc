/*
 * graph_names.c - what the name of a network in a table of jobs means.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "executor/spi.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "cache/freshness.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "plan/graph_names.h"
#include "plan/name_aliases.h"
#include "plans.h"

/* ---------- lists of names ---------- */

void
pm_name_list_begin(pm_name_list *list, char ***label, pm_arena *arena, uint64 things, uint64 names)
{
	pm_status	st = {PM_OK};

	if (names > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many names")));
	*label = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(char *) * Max(things, 1));
	if (pm_names_init(list, (int) names, arena, &st) != PM_OK)
		pm_raise(&st);
}

void
pm_name_list_add(pm_name_list *list, const char *name, int32 thing, pm_name_rank rank)
{
	pm_status	st = {PM_OK};

	if (pm_names_add(list, pm_to_core_lossy(name), thing, rank, &st) != PM_OK)
		pm_raise(&st);
}

pm_name_found
pm_name_list_find(const pm_name_list *list, const char *name, double min_score)
{
	pm_name_found f;
	pm_status	st = {PM_OK};

	if (pm_names_find(list, pm_to_core_lossy(name), min_score, &f, &st) != PM_OK)
		pm_raise(&st);
	return f;
}

/* ---------- graphs ---------- */

/* Names of graphs, and of models where no graph is called so. */
static void
read_graphs(pm_graph_names *g)
{
	static pm_plan query = {"SELECT name, model, graph_id FROM perfmodel.graph ORDER BY name"};
	MemoryContext cxt = g->cxt;
	MemoryContext before = CurrentMemoryContext;

	SPI_connect();
	pm_run(&query, NULL, NULL, true);
	MemoryContextSwitchTo(cxt);
	pm_name_list_begin(&g->list, &g->label, &g->arena, SPI_processed, 2 * SPI_processed);
	g->list.by_word = true;
	g->graph_id = MemoryContextAllocHuge(cxt, sizeof(int64) * Max(SPI_processed, 1));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		g->label[i] = pm_value_text(i, 1, cxt);
		g->graph_id[i] = DatumGetInt64(pm_value(i, 3, INT8OID, NULL));
		pm_name_list_add(&g->list, g->label[i], (int32) i, PM_NAME_OWN);
		pm_name_list_add(&g->list, pm_value_text(i, 2, cxt), (int32) i, PM_NAME_OTHER);
	}
	pm_names_sort(&g->list);
	SPI_finish();
	MemoryContextSwitchTo(before);
	g->read = true;
}

void
pm_graph_names_begin(pm_graph_names *g)
{
	*g = (pm_graph_names) {.read = false,.cxt = CurrentMemoryContext};
	pm_context_arena(&g->arena, CurrentMemoryContext, 0);
}

const char *
pm_graph_meant(pm_graph_names *g, const char *name, double min_score, pm_name_found *found)
{
	const char *alias;

	if (!g->read)
		read_graphs(g);
	pm_freshen();
	*found = pm_name_list_find(&g->list, name, min_score);
	alias = found->match != PM_MATCH_EXACT ? pm_alias_of(PM_ALIAS_GRAPH, name) : NULL;
	if (alias == NULL)
		return NULL;
	*found = pm_name_list_find(&g->list, alias, 1);
	if (found->match == PM_MATCH_EXACT)
		found->match = PM_MATCH_ALIAS;
	else
		*found = (pm_name_found) {.match = PM_MATCH_UNKNOWN,.thing = -1};
	return alias;
}

/* ---------- each name once ---------- */

typedef struct seen_name
{
	const char *name;			/* the key: a text of any length */
	int64		graph_id;
	const char *why;			/* it means no graph; NULL: it does */
} seen_name;

static uint32
hash_name(const void *key, Size size)
{
	const char *s = *(const char *const *) key;

	return DatumGetUInt32(hash_any((const unsigned char *) s, (int) strlen(s)));
}

static int
compare_names(const void *a, const void *b, Size size)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static char *
not_meant(const char *name, const char *alias, const pm_name_found *found)
{
	if (alias != NULL)
		return psprintf("unknown graph \"%s\" (name_alias says \"%s\")", pm_shown_name(name), pm_shown_name(alias));
	if (found->match == PM_MATCH_AMBIGUOUS)
		return psprintf("%d graphs go by the name \"%s\"; say which one in perfmodel.name_alias", found->n_meant, pm_shown_name(name));
	return psprintf("unknown graph \"%s\"", pm_shown_name(name));
}

bool
pm_graph_of(pm_graph_names *g, const char *name, int64 *graph_id, const char **why)
{
	HASHCTL		ctl = {.keysize = sizeof(const char *),.entrysize = sizeof(seen_name),.hash = hash_name,.match = compare_names,.hcxt = CurrentMemoryContext};
	bool		found;
	seen_name  *n;

	if (g->seen == NULL)
		g->seen = hash_create("perfmodel names of graphs", 64, &ctl, HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	n = hash_search(g->seen, &name, HASH_ENTER, &found);
	if (!found)
	{
		pm_name_found f;
		const char *alias = pm_graph_meant(g, name, 1, &f);

		n->graph_id = f.thing >= 0 ? g->graph_id[f.thing] : 0;
		n->why = f.thing >= 0 ? NULL : not_meant(name, alias, &f);
	}
	*graph_id = n->graph_id;
	*why = n->why;
	return n->why == NULL;
}
