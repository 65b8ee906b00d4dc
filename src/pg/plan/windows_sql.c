/*
 * windows_sql.c - fill_windows(): training that fits into windows of time in which devices are idle.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "context_arena.h"
#include "errors.h"
#include "plan/job_arguments.h"
#include "plan/job_rows.h"
#include "plan/name_aliases.h"
#include "plan/unknown_gpus.h"
#include "plan/windows.h"
#include "plans.h"
#include "predictor/trust.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_fill_windows);

typedef struct window_row
{
	TimestampTz opens;
	TimestampTz closes;
	char	   *gpu;
	int32		gpus;
} window_row;

typedef struct windows_read
{
	int			n;
	window_row *rows;
	pm_window  *windows;
} windows_read;

static void
refuse_window(uint64 i, const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("window %llu %s", (unsigned long long) i + 1, why),
			 errhint("A window is a range of timestamptz with two ends; gpus, and gpu_counts where it is not NULL, have an element for each window.")));
}

static TimestampTz
end_of_window(uint64 row, int col)
{
	bool		isnull;
	Datum		d = pm_value(row, col, TIMESTAMPTZOID, &isnull);

	if (isnull || TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(d)))
		refuse_window(row, "is empty or has no end");
	return DatumGetTimestampTz(d);
}

/* Elements of an array argument; of one that is NULL, as many as there have to be. */
static int
length_of(FunctionCallInfo fcinfo, int arg, int otherwise)
{
	ArrayType  *a = PG_ARGISNULL(arg) ? NULL : PG_GETARG_ARRAYTYPE_P(arg);

	return a == NULL ? otherwise : ArrayGetNItems(ARR_NDIM(a), ARR_DIMS(a));
}

/* An element that lacks would else read as a window without an end, or one without a device. */
static void
check_lengths(FunctionCallInfo fcinfo)
{
	int			n = length_of(fcinfo, 2, 0);
	int			gpus = length_of(fcinfo, 3, n);
	int			counts = length_of(fcinfo, 4, n);

	if (gpus != n || counts != n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must have an element for each window", gpus != n ? "gpus" : "gpu_counts"),
				 errdetail("windows has %d, %s has %d.", n, gpus != n ? "gpus" : "gpu_counts", gpus != n ? gpus : counts),
				 errhint("Two kinds of devices that are idle at the same time are two windows with the same times.")));
}

#define MAX_WINDOWS 100000

/* Arguments 2 to 4: ranges, devices, how many. */
static void
read_windows(FunctionCallInfo fcinfo, windows_read *w)
{
	Oid			types[] = {get_fn_expr_argtype(fcinfo->flinfo, 2), TEXTARRAYOID, INT4ARRAYOID};
	Datum		args[] = {PG_GETARG_DATUM(2), PG_GETARG_DATUM(3), PG_ARGISNULL(4) ? (Datum) 0 : PG_GETARG_DATUM(4)};
	const char	nulls[] = {' ', ' ', PG_ARGISNULL(4) ? 'n' : ' '};
	MemoryContext cxt = CurrentMemoryContext;

	check_lengths(fcinfo);
	SPI_connect();
	if (SPI_execute_with_args("SELECT pg_catalog.lower(w), pg_catalog.upper(w), g, n FROM ROWS FROM"
							  " (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3)) AS t(w, g, n)",
							  3, types, args, nulls, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "cannot read the windows");
	if (SPI_processed > MAX_WINDOWS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are more than %d windows", MAX_WINDOWS),
				 errhint("Divide them among several calls.")));
	MemoryContextSwitchTo(cxt);
	w->n = (int) SPI_processed;
	w->rows = palloc(sizeof(window_row) * Max(w->n, 1));
	for (int i = 0; i < w->n; i++)
	{
		bool		isnull;
		Datum		n = pm_value(i, 4, INT4OID, &isnull);

		w->rows[i] = (window_row) {
			.opens = end_of_window(i, 1),.closes = end_of_window(i, 2),.gpu = pm_value_text_or_null(i, 3, cxt),
				.gpus = isnull && PG_ARGISNULL(4) ? 1 : isnull ? 0 : DatumGetInt32(n)
		};
		if (w->rows[i].gpu == NULL)
			refuse_window(i, "has no gpu");
		if (w->rows[i].gpus < 1)
			refuse_window(i, "must have at least 1 in gpu_counts");
	}
	SPI_finish();
	for (int i = 0; i < w->n; i++)
		w->rows[i].gpu = pm_job_gpu(w->rows[i].gpu);
}

