/*
 * predictor.c - training with cross predictions, prediction, and the stored
 * form.
 *
 * Stored form, little-endian: magic "PMPR", format version, kind, quantity, the
 * schema (lists of names and versions of rules), options as name and value,
 * what the kind knows, what trust.c knows, a correction of recalibrate.c or
 * none, and a CRC-32C of all that.  A value of an option is a number, or the
 * text of a choice.  Format 1, of perfmodel 0.1.0, has neither quantity nor
 * schema, and choices by their numbers.
 */
#include "nn/blas.h"
#include "predictor/predictor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/metrics.h"
#include "predictor/recalibrate.h"

#define FORMAT_MAGIC UINT32_C(0x52504d50)	/* "PMPR" */
#define FORMAT_VERSION 2

/* ---- fit and predict ---- */

static pm_code
check_sample(const pm_sample *s, const char *what, pm_status *st)
{
	const char *framework = s->query.framework;

	if (!(s->step_ms > 0) || !isfinite(s->step_ms))
		return pm_fail(st, PM_ERR_DATA, "%s %lld has a time that is not positive and finite", what, (long long) s->id);
	if (strlen(s->query.gpu->name) > PM_MAX_NAME_LEN || (framework != NULL && strlen(framework) > PM_MAX_NAME_LEN))
		return pm_fail(st, PM_ERR_DATA, "%s %lld has a gpu or framework whose name is longer than %d bytes", what,
					   (long long) s->id, PM_MAX_NAME_LEN);
	return PM_OK;
}

pm_code
pm_check_profiles(const pm_dataset *d, pm_status *st)
{
	pm_code		rc = PM_OK;

	for (int i = 0; i < d->n && rc == PM_OK; i++)
		rc = check_sample(&d->samples[i], "profile", st);
	for (int i = 0; i < d->n_operators && rc == PM_OK; i++)
		rc = check_sample(&d->operators[i], "operator profile", st);
	return rc;
}

static pm_code
check_samples(const pm_kind *kind, const pm_dataset *d, pm_status *st)
{
	if (d->n < kind->min_samples)
	{
		pm_fail(st, PM_ERR_DATA, "kind \"%s\" needs at least %d profiles to learn from, and there are %d",
				kind->name, kind->min_samples, d->n);
		pm_hint(st, "Add rows to perfmodel.profile, or use kind \"roofline\".");
		return PM_ERR_DATA;
	}
	return pm_check_profiles(d, st);
}

static pm_code
stop_if_asked(const pm_hooks *hooks, pm_status *st)
{
	return hooks != NULL && hooks->stop != NULL && hooks->stop(hooks->ctx) ?
		pm_fail(st, PM_CANCELLED, "training was cancelled") : PM_OK;
}

/* Mean absolute percentage error on the rows of d, for kinds that do not report it themselves. */
static pm_code
training_error(const pm_predictor *p, const pm_dataset *d, const pm_hooks *hooks, const pm_arena *a, double *mape,
			   pm_status *st)
{
	double		sum = 0;
	pm_code		rc = PM_OK;

	for (int i = 0; i < d->n && rc == PM_OK; i++)
	{
		pm_arena	scratch;
		double		ms;

		if ((rc = stop_if_asked(hooks, st)) != PM_OK)
			return rc;
		pm_arena_init_within(&scratch, a);
		rc = pm_predictor_predict(p, &d->samples[i], &scratch, &ms, NULL, NULL, st);
		if (rc == PM_OK)
			sum += fabs(ms - d->samples[i].step_ms) / d->samples[i].step_ms;
		pm_arena_release(&scratch);
	}
	*mape = sum / d->n;
	return rc;
}

/* ---- cross predictions ---- */

/* Hooks of one of several trainings, which tells where among them it stands. */
typedef struct staged
{
	pm_hooks	hooks;			/* what the training gets; ctx is this struct */
	const pm_hooks *outer;
	int			fold;			/* as in pm_progress */
	int			folds;
} staged;

static bool
staged_stop(void *ctx)
{
	const pm_hooks *outer = ((staged *) ctx)->outer;

	return outer->stop != NULL && outer->stop(outer->ctx);
}

