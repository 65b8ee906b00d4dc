/*
 * results.c - values, records and sets that a function returns.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "arrays.h"
#include "call_site.h"
#include "errors.h"
#include "results.h"

Datum
pm_record(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	pm_call_site *site = pm_call_site_of(fcinfo);
	TupleDesc	desc;

	/* it takes longer than most answers */
	if (site->result == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

		if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "return type must be a row type");
		site->result = BlessTupleDesc(CreateTupleDescCopy(desc));
		MemoryContextSwitchTo(old);
	}
	return HeapTupleGetDatum(heap_form_tuple(site->result, values, nulls));
}

bool
pm_wants_nodes(FunctionCallInfo fcinfo, int arg, const char *groups, const char *group_of)
{
	char	   *per = text_to_cstring(PG_GETARG_TEXT_PP(arg));

	if (strcmp(per, groups) != 0 && strcmp(per, "node") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("per must be \"%s\" or \"node\", not \"%s\"", groups, pm_shown_name(per)),
				 errhint("\"%s\" has a row for each %s, \"node\" one for each operator.", groups, group_of)));
	return strcmp(per, "node") == 0;
}

Datum
pm_int8_array(const int64 *v, int n)
{
	Datum	   *d = palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < n; i++)
		d[i] = Int64GetDatum(v[i]);
	return pm_array_make(d, n, INT8OID);
}

Datum
pm_float8_array(const double *v, int n)
{
	Datum	   *d = palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < n; i++)
		d[i] = Float8GetDatum(v[i]);
	return pm_array_make(d, n, FLOAT8OID);
}

Datum
pm_text_array(const char *const *v, int n)
{
	Datum	   *d = palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < n; i++)
		d[i] = CStringGetTextDatum(v[i]);
	return pm_array_make(d, n, TEXTOID);
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

Datum
pm_rounded_or_null(double v, bool *isnull)
{
	/* a number so large that it has no decimals stays as it is */
	return pm_float8_or_null(fabs(v) < 1e12 ? rint(100 * v) / 100 : v, isnull);
}

Datum
pm_probability_or_null(double p, bool *isnull)
{
	return pm_float8_or_null(rint(10000 * p) / 10000, isnull);
}

Datum
pm_figure_or_null(double v, bool *isnull)
{
	char		written[32];

	if (!isfinite(v))
		return pm_float8_or_null(NAN, isnull);
	/* a number that is written in five digits is read back as the one that prints so */
	snprintf(written, sizeof(written), "%.4e", v);
	return pm_float8_or_null(strtod(written, NULL), isnull);
}
