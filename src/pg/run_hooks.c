/*
 * run_hooks.c - hooks of long computations of the core: whether to stop, and
 * progress.
 *
 * State: when the last notice was, for the statement that is running.
 *
 * The core is never left by a longjmp: whatever is raised in here is caught,
 * kept, and raised again by pm_hooks_finish() when the core has returned.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/pmsignal.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "errors.h"
#include "run_hooks.h"

#define NOTICE_SECONDS		3.0		/* between two notices, */
#define NOTICE_SHARE		0.2		/* or this share of what the statement has taken, */
#define NOTICE_SECONDS_MAX	300.0	/* but at most so long */
#define ACTIVITY_SECONDS	1.0
#define BEAT_SECONDS		1.0

/* Run f where it may raise; what it raises is kept. */
static void
guarded(pm_run_hooks *h, void (*f) (pm_run_hooks *h))
{
	MemoryContext old = CurrentMemoryContext;

	PG_TRY();
	{
		MemoryContextSwitchTo(h->work);
		f(h);
	}
	PG_CATCH();
	{
		h->error = pm_error_copy(h->cxt);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
	MemoryContextReset(h->work);
}

static void
serve_interrupts(pm_run_hooks *h)
{
	(void) h;
	CHECK_FOR_INTERRUPTS();
}

static void
beat(pm_run_hooks *h)
{
	h->last_beat = pm_now();
	h->beat(h->beat_arg, h->last.epoch > 0 ? &h->last : NULL);
}

static void
beat_if_due(pm_run_hooks *h)
{
	if (h->beat != NULL && h->error == NULL && pm_now() - h->last_beat >= BEAT_SECONDS)
		guarded(h, beat);
}

/*
 * Cancel and termination are left to the caller's CHECK_FOR_INTERRUPTS.  Other
 * interrupts (a barrier that DROP DATABASE waits for, a lost client) must be
 * served during a training of an hour too.
 */
static bool
hook_stop(void *ctx)
{
	pm_run_hooks *h = ctx;

	h->orphaned |= !PostmasterIsAlive();
	if (h->error != NULL || h->orphaned)
		return true;
	if (InterruptPending)
	{
		if (QueryCancelPending || ProcDiePending)
			return true;
		guarded(h, serve_interrupts);
	}
	beat_if_due(h);
	return h->error != NULL;
}

/* "12 s", "3 min", "2.5 h" */
static const char *
duration(double s)
{
	if (s < 100)
		return psprintf("%.0f s", s);
	if (s < 6000)
		return psprintf("%.0f min", s / 60);
	return psprintf("%.1f h", s / 3600);
}

/* Seconds to the end of the statement: of this computation, and as long again for each that follows. */
static double
left_in_all(const pm_run_hooks *h)
{
	return h->last.left_s + h->more * (pm_now() - h->started + h->last.left_s);
}

/* Whether this is the last report of a training or of a cross-validation, after which others may follow in the statement. */
static bool
at_end(const pm_run_hooks *h)
{
	return h->more == 0 && h->last.fold == 0 && h->last.epoch == h->last.epochs;
}

static char *
progress_text(const pm_run_hooks *h)
{
	const pm_progress *p = &h->last;
	const char *valid = isnan(p->valid_mape) ? "" : psprintf(", validation error %.2f %%", 100 * p->valid_mape);
	const char *fold = p->fold == 0 ? "" : psprintf("calibration %d of %d, ", p->fold, p->folds);

	return psprintf("%sepoch %d of %d: loss %.4g%s, rate %.2g, %.2f s an epoch%s",
					fold, p->epoch, p->epochs, p->loss, valid, p->rate, p->elapsed_s / Max(p->epoch, 1),
					at_end(h) ? "" : psprintf(", %s left in all", duration(left_in_all(h))));
}

/*
 * The first report of a statement, the last one of a training and of a
 * cross-validation, and ever fewer between: leaderboard() makes hundreds of
 * trainings in one statement.
 */
static bool
notice_due(const pm_run_hooks *h)
{
	static TimestampTz statement = 0;
	static double last;
	TimestampTz begun = GetCurrentStatementStartTimestamp();
	double		elapsed_s = (GetCurrentTimestamp() - begun) / 1e6;
	double		pause_s = Min(Max(NOTICE_SHARE * elapsed_s, NOTICE_SECONDS), NOTICE_SECONDS_MAX);

	if (statement == begun && !at_end(h) && pm_now() - last < pause_s)
		return false;
	statement = begun;
	last = pm_now();
	return true;
}

static void
tell(pm_run_hooks *h)
{
	char	   *text = progress_text(h);

	if (h->beat == NULL && notice_due(h))
		ereport(NOTICE, (errmsg_internal("%s: %s", h->label, text)));
	if (pm_now() - h->last_activity >= ACTIVITY_SECONDS)
	{
		h->last_activity = pm_now();
		pgstat_report_activity(STATE_RUNNING, psprintf("perfmodel %s: %s", h->label, text));
	}
}

static void
hook_progress(void *ctx, const pm_progress *p)
{
	pm_run_hooks *h = ctx;

	if (h->error != NULL)
		return;
	h->last = *p;
	guarded(h, tell);
	beat_if_due(h);
}

void
pm_hooks_init(pm_run_hooks *h, const char *label)
{
	memset(h, 0, sizeof(*h));
	h->hooks.stop = hook_stop;
	h->hooks.progress = hook_progress;
	h->hooks.ctx = h;
	h->cxt = CurrentMemoryContext;
	h->work = AllocSetContextCreate(h->cxt, "perfmodel progress", ALLOCSET_SMALL_SIZES);
	h->label = label;
	h->started = pm_now();
}

void
pm_hooks_finish(pm_run_hooks *h, pm_code code, const pm_status *st)
{
	/* a server cannot start while a process of the one before it goes on */
	if (h->orphaned || !PostmasterIsAlive())
		ereport(FATAL,
				(errcode(ERRCODE_ADMIN_SHUTDOWN),
				 errmsg("terminating %s because the postmaster is gone", h->label)));
	MemoryContextDelete(h->work);
	if (h->last_activity > 0)
		pgstat_report_activity(STATE_RUNNING, debug_query_string);
	if (h->error != NULL)
		ReThrowError(h->error);
	if (code == PM_CANCELLED)
		CHECK_FOR_INTERRUPTS();
	if (code != PM_OK)
		pm_raise(st);
}