static void
staged_progress(void *ctx, const pm_progress *p)
{
	const staged *s = ctx;
	pm_progress whole = *p;
	int			later = s->fold > 0 ? s->folds - s->fold + 1 : 0;	/* trainings after this one */

	if (s->outer->progress == NULL)
		return;
	whole.fold = s->fold;
	whole.folds = s->folds;
	whole.left_s += later * (p->elapsed_s + p->left_s);
	s->outer->progress(s->outer->ctx, &whole);
}

/* NULL when there are no hooks. */
static const pm_hooks *
stage(staged *s, const pm_hooks *outer, int fold, int folds)
{
	*s = (staged) {.hooks = {.stop = staged_stop, .progress = staged_progress, .ctx = s}, .outer = outer, .fold = fold,
		.folds = folds};
	return outer != NULL ? &s->hooks : NULL;
}

/* The rows outside a fold. */
static pm_code
without_fold(const pm_dataset *d, const int *fold_of, int fold, int least, pm_arena *a, pm_dataset *part, pm_status *st)
{
	*part = (pm_dataset) {.samples = PM_NEW(a, pm_sample, d->n), .n_operators = d->n_operators, .operators = d->operators};
	if (!part->samples)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
		if (fold_of[i] != fold)
			part->samples[part->n++] = d->samples[i];
	return part->n < least ? pm_fail(st, PM_ERR_DATA, "too few profiles to calibrate on") : PM_OK;
}

/* A question that a predictor does not answer has NaN in place of a time; only want of memory ends the training. */
static pm_code
predict_or_nan(const pm_predictor *p, const pm_sample *s, const pm_arena *a, double *ms, pm_status *st)
{
	pm_arena	scratch;
	pm_code		rc;

	pm_arena_init_within(&scratch, a);
	rc = pm_predictor_predict(p, s, &scratch, ms, NULL, NULL, st);
	pm_arena_release(&scratch);
	if (rc == PM_ERR_MEMORY)
		return rc;
	if (rc != PM_OK)
		*ms = NAN;
	return PM_OK;
}

/* Train without the structures of a fold and predict them; NaN where that fails. */
static pm_code
cross_fold(const pm_predictor *p, const pm_dataset *d, const int *fold_of, int fold, uint64_t seed, int threads,
		   const pm_hooks *hooks, pm_arena *a, double *cross_ms, pm_status *st)
{
	pm_predictor q = {.kind = p->kind, .options = p->options, .quantity = p->quantity, .schema = p->schema};
	pm_dataset	part;
	pm_fit_report report = {0};
	pm_code		rc;

	if ((rc = without_fold(d, fold_of, fold, p->kind->min_samples, a, &part, st)) != PM_OK ||
		(rc = p->kind->fit(&q, &part, seed, threads, hooks, a, &report, st)) != PM_OK)
		return rc;
	for (int i = 0; i < d->n; i++)
		if (fold_of[i] == fold &&
			((rc = stop_if_asked(hooks, st)) != PM_OK ||
			 (rc = predict_or_nan(&q, &d->samples[i], a, &cross_ms[i], st)) != PM_OK))
			return rc;
	return PM_OK;
}

static pm_code
cross_folds(const pm_predictor *p, const pm_dataset *d, int folds, uint64_t seed, int threads,
			const pm_hooks *hooks, pm_arena *a, double *cross_ms, pm_status *st)
{
	int		   *fold_of = PM_NEW(a, int, d->n);
	pm_code		rc;

	if (!fold_of)
		return pm_no_memory(st, a);
	rc = pm_split_assign(PM_SPLIT_STRUCTURE, folds, seed, d, a, fold_of, &folds, st);
	for (int fold = 0; fold < folds && rc == PM_OK; fold++)
	{
		pm_arena	work;
		staged		s;

		pm_arena_init_within(&work, a);
		rc = cross_fold(p, d, fold_of, fold, seed, threads, stage(&s, hooks, fold + 1, folds), &work, cross_ms, st);
		pm_arena_release(&work);
	}
	return rc;
}

/*
 * *cross_ms stays NULL for a kind without the option, and where there are too
 * few structures or rows: that costs the intervals, not the training.
 */
