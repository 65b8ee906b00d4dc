/*
 * context.h - GPUs that share each sequence (context parallel).
 */
#ifndef PM_SCALING_CONTEXT_H
#define PM_SCALING_CONTEXT_H

#include "scaling/shape.h"

/*
 * The shape *to of one of the cp GPUs that share the sequences of s: it computes an
 * equal part of each, of causal attention, too (each has an early and a late piece).
 * Its kernels are as many as before, and take at least as long as their launches.
 */
void		pm_context_shape(const pm_step_shape *s, int cp, pm_step_shape *to);

/*
 * The messages of one batch, which travel while attention is computed.  In one layer, keys and values of all cp GPUs come to each of them in the forward
 * pass and again in the backward pass, and their gradients go back (Ring Attention,
 * Liu et al. 2023; Llama 3 and Megatron-Core gather them).  s: of a GPU, as
 * pm_context_shape() makes it.  layers: that a GPU has. p is checked.
 */
pm_messages_ms pm_context_messages(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, double layers);

#endif
