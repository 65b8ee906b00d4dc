/*
 * context.c - GPUs that share each sequence.
 */
#include "scaling/context.h"
#include "scaling/groups.h"

#include <math.h>

void
pm_context_shape(const pm_step_shape *s, int cp, pm_step_shape *to)
{
	double		passes_ms;
	double	   *parts[] = {&to->forward_ms, &to->backward_ms, &to->again_ms, &to->core_ms, &to->cheap_ms, &to->cheap_whole_ms, &to->head_ms, &to->undivided_ms, &to->attend_ms, &to->attend_backward_ms, &to->activation_bytes, &to->sent_bytes, &to->returned_bytes};

	*to = *s;
	for (int i = 0; i < (int) (sizeof(parts) / sizeof(parts[0])); i++)
		*parts[i] /= cp;
	for (int k = 0; k < to->n; k++)
		to->bucket_ms[k] /= cp;
	passes_ms = to->forward_ms + to->backward_ms;
	pm_stretch_passes(to, passes_ms > 0 ? fmax(1, to->launch_ms / passes_ms) : 1);
}

/* What is left of messages of so many ms behind attention of so many ms. */
static double
left_behind(double ms, double attend_ms, const pm_fabric *f)
{
	return fmax(0, ms - attend_ms * f->overlap);
}

pm_messages_ms
pm_context_messages(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, double layers)
{
	pm_group	g = pm_group_of(p, f, p->cp, p->tp);
	double		bytes = s->kv_bytes / p->tp;
	double		share = s->layers > 0 ? layers / s->layers / p->tp : 0;	/* of the attention, that the GPU computes */
	double		gather_ms = layers * pm_group_us(&g, PM_ALL_GATHER, bytes) * comm_factor / 1000;
	double		scatter_ms = layers * pm_group_us(&g, PM_REDUCE_SCATTER, bytes) * comm_factor / 1000;
	double		left_ms = left_behind(gather_ms, s->attend_ms * share, f);
	double		gathers = 1 + pm_again_share(p, s->layers);	/* in forward passes, that of recomputing among them */

	return (pm_messages_ms) {
		.all_ms = (gathers + 1) * gather_ms + scatter_ms,
		.left_ms = gathers * left_ms + left_behind(gather_ms + scatter_ms, s->attend_backward_ms * share, f)
	};
}
