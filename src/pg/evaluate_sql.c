/*
 * evaluate_sql.c - evaluate() and cross_validate(): measurements are
 * predicted, by a stored predictor or fold by fold, and outcome.c reports.
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
#include "memory_judging.h"
#include "op_measurements.h"
#include "outcome.h"
#include "plans.h"
#include "results.h"
#include "run_hooks.h"
#include "settings.h"
#include "training.h"
#include "features/split.h"

PG_FUNCTION_INFO_V1(pm_evaluate);
PG_FUNCTION_INFO_V1(pm_cross_validate);

/* ---------- predictions ---------- */

static void
judge_row(const pm_outcome *o, int i, const pm_predictor *p, pm_arena *scratch)
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
predict_fold(const pm_outcome *o, int fold, const pm_predictor *p, pm_costs *cost)
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

/* The word of each row: whether the predictor learned from it, here or where it was trained. */
static const char **
training_words(int64 predictor_id, const pm_rows *rows)
{
	static pm_plan query = {
		"SELECT l.id FROM perfmodel.learned_profiles($1, true) AS l(id) ORDER BY 1", 1, {INT8OID}
	};
	const char **words = palloc(sizeof(char *) * rows->set.n);
	Datum		arg = Int64GetDatum(predictor_id);
	uint64		learned;
	uint64		at = 0;

	SPI_connect();
	learned = pm_run(&query, &arg, NULL, true);
	/* both are sorted */
	for (int i = 0; i < rows->set.n; i++)
	{
		while (at < learned && DatumGetInt64(pm_value(at, 1, INT8OID, NULL)) < rows->ids[i])
			at++;
		words[i] = at < learned && DatumGetInt64(pm_value(at, 1, INT8OID, NULL)) == rows->ids[i] ? "learned from" : "not learned from";
	}
	SPI_finish();
	return words;
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
	pm_outcome		o;
	pm_costs		unused = {0};

	pm_require_catalog();
	pm_rows_begin(fcinfo, &out);
	pm_freshen();
	quantity = pm_quantity_arg(fcinfo, 2);
	if (quantity->id == PM_PEAK_MEMORY_MB)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no stored predictor predicts \"%s\"", quantity->name),
				 errdetail("What is learned of memory is in perfmodel.memory_factor."),
				 errhint("perfmodel.cross_validate('memory', quantity => '%s') judges it; perfmodel.calibrate_memory() learns it.", quantity->name)));
	pm_predictor_get(PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0)), &ref);
	check_quantity(ref.predictor, quantity);
	profiles = pm_profiles_arg(fcinfo, 1, &none);
	if (none)
		return (Datum) 0;
	rows = pm_rows_load(profiles, PM_ROWS_ANY_MODE, pm_predictor_merges(ref.predictor->kind, &ref.predictor->options), 0);
	o = pm_make_outcome(rows, quantity);
	predict_fold(&o, 0, ref.predictor, &unused);
	pm_report_errors(&out, &o, NULL);
	pm_report_grouping(&out, &o, "training", training_words(ref.id, rows));
	return (Datum) 0;
}

/* ---------- cross_validate ---------- */

typedef struct cv
{
	const pm_kind *kind;
	pm_options	options;
	pm_outcome		o;
	int			split;
	int			n_folds;
	int			n_passes;		/* that are learned from */
	int		   *pass_fold;		/* [n_passes] in whose training each is not; -1: in none */
	int			running;		/* the fold that is */
	int			threads;
	pm_costs		cost;
} cv;

static pm_dataset
training_part(const cv *c, int fold)
{
	const pm_dataset *all = &c->o.rows->set;
	pm_dataset	part = {.samples = palloc(sizeof(pm_sample) * all->n), .passes = palloc(sizeof(pm_sample) * Max(c->n_passes, 1)),
		.n_operators = all->n_operators, .operators = all->operators};

	for (int i = 0; i < all->n; i++)
		if (c->o.fold[i] != fold)
			part.samples[part.n++] = all->samples[i];
	for (int i = 0; i < c->n_passes; i++)
		if (c->pass_fold[i] != fold)
			part.passes[part.n_passes++] = all->passes[i];
	return part;
}

/* Kinds that do not learn steps from passes do without them. */
static void
assign_passes(cv *c)
{
	const pm_dataset *d = &c->o.rows->set;

	if (!pm_kind_learns_passes(c->kind, &c->options))
		return;
	c->n_passes = d->n_passes;
	c->pass_fold = palloc(sizeof(int) * Max(d->n_passes, 1));
	for (int i = 0; i < d->n_passes; i++)
	{
		CHECK_FOR_INTERRUPTS();
		c->pass_fold[i] = pm_split_fold_of_pass(c->split, d, c->o.fold, &d->passes[i]);
	}
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
		pm_unknown_word("split", name, pm_split_name, PM_N_SPLITS);
	return split;
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

/* Its arguments have been looked at for nulls. */
static void
cross_validate_memory(FunctionCallInfo fcinfo, const pm_quantity *quantity, pm_rows_out *out)
{
	const pm_memory_kind *kind = pm_memory_kind_or_error(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	int			split = split_arg(text_to_cstring(PG_GETARG_TEXT_PP(3)));
	uint64		seed = pm_memory_kind_seed(kind, PG_ARGISNULL(4) ? NULL : PG_GETARG_JSONB_P(4));
	ArrayType  *profiles = pm_some_profiles_arg(fcinfo, 1);
	pm_rows    *rows;
	pm_outcome	o;
	pm_costs	cost = {0};

	pm_freshen();
	rows = pm_rows_load(profiles, PM_ROWS_STEPS, false, (Size) pm_memory_limit());
	pm_rows_keep_peaks(rows);
	o = pm_make_outcome(rows, quantity);
	pm_memory_cross_validate(kind, &o, pm_assign_folds(&o, split, PG_GETARG_INT32(2), seed), &cost);
	pm_report_errors(out, &o, &cost);
	pm_report_folds(out, &o);
}

Datum
pm_cross_validate(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	cv			c = {0};
	const pm_quantity *quantity;
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
	quantity = pm_quantity_arg(fcinfo, 5);
	if (quantity->id == PM_PEAK_MEMORY_MB)
	{
		cross_validate_memory(fcinfo, quantity, &out);
		return (Datum) 0;
	}
	c.kind = pm_kind_or_error(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	c.split = split_arg(text_to_cstring(PG_GETARG_TEXT_PP(3)));
	pm_options_from_jsonb(c.kind, PG_ARGISNULL(4) ? NULL : PG_GETARG_JSONB_P(4), &c.options);
	c.threads = pm_threads_allowed();
	profiles = pm_some_profiles_arg(fcinfo, 1);
	pm_freshen();
	rows = pm_rows_load(profiles, PM_ROWS_PASSES_APART, pm_predictor_merges(c.kind, &c.options), (Size) pm_memory_limit());
	pm_rows_add_operators(rows, c.kind, &c.options);
	c.o = pm_make_outcome(rows, quantity);
	c.n_folds = pm_assign_folds(&c.o, c.split, PG_GETARG_INT32(2), pm_option_seed(c.kind, &c.options));
	assign_passes(&c);
	run_folds(&c);
	pm_report_errors(&out, &c.o, &c.cost);
	pm_report_folds(&out, &c.o);
	return (Datum) 0;
}
