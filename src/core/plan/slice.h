/*
 * slice.h - names of parts of a card, as multi-instance GPUs (MIG) have them:
 * "a100_3g.20gb", "1g.5gb", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "mig-1g.10gb".
 *
 * Such a part has a seventh or a few of the card's multiprocessors and a part
 * of its memory, so that nothing that is known of the card holds for it.
 */
#ifndef PM_CORE_PLAN_SLICE_H
#define PM_CORE_PLAN_SLICE_H

#include "base/core.h"

typedef struct pm_slice
{
	size_t		card;			/* so many bytes of the name stand before it, without marks at their end: the card, or nothing */
	size_t		begin;			/* where it stands in the name: [begin, end) */
	size_t		end;
	int			computes;		/* slices of the card's multiprocessors; 0: the name does not say */
	int			memory_gb;
} pm_slice;

/* False: no part of a card stands in the name. */
bool		pm_slice_read(const char *name, pm_slice *s);

#endif
