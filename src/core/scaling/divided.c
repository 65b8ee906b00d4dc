/*
 * divided.c - tensor and pipeline parallel steps, as Megatron runs them.
 *
 * Each layer has two sums over the GPUs that share it in the forward pass, two
 * in the backward pass, and two more where activations are computed again
 * (Shoeybi et al. 2019).  With sequence parallelism, each sum is a reduce-scatter
 * and an all-gather, and the backward pass gathers two inputs more, which are not
 * kept (Korthikanti et al. 2022).  A pipeline of p stages with m micro-batches takes the
 * time of m + (p - 1) / v micro-batches, v being the pieces that each GPU has of
 * it (Narayanan et al. 2021).  Where m is below p, GPUs wait between their pieces
 * for a micro-batch to come round.  The copies of the model sum their gradients when
 * all micro-batches are done.
 */
#include "scaling/divided.h"
#include "scaling/context.h"
#include "scaling/expert_parallel.h"
#include "scaling/groups.h"

#include <math.h>

#define SUMS_A_PASS 2
#define CALL_MS 0.03			/* of a collective, on the processor */

typedef struct division
{
	const pm_step_shape *s;
	const pm_parallel *p;
	const pm_fabric *f;
	double		comm_factor;
} division;

/* ms of one collective of a layer's GPUs on what a layer hands on, for each sum in a pass of so many layers. */
static double
layer_collective_ms(const division *d, pm_collective op, double layers)
{
	pm_group	g = pm_group_of(d->p, d->f, d->p->tp, 1);

	return layers * SUMS_A_PASS * pm_group_us(&g, op, d->s->activation_bytes) * d->comm_factor / 1000;
}

/* ms of the sums in one pass of a stage's layers. */
static double
layer_sums_ms(const division *d, double layers)
{
	if (!d->p->sequence_parallel)
		return layer_collective_ms(d, PM_ALL_REDUCE, layers);
	return layer_collective_ms(d, PM_REDUCE_SCATTER, layers) + layer_collective_ms(d, PM_ALL_GATHER, layers);
}

/* Calls of collectives for each layer, in so many passes. */
static double
layer_calls(const pm_parallel *p, double passes)
{
	if (p->tp == 1)
		return 0;
	return SUMS_A_PASS * (p->sequence_parallel ? 2 * passes + 1 : passes);
}

/*
 * What is gathered once more in the backward pass, the inputs of two products of a layer, travels while the gradients of
 * these inputs are computed.  That is about half of the backward work of these products, which are about half of the
 * layer's.  ms that are left when it is done.
 */
#define BEHIND_GATHERS	0.25	/* of the backward pass */

static double
gathers_left_ms(const division *d, double gathers_ms, double backward_ms)
{
	return fmax(0, gathers_ms - BEHIND_GATHERS * backward_ms * d->f->overlap);
}

/* ms from one stage to the next; GPUs that share a layer send a part each. */
static double
hand_over_ms(const division *d)
{
	pm_group	g = pm_group_of_stages(d->p, d->f);

	if (d->p->pp == 1)
		return 0;
	g.links.host_s_per_gb *= d->p->tp;
	return pm_group_us(&g, PM_SEND_RECV, d->s->activation_bytes / d->p->tp) * d->comm_factor / 1000;
}

/* ms of the sum of gradients over the copies of the model. Where only a part of them is kept, what comes back are weights. */
static double
gradients_ms(const division *d, double share)
{
	pm_group	g = pm_group_of(d->p, d->f, pm_sharers(d->p), d->p->tp);
	pm_group	same = pm_group_of(d->p, d->f, pm_expert_copies(d->p), pm_sharers(d->p) / pm_expert_copies(d->p) * d->p->tp);
	double		travels = pm_travelling(d->s, d->p);
	double		experts = pm_expert_parts(d->p) > 1 ? d->s->expert_bytes : 0;
	double		part = share / d->p->tp;

	if (d->p->zero >= 1)
		travels = (travels + pm_weights_travelling(d->s, d->p)) / 2;
	return (pm_group_us(&g, PM_ALL_REDUCE, (d->s->gradient_bytes - experts) * part * travels) + pm_group_us(&same, PM_ALL_REDUCE, experts * part * travels)) *
		d->comm_factor / 1000;
}

/*
 * How many times that of a micro-batch on one stage a step takes at least.  A GPU works on all micro-batches, and
 * waits for the first to come and the last to go.  And the first passes all stages, whatever their pieces, before
 * the last piece of the others.
 */
static double
in_a_row(const pm_parallel *p)
{
	double		m = p->accumulation;

	return fmax(m + (p->pp - 1.0) / p->interleave, p->pp + (m - 1) / p->interleave);
}

/* ms of one micro-batch in the layers of a stage, and of the head, which the last stage has besides. */
typedef struct stage_ms
{
	double		computed;		/* of the layers, if all kernels were there in time, */
	double		launches;		/* and by the processor, which hands out kernels and messages one after the other */
	double		sums;			/* of tensor parallelism, all messages */
	double		context;		/* of context parallelism, all messages */
	double		experts;		/* of expert parallelism, all messages */
	double		layers;			/* with all that waits for messages */
	double		head;
} stage_ms;

