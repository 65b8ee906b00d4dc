/*
 * support.c - small helpers around memory contexts, SPI and result sets.
 *
 * State: the plans of pm_plan, prepared on first use and kept by the session;
 * the server revalidates them when tables change.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "pm_pg.h"

static void *
block_get(void *ctx, size_t size)
{
	if (!AllocHugeSizeIsValid(size))
		return NULL;
	return MemoryContextAllocExtended((MemoryContext) ctx, size, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

static void
block_put(void *ctx, void *block)
{
	(void) ctx;
	pfree(block);
}

void
pm_context_arena(pm_arena *a, MemoryContext cxt, size_t limit)
{
	pm_arena_init(a, block_get, block_put, cxt, limit);
}

uint64
pm_run(pm_plan *p, Datum *values, const char *nulls, bool read_only)
{
	int			rc;

	if (p->plan == NULL)
	{
		SPIPlanPtr	plan = SPI_prepare(p->sql, p->nargs, p->args);

		if (plan == NULL)
			elog(ERROR, "SPI_prepare failed for \"%s\": %s", p->sql, SPI_result_code_string(SPI_result));
		SPI_keepplan(plan);
		p->plan = plan;
	}
	rc = SPI_execute_plan(p->plan, values, nulls, read_only, 0);
	if (rc < 0)
		elog(ERROR, "SPI_execute_plan failed for \"%s\": %s", p->sql, SPI_result_code_string(rc));
	return SPI_processed;
}

void
pm_arg(pm_args *a, Datum v)
{
	a->v[a->n] = v;
	a->nulls[a->n++] = ' ';
}

void
pm_arg_null(pm_args *a)
{
	a->v[a->n] = (Datum) 0;
	a->nulls[a->n++] = 'n';
}

void
pm_arg_float8(pm_args *a, double v)
{
	if (isnan(v))
		pm_arg_null(a);
	else
		pm_arg(a, Float8GetDatum(v));
}

void
pm_arg_text(pm_args *a, const char *s)
{
	if (s == NULL)
		pm_arg_null(a);
	else
		pm_arg(a, CStringGetTextDatum(s));
}

Datum
pm_value(uint64 row, int col, bool *isnull)
{
	bool		null;
	Datum		v = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, col, &null);

	if (isnull != NULL)
		*isnull = null;
	else if (null)
		elog(ERROR, "unexpected null in column %d", col);
	return v;
}

double
pm_value_float8(uint64 row, int col)
{
	bool		isnull;
	Datum		v = pm_value(row, col, &isnull);

	return isnull ? get_float8_nan() : DatumGetFloat8(v);
}

char *
pm_value_text(uint64 row, int col, MemoryContext cxt)
{
	bool		isnull;
	Datum		v = pm_value(row, col, &isnull);
	MemoryContext old;
	char	   *s;

	if (isnull)
		return NULL;
	old = MemoryContextSwitchTo(cxt);
	s = TextDatumGetCString(v);
	MemoryContextSwitchTo(old);
	return s;
}

void
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

void
pm_rows_add(pm_rows_out *out, Datum *values, bool *nulls)
{
	tuplestore_putvalues(out->store, out->desc, values, nulls);
}

Datum
pm_record(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc = fcinfo->flinfo->fn_extra;

	/* looked up once for each call site: it takes longer than most answers */
	if (desc == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

		if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "return type must be a row type");
		desc = BlessTupleDesc(CreateTupleDescCopy(desc));
		MemoryContextSwitchTo(old);
		fcinfo->flinfo->fn_extra = desc;
	}
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

Datum
pm_int8_array(const int64 *v, int n)
{
	Datum	   *d = palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < n; i++)
		d[i] = Int64GetDatum(v[i]);
	return PointerGetDatum(construct_array(d, n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

Datum
pm_text_array(const char *const *v, int n)
{
	Datum	   *d = palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < n; i++)
		d[i] = CStringGetTextDatum(v[i]);
	return PointerGetDatum(construct_array(d, n, TEXTOID, -1, false, TYPALIGN_INT));
}

Datum
pm_text_or_null(const char *s, bool *isnull)
{
	*isnull = s == NULL;
	return s ? CStringGetTextDatum(s) : (Datum) 0;
}

Datum
pm_float8_or_null(double v, bool *isnull)
{
	*isnull = isnan(v);
	return Float8GetDatum(*isnull ? 0 : v);
}

Oid
pm_table(const char *name)
{
	Oid			schema = get_namespace_oid("perfmodel", true);
	Oid			table = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;

	if (!OidIsValid(table))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table perfmodel.%s does not exist", name),
				 errhint("The extension must be created in this database: CREATE EXTENSION perfmodel.")));
	return table;
}

void
pm_require_privilege(const char *table, AclMode mode)
{
	AclResult	rc = pg_class_aclcheck(pm_table(table), GetUserId(), mode);

	if (rc != ACLCHECK_OK)
		aclcheck_error(rc, OBJECT_TABLE, table);
}

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
