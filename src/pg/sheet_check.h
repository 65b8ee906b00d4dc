/*
 * sheet_check.h - what is odd in a row of perfmodel.gpu, though it is possible.
 */
#ifndef PM_PG_SHEET_CHECK_H
#define PM_PG_SHEET_CHECK_H

#include "triggers.h"

/* NOTICEs about a row that is stored, as a dump must be restorable whatever is in it. old: the row before an update, or NULL. */
extern void pm_sheet_check(Relation table, HeapTuple row, HeapTuple old);

#endif
