/*
 * divide.h - the memory of one of several GPUs that train together.
 */
#ifndef PM_DIVIDE_H
#define PM_DIVIDE_H

#include "memory/estimate.h"

typedef struct pm_memory_division
{
	int			replicas;		/* GPUs that have the same part of the model, >= 1: they sum their gradients */
	int			zero;			/* divided among them: 0 nothing, 1 optimizer's states, 2 gradients too, 3 weights too */
	int			tp;				/* GPUs that share each layer, >= 1 */
	int			pp;				/* groups of layers on GPUs of their own, >= 1 */
	int			micro_batches;	/* that go through the pipeline in a step, >= 1 */
	int			interleave;		/* pieces that a GPU has of the pipeline, >= 1 */
	bool		recompute;		/* the plan is of a step with checkpoints between segments */
	double		bucket_mb;		/* of gradients in one message */
	bool		sequence_parallel;	/* what tp leaves whole of the activations is divided by the sequence */
	int			shard;			/* of the replicas, how many divide what zero divides; 0: all */
	int			cp;				/* of the replicas, how many share each sequence; 0: 1 */
	int			ep;				/* in how many parts the replicas have the experts; the plan has one of these; 0: 1 */
	int			master_bytes;	/* the plan's of an element of weights, where these become 16 bits and the optimizer keeps masters in 32; 0: they do not */
} pm_memory_division;

/*
 * Fill *of: the plan of the GPU that holds most.  DDP copies gradients into
 * its buckets (gradient_as_bucket_view false), and the copies count as gradients.
 * With zero 2, gradients are whole until they are summed: two buckets, or one that
 * holds the largest operator.  With zero 3, as FSDP does it, the root unit
 * (units.h) is whole all along, as are the weights of two more units and the
 * gradients of one; where that takes more than zero 2, the weights are not divided
 * (SHARD_GRAD_OP), so that zero 3 never needs more.  Copies that autocast makes
 * of weights are those of weights that are there whole (MixedPrecision of FSDP).
 * With master weights, gradients have a buffer of their own, and no copies; their
 * type stays that of the plan (Megatron-Core's distributed optimizer has 4 bytes
 * of gradients beside 2 of weights, DeepSpeed's BF16 2 and 2).
 * From zero 1 on, the update is of a part of the weights.  With ep, those of experts are on fewer GPUs, and zero divides
 * them among these alone.  Of the activations a GPU of a
 * tensor-parallel group has (10 + 24 / tp) / 34, and 1 / tp of the scores of
 * attentions (Korthikanti et al., arXiv 2205.05198).  Checkpoints are not divided.  With sequence parallelism it has
 * 1 / tp of all of them, checkpoints too, and the input of one product, and its
 * gradient, gathered from all of the group.  Of a sequence that cp GPUs share, each
 * has an equal part of everything.
 *
 * The first GPU of a pipeline keeps its share of the layers, 1 / pp, for each
 * micro-batch on its way: at most pp of them, as 1F1B lets them in (Narayanan et
 * al., arXiv 2104.04473), or (pp - 1) / interleave more in an interleaved one,
 * and no more than there are.  Gradients of those before are there.
 *
 * What the allocator held beyond tensors, it held for tensors of the step, and a
 * GPU has the share of it that it has of them, but for tensor parallelism between
 * checkpoints.  So that checkpoints never take
 * more, a step with them and one without are divided each for itself.
 */
void		pm_memory_divide(const pm_memory_plan *plan, const pm_memory_division *by, pm_memory_plan *of);

/*
 * *of, a divided plan, reserves no more than *than, of the same model and GPUs with a smaller ep: what the allocator keeps of
 * tensors of other sizes is by chance less or more, and who has more GPUs for the experts does not choose what needs more.
 */
void		pm_memory_reserve_at_most(pm_memory_plan *of, const pm_memory_plan *than);

/* A step of a plan, divided. */
typedef struct pm_memory_split
{
	const pm_memory_plan *plan;	/* of all */
	pm_memory_division by;
	bool		checkpoints;	/* the step is run with those that the plan is of */
} pm_memory_split;

/* What is left of each byte. */
typedef struct pm_memory_share_of
{
	double		experts;		/* of those of experts, */
	double		others;			/* and of all others */
} pm_memory_share_of;

/* What the GPU that holds most has of each byte of the whole model's tensors at an event. */
typedef struct pm_memory_shares
{
	pm_memory_share_of weights;
	pm_memory_share_of optimizer;
	pm_memory_share_of gradients;
	pm_memory_share_of copies;	/* of weights in 2 bytes */
	double		scratch;		/* of the update */
	double		others;			/* that do not depend on the batch */
	double		per;			/* of a sample, but for scores: of all operators alike */
	double		scores;
	double		added;			/* bytes of gradients beside: buckets, and micro-batches before */
} pm_memory_shares;

/*
 * Fill *of for an event after which tensors hold `held`, of which gradients, copies, per and scores count, and those of experts
 * `experts`, of which gradients and copies do.  What zero divides of experts, it divides among fewer GPUs than the rest.
 */
void		pm_memory_shares_at(const pm_memory_split *split, const pm_memory_line *held, const pm_memory_line *experts, pm_memory_shares *of);

/* Factors of one GPU for one of several: less certain, as BigScience's measurements show (docs/memory.md). */
void		pm_memory_factors_divided(pm_memory_factors *f);

#endif
