/*
 * opclass.c - the predictor kind "opclass": the step as a sum over classes of
 * operators (convolutions by kind), each linear in what its operators load:
 *
 *     step = sum over classes c of  a_c compute_c + b_c memory_c + l_c launches_c
 *            + u update + k                                      all coefficients >= 0
 *
 * and then the same with the types of operators that the training rows have in
 * place of the classes; the classes serve types that these rows do not have.
 *
 * compute and memory are times at the rates of the device (tokens.h), so a and
 * b say how many times longer the work takes, and can be used for other
 * devices.  docs/rivals.md tells where the idea comes from.
 *
 * Rows are divided by their step: the error is relative.  Coefficients are
 * fitted for all rows, pulled towards usual ones, then for CPUs and for GPUs,
 * each layout of these, each framework and each device of these, each pulled
 * towards the wider one before it.  A prediction takes the narrowest that covers
 * the question.
 */
#include "kinds/opclass/opclass.h"

#include <math.h>

#define LEAST_FACTOR	0.25	/* of pm_opclass_device_factor() */
#define MOST_FACTOR		64.0

static const pm_option options[PM_N_OPCLASS_OPTIONS] = {
	[PM_OPCLASS_PULL] = {"pull", PM_OPT_REAL, 1e-4, 1e-9, 1e6, NULL,
	"price of a coefficient's distance from where it is pulled, in squared relative errors of one row"},
	[PM_OPCLASS_CLASS_PULL] = {"class_pull", PM_OPT_REAL, 0.3, 0, 1e6, NULL,
	"price of a type's distance from its class, relative to the class's coefficient; 0: types know nothing of classes"},
	[PM_OPCLASS_LOSS] = {"loss", PM_OPT_CHOICE, PM_OPCLASS_ABSOLUTE, 0, 1, "absolute|squared",
	"relative error to minimise: its absolute value, or its square"},
	[PM_OPCLASS_BY_TYPE] = {"by_type", PM_OPT_BOOL, 1, 0, 1, NULL,
	"coefficients for each type of operator seen; those of its class only where it was not"},
	[PM_OPCLASS_BY_DEVICE] = {"by_device", PM_OPT_BOOL, 1, 0, 1, NULL,
	"coefficients also for each gpu and framework seen, pulled towards the common ones"},
	[PM_OPCLASS_OPERATORS] = {"operators", PM_OPT_BOOL, 1, 0, 1, NULL,
	"levels of cards without measured steps from single operators"},
	[PM_OPCLASS_FLOOR] = {"floor", PM_OPT_BOOL, 0, 0, 1, NULL,
	"on GPUs all operators together take no less time than at the peak and with their traffic", .later = true},
	[PM_OPCLASS_CALIBRATION] = PM_OPTION_CALIBRATION,
	[PM_OPCLASS_SEED] = {"seed", PM_OPT_INT, 42, 0, 2147483647, NULL, "not used: nothing is random"},
};

/* ---- predicting ---- */

/* ms that the update of one copy of a token takes, if the fit says `ms`. */
static double
update_of(const pm_opclass_rates *r, const pm_tokens *t, int i, double ms)
{
	return r->knows_update ? pm_opclass_bounded_update(t->phase_us[3 * i + 2] / 1000, ms) : ms;
}

/* Time of all copies of a token, which of its terms is the largest, and what of it is the update. factors may be NULL. */
static pm_part
part_of(const pm_opclass_rates *r, const pm_tokens *t, int i, const double *coef, double update_factor, const pm_factors *factors, double *update_ms)
{
	static const char bounds[PM_N_TERMS] = {'c', 'm', 'l'};
	double		v[PM_N_TERMS];
	double		update;
	double		ms;
	int			largest = 0;

	pm_opclass_load_of(t, i, &r->cards, v, &update);
	update = update_of(r, t, i, update_factor * update);
	if (factors != NULL)
	{
		v[PM_TERM_COMPUTE] *= factors->device[i];
		v[PM_TERM_MEMORY] *= factors->device[i];
		v[PM_TERM_LAUNCH] *= factors->launch;
		update *= factors->device[i];
	}
	for (int k = 0; k < PM_N_TERMS; k++)
	{
		v[k] *= coef[k];
		if (v[k] > v[largest])
			largest = k;
	}
	ms = v[PM_TERM_COMPUTE] + v[PM_TERM_MEMORY] + v[PM_TERM_LAUNCH] + update;
	*update_ms = t->skeleton->copies[i] * update;
	return (pm_part) {.token = i, .step_ms = t->skeleton->copies[i] * ms, .forward_ms = NAN, .backward_ms = NAN,
		.update_ms = NAN, .bound = ms > 0 ? bounds[largest] : '-'};
}

/*
 * ms that the passes of a step take at least, where the option says so, else 0; the update comes on top.  Of all operators together: the
 * coefficients of one type may be too small and those of another too large, and to raise the former alone would leave the step too long.
 */
static double
least_of(const pm_opclass_rates *r, const pm_tokens *t, const pm_factors *factors)
{
	double		us = 0;

	for (int i = 0; i < t->n && r->floored; i++)
		us += t->skeleton->copies[i] * t->floor_us[i] * (factors != NULL ? factors->device[i] : 1);
	return us / 1000;
}

/* ms of a step beside its operators. factors may be NULL. */
static double
rest_of(const double *tail, pm_mode mode, const pm_factors *factors)
{
	return fmax(tail[1] * (mode != PM_TRAIN ? PM_INFER_REST_SHARE : 1), PM_LEAST_STEP_MS) * (factors != NULL ? factors->rest : 1);
}

