/*
 * calibrate.c - a small regression for peaks, a likelihood for brackets.
 *
 * Peaks: measured = context + factor * simulated + workspace * conv, relative
 * errors, with a normal prior around the factors that hold without
 * measurements.  Brackets: the logarithm of what a step needs over what the
 * device has follows a logistic distribution, of which a bracket is a
 * censored observation.
 */
#include "memory/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "features/split.h"
#include "memory/solve.h"

#define NOISE	0.05			/* of a measurement, against which the prior is weighed */
#define REWEIGHTINGS	20		/* that make squares of errors their sizes */
#define PRIOR_NETWORKS	5		/* that the spread without measurements counts as */

/* The coefficients of a peak: context in MB, factor on the simulation, factor on the largest convolution. */
#define N_COEFFICIENTS	3

/* [is_cpu] How far each is expected to be from its value without measurements; and the least spread of a context, MB. */
static const double peak_deviation[2][N_COEFFICIENTS] = {{350, 0.1, 1}, {30, 0.3, 4}};
static const double least_context_spread_mb[2] = {60, 5};

/* Of brackets: the grid on which centre and width of p_fits are looked for, and how far each logarithm is expected to be from the given one. */
#define CENTRE_STEPS	40		/* to either side */
#define CENTRE_STEP		0.005	/* of the logarithm */
#define CENTRE_DEVIATION	0.05
#define WIDTH_STEPS		6
#define WIDTH_STEP		1.25	/* factor */
#define WIDTH_DEVIATION	0.5
#define ODD_BRACKETS	0.01	/* share of brackets that are off for reasons of their own */

double
pm_memory_need_mb(const pm_memory_plan *plan, int64_t batch)
{
	return (pm_memory_live(plan, batch) + pm_memory_reserved(plan, batch)) / 2 / PM_MB;
}

void
pm_memory_sample_at(const pm_memory_plan *plan, const pm_question *q, pm_memory_sample *s)
{
	*s = (pm_memory_sample) {
		.simulated = pm_memory_reserved(plan, q->batch) / PM_MB,
		.conv = pm_memory_largest_conv(plan, q->batch) / PM_MB, .measured = NAN, .need_fits = NAN, .need_fails = NAN
	};
}

/* The samples of a network together count as one: weights[n]; *networks: how many networks there are. */
static pm_code
weigh(const pm_memory_sample *s, int n, pm_arena *a, double *weights, int *networks, pm_status *st)
{
	uint64_t   *network = PM_NEW(a, uint64_t, n);
	uint64_t   *sorted = PM_NEW(a, uint64_t, n);
	int		   *same = PM_NEW(a, int, n);

	if (!network || !sorted || !same)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		network[i] = s[i].network;
	*networks = pm_count_same(network, n, sorted, same);
	for (int i = 0; i < n; i++)
		weights[i] = 1.0 / same[i];
	return PM_OK;
}

int
pm_memory_fold_of(const pm_memory_sample *s)
{
	return (int) (pm_mix(s->network) % PM_MEMORY_FOLDS);
}

/* ---------- peaks ---------- */

static double
predicted(const pm_memory_sample *s, const double *x)
{
	return x[0] + x[1] * s->simulated + x[2] * s->conv;
}

/* Normal equations m x = y of least squares, to which samples are added. */
typedef struct equations
{
	double		m[N_COEFFICIENTS][N_COEFFICIENTS];
	double		y[N_COEFFICIENTS];
} equations;

static equations
prior_alone(const double *prior, const double *deviation)
{
	equations	e = {0};

	for (int k = 0; k < N_COEFFICIENTS; k++)
	{
		e.m[k][k] = 1 / (deviation[k] * deviation[k]);
		e.y[k] = prior[k] * e.m[k][k];
	}
	return e;
}

/* Add a sample with the weight that the coefficients x so far give it: large errors count by their size, not its square. */
static void
add_peak(equations *e, const pm_memory_sample *s, double weight, const double *x)
{
	const double row[N_COEFFICIENTS] = {1, s->simulated, s->conv};
	double		error = fabs(predicted(s, x) / s->measured - 1);
	double		w = weight / (NOISE * fmax(NOISE, error)) / (s->measured * s->measured);

	for (int k = 0; k < N_COEFFICIENTS; k++)
	{
		for (int j = 0; j < N_COEFFICIENTS; j++)
			e->m[k][j] += w * row[k] * row[j];
		e->y[k] += w * row[k] * s->measured;
	}
}

