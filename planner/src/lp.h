/*
 * lp.h - linear programmes, solved by Clp (lp_clp.cc) or HiGHS (lp_highs.cc).
 *
 *   maximise c x  subject to  row_low <= A x <= row_high,  0 <= x <= high
 */
#ifndef PLANNER_LP_H
#define PLANNER_LP_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A by columns: the coefficients of column j are [start[j], start[j + 1]). */
typedef struct lp_problem
{
	int			n_rows;
	int			n_columns;
	int		   *start;			/* [n_columns + 1] */
	int		   *row;
	double	   *value;
	double	   *gain;			/* [n_columns] c */
	double	   *high;			/* [n_columns] LP_FREE: none */
	double	   *row_low;		/* [n_rows] -LP_FREE: none */
	double	   *row_high;
} lp_problem;

#define LP_FREE 1e30

typedef enum lp_status
{
	LP_OPTIMAL,
	LP_INFEASIBLE,
	LP_UNBOUNDED,
	LP_STOPPED,					/* stop() said so */
	LP_NO_MEMORY,
	LP_FAILED					/* numerical trouble */
} lp_status;

typedef struct lp_solution
{
	double		objective;
	double	   *x;				/* [n_columns], of the caller */
	double	   *dual;			/* [n_rows], of the caller: what the objective gains by one more of a row's bound */
} lp_solution;

/*
 * Solve it. stop(arg) is asked again and again; true ends the solution. Nothing
 * of the library is left behind, whatever comes out, and no exception leaves it.
 */
extern lp_status lp_solve(const lp_problem *p, bool (*stop) (void *arg), void *arg, lp_solution *s);

/* The library and its version, such as "Clp 1.17.6" or "HiGHS 1.10.0". */
extern const char *lp_library(void);

#ifdef __cplusplus
}
#endif

#endif
