/*
 * change.c - a step after a change, from its predicted parts.
 *
 * A predictor is asked for what it has learned: formats, layouts, optimizers.
 * What it has no input for is computed here, from the work that the change
 * adds or takes away, at a share of the device's peak that is published.
 */
#include "change/change.h"

#include "features/phases.h"
#include "graph/attention.h"
#include "graph/op_update.h"

#include <math.h>

const char *const pm_change_name[PM_N_CHANGES] = {
	[PM_CHANGE_FLASH_ATTENTION] = "flash attention", [PM_CHANGE_FUSED_OPTIMIZER] = "fused optimizer",
	[PM_CHANGE_FIGURES] = "other figures"
};

#define LAUNCH_MS		(PM_LEAST_LAUNCH_US / 1000)

/* ---- flash attention ---- */

/*
 * Share of the peak of the matrix units: 50 to 73 % in the forward pass, up to
 * 63 % in the backward pass on an A100 (Dao 2023, FlashAttention-2).
 */
#define FLASH_SHARE		0.5
#define FLASH_BACKWARD	(5.0 / 4)	/* the backward pass computes the scores again: five products in place of four */
#define FLASH_PASSES	3		/* over query, key, value and output: once forward, twice backward */
#define FLASH_LAUNCHES	3

/* Predicted ms of node i of the dag's operators: an equal part of its token. */
static double
operator_ms(const pm_change_of *of, const double *token_ms, int i)
{
	int			token = of->skeleton->token_of[i];

	return token_ms[token] / of->skeleton->copies[token];
}

/* Elements of what a product reads and writes besides the scores. */
static double
operand_elements(const pm_change_of *of, const pm_attention *at)
{
	const pm_graph *g = of->skeleton->graph;
	const pm_node *scores = &g->nodes[at->scores];
	const pm_node *end = &g->nodes[at->end];
	double		count = pm_node_count(end, of->question->batch);

	for (int k = 0; k < 2; k++)
		count += pm_node_count(&g->nodes[scores->inputs[k]], of->question->batch);
	/* the value is as large as the key, whichever input of the product it is */
	return count + pm_node_count(&g->nodes[scores->inputs[1]], of->question->batch);
}

/* One kernel for an attention, forward and backward. */
static double
flash_ms(const pm_change_of *of, const pm_attention *at)
{
	const pm_question *q = of->question;
	bool		half = q->dtype != PM_FP32 && q->dtype != PM_TF32;
	double		flops = 0;
	double		bytes = FLASH_PASSES * (half ? 2 : 4) * operand_elements(of, at);
	bool		tensor_core = false;

	for (int k = 0; k < 2; k++)
	{
		pm_work		w;

		pm_node_work(of->skeleton->graph, k == 0 ? at->scores : at->end, q->batch, q->dtype, q->layout, q->optimizer, &w);
		flops += w.flops_forward + FLASH_BACKWARD * w.flops_backward;
		tensor_core = w.tensor_core;
	}
	return fmax(1e3 * flops / (FLASH_SHARE * pm_gpu_rate(q->gpu, q->dtype, tensor_core, false)),
				bytes / (PM_COPY_SHARE * q->gpu->mem_bw_gbs * 1e6)) + FLASH_LAUNCHES * LAUNCH_MS;
}

static pm_code
with_flash(const pm_change_of *of, pm_arena *a, double *step_ms, double *touched, pm_status *st)
{
	const pm_skeleton *s = of->skeleton;
	double	   *token_ms = PM_NEW(a, double, s->n);
	uint8_t    *fused = PM_NEW(a, uint8_t, s->graph->n_nodes);
	pm_attention *found;
	int			n;
	pm_code		rc;

	if (token_ms == NULL || fused == NULL)
		return pm_no_memory(st, a);
	if ((rc = pm_attention_find(s->graph, true, a, fused, &found, &n, st)) != PM_OK)
		return rc;
	for (int i = 0; i < of->n_parts; i++)
		if (of->parts[i].token >= 0)
			token_ms[of->parts[i].token] += of->parts[i].step_ms;
	*step_ms = of->step_ms;
	for (int i = 0; i < s->dag.n; i++)
		if (fused[s->dag.node[i]] != 0)
			*step_ms -= operator_ms(of, token_ms, i);
	for (int i = 0; i < n; i++)
		*step_ms += flash_ms(of, &found[i]);
	*touched = n;
	return PM_OK;
}

/* ---- fused optimizer ---- */

