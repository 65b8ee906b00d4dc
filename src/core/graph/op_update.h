/*
 * op_update.h - what an optimizer does for each parameter.
 */
#ifndef PM_OP_UPDATE_H
#define PM_OP_UPDATE_H

#include "graph/op_work.h"

/* Fill the update of w->params parameters. */
void		pm_update_work(pm_dtype dtype, pm_optimizer opt, pm_work *w);

/* Bytes for each parameter that a fused optimizer (one kernel for the whole update) moves less than one kernel for each term. */
double		pm_fused_update_saves(pm_optimizer opt, pm_dtype dtype);

#endif
