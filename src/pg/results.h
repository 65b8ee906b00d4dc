/*
 * results.h - values, records and sets that a function returns.
 */
#ifndef PM_PG_RESULTS_H
#define PM_PG_RESULTS_H

#include "fmgr.h"

#include "rows_out.h"

/* The composite result of a function with OUT arguments. */
extern Datum pm_record(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

/*
 * Whether the argument "per" of a function asks for a row for each node: "node". Otherwise it must be `groups`, such as
 * "group"; any other word is an error (22023), whose hint says that a row is for each `group_of`.
 */
extern bool pm_wants_nodes(FunctionCallInfo fcinfo, int arg, const char *groups, const char *group_of);

extern Datum pm_int8_array(const int64 *v, int n);
extern Datum pm_float8_array(const double *v, int n);
extern Datum pm_text_array(const char *const *v, int n);
extern Datum pm_text_or_null(const char *s, bool *isnull);
extern Datum pm_float8_or_null(double v, bool *isnull);	/* NaN becomes null */
extern Datum pm_rounded_or_null(double v, bool *isnull);	/* two decimals, for a figure that people read, such as an error in percent */

extern Datum pm_probability_or_null(double p, bool *isnull);	/* four decimals; NaN becomes null */

/* A figure with so many digits as are known of a prediction, five: 5263.5 and not 5263.512481200394. NaN and infinities become null. */
extern Datum pm_figure_or_null(double v, bool *isnull);

#endif