/* Coefficients x from all folds but `without` (-1: from all). */
static void
fit_peaks(const pm_memory_sample *s, const double *weights, int n, int without, const double *prior, const double *deviation, double *x)
{
	memcpy(x, prior, sizeof(double) * N_COEFFICIENTS);
	for (int round = 0; round < REWEIGHTINGS; round++)
	{
		equations	e = prior_alone(prior, deviation);

		for (int i = 0; i < n; i++)
			if (!isnan(s[i].measured) && pm_memory_fold_of(&s[i]) != without)
				add_peak(&e, &s[i], weights[i], x);
		pm_memory_solve(e.m[0], e.y, x, N_COEFFICIENTS);
		for (int k = 0; k < N_COEFFICIENTS; k++)
			x[k] = fmax(x[k], 0);
	}
}

typedef struct error_weight
{
	double		error;			/* relative, absolute */
	double		weight;
} error_weight;

static int
by_error(const void *a, const void *b)
{
	double		x = ((const error_weight *) a)->error;
	double		y = ((const error_weight *) b)->error;

	return (x > y) - (x < y);
}

/* Weighted mean of errors, in percent; *q90: the error that a tenth of the weight is beyond. errors: sorted here. */
static double
sum_errors(error_weight *errors, int n, double *q90)
{
	double		all = 0;
	double		sum = 0;
	double		beyond = 0;

	qsort(errors, (size_t) n, sizeof(error_weight), by_error);
	for (int i = 0; i < n; i++)
	{
		all += errors[i].weight;
		sum += errors[i].weight * errors[i].error;
	}
	*q90 = n > 0 ? errors[n - 1].error : 0;
	for (int i = n - 1; i >= 0 && beyond <= 0.1 * all; i--)
	{
		*q90 = errors[i].error;
		beyond += errors[i].weight;
	}
	return all > 0 ? 100 * sum / all : NAN;
}

/* Append to errors[n_errors] those of the samples of a fold (-1: of all) by the coefficients x; returns how many there are then. */
static int
add_errors(const pm_memory_sample *s, const double *weights, int n, int fold, const double *x, error_weight *errors, int n_errors)
{
	for (int i = 0; i < n; i++)
		if (!isnan(s[i].measured) && (fold < 0 || pm_memory_fold_of(&s[i]) == fold))
			errors[n_errors++] = (error_weight) {fabs(predicted(&s[i], x) / s[i].measured - 1), weights[i]};
	return n_errors;
}

static void
calibrate_peaks(const pm_memory_sample *s, const double *weights, int n, bool is_cpu, error_weight *errors, pm_memory_factors *f,
				pm_memory_fit *fit)
{
	const double prior[N_COEFFICIENTS] = {f->context_mb, f->factor, f->workspace};
	const double *deviation = peak_deviation[is_cpu];
	double		x[N_COEFFICIENTS];
	double		q90;
	double		networks = 0;
	int			k = 0;

	fit->peaks = add_errors(s, weights, n, -1, prior, errors, 0);
	fit->mape_before = sum_errors(errors, fit->peaks, &q90);
	if (fit->peaks == 0)
		return;
	for (int fold = 0; fold < PM_MEMORY_FOLDS; fold++)
	{
		fit_peaks(s, weights, n, fold, prior, deviation, x);
		k = add_errors(s, weights, n, fold, x, errors, k);
	}
	for (int i = 0; i < k; i++)
		networks += errors[i].weight;
	fit->mape = sum_errors(errors, k, &q90);
	fit_peaks(s, weights, n, -1, prior, deviation, x);
	f->context_mb = x[0];
	f->factor = x[1];
	f->workspace = x[2];
	/* nine of ten errors of a logistic distribution are within ln 19 scales */
	f->spread = (networks * q90 * M_PI / sqrt(3) / log(19) + PRIOR_NETWORKS * f->spread) / (networks + PRIOR_NETWORKS);
	f->context_spread_mb = fmax(f->context_spread_mb / sqrt(1 + networks), least_context_spread_mb[is_cpu]);
	f->measured = true;
}

/* ---------- brackets ---------- */

