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

/* Put the whole graph in. Raises. */
extern void pm_ask_whole(pm_asked *q);

/* An arena for what lives as long as one call of the core; emptied by the next call of this. */
extern pm_arena *pm_workspace(void);
/*
 * The question prepared, from the cache or now; puts the graph in that the
 * answer needs.  Raises.  Valid until the next pm_freshen().
 */
extern pm_prepared *pm_prepared_get(pm_asked *q);
/* After pm_prepared_get(): its gradients in buckets of so many MiB. Raises. Valid until the next pm_workspace(). */
extern const pm_buckets *pm_buckets_get(pm_asked *q, double bucket_mb);

#endif
