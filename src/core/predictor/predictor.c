/*
 * predictor.c - training with cross predictions, and prediction.
 */
#include "predictor/predictor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/metrics.h"
#include "nn/blas.h"
#include "predictor/bounds.h"
#include "predictor/correction.h"
#include "predictor/cross.h"
#include "predictor/doubts.h"
#include "predictor/infer.h"
#include "predictor/parts.h"
#include "predictor/passes.h"
#include "predictor/sensitivity.h"
#include "predictor/stages.h"
#include "predictor/transfer.h"

/* ---- fit and predict ---- */

pm_code
pm_diverged(pm_status *st, const char *why)
{
	pm_fail(st, PM_ERR_DIVERGED, "training ended with a predictor that cannot be used: %s", why);
	pm_hint(st, "Look for measurements or data sheets that are wrong by orders of magnitude; for networks, lower learning_rate.");
	return PM_ERR_DIVERGED;
}

pm_code
pm_check_errors(const double *errors, int n, pm_status *st)
{
	for (int i = 0; i < n; i++)
		if (isinf(errors[i]))
			return pm_diverged(st, "its predictions are too far off for an error to be given");
	return PM_OK;
}

/* What a measurement may say; only what was measured in part may be missing. */
static bool
in_bounds(const pm_quantity *q, double value)
{
	return value >= q->min && value <= q->max;
}

static pm_code
check_sample(const pm_sample *s, const pm_quantity *q, const char *what, pm_status *st)
{
	const char *framework = s->query.framework;
	double		parts[] = {s->forward_ms, s->backward_ms};

	if (!(s->step_ms > 0) || !isfinite(s->step_ms))
		return pm_fail(st, PM_ERR_DATA, "%s %lld has a time that is not positive and finite", what, (long long) s->id);
	if (!in_bounds(q, s->step_ms))
		return pm_fail(st, PM_ERR_DATA, "%s %lld says %g %s, which is not between %g and %g %s", what, (long long) s->id, s->step_ms,
					   q->unit, q->min, q->max, q->unit);
	for (int i = 0; i < 2; i++)
		if (!isnan(parts[i]) && !(parts[i] >= 0 && parts[i] <= q->max))
			return pm_fail(st, PM_ERR_DATA, "%s %lld says %g %s for a part of the step, which is not between 0 and %g %s", what,
						   (long long) s->id, parts[i], q->unit, q->max, q->unit);
	if (strlen(s->query.gpu->name) > PM_MAX_NAME_LEN || (framework != NULL && strlen(framework) > PM_MAX_NAME_LEN))
		return pm_fail(st, PM_ERR_DATA, "%s %lld has a gpu or framework whose name is longer than %d bytes", what,
					   (long long) s->id, PM_MAX_NAME_LEN);
	return PM_OK;
}

pm_code
pm_check_profiles(const pm_dataset *d, const pm_quantity *q, pm_status *st)
{
	pm_code		rc = PM_OK;

	for (int i = 0; i < d->n && rc == PM_OK; i++)
		rc = check_sample(&d->samples[i], q, "profile", st);
	for (int i = 0; i < d->n_operators && rc == PM_OK; i++)
		rc = check_sample(&d->operators[i], q, "operator profile", st);
	for (int i = 0; i < d->n_passes && rc == PM_OK; i++)
		rc = check_sample(&d->passes[i], q, "profile", st);
	return rc;
}

static pm_code
check_samples(const pm_kind *kind, const pm_quantity *q, const pm_dataset *d, pm_status *st)
{
	if (!(kind->quantities & PM_LEARNS(q->id)))
		return pm_fail(st, PM_ERR_OPTION, "kind \"%s\" cannot learn %s", kind->name, q->name);
	if (d->n < kind->min_samples)
	{
		pm_fail(st, PM_ERR_DATA, "kind \"%s\" needs at least %d measurement%s to learn from, and there %s %d",
				kind->name, kind->min_samples, kind->min_samples == 1 ? "" : "s", d->n == 1 ? "is" : "are", d->n);
		pm_hint(st, "Add rows to perfmodel.profile, or fit a trained predictor to these few by perfmodel.recalibrate().");
		return PM_ERR_DATA;
	}
	return pm_check_profiles(d, q, st);
}

