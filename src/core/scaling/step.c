/*
 * step.c - the timeline of a data parallel step.
 *
 * Two resources, the GPU and the link, each do one thing at a time.  A bucket
 * of gradients is sent as soon as its last gradient exists and the link is
 * free; the step ends when the backward pass and the last bucket have, and the
 * update has been made.
 */
#include "scaling/step.h"
#include "scaling/context.h"
#include "scaling/divided_correction.h"
#include "scaling/divided.h"
#include "scaling/expert_parallel.h"
#include "scaling/groups.h"

#include <math.h>

/*
 * What an update moves if masters and states have 4 bytes each, not 2, beside gradients and weights of 2: bytes of a parameter are 28
 * over 14 with Adam, and 20 over 10 with SGD and momentum.
 */
#define MASTERS_TRAFFIC 2

/* Of the error without a correction: from so much on, no measurement is near. */
#define FAR_SHARE 0.9

typedef struct timeline
{
	const pm_step_shape *s;
	const pm_parallel *p;
	const pm_fabric *f;
	double		comm_factor;
	pm_group	all;			/* GPUs that sum their gradients, */
	pm_group	within;			/* those among which they are divided, */
	pm_group	across;			/* and those that have the same part of them; n 1: there are no others */
	pm_group	experts;		/* those that have the same experts; all, if each has all experts */
	double		message_bytes;
	bool		joined;			/* whether buckets travel together until a message is full */
	double		stretch;		/* of computing, by stragglers and by what travels meanwhile */
	double		comm_ms;		/* so far */
	bool		summed;			/* whether what follows is known */
	double		sum_ms[PM_MAX_BUCKETS + 1];	/* of the sum of a bucket over all GPUs */
} timeline;

/*
 * ms of one message. What has been summed within a group of GPUs is summed across the groups, each GPU its part (HSDP).
 * experts: of weights that are not on all GPUs.
 */
static double
message_ms(const timeline *t, pm_collective op, double bytes, bool experts)
{
	double		us = pm_group_us(experts ? &t->experts : op == PM_ALL_REDUCE ? &t->all : &t->within, op, bytes);

	if (op == PM_REDUCE_SCATTER && t->across.n > 1)
		us += pm_group_us(&t->across, PM_ALL_REDUCE, bytes / t->within.n);
	return us * t->comm_factor / 1000;
}

/* ms of a collective on so many bytes, divided into messages; where a message has several buckets, these bytes' share of it. */
static double
messages_ms(const timeline *t, pm_collective op, double all, double share, bool experts)
{
	double		messages = all / fmax(t->message_bytes, 1);

	if (all <= 0)
		return 0;
	if (!t->joined || messages > 1)
		messages = fmax(1, rint(messages));
	return messages * message_ms(t, op, all * share / messages, experts);
}

/* The same on all bytes of bucket k.  FSDP gathers frozen weights, too. */
static double
bucket_collective_ms(timeline *t, pm_collective op, int k, double share)
{
	bool		frozen = op == PM_ALL_GATHER && t->p->zero == 3;
	double		all = t->s->bytes[k] + (frozen ? t->s->frozen[k] : 0);
	double		experts = pm_expert_parts(t->p) > 1 ? t->s->expert[k] + (frozen ? t->s->frozen_expert[k] : 0) : 0;
	double		ms = messages_ms(t, op, all - experts, share, false) + messages_ms(t, op, experts, share, true);

	t->comm_ms += ms;
	return ms;
}

/* The same for gradients, whose sums compute_stretch() has computed already. */
static double
bucket_sum_ms(timeline *t, pm_collective op, int k, double share)
{
	if (op != PM_ALL_REDUCE || !t->summed)
		return bucket_collective_ms(t, op, k, share);
	t->comm_ms += t->sum_ms[k];
	return t->sum_ms[k];
}

/*
 * When a message of so many ms is there that is sent from `start` on, while the
 * GPUs compute until `computed`: the kernels of both share multiprocessors,
 * memory and the processor, so that messages are slower meanwhile.
 */
