/*
 * rows_out.h - a result set that is built before it is returned.
 *
 * Inline, since perfmodel_planner has the same need and is a library of its own.
 */
#ifndef PM_PG_ROWS_OUT_H
#define PM_PG_ROWS_OUT_H

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

typedef struct pm_rows_out
{
	Tuplestorestate *store;
	TupleDesc	desc;
} pm_rows_out;

/* Make the set the result of the function; an error where the caller cannot take one. */
static inline void
pm_rows_begin(FunctionCallInfo fcinfo, pm_rows_out *out)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext old;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo) || !(rsinfo->allowedModes & SFRM_Materialize))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));
	old = MemoryContextSwitchTo(rsinfo->econtext->ecxt_per_query_memory);
	if (get_call_result_type(fcinfo, NULL, &out->desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	out->desc = CreateTupleDescCopy(out->desc);
	out->store = tuplestore_begin_heap(rsinfo->allowedModes & SFRM_Materialize_Random, false, work_mem);
	MemoryContextSwitchTo(old);
	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setResult = out->store;
	rsinfo->setDesc = out->desc;
}

static inline void
pm_rows_add(pm_rows_out *out, Datum *values, bool *nulls)
{
	tuplestore_putvalues(out->store, out->desc, values, nulls);
}

#endif
