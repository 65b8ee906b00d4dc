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
 * the caller's snapshot.  Such a statement may run while entries of the caches
 * are in use; functions of perfmodel that it calls are refused (pm_reading).
 * nulls: as for SPI_execute_plan.
 */
extern uint64 pm_run(pm_plan *p, Datum *values, const char *nulls, bool read_only);

/* pm_run() for a statement that stores one row in perfmodel.TABLE. Raises if it has not: a trigger may keep rows away. */
extern void pm_run_store(pm_plan *p, Datum *values, const char *nulls, const char *table);

/* Raise: p should have changed a row of the table, but has not. done: "stored", "deleted". */
pg_noreturn extern void pm_not_stored(pm_plan *p, const char *table, const char *done);

/* Whether pm_run() is running a statement with read_only. */
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
 * Column `col` (from 1) of row `row` (from 0) of SPI's result.  It must have the type `type`, or one of the same bytes; raises
 * for other types.  isnull may be NULL; then a null raises.
 */
extern Datum pm_value(uint64 row, int col, Oid type, bool *isnull);
extern double pm_value_float8(uint64 row, int col);	/* NaN for null */
extern char *pm_value_text(uint64 row, int col, MemoryContext cxt);	/* raises for null */
extern char *pm_value_text_or_null(uint64 row, int col, MemoryContext cxt);	/* NULL for null */
extern int	pm_value_word(uint64 row, int col, const pm_word_list *list);	/* place of the word in the list; raises for other words */

#endif
