/*
 * divided.h - a step of a transformer that is divided among GPUs: within each
 * layer (tensor parallel), and by groups of layers (pipeline).
 */
#ifndef PM_DIVIDED_H
#define PM_DIVIDED_H

#include "scaling/shape.h"

/* pm_scaled_step() for tp or pp above 1; s has layers. */
void		pm_divided_step(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, pm_scaled *to);

/*
 * The shape *to of one of tp GPUs that share the layers of s, whatever the copies of the model do among
 * themselves: its passes have its share of the work, and the time for which they wait for the others of the
 * group (pm_again_ms() of *to is what it computes again, with its messages).
 */
void		pm_tensor_shape(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, pm_step_shape *to,
							pm_messages_ms *messages);

#endif