static double
checked_seconds(FunctionCallInfo fcinfo, int arg, const char *name)
{
	double		s;

	pm_need_argument(fcinfo, arg, name, "60, or 0");
	s = PG_GETARG_FLOAT8(arg);
	if (!(s >= 0 && s <= 1e9))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 0 and 1e9, not %.15g", name, s)));
	return s;
}

/* The step at the level, from the distribution of the whole job. */
static double
step_at(const pm_jobs *jobs, int i, double level)
{
	const pm_duration *d = &jobs->queue[i].work;

	return jobs->rows[i].step_ms / 1000 * pm_duration_at(d, pm_normal_z(level)) / d->p50_s;
}

/* Jobs that can run in windows; of[] says which they are. */
static pm_filler *
make_fillers(const pm_jobs *jobs, double level, int32 *of, int *n)
{
	pm_filler  *f = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(pm_filler) * Max(jobs->n, 1));

	*n = 0;
	for (int i = 0; i < jobs->n; i++)
	{
		const pm_queue_job *j = &jobs->queue[i];
		double		left = floor(jobs->rows[i].steps_left);

		if (j->elapsed_s >= 0 || isnan(jobs->rows[i].step_ms) || isnan(j->work.p50_s) || !(left >= 1))
			continue;
		f[*n] = (pm_filler) {
			.step_s = step_at(jobs, i, level),.gain = jobs->rows[i].step_ms / 1000 * j->gpus,.steps = left,.pool = j->pool,.gpus = j->gpus
		};
		of[(*n)++] = i;
	}
	return f;
}

#define MOST_NAMED	3			/* windows in notices of their own */

/* Nothing runs before `at`: of a window that is open then, the rest; of one that is over, nothing. */
static void
forget_past(windows_read *w, TimestampTz at)
{
	int			over = 0;

	for (int i = 0; i < w->n; i++)
	{
		if (w->rows[i].closes <= at && over++ < MOST_NAMED)
			ereport(NOTICE,
					(errmsg("window %d is over: it closes at %s, and \"at\" is %s", i + 1, pstrdup(timestamptz_to_str(w->rows[i].closes)),
							pstrdup(timestamptz_to_str(at))),
					 errhint("To plan from an earlier time, give that time as \"at\".")));
		w->rows[i].opens = Max(w->rows[i].opens, Min(at, w->rows[i].closes));
	}
	if (over > MOST_NAMED)
		ereport(NOTICE,
				(errmsg("so are %d more of the %d windows", over - MOST_NAMED, w->n)));
}

/* Times are from the first window on, so that seconds keep their digits. */
static TimestampTz
place_windows(windows_read *w, const pm_jobs *jobs)
{
	TimestampTz first = w->n > 0 ? w->rows[0].opens : 0;
	pm_unknown_gpus unknown = {0};

	w->windows = palloc(sizeof(pm_window) * Max(w->n, 1));
	for (int i = 1; i < w->n; i++)
		first = Min(first, w->rows[i].opens);
	for (int i = 0; i < w->n; i++)
		w->windows[i] = (pm_window) {
			.opens_s = ((double) w->rows[i].opens - (double) first) / USECS_PER_SEC,
				.closes_s = ((double) w->rows[i].closes - (double) first) / USECS_PER_SEC,
				.pool = pm_jobs_pool(jobs, w->rows[i].gpu),.gpus = w->rows[i].gpus
		};
	for (int i = 0; i < w->n; i++)
		if (w->windows[i].pool < 0)
			pm_unknown_gpus_add(&unknown, w->rows[i].gpu);
	pm_unknown_gpus_tell(&unknown, "gpus", jobs);
	return first;
}

/* So many seconds after the first window opens, without the parts of a second: not after a window that closes then. */
static TimestampTz
whole_second(TimestampTz first, double s)
{
	/* what a sum of seconds lacks of a whole one is no part of it */
	return first + (int64) floor(s + 1e-6) * USECS_PER_SEC;
}

/* A row; x is NULL for a job that gets nothing. */
static void
add_row(pm_rows_out *out, const pm_job_row *r, const windows_read *w, const pm_filling *x, double step_s, TimestampTz first, const char *note)
{
	double		steps_s = x ? x->steps * r->step_ms / 1000 : 0;
	bool		nulls[10] = {x == NULL, false, false, false, false, x == NULL, x == NULL, false, false, false};
	Datum		values[10] = {
		Int32GetDatum(x ? x->window + 1 : 0),
		pm_text_or_null(r->id, &nulls[1]),
		pm_text_or_null(r->team, &nulls[2]),
		pm_text_or_null(x ? w->rows[x->window].gpu : r->gpu, &nulls[3]),
		Int64GetDatum(x ? (int64) x->steps : 0),
		TimestampTzGetDatum(x ? whole_second(first, x->starts_s) : 0),
		TimestampTzGetDatum(x ? whole_second(first, x->ends_s) : 0),
		pm_figure_or_null(1000 * step_s, &nulls[7]),
		pm_figure_or_null(steps_s, &nulls[8]),
		pm_text_or_null(note, &nulls[9])
	};

	pm_rows_add(out, values, nulls);
}

