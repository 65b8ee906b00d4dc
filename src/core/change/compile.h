/*
 * compile.h - a step of a network that torch.compile has compiled, from the
 * parts of the same step without it.
 */
#ifndef PM_COMPILE_H
#define PM_COMPILE_H

#include "features/tokens.h"
#include "kinds/kind.h"

/* Standard deviation of ln(measured / computed) of a compiled step over the same without (docs/predicting.md). */
#define PM_COMPILE_ERROR 0.2

/*
 * Change the parts of a step, of the question q and of work, whose skeleton is
 * whole: elementwise operators, norms and softmax that follow each other become
 * one kernel, which reads what comes from outside and writes what is read
 * outside, and in the backward pass computes again what is between.  Products,
 * convolutions, poolings and updates stay as they are, but for copies beside
 * them.  *sum: that of the parts,
 * which is never larger than before.  a: for scratch.  PM_ERR_MEMORY.
 */
pm_code		pm_compile_parts(const pm_tokens *work, const pm_question *q, pm_arena *a, pm_part *parts, int n, double *sum, pm_status *st);

#endif
