/*
 * gpu_work.h - what one of the GPUs of a step has to do, at the peaks of its data
 * sheet.
 */
#ifndef PM_SCALING_GPU_WORK_H
#define PM_SCALING_GPU_WORK_H

#include "scaling/shape.h"

/*
 * Roofline time in ms of the work of a GPU in a step of p (checked), the mean over
 * its GPUs: all batches, what is computed again, and the update.  work: of one batch
 * on one GPU; it has the skeleton that b was made from.
 */
double		pm_gpu_roofline_ms(const pm_buckets *b, const pm_tokens *work, const pm_parallel *p);

#endif
