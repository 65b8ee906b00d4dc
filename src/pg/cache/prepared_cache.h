/*
 * prepared_cache.h - questions that the session has prepared.
 */
#ifndef PM_PG_CACHE_PREPARED_CACHE_H
#define PM_PG_CACHE_PREPARED_CACHE_H

#include "cache/predictor_cache.h"
#include "scaling/step.h"

/* Everything of one question: the sample, without its graph, and who answers. Valid until the next pm_freshen(). */
typedef struct pm_asked
{
	pm_sample	sample;
	pm_predictor_ref ref;
	pm_cached  *graph;
	bool		merged;
	pm_parallel parallel;
	const pm_fabric *fabric;	/* NULL: one GPU, and nothing to be scaled */
	pm_cached  *prepared;		/* set by pm_prepared_get() */
} pm_asked;

/* Put the whole graph into q. Raises. */
extern void pm_ask_whole(pm_asked *q);

/* An arena for memory that is needed during one call of the core. The next call of pm_workspace() empties it. */
extern pm_arena *pm_workspace(void);
/*
 * The prepared question, from the cache, or prepared now; puts the graph that the
 * answer needs into q.  Raises.  Valid until the next pm_freshen().
 */
extern pm_prepared *pm_prepared_get(pm_asked *q);
/* After pm_prepared_get(): its gradients in buckets of so many MiB. Raises. Valid until the next pm_workspace(). */
extern const pm_buckets *pm_buckets_get(pm_asked *q, double bucket_mb);

#endif
