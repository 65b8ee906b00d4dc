/*
 * problem.h - why a question has no answer, before it becomes an error.
 *
 * A dashboard of 100,000 rows is not to fail for one of them: on request
 * (on_error => 'null') a problem of the question itself becomes a row without
 * an answer.  Whatever else goes wrong is an error always.
 */
#ifndef PM_PG_PROBLEM_H
#define PM_PG_PROBLEM_H

#include "compat.h"

typedef struct pm_problem
{
	const char *reason;			/* a code for programs, such as "unknown_gpu" */
	int			sqlstate;
	char	   *message;
	char	   *detail;			/* or NULL */
	char	   *hint;			/* or NULL */
} pm_problem;

pg_noreturn extern void pm_problem_raise(const pm_problem *p);

#endif
