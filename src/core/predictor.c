/*
 * predictor.c - the list of kinds, their options, cross predictions, and the
 * stored form.
 *
 * Stored form, little-endian: magic "PMPR", format version, kind, seedable
 * options as name and value, the kind's payload, what trust.c knows, a
 * correction of recalibrate.c or none, and a CRC-32C of all that.  Options are
 * stored by name, so that a kind may gain options later.
 */
#include "predictor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"
#include "recalibrate.h"

#define FORMAT_MAGIC UINT32_C(0x52504d50)	/* "PMPR" */
#define FORMAT_VERSION 1

extern const pm_kind pm_kind_mdot;
extern const pm_kind pm_kind_roofline;
extern const pm_kind pm_kind_linear;
extern const pm_kind pm_kind_perfnet;
extern const pm_kind pm_kind_gnn;
extern const pm_kind pm_kind_ets;
extern const pm_kind pm_kind_transformer;
extern const pm_kind pm_kind_opclass;
extern const pm_kind pm_kind_seer;

static const pm_kind *const kinds[] = {&pm_kind_mdot, &pm_kind_roofline, &pm_kind_linear,
	&pm_kind_perfnet, &pm_kind_gnn, &pm_kind_ets, &pm_kind_transformer,
	&pm_kind_opclass, &pm_kind_seer};

#define N_KINDS ((int) (sizeof(kinds) / sizeof(kinds[0])))

const pm_kind *
pm_kind_at(int i)
{
	return i >= 0 && i < N_KINDS ? kinds[i] : NULL;
}

