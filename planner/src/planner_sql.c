/*
 * planner_sql.c - what the functions of perfmodel_planner share.
 */
#include "postgres.h"

#include <math.h>

#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "planner_sql.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(planner_library);

/* Jobs times kinds of one programme. */
#define MAX_SHARES 20000000

Datum
planner_library(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(lp_library()));
}

void *
planner_memory(size_t size)
{
	return MemoryContextAllocExtended(CurrentMemoryContext, Max(size, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
}

bool
planner_cancelled(void *arg)
{
	return InterruptPending && (QueryCancelPending || ProcDiePending);
}

void
planner_check_size(int64 jobs, int64 kinds)
{
	if (kinds < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there are no kinds of devices"),
				 errhint("For example: workers => '{\"T4\": 4, \"A100\": 8}'.")));
	if (jobs * kinds > MAX_SHARES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%lld jobs on %lld kinds of devices cannot be planned", (long long) jobs, (long long) kinds),
				 errhint("Jobs times kinds is at most %d.", MAX_SHARES)));
}

void
planner_check_status(lp_status status, int n_jobs, int n_kinds)
{
	CHECK_FOR_INTERRUPTS();
	if (status == LP_NO_MEMORY)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("The linear programme of %d jobs and %d kinds of devices did not fit.", n_jobs, n_kinds)));
	if (status == LP_INFEASIBLE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("some job can run on none of the devices"),
				 errhint("Every job needs a kind of device with workers on which its throughput is above 0.")));
	if (status != LP_OPTIMAL)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s cannot solve the linear programme (jobs: %d, kinds of devices: %d)", lp_library(), n_jobs, n_kinds),
				 errdetail("The numbers of the jobs are too far apart for double precision."),
				 errhint("Plan jobs apart whose steps, throughputs, devices or deadlines differ by more than a million times.")));
}

void
planner_need(FunctionCallInfo fcinfo, int arg, const char *name, const char *example)
{
	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"%s\" must be given", name),
				 errhint("For example: %s => %s.", name, example)));
}

void
planner_need_workers(FunctionCallInfo fcinfo, int arg)
{
	planner_need(fcinfo, arg, "workers", "'{\"T4\": 4, \"A100\": 8}': how many devices of each kind there are");
}

/* ---------- objects of numbers ---------- */

static double
member_number(const char *what, const char *name, const JsonbValue *v, double low, double high)
{
	double		d = get_float8_nan();

	if (v->type == jbvNumeric)
		d = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(v->val.numeric)));
	if (!(d >= low && d <= high))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("member \"%s\" of %s must be a number between %g and %g", name, what, low, high)));
	return d;
}

/* {"T4": 4, ...}: names and numbers. */
int
planner_read_object(Jsonb *object, const char *what, double low, double high, char ***names, double **values)
{
	JsonbIterator *it = JsonbIteratorInit(&object->root);
	JsonbIteratorToken token;
	JsonbValue	v;
	int			n = 0;

	if (!JB_ROOT_IS_OBJECT(object))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be an object such as {\"T4\": 4, \"A100\": 8}", what)));
	*names = palloc(sizeof(char *) * (JB_ROOT_COUNT(object) + 1));
	*values = palloc(sizeof(double) * (JB_ROOT_COUNT(object) + 1));
	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		if (token != WJB_KEY)
			continue;
		(*names)[n] = pnstrdup(v.val.string.val, v.val.string.len);
		JsonbIteratorNext(&it, &v, true);
		(*values)[n] = member_number(what, (*names)[n], &v, low, high);
		n++;
	}
	return n;
}

/* ---------- notes ---------- */

/* More of them in a row would not be read. */
#define MOST_NOTES 6

static bool
said_before(char *const *notes, const double *rate, int i)
{
	for (int k = 0; k < i; k++)
		if (!(rate[k] > 0) && notes[k] != NULL && strcmp(notes[k], notes[i]) == 0)
			return true;
	return false;
}

char *
planner_notes_where_not(char *const *notes, const double *rate, int n)
{
	StringInfoData s;
	int			said = 0;

	initStringInfo(&s);
	for (int i = 0; i < n; i++)
	{
		if (rate[i] > 0 || notes[i] == NULL || said_before(notes, rate, i))
			continue;
		if (said == MOST_NOTES)
		{
			appendStringInfoString(&s, "; ...");
			break;
		}
		appendStringInfo(&s, "%s%s", said++ > 0 ? "; " : "", notes[i]);
	}
	return said > 0 ? s.data : NULL;
}

const char *
planner_joined(const char *a, const char *b)
{
	return a == NULL ? b : b == NULL ? a : psprintf("%s; %s", a, b);
}

/* ---------- rows ---------- */

Datum
planner_column(uint64 row, int col, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, col, isnull);
}

char *
planner_text(uint64 row, int col, MemoryContext cxt)
{
	bool		isnull;
	Datum		d = planner_column(row, col, &isnull);

	return isnull ? NULL : MemoryContextStrdup(cxt, TextDatumGetCString(d));
}

double
planner_float8(uint64 row, int col)
{
	bool		isnull;
	Datum		d = planner_column(row, col, &isnull);

	return isnull ? get_float8_nan() : DatumGetFloat8(d);
}

double
planner_digits(double v, int digits)
{
	char		written[32];

	if (!isfinite(v))
		return v;
	snprintf(written, sizeof(written), "%.*e", digits - 1, v);
	return strtod(written, NULL);
}

void
planner_put(Datum *values, bool *nulls, int at, Datum value, bool isnull)
{
	values[at] = isnull ? (Datum) 0 : value;
	nulls[at] = isnull;
}