static const double *
tail_of(const pm_opclass *m, const pm_stratum *in)
{
	return m->n_types > 0 ? in->by_type + PM_TERM_UPDATE(m->n_types) : in->by_class + PM_TERM_UPDATE(PM_N_OPCLASSES);
}

static pm_code
opclass_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
				double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	pm_opclass_rates r = pm_opclass_rates_of(p, &s->query);
	const double *tail = tail_of(r.m, r.in);
	double		rest = rest_of(tail, s->query.mode, s->fitted);
	double		passes = 0;
	double		updates = 0;
	double		held;
	pm_tokens	t;
	pm_code		rc = pm_tokens_build(s->skeleton, &s->query, scratch, &t, st);

	if (rc != PM_OK)
		return rc;
	for (int i = 0; i < t.n; i++)
	{
		double		coef[PM_N_TERMS];
		double		update;
		pm_part		part;

		pm_opclass_coefs_of(&r, &t, i, coef);
		part = part_of(&r, &t, i, coef, tail[0], s->fitted, &update);
		passes += part.step_ms - update;
		updates += update;
		part.update_ms = update;
		if (parts != NULL)
			parts[i] = part;
	}
	held = fmax(passes, least_of(&r, &t, s->fitted));
	for (int i = 0; i < t.n && parts != NULL; i++)
	{
		if (passes > 0)
			parts[i].step_ms = parts[i].update_ms + (parts[i].step_ms - parts[i].update_ms) * (held / passes);
		parts[i].update_ms = NAN;
	}
	if (parts != NULL)
	{
		/* what no operator is known to take */
		parts[t.n] = (pm_part) {.token = -1, .step_ms = rest + (passes > 0 ? 0 : held), .forward_ms = NAN, .backward_ms = NAN, .update_ms = NAN, .bound = '-'};
		*n_parts = t.n + 1;
	}
	*step_ms = held + updates + rest;
	return PM_OK;
}

/* Which coefficients the tokens of a question have, whatever the batch. */
typedef struct prepared
{
	const double *tail;			/* of the stratum */
	pm_opclass_rates rates;
	double	   *coefs;			/* [n, PM_N_TERMS] of each token */
	const pm_factors *fitted;
	pm_mode		mode;
} prepared;

static pm_code
opclass_prepare(const pm_predictor *p, const pm_sample *s, const pm_tokens *t, pm_arena *a, pm_arena *scratch,
				void **state, pm_status *st)
{
	prepared   *x = PM_NEW(a, prepared, 1);

	(void) scratch;
	if (!x || !(x->coefs = PM_NEW(a, double, PM_N_TERMS * (size_t) t->n)))
		return pm_no_memory(st, a);
	x->rates = pm_opclass_rates_of(p, &s->query);
	x->tail = tail_of(x->rates.m, x->rates.in);
	x->fitted = s->fitted;
	x->mode = s->query.mode;
	for (int i = 0; i < t->n; i++)
		pm_opclass_coefs_of(&x->rates, t, i, x->coefs + PM_N_TERMS * (size_t) i);
	*state = x;
	return PM_OK;
}

static double
opclass_predict_prepared(const pm_predictor *p, const void *state, const pm_tokens *work)
{
	const prepared *x = state;
	double		passes = 0;
	double		updates = 0;

	(void) p;
	for (int i = 0; i < work->n; i++)
	{
		double		update;

		passes += part_of(&x->rates, work, i, x->coefs + PM_N_TERMS * (size_t) i, x->tail[0], x->fitted, &update).step_ms - update;
		updates += update;
	}
	return fmax(passes, least_of(&x->rates, work, x->fitted)) + updates + rest_of(x->tail, x->mode, x->fitted);
}

double
pm_opclass_device_factor(const pm_opclass_rates *r, const pm_tokens *t, int i)
{
	double		coef[PM_N_TERMS];
	pm_card_work work = pm_card_work_of(t->op_class[i]);
	double		peak_ms = (r->cards.compute[work] * t->compute_us[i] + r->cards.memory[work] * t->memory_us[i]) / 1000;
	double		v[PM_N_TERMS];
	double		update;
	double		ms;

	pm_opclass_coefs_of(r, t, i, coef);
	pm_opclass_load_of(t, i, &r->cards, v, &update);
	ms = coef[PM_TERM_COMPUTE] * v[PM_TERM_COMPUTE] + coef[PM_TERM_MEMORY] * v[PM_TERM_MEMORY] +
		update_of(r, t, i, tail_of(r->m, r->in)[0] * update);
	return ms > 0 && peak_ms > 0 ? fmax(LEAST_FACTOR, fmin(ms / peak_ms, MOST_FACTOR)) : 1;
}

/* Loads are those of the pass that is asked about, and factors are on loads. */
static bool
opclass_takes(const pm_options *o)
{
	(void) o;
	return true;
}

static const pm_cards *
opclass_cards(const pm_predictor *p)
{
	return &((const pm_opclass *) p->impl)->cards;
}

const pm_kind pm_kind_opclass = {
	.name = "opclass",
	.summary = "non-negative sum of arithmetic, traffic and launches of each class and type of operators",
	.options = options,
	.n_options = PM_N_OPTIONS(options),
	.min_samples = 10,
	.quantities = PM_LEARNS(PM_STEP_MS),
	.learns_operators = pm_opclass_learns_operators,
	.memory = pm_opclass_memory,
	.fit = pm_opclass_fit,
	.predict = opclass_predict,
	.prepare = opclass_prepare,
	.predict_prepared = opclass_predict_prepared,
	.scales = opclass_takes,
	.infers = opclass_takes,
	.cards = opclass_cards,
	.save = pm_opclass_save,
	.load = pm_opclass_load
};
