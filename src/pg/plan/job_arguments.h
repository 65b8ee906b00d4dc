/*
 * job_arguments.h - arguments that functions about a table of jobs have in common.
 */
#ifndef PM_PG_PLAN_JOB_ARGUMENTS_H
#define PM_PG_PLAN_JOB_ARGUMENTS_H

#include "datatype/timestamp.h"
#include "fmgr.h"

#include "plan/job_table.h"
#include "plan/order.h"

/* The table in argument `jobs`, and what its columns mean in argument `columns`, which may be NULL. */
extern void pm_job_table_argument(FunctionCallInfo fcinfo, int jobs, int columns, pm_job_table *t);

/* A policy by its name; raises with the names that there are. */
extern pm_policy pm_policy_argument(FunctionCallInfo fcinfo, int arg);

/* Raise where an argument is NULL that the function cannot do without; example: how it is written. */
extern void pm_need_argument(FunctionCallInfo fcinfo, int arg, const char *name, const char *example);

/* A finite time; raises otherwise. */
extern TimestampTz pm_at_argument(FunctionCallInfo fcinfo, int arg);

/* The name of a predictor; NULL where the argument is NULL or arg is negative. */
extern text *pm_predictor_argument(FunctionCallInfo fcinfo, int arg);

#endif
