/*
 * evaluate_sql.c - evaluate() and cross_validate(): errors as rows, overall
 * and per group, and what intervals and domain were worth.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"

#include "cache/freshness.h"
#include "cache/predictor_cache.h"
#include "catalog.h"
#include "context_arena.h"
#include "errors.h"
#include "kind_options.h"
#include "measurements.h"
#include "op_measurements.h"
#include "results.h"
#include "run_hooks.h"
#include "settings.h"
#include "training.h"
#include "base/metrics.h"
#include "features/split.h"

PG_FUNCTION_INFO_V1(pm_evaluate);
PG_FUNCTION_INFO_V1(pm_cross_validate);

/* Predictions of rows; fold -1: not tested. */
typedef struct outcome
{
	const pm_rows *rows;
	double	   *predicted;		/* [n] */
	double	   *low;			/* [n] of the interval at PM_LEVEL_USUAL; NaN: none */
	double	   *high;			/* [n] */
	signed char *domain;		/* [n] 1 in, 0 out, -1 not known */
	int		   *fold;			/* [n] */
} outcome;

/* What the folds of a cross-validation took. */
typedef struct costs
{
	double		train_s;		/* all trainings together */
	double		predict_s;		/* all predictions together */
	int			n_trained;
	int			n_predicted;
} costs;

/* ---------- reports ---------- */

#define N_COLUMNS	17			/* of cross_validate(); evaluate() returns all but the last two */

static Datum
percent_or_null(double share, bool *isnull)
{
	return pm_float8_or_null(100 * share, isnull);
}

static void
add_metrics(pm_rows_out *out, const char *grouping, const char *name, const pm_metrics *m,
			const pm_trust_metrics *t, const costs *cost)
{
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};

	values[0] = CStringGetTextDatum(grouping);
	values[1] = pm_text_or_null(name, &nulls[1]);
	values[2] = Int32GetDatum(m->n);
	values[3] = Float8GetDatum(100 * m->mape);
	values[4] = Float8GetDatum(100 * m->median_ape);
	values[5] = Float8GetDatum(100 * m->p90_ape);
	values[6] = Float8GetDatum(m->mae);
	values[7] = Float8GetDatum(m->rmse);
	values[8] = Float8GetDatum(100 * m->within_10);
	values[9] = Float8GetDatum(100 * m->bias);
	values[10] = percent_or_null(t->coverage, &nulls[10]);
	values[11] = percent_or_null(t->width, &nulls[11]);
	values[12] = percent_or_null(t->in_domain, &nulls[12]);
	values[13] = percent_or_null(t->mape_in_domain, &nulls[13]);
	values[14] = percent_or_null(t->mape_out_of_domain, &nulls[14]);
	values[15] = pm_float8_or_null(cost ? cost->train_s / cost->n_trained : NAN, &nulls[15]);
	values[16] = pm_float8_or_null(cost ? 1e6 * cost->predict_s / cost->n_predicted : NAN, &nulls[16]);
	pm_rows_add(out, values, nulls);
}

/* The tested rows whose word is name (NULL: all), one after the other. */
static outcome
select_rows(const outcome *o, const char *const *words, const char *name, double *measured, int *n)
{
	int			all = o->rows->set.n;
	outcome		part = {.predicted = palloc(sizeof(double) * all), .low = palloc(sizeof(double) * all),
		.high = palloc(sizeof(double) * all), .domain = palloc(all)};

	*n = 0;
	for (int i = 0; i < all; i++)
	{
		if (o->fold[i] < 0 || (name != NULL && strcmp(words[i], name) != 0))
			continue;
		measured[*n] = o->rows->set.samples[i].step_ms;
		part.predicted[*n] = o->predicted[i];
		part.low[*n] = o->low[i];
		part.high[*n] = o->high[i];
		part.domain[(*n)++] = o->domain[i];
	}
	return part;
}

/* One row of the report. */
static void
report_group(pm_rows_out *out, const outcome *o, const char *grouping, const char *const *words, const char *name,
			 const costs *cost)
{
	int			n;
	double	   *measured = palloc(sizeof(double) * o->rows->set.n);
	double	   *scratch = palloc(sizeof(double) * o->rows->set.n);
	outcome		part = select_rows(o, words, name, measured, &n);
	pm_metrics	m;
	pm_trust_metrics t;

	if (n > 0)
	{
		pm_metrics_compute(measured, part.predicted, n, scratch, &m);
		pm_trust_metrics_compute(measured, part.predicted, part.low, part.high, part.domain, n, &t);
		add_metrics(out, grouping, name, &m, &t, cost);
	}
	pfree(measured);
	pfree(scratch);
	pfree(part.predicted);
	pfree(part.low);
	pfree(part.high);
	pfree(part.domain);
}