/* Weights that are trained alone have an update: what work says of parameters counts frozen ones, too. */
static void
with_fused_optimizer(const pm_change_of *of, double *step_ms, double *touched)
{
	double		trained = of->skeleton->graph->params - of->skeleton->graph->sparse;
	double		bytes = trained * pm_fused_update_saves(of->question->optimizer, of->question->dtype);
	double		at_peak_ms = bytes / (of->question->gpu->mem_bw_gbs * 1e6);
	double		least_ms = of->work->total_roofline_us / 1000 - at_peak_ms;
	double		saved_ms = fmin(at_peak_ms / PM_COPY_SHARE, pm_update_share(of->work) * of->step_ms);

	*touched = bytes > 0 ? trained / 1000 : 0;
	*step_ms = fmax(fmin(of->step_ms, least_ms), of->step_ms - saved_ms);
}

/* ---- other figures of the device ---- */

/* Each operator as much slower or faster as its roofline says, but no faster than its kernels are launched. */
static pm_code
with_figures(const pm_change_of *of, const pm_gpu *other, pm_arena *a, double *step_ms, double *touched, pm_status *st)
{
	pm_question q = *of->question;
	pm_tokens	then;
	pm_code		rc;

	q.gpu = other;
	if ((rc = pm_tokens_build_work(of->skeleton, &q, a, &then, st)) != PM_OK)
		return rc;
	*step_ms = *touched = 0;
	for (int i = 0; i < of->n_parts; i++)
	{
		const pm_part *p = &of->parts[i];
		double		now_us = p->token >= 0 ? of->work->roofline_us[p->token] : 0;
		double		ms = p->step_ms;

		if (now_us > 0)
		{
			double		launches = of->work->kernels[p->token] * of->skeleton->copies[p->token] * LAUNCH_MS;

			ms = fmax(ms * then.roofline_us[p->token] / now_us, fmin(ms, launches));
			*touched += of->skeleton->copies[p->token];
		}
		*step_ms += ms;
	}
	return PM_OK;
}

pm_code
pm_change_step(pm_change change, const pm_change_of *of, const pm_gpu *other, pm_arena *a, double *step_ms, double *touched,
			   pm_status *st)
{
	switch (change)
	{
		case PM_CHANGE_FLASH_ATTENTION:
			return with_flash(of, a, step_ms, touched, st);
		case PM_CHANGE_FUSED_OPTIMIZER:
			with_fused_optimizer(of, step_ms, touched);
			return PM_OK;
		default:
			return with_figures(of, other, a, step_ms, touched, st);
	}
}

/*
 * Passes, and with them what is counted of them, take `factor` of their time; head_ms: of it, the head.  What is
 * computed again is of the layers, which have the rest.
 */
static void
stretch_passes(pm_step_shape *s, double factor, double head_ms)
{
	double		passes_ms = s->forward_ms + s->backward_ms;

	if (passes_ms > s->head_ms)
		s->again_ms *= fmax(0, factor * passes_ms - head_ms) / (passes_ms - s->head_ms);
	s->head_ms = head_ms;
	s->core_ms *= factor;
	s->cheap_ms *= factor;
	s->cheap_whole_ms *= factor;
	s->forward_ms *= factor;
	s->backward_ms *= factor;
	for (int k = 0; k < s->n; k++)
		s->bucket_ms[k] *= factor;
}

void
pm_change_shape(pm_change change, double step_ms, pm_step_shape *s)
{
	double		passes_ms = s->forward_ms + s->backward_ms;
	double		factor = step_ms / s->step_ms;

	if (change == PM_CHANGE_FIGURES)
	{
		s->update_ms *= factor;
		s->undivided_ms *= factor;
	}
	else if (change == PM_CHANGE_FUSED_OPTIMIZER)
		/* what the update does not have is taken from the passes: their shares are those of a roofline */
		s->update_ms = fmax(0, step_ms - passes_ms);
	else
	{
		s->update_ms = fmin(s->update_ms, step_ms);
		/* one kernel keeps no scores that could be computed again */
		s->core_ms = s->core_launch_ms = 0;
	}
	if (passes_ms > 0)
		stretch_passes(s, (step_ms - s->update_ms) / passes_ms, s->head_ms * (change == PM_CHANGE_FIGURES ? factor : 1));
	s->step_ms = step_ms;
}

void
pm_change_shared_shape(pm_change change, const pm_small_work *w, double before_ms, double after_ms, pm_step_shape *s)
{
	double		stretch;

	pm_small_update(w->update_share * before_ms, s);
	stretch = pm_small_stretch(w, before_ms, s);
	pm_change_shape(change, after_ms, s);
	if (w->launch_share > 0)
		pm_small_passes(w->launch_share * before_ms, stretch, s);
}
