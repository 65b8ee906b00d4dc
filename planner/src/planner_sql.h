/*
 * planner_sql.h - code that the functions of perfmodel_planner share: memory,
 * rows, objects of numbers.
 */
#ifndef PLANNER_SQL_H
#define PLANNER_SQL_H

#include "fmgr.h"
#include "utils/jsonb.h"

#include "lp.h"
#include "rows_out.h"

/* Zeroed, in the current context; NULL: no memory. */
extern void *planner_memory(size_t size);
/* Whether the statement is to end. */
extern bool planner_cancelled(void *arg);
/* Raise for a cancel, and for whatever is not LP_OPTIMAL. */
extern void planner_check_status(lp_status status, int n_jobs, int n_kinds);
/* Raise where jobs times kinds is more than a server has memory for, or there are no kinds. */
extern void planner_check_size(int64 jobs, int64 kinds);

/* With so many digits, as many as a row for people has. */
extern double planner_digits(double v, int digits);

/* A value of a row that is returned; 0 where it is null. */
extern void planner_put(Datum *values, bool *nulls, int at, Datum value, bool isnull);

/* An object such as {"T4": 4, ...}: names and numbers, each in [low, high]; how many. `what` names it in errors. */
extern int	planner_read_object(Jsonb *object, const char *what, double low, double high, char ***names, double **values);

/* Raise where an argument is NULL; `example` is a value of it, for the hint. */
extern void planner_need(FunctionCallInfo fcinfo, int arg, const char *name, const char *example);

/* The same for the devices. */
extern void planner_need_workers(FunctionCallInfo fcinfo, int arg);

/* The different notes of n places whose rate is 0, where something cannot run, one after the other; NULL: there are none. */
extern char *planner_notes_where_not(char *const *notes, const double *rate, int n);

/* "a; b", or the one that is not NULL. */
extern const char *planner_joined(const char *a, const char *b);

/* Columns of the rows of SPI, from 1. Texts are copied into cxt; NULL for null, NaN for a null number. */
extern Datum planner_column(uint64 row, int col, bool *isnull);
extern char *planner_text(uint64 row, int col, MemoryContext cxt);
extern double planner_float8(uint64 row, int col);

#endif
