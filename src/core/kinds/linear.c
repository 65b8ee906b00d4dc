/*
 * linear.c - the predictor kind "linear": what a configuration-based method
 * knows.  Ridge regression of ln(step_ms) on the logarithms of total FLOPs,
 * total bytes, parameters and batch.
 */
#include <math.h>
#include <string.h>

#include "nn/solve.h"
#include "features/inputs.h"
#include "kinds/kind.h"

#define N_TERMS 5				/* constant, flops, bytes, parameters, batch */

enum
{
	OPT_RIDGE, OPT_CALIBRATION, OPT_SEED, N_OPTIONS
};

static const pm_option options[N_OPTIONS] = {
	[OPT_RIDGE] = {"ridge", PM_OPT_REAL, 1e-3, 1e-9, 1e6, NULL, "penalty on the coefficients, a row"},
	[OPT_CALIBRATION] = PM_OPTION_CALIBRATION,
	[OPT_SEED] = {"seed", PM_OPT_INT, 42, 0, 2147483647, NULL, "not used: the fit is in closed form"},
};

static const char *const names[N_TERMS] = {"constant", "flops", "bytes", "params", "batch"};
static const pm_names term_names = {"coefficient", N_TERMS, names};

typedef struct linear
{
	double		beta[N_TERMS];
} linear;

static double
linear_memory(const pm_options *o, const pm_dataset *d, int threads)
{
	(void) o;
	(void) threads;
	return pm_arena_memory(pm_inputs_memory(d));
}

static void
terms(const pm_tokens *t, int64_t batch, double *x)
{
	x[0] = 1;
	x[1] = log(1 + t->total_flops);
	x[2] = log(1 + t->total_bytes);
	x[3] = log(1 + t->params);
	x[4] = log((double) batch);
}

static pm_code
linear_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
		   const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	linear	   *m = PM_NEW(a, linear, 1);
	double		xx[N_TERMS * N_TERMS] = {0};
	double		started = pm_now();
	pm_tokens  *tokens;
	pm_code		rc;

	(void) seed;
	(void) threads;
	(void) hooks;
	if (!m)
		return pm_no_memory(st, a);
	if ((rc = pm_tokens_of(d, a, &tokens, st)) != PM_OK)
		return rc;
	for (int i = 0; i < d->n; i++)
	{
		double		x[N_TERMS];

		terms(&tokens[i], d->samples[i].query.batch, x);
		for (int j = 0; j < N_TERMS; j++)
		{
			m->beta[j] += x[j] * log(d->samples[i].step_ms);
			for (int k = 0; k < N_TERMS; k++)
				xx[j * N_TERMS + k] += x[j] * x[k];
		}
	}
	for (int j = 0; j < N_TERMS; j++)
		xx[j * N_TERMS + j] += p->options.value[OPT_RIDGE] * d->n;
	if (!pm_solve_spd(xx, m->beta, N_TERMS))
		return pm_fail(st, PM_ERR_DATA, "the measurements are too few or too much alike to fit the coefficients");
	p->impl = m;
	report->seconds = pm_now() - started;
	report->n_params = N_TERMS;
	return PM_OK;
}

/* It knows the step alone; parts share it out by roofline time. */
static pm_code
linear_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
			   double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	const linear *m = p->impl;
	double		x[N_TERMS];
	double		log_ms = 0;
	pm_tokens	t;
	pm_code		rc = pm_tokens_build(s->skeleton, &s->query, scratch, &t, st);

	if (rc != PM_OK)
		return rc;
	terms(&t, s->query.batch, x);
	for (int j = 0; j < N_TERMS; j++)
		log_ms += m->beta[j] * x[j];
	*step_ms = exp(log_ms);
	if (parts == NULL)
		return PM_OK;
	pm_share_by_roofline(&t, *step_ms, parts, n_parts);
	return PM_OK;
}

static pm_code
linear_save(const pm_predictor *p, pm_buffer *b, pm_status *st)
{
	const linear *m = p->impl;

	(void) st;
	pm_named_save(&term_names, m->beta, b);
	return PM_OK;
}

static pm_code
linear_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	linear	   *m = PM_NEW(a, linear, 1);

	if (!m)
		return pm_no_memory(st, a);
	p->impl = m;
	for (int j = 0; j < N_TERMS; j++)
		m->beta[j] = NAN;
	return pm_named_load(&term_names, m->beta, r, a, st);
}

const pm_kind pm_kind_linear = {
	.name = "linear",
	.summary = "log-linear in total FLOPs, bytes, parameters and batch",
	.options = options,
	.n_options = PM_N_OPTIONS(options),
	.min_samples = N_TERMS + 1,
	.quantities = PM_LEARNS(PM_STEP_MS),
	.memory = linear_memory,
	.fit = linear_fit,
	.predict = linear_predict,
	.save = linear_save,
	.load = linear_load
};
