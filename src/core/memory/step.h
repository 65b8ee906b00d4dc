/*
 * step.h - the memory of one training step, tensor by tensor: each allocation
 * and each release, in the order of PyTorch.
 *
 * The simulation does not depend on the batch: each tensor has a fixed number
 * of bytes and a number of bytes per sample. peak.h reads the events.
 */
#ifndef PM_STEP_H
#define PM_STEP_H

#include "memory/events.h"

/*
 * The second step of training finished graph g: states of the optimizer are
 * there already.  The arena owns *s. PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_step_simulate(const pm_graph *g, const pm_step_options *o, pm_arena *a, pm_step *s, pm_status *st);

#endif
