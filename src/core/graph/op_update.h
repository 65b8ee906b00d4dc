/*
 * op_update.h - what an optimizer does for each parameter.
 */
#ifndef PM_OP_UPDATE_H
#define PM_OP_UPDATE_H

#include "graph/op_step.h"

typedef struct pm_update_cost
{
	double		flops;
	double		bytes;
} pm_update_cost;

/* Of a parameter. */
pm_update_cost pm_update_cost_of(pm_dtype dtype, pm_optimizer opt);

/* Bytes for each parameter that a fused optimizer (one kernel for the whole update) moves less than one kernel for each term. */
double		pm_fused_update_saves(pm_optimizer opt, pm_dtype dtype);

#endif
