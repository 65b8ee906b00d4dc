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

/* Micro-batches whose activations the first GPU of a pipeline keeps at a time, times its share of the layers. */
static double
in_flight(const pm_memory_division *by)
{
	double		pieces = (double) by->pp * by->interleave;
	double		most = by->interleave > 1 ? 1 + (by->pp - 1) / pieces : 1;

	return fmin((double) by->micro_batches / by->pp, most);
}

/* Of `per` bytes a sample: only what is kept waits for other micro-batches. */
static double
divide_activations(const pm_memory_plan *plan, const pm_memory_division *by, double per)
{
	double		kept = fmin(per, plan->kept_per);
	double		share = (10 + 24.0 / by->tp) / 34;

	return kept * in_flight(by) * (by->recompute ? 1 : share) + (per - kept) * share;
}

/* A line of one GPU. more: bytes of the parts beyond an equal share of the model. Gradients on their way, of one operator, stay whole. */
static pm_memory_line
divide_line(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, double more, const pm_memory_line *l)
{
	double		gpus = (double) by->tp * by->pp;
	double		earlier = by->pp > 1 && by->micro_batches > 1 ? fmax(0, plan->gradients - l->gradients) : 0;
	double		on_way = fmax(0, l->gradients - plan->gradients);
	pm_memory_line of = {.per = divide_activations(plan, by, l->per)};

	of.gradients = (l->gradients - on_way + earlier) / gpus + on_way;
	/* gradients may not be there at the peak */
	of.fixed = fmax((l->fixed - on_way + earlier) / gpus + more + on_way, p->weights + p->optimizer);
	return of;
}

/* Scratch memory is for one parameter, which counts as whole, or for all that the GPU has. */
static void
divide_update(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, double more, pm_memory_plan *of)
{
	double		gpus = (double) by->tp * by->pp;
	pm_memory_line without = plan->update;

	without.fixed -= plan->scratch;
	of->scratch = fmin(plan->scratch, plan->weights / gpus);
	of->update = divide_line(plan, by, p, more, &without);
	of->update.fixed += of->scratch;
}

void
pm_memory_divide(const pm_memory_plan *plan, const pm_memory_division *by, pm_memory_plan *of)
{
	double		gpus = (double) by->tp * by->pp;
	parts		p = divide_parts(plan, by);
	double		more = p.weights + p.gradients + p.optimizer - (plan->weights + plan->gradients + plan->optimizer) / gpus;

	*of = *plan;
	of->weights = p.weights;
	of->gradients = p.gradients;
	of->optimizer = p.optimizer;
	for (int i = 0; i < of->n_lines; i++)
		of->lines[i] = divide_line(plan, by, &p, more, &plan->lines[i]);
	divide_update(plan, by, &p, more, of);
	/* what the allocator holds beyond tensors is that of the layers that are there */
	for (int i = 0; i < PM_N_MEMORY_ANCHORS; i++)
	{
		int64_t		batch = (int64_t) pm_memory_anchors[i];
		double		beyond = plan->reserved[i] - pm_memory_live_in_passes(plan, batch);

		of->reserved[i] = fmax(i > 0 ? of->reserved[i - 1] : 0,
							   beyond * fmin(1, in_flight(by)) + pm_memory_live_in_passes(of, batch));
	}
	of->conv_per = plan->conv_per * (10 + 24.0 / by->tp) / 34;
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
