/*
 * shape.h - how GPUs share the work of a step: the input from the step on one
 * GPU, and the result.
 */
#ifndef PM_SCALING_SHAPE_H
#define PM_SCALING_SHAPE_H

#include "scaling/buckets.h"
#include "scaling/collective.h"

/* What is not kept of the forward pass but computed once more in the backward pass. */
typedef enum pm_recompute
{
	PM_RECOMPUTE_NOTHING,
	PM_RECOMPUTE_LAYERS,
	PM_RECOMPUTE_CHEAP,			/* all but products and attention in one kernel */
	PM_RECOMPUTE_ATTENTION		/* scores, softmax and their product with the values, where they are operators of their own */
} pm_recompute;

/* How the GPUs share the work. Every GPU has a batch of its own. */
typedef struct pm_parallel
{
	int			world_size;		/* GPUs; 1: of the following members, only accumulation matters */
	int			nodes;			/* machines; 0: as few as have room */
	int			accumulation;	/* batches that are added up before an update; in a pipeline its micro-batches */
	int			zero;			/* what is divided among the GPUs: 0 nothing, 1 optimizer states, 2 gradients too, 3 weights too (FSDP) */
	bool		compress;		/* gradients travel in 16 bits, and with zero 3 weights, too */
	double		bucket_mb;		/* of gradients in one message */
	int			tp;				/* GPUs that share each layer of a transformer (tensor parallel) */
	int			pp;				/* groups of layers, one after the other on GPUs of their own (pipeline) */
	int			interleave;		/* pieces that a GPU has of the pipeline */
	pm_recompute recompute;
	int			again_layers;	/* with PM_RECOMPUTE_LAYERS, of the layers of a GPU, how many; 0: all */
	bool		sequence_parallel;	/* between the products of a layer, each of its tp GPUs has a part of the sequence */
	int			cp;				/* GPUs that share each sequence, in all layers (context parallel) */
	int			shard;			/* copies that divide what zero divides, each group of so many alike (HSDP); 0: all */
	bool		compile;		/* torch.compile: operators between products are fused; also on one GPU, and in inference */
	bool		master_weights; /* weights have 16 bits, and their masters in 32 are among the optimizer's states */
	int			ep;				/* of the GPUs that have the same part of the model, how many divide its experts; 0 or 1: each has all */
	int			etp;			/* 1: the GPUs of a layer do not share each expert, and are among the ep that divide them; 0: they do, as all of the layer */
} pm_parallel;

#define PM_MAX_ACCUMULATION 65536
#define PM_MAX_TP			1024
#define PM_MAX_PP			1024
#define PM_MAX_CP			1024
#define PM_MAX_EP			1024
#define PM_PARALLEL_NONE {.world_size = 1, .accumulation = 1, .bucket_mb = PM_BUCKET_MB_USUAL, .tp = 1, .pp = 1, .interleave = 1, .cp = 1}

/* Layers of the GPU that has most of so many. */
static inline int
pm_stage_layers(const pm_parallel *p, int layers)
{
	int			pieces = p->pp * p->interleave;

	return (layers + pieces - 1) / pieces * p->interleave;
}

/* Share of its layers that a GPU computes again. layers: of the model; 0: it has none. */
static inline double
pm_again_share(const pm_parallel *p, int layers)
{
	int			stage;

	if (p->recompute != PM_RECOMPUTE_LAYERS || p->again_layers == 0)
		return p->recompute == PM_RECOMPUTE_LAYERS ? 1 : 0;
	stage = pm_stage_layers(p, layers);
	return p->again_layers < stage ? (double) p->again_layers / stage : 1;
}

/* Copies of the model that train on different samples. */
#define PM_REPLICAS(p) ((p)->world_size / ((p)->tp * (p)->pp * (p)->cp))

/* The share of the experts that the tp GPUs of a layer have together is one of so many. */
static inline int
pm_expert_parts(const pm_parallel *p)
{
	int			parts = p->etp == 1 ? p->ep / p->tp : p->ep;

	return parts > 1 ? parts : 1;
}

typedef struct pm_scaled
{
	double		step_ms;
	double		comm_ms;		/* all collectives of a step, one after the other */
	double		exposed_ms;		/* of it, while no GPU computes */
	double		compute_ms;		/* step_ms less exposed_ms: forward, backward and update, contention_ms among them */
	double		contention_ms;	/* of it, added by slower GPUs, by other GPUs of the machine and by messages; 0 with tp or pp, but for zero 3 */
	double		bubble_ms;		/* of it, while a GPU of a pipeline waits for micro-batches, of the GPU with most layers */
	double		forward_ms,		/* the rest of compute_ms: what that GPU computes, */
				backward_ms,	/* with what it computes again, */
				update_ms;
} pm_scaled;