/* The most devices of a kind that a window has; 0: no window has that kind. */
static int32
most_gpus(const windows_read *w, int32 pool)
{
	int32		most = 0;

	for (int i = 0; i < w->n; i++)
		if (w->windows[i].pool == pool)
			most = Max(most, w->windows[i].gpus);
	return most;
}

/* Why a job that waits is in no window. */
static const char *
why_nothing(const pm_jobs *jobs, const windows_read *w, int i)
{
	const pm_job_row *r = &jobs->rows[i];
	int32		gpus = jobs->queue[i].gpus;
	int32		most = most_gpus(w, jobs->queue[i].pool);

	if (isnan(r->p50_s) && r->note != NULL)
		return r->note;
	if (isnan(r->step_ms))
		return "steps is not known";
	if (!(floor(r->steps_left) >= 1))
		return "no steps are left";
	if (most == 0)
		return psprintf("no window has %s", r->gpu != NULL ? pm_shown_name(r->gpu) : "its device");
	if (most < gpus)
		return psprintf("needs %d devices, no window of %s has more than %d", gpus, pm_shown_name(r->gpu), most);
	return "no time is left for it in the windows";
}

/* Rows of what runs, then one for each job that waits and gets nothing. */
static void
add_rows(pm_rows_out *out, const pm_jobs *jobs, const windows_read *w, const pm_fillings *fillings, const pm_filler *f, const int32 *of,
		 double level, TimestampTz first)
{
	bool	   *runs = MemoryContextAllocExtended(CurrentMemoryContext, Max(jobs->n, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (int i = 0; i < fillings->n; i++)
	{
		const pm_filling *x = &fillings->v[i];
		const pm_job_row *r = &jobs->rows[of[x->job]];

		runs[of[x->job]] = true;
		add_row(out, r, w, x, f[x->job].step_s, first, r->note);
	}
	for (int i = 0; i < jobs->n; i++)
		if (!runs[i] && jobs->queue[i].elapsed_s < 0)
			add_row(out, &jobs->rows[i], w, NULL, isnan(jobs->rows[i].step_ms) ? NAN : step_at(jobs, i, level), first, why_nothing(jobs, w, i));
}

static double
checked_level(double level)
{
	if (!(level >= PM_LEVEL_MIN && level <= PM_LEVEL_MAX))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("level must be between %g and %g, not %.15g", PM_LEVEL_MIN, PM_LEVEL_MAX, level),
				 errhint("With level 0.9, 9 of 10 steps are shorter than the planned ones.")));
	return level;
}

/* jobs, columns, windows, gpus, gpu_counts, predictor, at, level, startup_s, checkpoint_s */
Datum
pm_fill_windows(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_job_table t;
	pm_jobs		jobs;
	windows_read w;
	pm_fillings fillings;
	pm_arena	a;
	pm_status	st = {PM_OK};
	pm_filler  *f;
	int32	   *of;
	int			n;
	double		level;
	TimestampTz first;
	TimestampTz at;

	pm_rows_begin(fcinfo, &out);
	pm_need_argument(fcinfo, 2, "windows", "'{\"[2026-01-01 22:00, 2026-01-02 06:00)\"}'");
	pm_need_argument(fcinfo, 3, "gpus", "'{T4}', a device for each window");
	pm_need_argument(fcinfo, 7, "level", "0.9");
	pm_job_table_argument(fcinfo, 0, 1, &t);
	pm_job_table_need_forecast(&t, true);
	read_windows(fcinfo, &w);
	at = pm_at_argument(fcinfo, 6);
	forget_past(&w, at);
	pm_jobs_read(&t, pm_predictor_argument(fcinfo, 5), at, DT_NOBEGIN, &jobs);
	of = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int32) * Max(jobs.n, 1));
	level = checked_level(PG_GETARG_FLOAT8(7));
	f = make_fillers(&jobs, level, of, &n);
	first = place_windows(&w, &jobs);
	pm_context_arena(&a, CurrentMemoryContext, 0);
	if (pm_windows_fill(w.windows, w.n, f, n, checked_seconds(fcinfo, 8, "startup_s"), checked_seconds(fcinfo, 9, "checkpoint_s"),
						&fillings, &a, &st) != PM_OK)
		pm_raise(&st);
	add_rows(&out, &jobs, &w, &fillings, f, of, level, first);
	return (Datum) 0;
}
