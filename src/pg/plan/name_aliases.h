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

#endif