static int
compare_words(const void *a, const void *b)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static void
report_grouping(pm_rows_out *out, const outcome *o, const char *grouping, const char *const *words)
{
	int			n = o->rows->set.n;
	const char **sorted = palloc(sizeof(char *) * n);

	memcpy(sorted, words, sizeof(char *) * n);
	qsort(sorted, n, sizeof(char *), compare_words);
	for (int i = 0; i < n; i++)
		if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
			report_group(out, o, grouping, words, sorted[i], NULL);
	pfree(sorted);
}

/* cost (may be NULL) stands in the overall row. */
static void
report(pm_rows_out *out, const outcome *o, const costs *cost)
{
	const pm_rows *r = o->rows;

	report_group(out, o, "overall", NULL, NULL, cost);
	report_grouping(out, o, "gpu", r->gpu);
	report_grouping(out, o, "dtype", r->dtype);
	report_grouping(out, o, "layout", r->layout);
	report_grouping(out, o, "framework", r->framework);
	report_grouping(out, o, "family", r->family);
}

static void
report_folds(pm_rows_out *out, const outcome *o)
{
	const char **words = palloc(sizeof(char *) * o->rows->set.n);

	for (int i = 0; i < o->rows->set.n; i++)
		words[i] = psprintf("%d", o->fold[i] + 1);
	report_grouping(out, o, "fold", words);
}

static outcome
make_outcome(const pm_rows *rows)
{
	outcome		o;

	if (rows->set.n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there are no measurements to compare with"),
				 errhint("Measured training steps belong into perfmodel.profile.")));
	o.rows = rows;
	o.predicted = palloc0(sizeof(double) * rows->set.n);
	o.low = palloc0(sizeof(double) * rows->set.n);
	o.high = palloc0(sizeof(double) * rows->set.n);
	o.domain = palloc0(rows->set.n);
	o.fold = palloc0(sizeof(int) * rows->set.n);
	return o;
}

static void
judge_row(const outcome *o, int i, const pm_predictor *p, pm_arena *scratch)
{
	pm_verdict	v;
	pm_status	st = {PM_OK};

	if (pm_predictor_judge(p, &o->rows->set.samples[i], o->predicted[i], PM_LEVEL_USUAL, scratch, &v, &st) != PM_OK)
		pm_raise(&st);
	o->low[i] = v.low_ms;
	o->high[i] = v.high_ms;
	o->domain[i] = v.in_domain;
}

/* Predict and judge the rows of one fold; the time that predictions take is added to cost. */
static void
predict_fold(const outcome *o, int fold, const pm_predictor *p, costs *cost)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel predict", ALLOCSET_DEFAULT_SIZES);
	pm_status	st = {PM_OK};
	pm_arena	scratch;

	for (int i = 0; i < o->rows->set.n; i++)
	{
		double		started;

		if (o->fold[i] != fold)
			continue;
		CHECK_FOR_INTERRUPTS();
		pm_context_arena(&scratch, work, 0);
		started = pm_now();
		if (pm_predictor_predict(p, &o->rows->set.samples[i], &scratch, &o->predicted[i], NULL, NULL, &st) != PM_OK)
			pm_raise(&st);
		cost->predict_s += pm_now() - started;
		cost->n_predicted++;
		judge_row(o, i, p, &scratch);
		MemoryContextReset(work);
	}
	MemoryContextDelete(work);
}

/* ---------- evaluate ---------- */

static void
check_quantity(const pm_predictor *p, const pm_quantity *wanted)
{
	if (pm_predictor_quantity(p) != wanted)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the predictor predicts \"%s\", not \"%s\"", pm_predictor_quantity(p)->name, wanted->name)));
}

Datum
pm_evaluate(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_predictor_ref ref;
	const pm_rows *rows;
	const pm_quantity *quantity;
	ArrayType  *profiles;
	bool		none;
	outcome		o;
	costs		unused = {0};

	pm_require_catalog();
	pm_rows_begin(fcinfo, &out);
	pm_freshen();
	quantity = pm_quantity_arg(fcinfo, 2);
	pm_predictor_get(PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0)), &ref);
	check_quantity(ref.predictor, quantity);
	profiles = pm_profiles_arg(fcinfo, 1, &none);
	if (none)
		return (Datum) 0;
	rows = pm_rows_load(profiles, pm_predictor_merges(ref.predictor->kind, &ref.predictor->options), 0);
	o = make_outcome(rows);
	predict_fold(&o, 0, ref.predictor, &unused);
	report(&out, &o, NULL);
	return (Datum) 0;
}

