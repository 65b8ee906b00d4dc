/*
 * predictor_cache.h - predictors that the session has loaded.
 */
#ifndef PM_PG_CACHE_PREDICTOR_CACHE_H
#define PM_PG_CACHE_PREDICTOR_CACHE_H

#include "cache/cache.h"
#include "compat.h"

typedef struct pm_predictor_ref
{
	int64		id;
	const pm_predictor *predictor;
	pm_cached  *entry;			/* of the cache; NULL for a copy of one's own */
} pm_predictor_ref;

/* name NULL: the active one. Valid until the next pm_freshen(). */
extern void pm_predictor_get(const char *name, pm_predictor_ref *ref);

/*
 * The same as a copy in the current context, for what goes on while triggers of
 * others may run, or transactions end.
 */
extern void pm_predictor_get_own(const char *name, pm_predictor_ref *ref);
pg_noreturn extern void pm_no_such_predictor(const char *name);

#endif
