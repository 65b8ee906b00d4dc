/*
 * computed.c - answers to questions with dtype fp8 or about torch.compile: no
 * predictor was trained on these, so the step is computed from the parts of that
 * without.
 */
#include "postgres.h"

#include <math.h>

#include "base/metrics.h"
#include "change/compile.h"
#include "change/fp8.h"
#include "computed.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"

/* What was learned of steps that a framework has compiled is not compiled a second time. */
static bool
is_compiled(const pm_asked *q)
{
	const char *framework = q->sample.query.framework;

	return pm_framework_fuses(framework) && pm_trust_knows_framework(q->ref.predictor->trust, framework);
}

double
pm_compute_parts(const pm_asked *q, pm_part *parts, int n)
{
	pm_asked	slim = *q;		/* the whole graph stays in q */
	const pm_sample *s = &q->sample;
	pm_arena	arena;
	pm_tokens	work;
	pm_status	st = {PM_OK};
	double		step_ms = 0;

	for (int i = 0; i < n; i++)
		step_ms += parts[i].step_ms;
	(void) pm_prepared_get(&slim);
	pm_context_arena(&arena, CurrentMemoryContext, 0);
	if (pm_tokens_build_work(s->skeleton, &s->query, &arena, &work, &st) != PM_OK ||
		(s->query.compile && !is_compiled(q) && pm_compile_parts(&work, &s->query, &arena, parts, n, &step_ms, &st) != PM_OK))
		pm_raise(&st);
	return s->query.fp8 ? pm_fp8_parts(&work, &s->query, pm_buckets_get(&slim, PM_BUCKET_MB_USUAL)->head, q->parallel.accumulation, parts, n) : step_ms;
}

/* The step over that which a predictor knows. */
static double
computed(const pm_asked *q)
{
	pm_asked	whole = *q;
	pm_part    *parts;
	pm_status	st = {PM_OK};
	double		step_ms;
	double		sum = 0;
	int			n = 0;

	pm_ask_whole(&whole);
	parts = palloc0(sizeof(pm_part) * (whole.sample.skeleton->n + 1));
	if (pm_predictor_predict(whole.ref.predictor, &whole.sample, pm_workspace(), &step_ms, parts, &n, &st) != PM_OK)
		pm_raise(&st);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a predictor of kind \"%s\" with these options does not predict the parts of a step, which %s needs", q->ref.predictor->kind->name,
						q->sample.query.fp8 ? "dtype fp8" : "\"compile\""),
				 errhint("%s, or ask another predictor: \"opclass\", \"mdot\" and \"roofline\" do, with the default values of their options.",
						 q->sample.query.fp8 ? "Ask for amp" : "Leave \"compile\" out of \"parallel\"")));
	for (int i = 0; i < n; i++)
		sum += parts[i].step_ms;
	return sum > 0 ? pm_compute_parts(&whole, parts, n) / sum : 1;
}

static void
add_note(pm_answer *a, const char *note)
{
	a->note = psprintf("%s%s%s", a->note ? a->note : "", a->note ? "; " : "", note);
}

/* Why the answer is not one that was learned. */
static void
say_why(const pm_asked *asked, pm_answer *a)
{
	const pm_question *q = &asked->sample.query;

	if (q->compile && is_compiled(asked))
		add_note(a, "steps of this framework are compiled anyway");
	else if (q->compile)
	{
		a->in_domain = false;
		a->reasons |= 1u << PM_REASON_COMPILED;
		add_note(a, "compiled: computed from the operators that are fused");
	}
	if (!q->fp8)
		return;
	a->in_domain = false;
	a->reasons |= 1u << PM_CAUSE_DTYPE_NOT_SEEN;
	add_note(a, psprintf("fp8 was not measured: computed from the products of the step with %s%s", pm_dtype_name[q->dtype],
						 pm_gpu_fp8_units(q->gpu) == PM_FP8_UNKNOWN ? ", and whether the device has units for it is not known" : ""));
}

double
pm_compute_answer(pm_asked *q, pm_answer *a)
{
	const pm_question *asked = &q->sample.query;
	double		ratio = computed(q);
	double		below = a->low_ms / a->step_ms;
	double		above = a->high_ms / a->step_ms;
	double		error;

	a->step_ms *= ratio;
	if (isnan(a->level))
		return ratio;
	/* the gain has an error of its own; NaN stays NaN */
	error = pm_deviations(a->level) * hypot(asked->fp8 ? PM_FP8_ERROR : 0, asked->compile && !is_compiled(q) ? PM_COMPILE_ERROR : 0);
	a->low_ms = a->step_ms * exp(-hypot(log(below), error));
	a->high_ms = a->step_ms * exp(hypot(log(above), error));
	say_why(q, a);
	return ratio;
}
