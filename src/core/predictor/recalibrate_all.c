/*
 * recalibrate_all.c - a recalibration on steps, forward passes, or both.
 */
#include "predictor/recalibrate.h"

#include <math.h>

#include "base/metrics.h"
#include "features/split.h"
#include "predictor/passes.h"
#include "predictor/trust.h"

/* Errors of n rows as a part of those of all; NaN: these rows have none. */
typedef struct share
{
	double		n;
	double		mape,
				mae,
				rmse;
} share;

static void
add(share *all, share part)
{
	double		n = all->n + part.n;

	if (isnan(part.mape) || part.n == 0)
		return;
	all->mape = (all->n * all->mape + part.n * part.mape) / n;
	all->mae = (all->n * all->mae + part.n * part.mae) / n;
	all->rmse = sqrt((all->n * all->rmse * all->rmse + part.n * part.rmse * part.rmse) / n);
	all->n = n;
}

/* Of predictions that are not NaN. */
static share
errors_of_passes(const pm_dataset *d, const double *predicted)
{
	pm_errors	sum = {0};
	int			n = 0;

	for (int i = 0; i < d->n_passes; i++)
		if (!isnan(predicted[i]))
		{
			pm_errors_add(&sum, d->passes[i].step_ms, predicted[i]);
			n++;
		}
	if (n == 0)
		return (share) {0, NAN, NAN, NAN};
	return (share) {n, pm_errors_mape(&sum), pm_errors_mae(&sum), pm_errors_rmse(&sum)};
}

static void
set_errors(const pm_dataset *d, const pm_pass_answers *answers, pm_recalibration *r)
{
	share		before = {0};
	share		after = {0};

	add(&before, (share) {d->n, r->mape_before, r->mae_before, r->rmse_before});
	add(&before, errors_of_passes(d, answers->before));
	add(&after, (share) {d->n, r->mape_after, r->mae_after, r->rmse_after});
	add(&after, errors_of_passes(d, answers->after));
	r->mape_before = before.mape;
	r->mae_before = before.mae;
	r->rmse_before = before.rmse;
	r->mape_after = after.n > 0 ? after.mape : NAN;
	r->mae_after = after.n > 0 ? after.mae : NAN;
	r->rmse_after = after.n > 0 ? after.rmse : NAN;
}

static pm_code
count_structures(const pm_dataset *d, pm_arena *a, int *count, pm_status *st)
{
	uint64_t   *found = PM_NEW(a, uint64_t, d->n + d->n_passes);
	int			n = 0;

	if (found == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
		found[n++] = d->samples[i].query.graph->structure;
	for (int i = 0; i < d->n_passes; i++)
		found[n++] = d->passes[i].query.graph->structure;
	*count = pm_count_different(found, n);
	return PM_OK;
}

/* *out has been recalibrated on the steps, if there are any. */
static pm_code
recalibrate_on_passes(const pm_dataset *d, const pm_hooks *hooks, pm_arena *a, pm_predictor *out, pm_recalibration *r, pm_status *st)
{
	const pm_passes *updated;
	pm_pass_answers answers;
	pm_code		rc;

	if ((rc = pm_passes_update(out, pm_predictor_predict, d, hooks, a, &updated, &answers, st)) != PM_OK)
		return rc;
	/* with steps, the domain has been extended by all of d */
	if (d->n == 0 && (rc = pm_trust_update(out->trust, d, NULL, NULL, false, hooks, a, &out->trust, st)) != PM_OK)
		return rc;
	for (int i = 0; i < updated->n; i++)
		r->n_numbers += out->passes == NULL || i >= out->passes->n || updated->device[i].moved != out->passes->device[i].moved;
	out->passes = updated;
	set_errors(d, &answers, r);
	if ((rc = pm_check_errors((double[]) {r->mape_before, r->mape_after, r->rmse_before, r->rmse_after}, 4, st)) != PM_OK)
		return rc;
	return count_structures(d, a, &r->structures, st);
}

pm_code
pm_recalibrate(const pm_predictor *base, const pm_dataset *d, const bool *seen, const pm_hooks *hooks,
			   pm_arena *a, pm_predictor *out, pm_recalibration *r, pm_status *st)
{
	pm_code		rc;

	*r = (pm_recalibration) {0};
	*out = *base;
	if (d->n == 0 && d->n_passes == 0)
	{
		pm_fail(st, PM_ERR_DATA, "there are no measurements to recalibrate on");
		pm_hint(st, "Give their profile_ids by profiles => ..., or leave the argument out to use all measurements that the predictor was not trained on.");
		return PM_ERR_DATA;
	}
	if ((rc = pm_check_profiles(d, pm_predictor_quantity(base), st)) != PM_OK)
		return rc;
	if (d->n > 0)
		rc = pm_recalibrate_on_steps(base, d, seen, hooks, a, out, r, st);
	return rc == PM_OK && d->n_passes > 0 ? recalibrate_on_passes(d, hooks, a, out, r, st) : rc;
}
