/*
 * divide.c - shares of weights, gradients, states and activations.
 */
#include "memory/divide.h"

#include <math.h>

/* Bytes of what does not depend on the batch. */
typedef struct parts
{
	double		weights;
	double		optimizer;
	double		all;			/* gradients of the share of the model that the GPU has */
	double		sharers;		/* GPUs that keep a part of each gradient */
	double		gathered;		/* gradients that are whole until they are summed, at the most */
	double		buckets;		/* copies of gradients */
	double		spare;			/* that zero 1 would have: zero 2 has no more beside the gradients that are there */
	double		messages;		/* gradients that zero 2 would have whole */
	double		whole_weights;	/* where zero divides nothing, */
	double		whole_optimizer;	/* of both */
	double		copied;			/* share of the weights that is there in 2 bytes, too, where autocast copies them */
} parts;

/* Bytes of gradients where those of `there` bytes of weights have been computed, `fresh` of them of this micro-batch. */
static double
gradients_at(const parts *p, double there, double fresh)
{
	return fmin(there / p->sharers + fmin(fresh, p->gathered), there + p->spare) + p->buckets;
}

/* GPUs among which zero divides so many bytes, those of experts among fewer: in the mean. */
static double
sharing_of(const pm_memory_division *by, double bytes, double experts)
{
	if (by->shard > 0)
		return by->shard;
	return by->replicas / (1 + (by->ep > 1 && bytes > 0 ? fmin(1, experts / bytes) * (by->ep - 1) : 0));
}

/* The same of gradients, and of the states of the optimizer, which go with them. */
static double
sharing(const pm_memory_plan *plan, const pm_memory_division *by)
{
	return sharing_of(by, plan->gradients, plan->expert_gradients);
}

/* Bytes that are left of each byte of weights. */
static double
narrowed(const pm_memory_division *by)
{
	return by->master_bytes > 2 ? 2.0 / by->master_bytes : 1;
}

/* Weights are divided, too: those of some units are whole. */
static void
divide_weights(const pm_memory_plan *plan, const pm_memory_division *by, parts *p)
{
	parts		two = *p;
	double		whole = (plan->root_weights + plan->pair_weights) / by->tp * narrowed(by);

	p->weights = fmin(two.weights, two.weights / sharing_of(by, plan->weights, plan->expert_weights) + whole);
	p->gathered = (plan->root_weights + plan->unit_weights) / by->tp;
	if (by->master_bytes == 0)
		p->copied = plan->weights > 0 ? p->weights / plan->weights : 0;
	/* few large units, or a large root: nobody divides the weights to need more */
	if (p->weights + gradients_at(p, p->all, p->all) > two.weights + gradients_at(&two, two.all, two.all))
		*p = two;
}

/* The optimizer keeps states and masters of 4 bytes; no copies of weights or gradients are needed. */
static void
keep_masters(const pm_memory_division *by, parts *p)
{
	double		widened = 4.0 / by->master_bytes;

	p->weights *= narrowed(by);
	p->optimizer = p->optimizer * widened + p->all * widened;
	p->copied = 0;
}