static pm_code
cross_predict(const pm_predictor *p, const pm_dataset *d, int folds, uint64_t seed, int threads, const pm_hooks *hooks,
			  pm_arena *a, double **cross_ms, pm_status *st)
{
	double	   *ms;
	pm_code		rc;

	*cross_ms = NULL;
	if (folds < 2)
		return PM_OK;
	if ((ms = PM_NEW(a, double, d->n)) == NULL)
		return pm_no_memory(st, a);
	rc = cross_folds(p, d, folds, seed, threads, hooks, a, ms, st);
	if (rc == PM_OK)
		*cross_ms = ms;
	return rc == PM_ERR_DATA || rc == PM_ERR_DIVERGED ? PM_OK : rc;
}

/* Errors of the cross predictions. */
static pm_code
cross_errors(const pm_dataset *d, const double *cross_ms, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	double	   *measured = PM_NEW(a, double, d->n);
	double	   *predicted = PM_NEW(a, double, d->n);
	double	   *scratch = PM_NEW(a, double, d->n);
	pm_metrics	m;
	int			n = 0;

	if (!measured || !predicted || !scratch)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
		if (isfinite(cross_ms[i]))
		{
			measured[n] = d->samples[i].step_ms;
			predicted[n++] = cross_ms[i];
		}
	if (n == 0)
		return PM_OK;
	pm_metrics_compute(measured, predicted, n, scratch, &m);
	report->valid_mape = m.mape;
	report->valid_mae_ms = m.mae_ms;
	report->valid_rmse_ms = m.rmse_ms;
	report->valid_n = n;
	return PM_OK;
}

/* Predictions of the start for rows of structures that it has not seen; NaN for the others. */
static pm_code
predict_by_start(const pm_start *start, const pm_dataset *d, const pm_hooks *hooks, pm_arena *a, double *ms, pm_status *st)
{
	pm_code		rc = PM_OK;

	for (int i = 0; i < d->n && rc == PM_OK; i++)
	{
		ms[i] = NAN;
		if ((rc = stop_if_asked(hooks, st)) == PM_OK && !(start->seen != NULL && start->seen[i]))
			rc = predict_or_nan(start->predictor, &d->samples[i], a, &ms[i], st);
	}
	return rc;
}

static pm_code
trust_after_start(pm_predictor *p, const pm_dataset *d, const pm_hooks *hooks, pm_arena *a, pm_status *st)
{
	double	   *ms = PM_NEW(a, double, d->n);
	pm_code		rc;

	if (!ms)
		return pm_no_memory(st, a);
	rc = predict_by_start(p->start, d, hooks, a, ms, st);
	if (rc == PM_OK)
		rc = pm_trust_update(p->start->predictor->trust, d, ms, NULL, true, hooks, a, &p->trust, st);
	return rc;
}

/* What is the same for all kinds once the kind is fitted. */
static pm_code
complete_fit(pm_predictor *p, const pm_dataset *d, const pm_hooks *hooks, pm_arena *a,
			 pm_fit_report *report, pm_status *st)
{
	pm_code		rc = PM_OK;

	if (isnan(report->train_mape))
		rc = training_error(p, d, hooks, a, &report->train_mape, st);
	if (rc == PM_OK && report->valid_n == 0 && report->cross_ms != NULL)
		rc = cross_errors(d, report->cross_ms, a, report, st);
	if (rc == PM_OK)
		rc = p->start != NULL ? trust_after_start(p, d, hooks, a, st) :
			pm_trust_fit(d, report->cross_ms, hooks, a, &p->trust, st);
	p->start = NULL;
	return rc;
}