static double
arrival(const timeline *t, double start, double computed, double ms)
{
	double		meanwhile = fmax(0, computed - start) * t->f->overlap;

	return ms <= meanwhile ? start + ms / t->f->overlap : fmax(start, computed) + ms - meanwhile;
}

/* Backward pass and gradients; returns when both are over, from the start of the backward pass. */
static double
replicated_backward(timeline *t, double backward_ms, double share)
{
	double		computed = 0;
	double		link = 0;
	/* with gradients divided among the GPUs, each of them needs only the sum of its part */
	pm_collective op = t->p->zero >= 1 ? PM_REDUCE_SCATTER : PM_ALL_REDUCE;

	for (int k = 0; k < t->s->n; k++)
	{
		computed += t->s->bucket_ms[k] * t->stretch;
		link = arrival(t, fmax(link, computed), backward_ms * t->stretch, bucket_sum_ms(t, op, k, share));
	}
	return fmax(backward_ms * t->stretch, link);
}

/*
 * Weights that are divided, too (FSDP): those of a bucket are gathered while
 * those before are computed, and in the backward pass once more, besides the
 * sums of gradients.
 */
static double
sharded_forward(timeline *t, double forward_ms, double travelling)
{
	double		link = 0;
	double		computed = 0;
	double		total = 0;

	for (int k = 0; k < t->s->n; k++)
		total += t->s->bucket_ms[k];
	for (int k = t->s->n - 1; k >= 0; k--)
	{
		double		share = total > 0 ? t->s->bucket_ms[k] / total : 1.0 / t->s->n;

		link = arrival(t, link, computed, bucket_collective_ms(t, PM_ALL_GATHER, k, travelling));
		computed = fmax(computed, link) + forward_ms * share * t->stretch;
	}
	return fmax(computed, forward_ms * t->stretch);
}

/* weights, gradients: the share of their bytes that travels. */
static double
sharded_backward(timeline *t, double backward_ms, double weights, double gradients)
{
	double		link = t->s->n > 0 ? bucket_collective_ms(t, PM_ALL_GATHER, 0, weights) : 0;
	double		gathered = link;
	double		computed = 0;

	for (int k = 0; k < t->s->n; k++)
	{
		double		next_ms = 0;	/* of computing, while the gradients of this bucket travel */

		computed = fmax(computed, gathered) + t->s->bucket_ms[k] * t->stretch;
		if (k + 1 < t->s->n)
		{
			gathered = link = arrival(t, link, computed, bucket_collective_ms(t, PM_ALL_GATHER, k + 1, weights));
			next_ms = t->s->bucket_ms[k + 1] * t->stretch;
		}
		link = arrival(t, fmax(link, computed), fmax(computed, gathered) + next_ms, bucket_collective_ms(t, PM_REDUCE_SCATTER, k, gradients));
	}
	return fmax(fmax(computed, backward_ms * t->stretch), link);
}

/* The update, of which each GPU may have a part: it is the traffic of weights and states (pm_phases). */
static double
update_ms(const pm_step_shape *s, const pm_parallel *p)
{
	return s->update_ms / pm_updaters(p, s->gradient_bytes, s->expert_bytes);
}

/* Divided states: each GPU updates its part, and sends the new weights to the others. */
static double
sharded_update(timeline *t)
{
	double		ms = update_ms(t->s, t->p);

	if (t->p->zero <= 2)
		for (int k = 0; k < t->s->n; k++)
			ms += bucket_collective_ms(t, PM_ALL_GATHER, k, t->p->master_weights && !t->s->narrow ? 0.5 : 1);
	return ms;
}

/* Of the work on one GPU: how much slower the slowest of n is, what those beside it and what sending takes from computing. */
static double
compute_stretch(timeline *t)
{
	double		backward_ms = t->s->backward_ms;
	double		beside = (t->p->world_size + t->p->nodes - 1) / t->p->nodes - 1;
	double		slowest = t->f->compute_factor + t->f->straggler * sqrt(2 * log(t->p->world_size)) +
		t->f->contention * pow(beside, t->f->contention_power) + t->f->own_contention * log2(1 + beside);
	double		link = 0;

	if (t->f->steal <= 0)
		return slowest;
	for (int k = 0; k < t->s->n; k++)
		link += t->sum_ms[k] = bucket_collective_ms(t, PM_ALL_REDUCE, k, pm_travelling(t->s, t->p));
	t->summed = true;
	t->comm_ms = 0;
	return slowest * (1 + t->f->steal * (backward_ms > 0 ? fmin(link, backward_ms) / backward_ms : 0));
}

