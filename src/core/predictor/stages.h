/*
 * stages.h - trainings that are parts of a larger one, such as those of the
 * folds: hooks that tell the caller's hooks which part is running.
 */
#ifndef PM_STAGES_H
#define PM_STAGES_H

#include "base/core.h"

typedef struct pm_stage
{
	pm_hooks	hooks;			/* what the training gets; ctx is this struct */
	const pm_hooks *outer;
	int			fold;			/* fold and folds as in pm_progress */
	int			folds;
} pm_stage;

/* The hooks for training number `fold` of `folds`; 0 is the last one, with all rows. *s must stay. NULL: outer is NULL. */
const pm_hooks *pm_stage_begin(pm_stage *s, const pm_hooks *outer, int fold, int folds);

/* PM_CANCELLED if hooks (NULL: none) want to stop, else PM_OK. */
pm_code		pm_stop_if_asked(const pm_hooks *hooks, pm_status *st);

#endif
