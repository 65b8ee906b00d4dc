/*
 * phases.c - forward pass, backward pass and update of an operator.
 */
#include "features/phases.h"

#include <math.h>

/*
 * A pass takes at least as long as the launches of its kernels.  By roofline time
 * alone, which for a tiny batch is the traffic of the weights, the update and the
 * layers with most weights would have most of a short step, and a larger batch
 * could end sooner.
 */
double
pm_forward_us(const pm_tokens *work, int i)
{
	return fmax(work->phase_us[3 * i], (work->kernels[i] - work->backward_kernels[i]) * PM_LEAST_LAUNCH_US);
}

double
pm_backward_us(const pm_tokens *work, int i)
{
	return fmax(work->phase_us[3 * i + 1], work->backward_kernels[i] * PM_LEAST_LAUNCH_US);
}

double
pm_passes_us(const pm_tokens *work, int i)
{
	return pm_forward_us(work, i) + pm_backward_us(work, i);
}

double
pm_update_part(double passes_us, double update_us, double ms)
{
	double		all_us = passes_us + update_us;
	double		share_ms = all_us > 0 ? ms * update_us / all_us : 0;

	/* nothing else takes time */
	return passes_us == 0 ? share_ms : fmin(share_ms, update_us * PM_UPDATE_MOST / 1000);
}
