/*
 * compat.h - differences between server versions, all of them here.
 * Built and tested against 15, 17 and 18; 14 and 16 by reading.
 */
#ifndef PM_PG_COMPAT_H
#define PM_PG_COMPAT_H

#if PG_VERSION_NUM < 140000
#error "perfmodel needs PostgreSQL 14 or later"
#endif

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* before the declaration, as 18 wants it */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

#if PG_VERSION_NUM >= 170000
#define PM_MY_LXID (MyProc->vxid.lxid)
#else
#define PM_MY_LXID (MyProc->lxid)
#endif

#if PG_VERSION_NUM >= 160000
#define pm_insert_index_tuples(rri, slot, estate) ExecInsertIndexTuples(rri, slot, estate, false, false, NULL, NIL, false)
#else
#define pm_insert_index_tuples(rri, slot, estate) ExecInsertIndexTuples(rri, slot, estate, false, false, NULL, NIL)
#endif

/* until 14.5 nobody can ask, and the server says it where a procedure commits */
#if PG_VERSION_NUM >= 140005
#define PM_MAY_COMMIT SPI_inside_nonatomic_context()
#else
#define PM_MAY_COMMIT true
#endif

#endif
