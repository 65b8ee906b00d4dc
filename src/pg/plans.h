/*
 * plans.h - statements whose plans a session keeps, with their arguments and
 * rows.
 */
#ifndef PM_PG_PLANS_H
#define PM_PG_PLANS_H

#include "catalog/pg_type.h"
#include "executor/spi.h"

#include "compat.h"
#include "features/question.h"

/* A query whose plan is kept for the session. */
#define PM_MAX_ARGS 24
typedef struct pm_plan
{
	const char *sql;
	int			nargs;
	Oid			args[PM_MAX_ARGS];
	SPIPlanPtr	plan;
} pm_plan;

/*
 * Run p inside SPI_connect() and return the number of rows.  read_only: under
 * the caller's snapshot; such a statement may be run while something of the
 * caches is in use, and functions of ours that it calls are refused
 * (pm_reading).  nulls: as for SPI_execute_plan.
 */
extern uint64 pm_run(pm_plan *p, Datum *values, const char *nulls, bool read_only);

/* The same of a statement that stores one row in perfmodel.TABLE, and raises where it has not: a trigger may keep rows away. */
extern void pm_run_store(pm_plan *p, Datum *values, const char *nulls, const char *table);

/* Raise because p has not changed a row that is there.  done: "stored", "deleted". */
pg_noreturn extern void pm_not_stored(pm_plan *p, const char *table, const char *done);

/* Whether a statement of ours that only reads is being run. */
extern bool pm_reading(void);

/* Arguments of an SPI plan, added one after the other. */
typedef struct pm_args
{
	Datum		v[PM_MAX_ARGS];
	char		nulls[PM_MAX_ARGS + 1];
	int			n;
} pm_args;
extern void pm_arg(pm_args *a, Datum v);
extern void pm_arg_null(pm_args *a);
extern void pm_arg_float8(pm_args *a, double v);	/* NaN becomes null */
extern void pm_arg_text(pm_args *a, const char *s);	/* NULL becomes null */

/*
 * Column `col` (from 1) of row `row` of SPI's result, which is of `type` or has its bytes; raises for one of another
 * type.  *isnull may be NULL when it cannot be null.
 */
extern Datum pm_value(uint64 row, int col, Oid type, bool *isnull);
extern double pm_value_float8(uint64 row, int col);	/* NaN for null */
extern char *pm_value_text(uint64 row, int col, MemoryContext cxt);	/* raises for null */
extern char *pm_value_text_or_null(uint64 row, int col, MemoryContext cxt);	/* NULL for null */
extern int	pm_value_word(uint64 row, int col, const pm_word_list *list);	/* its place in the list; raises for others */

#endif
