/*
 * job_arguments.c - arguments that functions about a table of jobs have in common.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "catalog.h"
#include "errors.h"
#include "plan/job_arguments.h"

/* The names that the caller knows these two arguments by: functions in SQL may give them others. */
static void
name_arguments(FunctionCallInfo fcinfo, int jobs, int columns, pm_job_table *t)
{
	HeapTuple	proc = SearchSysCache1(PROCOID, ObjectIdGetDatum(fcinfo->flinfo->fn_oid));
	Oid		   *types;
	char	  **names = NULL;
	char	   *modes;
	int			n;

	if (!HeapTupleIsValid(proc))
		elog(ERROR, "cache lookup failed for function %u", fcinfo->flinfo->fn_oid);
	n = get_func_arg_info(proc, &types, &names, &modes);
	ReleaseSysCache(proc);
	t->jobs_argument = names != NULL && jobs < n ? names[jobs] : "jobs";
	t->columns_argument = names != NULL && columns < n ? names[columns] : "columns";
}

void
pm_job_table_argument(FunctionCallInfo fcinfo, int jobs, int columns, pm_job_table *t)
{
	pm_require_catalog();
	*t = (pm_job_table) {.relid = PG_ARGISNULL(jobs) ? InvalidOid : PG_GETARG_OID(jobs)};
	name_arguments(fcinfo, jobs, columns, t);
	pm_need_argument(fcinfo, jobs, t->jobs_argument, "'public.job', the table of the jobs");
	pm_job_table_open(t, PG_ARGISNULL(columns) ? NULL : PG_GETARG_JSONB_P(columns));
}

pm_policy
pm_policy_argument(FunctionCallInfo fcinfo, int arg)
{
	char	   *name;
	int			policy;

	pm_need_argument(fcinfo, arg, "policy", "'fifo'");
	name = text_to_cstring(PG_GETARG_TEXT_PP(arg));
	policy = pm_policy_find(name);
	if (policy < 0)
		pm_unknown_word("policy", name, pm_policy_name, PM_N_POLICIES);
	return (pm_policy) policy;
}

void
pm_need_argument(FunctionCallInfo fcinfo, int arg, const char *name, const char *example)
{
	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"%s\" must be given", name),
				 errhint("For example: %s => %s.", name, example)));
}

TimestampTz
pm_at_argument(FunctionCallInfo fcinfo, int arg)
{
	TimestampTz at;

	pm_need_argument(fcinfo, arg, "at", "now(), which is its default");
	at = PG_GETARG_TIMESTAMPTZ(arg);
	if (TIMESTAMP_NOT_FINITE(at))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"at\" must be a finite time")));
	/* so that the history that is looked at, of a few centuries at most, has times */
	if (at < (date2j(1, 1, 1) - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"at\" must not be before the year 1"),
				 errhint("It is the time for which the jobs are planned; left out, it is now.")));
	return at;
}

text *
pm_predictor_argument(FunctionCallInfo fcinfo, int arg)
{
	return arg < 0 || PG_ARGISNULL(arg) ? NULL : PG_GETARG_TEXT_PP(arg);
}