/* ---------- cross_validate ---------- */

typedef struct cv
{
	const pm_kind *kind;
	pm_options	options;
	outcome		o;
	int			split;
	int			n_folds;
	int			running;		/* the fold that is */
	int			threads;
	costs		cost;
} cv;

static pm_dataset
training_part(const cv *c, int fold)
{
	const pm_dataset *all = &c->o.rows->set;
	pm_dataset	part = {.samples = palloc(sizeof(pm_sample) * all->n), .n_operators = all->n_operators,
		.operators = all->operators};

	for (int i = 0; i < all->n; i++)
		if (c->o.fold[i] != fold)
			part.samples[part.n++] = all->samples[i];
	return part;
}

/* Train without the fold, predict it; everything taken is given back. */
static void
run_fold(cv *c, int fold)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel train", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	pm_dataset	part = training_part(c, fold);
	pm_predictor p = {.kind = c->kind,.options = c->options};
	pm_fit_report rep = {0};
	pm_status	st = {PM_OK};
	pm_run_hooks hooks;
	pm_arena	arena;
	pm_code		code;
	double		started = pm_now();

	pm_check_memory(c->kind, &c->options, &part, c->o.rows, c->threads);
	pm_context_arena(&arena, work, (size_t) (pm_memory_limit() - pm_rows_bytes(c->o.rows)));
	pm_hooks_init(&hooks, psprintf("%s by %s, fold %d of %d", c->kind->name, pm_split_name[c->split], fold + 1, c->n_folds));
	hooks.more = c->n_folds - fold - 1;
	code = pm_predictor_fit(&p, &part, pm_option_seed(c->kind, &c->options), c->threads, &hooks.hooks,
							&arena, &rep, &st);
	pm_hooks_finish(&hooks, code, &st);
	c->cost.train_s += pm_now() - started;
	c->cost.n_trained++;
	predict_fold(&c->o, fold, &p, &c->cost);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}

static int
split_arg(const char *name)
{
	int			split = pm_split_parse(name);

	if (split < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown split \"%s\"", pm_shown_name(name)),
				 errhint("Known are %s.", pm_quoted_list(pm_split_name, PM_N_SPLITS))));
	return split;
}

static void
assign_folds(cv *c, int folds)
{
	pm_status	st = {PM_OK};
	pm_arena	arena;

	pm_context_arena(&arena, CurrentMemoryContext, 0);
	if (pm_split_assign(c->split, folds, pm_option_seed(c->kind, &c->options), &c->o.rows->set, &arena,
						c->o.fold, &c->n_folds, &st) != PM_OK)
		pm_raise(&st);
	pm_arena_release(&arena);
}

/* What has too few rows, or diverges, is one training of several, and leaves out a part of the rows. */
static void
say_fold(void *arg)
{
	const cv   *c = arg;

	errcontext("cross-validation of \"%s\" by %s, fold %d of %d, which trains on the other rows", c->kind->name, pm_split_name[c->split],
			   c->running + 1, c->n_folds);
}

static void
run_folds(cv *c)
{
	ErrorContextCallback frame = {.previous = error_context_stack,.callback = say_fold,.arg = c};

	error_context_stack = &frame;
	for (c->running = 0; c->running < c->n_folds; c->running++)
		run_fold(c, c->running);
	error_context_stack = frame.previous;
}

Datum
pm_cross_validate(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	cv			c = {0};
	ArrayType  *profiles;
	pm_rows    *rows;

	pm_require_catalog();
	pm_rows_begin(fcinfo, &out);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("kind, folds and split must not be null")));
	if (PG_GETARG_INT32(2) < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("folds must be at least 2, not %d", PG_GETARG_INT32(2))));
	c.kind = pm_kind_or_error(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	c.split = split_arg(text_to_cstring(PG_GETARG_TEXT_PP(3)));
	pm_options_from_jsonb(c.kind, PG_ARGISNULL(4) ? NULL : PG_GETARG_JSONB_P(4), &c.options);
	c.threads = pm_threads_allowed();
	(void) pm_quantity_arg(fcinfo, 5);
	profiles = pm_some_profiles_arg(fcinfo, 1);
	pm_freshen();
	rows = pm_rows_load(profiles, pm_predictor_merges(c.kind, &c.options), (Size) pm_memory_limit());
	pm_rows_add_operators(rows, c.kind, &c.options);
	c.o = make_outcome(rows);
	assign_folds(&c, PG_GETARG_INT32(2));
	run_folds(&c);
	report(&out, &c.o, &c.cost);
	report_folds(&out, &c.o);
	return (Datum) 0;
}
