/*
 * outcome.c - errors of predictions as rows: overall, for each group of
 * measurements, and for each fold.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"

#include "context_arena.h"
#include "errors.h"
#include "outcome.h"
#include "base/metrics.h"
#include "features/split.h"

#define N_COLUMNS	19			/* of cross_validate(); evaluate() returns the first 15 */
#define MAE_MS	6				/* columns of errors in the unit of what is measured: NULL in the other unit */
#define MAE_MB	17

/* Seven digits, since people read these; enough that a query which rounds once more gets the same. NaN is null. */
static Datum
seven_digits(double v, bool *isnull)
{
	char		written[32];

	if (!isfinite(v))
		return pm_float8_or_null(v, isnull);
	snprintf(written, sizeof(written), "%.6e", v);
	return pm_float8_or_null(strtod(written, NULL), isnull);
}

static Datum
percent_or_null(double share, bool *isnull)
{
	return seven_digits(100 * share, isnull);
}

static void
add_metrics(pm_rows_out *out, const pm_quantity *quantity, const char *grouping, const char *name,
			const pm_metrics *m, const pm_trust_metrics *t, const pm_costs *cost)
{
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};
	bool		in_ms = quantity->id == PM_STEP_MS;

	values[0] = CStringGetTextDatum(grouping);
	values[1] = pm_text_or_null(name, &nulls[1]);
	values[2] = Int32GetDatum(m->n);
	values[3] = percent_or_null(m->mape, &nulls[3]);
	values[4] = percent_or_null(m->median_ape, &nulls[4]);
	values[5] = percent_or_null(m->p90_ape, &nulls[5]);
	values[MAE_MS] = seven_digits(in_ms ? m->mae : NAN, &nulls[MAE_MS]);
	values[MAE_MS + 1] = seven_digits(in_ms ? m->rmse : NAN, &nulls[MAE_MS + 1]);
	values[8] = percent_or_null(m->within_10, &nulls[8]);
	values[9] = percent_or_null(m->bias, &nulls[9]);
	values[10] = percent_or_null(t->coverage, &nulls[10]);
	values[11] = percent_or_null(t->width, &nulls[11]);
	values[12] = percent_or_null(t->in_domain, &nulls[12]);
	values[13] = percent_or_null(t->mape_in_domain, &nulls[13]);
	values[14] = percent_or_null(t->mape_out_of_domain, &nulls[14]);
	values[15] = pm_figure_or_null(cost ? cost->train_s / cost->n_trained : NAN, &nulls[15]);
	values[16] = pm_figure_or_null(cost ? 1e6 * cost->predict_s / cost->n_predicted : NAN, &nulls[16]);
	values[MAE_MB] = seven_digits(in_ms ? NAN : m->mae, &nulls[MAE_MB]);
	values[MAE_MB + 1] = seven_digits(in_ms ? NAN : m->rmse, &nulls[MAE_MB + 1]);
	pm_rows_add(out, values, nulls);
}

/* The tested rows whose word is name (NULL: all), one after the other. */
static pm_outcome
select_rows(const pm_outcome *o, const char *const *words, const char *name, double *measured, int *n)
{
	int			all = o->rows->set.n;
	pm_outcome	part = {.predicted = palloc(sizeof(double) * all), .low = palloc(sizeof(double) * all),
		.high = palloc(sizeof(double) * all), .domain = palloc(all)};

	*n = 0;
	for (int i = 0; i < all; i++)
	{
		if (o->fold[i] < 0 || (name != NULL && strcmp(words[i], name) != 0))
			continue;
		measured[*n] = o->measured[i];
		part.predicted[*n] = o->predicted[i];
		part.low[*n] = o->low[i];
		part.high[*n] = o->high[i];
		part.domain[(*n)++] = o->domain[i];
	}
	return part;
}

/* One row of the report. */
static void
report_group(pm_rows_out *out, const pm_outcome *o, const char *grouping, const char *const *words, const char *name,
			 const pm_costs *cost)
{
	int			n;
	double	   *measured = palloc(sizeof(double) * o->rows->set.n);
	double	   *scratch = palloc(sizeof(double) * o->rows->set.n);
	pm_outcome	part = select_rows(o, words, name, measured, &n);
	pm_metrics	m;
	pm_trust_metrics t;

	if (n > 0)
	{
		pm_metrics_compute(measured, part.predicted, n, scratch, &m);
		pm_trust_metrics_compute(measured, part.predicted, part.low, part.high, part.domain, n, &t);
		add_metrics(out, o->quantity, grouping, name, &m, &t, cost);
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

void
pm_report_grouping(pm_rows_out *out, const pm_outcome *o, const char *grouping, const char *const *words)
{
	int			n = o->rows->set.n;
	const char **sorted = palloc(sizeof(char *) * n);

	memcpy(sorted, words, sizeof(char *) * n);
	qsort(sorted, n, sizeof(char *), compare_words);
	for (int i = 0; i < n; i++)
		if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
		{
			/* each goes through all rows */
			CHECK_FOR_INTERRUPTS();
			report_group(out, o, grouping, words, sorted[i], NULL);
		}
	pfree(sorted);
}

void
pm_report_errors(pm_rows_out *out, const pm_outcome *o, const pm_costs *cost)
{
	const pm_rows *r = o->rows;

	report_group(out, o, "overall", NULL, NULL, cost);
	pm_report_grouping(out, o, "gpu", r->gpu);
	pm_report_grouping(out, o, "dtype", r->dtype);
	pm_report_grouping(out, o, "layout", r->layout);
	pm_report_grouping(out, o, "framework", r->framework);
	pm_report_grouping(out, o, "family", r->family);
}

void
pm_report_folds(pm_rows_out *out, const pm_outcome *o)
{
	const char **words = palloc(sizeof(char *) * o->rows->set.n);

	for (int i = 0; i < o->rows->set.n; i++)
		words[i] = psprintf("%d", o->fold[i] + 1);
	pm_report_grouping(out, o, "fold", words);
}

pm_outcome
pm_make_outcome(const pm_rows *rows, const pm_quantity *quantity)
{
	pm_outcome	o;

	if (rows->set.n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there are no measurements to compare with"),
				 errhint("Insert measured training steps into perfmodel.profile.")));
	o.rows = rows;
	o.quantity = quantity;
	o.measured = palloc(sizeof(double) * rows->set.n);
	for (int i = 0; i < rows->set.n; i++)
		o.measured[i] = quantity->id == PM_STEP_MS ? rows->set.samples[i].step_ms : rows->peak_memory_mb[i];
	o.predicted = palloc0(sizeof(double) * rows->set.n);
	o.low = palloc0(sizeof(double) * rows->set.n);
	o.high = palloc0(sizeof(double) * rows->set.n);
	o.domain = palloc0(rows->set.n);
	o.fold = palloc0(sizeof(int) * rows->set.n);
	return o;
}

int
pm_assign_folds(pm_outcome *o, int split, int folds, uint64 seed)
{
	pm_status	st = {PM_OK};
	pm_arena	arena;
	int			n_folds;

	pm_context_arena(&arena, CurrentMemoryContext, 0);
	if (pm_split_assign(split, folds, seed, &o->rows->set, &arena, o->fold, &n_folds, &st) != PM_OK)
		pm_raise(&st);
	pm_arena_release(&arena);
	return n_folds;
}
