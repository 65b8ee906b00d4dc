/*
 * estimate_sql.c - estimate_training(): time and memory of a training.
 *
 * Memory is what the kind says.  Time is tried out: a few of the measurements
 * are trained on for one epoch and for some, and the difference is what an epoch
 * takes; the rest follows by numbers of rows, epochs and folds.  What counts is
 * the time that this thread computes, which has its share of the work, and the
 * shortest of several trials: how busy the machine is in this second says little
 * about the next hour.
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/memutils.h"

#include "cache/freshness.h"
#include "catalog.h"
#include "context_arena.h"
#include "kind_options.h"
#include "kinds/settings.h"
#include "measurements.h"
#include "results.h"
#include "run_hooks.h"
#include "settings.h"
#include "training.h"

PG_FUNCTION_INFO_V1(pm_estimate_training);

#define TRIED_ROWS	24
#define LONG_TRIAL	1.0			/* seconds after which one trial is enough */
#define SHORT_TRIAL	0.1			/* after less, one on more rows follows */
#define TRIED_EPOCHS	9
#define TRIALS		3			/* the first one of a session also warms up what later ones find warm */

typedef struct trial
{
	const pm_kind *kind;
	pm_options	options;		/* without calibration and rows held out */
	pm_dataset	some;			/* measurements to try it on */
	int			threads;
} trial;

/* A trial has nothing to say. */
static void
no_beat(void *arg, const pm_progress *p)
{
	(void) arg;
	(void) p;
}

static void
set_option(const pm_kind *kind, pm_options *o, const char *name, double value)
{
	int			at = pm_option_find(kind, name);

	if (at >= 0)
		o->value[at] = value;
}

static double
option_or(const pm_kind *kind, const pm_options *o, const char *name, double otherwise)
{
	int			at = pm_option_find(kind, name);

	return at >= 0 ? o->value[at] : otherwise;
}

/* Up to rows measurements from all over d, and as large a share of its operators and passes. */
static pm_dataset
some_of(const pm_dataset *d, int rows)
{
	int			n = Min(d->n, rows);
	pm_dataset	some = *d;

	some.samples = palloc(sizeof(pm_sample) * Max(n, 1));
	for (int i = 0; i < n; i++)
		some.samples[i] = d->samples[(int64) i * d->n / n];
	some.n = n;
	some.n_passes = d->n > 0 ? (int) ((int64) d->n_passes * n / d->n) : 0;
	some.passes = palloc(sizeof(pm_sample) * Max(some.n_passes, 1));
	for (int i = 0; i < some.n_passes; i++)
		some.passes[i] = d->passes[(int64) i * d->n_passes / some.n_passes];
	some.n_operators = d->n > 0 ? (int) ((int64) d->n_operators * n / d->n) : 0;
	return some;
}

/* Seconds that a training of so many epochs computes; NaN: these measurements cannot be trained on. */
static double
try_once(const trial *t, int epochs)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel train", ALLOCSET_DEFAULT_SIZES);
	pm_predictor p = {.kind = t->kind,.options = t->options};
	pm_fit_report report = {0};
	pm_status	st = {PM_OK};
	pm_run_hooks hooks;
	pm_arena	arena;
	pm_code		code;
	double		started = pm_thread_cpu_s();

	set_option(t->kind, &p.options, "epochs", epochs);
	pm_context_arena(&arena, work, (size_t) pm_memory_limit());
	pm_hooks_init(&hooks, "estimating a training");
	hooks.beat = no_beat;
	code = pm_predictor_fit(&p, &t->some, 1, t->threads, &hooks.hooks, &arena, &report, &st);
	if (code == PM_OK || code == PM_CANCELLED || hooks.error != NULL)
		pm_hooks_finish(&hooks, code, &st);
	MemoryContextDelete(work);
	return code == PM_OK ? pm_thread_cpu_s() - started : NAN;
}

/* The shortest of TRIALS, or of one that is long. */
static double
try_epochs(const trial *t, int epochs)
{
	double		best = try_once(t, epochs);

	for (int i = 1; i < TRIALS && best < LONG_TRIAL; i++)
		best = Min(best, try_once(t, epochs));
	return best;
}

/* Seconds of a training on d with options o; NaN: not known. */
static double
estimate_seconds(const pm_kind *kind, const pm_options *o, const pm_dataset *d, int threads)
{
	double		epochs = option_or(kind, o, "epochs", 1);
	double		folds = option_or(kind, o, "calibration_folds", 0);
	trial		t = {.kind = kind,.options = *o,.some = some_of(d, TRIED_ROWS),.threads = threads};
	double		one;
	double		epoch = 0;

	if (d->n == 0)
		return NAN;
	set_option(kind, &t.options, "calibration_folds", 0);
	set_option(kind, &t.options, "valid_fraction", 0);
	one = try_epochs(&t, 1);
	/* of a kind that has no epochs, a few rows take hardly less than all */
	while (epochs == 1 && one < SHORT_TRIAL && t.some.n < d->n)
	{
		t.some = some_of(d, 4 * t.some.n);
		one = try_epochs(&t, 1);
	}
	if (epochs > 1 && one < LONG_TRIAL)
		epoch = Max(try_epochs(&t, TRIED_EPOCHS) - one, 0) / (TRIED_EPOCHS - 1);
	else if (epochs > 1)
		epoch = one;
	/* each training of a calibration leaves out one part of the families, and that part of the other networks */
	return (one + (epochs - 1) * epoch) * d->n / t.some.n * (folds < 2 ? 1 : folds - 1 + 1 / folds);
}

static const char *
kind_arg(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("kind must not be null")));
	return text_to_cstring(PG_GETARG_TEXT_PP(0));
}

Datum
pm_estimate_training(PG_FUNCTION_ARGS)
{
	const pm_kind *kind;
	pm_options	options;
	pm_rows    *rows;
	MemoryContext rows_cxt;
	Datum		values[6];
	bool		nulls[6] = {false};
	int			threads = pm_threads_allowed();
	double		needed;
	bool		fits;

	pm_require_catalog();
	kind = pm_kind_or_error(kind_arg(fcinfo));
	pm_options_from_jsonb(kind, PG_ARGISNULL(2) ? NULL : PG_GETARG_JSONB_P(2), &options);
	pm_freshen();
	rows = pm_rows_load_apart(pm_some_profiles_arg(fcinfo, 1), kind, &options, 0, &rows_cxt);
	needed = pm_memory_needed(kind, &options, &rows->set, rows, threads);
	fits = needed <= pm_memory_limit() && PG_NARGS() > 3 && !PG_ARGISNULL(3) && PG_GETARG_BOOL(3);
	values[0] = Int32GetDatum(rows->set.n);
	values[1] = Int32GetDatum(rows->n_graphs);
	values[2] = Int32GetDatum(threads);
	values[3] = Int64GetDatum((int64) ceil(needed));
	values[4] = Int64GetDatum((int64) pm_memory_limit());
	values[5] = pm_float8_or_null(fits ? ceil(1000 * estimate_seconds(kind, &options, &rows->set, threads)) / 1000 : NAN, &nulls[5]);
	MemoryContextDelete(rows_cxt);
	return pm_record(fcinfo, values, nulls);
}
