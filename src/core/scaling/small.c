/*
 * small.c - what small work takes.
 *
 * A processor hands out kernels ahead of the device, so launches are a limit for
 * all layers together.  But a GPU that has a part of each sequence has the work of
 * fewer samples, and a batch of these is no faster for the samples that others have.
 *
 * Where GPUs divide the update, its part of the step is what a step without an
 * optimizer is shorter by.  By its traffic alone, it would be more than it adds.
 */
#include "scaling/small.h"

#include <math.h>

#define HARDLY_ANY	1e-6		/* of the work of an operator; logarithms are taken of it */

pm_code
pm_small_work_of(const pm_predictor *predictor, pm_prepared *x, const pm_sample *s, const pm_parallel *p, pm_small_work *w, pm_status *st)
{
	pm_code		rc = PM_OK;

	*w = (pm_small_work) {.cp = p->cp, .part_share = 1, .update_share = NAN};
	if (p->tp > 1 || p->cp > 1)
		rc = pm_predictor_share(predictor, x, s, HARDLY_ANY, &w->launch_share, st);
	if (rc == PM_OK && p->cp > 1)
		rc = pm_predictor_share(predictor, x, s, 1.0 / p->cp, &w->part_share, st);
	if (rc == PM_OK && (p->zero > 0 || p->tp > 1 || p->pp > 1))
		rc = pm_predictor_update_share(predictor, x, s, &w->update_share, st);
	return rc;
}

/* The passes take so many times as long, and all that is a part of them. */
static void
stretch_all(double stretch, pm_step_shape *to)
{
	pm_stretch_passes(to, stretch);
	to->head_ms *= stretch;
	to->undivided_ms *= stretch;
	to->cheap_whole_ms *= stretch;
	to->attend_ms *= stretch;
	to->attend_backward_ms *= stretch;
}

void
pm_small_update(double update_ms, pm_step_shape *to)
{
	double		passes_ms = to->forward_ms + to->backward_ms;
	double		more_ms = to->update_ms - update_ms;

	if (!(more_ms > 0 && passes_ms > 0))
		return;
	to->update_ms = update_ms;
	stretch_all((passes_ms + more_ms) / passes_ms, to);
}

double
pm_small_stretch(const pm_small_work *w, double step_ms, const pm_step_shape *s)
{
	return fmax((w->part_share * step_ms * w->cp - s->update_ms) / (s->forward_ms + s->backward_ms), 1);
}

void
pm_small_passes(double launch_ms, double stretch, pm_step_shape *to)
{
	to->launch_ms = fmin(fmax(to->launch_ms, launch_ms), to->forward_ms + to->backward_ms);
	stretch_all(stretch, to);
}

void
pm_small_work_put(const pm_small_work *w, double step_ms, pm_step_shape *to)
{
	pm_small_update(w->update_share * step_ms, to);
	if (w->launch_share > 0)
		pm_small_passes(w->launch_share * step_ms, pm_small_stretch(w, step_ms, to), to);
}
