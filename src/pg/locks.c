/*
 * locks.c - locks on names.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"

#include "locks.h"
#include "plans.h"
#include "base/core.h"

void
pm_lock_name(const char *what, const char *name)
{
	static pm_plan lock = {
		"SELECT pg_catalog.pg_advisory_xact_lock($1, $2)", 2, {INT4OID, INT4OID}
	};
	Datum		args[2];

	args[0] = Int32GetDatum((int32) pm_hash(PM_HASH_INIT, what, strlen(what)));
	args[1] = Int32GetDatum((int32) pm_hash(PM_HASH_INIT, name, strlen(name)));
	pm_run(&lock, args, NULL, false);
}