static double
one_step(timeline *t)
{
	const pm_step_shape *ms = t->s;
	double		again = pm_again_ms(ms, t->p);
	double		share = pm_travelling(ms, t->p);
	double		weights = pm_weights_travelling(ms, t->p);
	int			before = t->p->accumulation - 1;	/* batches that send nothing */
	double		compute = (before * (ms->forward_ms + ms->backward_ms) + t->p->accumulation * again) * t->stretch;

	if (t->p->zero == 3)
	{
		/* every batch needs the weights; without them none can be computed */
		double		batch = sharded_forward(t, ms->forward_ms, weights) + sharded_backward(t, ms->backward_ms, weights, share);

		t->comm_ms *= t->p->accumulation;
		return t->p->accumulation * (batch + again * t->stretch) + sharded_update(t);
	}
	compute += ms->forward_ms * t->stretch + replicated_backward(t, ms->backward_ms, share);
	return compute + (t->p->zero == 0 ? ms->update_ms : sharded_update(t));
}

void
pm_step_shape_of(const pm_buckets *b, const pm_tokens *work, int64_t batch, double step_ms, pm_step_shape *to)
{
	pm_phases	ms = pm_phases_of(work, step_ms);

	to->n = b->n;
	to->message_bytes = b->message_bytes;
	to->narrow = b->narrow;
	to->step_ms = step_ms;
	to->forward_ms = ms.forward_ms;
	to->backward_ms = ms.backward_ms;
	to->update_ms = ms.update_ms;
	to->layers = b->layers;
	to->heads = b->heads;
	to->activation_bytes = b->activation * batch * (work->dtype == PM_FP32 || work->dtype == PM_TF32 ? 4 : 2);
	to->kv_bytes = b->kv * batch * (work->dtype == PM_FP32 || work->dtype == PM_TF32 ? 4 : 2);
	to->expert_layers = b->experts.layers;
	to->sent_bytes = b->experts.sent * batch * (work->dtype == PM_FP32 || work->dtype == PM_TF32 ? 4 : 2);
	to->returned_bytes = b->experts.returned * batch * (work->dtype == PM_FP32 || work->dtype == PM_TF32 ? 4 : 2);
	to->gradient_bytes = to->expert_bytes = to->frozen_bytes = to->head_ms = to->undivided_ms = to->again_ms = to->core_ms = to->core_launch_ms = 0;
	to->cheap_ms = to->cheap_whole_ms = to->cheap_launch_ms = 0;
	to->attend_ms = to->attend_backward_ms = 0;
	for (int i = 0; i < work->n; i++)
	{
		double		both_ms = pm_passes_us(work, i) * ms.passes_us_ms;

		to->head_ms += b->head[i] * both_ms;
		to->undivided_ms += b->whole[i] * both_ms;
		to->again_ms += b->again[i] * pm_forward_us(work, i) * ms.passes_us_ms;
		to->core_ms += b->core[i] * pm_forward_us(work, i) * ms.passes_us_ms;
		to->cheap_ms += b->cheap[i] * pm_forward_us(work, i) * ms.passes_us_ms;
		to->cheap_whole_ms += fmin(b->cheap[i], b->whole[i]) * pm_forward_us(work, i) * ms.passes_us_ms;
		to->attend_ms += b->attends[i] * pm_forward_us(work, i) * ms.passes_us_ms;
		to->attend_backward_ms += b->attends[i] * pm_backward_us(work, i) * ms.passes_us_ms;
		to->core_launch_ms += b->core[i] * (work->kernels[i] - work->backward_kernels[i]) * PM_LEAST_LAUNCH_US / 1000;
		to->cheap_launch_ms += b->cheap[i] * (work->kernels[i] - work->backward_kernels[i]) * PM_LEAST_LAUNCH_US / 1000;
	}
	to->launch_ms = fmin(work->n_kernels * PM_LEAST_LAUNCH_US / 1000, ms.forward_ms + ms.backward_ms);
	for (int k = 0; k < b->n; k++)
	{
		to->bytes[k] = b->bytes[k];
		to->gradient_bytes += b->bytes[k];
		to->frozen[k] = b->frozen[k];
		to->expert[k] = b->expert[k];
		to->frozen_expert[k] = b->frozen_expert[k];
		to->expert_bytes += b->expert[k];
		to->frozen_bytes += b->frozen[k];
		to->bucket_ms[k] = pm_bucket_ms(b, k, work, &ms);
	}
}

