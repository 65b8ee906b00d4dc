/*
 * out_row.c - builds a row of a result, column by column.
 */
#include "postgres.h"

#include <math.h>

#include "utils/timestamp.h"

#include "plan/out_row.h"
#include "results.h"

void
pm_row_text(pm_out_row *o, const char *s)
{
	o->values[o->n] = pm_text_or_null(s, &o->nulls[o->n]);
	o->n++;
}

void
pm_row_time(pm_out_row *o, TimestampTz t)
{
	o->nulls[o->n] = t == DT_NOBEGIN;
	o->values[o->n++] = TimestampTzGetDatum(t);
}

void
pm_row_float8(pm_out_row *o, double v)
{
	o->values[o->n] = pm_figure_or_null(v, &o->nulls[o->n]);
	o->n++;
}

void
pm_row_int4_or_null(pm_out_row *o, int32 v, bool isnull)
{
	o->nulls[o->n] = isnull;
	o->values[o->n++] = Int32GetDatum(v);
}

void
pm_row_int8_or_null(pm_out_row *o, int64 v, bool isnull)
{
	o->nulls[o->n] = isnull;
	o->values[o->n++] = Int64GetDatum(v);
}

void
pm_row_bool_or_null(pm_out_row *o, bool v, bool isnull)
{
	o->nulls[o->n] = isnull;
	o->values[o->n++] = BoolGetDatum(v);
}

static double
whole_second(TimestampTz at, double s)
{
	return ceil(((double) at + s * USECS_PER_SEC) / USECS_PER_SEC) * USECS_PER_SEC;
}

bool
pm_in_calendar(TimestampTz at, double s)
{
	double		t = whole_second(at, s);

	return isfinite(t) && t < 9.2e18 && IS_VALID_TIMESTAMP((TimestampTz) t);
}

void
pm_row_seconds_from(pm_out_row *o, TimestampTz at, double s)
{
	pm_row_time(o, pm_in_calendar(at, s) ? (TimestampTz) whole_second(at, s) : DT_NOBEGIN);
}
