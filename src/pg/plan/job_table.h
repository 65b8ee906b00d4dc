/*
 * job_table.h - the user's own table of jobs, and the meanings of its columns.
 *
 * The table is given as a regclass and a jsonb object {"meaning": "column"}. If
 * the object does not name a meaning, the column of that name is used, if the
 * table has one. Everything is read by a query of the caller, with the caller's
 * rights, views and row security.
 */
#ifndef PM_PG_PLAN_JOB_TABLE_H
#define PM_PG_PLAN_JOB_TABLE_H

#include "utils/jsonb.h"

/* Meanings of columns; their names are in job_table.c. */
typedef enum pm_job_column
{
	PM_COLUMN_ID,					/* anything that can be written as text */
	PM_COLUMN_TEAM,
	PM_COLUMN_GRAPH,				/* name of a graph */
	PM_COLUMN_GRAPH_ID,
	PM_COLUMN_GPU,
	PM_COLUMN_GPU_COUNT,
	PM_COLUMN_BATCH,			/* of each GPU */
	PM_COLUMN_DTYPE,
	PM_COLUMN_LAYOUT,
	PM_COLUMN_FRAMEWORK,
	PM_COLUMN_OPTIMIZER,
	PM_COLUMN_CLUSTER,			/* where jobs on several GPUs run */
	PM_COLUMN_WEIGHT,			/* how much a job counts; 1 where there is none */
	PM_COLUMN_NOISE_SCALE,		/* samples in a batch at which twice the batch needs 4/3 of the samples */
	PM_COLUMN_STEPS,				/* of the whole job */
	PM_COLUMN_DONE_STEPS,			/* of them done */
	PM_COLUMN_DURATION_S,			/* the user's own forecast of the whole job, in place of steps */
	PM_COLUMN_DURATION_P90_S,
	PM_COLUMN_SUBMITTED_AT,
	PM_COLUMN_STARTED_AT,			/* not null: it runs */
	PM_COLUMN_FINISHED_AT,		/* not null: it is over, and is left out */
	PM_COLUMN_DEADLINE,
	PM_N_COLUMNS
} pm_job_column;

/* SQL: whether a text is more than white space; %s is that text. */
#define PM_NOT_BLANK "pg_catalog.btrim(%s, E' \\t\\n\\r\\f\\v') OPERATOR(pg_catalog.<>) ''"

/* What a column of another type of number is read as, where an integer is asked for and the value is no whole number, or too large. */
#define PM_NOT_WHOLE PG_INT32_MIN

/* The same of an identifier; others are within this number, of either sign. */
#define PM_NO_ID PG_INT64_MIN
#define PM_MOST_ID "9000000000000000000"

/* Devices of one job: more are a mistake. */
#define PM_MAX_GPU_COUNT 1000000

/* What a date or a time without a zone is read as that is before or after all times with one; every zone can show these two. */
#define PM_FIRST_TIME "4714-11-26 00:00:00+00 BC"
#define PM_LAST_TIME "294276-12-30 00:00:00+00"
#define PM_FIRST_TIME_DAY INT64CONST(-2451543) /* the same in days from 2000-01-01 on */
#define PM_LAST_TIME_DAY INT64CONST(106751981)

typedef struct pm_job_table
{
	Oid			relid;			/* InvalidOid: arrays in place of a table */
	const char *jobs_argument;	/* what the function that was called names the table, and the object, for errors */
	const char *columns_argument;
	char	   *relation;		/* for FROM, with the alias j */
	char	   *column[PM_N_COLUMNS];	/* j.column, quoted; NULL: the table has none */
	Oid			column_type[PM_N_COLUMNS];	/* of a table's columns; not set of arrays */
	int			nargs;			/* what relation has as $1, $2, ... */
	Oid			types[PM_N_COLUMNS + 1];
	Datum		args[PM_N_COLUMNS + 1];
} pm_job_table;

/*
 * Find the columns of t->relid; t also has the names of the two arguments. Raises
 * for unknown meanings in mapping, and for columns that the table does not have.
 * mapping may be NULL.
 */
extern void pm_job_table_open(pm_job_table *t, Jsonb *mapping);

/*
 * Jobs as arrays of the same length, one for each column: start with none, add
 * those that are not NULL, then make the relation. type is an array's.
 */
extern void pm_job_arrays_begin(pm_job_table *t);
extern void pm_job_arrays_add(pm_job_table *t, pm_job_column what, Oid type, Datum array);
extern void pm_job_arrays_end(pm_job_table *t);

/* Raise unless the table has that column. */
extern void pm_job_table_need(const pm_job_table *t, pm_job_column what);

/*
 * Raise unless jobs can be forecast from the table: from a duration, or a graph, its
 * batch and its steps, and the device. with_gpu: the device is needed in any case.
 */
extern void pm_job_table_need_forecast(const pm_job_table *t, bool with_gpu);

/* Raise unless the table has the graph of each job, and its batch. */
extern void pm_job_table_need_question(const pm_job_table *t);

/*
 * "column"::type for the select list, or NULL::type where the table has none.
 * type is written with its schema.  Of a text, '' and blanks are NULL, whether it is read as a name, a number or a time;
 * job_id and team are left as they are.  No number of a column is rounded to an integer, and none that is out of range is an
 * error: see PM_NOT_WHOLE, PM_NO_ID and the two times above.  Raises for a column that is to be a time and has no cast to one.
 */
extern char *pm_job_table_value(const pm_job_table *t, pm_job_column what, const char *type);

/* The condition that a column which the table has is NULL, or a blank text. */
extern char *pm_job_table_is_null(const pm_job_table *t, pm_job_column what);

/*
 * Raise, with the name of the column, where it is of text and a value cannot be read as the type.  where: "" or a
 * condition with " WHERE " before it, which may have the table's arguments.  To be called within SPI.
 */
extern void pm_job_table_check_text(const pm_job_table *t, pm_job_column what, const char *type, const char *where);

/* The name of what a column can mean, such as "gpu_count". */
extern const char *pm_job_column_name(pm_job_column what);

#endif