/* Mean absolute percentage error on the rows of d, for kinds that do not report it themselves. */
static pm_code
training_error(const pm_predictor *p, const pm_dataset *d, const pm_hooks *hooks, const pm_arena *a, double *mape,
			   pm_status *st)
{
	pm_errors	sum = {0};
	pm_code		rc = PM_OK;

	for (int i = 0; i < d->n && rc == PM_OK; i++)
	{
		pm_arena	scratch;
		double		ms;

		if ((rc = pm_stop_if_asked(hooks, st)) != PM_OK)
			return rc;
		pm_arena_init_within(&scratch, a);
		rc = pm_predictor_predict(p, &d->samples[i], &scratch, &ms, NULL, NULL, st);
		if (rc == PM_OK)
			pm_errors_add(&sum, d->samples[i].step_ms, ms);
		pm_arena_release(&scratch);
	}
	*mape = pm_errors_mape(&sum);
	return rc;
}

/* ---- errors of cross predictions ---- */

/* Errors of the cross predictions. */
static void
cross_errors(const pm_dataset *d, const double *cross, pm_fit_report *report)
{
	pm_errors	sum = {0};

	for (int i = 0; i < d->n; i++)
		if (isfinite(cross[i]))
			pm_errors_add(&sum, d->samples[i].step_ms, cross[i]);
	report->valid_mape = pm_errors_mape(&sum);
	report->valid_mae = pm_errors_mae(&sum);
	report->valid_rmse = pm_errors_rmse(&sum);
	report->valid_n = sum.n;
}

