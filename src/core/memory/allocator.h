/*
 * allocator.h - PyTorch's caching allocator of device memory.
 *
 * Source: c10/cuda/CUDACachingAllocator.cpp with its default settings. Sizes
 * are rounded to 512 bytes; up to 1 MiB comes from segments of 2 MiB, less than
 * 10 MiB from segments of 20 MiB, more from a segment of its own, a multiple of
 * 2 MiB.  The free block that fits best is taken and split when enough is
 * left; neighbours that are free are merged; segments stay reserved.
 *
 * How well blocks fit hangs on trifles: whether a tensor of 2 MiB finds a gap
 * decides whether it splits a block that one of 13 GiB would use next.  So that
 * such a chance does not make a lighter optimizer need more, the passes are
 * replayed without its states, whose bytes peak.c adds: steps that differ in the
 * optimizer alone reserve the same but for the states.
 */
#ifndef PM_ALLOCATOR_H
#define PM_ALLOCATOR_H

#include "memory/step.h"

/*
 * Replay the events of a step before its update at batches[n], without the states
 * of the optimizer.  Fills reserved[n]: bytes of all segments, none of which is
 * given back.  PM_ERR_MEMORY (also for more tensors than there are block numbers),
 * PM_CANCELLED.
 */
pm_code		pm_allocator_replay(const pm_step *s, const double *batches, int n, pm_arena *a, double *reserved, pm_status *st);

#endif
