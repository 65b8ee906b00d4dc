/*
 * roofline.c - the predictor kind "roofline": for each group of operators
 * (class, convolutions by kind) a factor on its roofline time, plus a price
 * for each kernel launch:
 *
 *     T = sum over groups g of f_g * rho_g  +  f_launch * launches      f >= 0
 *
 * Factors minimise the relative error with a ridge that pulls them towards
 * the median ratio of measured to roofline time, so that it works from one
 * profile on, and groups that no profile exercises get the common factor.
 */
#include <math.h>
#include <string.h>

#include "base/metrics.h"
#include "features/inputs.h"
#include "features/phases.h"
#include "kinds/kind.h"

#define LAUNCH		PM_N_GROUPS	/* the last coefficient: us for each launch */
#define N_FACTORS	(PM_N_GROUPS + 1)
#define SWEEPS		500

enum
{
	OPT_RIDGE, OPT_CALIBRATION, OPT_SEED, N_OPTIONS
};

static const pm_option options[N_OPTIONS] = {
	[OPT_RIDGE] = {"ridge", PM_OPT_REAL, 0.01, 1e-9, 1e6, NULL, "pull of each factor towards the common one"},
	[OPT_CALIBRATION] = PM_OPTION_CALIBRATION,
	[OPT_SEED] = {"seed", PM_OPT_INT, 42, 0, 2147483647, NULL, "not used: the fit is in closed form"},
};

typedef struct roofline
{
	double		factor[N_FACTORS];
} roofline;

static double
roofline_memory(const pm_options *o, const pm_dataset *d, int threads)
{
	(void) o;
	(void) threads;
	return pm_arena_memory(pm_inputs_memory(d) + (double) d->n * (N_FACTORS + 1) * sizeof(double));
}

/* x[N_FACTORS] in ms: what each factor multiplies */
static void
aggregate(const pm_tokens *t, double *x)
{
	memset(x, 0, N_FACTORS * sizeof(double));
	for (int i = 0; i < t->n; i++)
		x[pm_token_group(t, i)] += t->skeleton->copies[i] * t->roofline_us[i] / 1000;
	x[LAUNCH] = t->n_kernels / 1000;
}

/*
 * Minimise sum (x f - 1)^2 + ridge * n * sum s_j (f_j - prior_j)^2 over f >= 0 by cyclic
 * coordinate descent; the problem is convex.  x: [n, N_FACTORS] divided by the measured time.
 * The ridge is relative to each column's own size, so that units do not matter.
 */
static pm_code
descend(const double *x, int n, const double *prior, double ridge, double *f, double *residual, const pm_arena *a,
		pm_status *st)
{
	for (int i = 0; i < n; i++)
	{
		const double *row = x + (size_t) i * N_FACTORS;

		residual[i] = 1;
		for (int j = 0; j < N_FACTORS; j++)
			residual[i] -= row[j] * f[j];
	}
	for (int sweep = 0; sweep < SWEEPS; sweep++)
		for (int j = 0; j < N_FACTORS; j++)
		{
			double		weight = ridge * n / (prior[j] * prior[j]);
			double		xx = weight;
			double		xr = weight * (prior[j] - f[j]);
			double		step;

			if (pm_stopped(a, st))
				return PM_CANCELLED;
			for (int i = 0; i < n; i++)
			{
				double		v = x[(size_t) i * N_FACTORS + j];

				xx += v * v;
				xr += v * residual[i];
			}
			step = fmax(f[j] + xr / xx, 0) - f[j];
			f[j] += step;
			for (int i = 0; i < n; i++)
				residual[i] -= step * x[(size_t) i * N_FACTORS + j];
		}
	return PM_OK;
}