pm_code
pm_predictor_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
				 const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	double		started = pm_now();
	double		folds = pm_option_value(p->kind, &p->options, "calibration_folds");
	double	   *cross_ms;
	staged		s;
	pm_code		rc = check_samples(p->kind, d, st);

	memset(report, 0, sizeof(*report));
	report->valid_mape = report->valid_mae_ms = report->valid_rmse_ms = report->train_mape = NAN;
	threads = threads < 1 ? 1 : threads;
	folds = folds >= 2 && p->start == NULL ? folds : 0;
	/* it goes on with the lists that its weights are for */
	if (p->start != NULL)
		p->schema = p->start->predictor->schema;
	if (rc == PM_OK && p->start != NULL)
		rc = p->kind->check_start(&p->options, p->start->predictor, st);
	/* before the fit itself, so that what the folds take is free again */
	if (rc != PM_OK || (rc = pm_blas_reserve(1, st)) != PM_OK ||
		(rc = cross_predict(p, d, (int) folds, seed, threads, hooks, a, &cross_ms, st)) != PM_OK ||
		(rc = p->kind->fit(p, d, seed, threads, stage(&s, hooks, 0, (int) folds), a, report, st)) != PM_OK)
		return rc;
	report->cross_ms = cross_ms;
	rc = complete_fit(p, d, hooks, a, report, st);
	report->seconds = pm_now() - started;
	return rc;
}

/* Parts keep their shares. */
static void
correct(const pm_correction *c, const pm_sample *s, double *step_ms, pm_part *parts, int n_parts)
{
	double		ms = pm_correction_apply(c, &s->query, *step_ms);
	double		factor = ms / *step_ms;

	for (int i = 0; i < n_parts; i++)
	{
		parts[i].step_ms *= factor;
		parts[i].forward_ms *= factor;
		parts[i].backward_ms *= factor;
		parts[i].update_ms *= factor;
	}
	*step_ms = ms;
}

/* What the kind says is checked, and corrected where the predictor was recalibrated. */
static pm_code
finish_step(const pm_predictor *p, const pm_sample *s, double *step_ms, pm_part *parts, int n_parts, pm_status *st)
{
	if (!(isfinite(*step_ms) && *step_ms > 0))
		return pm_fail(st, PM_ERR_INTERNAL, "prediction is not a positive finite number");
	if (p->correction != NULL)
		correct(p->correction, s, step_ms, parts, n_parts);
	return PM_OK;
}

pm_code
pm_predictor_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
					 double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	pm_code		rc = p->kind->predict(p, s, scratch, step_ms, parts, n_parts, st);

	return rc == PM_OK ? finish_step(p, s, step_ms, parts, parts != NULL ? *n_parts : 0, st) : rc;
}

pm_code
pm_predictor_prepare(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch,
					 pm_prepared *x, pm_status *st)
{
	pm_tokens	features;
	pm_code		rc;

	memset(x, 0, sizeof(*x));
	if ((rc = pm_tokens_build_work(s->skeleton, &s->query, a, &x->work, st)) != PM_OK ||
		(rc = pm_trust_prepare(p->trust, s, a, scratch, &x->novelty, st)) != PM_OK)
		return rc;
	x->batch = s->query.batch;
	if (p->kind->prepare == NULL)
		return PM_OK;
	rc = pm_tokens_build(s->skeleton, &s->query, scratch, &features, st);
	return rc == PM_OK ? p->kind->prepare(p, s, &features, a, scratch, &x->state, st) : rc;
}

/* Let the work of x be that of the batch of s. */
static pm_code
set_batch(pm_prepared *x, const pm_sample *s, pm_status *st)
{
	pm_code		rc;

	if (x->batch > 0 && x->batch == s->query.batch)
		return PM_OK;
	x->batch = 0;
	rc = pm_tokens_rework(&x->work, &s->query, st);
	if (rc == PM_OK)
		x->batch = s->query.batch;
	return rc;
}

pm_code
pm_predictor_predict_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, pm_arena *scratch,
							  double *step_ms, pm_status *st)
{
	pm_code		rc;

	if (x->state == NULL)
		return pm_predictor_predict(p, s, scratch, step_ms, NULL, NULL, st);
	if ((rc = set_batch(x, s, st)) != PM_OK)
		return rc;
	*step_ms = p->kind->predict_prepared(p, x->state, &x->work);
	return finish_step(p, s, step_ms, NULL, 0, st);
}

pm_code
pm_predictor_judge_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, double step_ms,
							double level, pm_verdict *v, pm_status *st)
{
	pm_code		rc = set_batch(x, s, st);

	return rc == PM_OK ? pm_trust_judge_work(p->trust, s, x->novelty, &x->work, step_ms, level, v, st) : rc;
}

