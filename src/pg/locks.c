/*
 * locks.c - locks on names.
 *
 * They are locks on objects of the extension's own table perfmodel.predictor,
 * so that no advisory lock of an application, and no lock of another
 * extension, can ever be the same.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lock.h"

#include "locks.h"
#include "tables.h"
#include "base/core.h"

void
pm_lock_name(const char *what, const char *name)
{
	uint64		h = pm_mix(pm_hash(pm_hash(PM_HASH_INIT, what, strlen(what) + 1), name, strlen(name)));
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, pm_table("predictor"), (uint32) h, (uint16) (h >> 32));
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}
