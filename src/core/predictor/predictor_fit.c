/*
 * predictor_fit.c - training with cross predictions.
 */
#include "predictor/predictor.h"

#include <math.h>
#include <string.h>

#include "base/metrics.h"
#include "nn/blas.h"
#include "predictor/cross.h"
#include "predictor/passes.h"
#include "predictor/stages.h"
#include "predictor/transfer.h"

/* ---- what can be learned from ---- */

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