/* A question that a predictor does not answer has NaN in place of a time; only want of memory and a cancel end the training. */
static pm_code
predict_or_nan(const pm_predictor *p, const pm_sample *s, const pm_arena *a, double *ms, pm_status *st)
{
	pm_arena	scratch;
	pm_code		rc;

	pm_arena_init_within(&scratch, a);
	rc = pm_predictor_predict(p, s, &scratch, ms, NULL, NULL, st);
	pm_arena_release(&scratch);
	if (rc == PM_ERR_MEMORY || rc == PM_CANCELLED)
		return rc;
	if (rc != PM_OK)
		*ms = NAN;
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
		if ((rc = pm_stop_if_asked(hooks, st)) == PM_OK && !(start->seen != NULL && start->seen[i]))
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

/* Without any new ones, those of the start hold for the network that goes on from it. */
static pm_code
learn_passes(pm_predictor *p, const pm_dataset *d, const pm_cross *cross, const pm_hooks *hooks, pm_arena *a, pm_status *st)
{
	/* whole families left out, if there are such predictions: a question may be far from all passes */
	const double *cross_ms = cross->n > 0 ? cross->pass_ms[cross->n - 1] : NULL;
	pm_code		rc = pm_passes_fit(p, pm_predictor_predict, d, cross_ms, hooks, a, &p->passes, st);

	if (p->passes == NULL && p->start != NULL)
		p->passes = p->start->predictor->passes;
	return rc;
}

/* What is the same for all kinds once the kind is fitted. */
static pm_code
complete_fit(pm_predictor *p, const pm_dataset *d, const pm_cross *cross, const pm_hooks *hooks, pm_arena *a,
			 pm_fit_report *report, pm_status *st)
{
	pm_code		rc = PM_OK;

	if (isnan(report->train_mape))
		rc = training_error(p, d, hooks, a, &report->train_mape, st);
	/* a kind that learned nothing sound says so when it is asked */
	if (rc == PM_ERR_INTERNAL)
		return pm_diverged(st, "its predictions are not positive finite numbers");
	if (rc == PM_OK && report->valid_n == 0 && cross->n > 0)
		cross_errors(d, cross->set[PM_CROSS_NETWORK].ms, report);
	if (rc == PM_OK)
		rc = pm_check_errors((double[]) {report->train_mape, report->valid_mape, report->valid_mae, report->valid_rmse}, 4, st);
	if (rc == PM_OK)
		rc = p->start != NULL ? trust_after_start(p, d, hooks, a, st) :
			pm_trust_fit(d, cross->set, cross->n, hooks, a, &p->trust, st);
	/* of a start, what it learned of pairs holds for the network that goes on from it */
	if (p->start != NULL)
		p->transfer = p->start->predictor->transfer;
	else if (rc == PM_OK && !p->kind->transfers)
		rc = pm_transfer_fit(d, cross->set, cross->n, a, &p->transfer, st);
	if (rc == PM_OK && pm_predictor_quantity(p)->id == PM_STEP_MS)
		rc = learn_passes(p, d, cross, hooks, a, st);
	p->start = NULL;
	return rc;
}

/* a->hooks are hooks. */
static pm_code
fit_and_calibrate(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
				  const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	double		started = pm_now();
	double		folds = pm_option_value(p->kind, &p->options, "calibration_folds");
	pm_cross	cross;
	pm_stage	s;
	pm_code		rc = check_samples(p->kind, pm_predictor_quantity(p), d, st);

	memset(report, 0, sizeof(*report));
	report->valid_mape = report->valid_mae = report->valid_rmse = report->train_mape = NAN;
	threads = threads < 1 ? 1 : threads;
	folds = folds >= 2 && p->start == NULL ? folds : 0;
	/* it goes on with the lists that its weights are for */
	if (p->start != NULL)
		p->schema = p->start->predictor->schema;
	if (rc == PM_OK && p->start != NULL)
		rc = p->kind->check_start(&p->options, p->start->predictor, st);
	/* before the fit itself, so that what the folds take is free again */
	if (rc != PM_OK || (rc = pm_blas_reserve(1, st)) != PM_OK ||
		(rc = pm_cross_predict(p, d, (int) folds, seed, threads, hooks, a, &cross, st)) != PM_OK ||
		(rc = p->kind->fit(p, d, seed, threads, pm_stage_begin(&s, hooks, 0, (int) folds), a, report, st)) != PM_OK)
		return rc;
	report->cross = cross.n > 0 ? cross.set[PM_CROSS_NETWORK].ms : NULL;
	rc = complete_fit(p, d, &cross, hooks, a, report, st);
	report->seconds = pm_now() - started;
	return rc;
}

/* Loops that know the arena alone ask its hooks. */
pm_code
pm_predictor_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
				 const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	const pm_hooks *before = a->hooks;
	pm_code		rc;

	a->hooks = hooks;
	rc = fit_and_calibrate(p, d, seed, threads, hooks, a, report, st);
	a->hooks = before;
	return rc;
}

/* What the kind says is checked, and corrected where the predictor was recalibrated. */
static pm_code
finish_step(const pm_predictor *p, const pm_sample *s, double *step_ms, pm_part *parts, int n_parts, pm_status *st)
{
	if (!(isfinite(*step_ms) && *step_ms > 0))
		return pm_fail(st, PM_ERR_INTERNAL, "prediction is not a positive finite number");
	if (s->query.mode == PM_INFERENCE)
		pm_parts_become(*step_ms * pm_infer_level(p->passes, s->query.gpu), step_ms, parts, n_parts);
	if (p->correction != NULL)
		pm_parts_become(pm_correction_apply(p->correction, &s->query, pm_trust_format(p->trust, s->query.gpu, s->query.dtype), *step_ms),
			   step_ms, parts, n_parts);
	return PM_OK;
}

static const double no_state[PM_N_STATE];	/* all factors 1 */

static bool
is_fitted_to_card(const pm_predictor *p, const pm_sample *s)
{
	return pm_has_state(p) && pm_correction_has_state(pm_correction_find(p->correction, s->query.gpu->name));
}

/* Whether passes are asked for with factors on their parts. */
static bool
is_fitted_to_passes(const pm_predictor *p, const pm_sample *s)
{
	return s->query.mode == PM_INFERENCE && p->passes != NULL;
}

