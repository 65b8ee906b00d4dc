/*
 * tables.h - the tables of the extension, and rights on them.
 */
#ifndef PM_PG_TABLES_H
#define PM_PG_TABLES_H

#include "utils/acl.h"

/* Relation of the extension by name; an error when the extension is not installed. */
extern Oid	pm_table(const char *name);
/* Raise unless the user may SELECT from the table, or at least from some of its columns. */
extern void pm_require_some_select(const char *table);
extern void pm_require_privilege(const char *table, AclMode mode);

#endif
