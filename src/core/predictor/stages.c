/*
 * stages.c - hooks for trainings that are parts of a larger one.
 */
#include "predictor/stages.h"

static bool
staged_stop(void *ctx)
{
	const pm_hooks *outer = ((pm_stage *) ctx)->outer;

	return outer->stop != NULL && outer->stop(outer->ctx);
}

static void
staged_progress(void *ctx, const pm_progress *p)
{
	const pm_stage *s = ctx;
	pm_progress whole = *p;
	int			later = s->fold > 0 ? s->folds - s->fold + 1 : 0;	/* trainings after this one */

	if (s->outer->progress == NULL)
		return;
	whole.fold = s->fold;
	whole.folds = s->folds;
	whole.left_s += later * (p->elapsed_s + p->left_s);
	s->outer->progress(s->outer->ctx, &whole);
}

const pm_hooks *
pm_stage_begin(pm_stage *s, const pm_hooks *outer, int fold, int folds)
{
	*s = (pm_stage) {.hooks = {.stop = staged_stop, .progress = staged_progress, .ctx = s}, .outer = outer, .fold = fold,
		.folds = folds};
	return outer != NULL ? &s->hooks : NULL;
}

pm_code
pm_stop_if_asked(const pm_hooks *hooks, pm_status *st)
{
	return hooks != NULL && hooks->stop != NULL && hooks->stop(hooks->ctx) ?
		pm_fail(st, PM_CANCELLED, "training was cancelled") : PM_OK;
}