static bool
takes_factors(const pm_predictor *p, const pm_sample *s)
{
	return is_fitted_to_card(p, s) || is_fitted_to_passes(p, s);
}

/* Whether a pass is answered by its parts: by those of the step, or because the kind takes no factors on them. */
static bool
goes_by_parts(const pm_predictor *p, const pm_sample *s)
{
	bool		scales = p->kind->scales != NULL && p->kind->scales(&p->options);

	return s->query.mode != PM_TRAIN && (!pm_infers(p) || (is_fitted_to_passes(p, s) && !scales));
}

/* The factors of the card's state, and of passes, into s. t: tokens of s. */
static pm_code
fit_to_card(const pm_predictor *p, const pm_tokens *t, pm_arena *a, pm_sample *s, pm_status *st)
{
	const pm_device_correction *c = pm_correction_find(p->correction, s->query.gpu->name);
	pm_state_shares *shares = PM_NEW(a, pm_state_shares, t->n);
	double	   *device = PM_NEW(a, double, t->n);
	pm_factors *factors = PM_NEW(a, pm_factors, 1);

	if (!shares || !device || !factors)
		return pm_no_memory(st, a);
	pm_state_shares_of(t, shares);
	pm_state_factors(is_fitted_to_card(p, s) ? c->state : no_state, shares, t->n, device, factors);
	if (is_fitted_to_passes(p, s))
		pm_infer_factors(p->passes, s->query.gpu, t, device, factors);
	s->fitted = factors;
	return PM_OK;
}

static pm_code
predict_fitted(const pm_predictor *p, const pm_sample *s, pm_arena *scratch, double *step_ms, pm_part *parts, int *n_parts,
			   pm_status *st)
{
	pm_sample	q = *s;
	pm_tokens	t;
	pm_code		rc;

	if ((rc = pm_tokens_build(s->skeleton, &s->query, scratch, &t, st)) != PM_OK ||
		(rc = fit_to_card(p, &t, scratch, &q, st)) != PM_OK)
		return rc;
	return p->kind->predict(p, &q, scratch, step_ms, parts, n_parts, st);
}

/* *q: the question in the format that it is answered in, where nothing was learned of the one asked for, and with a framework. */
static pm_code
as_learned(const pm_predictor *p, const pm_sample *s, pm_arena *scratch, pm_sample *q, pm_status *st)
{
	*q = *s;
	q->query.dtype = pm_trust_format(p->trust, s->query.gpu, s->query.dtype);
	return pm_trust_framework(p->trust, q, scratch, &q->query.framework, st);
}

/* The answer for the card by itself, without those for others that hold it. */
static pm_code
answer(const pm_predictor *p, const pm_sample *s, pm_arena *scratch, double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	pm_sample	q;
	pm_code		rc = as_learned(p, s, scratch, &q, st);

	if (rc == PM_OK)
		rc = goes_by_parts(p, &q) ? pm_infer_by_parts(p, &q, scratch, step_ms, parts, n_parts, st) :
			takes_factors(p, &q) ? predict_fitted(p, &q, scratch, step_ms, parts, n_parts, st) :
			p->kind->predict(p, &q, scratch, step_ms, parts, n_parts, st);
	return rc == PM_OK ? finish_step(p, s, step_ms, parts, parts != NULL ? *n_parts : 0, st) : rc;
}

/* The answers for the cards of sisters but the last one, by p. */
static pm_code
ask_sisters(const pm_predictor *p, const pm_sample *s, const pm_sisters *sisters, pm_arena *scratch, double *ms, pm_status *st)
{
	pm_code		rc = PM_OK;

	for (int i = 0; i < sisters->n - 1 && rc == PM_OK; i++)
	{
		pm_sample	q = *s;

		q.query.gpu = sisters->gpu[i];
		rc = answer(p, &q, scratch, &ms[i], NULL, NULL, st);
	}
	return rc;
}

