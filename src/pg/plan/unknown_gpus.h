/*
 * unknown_gpus.h - devices in an argument that no job asks for and that nobody knows: one notice about all of them.
 */
#ifndef PM_PG_PLAN_UNKNOWN_GPUS_H
#define PM_PG_PLAN_UNKNOWN_GPUS_H

#include "plan/job_rows.h"

/* So many are named; of others, it is said how many elements of the argument they are. */
#define PM_UNKNOWN_GPUS 10

typedef struct pm_unknown_gpus
{
	int			n;
	const char *names[PM_UNKNOWN_GPUS];
	int			more;
} pm_unknown_gpus;

/* A device that no job asks for: it counts unless there is one of that name. The name is kept. */
extern void pm_unknown_gpus_add(pm_unknown_gpus *u, const char *name);

/* Say so, if there are any. */
extern void pm_unknown_gpus_tell(const pm_unknown_gpus *u, const char *argument, const pm_jobs *jobs);

#endif
