/*
 * sheets.h - data sheets that a predictor keeps, and the rule for which of two
 * cards is better.
 */
#ifndef PM_SHEETS_H
#define PM_SHEETS_H

#include "base/serial.h"
#include "features/question.h"

/* Append the sheet to b. */
void		pm_gpu_save(const pm_gpu *gpu, pm_buffer *b);
/* Read a sheet that pm_gpu_save() wrote; its name is in arena a. If it is damaged, r->failed becomes true. PM_ERR_MEMORY. */
pm_code		pm_gpu_load(pm_gpu *gpu, pm_reader *r, pm_arena *a, pm_status *st);

/*
 * Whether a is at least as good as b in every figure that the time of a step
 * depends on: multiprocessors, lanes of each, clock, rates of all formats,
 * bandwidth, last cache, power.  Both are GPUs of one architecture (the same
 * compute capability; of other makers than NVIDIA, both with or both without
 * matrix units).  A figure that only one of the sheets has makes it false.
 */
bool		pm_gpu_at_least(const pm_gpu *a, const pm_gpu *b);

#endif
