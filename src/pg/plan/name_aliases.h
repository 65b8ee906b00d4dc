/*
 * name_aliases.h - the rows of perfmodel.name_alias: names that tables of jobs use.
 */
#ifndef PM_PG_PLAN_NAME_ALIASES_H
#define PM_PG_PLAN_NAME_ALIASES_H

#include "postgres.h"

typedef enum pm_alias_kind
{
	PM_ALIAS_GRAPH,
	PM_ALIAS_GPU,
	PM_ALIAS_DTYPE,
	PM_N_ALIAS_KINDS
} pm_alias_kind;

/* What a name means, by the table; NULL: it is not there. Valid until the next pm_freshen(). Raises. */
extern const char *pm_alias_of(pm_alias_kind kind, const char *name);

/* The same for a number format; a word of ours means itself, and NULL comes back. */
extern const char *pm_dtype_alias_of(const char *name);

/*
 * The usual name of the device that the name in a table of jobs means: itself, else by the table, else by the data
 * sheets' other names, else by the name that it has in it where Slurm writes so.  A name that means none comes back as it is, or as what the table says.  Raises.
 */
extern char *pm_job_gpu(const char *name);

#endif