static parts
divide_parts(const pm_memory_plan *plan, const pm_memory_division *by)
{
	double		gpus = (double) by->tp * by->pp;
	parts		p = {.weights = plan->weights / gpus, .optimizer = plan->optimizer / gpus, .all = plan->gradients / gpus, .sharers = 1, .copied = 1 / gpus};

	if (by->master_bytes > 0)
		keep_masters(by, &p);
	p.whole_weights = p.weights;
	p.whole_optimizer = p.optimizer;
	if (by->replicas <= 1)
		return p;
	if (by->zero >= 1)
		p.optimizer /= sharing(plan, by);
	/* a group of one divides nothing */
	if (by->zero <= 1 || sharing(plan, by) <= 1)
	{
		p.buckets = by->master_bytes > 0 ? 0 : p.all;
		return p;
	}
	p.spare = by->master_bytes > 0 ? 0 : p.all;
	p.sharers = sharing(plan, by);
	p.gathered = p.messages = fmax(2 * by->bucket_mb * PM_MB, plan->largest_weights / by->tp);
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

/* How a step is run: with checkpoints, or without. */
typedef struct mode
{
	double		kept_per;		/* of pm_memory_run: only these bytes are of other micro-batches, too */
	double		kept_scores;
	bool		recompute;
} mode;

/* Share of the activations that tensor parallelism leaves on a GPU. */
static double
share_of_tp(const pm_memory_division *by)
{
	return by->sequence_parallel ? 1.0 / by->tp : (10 + 24.0 / by->tp) / 34;
}

/*
 * Of `per` bytes a sample, of which `scores` lie between the products of attentions, but for what sequence parallelism gathers.
 * Without it, each GPU has all of a checkpoint, which lies between two layers.  A GPU has the scores of its own heads.
 */
static double
divide_parts_of_sequence(const pm_memory_division *by, const mode *m, double per, double scores)
{
	double		own = fmin(scores, per);
	double		kept_scores = fmin(own, m->kept_scores);
	double		kept = fmin(per - own, m->kept_per - m->kept_scores);
	double		share = share_of_tp(by);

	return kept * in_flight(by) * (m->recompute && !by->sequence_parallel ? 1 : share) + (per - own - kept) * share +
		(kept_scores * in_flight(by) + own - kept_scores) / by->tp;
}

/* Of the GPUs that share a sequence, one has so much. */
static double
share_of_cp(const pm_memory_division *by)
{
	return by->cp > 1 ? 1.0 / by->cp : 1;
}

/* Of the bytes a sample of a line.  Nobody divides the sequence to need more. */
static double
divide_activations(const pm_memory_plan *plan, const pm_memory_division *by, const mode *m, const pm_memory_line *l)
{
	pm_memory_division whole = *by;
	double		gathered = 2 * plan->handed_per * (1 - 1.0 / by->tp);

	whole.sequence_parallel = false;
	if (!by->sequence_parallel)
		return divide_parts_of_sequence(by, m, l->per, l->scores) * share_of_cp(by);
	return fmin(divide_parts_of_sequence(by, m, l->per, l->scores) + gathered, divide_parts_of_sequence(&whole, m, l->per, l->scores)) *
		share_of_cp(by);
}

/* A line of one GPU, but for its bytes a sample. Gradients on their way, of one operator, stay whole. */
static pm_memory_line
divide_fixed(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, const pm_memory_line *l)
{
	double		gpus = (double) by->tp * by->pp;
	double		on_way = fmax(0, l->gradients - plan->gradients);
	double		fresh = l->gradients - on_way;
	/* of micro-batches before, all are there */
	double		there = by->pp > 1 && by->micro_batches > 1 ? plan->gradients : fresh;
	double		others = l->fixed - l->gradients - l->copies - plan->weights - plan->optimizer;
	pm_memory_line of = {.gradients = gradients_at(p, there / gpus, fresh / gpus) + on_way, .copies = l->copies * p->copied};

	of.fixed = p->weights + p->optimizer + others / gpus + of.copies + of.gradients;
	return of;
}

static void
divide_lines(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, const mode *m, pm_memory_line *lines, int n)
{
	for (int i = 0; i < n; i++)
	{
		double		per = divide_activations(plan, by, m, &lines[i]);

		lines[i] = divide_fixed(plan, by, p, &lines[i]);
		lines[i].per = per;
	}
}

/* ---------- the allocator ---------- */

/*
 * Which share a GPU has of what the allocator holds beyond tensors: that which it
 * has of the tensors of the step, gradients, copies of weights and activations,
 * when they were most (l).  Weights and states are there before, and leave no
 * gaps.  Never more than all, and with zero 3 never more than with zero 2.  With
 * checkpoints, which tensor parallelism does not divide, it does not divide the
 * gaps between them either: so the rows of BigScience have it (docs/memory.md).
 */
static double
share_of_gaps(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, const mode *m, const pm_memory_line *l, double batch)
{
	pm_memory_division around = *by;
	double		gpus = (double) by->tp * by->pp;
	double		on_way = fmax(0, l->gradients - plan->gradients);
	double		gradients = fmax(0, l->gradients - on_way - plan->standing);
	double		others = fmax(0, l->fixed - plan->weights - plan->optimizer - l->gradients - l->copies);
	double		all = gradients + on_way + l->copies + others + l->per * batch;
	double		own = fmin(gradients / gpus, gradients / gpus / p->sharers + p->messages) + on_way + l->copies * p->copied + others / gpus;

	if (m->recompute && !by->sequence_parallel)
		around.tp = 1;
	own += fmin(l->per, divide_activations(plan, &around, m, l)) * batch;
	return all > 0 ? fmin(1, own / all) : 1 / gpus;
}

/* What is reserved for the lines of `of`, where that for the lines of `whole` is known. */
static void
divide_reserved(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, const mode *m, const pm_memory_run *whole, pm_memory_run *of)
{
	for (int i = 0; i < PM_N_MEMORY_ANCHORS; i++)
	{
		int64_t		batch = (int64_t) pm_memory_anchors[i];
		int			which;
		double		gaps = whole->reserved[i] - pm_memory_highest(whole, batch, &which);

		of->reserved[i] = gaps * share_of_gaps(plan, by, p, m, &whole->lines[which], pm_memory_anchors[i]) + pm_memory_highest(of, batch, NULL);
		of->reserved[i] = fmax(i > 0 ? of->reserved[i - 1] : 0, of->reserved[i]);
	}
}

/* ---------- the parts of a step ---------- */

/* Scratch memory is for one parameter, which counts as whole, or for all that the GPU updates. */
static double
scratch_of(const pm_memory_plan *plan, const pm_memory_division *by)
{
	double		updaters = (double) by->tp * by->pp * (by->zero >= 1 ? sharing(plan, by) : 1);

	return updaters > 1 ? fmin(plan->scratch, plan->gradients / updaters) : plan->scratch;
}

static void
divide_update(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, pm_memory_plan *of)
{
	const mode	left = {plan->update.per, plan->update.scores, false};	/* by both passes, however they are run */

	of->scratch = scratch_of(plan, by);
	of->update.fixed -= plan->scratch;
	divide_lines(plan, by, p, &left, &of->update, 1);
	of->update.fixed += of->scratch;
}

/* `of` is `whole` before.  Where gradients are divided, or there from the start, or scores or samples are divided, the light lines count. */
static void
divide_run(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, bool recompute, const pm_memory_run *whole, pm_memory_run *of)
{
	const mode	m = {whole->kept_per, whole->kept_scores, recompute};

	if ((by->replicas > 1 && by->zero >= 2) || (by->pp > 1 && by->micro_batches > 1) || by->tp > 1 || by->cp > 1)
		of->n_lines += whole->n_light;
	divide_lines(plan, by, p, &m, of->lines, of->n_lines);
	divide_reserved(plan, by, p, &m, whole, of);
}

void
pm_memory_divide(const pm_memory_plan *plan, const pm_memory_division *by, pm_memory_plan *of)
{
	parts		p = divide_parts(plan, by);

	*of = *plan;
	of->weights = p.weights;
	of->gradients = gradients_at(&p, p.all, p.all);
	of->optimizer = p.optimizer;
	divide_update(plan, by, &p, of);
	divide_run(plan, by, &p, by->recompute, &plan->asked, &of->asked);
	if (plan->plain.n_lines > 0)
		divide_run(plan, by, &p, false, &plan->plain, &of->plain);
	of->conv_per = plan->conv_per * share_of_tp(by) * share_of_cp(by);
}

static void
reserve_at_most(pm_memory_run *of, const pm_memory_run *than)
{
	for (int i = 0; i < PM_N_MEMORY_ANCHORS; i++)
		if (of->reserved[i] > than->reserved[i])
			of->reserved[i] = fmax(than->reserved[i], pm_memory_highest(of, (int64_t) pm_memory_anchors[i], NULL));
}

void
pm_memory_reserve_at_most(pm_memory_plan *of, const pm_memory_plan *than)
{
	reserve_at_most(&of->asked, &than->asked);
	if (of->plain.n_lines > 0 && than->plain.n_lines > 0)
		reserve_at_most(&of->plain, &than->plain);
}

/* ---------- the shares at an event ---------- */

static double
ratio(double part, double all)
{
	return all > 0 ? part / all : 0;
}

/*
 * Of `all` bytes, of which those of experts, `left` are left.  Of a byte of experts it is ep times as much, as so many times
 * fewer GPUs divide it, but no more than where nobody divides it, whole / all.
 */
static pm_memory_share_of
spread(const pm_memory_division *by, double left, double all, double experts, double whole)
{
	double		others = fmax(0, all - experts);
	double		times = by->ep > 1 ? by->ep : 1;
	pm_memory_share_of of = {.experts = fmin(times * ratio(left, others + times * experts), ratio(fmax(left, whole), all))};

	of.others = times > 1 && others > 0 ? (left - of.experts * experts) / others : ratio(left, all);
	return of;
}

/* Gradients of the weights: those of the tensors that hold them, and what comes on top. */
static void
share_gradients(const pm_memory_plan *plan, const pm_memory_division *by, const parts *p, const pm_memory_line *held,
				const pm_memory_line *experts, pm_memory_shares *of)
{
	double		gpus = (double) by->tp * by->pp;
	pm_memory_line l = divide_fixed(plan, by, p, held);
	double		on_way = fmax(0, held->gradients - plan->gradients);
	double		whole = (held->gradients - on_way) / gpus + on_way;
	double		theirs = fmin(l.gradients, whole);

	of->gradients = spread(by, theirs, held->gradients, experts->gradients, whole);
	of->added = l.gradients - theirs;
}

/* Activations, of the micro-batches that are under way. */
static void
share_activations(const pm_memory_plan *plan, const pm_memory_division *by, const mode *m, const pm_memory_line *held, pm_memory_shares *of)
{
	double		kept = fmin(held->scores, m->kept_scores);
	double		scores = (kept * in_flight(by) + held->scores - kept) / by->tp * share_of_cp(by);

	of->scores = ratio(scores, held->scores);
	of->per = ratio(divide_activations(plan, by, m, held) - scores, held->per - held->scores);
}

void
pm_memory_shares_at(const pm_memory_split *split, const pm_memory_line *held, const pm_memory_line *experts, pm_memory_shares *of)
{
	const pm_memory_plan *plan = split->plan;
	const pm_memory_division *by = &split->by;
	bool		plain = plan->plain.n_lines > 0 && !split->checkpoints;
	const mode	m = plain ? (mode) {plan->plain.kept_per, plan->plain.kept_scores, false} : (mode) {plan->asked.kept_per, plan->asked.kept_scores, by->recompute};
	parts		p = divide_parts(plan, by);

	*of = (pm_memory_shares) {
		.weights = spread(by, p.weights, plan->weights, plan->expert_weights, p.whole_weights),
		.optimizer = spread(by, p.optimizer, plan->optimizer, plan->expert_optimizer, p.whole_optimizer),
		.copies = spread(by, held->copies * p.copied, held->copies, experts->copies, held->copies / by->tp / by->pp),
		.scratch = ratio(scratch_of(plan, by), plan->scratch), .others = 1.0 / by->tp / by->pp
	};
	share_gradients(plan, by, &p, held, experts, of);
	share_activations(plan, by, &m, held, of);
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
