/*
 * operators.c - what single operators tell the kind "opclass" of the levels of
 * cards.  Coefficients come from steps alone.
 */
#include "kinds/opclass/opclass.h"

#include <math.h>

#include "features/phases.h"

#define CLEARLY		2.0			/* an operator is bound by arithmetic, or by traffic, that takes so many times as long as the other */
#define MOST_LAUNCH	0.25		/* of the measured time: else it tells of launches */

bool
pm_opclass_learns_operators(const pm_options *o)
{
	return o->value[PM_OPCLASS_OPERATORS] != 0;
}

/* A type of tokens is an operator of the catalogue, or, behind these, a kind of convolution. */
static bool
is_fused_attention(const pm_tokens *t)
{
	return t->op_class[0] == PM_CLASS_GEMM && pm_op_row_of(t->type[0])->flops == PM_FLOPS_ATTENTION;
}

/*
 * Measured time over that at the card's peaks.  Arithmetic is judged on convolutions and matrix products, memory on the
 * others.  False: the operator says nothing of a card's level.  Nor does fused attention: its kernels are not the library's products.
 */
static bool
level_of_operator(const pm_sample *s, const pm_tokens *t, pm_card_operator *o)
{
	bool		product = t->op_class[0] == PM_CLASS_CONV || t->op_class[0] == PM_CLASS_GEMM;
	double		compute = t->compute_us[0];
	double		memory = t->memory_us[0];
	double		launch = PM_USUAL_LAUNCH_US * t->kernels[0];
	double		us = 1000 * s->step_ms;

	if (is_fused_attention(t))
		return false;
	if (launch > MOST_LAUNCH * us || !(product ? compute > CLEARLY * memory : memory > CLEARLY * compute))
		return false;
	*o = (pm_card_operator) {.gpu = s->query.gpu, .dtype = pm_cards_learned_as(s->query.gpu, (int) s->query.dtype), .both = !s->query.forward_only,
		.work = product ? (int) pm_card_work_of(t->op_class[0]) : PM_CARD_MEMORY,
		.level = log((us - launch) / (product ? compute : memory))};
	return isfinite(o->level);
}

pm_code
pm_opclass_fit_operators(pm_opclass *m, const pm_dataset *d, pm_arena *a, pm_status *st)
{
	pm_card_operator *o = PM_NEW(a, pm_card_operator, d->n_operators + 1);
	int			n = 0;
	pm_code		rc = PM_OK;

	if (!o)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n_operators && rc == PM_OK; i++)
	{
		const pm_sample *s = &d->operators[i];
		pm_arena	scratch;
		pm_tokens	t;

		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		/* CPUs have no levels to guess from */
		if (s->query.gpu->is_cpu)
			continue;
		pm_arena_init_within(&scratch, a);
		if ((rc = pm_tokens_build_work(s->skeleton, &s->query, &scratch, &t, st)) == PM_OK && level_of_operator(s, &t, &o[n]))
			n++;
		pm_arena_release(&scratch);
	}
	if (rc != PM_OK || n == 0)
		return rc;
	return pm_cards_learn_operators(&m->cards, o, n, a, st);
}
