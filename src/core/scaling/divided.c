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
 * all micro-batches are done.  GPUs are numbered as Megatron does: those of a
 * layer next to each other, then the copies, then the stages.
 */
#include "scaling/divided.h"

#include <math.h>

#define SUMS_A_PASS 2
#define CALL_MS 0.03			/* of a collective, on the processor */

typedef struct division
{
	const pm_step_shape *s;
	const pm_parallel *p;
	const pm_fabric *f;
	double		comm_factor;
	int			per_node;		/* GPUs that work on a machine */
} division;

/* Machines are full but for the last one, unless more of them were asked for than are needed. */
static int
gpus_of_a_node(const pm_parallel *p, const pm_fabric *f)
{
	int			needed = (p->world_size + f->gpus_per_node - 1) / f->gpus_per_node;

	return p->nodes > needed ? (p->world_size + p->nodes - 1) / p->nodes : f->gpus_per_node;
}

/* Machines of a group of GPUs whose numbers span so many. */
static int
nodes_of(const division *d, int gpus, int span)
{
	int			nodes = (span + d->per_node - 1) / d->per_node;

	return nodes < gpus ? nodes : gpus;
}

/*
 * The links of a machine for one of several groups of GPUs that send at the same
 * time, each `together` GPUs of the machine: what leaves it shares its adapters.
 */
static pm_fabric
links_of_group(const division *d, int together)
{
	int			stage = PM_REPLICAS(d->p) * d->p->tp;
	int			sending = stage < d->per_node ? stage : d->per_node;
	double		wanted = fmin(d->f->adapters, together) * sending / together;
	pm_fabric	f = *d->f;

	if (wanted > f.adapters)
		f.inter_factor *= f.adapters / wanted;
	return f;
}

/* ms of one collective of a layer's GPUs on what a layer hands on, for each sum in a pass of so many layers. */
static double
layer_collective_ms(const division *d, pm_collective op, double layers)
{
	double		us = pm_collective_us(op, d->s->activation_bytes, d->p->tp, nodes_of(d, d->p->tp, d->p->tp), d->f);

	return layers * SUMS_A_PASS * us * d->comm_factor / 1000;
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
layer_calls(const pm_parallel *p, int passes)
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
	int			nodes = d->p->world_size > d->per_node ? 2 : 1;
	pm_fabric	f = links_of_group(d, 1);

	if (d->p->pp == 1)
		return 0;
	f.host_s_per_gb *= d->p->tp;
	return pm_collective_us(PM_SEND_RECV, d->s->activation_bytes / d->p->tp, 2, nodes, &f) * d->comm_factor / 1000;
}

/* ms of the sum of gradients over the copies of the model. */
static double
gradients_ms(const division *d, double share)
{
	int			copies = PM_REPLICAS(d->p);
	int			nodes = nodes_of(d, copies, copies * d->p->tp);
	double		bytes = d->s->gradient_bytes * share / d->p->tp * pm_travelling(d->s, d->p);
	pm_fabric	f = links_of_group(d, (copies + nodes - 1) / nodes);
	double		us = pm_collective_us(PM_ALL_REDUCE, bytes, copies, nodes, &f);

	return us * d->comm_factor / 1000;
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

void
pm_divided_step(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, pm_scaled *to)
{
	division	d = {s, p, f, comm_factor, gpus_of_a_node(p, f)};
	double		stage_layers = ceil((double) s->layers / (p->pp * p->interleave)) * p->interleave;
	double		stage = stage_layers / s->layers;	/* share of the model that the largest stage has */
	double		stretch = f->compute_factor + f->straggler * sqrt(2 * log(p->world_size));
	int			passes = p->recompute == PM_RECOMPUTE_LAYERS ? 3 : 2;
	double		core_ms = p->recompute == PM_RECOMPUTE_ATTENTION ? s->core_ms : 0;
	/* a pass of recomputing launches the kernels of the forward pass, a third of all, again */
	double		floor_ms = s->launch_ms * (1 + (passes - 2) / 3.0) + (p->recompute == PM_RECOMPUTE_ATTENTION ? s->core_launch_ms : 0);
	/*
	 * The last stage has the head besides its layers, which is not computed again.  Its forward pass counts once too often among
	 * the layers of all stages: without it, the steps of BigScience came out 9 instead of 6 % too short.
	 */
	double		whole_ms = p->sequence_parallel ? 0 : s->undivided_ms * (1 + (passes - 2) / 3.0);
	double		layers_ms = ((s->forward_ms * (passes - 1) + s->backward_ms + core_ms - s->head_ms - whole_ms) / p->tp + whole_ms) * stage;
	/* the head's few kernels are large, and start when those of the layers have been launched */
	double		head_ms = s->head_ms / p->tp * stretch;
	double		sums = passes * layer_sums_ms(&d, stage_layers);
	double		gathers = p->sequence_parallel ? layer_collective_ms(&d, PM_ALL_GATHER, stage_layers) : 0;
	double		gathers_left = gathers_left_ms(&d, gathers, s->backward_ms / p->tp * stage * stretch);
	/* the processor hands out kernels and sums one after the other, while the GPU works on what it has */
	double		launches = floor_ms * stage * stretch + layer_calls(p, passes) * stage_layers * CALL_MS;
	double		layers = fmax(layers_ms * stretch + sums + gathers_left, launches);
	double		handing = 2 * p->interleave * hand_over_ms(&d);
	double		micro = layers + head_ms + handing;
	double		gradients = gradients_ms(&d, stage);
	double		update = s->update_ms * stage / p->tp / (p->zero >= 1 ? PM_REPLICAS(p) : 1);

	to->step_ms = micro * in_a_row(p) + gradients + update;
	to->comm_ms = (sums + gathers + handing) * p->accumulation + gradients;
	/* sums that are done before the next kernel has been launched keep nothing waiting */
	to->exposed_ms = (layers - fmax(layers_ms * stretch, launches) + handing) * p->accumulation + gradients;
	to->compute_ms = to->step_ms - to->exposed_ms;
	to->contention_ms = 0;
	to->bubble_ms = micro * (in_a_row(p) - p->accumulation);
	to->update_ms = update;
	pm_share_passes(s, passes > 2 ? s->forward_ms : core_ms, (fmax(layers_ms * stretch, launches) + head_ms) * p->accumulation, to);
}
