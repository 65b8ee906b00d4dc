/*
 * check.h - the few macros that the unit tests of src/core share.
 *
 * A failed check is reported with its place and counted; the test goes on.
 * main() ends in `return check_done("name");`.  Each test is one program, so
 * the counters are static.
 */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <stdio.h>
#include <string.h>

static int	check_count;
static int	check_failures;

static inline void
check_report(int ok, const char *file, int line, const char *what)
{
	check_count++;
	if (ok)
		return;
	check_failures++;
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
}

static inline void
check_number(double got, double want, double tolerance, const char *file, int line, const char *what)
{
	check_count++;
	if (fabs(got - want) <= tolerance)
		return;
	check_failures++;
	fprintf(stderr, "%s:%d: %s is %.17g, should be %.17g\n", file, line, what, got, want);
}

static inline void
check_text(const char *got, const char *part, const char *file, int line, const char *what)
{
	check_count++;
	if (strstr(got, part) != NULL)
		return;
	check_failures++;
	fprintf(stderr, "%s:%d: %s is \"%s\", should have \"%s\"\n", file, line, what, got, part);
}

/* The condition holds. */
#define CHECK(cond) check_report((cond) != 0, __FILE__, __LINE__, #cond)
/* Two numbers are the same. */
#define CHECK_EQ(got, want) check_number((double) (got), (double) (want), 0, __FILE__, __LINE__, #got)
/* Two numbers are within an absolute tolerance. */
#define CHECK_NEAR(got, want, tol) check_number((got), (want), (tol), __FILE__, __LINE__, #got)
/* A string has this part. */
#define CHECK_HAS(got, part) check_text((got), (part), __FILE__, __LINE__, #got)

static inline int
check_done(const char *name)
{
	printf("%-16s %d checks, %d failed\n", name, check_count, check_failures);
	return check_failures != 0;
}

#endif
