/*
 * cache.h - the entries of the cache of a session, and their memory.
 *
 * The lifetime of all that src/pg/cache hands out, be it an entry, a graph, a
 * predictor, a prepared question or a data sheet: until the next pm_freshen()
 * of the session, and no longer.  pm_freshen() is what throws away, and every
 * SQL function calls it once, at its entry.  So that no other call of ours can
 * come in between, pm_freshen() refuses to run inside a statement that only
 * reads (plans.h): a policy of row security, say, that calls a function of
 * ours.  What must outlive statements that may fire triggers of others, or
 * transactions, is copied (pm_predictor_get_own).
 *
 * Entries know in which period between two pm_freshen() they were handed out;
 * whoever is given one asserts that it is still the same (pm_cache_good).
 */
#ifndef PM_PG_CACHE_CACHE_H
#define PM_PG_CACHE_CACHE_H

#include "lib/ilist.h"
#include "utils/palloc.h"
#include "utils/timestamp.h"

#include "predictor/predictor.h"
#include "scaling/buckets.h"

/*
 * A graph that is known: what questions that are prepared need of it.  The
 * parsed graph with its skeletons, for preparing more of them; several times
 * as large.  A loaded predictor.  A prepared question, which refers to a known
 * graph and a predictor.
 */
typedef enum pm_cached_what
{
	PM_CACHED_GRAPH, PM_CACHED_PARSED, PM_CACHED_PREDICTOR, PM_CACHED_PREPARED
} pm_cached_what;

typedef struct pm_cached_key
{
	int64		what;
	int64		id;				/* graph_id or predictor_id; of a prepared question the graph_id */
	int64		predictor_id;	/* of a prepared question, and so below */
	uint64		question;		/* hash of device and formats */
	int64		expert_part;	/* of a graph, and of a prepared question: among how many GPUs its experts are divided; 0: not */
} pm_cached_key;

typedef struct pm_cached
{
	pm_cached_key key;
	dlist_node	lru;
	MemoryContext cxt;			/* everything of this entry */
	Size		bytes;			/* of cxt, when it was last looked at */
	dlist_head	dependents;		/* prepared questions that refer to this graph or predictor */
	dlist_node	by_graph;		/* among the dependents of the graph and of the predictor */
	dlist_node	by_predictor;
	pm_arena	arena;

	uint64		period;			/* in which it was handed out last */

	TimestampTz born;			/* loaded_at or trained_at of its row */
	uint64		checked;		/* generation in which its row was last seen */

	/* a graph, known or parsed; [merged], skeleton.graph NULL: not built */
	pm_graph	graph[2];		/* known: of each skeleton its own; parsed: the first */
	pm_skeleton skeleton[2];	/* known: slim */
	pm_status  *unfit[2];		/* known, [merged]: why it has no skeleton, NULL: not known to have none */
	bool		has_layout;		/* known: pm_graph.has_layout */
	struct pm_memory_kept *memory;	/* known: plans of memory_cache.c */
	bool		has_layers;		/* known: the next two have been counted */
	int			layers;			/* of a transformer */
	pm_heads	heads;

	pm_predictor predictor;
	int64		parts;			/* rows of predictor_weights */

	/* a prepared question */
	pm_prepared *prepared;
	const uint8 *words;			/* what key.question is the hash of */
	Size		n_words;
	pm_buckets *buckets;		/* of gradients; NULL: nobody has asked about several GPUs */
} pm_cached;

/* Whether e, which was handed out before, may still be used. For assertions. */
extern bool pm_cache_good(const pm_cached *e);

extern pm_cached *pm_cache_find(const pm_cached_key *key);
/* Move a context that holds a complete entry into the cache. */
extern void pm_cache_keep(pm_cached *e);
extern void pm_cache_drop(pm_cached *e);
/* An entry in the cache has taken more memory. */
extern void pm_cache_grown(pm_cached *e);
/* A new period begins: drop what has not been used for longest until the budget holds. Of pm_freshen() only. */
extern void pm_cache_trim(void);
/* A new entry in a context below the current one, not in the cache yet. */
extern pm_cached *pm_cache_make(const pm_cached_key *key);

#endif
