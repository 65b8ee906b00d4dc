/*
 * fp8.h - a step whose linear layers multiply in 8 bits, from the parts of the
 * same step with AMP or BF16.
 */
#ifndef PM_FP8_H
#define PM_FP8_H

#include "features/tokens.h"
#include "kinds/kind.h"

typedef enum pm_fp8_units
{
	PM_FP8_NO,					/* an NVIDIA card before compute capability 8.9 (Ada), or a CPU */
	PM_FP8_YES,
	PM_FP8_UNKNOWN				/* the data sheet has no compute capability */
} pm_fp8_units;

pm_fp8_units pm_gpu_fp8_units(const pm_gpu *gpu);

/* Standard deviation of ln(measured / computed) of a step in FP8 over the same in BF16 (docs/scaling.md, FP8). */
#define PM_FP8_ERROR 0.1

/*
 * Change the parts of a step, of the question q with 16 bits and of work: in each product with weights whose sizes are
 * multiples of 16, inputs, weights and gradients are cast to 8 bits, and multiplied at nearly twice the rate of 16 bits.
 * Attention, norms and what follows the layers (head: copies of each token, or NULL; pm_buckets) stay as they are.
 * batches: that are added up before an update, which cast the weights once.  Returns the sum of the parts.  It may be
 * larger than before: for small products, casts take longer than is gained.
 */
double		pm_fp8_parts(const pm_tokens *work, const pm_question *q, const float *head, int batches, pm_part *parts, int n);

#endif
