/*
 * checks.h - what can be asked about several GPUs.
 */
#ifndef PM_SCALING_CHECKS_H
#define PM_SCALING_CHECKS_H

#include "scaling/shape.h"

/* Checks that the numbers of p fit together, on any machines. PM_ERR_OPTION, with the reason. */
pm_code		pm_parallel_check_numbers(const pm_parallel *p, pm_status *st);

/*
 * Checks that p can run on f.  PM_ERR_OPTION, with the reason.  If nodes is 0, it
 * is set.
 */
pm_code		pm_parallel_check(pm_parallel *p, const pm_fabric *f, pm_status *st);

/* Checks that the network has the layers that p divides. PM_ERR_OPTION, with the reason. */
pm_code		pm_layers_check(const pm_parallel *p, const pm_step_shape *s, pm_status *st);
/* The same, and that tp divides the heads of the layers. What was measured needs no such check. */
pm_code		pm_division_check(const pm_parallel *p, const pm_step_shape *s, pm_status *st);

/* Checks that weights of type `dtype` can have masters in 32 bits, if p asks for them. PM_ERR_OPTION, with the reason. */
pm_code		pm_masters_check(const pm_parallel *p, pm_dtype dtype, pm_status *st);

#endif
