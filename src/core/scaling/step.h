/*
 * step.h - a training step on several GPUs, from the step on one.
 */
#ifndef PM_SCALING_STEP_H
#define PM_SCALING_STEP_H

#include "scaling/shape.h"

/* Fill *to. work: that of one GPU at this batch, whose step takes step_ms; it must have the skeleton that b was made from. */
void		pm_step_shape_of(const pm_buckets *b, const pm_tokens *work, int64_t batch, double step_ms, pm_step_shape *to);

/*
 * The step of p (checked) whose shape on one GPU is s.  comm_factor: on the
 * time of every collective, 1 for the best guess.
 */
void		pm_scaled_step(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, pm_scaled *to);

/*
 * Factor (0 to 1) on the errors of f for such a step: 1, or less if f has a
 * correction and measurements are near.  *far: f has a correction for such steps,
 * but its measurements are far from this one.
 */
double		pm_error_share(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, bool *far);

/*
 * Whether f was fitted to such steps on such GPUs: of the network, or, where tp or
 * pp divide the layers and f has a correction for that, of any.
 */
bool		pm_step_is_measured(const pm_parallel *p, const pm_fabric *f);

/*
 * The interval of a step on several GPUs.  low, mid, high: the shape of the step
 * on one GPU at the ends of its interval and at its middle; deviations: how many
 * standard deviations a normal distribution has on either side at that level.
 *
 * Computing and communication are at their ends together, because their errors
 * may have one cause.  The errors of f for the network, or for the whole cluster,
 * have other causes, so their squares are added.
 */
typedef struct pm_step_ends
{
	double		low_ms;
	double		high_ms;
} pm_step_ends;

pm_step_ends pm_scaled_ends(const pm_step_shape *low, const pm_step_shape *mid, const pm_step_shape *high, const pm_parallel *p, const pm_fabric *f,
							double deviations);

#endif
