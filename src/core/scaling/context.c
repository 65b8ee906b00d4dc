/*
 * context.c - GPUs that share each sequence.
 */
#include "scaling/context.h"
#include "scaling/groups.h"

#include <math.h>

/* Forward and backward pass take at least as long as their launches. */
static void
stretch_to_launches(pm_step_shape *s)
{
	double		passes_ms = s->forward_ms + s->backward_ms;
	double		by = passes_ms > 0 ? fmax(1, s->launch_ms / passes_ms) : 1;

	s->forward_ms *= by;
	s->backward_ms *= by;
	s->again_ms *= by;
	for (int k = 0; k < s->n; k++)
		s->bucket_ms[k] *= by;
}

void
pm_context_shape(const pm_step_shape *s, int cp, pm_step_shape *to)
{
	double	   *parts[] = {&to->forward_ms, &to->backward_ms, &to->again_ms, &to->core_ms, &to->head_ms, &to->undivided_ms, &to->attend_ms, &to->attend_backward_ms, &to->activation_bytes};

	*to = *s;
	for (int i = 0; i < (int) (sizeof(parts) / sizeof(parts[0])); i++)
		*parts[i] /= cp;
	for (int k = 0; k < to->n; k++)
		to->bucket_ms[k] /= cp;
	stretch_to_launches(to);
	to->step_ms = to->forward_ms + to->backward_ms + to->update_ms;
}

/* What is left of messages of so many ms behind attention of so many ms. */
static double
left_behind(double ms, double attend_ms, const pm_fabric *f)
{
	return fmax(0, ms - attend_ms * f->overlap);
}

pm_context_ms
pm_context_messages(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, double layers)
{
	pm_group	g = pm_group_of(p, f, p->cp, p->tp);
	double		bytes = s->kv_bytes / p->tp;
	double		share = s->layers > 0 ? layers / s->layers / p->tp : 0;	/* of the attention, that the GPU computes */
	double		gather_ms = layers * pm_group_us(&g, PM_ALL_GATHER, bytes) * comm_factor / 1000;
	double		scatter_ms = layers * pm_group_us(&g, PM_REDUCE_SCATTER, bytes) * comm_factor / 1000;
	double		left_ms = left_behind(gather_ms, s->attend_ms * share, f);
	int			gathers = p->recompute == PM_RECOMPUTE_LAYERS ? 2 : 1;	/* in forward passes, that of recomputing among them */

	return (pm_context_ms) {
		.all_ms = (gathers + 1) * gather_ms + scatter_ms,
		.left_ms = gathers * left_ms + left_behind(gather_ms + scatter_ms, s->attend_backward_ms * share, f)
	};
}
