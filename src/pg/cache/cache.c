/*
 * cache.c - graphs and predictors that this session has loaded, and questions
 * that it has prepared.
 *
 * One hash table and two lists in order of last use: parsed graphs, which can
 * do without, go first.  A prepared question goes with the graph or the
 * predictor that it refers to.  Every
 * entry has a memory context of its own below "perfmodel cache", and is built
 * in a context below the caller's, so that an error in between leaves nothing.
 * The budget perfmodel.cache_mem is enforced between uses (pm_cache_trim at
 * the entry of a function), so a pointer into the cache is good until then.
 * Whether the row of an entry is still there is freshness.c's business.
 */
#include "postgres.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "cache/cache.h"
#include "context_arena.h"
#include "settings.h"

#define GIVE_BACK	((Size) 4 * 1024 * 1024)	/* bytes dropped before memory is given back */

typedef struct slot
{
	pm_cached_key key;
	pm_cached  *entry;
} slot;

static MemoryContext cache_cxt = NULL;
static HTAB *table = NULL;
static dlist_head parsed_by_use = DLIST_STATIC_INIT(parsed_by_use);	/* newest first */
static dlist_head others_by_use = DLIST_STATIC_INIT(others_by_use);
static uint64 period = 1;
static Size total = 0;			/* bytes of all entries */

static void
cache_init(void)
{
	HASHCTL		ctl = {.keysize = sizeof(pm_cached_key),.entrysize = sizeof(slot)};

	if (table != NULL)
		return;
	if (cache_cxt == NULL)
		cache_cxt = AllocSetContextCreate(TopMemoryContext, "perfmodel cache", ALLOCSET_SMALL_SIZES);
	ctl.hcxt = cache_cxt;
	table = hash_create("perfmodel cache", 128, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static dlist_head *
list_of(const pm_cached *e)
{
	return e->key.what == PM_CACHED_PARSED ? &parsed_by_use : &others_by_use;
}

pm_cached *
pm_cache_find(const pm_cached_key *key)
{
	slot	   *s;

	cache_init();
	s = hash_search(table, key, HASH_FIND, NULL);
	if (s == NULL)
		return NULL;
	dlist_move_head(list_of(s->entry), &s->entry->lru);
	s->entry->period = period;
	return s->entry;
}

pm_cached *
pm_cache_make(const pm_cached_key *key)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "perfmodel cache entry", ALLOCSET_SMALL_SIZES);
	pm_cached  *e = MemoryContextAllocZero(cxt, sizeof(pm_cached));

	e->key = *key;
	e->cxt = cxt;
	dlist_init(&e->dependents);
	pm_context_arena(&e->arena, cxt, 0);
	e->arena.thrifty = true;
	return e;
}

void
pm_cache_keep(pm_cached *e)
{
	slot	   *s;
	bool		found;

	cache_init();
	s = hash_search(table, &e->key, HASH_ENTER, &found);
	Assert(!found);
	s->entry = e;
	e->period = period;
	MemoryContextSetParent(e->cxt, cache_cxt);
	dlist_push_head(list_of(e), &e->lru);
	pm_cache_grown(e);
}

bool
pm_cache_good(const pm_cached *e)
{
	return e->period == period;
}

void
pm_cache_grown(pm_cached *e)
{
	Assert(pm_cache_good(e));
	total -= e->bytes;
	e->bytes = MemoryContextMemAllocated(e->cxt, true);
	total += e->bytes;
}

static void
drop_one(pm_cached *e)
{
	hash_search(table, &e->key, HASH_REMOVE, NULL);
	dlist_delete(&e->lru);
	total -= e->bytes;
	MemoryContextDelete(e->cxt);
}

static void
drop_prepared(pm_cached *e)
{
	dlist_delete(&e->by_graph);
	dlist_delete(&e->by_predictor);
	drop_one(e);
}

void
pm_cache_drop(pm_cached *e)
{
	bool		graph = e->key.what == PM_CACHED_GRAPH; /* else a predictor; others have no dependents */

	if (e->key.what == PM_CACHED_PREPARED)
	{
		drop_prepared(e);
		return;
	}
	while (!dlist_is_empty(&e->dependents))
	{
		dlist_node *first = dlist_head_node(&e->dependents);

		drop_prepared(graph ? dlist_container(pm_cached, by_graph, first) : dlist_container(pm_cached, by_predictor, first));
	}
	drop_one(e);
}

/*
 * Graphs come and go in blocks of all sizes, and malloc keeps the holes: after
 * hundreds of graphs a session would be twice as large as what it keeps.
 */
static void
give_back(Size dropped)
{
#ifdef __GLIBC__
	static Size since = 0;

	since += dropped;
	if (since < GIVE_BACK)
		return;
	since = 0;
	malloc_trim(0);
#endif
}

void
pm_cache_trim(void)
{
	Size		budget = (Size) pm_cache_mem_kb * 1024;
	Size		before = total;

	period++;
	if (total <= budget)
		return;
	while (total > budget && !dlist_is_empty(&parsed_by_use))
		pm_cache_drop(dlist_container(pm_cached, lru, dlist_tail_node(&parsed_by_use)));
	while (total > budget && !dlist_is_empty(&others_by_use))
		pm_cache_drop(dlist_container(pm_cached, lru, dlist_tail_node(&others_by_use)));
	give_back(before - total);
}
