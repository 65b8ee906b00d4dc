/*
 * step.h - the memory of one training step, tensor by tensor: what is taken and
 * given back, in the order in which PyTorch does so.
 *
 * The simulation knows no batch: a tensor has a part in bytes that is fixed and
 * one that grows with each sample.  peak.h reads the events.
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
