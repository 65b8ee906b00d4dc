/*
 * divided.h - a step of a transformer that is divided among GPUs: within each
 * layer (tensor parallel), and by groups of layers (pipeline).
 */
#ifndef PM_DIVIDED_H
#define PM_DIVIDED_H

#include "scaling/shape.h"

/* pm_scaled_step() for tp or pp above 1; s has layers. */
void		pm_divided_step(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, pm_scaled *to);

#endif
