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

/*
 * The same of a parameter in a row that a sparse gradient has.  Its values are scaled (SGD) or added up (Adam) before they are used, and
 * the row's places in the table are read and written, not streamed through.
 */
pm_update_cost pm_sparse_update_cost_of(pm_dtype dtype, pm_optimizer opt);

/* Bytes for each parameter that a fused optimizer (one kernel for the whole update) moves less than one kernel for each term. */
double		pm_fused_update_saves(pm_optimizer opt, pm_dtype dtype);

#endif
