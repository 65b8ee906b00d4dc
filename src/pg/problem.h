/*
 * problem.h - why a question has no answer, before this becomes an error.
 *
 * A dashboard of 100,000 rows should not fail because of one of them. So with
 * on_error => 'null', a problem of the question itself becomes a row without an
 * answer. All other failures are always errors.
 */
#ifndef PM_PG_PROBLEM_H
#define PM_PG_PROBLEM_H

#include "compat.h"
#include "base/core.h"

typedef struct pm_problem
{
	const char *reason;			/* a code for programs, such as "unknown_gpu" */
	int			sqlstate;
	char	   *message;
	char	   *detail;			/* or NULL */
	char	   *hint;			/* or NULL */
	char	   *(*hint_for) (const char *name);	/* or NULL: makes the hint if it comes to an error, as names that are alike take time to find */
	char	   *name;			/* the argument of hint_for */
} pm_problem;

/* Of what a status of the core says about the question; its texts are copied into the current context, as a status is often a local variable. */
extern pm_problem pm_problem_of_status(const char *reason, const pm_status *st);

/* The hint, or NULL. */
extern const char *pm_problem_hint(const pm_problem *p);

pg_noreturn extern void pm_problem_raise(const pm_problem *p);

#endif