pm_code
pm_predictor_judge(const pm_predictor *p, const pm_sample *s, double step_ms, double level,
				   pm_arena *scratch, pm_verdict *v, pm_status *st)
{
	return pm_trust_judge(p->trust, s, step_ms, level, scratch, v, st);
}

/* ---- the stored form ---- */

static void
save_options(const pm_predictor *p, pm_buffer *b)
{
	pm_put_u32(b, (uint32_t) p->kind->n_options);
	for (int i = 0; i < p->kind->n_options; i++)
	{
		const pm_option *def = &p->kind->options[i];
		bool		is_choice = def->type == PM_OPT_CHOICE;
		char		text[64];

		pm_put_text(b, def->name);
		pm_put_u32(b, is_choice);
		pm_option_print(def, p->options.value[i], text, sizeof(text));
		if (is_choice)
			pm_put_text(b, text);
		else
			pm_put_f64(b, p->options.value[i]);
	}
}

pm_code
pm_predictor_save(const pm_predictor *p, pm_arena *a, uint8_t **data, size_t *len, pm_status *st)
{
	pm_buffer	b = {.arena = a};
	pm_code		rc;

	pm_put_u32(&b, FORMAT_MAGIC);
	pm_put_u32(&b, FORMAT_VERSION);
	pm_put_text(&b, p->kind->name);
	pm_put_text(&b, pm_predictor_quantity(p)->name);
	pm_schema_save(pm_predictor_schema(p), &b);
	save_options(p, &b);
	if ((rc = p->kind->save(p, &b, st)) != PM_OK)
		return rc;
	pm_trust_save(p->trust, &b);
	pm_put_u32(&b, p->correction != NULL);
	if (p->correction != NULL)
		pm_correction_save(p->correction, &b);
	pm_put_u32(&b, pm_crc32c(b.data, b.len));
	if (b.failed)
		return pm_no_memory(st, a);
	*data = b.data;
	*len = b.len;
	return PM_OK;
}

/* The choices of 0.1.0, which format 1 has by their numbers. */
static const struct
{
	const char *kind;
	const char *option;
	const char *choices;
}			choices_1[] = {
	{"mdot", "head", "additive|pooled"},
	{"mdot", "loss", "log_huber|mape|mse_raw|mae_raw|log_cauchy"},
	{"opclass", "loss", "absolute|squared"},
};

/* The text of a choice that is stored by its number; false: there is none. */
static bool
choice_of_1(const pm_kind *kind, const pm_option *def, double number, char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(choices_1) / sizeof(choices_1[0]); i++)
	{
		pm_option	then = {.type = PM_OPT_CHOICE, .choices = choices_1[i].choices};

		if (strcmp(choices_1[i].kind, kind->name) != 0 || strcmp(choices_1[i].option, def->name) != 0)
			continue;
		for (const char *c = then.choices; (c = strchr(c, '|')) != NULL; c++)
			then.max++;
		if (!pm_option_allows(&then, number))
			return false;
		pm_option_print(&then, number, text, size);
		return true;
	}
	return false;
}

static pm_code
load_choice(const pm_kind *kind, const pm_option *def, pm_reader *r, pm_arena *a, double *value, pm_status *st)
{
	char		buf[64] = "";
	const char *text = buf;

	if (r->format != 1)
		text = pm_get_text(r, a);
	else if (!choice_of_1(kind, def, pm_get_f64(r), buf, sizeof(buf)))
		r->failed = true;
	if (r->failed || text == NULL)
		return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged options") : pm_no_memory(st, a);
	*value = pm_choice_find(def->choices, text);
	return *value >= 0 ? PM_OK :
		pm_outdated(st, "stored predictor has \"%.*s\" for the option \"%s\", which this library does not know", pm_shown(text), text,
					def->name);
}

static pm_code
load_option(const pm_kind *kind, const pm_option *def, pm_reader *r, pm_arena *a, double *value, pm_status *st)
{
	bool		is_choice = r->format == 1 ? def->type == PM_OPT_CHOICE : pm_get_u32(r, 1);

	if (is_choice && def->type == PM_OPT_CHOICE)
		return load_choice(kind, def, r, a, value, st);
	*value = pm_get_f64(r);
	if (r->failed || is_choice != (def->type == PM_OPT_CHOICE) || !pm_option_allows(def, *value))
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged options");
	return PM_OK;
}

