/*
 * divide.c - shares of weights, gradients, states and activations.
 */
#include "memory/divide.h"

#include <math.h>

#define MB	1048576.0

/* Bytes of what does not depend on the batch. */
typedef struct parts
{
	double		weights;
	double		gradients;
	double		optimizer;
} parts;

static parts
divide_parts(const pm_memory_plan *plan, const pm_memory_division *by)
{
	double		gpus = (double) by->tp * by->pp;
	double		replicas = by->replicas;
	parts		p = {plan->weights / gpus, plan->gradients / gpus, plan->optimizer / gpus};
	double		layer = plan->largest_weights / by->tp;
	double		block = 3 * layer;
	double		whole = p.gradients;

	if (replicas <= 1)
		return p;
	if (by->zero >= 1)
		p.optimizer /= replicas;
	if (by->zero <= 1)
		p.gradients += whole;	/* buckets */
	else if (by->zero == 2)
		p.gradients = whole / replicas + fmin(whole, fmax(2 * by->bucket_mb * MB, layer));
	else
	{
		p.gradients = whole / replicas + fmin(whole, block);
		p.weights = p.weights / replicas + fmin(p.weights, 2 * block);
	}
	return p;
}

/* Of `per` bytes a sample. */
static double
divide_activations(const pm_memory_plan *plan, const pm_memory_division *by, double per)
{
	double		kept = by->recompute ? fmin(per, plan->kept_per) : 0;
	double		in_flight = by->interleave > 1 ? 1 + (by->pp - 1.0) / ((double) by->pp * by->interleave) : 1;

	if (by->recompute)
		return kept * in_flight + (per - kept) * (10 + 24.0 / by->tp) / 34;
	return per * in_flight * (10 + 24.0 / by->tp) / 34;
}

void
pm_memory_divide(const pm_memory_plan *plan, const pm_memory_division *by, pm_memory_plan *of)
{
	parts		p = divide_parts(plan, by);
	double		more = p.weights - plan->weights + p.gradients - plan->gradients + p.optimizer - plan->optimizer;

	*of = *plan;
	of->weights = p.weights;
	of->gradients = p.gradients;
	of->optimizer = p.optimizer;
	for (int i = 0; i < of->n_lines; i++)
	{
		of->lines[i].per = divide_activations(plan, by, plan->lines[i].per);
		/* gradients may not be there at the peak */
		of->lines[i].fixed = fmax(of->lines[i].fixed + more, p.weights + p.optimizer);
	}
	of->update.per = divide_activations(plan, by, plan->update.per);
	of->update.fixed = fmax(of->update.fixed + more, p.weights + p.optimizer);
	/* what the allocator holds beyond tensors stays */
	for (int i = 0; i < PM_N_MEMORY_ANCHORS; i++)
	{
		int64_t		batch = (int64_t) pm_memory_anchors[i];

		of->reserved[i] = fmax(i > 0 ? of->reserved[i - 1] : 0,
							   plan->reserved[i] - pm_memory_live_in_passes(plan, batch) + pm_memory_live_in_passes(of, batch));
	}
	of->conv_per = divide_activations(plan, by, plan->conv_per);
}

/* With these, 88.7 % of the 97 rows lie in their intervals. */
#define SPREAD		0.2
#define FIT_SPREAD	0.11

void
pm_memory_factors_divided(pm_memory_factors *f)
{
	f->spread = fmax(f->spread, SPREAD);
	f->fit_spread = fmax(f->fit_spread, FIT_SPREAD);
}
