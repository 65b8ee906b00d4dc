/*
 * out_row.h - builds a row of a result, column by column.
 */
#ifndef PM_PG_PLAN_OUT_ROW_H
#define PM_PG_PLAN_OUT_ROW_H

#include "datatype/timestamp.h"

typedef struct pm_out_row
{
	Datum		values[20];
	bool		nulls[20];
	int			n;				/* columns so far: start with 0 */
} pm_out_row;

/* The next column. Null: NULL, DT_NOBEGIN, a number that is not finite. */
extern void pm_row_text(pm_out_row *o, const char *s);
extern void pm_row_time(pm_out_row *o, TimestampTz t);
extern void pm_row_float8(pm_out_row *o, double v); /* with five digits */
extern void pm_row_int4_or_null(pm_out_row *o, int32 v, bool isnull);
extern void pm_row_int8_or_null(pm_out_row *o, int64 v, bool isnull);
extern void pm_row_bool_or_null(pm_out_row *o, bool v, bool isnull);

/* Whether there is a time so many seconds from another. */
extern bool pm_in_calendar(TimestampTz at, double s);
/* A time so many seconds from another, as a whole second; null where it is not known, never comes, or is beyond the calendar. */
extern void pm_row_seconds_from(pm_out_row *o, TimestampTz at, double s);

#endif