/* The answer, held by those for the other cards of sisters; own_ms: for the card by itself. */
static pm_code
hold(const pm_predictor *p, const pm_sample *s, const pm_sisters *sisters, double own_ms, pm_arena *scratch, double *step_ms, pm_status *st)
{
	pm_predictor plain = pm_as_trained(p);
	const pm_predictor *asked = sisters->recalibrated ? &plain : p;
	double	   *ms = PM_NEW(scratch, double, sisters->n);
	pm_code		rc;

	if (!ms)
		return pm_no_memory(st, scratch);
	ms[sisters->n - 1] = own_ms;
	if ((rc = ask_sisters(asked, s, sisters, scratch, ms, st)) != PM_OK ||
		(sisters->recalibrated && (rc = answer(asked, s, scratch, &ms[sisters->n - 1], NULL, NULL, st)) != PM_OK))
		return rc;
	*step_ms = pm_sisters_hold(sisters, ms, own_ms);
	return PM_OK;
}

static pm_code
hold_parts(const pm_predictor *p, const pm_sample *s, pm_arena *scratch, pm_part *parts, int n_parts, pm_status *st)
{
	pm_sample	q;
	pm_tokens	work;
	pm_code		rc;

	if ((rc = as_learned(p, s, scratch, &q, st)) == PM_OK && (rc = pm_tokens_build_work(q.skeleton, &q.query, scratch, &work, st)) == PM_OK)
		pm_parts_hold(&work, parts, n_parts);
	return rc;
}

pm_code
pm_predictor_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
					 double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	pm_sisters	sisters;
	double		ms = 0;
	pm_code		rc;

	if ((rc = answer(p, s, scratch, step_ms, parts, n_parts, st)) != PM_OK ||
		(rc = pm_sisters_find(p, s, scratch, scratch, &sisters, st)) != PM_OK ||
		(rc = hold(p, s, &sisters, *step_ms, scratch, &ms, st)) != PM_OK)
		return rc;
	pm_parts_become(ms * pm_infer_moved(p->passes, &s->query), step_ms, parts, parts != NULL ? *n_parts : 0);
	return parts != NULL ? hold_parts(p, s, scratch, parts, *n_parts, st) : PM_OK;
}

pm_code
pm_predictor_held(const pm_predictor *p, const pm_sample *s, double own_ms, pm_arena *scratch, pm_holding *held, pm_status *st)
{
	pm_predictor plain = pm_as_trained(p);
	pm_sisters	sisters;
	double		ms;
	pm_code		rc;

	*held = (pm_holding) {0};
	if ((rc = pm_sisters_find(&plain, s, scratch, scratch, &sisters, st)) != PM_OK || sisters.n == 1 ||
		(rc = hold(&plain, s, &sisters, own_ms, scratch, &ms, st)) != PM_OK)
		return rc;
	*held = (pm_holding) {.work = sisters.work, .by = log(ms / own_ms)};
	return PM_OK;
}

pm_code
pm_predictor_predict_held(const pm_predictor *p, const pm_sample *s, const pm_holding *held, pm_arena *scratch, double *step_ms, pm_status *st)
{
	const pm_device_correction *c = pm_correction_find(p->correction, s->query.gpu->name);
	pm_code		rc = answer(p, s, scratch, step_ms, NULL, NULL, st);

	*step_ms *= exp(pm_correction_held(c, held->work) * held->by);
	return rc;
}

/* What does not depend on the batch, of the tokens of a question. */
static pm_code
keep_types(const pm_tokens *t, pm_arena *a, pm_prepared *x, pm_status *st)
{
	x->type = PM_NEW_PACKED(a, int32_t, t->n);
	x->op_class = PM_NEW_PACKED(a, int32_t, t->n);
	if (!x->type || !x->op_class)
		return pm_no_memory(st, a);
	memcpy(x->type, t->type, t->n * sizeof(int32_t));
	memcpy(x->op_class, t->op_class, t->n * sizeof(int32_t));
	return PM_OK;
}

