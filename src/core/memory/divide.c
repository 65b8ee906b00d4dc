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
	double		optimizer;
	double		all;			/* gradients of the share of the model that the GPU has */
	double		sharers;		/* GPUs that keep a part of each gradient */
	double		gathered;		/* gradients that are whole until they are summed, at the most */
	double		buckets;		/* copies of gradients */
} parts;

/* Bytes of gradients where those of `there` bytes of weights have been computed. */
static double
gradients_at(const parts *p, double there)
{
	return there / p->sharers + fmin(there, p->gathered) + p->buckets;
}

/* Weights are divided, too: those of some units are whole. */
static void
divide_weights(const pm_memory_plan *plan, const pm_memory_division *by, parts *p)
{
	parts		two = *p;
	double		whole = (plan->root_weights + plan->pair_weights) / by->tp;

	p->weights = fmin(two.weights, two.weights / by->replicas + whole);
	p->gathered = (plan->root_weights + plan->unit_weights) / by->tp;
	/* few large units, or a large root: nobody divides the weights to need more */
	if (p->weights + gradients_at(p, p->all) > two.weights + gradients_at(&two, two.all))
		*p = two;
}

static parts
divide_parts(const pm_memory_plan *plan, const pm_memory_division *by)
{
	double		gpus = (double) by->tp * by->pp;
	parts		p = {.weights = plan->weights / gpus, .optimizer = plan->optimizer / gpus, .all = plan->gradients / gpus, .sharers = 1};

	if (by->replicas <= 1)
		return p;
	if (by->zero >= 1)
		p.optimizer /= by->replicas;
	if (by->zero <= 1)
	{
		p.buckets = p.all;
		return p;
	}
	p.sharers = by->replicas;
	p.gathered = fmax(2 * by->bucket_mb * MB, plan->largest_weights / by->tp);
	if (by->zero == 3)
		divide_weights(plan, by, &p);
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

/* Of `per` bytes a sample, of which kept_per wait for the backward pass: only these are of other micro-batches, too. */
static double
divide_activations(const pm_memory_division *by, double kept_per, bool recompute, double per)
{
	double		kept = fmin(per, kept_per);
	double		share = (10 + 24.0 / by->tp) / 34;

	return kept * in_flight(by) * (recompute ? 1 : share) + (per - kept) * share;
}

/* A line of one GPU, but for its bytes a sample. Gradients on their way, of one operator, stay whole. */
static pm_memory_line
divide_fixed(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, const pm_memory_line *l)
{
	double		gpus = (double) by->tp * by->pp;
	double		on_way = fmax(0, l->gradients - plan->gradients);
	/* of micro-batches before, all are there */
	double		there = by->pp > 1 && by->micro_batches > 1 ? plan->gradients : l->gradients - on_way;
	double		others = l->fixed - l->gradients - plan->weights - plan->optimizer;
	pm_memory_line of = {.gradients = gradients_at(p, there / gpus) + on_way};

	of.fixed = p->weights + p->optimizer + others / gpus + of.gradients;
	return of;
}

static void
divide_lines(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, double kept_per, bool recompute,
			 pm_memory_line *lines, int n)
{
	for (int i = 0; i < n; i++)
	{
		double		per = divide_activations(by, kept_per, recompute, lines[i].per);

		lines[i] = divide_fixed(plan, by, p, &lines[i]);
		lines[i].per = per;
	}
}

/* Scratch memory is for one parameter, which counts as whole, or for all that the GPU has. */
static void
divide_update(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, pm_memory_plan *of)
{
	of->scratch = fmin(plan->scratch, plan->weights / ((double) by->tp * by->pp));
	of->update.fixed -= plan->scratch;
	divide_lines(plan, by, p, plan->kept_per, by->recompute, &of->update, 1);
	of->update.fixed += of->scratch;
}

void
pm_memory_divide(const pm_memory_plan *plan, const pm_memory_division *by, pm_memory_plan *of)
{
	parts		p = divide_parts(plan, by);

	*of = *plan;
	of->weights = p.weights;
	of->gradients = gradients_at(&p, p.all);
	of->optimizer = p.optimizer;
	divide_lines(plan, by, &p, plan->kept_per, by->recompute, of->lines, of->n_lines);
	divide_lines(plan, by, &p, plan->plain_kept_per, false, of->plain, of->n_plain);
	divide_update(plan, by, &p, of);
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
