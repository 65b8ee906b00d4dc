/*
 * fp8.c - linear layers in 8 bits.
 *
 * A product in FP8 has twice the peak of 16 bits on all cards that have it, and
 * before it, tensors are cast: a tensor of 2 bytes is read, and written in 1 byte
 * twice, as it is and transposed, for the products of the forward and of the
 * backward pass (NVIDIA, Transformer Engine; pytorch/ao, torchao/float8/README.md).
 */
#include "change/fp8.h"

#include "features/phases.h"
#include "graph/op_catalogue.h"
#include "graph/op_work.h"

#include <math.h>

#define FIRST_CAPABILITY	8.9
#define MULTIPLE			16		/* of the sizes of a product that the kernels take */
#define SHARE				0.95	/* of twice the speed that a product had: chosen on 15 pairs of steps (docs/scaling.md, FP8) */
#define CAST_BYTES			4		/* for each element: 2 read, 2 written */

pm_fp8_units
pm_gpu_fp8_units(const pm_gpu *gpu)
{
	if (gpu->is_cpu)
		return PM_FP8_NO;
	if (isnan(gpu->compute_capability))
		return PM_FP8_UNKNOWN;
	return gpu->compute_capability >= FIRST_CAPABILITY ? PM_FP8_YES : PM_FP8_NO;
}

/* Rows and columns of the weights, which are the last two sizes; those of experts have one before. */
static bool
sizes_fit(const pm_node *n)
{
	for (int i = 0; i < n->n_weights; i++)
	{
		const pm_shape *s = &n->weights[i];

		for (int k = s->rank - 2; s->rank >= 2 && k < s->rank; k++)
			if (s->dim[k] % MULTIPLE != 0)
				return false;
	}
	return true;
}

static bool
is_linear(const pm_node *n)
{
	return pm_op_class(n->op) == PM_CLASS_GEMM && n->n_weights > 0 && sizes_fit(n);
}

/* ms to cast what the products of one node read in a training step, or in a forward pass, whose weights have been cast before. */
static double
casts_ms(const pm_question *q, const pm_work *w, int batches)
{
	double		elements = q->mode == PM_TRAIN ? w->in_elems + w->weight_elems / batches + w->out_elems : w->in_elems;

	return CAST_BYTES * elements / (PM_COPY_SHARE * q->gpu->mem_bw_gbs * 1e6);
}

/* Of a part, what the passes take: not the update, which where it is not known takes its roofline time, whatever the batch. */
static double
passes_ms(const pm_tokens *work, const pm_part *part)
{
	if (!isnan(part->forward_ms) && !isnan(part->backward_ms))
		return part->forward_ms + part->backward_ms;
	return fmax(0, part->step_ms - work->phase_us[3 * part->token + 2] * work->skeleton->copies[part->token] / 1000);
}

/* share: of the copies of a part, that are in 8 bits. */
static void
narrow(const pm_tokens *work, const pm_question *q, double share, int batches, pm_part *part)
{
	const pm_skeleton *s = work->skeleton;
	double		before = passes_ms(work, part);
	double		launches;
	double		after;
	pm_work		w;

	pm_node_work(s->graph, s->node[part->token], q->batch, q->dtype, q->layout, q->optimizer, &w);
	if (!w.tensor_core || before <= 0)
		return;
	launches = PM_USUAL_LAUNCH_US * work->kernels[part->token] * s->copies[part->token] / 1000;
	after = before * (1 - share) + share * (before / (2 * SHARE) + casts_ms(q, &w, batches) * s->copies[part->token]);
	/* kernels are launched as often in any format */
	after = fmax(after, fmin(before, launches));
	part->step_ms += after - before;
	part->forward_ms *= after / before;
	part->backward_ms *= after / before;
}

double
pm_fp8_parts(const pm_tokens *work, const pm_question *q, const float *head, int batches, pm_part *parts, int n)
{
	const pm_skeleton *s = work->skeleton;
	double		sum = 0;

	for (int i = 0; i < n; i++)
	{
		int			t = parts[i].token;

		if (t >= 0 && is_linear(&s->graph->nodes[s->node[t]]))
			narrow(work, q, 1 - (head != NULL ? head[t] / s->copies[t] : 0), batches, &parts[i]);
		sum += parts[i].step_ms;
	}
	return sum;
}