/* The step on one GPU as a step on several needs it: its phases, and when gradients are ready. */
typedef struct pm_step_shape
{
	int			n;				/* buckets */
	double		message_bytes;	/* as in pm_buckets */
	int			layers;
	pm_heads	heads;			/* of the layers */
	double		activation_bytes;	/* of a batch, from a layer to the next */
	double		kv_bytes;		/* of a batch, keys and values of a layer */
	double		gradient_bytes;
	double		frozen_bytes;	/* of weights without gradients */
	bool		narrow;			/* gradients have 16 bits already */
	double		head_ms;		/* of forward and backward pass, behind the layers: on the last stage alone */
	double		undivided_ms;	/* of forward and backward pass: work that every GPU does in full with tensor parallelism */
	double		launch_ms;		/* forward and backward pass take at least so long: their kernels have to be launched */
	double		step_ms,
				forward_ms,
				backward_ms,
				update_ms;		/* which zero divides among the GPUs; the three add up to step_ms */
	double		again_ms;		/* of the forward pass, what is computed again where activations are not kept, */
	double		core_ms,		/* and where only those of attention are not, */
				core_launch_ms; /* whose kernels take so long to launch, */
	double		cheap_ms,		/* and where only those of cheap operators are not, */
				cheap_whole_ms, /* of it, what every GPU does in full with tensor parallelism, */
				cheap_launch_ms;
	int			expert_layers;	/* that have experts; the model is that of a GPU, with its experts alone */
	double		sent_bytes,		/* of a batch, what comes to the experts of all layers, */
				returned_bytes;	/* and goes back from them */
	double		expert_bytes;	/* of gradient_bytes, those of experts */
	double		attend_ms,		/* of the forward pass, attention in all layers: from the scores to the product with the values, */
				attend_backward_ms; /* and of the backward pass */
	double		bytes[PM_MAX_BUCKETS + 1];
	double		frozen[PM_MAX_BUCKETS + 1]; /* bytes of weights without gradients */
	double		expert[PM_MAX_BUCKETS + 1]; /* of bytes, those of experts, */
	double		frozen_expert[PM_MAX_BUCKETS + 1];	/* and of frozen */
	double		bucket_ms[PM_MAX_BUCKETS + 1];	/* of the backward pass, from a bucket to the next */
} pm_step_shape;

/* ms of the messages of one batch, and of these, while a GPU waits for them. */
typedef struct pm_messages_ms
{
	double		all_ms;
	double		left_ms;
} pm_messages_ms;

/* All passes of s, and what is computed again, take `by` times as long. */
static inline void
pm_stretch_passes(pm_step_shape *s, double by)
{
	s->forward_ms *= by;
	s->backward_ms *= by;
	s->again_ms *= by;
	s->core_ms *= by;
	s->cheap_ms *= by;
	for (int k = 0; k < s->n; k++)
		s->bucket_ms[k] *= by;
	s->step_ms = s->forward_ms + s->backward_ms + s->update_ms;
}

/* Share of the bytes of gradients that travels. */
static inline double
pm_travelling(const pm_step_shape *s, const pm_parallel *p)
{
	return p->compress && !s->narrow ? 0.5 : 1;
}

/* The same of the weights that a GPU has updated for others. */
static inline double
pm_weights_travelling(const pm_step_shape *s, const pm_parallel *p)
{
	return (p->compress || p->master_weights) && !s->narrow ? 0.5 : 1;
}

/* Of the forward pass on one GPU, what is computed again. */
static inline double
pm_again_ms(const pm_step_shape *s, const pm_parallel *p)
{
	switch (p->recompute)
	{
		case PM_RECOMPUTE_NOTHING:
			return 0;
		case PM_RECOMPUTE_LAYERS:
			return pm_again_share(p, s->layers) * s->again_ms;
		case PM_RECOMPUTE_CHEAP:
			return s->cheap_ms;
		case PM_RECOMPUTE_ATTENTION:
			return s->core_ms;
	}
	return 0;
}

/* passes_ms become those of *to, if the backward pass has again_ms of the forward pass besides. */
static inline void
pm_share_passes(const pm_step_shape *s, double again_ms, double passes_ms, pm_scaled *to)
{
	double		all_ms = s->forward_ms + s->backward_ms + again_ms;

	to->forward_ms = all_ms > 0 ? passes_ms * s->forward_ms / all_ms : 0;
	to->backward_ms = passes_ms - to->forward_ms;
}

#endif