/* Of the forward pass, what is computed again where that is not whole layers. */
static double
again_in_part_ms(const pm_step_shape *s, const pm_parallel *p)
{
	return p->recompute == PM_RECOMPUTE_LAYERS ? 0 : pm_again_ms(s, p);
}

/* stretch: on computing. */
static stage_ms
stage_of(const division *d, double stage_layers, double stretch)
{
	const pm_step_shape *s = d->s;
	const pm_parallel *p = d->p;
	double		stage = stage_layers / s->layers;	/* share of the model */
	double		again = pm_again_share(p, s->layers);
	double		passes = 2 + again;
	double		part_ms = again_in_part_ms(s, p);	/* of what is computed again, where that is not whole layers */
	/* a pass of recomputing launches the kernels of the forward pass, a third of all, again */
	double		floor_ms = s->launch_ms * (1 + again / 3.0) + (p->recompute == PM_RECOMPUTE_ATTENTION ? s->core_launch_ms : p->recompute == PM_RECOMPUTE_CHEAP ? s->cheap_launch_ms : 0);
	/*
	 * The last stage has the head besides its layers, which is not computed again.  Its forward pass counts once too often among
	 * the layers of all stages: without it, the steps of BigScience came out 9 instead of 6 % too short.
	 */
	double		whole_ms = p->sequence_parallel ? 0 : s->undivided_ms * (1 + again / 3.0) + (p->recompute == PM_RECOMPUTE_CHEAP ? s->cheap_whole_ms : 0);
	double		layers_ms = ((s->forward_ms * (passes - 1) + s->backward_ms + part_ms - s->head_ms - whole_ms) / p->tp + whole_ms) * stage;
	double		gathers = p->sequence_parallel ? layer_collective_ms(d, PM_ALL_GATHER, stage_layers) : 0;
	double		gathers_left = gathers_left_ms(d, gathers, s->backward_ms / p->tp * stage * stretch);
	pm_messages_ms context = {0};
	pm_messages_ms experts = pm_expert_messages(s, p, d->f, d->comm_factor, stage);
	double		sums = passes * layer_sums_ms(d, stage_layers);
	stage_ms	ms = {
		.computed = layers_ms * stretch,
		.launches = floor_ms * stage * stretch + (layer_calls(p, passes) * stage_layers + pm_expert_calls(s, p) * stage) * CALL_MS,
		.sums = sums + gathers,
		/* the head's few kernels are large, and start when those of the layers have been launched */
		.head = s->head_ms / p->tp * stretch
	};

	if (p->cp > 1)
		context = pm_context_messages(s, p, d->f, d->comm_factor, stage_layers);
	ms.context = context.all_ms;
	ms.experts = experts.all_ms;
	ms.layers = fmax(ms.computed + sums + gathers_left + context.left_ms + experts.left_ms, ms.launches);
	return ms;
}

void
pm_divided_step(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, pm_scaled *to)
{
	division	d = {s, p, f, comm_factor};
	double		stage_layers = pm_stage_layers(p, s->layers);
	double		stage = stage_layers / s->layers;	/* share of the model that the largest stage has */
	double		stretch = f->compute_factor + f->straggler * sqrt(2 * log(p->world_size));
	stage_ms	ms = stage_of(&d, stage_layers, stretch);
	double		handing = 2 * p->interleave * hand_over_ms(&d);
	double		micro = ms.layers + ms.head + handing;
	double		gradients = gradients_ms(&d, stage);
	double		update = s->update_ms * stage / p->tp / pm_updaters(p, s->gradient_bytes, s->expert_bytes);
	double		working = fmax(ms.computed, ms.launches);

	to->step_ms = micro * in_a_row(p) + gradients + update;
	to->comm_ms = (ms.sums + ms.context + ms.experts + handing) * p->accumulation + gradients;
	/* sums that are done before the next kernel has been launched keep nothing waiting */
	to->exposed_ms = (ms.layers - working + handing) * p->accumulation + gradients;
	to->compute_ms = to->step_ms - to->exposed_ms;
	to->contention_ms = 0;
	to->bubble_ms = micro * (in_a_row(p) - p->accumulation);
	to->update_ms = update;
	pm_share_passes(s, pm_again_share(p, s->layers) * s->forward_ms + again_in_part_ms(s, p), (working + ms.head) * p->accumulation, to);
}

void
pm_tensor_shape(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, pm_step_shape *to, pm_messages_ms *messages)
{
	division	d = {s, p, f, comm_factor};
	stage_ms	ms = stage_of(&d, s->layers, 1);
	double		all_ms = s->forward_ms + s->backward_ms + pm_again_ms(s, p);

	*to = *s;
	to->update_ms /= p->tp;
	pm_stretch_passes(to, all_ms > 0 ? (ms.layers + ms.head) / all_ms : 1);
	to->gradient_bytes /= p->tp;
	to->expert_bytes /= p->tp;
	to->frozen_bytes /= p->tp;
	for (int k = 0; k < s->n; k++)
	{
		to->expert[k] /= p->tp;
		to->frozen_expert[k] /= p->tp;
		to->bytes[k] /= p->tp;
		to->frozen[k] /= p->tp;
	}
	messages->all_ms = ms.sums + ms.context + ms.experts;
	messages->left_ms = ms.layers - fmax(ms.computed, ms.launches);
}