static pm_code
roofline_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
			 const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	roofline   *m = PM_NEW(a, roofline, 1);
	double	   *x = PM_NEW(a, double, (size_t) d->n * N_FACTORS);
	double	   *ratio = PM_NEW(a, double, d->n);
	double		prior[N_FACTORS];
	double		started = pm_now();
	pm_tokens  *tokens;
	pm_code		rc;

	(void) seed;
	(void) threads;
	(void) hooks;
	if (!m || !x || !ratio)
		return pm_no_memory(st, a);
	if ((rc = pm_tokens_of(d, a, &tokens, st)) != PM_OK)
		return rc;
	for (int i = 0; i < d->n; i++)
	{
		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		aggregate(&tokens[i], x + (size_t) i * N_FACTORS);
		for (int j = 0; j < N_FACTORS; j++)
			x[(size_t) i * N_FACTORS + j] /= d->samples[i].step_ms;
		ratio[i] = 1000 * d->samples[i].step_ms / fmax(tokens[i].total_roofline_us, 1e-6);
	}
	pm_sort(ratio, d->n);
	for (int j = 0; j < N_FACTORS; j++)
		prior[j] = j == LAUNCH ? PM_USUAL_LAUNCH_US : ratio[d->n / 2];
	memcpy(m->factor, prior, sizeof(prior));
	if ((rc = descend(x, d->n, prior, p->options.value[OPT_RIDGE], m->factor, ratio, a, st)) != PM_OK)
		return rc;
	p->impl = m;
	report->seconds = pm_now() - started;
	report->n_params = N_FACTORS;
	return PM_OK;
}

static pm_code
roofline_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
				 double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	const roofline *m = p->impl;
	pm_tokens	t;
	pm_code		rc = pm_tokens_build(s->skeleton, &s->query, scratch, &t, st);

	if (rc != PM_OK)
		return rc;
	*step_ms = 0;
	for (int i = 0; i < t.n; i++)
	{
		double		device = m->factor[pm_token_group(&t, i)] * t.roofline_us[i] / 1000;
		double		launch = m->factor[LAUNCH] * t.kernels[i] / 1000;
		double		ms = t.skeleton->copies[i] * (device + launch);

		*step_ms += ms;
		if (parts != NULL)
			parts[i] = (pm_part) {.token = i, .step_ms = ms, .forward_ms = NAN, .backward_ms = NAN,
				.update_ms = NAN, .bound = launch > device ? 'l' : t.bound[i]};
	}
	if (parts != NULL)
		*n_parts = t.n;
	return PM_OK;
}

/* Place among the factors of the i-th group of the predictor's lists: classes, then kinds of convolutions. */
static int
group_here(const pm_schema *s, int i)
{
	int			classes = s->list[PM_LIST_CLASS].n;

	return i < classes ? pm_here(s, PM_LIST_CLASS, i) : PM_N_CLASSES + pm_here(s, PM_LIST_CONV_KIND, i - classes);
}

static int
count_groups(const pm_schema *s)
{
	return s->list[PM_LIST_CLASS].n + s->list[PM_LIST_CONV_KIND].n;
}

static pm_code
roofline_save(const pm_predictor *p, pm_buffer *b, pm_status *st)
{
	const pm_schema *s = pm_predictor_schema(p);
	const roofline *m = p->impl;

	(void) st;
	pm_put_u32(b, (uint32_t) count_groups(s) + 1);
	for (int i = 0; i < count_groups(s); i++)
		pm_put_f64(b, m->factor[group_here(s, i)]);
	pm_put_f64(b, m->factor[LAUNCH]);
	return PM_OK;
}

static pm_code
roofline_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	const pm_schema *s = pm_predictor_schema(p);
	roofline   *m = PM_NEW(a, roofline, 1);

	if (!m)
		return pm_no_memory(st, a);
	for (int j = 0; j < PM_N_GROUPS; j++)
		m->factor[j] = NAN;
	if (pm_get_u32(r, INT32_MAX) != (uint32_t) count_groups(s) + 1)
		r->failed = true;
	for (int i = 0; i < count_groups(s); i++)
		m->factor[group_here(s, i)] = pm_get_f64(r);
	m->factor[LAUNCH] = pm_get_f64(r);
	/* groups that it was trained before are as operators that are not known */
	for (int j = 0; j < PM_N_GROUPS; j++)
		if (isnan(m->factor[j]))
			m->factor[j] = m->factor[PM_CLASS_MOVE];
	p->impl = m;
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged factors") : PM_OK;
}

const pm_kind pm_kind_roofline = {
	.name = "roofline",
	.summary = "roofline time of each operator times a fitted factor for its class; works from one profile on",
	.options = options,
	.n_options = PM_N_OPTIONS(options),
	.min_samples = 1,
	.quantities = PM_LEARNS(PM_STEP_MS),
	.memory = roofline_memory,
	.fit = roofline_fit,
	.predict = roofline_predict,
	.save = roofline_save,
	.load = roofline_load
};