/* Options that the kind has gained since are as they are when nobody sets them. */
static pm_code
load_options(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	uint32_t	n = pm_get_u32(r, PM_MAX_OPTIONS);
	pm_code		rc = pm_options_set(p->kind, NULL, 0, &p->options, st);

	if (rc != PM_OK)
		return rc;
	for (uint32_t i = 0; i < n; i++)
	{
		const char *name = pm_get_text(r, a);
		int			at;

		if (name == NULL)
			return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged options") : pm_no_memory(st, a);
		if ((at = pm_option_find(p->kind, name)) < 0)
			return pm_outdated(st, "stored predictor has the option \"%.*s\", which kind \"%s\" of this library does not have",
							   pm_shown(name), name, p->kind->name);
		rc = load_option(p->kind, &p->kind->options[at], r, a, &p->options.value[at], st);
		if (rc != PM_OK)
			return rc;
	}
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged options") : PM_OK;
}

/* Magic, version and checksum. */
static pm_code
load_frame(pm_reader *r, pm_status *st)
{
	uint32_t	version,
				crc;

	if (r->len < 16 || pm_get_raw_u32(r) != FORMAT_MAGIC)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor does not start with its magic number");
	version = pm_get_raw_u32(r);
	if (version < 1 || version > FORMAT_VERSION)
	{
		pm_fail(st, PM_ERR_OUTDATED, "stored predictor has format version %u, and this library reads versions 1 to %d",
				(unsigned) version, FORMAT_VERSION);
		pm_hint(st, "Install the version of perfmodel that wrote it; or train() makes a new one from the same profiles.");
		return PM_ERR_OUTDATED;
	}
	r->format = (int) version;
	r->len -= 4;
	crc = (uint32_t) r->data[r->len] | (uint32_t) r->data[r->len + 1] << 8 |
		(uint32_t) r->data[r->len + 2] << 16 | (uint32_t) r->data[r->len + 3] << 24;
	if (crc != pm_crc32c(r->data, r->len))
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor is damaged: its checksum does not match");
	return PM_OK;
}

/* Kind and quantity. */
static pm_code
load_header(pm_reader *r, pm_arena *a, pm_predictor *p, pm_status *st)
{
	const char *kind = pm_get_text(r, a);
	const char *quantity = r->format == 1 ? pm_quantities[PM_STEP_MS].name : pm_get_text(r, a);

	if (kind == NULL || quantity == NULL)
		return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has a damaged header") : pm_no_memory(st, a);
	p->kind = pm_kind_find(kind);
	p->quantity = pm_quantity_find(quantity);
	if (p->kind == NULL)
		return pm_outdated(st, "stored predictor is of kind \"%.*s\", which this library does not know", pm_shown(kind), kind);
	if (p->quantity == NULL || !(p->kind->quantities & PM_LEARNS(p->quantity->id)))
		return pm_outdated(st, "stored predictor predicts \"%.*s\", which kind \"%s\" of this library does not",
						   pm_shown(quantity), quantity, p->kind->name);
	return PM_OK;
}

pm_code
pm_predictor_load(const uint8_t *data, size_t len, pm_arena *a, pm_predictor *p, pm_status *st)
{
	pm_reader	r = {.data = data, .len = len};
	pm_code		rc;

	memset(p, 0, sizeof(*p));
	if ((rc = pm_blas_reserve(1, st)) != PM_OK ||
		(rc = load_frame(&r, st)) != PM_OK ||
		(rc = load_header(&r, a, p, st)) != PM_OK ||
		(rc = pm_schema_load(r.format, &r, a, &p->schema, st)) != PM_OK ||
		(rc = load_options(p, &r, a, st)) != PM_OK ||
		(rc = p->kind->load(p, &r, a, st)) != PM_OK ||
		(rc = pm_trust_load(&r, a, &p->trust, st)) != PM_OK ||
		(pm_get_u32(&r, 1) != 0 && (rc = pm_correction_load(&r, a, &p->correction, st)) != PM_OK))
		return rc;
	if (r.failed || r.at != r.len)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has the wrong length");
	return PM_OK;
}
