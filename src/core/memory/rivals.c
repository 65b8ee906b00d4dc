/*
 * rivals.c - errors of the simulation and of simpler estimates on the same folds.
 */
#include "memory/rivals.h"

#include <math.h>

#include "base/metrics.h"
#include "memory/solve.h"

#define N_SUMS	PM_N_MEMORY_SUMS
const char *const pm_memory_method_name[PM_N_MEMORY_METHODS] = {
	"simulation, calibrated", "simulation, as shipped", "regression on sums of bytes", "static sum"
};

void
pm_memory_rival_row_at(const pm_memory_plan *plan, int64_t batch, pm_memory_rival_row *row)
{
	row->weights = plan->weights / PM_MB;
	row->states = (plan->gradients + plan->optimizer) / PM_MB;
	row->outputs = (plan->outputs_fixed + plan->outputs_per * (double) batch) / PM_MB;
	row->largest = plan->largest_per * (double) batch / PM_MB;
	row->inputs = plan->inputs_per * (double) batch / PM_MB;
	row->walk = (plan->weights + plan->optimizer + plan->walk_fixed + plan->walk_per * (double) batch) / PM_MB *
		pm_memory_reserved(plan, batch) / fmax(1, pm_memory_live(plan, batch));
}

/* ---------- the regression: relative errors, least squares ---------- */

static void
features(const pm_memory_rival_row *r, double *x)
{
	x[0] = 1;
	x[1] = r->weights;
	x[2] = r->outputs;
	x[3] = r->largest;
}

void
pm_memory_sums_fit(const pm_memory_rival_row *rows, int n, int without, double *x)
{
	double		m[N_SUMS][N_SUMS] = {{0}};
	double		y[N_SUMS] = {0};

	for (int i = 0; i < n; i++)
	{
		double		f[N_SUMS];
		double		w = 1 / (rows[i].sample.measured * rows[i].sample.measured);

		if (pm_memory_fold_of(&rows[i].sample) == without)
			continue;
		features(&rows[i], f);
		for (int k = 0; k < N_SUMS; k++)
		{
			for (int j = 0; j < N_SUMS; j++)
				m[k][j] += w * f[k] * f[j];
			y[k] += w * f[k] * rows[i].sample.measured;
		}
	}
	for (int k = 0; k < N_SUMS; k++)
		m[k][k] = m[k][k] * (1 + 1e-9) + 1e-12;	/* columns that are all alike */
	pm_memory_solve(m[0], y, x, N_SUMS);
}

/* ---------- errors ---------- */

static pm_memory_error
sum_up(double *e, int n)
{
	double		sum = 0;

	pm_sort(e, n);
	for (int i = 0; i < n; i++)
		sum += e[i];
	return (pm_memory_error) {100 * sum / n, 100 * (n % 2 ? e[n / 2] : (e[n / 2 - 1] + e[n / 2]) / 2), 100 * e[(int) (0.9 * (n - 1))]};
}

double
pm_memory_static_at(const pm_memory_rival_row *r, const pm_memory_factors *shipped)
{
	return shipped->context_mb + r->weights + r->states + r->outputs;
}

static double
by_factors(const pm_memory_rival_row *r, const pm_memory_factors *f)
{
	return f->context_mb + f->factor * r->sample.simulated + f->workspace * r->sample.conv;
}

double
pm_memory_sums_at(const pm_memory_rival_row *r, const double *x)
{
	double		f[N_SUMS];
	double		sum = 0;

	features(r, f);
	for (int k = 0; k < N_SUMS; k++)
		sum += x[k] * f[k];
	return sum;
}

/* The samples of all folds but one; returns how many. */
static int
others(const pm_memory_rival_row *rows, int n, int without, pm_memory_sample *to)
{
	int			k = 0;

	for (int i = 0; i < n; i++)
		if (pm_memory_fold_of(&rows[i].sample) != without)
			to[k++] = rows[i].sample;
	return k;
}

pm_code
pm_memory_compare(const pm_memory_rival_row *rows, int n, bool is_cpu, const pm_memory_factors *shipped, pm_arena *a,
				  pm_memory_error *errors, pm_status *st)
{
	double	   *e[PM_N_MEMORY_METHODS];
	pm_memory_sample *training = PM_NEW(a, pm_memory_sample, n);
	pm_code		rc;

	if (n == 0)
		return pm_fail(st, PM_ERR_DATA, "no measurement has a peak memory");
	for (int m = 0; m < PM_N_MEMORY_METHODS; m++)
		if (training == NULL || (e[m] = PM_NEW(a, double, n)) == NULL)
			return pm_no_memory(st, a);
	for (int fold = 0; fold < PM_MEMORY_FOLDS; fold++)
	{
		pm_memory_factors f = *shipped;
		pm_memory_fit fit;
		double		x[N_SUMS];
		int			k = others(rows, n, fold, training);

		if (k > 0 && (rc = pm_memory_calibrate(training, k, NAN, is_cpu, a, &f, &fit, st)) != PM_OK)
			return rc;
		pm_memory_sums_fit(rows, n, fold, x);
		for (int i = 0; i < n; i++)
		{
			const pm_memory_rival_row *r = &rows[i];

			if (pm_memory_fold_of(&r->sample) != fold)
				continue;
			e[PM_MEMORY_CALIBRATED][i] = fabs(by_factors(r, &f) / r->sample.measured - 1);
			e[PM_MEMORY_SHIPPED][i] = fabs(by_factors(r, shipped) / r->sample.measured - 1);
			e[PM_MEMORY_SUMS][i] = fabs(pm_memory_sums_at(r, x) / r->sample.measured - 1);
			e[PM_MEMORY_STATIC][i] = fabs(pm_memory_static_at(r, shipped) / r->sample.measured - 1);
		}
	}
	for (int m = 0; m < PM_N_MEMORY_METHODS; m++)
		errors[m] = sum_up(e[m], n);
	return PM_OK;
}