/*
 * FSDP gathers the weights of a layer of a transformer in one message, however large; other networks are taken to be wrapped by
 * size.  With divided gradients or states alone, rings have a step for each GPU, and trainers send more at a time for that:
 * Megatron-Core max(40 million, 1 million a copy) gradients (distributed_data_parallel.py), DeepSpeed 500 million.
 */
static double
message_bytes(const pm_step_shape *s, const pm_parallel *p)
{
	double		joined = fmax(40e6, 1e6 * pm_sharers(p)) * (s->narrow ? 2 : 4);

	if (p->zero == 3)
		return s->layers > 0 ? fmax(s->message_bytes, (s->gradient_bytes + s->frozen_bytes) / s->layers) : s->message_bytes;
	return p->zero == 0 ? s->message_bytes : fmin(fmax(s->message_bytes, joined), s->gradient_bytes);
}

/* What measurements of the cluster say beyond its numbers; all parts of the step keep their shares. */
static void
correct(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, pm_scaled *to)
{
	double		x[PM_DIVIDED_FEATURES];
	double		factor;

	if (f->correction == NULL)
		return;
	pm_divided_correction_features(s, p, x);
	factor = pm_divided_correction_at(f->correction, x, NULL);
	to->step_ms *= factor;
	to->comm_ms *= factor;
	to->exposed_ms *= factor;
	to->compute_ms *= factor;
	to->contention_ms *= factor;
	to->bubble_ms *= factor;
	to->forward_ms *= factor;
	to->backward_ms *= factor;
	to->update_ms *= factor;
}

double
pm_error_share(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, bool *far)
{
	double		x[PM_DIVIDED_FEATURES];
	double		share;

	*far = false;
	if (f->correction == NULL || !pm_divided_correction_is_for(p))
		return 1;
	pm_divided_correction_features(s, p, x);
	pm_divided_correction_at(f->correction, x, &share);
	*far = share > FAR_SHARE;
	return share;
}

/* On one GPU nothing is sent. */
static void
alone(const pm_step_shape *s, const pm_parallel *p, pm_scaled *to)
{
	to->compute_ms = to->step_ms = p->accumulation == 1 ? s->step_ms :
		p->accumulation * (s->forward_ms + s->backward_ms) + s->update_ms;
	to->compute_ms = to->step_ms += p->accumulation * pm_again_ms(s, p);
	to->comm_ms = to->exposed_ms = to->contention_ms = to->bubble_ms = 0;
	to->update_ms = s->update_ms;
	pm_share_passes(s, pm_again_ms(s, p), fmax(0, to->step_ms - s->update_ms), to);
}

static timeline
timeline_of(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor)
{
	int			sharers = pm_sharers(p);
	int			shard = pm_shard(p);

	return (timeline) {
		.s = s, .p = p, .f = f, .comm_factor = comm_factor, .message_bytes = message_bytes(s, p), .joined = p->zero == 1 || p->zero == 2,
		.stretch = 1, .all = pm_group_of(p, f, sharers, p->tp), .within = pm_group_of(p, f, shard, p->tp),
		.across = pm_group_of(p, f, sharers / shard, shard * p->tp),
		.experts = pm_group_of(p, f, pm_expert_copies(p), sharers / pm_expert_copies(p) * p->tp)
	};
}

