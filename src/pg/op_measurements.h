/*
 * op_measurements.h - rows of perfmodel.op_profile in the form from which the
 * core learns.
 */
#ifndef PM_PG_OP_MEASUREMENTS_H
#define PM_PG_OP_MEASUREMENTS_H

#include "measurements.h"

/*
 * Add the single operators that were measured, into the current context, when
 * the kind learns from them with these options.  One whose backward pass has
 * work and no time is of the forward pass only.  Left out are documents that do
 * not come to one operator.
 */
extern void pm_rows_add_operators(pm_rows *rows, const pm_kind *kind, const pm_options *o);

#endif
