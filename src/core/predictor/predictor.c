/*
 * predictor.c - predictions: asked once, or prepared and asked at many batches.
 */
#include "predictor/predictor.h"

#include <math.h>
#include <string.h>

#include "predictor/bounds.h"
#include "predictor/correction.h"
#include "predictor/doubts.h"
#include "predictor/infer.h"
#include "predictor/parts.h"
#include "predictor/passes.h"
#include "predictor/sensitivity.h"

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

/* ---- a question asked at many batches ---- */

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

	if (rc == PM_OK)
		rc = pm_releases_spread(p, s, x->framework, scratch, &x->spread, st);
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
	if (x->framework != NULL)
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
	*step_ms = x->kind_ms = p->kind->predict_prepared(p, x->state, &x->bench->work);
	x->batch = s->query.batch;
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
		pm_add_doubts(p, &s->query, step_ms, level, &x->spread, v);
	return rc;
}

/* *ms: the kind's answer to s, whose work is on the bench then. */
static pm_code
answer_of_kind(const pm_predictor *p, pm_prepared *x, const pm_sample *s, double *ms, pm_status *st)
{
	pm_code		rc = put_on_bench(x, s, st);

	if (rc == PM_OK)
		*ms = x->batch == s->query.batch ? x->kind_ms : p->kind->predict_prepared(p, x->state, &x->bench->work);
	return rc;
}

/* The same, ms, after the work on the bench was changed. */
static double
answer_changed(const pm_predictor *p, pm_prepared *x)
{
	/* nobody is to take it for the work of a question */
	x->bench->batch = 0;
	return p->kind->predict_prepared(p, x->state, &x->bench->work);
}

pm_code
pm_predictor_share(const pm_predictor *p, pm_prepared *x, const pm_sample *s, double by, double *share, pm_status *st)
{
	double		ms;
	pm_code		rc;

	*share = by;
	if (x->state == NULL)
		return PM_OK;
	if ((rc = answer_of_kind(p, x, s, &ms, st)) != PM_OK)
		return rc;
	pm_tokens_scale_device(&x->bench->work, by);
	*share = answer_changed(p, x) / ms;
	return PM_OK;
}

pm_code
pm_predictor_update_share(const pm_predictor *p, pm_prepared *x, const pm_sample *s, double *share, pm_status *st)
{
	double		ms;
	pm_code		rc;

	*share = NAN;
	if (x->state == NULL)
		return PM_OK;
	if ((rc = answer_of_kind(p, x, s, &ms, st)) != PM_OK)
		return rc;
	pm_tokens_drop_update(&x->bench->work);
	*share = fmax(1 - answer_changed(p, x) / ms, 0);
	return PM_OK;
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
	const char *framework;
	pm_spread	spread;
	pm_code		rc = pm_trust_judge(p->trust, s, step_ms, level, pm_doubts_card(p, &s->query), scratch, v, st);

	if (rc != PM_OK || (rc = pm_trust_framework(p->trust, s, scratch, &framework, st)) != PM_OK ||
		(rc = pm_releases_spread(p, s, framework != s->query.framework ? framework : NULL, scratch, &spread, st)) != PM_OK)
		return rc;
	pm_add_doubts(p, &s->query, step_ms, level, &spread, v);
	return PM_OK;
}