static double
log_likelihood(const pm_memory_sample *s, const double *weights, int n, double available, double mean, double scale)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
	{
		double		fits = isnan(s[i].need_fits) ? 1 : pm_logistic(-(log(s[i].need_fits / available) + mean) / scale);
		double		fails = isnan(s[i].need_fails) ? 0 : pm_logistic(-(log(s[i].need_fails / available) + mean) / scale);

		sum += weights[i] * log(ODD_BRACKETS + (1 - ODD_BRACKETS) * fmax(0, fits - fails));
	}
	return sum;
}

/* Share of brackets, in percent, that hold what the device has. */
static double
in_brackets(const pm_memory_sample *s, int n, double available, double factor)
{
	int			in = 0;
	int			all = 0;

	for (int i = 0; i < n; i++)
	{
		if (isnan(s[i].need_fits) && isnan(s[i].need_fails))
			continue;
		all++;
		in += !(s[i].need_fits * factor > available) && !(s[i].need_fails * factor <= available);
	}
	return all > 0 ? 100.0 * in / all : NAN;
}

static pm_code
calibrate_brackets(const pm_memory_sample *s, const double *weights, int n, double available, pm_memory_factors *f, pm_memory_fit *fit,
				   pm_arena *a, pm_status *st)
{
	double		given = log(f->need_factor);
	double		best = -INFINITY;
	double		best_mean = given;
	double		best_scale = f->fit_spread;

	fit->in_bracket_before = in_brackets(s, n, available, f->need_factor);
	for (int i = -CENTRE_STEPS; i <= CENTRE_STEPS; i++)
		for (int j = -WIDTH_STEPS; j <= WIDTH_STEPS; j++)
		{
			double		mean = given + i * CENTRE_STEP;
			double		scale = f->fit_spread * pow(WIDTH_STEP, j);
			double		prior = pow((mean - given) / CENTRE_DEVIATION, 2) / 2 + pow(j * log(WIDTH_STEP) / WIDTH_DEVIATION, 2) / 2;
			double		v = log_likelihood(s, weights, n, available, mean, scale) - prior;

			if (pm_stopped(a, st))
				return PM_CANCELLED;
			if (v > best)
			{
				best = v;
				best_mean = mean;
				best_scale = scale;
			}
		}
	f->need_factor = exp(best_mean);
	f->fit_spread = best_scale;
	f->measured = true;
	fit->in_bracket = in_brackets(s, n, available, f->need_factor);
	return PM_OK;
}

pm_code
pm_memory_calibrate(const pm_memory_sample *samples, int n, double capacity_mb, bool is_cpu, pm_arena *a,
					pm_memory_factors *f, pm_memory_fit *fit, pm_status *st)
{
	double	   *weights = PM_NEW(a, double, n);
	error_weight *errors = PM_NEW(a, error_weight, n);
	pm_code		rc;

	if (weights == NULL || errors == NULL)
		return pm_no_memory(st, a);
	memset(fit, 0, sizeof(*fit));
	fit->mape_before = fit->mape = fit->in_bracket_before = fit->in_bracket = NAN;
	if ((rc = weigh(samples, n, a, weights, &fit->networks, st)) != PM_OK)
		return rc;
	for (int i = 0; i < n; i++)
		fit->brackets += !isnan(samples[i].need_fits) || !isnan(samples[i].need_fails);
	calibrate_peaks(samples, weights, n, is_cpu, errors, f, fit);
	if (fit->brackets > 0 && capacity_mb > f->context_mb &&
		(rc = calibrate_brackets(samples, weights, n, capacity_mb - f->context_mb, f, fit, a, st)) != PM_OK)
		return rc;
	if (fit->peaks == 0 && fit->brackets == 0)
		return pm_fail(st, PM_ERR_DATA, "no measurement has a peak memory or a batch that did not fit");
	return PM_OK;
}

bool
pm_memory_factors_plausible(const pm_memory_factors *f)
{
	return f->context_mb >= 0 && f->context_mb <= 1e6 && f->factor >= 1e-3 && f->factor <= 1e3 && f->workspace >= 0 && f->workspace <= 1e3 &&
		f->need_factor >= 1e-3 && f->need_factor <= 1e3 && f->spread >= 0 && f->spread <= 10 &&
		f->context_spread_mb >= 0 && f->context_spread_mb <= 1e6 && f->fit_spread >= 1e-4 && f->fit_spread <= 10;
}
