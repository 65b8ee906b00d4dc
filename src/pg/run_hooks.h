/*
 * run_hooks.h - hooks of long computations: whether to stop, and progress.
 */
#ifndef PM_PG_RUN_HOOKS_H
#define PM_PG_RUN_HOOKS_H

#include "utils/palloc.h"

#include "base/core.h"

typedef struct pm_run_hooks
{
	pm_hooks	hooks;
	MemoryContext cxt;			/* of the caller, for a caught error */
	MemoryContext work;			/* of one call of a hook; made before the core is entered */
	bool		orphaned;		/* the postmaster is gone */
	ErrorData  *error;			/* raised inside a hook, for after the core has returned */
	const char *label;			/* "training \"a\"", for the activity */
	int			more;			/* folds like this one that follow, for the time left */
	double		started;		/* pm_now() at pm_hooks_init */
	double		last_activity;

	/*
	 * Instead of notices: called about once a second, outside of any
	 * transaction, with the last progress (NULL: none yet).  What it raises
	 * ends the computation.
	 */
	void		(*beat) (void *arg, const pm_progress *p);
	void	   *beat_arg;
	double		last_beat;
	pm_progress last;			/* epoch 0: none yet */
} pm_run_hooks;

/*
 * label: "training \"a\"".  Set more and beat afterwards.  The hooks never raise while
 * the core runs, not even for want of memory: the frames that a longjmp would
 * leave behind hold helper threads.
 */
extern void pm_hooks_init(pm_run_hooks *h, const char *label);
/*
 * After the core has returned: raise what a hook caught, a cancel, or st; end
 * the process when the postmaster is gone.
 */
extern void pm_hooks_finish(pm_run_hooks *h, pm_code code, const pm_status *st);

#endif
