/*
 * expert_parallel.h - GPUs that divide the experts of each layer among themselves,
 * as Megatron-Core does (expert_model_parallel_size): of those that have the same
 * part of the model, ep each.  Tokens go to the GPUs that have their experts, and
 * back.  Experts are divided by tp as all products are, or, with etp 1 (Megatron-Core's
 * expert_tensor_parallel_size), are whole, and the GPUs of a layer are among the ep.
 * Then a GPU has experts / ep whole ones, as many bytes and as much work as the tp-th
 * part of tp times as many, so only messages differ.
 */
#ifndef PM_SCALING_EXPERT_PARALLEL_H
#define PM_SCALING_EXPERT_PARALLEL_H

#include "scaling/shape.h"

/*
 * The messages of one batch, for which the GPUs wait: in each layer with experts an
 * all-to-all to the experts and one back in the forward pass, as many in the
 * backward pass, and again where the layers are computed again.  Where tp GPUs share
 * each expert, they gather and sum what the experts work on, instead of each token once;
 * where they do not, that sum falls away, and the messages may be less than nothing.
 * s: of a GPU.  share: of the layers that a GPU has.  p is checked; with ep up to 1
 * there are none.
 */
pm_messages_ms pm_expert_messages(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, double share);

/* Calls of all-to-alls in a batch. */
double		pm_expert_calls(const pm_step_shape *s, const pm_parallel *p);

/*
 * Among how many GPUs zero divides an update, in the mean over the weights: those
 * of experts are on fewer GPUs.  gradients: bytes, of which those of experts.
 */
double		pm_updaters(const pm_parallel *p, double gradients, double experts);

/* How much more a GPU updates of an expert's weight than of another, in the mean. */
double		pm_expert_update(const pm_parallel *p);

#endif
