/*
 * memory_cache.h - results about the memory of graphs that the session has
 * asked about.
 */
#ifndef PM_PG_CACHE_MEMORY_CACHE_H
#define PM_PG_CACHE_MEMORY_CACHE_H

#include "cache/cache.h"
#include "memory/peak.h"

/* The plan of a graph for steps that are run so, from the cache or now. Raises. Valid until the next pm_freshen(). */
extern const pm_memory_plan *pm_memory_plan_get(pm_cached *graph, const pm_step_options *o);

/* Layers of a transformer (pm_layers_of) and their heads, counted once. Raises. */
extern int	pm_memory_layers_get(pm_cached *graph, pm_heads *heads);

/* A number for all that changes a plan of a graph. */
extern uint32 pm_memory_options_key(const pm_step_options *o);

#endif