const pm_kind *
pm_kind_find(const char *name)
{
	for (int i = 0; i < N_KINDS; i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

/* ---- options ---- */

int
pm_option_find(const pm_kind *kind, const char *name)
{
	for (int i = 0; i < kind->n_options; i++)
		if (strcmp(kind->options[i].name, name) == 0)
			return i;
	return -1;
}

double
pm_option_value(const pm_kind *kind, const pm_options *o, const char *name)
{
	int			i = pm_option_find(kind, name);

	return i < 0 ? NAN : o->value[i];
}

/* Index of text in "a|b|c", or -1. */
static int
choice_index(const char *choices, const char *text)
{
	size_t		len = strlen(text);
	int			index = 0;

	for (const char *p = choices; p != NULL; index++)
	{
		const char *end = strchr(p, '|');
		size_t		n = end ? (size_t) (end - p) : strlen(p);

		if (n == len && strncmp(p, text, n) == 0)
			return index;
		p = end ? end + 1 : NULL;
	}
	return -1;
}

static void
print_choice(const char *choices, int index, char *buf, size_t size)
{
	const char *p = choices;
	const char *end;

	while (index-- > 0 && (end = strchr(p, '|')) != NULL)
		p = end + 1;
	end = strchr(p, '|');
	snprintf(buf, size, "%.*s", end ? (int) (end - p) : (int) strlen(p), p);
}

void
pm_option_print(const pm_option *def, double value, char *buf, size_t size)
{
	if (def->type == PM_OPT_BOOL)
		snprintf(buf, size, "%s", value != 0 ? "true" : "false");
	else if (def->type == PM_OPT_CHOICE)
		print_choice(def->choices, (int) value, buf, size);
	else
		snprintf(buf, size, "%.15g", value);
}

static pm_code
unknown_option(const pm_kind *kind, const char *name, pm_status *st)
{
	size_t		at;

	pm_fail(st, PM_ERR_OPTION, "unknown option \"%.*s\" for kind \"%s\"", pm_shown(name), name, kind->name);
	if (st == NULL)
		return PM_ERR_OPTION;
	at = (size_t) snprintf(st->hint, sizeof(st->hint), "Options are");
	for (int i = 0; i < kind->n_options && at < sizeof(st->hint); i++)
		at += (size_t) snprintf(st->hint + at, sizeof(st->hint) - at, "%s %s", i ? "," : "", kind->options[i].name);
	if (at < sizeof(st->hint))
		snprintf(st->hint + at, sizeof(st->hint) - at, ".");
	return PM_ERR_OPTION;
}

static pm_code
bad_value(const pm_option *def, pm_status *st)
{
	switch (def->type)
	{
		case PM_OPT_BOOL:
			return pm_fail(st, PM_ERR_OPTION, "option \"%s\" must be true or false", def->name);
		case PM_OPT_CHOICE:
			return pm_fail(st, PM_ERR_OPTION, "option \"%s\" must be one of %s", def->name, def->choices);
		case PM_OPT_INT:
			return pm_fail(st, PM_ERR_OPTION, "option \"%s\" must be a whole number between %.15g and %.15g",
						   def->name, def->min, def->max);
		default:
			return pm_fail(st, PM_ERR_OPTION, "option \"%s\" must be a number between %g and %g",
						   def->name, def->min, def->max);
	}
}

static pm_code
set_option(const pm_option *def, const pm_setting *s, double *value, pm_status *st)
{
	bool		is_number = s->text == NULL && !s->is_bool;

	switch (def->type)
	{
		case PM_OPT_BOOL:
			if (!s->is_bool)
				return bad_value(def, st);
			*value = s->number;
			return PM_OK;
		case PM_OPT_CHOICE:
			*value = s->text ? choice_index(def->choices, s->text) : -1;
			return *value < 0 ? bad_value(def, st) : PM_OK;
		default:
			if (!is_number || !(s->number >= def->min && s->number <= def->max) ||
				(def->type == PM_OPT_INT && s->number != floor(s->number)))
				return bad_value(def, st);
			*value = s->number;
			return PM_OK;
	}
}

pm_code
pm_options_set(const pm_kind *kind, const pm_setting *settings, int n, pm_options *o, pm_status *st)
{
	memset(o, 0, sizeof(*o));
	for (int i = 0; i < kind->n_options; i++)
		o->value[i] = kind->options[i].initial;
	return pm_options_change(kind, settings, n, o, st);
}

pm_code
pm_options_change(const pm_kind *kind, const pm_setting *settings, int n, pm_options *o, pm_status *st)
{
	for (int s = 0; s < n; s++)
	{
		int			i = pm_option_find(kind, settings[s].name);
		pm_code		rc;

		if (i < 0)
			return unknown_option(kind, settings[s].name, st);
		if ((rc = set_option(&kind->options[i], &settings[s], &o->value[i], st)) != PM_OK)
			return rc;
	}
	return kind->check ? kind->check(o, st) : PM_OK;
}

bool
pm_predictor_merges(const pm_kind *kind, const pm_options *o)
{
	int			i = pm_option_find(kind, "merge");

	return i < 0 || o->value[i] != 0;
}

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

/* Train without the structures of a fold and predict them; NaN where that fails. */
static pm_code
cross_fold(const pm_predictor *p, const pm_dataset *d, const int *fold_of, int fold, uint64_t seed, int threads,
		   const pm_hooks *hooks, pm_arena *a, double *cross_ms, pm_status *st)
{
	pm_predictor q = {.kind = p->kind, .options = p->options};
	pm_dataset	part;
	pm_fit_report report = {0};
	pm_code		rc;

	if ((rc = without_fold(d, fold_of, fold, p->kind->min_samples, a, &part, st)) != PM_OK ||
		(rc = p->kind->fit(&q, &part, seed, threads, hooks, a, &report, st)) != PM_OK)
		return rc;
	for (int i = 0; i < d->n; i++)
	{
		pm_arena	scratch;

		if (fold_of[i] != fold)
			continue;
		if ((rc = stop_if_asked(hooks, st)) != PM_OK)
			return rc;
		pm_arena_init_within(&scratch, a);
		if (pm_predictor_predict(&q, &d->samples[i], &scratch, &cross_ms[i], NULL, NULL, NULL) != PM_OK)
			cross_ms[i] = NAN;
		pm_arena_release(&scratch);
	}
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
	for (int i = 0; i < d->n; i++)
	{
		pm_arena	scratch;

		ms[i] = NAN;
		if (stop_if_asked(hooks, st) != PM_OK)
			return PM_CANCELLED;
		if (start->seen != NULL && start->seen[i])
			continue;
		pm_arena_init_within(&scratch, a);
		if (pm_predictor_predict(start->predictor, &d->samples[i], &scratch, &ms[i], NULL, NULL, NULL) != PM_OK)
			ms[i] = NAN;
		pm_arena_release(&scratch);
	}
	return PM_OK;
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
	if (rc == PM_OK && p->start != NULL)
		rc = p->kind->check_start(&p->options, p->start->predictor, st);
	/* before the fit itself, so that what the folds take is free again */
	if (rc != PM_OK || (rc = cross_predict(p, d, (int) folds, seed, threads, hooks, a, &cross_ms, st)) != PM_OK ||
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

void
pm_share_by_roofline(const pm_tokens *t, double step_ms, pm_part *parts, int *n_parts)
{
	for (int i = 0; i < t->n; i++)
		parts[i] = (pm_part) {.token = i, .forward_ms = NAN, .backward_ms = NAN, .update_ms = NAN,
			.step_ms = step_ms * pm_roofline_share(t, i), .bound = t->bound[i]};
	*n_parts = t->n;
}

/* ---- byte buffers ---- */

static void
put_bytes(pm_buffer *b, const void *p, size_t n)
{
	if (b->failed)
		return;
	if (b->len + n > b->cap)
	{
		size_t		cap = b->cap * 2 > b->len + n ? b->cap * 2 : b->len + n + 4096;
		uint8_t    *bigger = pm_alloc(b->arena, cap, 1);

		if (!bigger)
		{
			b->failed = true;
			return;
		}
		if (b->len > 0)
			memcpy(bigger, b->data, b->len);
		b->data = bigger;
		b->cap = cap;
	}
	memcpy(b->data + b->len, p, n);
	b->len += n;
}

void
pm_put_u32(pm_buffer *b, uint32_t v)
{
	uint8_t		bytes[4] = {(uint8_t) v, (uint8_t) (v >> 8), (uint8_t) (v >> 16), (uint8_t) (v >> 24)};

	put_bytes(b, bytes, 4);
}

void
pm_put_f64(pm_buffer *b, double v)
{
	uint64_t	bits;

	memcpy(&bits, &v, 8);
	pm_put_u32(b, (uint32_t) bits);
	pm_put_u32(b, (uint32_t) (bits >> 32));
}

void
pm_put_text(pm_buffer *b, const char *s)
{
	pm_put_u32(b, (uint32_t) strlen(s));
	put_bytes(b, s, strlen(s));
}

void
pm_put_reals(pm_buffer *b, const pm_real *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		float		f = (float) v[i];
		uint32_t	bits;

		memcpy(&bits, &f, 4);
		pm_put_u32(b, bits);
	}
}

static const uint8_t *
get_bytes(pm_reader *r, size_t n)
{
	const uint8_t *p = r->data + r->at;

	if (r->failed || n > r->len - r->at)
	{
		r->failed = true;
		return NULL;
	}
	r->at += n;
	return p;
}

static uint32_t
get_raw_u32(pm_reader *r)
{
	const uint8_t *p = get_bytes(r, 4);

	return p ? (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24 : 0;
}

uint32_t
pm_get_u32(pm_reader *r, uint32_t max)
{
	uint32_t	v = get_raw_u32(r);

	if (v > max)
		r->failed = true;
	return r->failed ? 0 : v;
}

double
pm_get_f64(pm_reader *r)
{
	uint64_t	low = get_raw_u32(r);
	uint64_t	bits = low | (uint64_t) get_raw_u32(r) << 32;
	double		v;

	memcpy(&v, &bits, 8);
	if (!isfinite(v))
		r->failed = true;
	return r->failed ? 0 : v;
}

const char *
pm_get_text(pm_reader *r, pm_arena *a)
{
	uint32_t	n = pm_get_u32(r, 4096);
	const uint8_t *p = get_bytes(r, n);

	return p ? pm_strdup(a, (const char *) p, n) : NULL;
}

void
pm_get_reals(pm_reader *r, pm_real *v, size_t n)
{
	for (size_t i = 0; i < n && !r->failed; i++)
	{
		uint32_t	bits = get_raw_u32(r);
		float		f;

		memcpy(&f, &bits, 4);
		if (!isfinite(f))
			r->failed = true;
		v[i] = f;
	}
}

/* ---- the stored form ---- */

pm_code
pm_predictor_save(const pm_predictor *p, pm_arena *a, uint8_t **data, size_t *len, pm_status *st)
{
	pm_buffer	b = {.arena = a};
	pm_code		rc;

	pm_put_u32(&b, FORMAT_MAGIC);
	pm_put_u32(&b, FORMAT_VERSION);
	pm_put_text(&b, p->kind->name);
	pm_put_u32(&b, p->kind->n_options);
	for (int i = 0; i < p->kind->n_options; i++)
	{
		pm_put_text(&b, p->kind->options[i].name);
		pm_put_f64(&b, p->options.value[i]);
	}
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

/* A value that set_option() could have set; only numbers are stored. */
static bool
storable(const pm_option *def, double value)
{
	return value >= def->min && value <= def->max && (def->type == PM_OPT_REAL || value == floor(value));
}

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
		double		value = pm_get_f64(r);
		int			at;

		if (!r->failed && name == NULL)
			return pm_no_memory(st, a);
		at = r->failed ? -1 : pm_option_find(p->kind, name);
		if (at < 0 || !storable(&p->kind->options[at], value))
			return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged options");
		p->options.value[at] = value;
	}
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged options") : PM_OK;
}

/* Everything before the options: magic, version, checksum, kind. */
static pm_code
load_header(pm_reader *r, pm_arena *a, pm_predictor *p, pm_status *st)
{
	uint32_t	version,
				crc;
	const char *kind;

	if (r->len < 16 || get_raw_u32(r) != FORMAT_MAGIC)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor does not start with its magic number");
	version = get_raw_u32(r);
	if (version != FORMAT_VERSION)
	{
		pm_fail(st, PM_ERR_FORMAT, "stored predictor has format version %u, and this library reads version %d",
				(unsigned) version, FORMAT_VERSION);
		pm_hint(st, "Install the library that wrote it, or train again.");
		return PM_ERR_FORMAT;
	}
	r->len -= 4;
	crc = (uint32_t) r->data[r->len] | (uint32_t) r->data[r->len + 1] << 8 |
		(uint32_t) r->data[r->len + 2] << 16 | (uint32_t) r->data[r->len + 3] << 24;
	if (crc != pm_crc32c(r->data, r->len))
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor is damaged: its checksum does not match");
	kind = pm_get_text(r, a);
	if (kind == NULL && !r->failed)
		return pm_no_memory(st, a);
	p->kind = kind ? pm_kind_find(kind) : NULL;
	if (p->kind == NULL)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor is of kind \"%.*s\", which this library does not know",
					   pm_shown(kind ? kind : ""), kind ? kind : "");
	return PM_OK;
}

pm_code
pm_predictor_load(const uint8_t *data, size_t len, pm_arena *a, pm_predictor *p, pm_status *st)
{
	pm_reader	r = {.data = data, .len = len};
	pm_code		rc;

	memset(p, 0, sizeof(*p));
	if ((rc = load_header(&r, a, p, st)) != PM_OK ||
		(rc = load_options(p, &r, a, st)) != PM_OK ||
		(rc = p->kind->load(p, &r, a, st)) != PM_OK ||
		(rc = pm_trust_load(&r, a, &p->trust, st)) != PM_OK ||
		(pm_get_u32(&r, 1) != 0 && (rc = pm_correction_load(&r, a, &p->correction, st)) != PM_OK))
		return rc;
	if (r.failed || r.at != r.len)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has the wrong length");
	return PM_OK;
}
