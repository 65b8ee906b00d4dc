/*
 * call_site.h - values that are looked up once for each place in a query that
 * calls a function, and kept there: fn_extra has room for one pointer.
 */
#ifndef PM_PG_CALL_SITE_H
#define PM_PG_CALL_SITE_H

#include "access/tupdesc.h"
#include "fmgr.h"
#include "utils/palloc.h"

typedef struct pm_call_site
{
	TupleDesc	result;			/* of results.c; NULL: not looked up yet */
	int8	   *argument;		/* of question.c: where arguments stand; NULL: not looked up yet */
} pm_call_site;

static inline pm_call_site *
pm_call_site_of(FunctionCallInfo fcinfo)
{
	if (fcinfo->flinfo->fn_extra == NULL)
		fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(pm_call_site));
	return fcinfo->flinfo->fn_extra;
}

#endif
