/*
 * freshness.h - whether the contents of a session's cache are still valid.
 */
#ifndef PM_PG_CACHE_FRESHNESS_H
#define PM_PG_CACHE_FRESHNESS_H

#include "access/transam.h"
#include "storage/lock.h"

/*
 * Number of the state of the tables.  A look-up that was made under another
 * number must be made again.
 */
extern uint64 pm_generation;
/* Set by pm_freshen(): row security applies to the user, so results are valid for this call only. */
extern bool pm_row_security;

extern void pm_freshness_init(void);

/* Call it at the entry of every SQL function that uses a cache. */
extern void pm_freshen(void);

/* The identity of a snapshot, and its order among others. */
typedef struct pm_moment
{
	TransactionId xmin;
	TransactionId xmax;
	uint32		running;		/* transactions that were running */
	CommandId	curcid;
	LocalTransactionId lxid;	/* transaction of ours that curcid belongs to */
} pm_moment;

/* Of the active snapshot. */
extern pm_moment pm_moment_now(void);

/* Of processes that work on one query: whether they see the same rows. */
extern bool pm_moment_sees_same(const pm_moment *a, const pm_moment *b);

#endif
