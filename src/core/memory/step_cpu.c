/*
 * step_cpu.c - scratch memory of convolutions on a CPU.
 *
 * PyTorch computes them with oneDNN in a format of its own: data, kernel and
 * result are copied to blocks of 16 channels and back.  It does not for
 * ConvTranspose, which goes by columns of one sample, and for kernels of a
 * single element that take every position, unless there are 16 samples
 * (peak.c).
 *
 * Source: ConvParams::use_mkldnn() of PyTorch 1.13, and what its profiler shows
 * of ResNet and MobileNet.
 */
#include "memory/step_build.h"

#include <math.h>
#include <string.h>

#include "graph/op_operands.h"

#define BLOCK	16				/* channels */
#define PLAIN	4				/* channels up to which the first convolution reads the data as it is */

static bool
is_conv(const pm_node *n)
{
	return !n->view && n->n_inputs > 0 && n->n_weights > 0 && strcmp(pm_op_name(n->op), "Conv") == 0;
}

bool
pm_step_is_pointwise(const pm_node *n)
{
	if (!is_conv(n))
		return false;
	for (int d = 0; d < n->attrs.spatial; d++)
		if (n->attrs.kernel[d] != 1 || n->attrs.stride[d] != 1 || n->attrs.dilation[d] != 1)
			return false;
	return true;
}

bool
pm_step_is_blocked(const pm_step_build *b, int node)
{
	const pm_node *n = &b->g->nodes[node];

	return b->o->on_cpu && is_conv(n) && !pm_step_is_pointwise(n);
}

/* By how much blocks of channels are larger. */
static double
padding(const pm_node *n)
{
	double		channels = n->shape.rank > 1 ? (double) n->shape.dim[1] : BLOCK;

	return channels > 0 ? ceil(channels / BLOCK) * BLOCK / channels : 1;
}

int32_t
pm_step_block_of(pm_step_build *b, int node)
{
	const pm_node *n = &b->g->nodes[node];

	if (n->shape.rank > 1 && n->shape.dim[1] <= PLAIN)
		return PM_NO_TENSOR;
	return pm_step_new_count(b, PM_MEMORY_WORKSPACE, pm_shape_count(&n->shape) * padding(n), n->batch_dim >= 0, pm_step_half_size(b));
}

int32_t
pm_step_block_of_kernel(pm_step_build *b, int node)
{
	const pm_node *n = &b->g->nodes[node];

	return pm_step_new_count(b, PM_MEMORY_WORKSPACE, pm_shape_count(&n->weights[0]), false, pm_step_half_size(b));
}
