/*
 * catalog.h - checks that the SQL objects have the version of this library.
 */
#ifndef PM_PG_CATALOG_H
#define PM_PG_CATALOG_H

/*
 * Raise when the SQL objects are of another release than the library, before
 * their update: they have other arguments and columns.  First thing in every
 * function that reads arguments or rows.
 */
extern void pm_require_catalog(void);

#endif
