/*
 * parts.h - the parts of a step on one GPU as those of a step that several share.
 */
#ifndef PM_SCALING_PARTS_H
#define PM_SCALING_PARTS_H

#include "kinds/kind.h"
#include "scaling/shape.h"

/*
 * The n parts of the step on one GPU, whose shape is s, become those of the step
 * *to: of one of its GPUs, all its batches together.  With to->contention_ms,
 * to->bubble_ms and what is exposed they add up to to->step_ms.  Each phase of a part
 * is divided as that phase of the step; a part that does not know its phases has
 * those of its work, and stays without.  Of the update of experts, a GPU has
 * expert_update times as much as of that of others (pm_expert_update()).  work: of the
 * skeleton that the parts are of, with its graph where expert_update is not 1.
 */
void		pm_scale_parts(const pm_tokens *work, double expert_update, const pm_step_shape *s, const pm_scaled *to, pm_part *parts, int n);

#endif