/* Copies of the model, whose passes s has. messages: of each batch, that they contain already. */
static void
replicated(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, const pm_messages_ms *messages, pm_scaled *to)
{
	timeline	t = timeline_of(s, p, f, comm_factor);
	double		update = update_ms(s, p);
	double		passes;

	t.stretch = compute_stretch(&t);
	to->step_ms = one_step(&t);
	to->comm_ms = t.comm_ms + p->accumulation * messages->all_ms;
	passes = p->accumulation * (s->forward_ms + pm_again_ms(s, p) + s->backward_ms - messages->left_ms) * t.stretch;
	to->compute_ms = passes + update;
	to->contention_ms = fmax(0, passes * (1 - f->compute_factor / t.stretch));
	to->exposed_ms = fmin(to->comm_ms, fmax(0, to->step_ms - to->compute_ms));
	to->bubble_ms = 0;
	to->update_ms = update;
	pm_share_passes(s, pm_again_ms(s, p), fmax(0, passes - to->contention_ms), to);
}

/* Where GPUs share sequences or experts, but neither layers nor stages: what is left of their messages is in the passes. */
static pm_messages_ms
add_messages(pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor)
{
	pm_messages_ms ms = {0};
	pm_messages_ms experts = pm_expert_messages(s, p, f, comm_factor, 1);
	double		passes_ms = s->forward_ms + s->backward_ms + pm_again_ms(s, p);

	if (p->cp > 1)
		ms = pm_context_messages(s, p, f, comm_factor, s->layers);
	ms.all_ms += experts.all_ms;
	ms.left_ms += experts.left_ms;
	pm_stretch_passes(s, passes_ms > 0 ? 1 + ms.left_ms / passes_ms : 1);
	return ms;
}

void
pm_scaled_step(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, pm_scaled *to)
{
	pm_step_shape widened,
				part,
				tensor;
	pm_messages_ms messages = {0};

	if (p->master_weights && s->narrow)
	{
		widened = *s;
		widened.update_ms *= MASTERS_TRAFFIC;
		widened.step_ms += widened.update_ms - s->update_ms;
		s = &widened;
	}
	if (p->world_size == 1)
	{
		alone(s, p, to);
		return;
	}
	if (p->cp > 1)
	{
		pm_context_shape(s, p->cp, &part);
		s = &part;
	}
	if (!pm_divided_correction_is_for(p))
	{
		if (p->cp > 1 || p->ep > 1)
		{
			part = *s;
			messages = add_messages(&part, p, f, comm_factor);
			s = &part;
		}
		replicated(s, p, f, comm_factor, &messages, to);
		return;
	}
	if (p->zero == 3)
	{
		pm_tensor_shape(s, p, f, comm_factor, &tensor, &messages);
		replicated(&tensor, p, f, comm_factor, &messages, to);
	}
	else
		pm_divided_step(s, p, f, comm_factor, to);
	correct(s, p, f, to);
}

static double
scaled_ms(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor)
{
	pm_scaled	to;

	pm_scaled_step(s, p, f, comm_factor, &to);
	return to.step_ms;
}

bool
pm_step_is_measured(const pm_parallel *p, const pm_fabric *f)
{
	return f->fitted_rows > 0 && f->other_gpu == NULL && (f->measured || (f->correction != NULL && pm_divided_correction_is_for(p)));
}

pm_step_ends
pm_scaled_ends(const pm_step_shape *low, const pm_step_shape *mid, const pm_step_shape *high, const pm_parallel *p, const pm_fabric *f, double deviations)
{
	bool		far;
	double		share = pm_error_share(mid, p, f, &far);
	double		middle = scaled_ms(mid, p, f, 1);
	double		comm_factor = exp(deviations * share * f->comm_error);
	double		below = log(middle / scaled_ms(low, p, f, 1 / comm_factor));
	double		above = log(scaled_ms(high, p, f, comm_factor) / middle);
	bool		measured = pm_step_is_measured(p, f);
	double		error_below = measured ? share * f->step_error : f->unseen_below;
	double		error_above = measured ? share * f->step_error : f->unseen_above;

	if (p->world_size == 1)
		error_below = error_above = 0;
	return (pm_step_ends) {
		.low_ms = middle * exp(-hypot(below, deviations * error_below)),
		.high_ms = middle * exp(hypot(above, deviations * error_above))
	};
}
