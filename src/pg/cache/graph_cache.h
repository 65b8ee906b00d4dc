/*
 * graph_cache.h - graphs that the session knows.
 */
#ifndef PM_PG_CACHE_GRAPH_CACHE_H
#define PM_PG_CACHE_GRAPH_CACHE_H

#include "cache/cache.h"
#include "compat.h"
#include "problem.h"

/*
 * A known graph; NULL, with *p filled, when there is none of that id, or its document is no graph.  expert_part: as one of so many GPUs
 * has it that divide its experts; 0: whole.  Valid until the next pm_freshen().
 */
extern pm_cached *pm_graph_look_up(int64 graph_id, int32 expert_part, pm_problem *p);
/* All of it, as it was parsed. Raises. Valid until the next pm_freshen(). */
extern const pm_graph *pm_graph_whole(pm_cached *graph);
/* Whether steps of it can be predicted; false: *p says why not. Raises what is no matter of the graph. */
extern bool pm_graph_suffices(pm_cached *graph, bool merged, pm_problem *p);
/* Its whole and its slim skeleton. Raise. Valid until the next pm_freshen(). */
extern const pm_skeleton *pm_skeleton_get(pm_cached *graph, bool merged);
extern const pm_skeleton *pm_skeleton_get_slim(pm_cached *graph, bool merged);
pg_noreturn extern void pm_no_such_graph(int64 graph_id);

#endif