static pm_code
choose_bench(pm_workbench *bench, pm_arena *a, pm_prepared *x, pm_status *st)
{
	x->bench = bench;
	if (bench == NULL)
	{
		if ((x->bench = PM_NEW(a, pm_workbench, 1)) == NULL)
			return pm_no_memory(st, a);
		x->bench->room = x->skeleton->n;
		if (pm_tokens_make_room(&x->bench->work, x->bench->room, a, st) != PM_OK)
			return PM_ERR_MEMORY;
	}
	x->number = ++x->bench->numbers;
	return PM_OK;
}

/* Without the cards that bound the answer. */
static pm_code
prepare_alone(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch, pm_workbench *bench, pm_prepared *x,
			  pm_status *st)
{
	pm_sample	q;
	pm_tokens	t;
	pm_code		rc = as_learned(p, s, scratch, &q, st);

	if (rc != PM_OK)
		return rc;
	*x = (pm_prepared) {.skeleton = s->skeleton, .dtype = q.query.dtype, .framework = q.query.framework != s->query.framework ? q.query.framework : NULL};
	if ((rc = choose_bench(bench, a, x, st)) != PM_OK ||
		(rc = pm_tokens_build(s->skeleton, &q.query, scratch, &t, st)) != PM_OK ||
		(rc = keep_types(&t, a, x, st)) != PM_OK ||
		(rc = pm_trust_prepare(p->trust, s, a, scratch, &x->novelty, st)) != PM_OK)
		return rc;
	if (goes_by_parts(p, s))
		return PM_OK;
	if (takes_factors(p, s) && (rc = fit_to_card(p, &t, a, &q, st)) != PM_OK)
		return rc;
	return p->kind->prepare != NULL ? p->kind->prepare(p, &q, &t, a, scratch, &x->state, st) : PM_OK;
}

/* The same question for the cards that hold the answer. */
static pm_code
prepare_sisters(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch, pm_prepared *x, pm_status *st)
{
	pm_code		rc = pm_sisters_find(p, s, a, scratch, &x->sisters, st);
	pm_predictor *asked = PM_NEW(a, pm_predictor, 1);

	if (rc != PM_OK)
		return rc;
	if (!asked)
		return pm_no_memory(st, a);
	*asked = x->sisters.recalibrated ? pm_as_trained(p) : *p;
	x->asked = asked;
	x->n_asked = x->sisters.n - !x->sisters.recalibrated;
	x->of_sister = PM_NEW(a, pm_prepared, x->sisters.n);
	x->sister_ms = PM_NEW(a, double, x->sisters.n);
	if (!x->of_sister || !x->sister_ms)
		return pm_no_memory(st, a);
	for (int i = 0; i < x->n_asked && rc == PM_OK; i++)
	{
		pm_sample	q = *s;

		q.query.gpu = i < x->sisters.n - 1 ? x->sisters.gpu[i] : s->query.gpu;
		rc = prepare_alone(asked, &q, a, scratch, x->bench, &x->of_sister[i], st);
	}
	return rc;
}

pm_code
pm_predictor_prepare(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch,
					 pm_workbench *bench, pm_prepared *x, pm_status *st)
{
	pm_code		rc = prepare_alone(p, s, a, scratch, bench, x, st);

	return rc == PM_OK && x->state != NULL ? prepare_sisters(p, s, a, scratch, x, st) : rc;
}

void
pm_prepared_refer(pm_prepared *x, const pm_skeleton *s)
{
	x->skeleton = s;
	for (int i = 0; i < x->n_asked; i++)
		x->of_sister[i].skeleton = s;
}

static pm_code
make_room(pm_workbench *b, int tokens, pm_status *st)
{
	pm_code		rc;

	if (b->room >= tokens)
		return PM_OK;
	b->room = 0;
	pm_arena_release(&b->arena);
	if ((rc = pm_tokens_make_room(&b->work, tokens, &b->arena, st)) == PM_OK)
		b->room = tokens;
	return rc;
}

