/*
 * fp8.c - answers to questions with dtype fp8: no predictor was trained on it, so
 * the step is computed from the parts of that with amp.
 */
#include "postgres.h"

#include <math.h>

#include "base/metrics.h"
#include "change/fp8.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "fp8.h"

double
pm_narrow_parts(const pm_asked *q, pm_part *parts, int n)
{
	pm_asked	slim = *q;		/* the whole graph stays in q */
	const pm_sample *s = &q->sample;
	pm_arena	arena;
	pm_tokens	work;
	pm_status	st = {PM_OK};

	(void) pm_prepared_get(&slim);
	pm_context_arena(&arena, CurrentMemoryContext, 0);
	if (pm_tokens_build_work(s->skeleton, &s->query, &arena, &work, &st) != PM_OK)
		pm_raise(&st);
	return pm_fp8_parts(&work, &s->query, pm_buckets_get(&slim, PM_BUCKET_MB_USUAL)->head, q->parallel.accumulation, parts, n);
}

/* The step in FP8 over that in 16 bits. */
static double
narrowed(const pm_asked *q)
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
				 errmsg("a predictor of kind \"%s\" with these options does not predict the parts of a step, which dtype fp8 needs", q->ref.predictor->kind->name),
				 errhint("Ask for amp, or another predictor: \"opclass\", \"mdot\" and \"roofline\" do, with the default values of their options.")));
	for (int i = 0; i < n; i++)
		sum += parts[i].step_ms;
	return sum > 0 ? pm_narrow_parts(&whole, parts, n) / sum : 1;
}

double
pm_narrow_answer(pm_asked *q, pm_answer *a)
{
	double		ratio = narrowed(q);
	double		below = a->low_ms / a->step_ms;
	double		above = a->high_ms / a->step_ms;

	a->step_ms *= ratio;
	if (isnan(a->level))
		return ratio;
	/* the gain has an error of its own; NaN stays NaN */
	a->low_ms = a->step_ms * exp(-hypot(log(below), pm_deviations(a->level) * PM_FP8_ERROR));
	a->high_ms = a->step_ms * exp(hypot(log(above), pm_deviations(a->level) * PM_FP8_ERROR));
	a->in_domain = false;
	a->reasons |= 1u << PM_CAUSE_DTYPE_NOT_SEEN;
	a->note = psprintf("%s%sfp8 was not measured: computed from the products of the step with %s%s", a->note ? a->note : "", a->note ? "; " : "", pm_dtype_name[q->sample.query.dtype],
					   pm_gpu_fp8_units(q->sample.query.gpu) == PM_FP8_UNKNOWN ? ", and whether the device has units for it is not known" : "");
	return ratio;
}
