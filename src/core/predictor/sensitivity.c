/*
 * sensitivity.c - derivatives of a prediction by the state of its card.
 *
 * The question is prepared once and asked with each element moved a little to
 * both sides: whatever the kind does with factors, the derivative is that of
 * its answers.
 */
#include "predictor/sensitivity.h"

#include <math.h>
#include <string.h>

#include "predictor/trust.h"

#define STEP	0.05			/* of an element: far above rounding, where answers are still straight */

bool
pm_has_state(const pm_predictor *p)
{
	return p->kind->scales != NULL && p->kind->prepare != NULL && p->kind->scales(&p->options);
}

/* A question and what it is scaled by. */
typedef struct asked
{
	const pm_predictor *p;
	pm_tokens	t;
	pm_factors	factors;
	pm_state_shares *shares;	/* [t.n] */
	double	   *device;			/* [t.n] */
	void	   *prepared;
	double		state[PM_N_FACTORS];
	bool		acts[PM_N_FACTORS];	/* some token belongs to the element */
} asked;

static double
ask(asked *x)
{
	pm_state_factors(x->state, x->shares, x->t.n, x->device, &x->factors);
	return x->p->kind->predict_prepared(x->p, x->prepared, &x->t);
}

static pm_code
begin(const pm_predictor *p, const pm_sample *s, const double *state, pm_arena *a, asked *x, pm_status *st)
{
	pm_sample	scaled = *s;
	pm_code		rc;

	*x = (asked) {.p = p};
	if (state != NULL)
		memcpy(x->state, state, sizeof(x->state));
	scaled.fitted = &x->factors;
	if ((rc = pm_tokens_build(s->skeleton, &s->query, a, &x->t, st)) != PM_OK)
		return rc;
	x->shares = PM_NEW(a, pm_state_shares, x->t.n);
	x->device = PM_NEW(a, double, x->t.n);
	if (!x->shares || !x->device)
		return pm_no_memory(st, a);
	pm_state_shares_of(&x->t, x->shares);
	x->acts[PM_STATE_LAUNCH] = x->acts[PM_STATE_REST] = true;
	for (int i = 0; i < x->t.n; i++)
		for (int k = 0; k < x->shares[i].n; k++)
			x->acts[x->shares[i].at[k]] = true;
	return p->kind->prepare(p, &scaled, &x->t, a, a, &x->prepared, st);
}

pm_code
pm_sensitivity(const pm_predictor *p, const pm_sample *s, const double *state, pm_arena *scratch, double *ms, double *z, pm_status *st)
{
	pm_sample	q = *s;
	asked		x;
	pm_code		rc = pm_trust_framework(p->trust, s, scratch, &q.query.framework, st);

	memset(z, 0, PM_N_FACTORS * sizeof(double));
	if (rc != PM_OK)
		return rc;
	if (!pm_has_state(p))
		rc = p->kind->predict(p, &q, scratch, ms, NULL, NULL, st);
	else if ((rc = begin(p, &q, state, scratch, &x, st)) == PM_OK)
		*ms = ask(&x);
	if (rc == PM_OK && !(isfinite(*ms) && *ms > 0))
		return pm_fail(st, PM_ERR_INTERNAL, "prediction is not a positive finite number");
	if (rc != PM_OK || !pm_has_state(p))
		return rc;
	for (int k = 0; k < PM_N_FACTORS; k++)
	{
		double		here = x.state[k];
		double		up;

		if (!x.acts[k])
			continue;
		x.state[k] = here + STEP;
		up = ask(&x);
		x.state[k] = here - STEP;
		z[k] = log(up / ask(&x)) / (2 * STEP);
		x.state[k] = here;
	}
	return PM_OK;
}
