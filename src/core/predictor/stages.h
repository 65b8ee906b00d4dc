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
	int			fold;			/* as in pm_progress */
	int			folds;
} pm_stage;

/* Hooks for training `fold` of `folds`, 0 being the last and whole one; NULL when there are no outer hooks. */
const pm_hooks *pm_stage_begin(pm_stage *s, const pm_hooks *outer, int fold, int folds);

/* PM_CANCELLED when hooks, which may be NULL, say so. */
pm_code		pm_stop_if_asked(const pm_hooks *hooks, pm_status *st);

#endif