/* Let the work on the bench be that of x at the batch of s. */
static pm_code
put_on_bench(const pm_prepared *x, const pm_sample *s, pm_status *st)
{
	pm_workbench *b = x->bench;
	pm_question	q = s->query;
	pm_code		rc;

	q.dtype = x->dtype;
	if (q.framework == NULL || q.framework[0] == '\0')
		q.framework = x->framework;
	if (b->batch > 0 && b->batch == s->query.batch && b->of == x->number)
		return PM_OK;
	b->batch = 0;
	if ((rc = make_room(b, x->skeleton->n, st)) != PM_OK)
		return rc;
	pm_tokens_begin(&b->work, x->skeleton, &q, x->type, x->op_class);
	if ((rc = pm_tokens_rework(&b->work, &q, st)) == PM_OK)
	{
		b->batch = s->query.batch;
		b->of = x->number;
	}
	return rc;
}

/* As answer() */
static pm_code
answer_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, pm_arena *scratch, double *step_ms, pm_status *st)
{
	pm_code		rc;

	if (x->state == NULL)
		return answer(p, s, scratch, step_ms, NULL, NULL, st);
	if ((rc = put_on_bench(x, s, st)) != PM_OK)
		return rc;
	*step_ms = p->kind->predict_prepared(p, x->state, &x->bench->work);
	return finish_step(p, s, step_ms, NULL, 0, st);
}

pm_code
pm_predictor_predict_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, pm_arena *scratch,
							  double *step_ms, pm_status *st)
{
	int			last = x->sisters.n - 1;
	pm_code		rc = PM_OK;

	if (x->state == NULL)
		return pm_predictor_predict(p, s, scratch, step_ms, NULL, NULL, st);
	for (int i = 0; i < x->n_asked && rc == PM_OK; i++)
	{
		pm_sample	q = *s;

		q.query.gpu = i < last ? x->sisters.gpu[i] : s->query.gpu;
		rc = answer_prepared(x->asked, &x->of_sister[i], &q, scratch, &x->sister_ms[i], st);
	}
	/* the card itself comes last: its work stays on the bench */
	if (rc != PM_OK || (rc = answer_prepared(p, x, s, scratch, step_ms, st)) != PM_OK)
		return rc;
	if (!x->sisters.recalibrated)
		x->sister_ms[last] = *step_ms;
	*step_ms = pm_sisters_hold(&x->sisters, x->sister_ms, *step_ms) * pm_infer_moved(p->passes, &s->query);
	return PM_OK;
}

/* Let the bench hold the work of the training step that s is the forward pass of: by it the domain is judged. */
static pm_code
put_step_on_bench(pm_prepared *x, const pm_sample *s, pm_status *st)
{
	pm_sample	step = pm_infer_step_of(s);
	pm_code		rc;

	if (s->query.mode == PM_TRAIN)
		return put_on_bench(x, s, st);
	x->bench->batch = 0;
	rc = put_on_bench(x, &step, st);
	/* nobody is to take it for the work of s */
	x->bench->batch = 0;
	return rc;
}

pm_code
pm_predictor_judge_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, double step_ms,
							double level, pm_verdict *v, pm_status *st)
{
	pm_code		rc = put_step_on_bench(x, s, st);

	if (rc == PM_OK &&
		(rc = pm_trust_judge_work(p->trust, s, &x->novelty, &x->bench->work, step_ms, level, pm_doubts_card(p, &s->query), v, st)) == PM_OK)
		pm_add_doubts(p, &s->query, step_ms, level, v);
	return rc;
}

pm_code
pm_predictor_work(pm_prepared *x, const pm_sample *s, const pm_tokens **work, pm_status *st)
{
	*work = &x->bench->work;
	return put_on_bench(x, s, st);
}

pm_code
pm_predictor_judge(const pm_predictor *p, const pm_sample *s, double step_ms, double level,
				   pm_arena *scratch, pm_verdict *v, pm_status *st)
{
	pm_code		rc = pm_trust_judge(p->trust, s, step_ms, level, pm_doubts_card(p, &s->query), scratch, v, st);

	if (rc == PM_OK)
		pm_add_doubts(p, &s->query, step_ms, level, v);
	return rc;
}
