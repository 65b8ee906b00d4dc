/*
 * gpu_work.c - the roofline time of a GPU in a step.
 */
#include "scaling/gpu_work.h"
#include "scaling/expert_parallel.h"
#include "scaling/groups.h"

/* Copies of token i that are computed again. Megatron computes whole layers again, PyTorch not quite. */
static double
copies_again(const pm_buckets *b, const pm_tokens *work, const pm_parallel *p, int i)
{
	if (p->recompute == PM_RECOMPUTE_NOTHING)
		return 0;
	if (p->recompute == PM_RECOMPUTE_ATTENTION)
		return b->core[i];
	if (p->recompute == PM_RECOMPUTE_CHEAP)
		return b->cheap[i];
	return pm_again_share(p, b->layers) * (p->tp > 1 || p->pp > 1 ? work->skeleton->copies[i] - b->head[i] : b->again[i]);
}

double
pm_gpu_roofline_ms(const pm_buckets *b, const pm_tokens *work, const pm_parallel *p)
{
	double		passes_us = 0;	/* of a batch, on a GPU that has all layers */
	double		update_us = 0;
	double		gradients = 0;
	double		experts = 0;

	for (int i = 0; i < work->n; i++)
	{
		const double *us = work->phase_us + 3 * i;
		double		copies = work->skeleton->copies[i];
		/* tensor parallelism without sequence parallelism does not divide all work */
		double		whole = p->sequence_parallel ? 0 : b->whole[i] / copies;
		double		share = (1 - whole) / p->tp + whole;

		passes_us += (copies * (us[0] + us[1]) + copies_again(b, work, p, i) * us[0]) * share;
		update_us += copies * us[2];
	}
	for (int k = 0; k < b->n; k++)
	{
		gradients += b->bytes[k];
		experts += b->expert[k];
	}
	update_us /= pm_updaters(p, gradients, experts);
	return (p->accumulation * passes_us / p->cp + update_us / p->tp) / p->pp / 1000;
}
