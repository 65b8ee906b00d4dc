/*
 * row_times.c - measured times that no device can have, or that are far from what
 * a predictor says, of which trainings say so: seconds where milliseconds are
 * meant, the time of a whole job, the wrong card.
 *
 * They are not refused: a data sheet may be wrong, too.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "features/tokens.h"
#include "measurements.h"

#define FASTEST		0.1			/* times what a step takes at the peak rates of the data sheet */
#define SLOWEST		1000.0		/* times that and LAUNCH_MS for each kernel */
#define LAUNCH_MS	0.05		/* more than a kernel takes to be started from Python on any machine */
#define FAR			30.0		/* times shorter or longer than predicted; a wrong unit is 1,000, the worst card left out 1.4 in the mean (docs/cards.md) */
#define MOST_ROWS	1000		/* that are looked at, spread over all of them: in a hundredth of a second */
#define MOST_NAMED	3

#define HINT_OF_TIMES "step_ms is the milliseconds of one step. Correct rows that are wrong, or leave them out by the argument profiles."

/* What the step of a row takes at the peak rates of its device, ms, and the kernels it starts. False: not known. */
static bool
work_of(const pm_sample *s, pm_arena *a, double *peak_ms, double *kernels)
{
	pm_status	st = {PM_OK};
	pm_tokens	work;

	if (pm_tokens_build_work(s->skeleton, &s->query, a, &work, &st) != PM_OK)
		return false;
	*peak_ms = work.total_roofline_us / 1000;
	*kernels = work.n_kernels;
	return *peak_ms > 0;
}

/* Whether the row cannot be right; what its step takes at the peak rates is in *peak_ms then. */
static bool
is_impossible(const pm_sample *s, pm_arena *a, double *peak_ms)
{
	double		kernels;

	return work_of(s, a, peak_ms, &kernels) &&
		(s->step_ms < FASTEST * *peak_ms || s->step_ms > SLOWEST * (*peak_ms + LAUNCH_MS * kernels));
}

/* Three digits, but whole milliseconds where there are more: 0.91, 581, 300000. */
static char *
shown_ms(double ms)
{
	return psprintf(ms < 1000 ? "%.3g" : "%.0f", ms);
}

/* Whether the row cannot be right: then said, while there are few. */
static bool
note_impossible(const pm_sample *s, int n_before, pm_arena *a, StringInfo said)
{
	double		peak_ms;

	if (!is_impossible(s, a, &peak_ms))
		return false;
	if (n_before < MOST_NAMED)
		appendStringInfo(said, "%srofile %lld has %s ms, and its step takes %s ms at the peak rates of gpu \"%s\"", n_before > 0 ? "; p" : "P",
						 (long long) s->id, shown_ms(s->step_ms), shown_ms(peak_ms), pm_shown_name(pm_message_from_core(s->query.gpu->name)));
	return true;
}

void
pm_rows_notice_times(const pm_rows *r)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel work of rows", ALLOCSET_DEFAULT_SIZES);
	int			n = r->set.n + r->set.n_passes;
	int			stride = 1 + n / MOST_ROWS;
	int			looked_at = 0;
	int			found = 0;
	StringInfoData said;

	initStringInfo(&said);
	for (int i = 0; i < n; i += stride)
	{
		pm_arena	arena;

		CHECK_FOR_INTERRUPTS();
		pm_context_arena(&arena, work, 0);
		found += note_impossible(&r->set.samples[i], found, &arena, &said);
		looked_at++;
		MemoryContextReset(work);
	}
	MemoryContextDelete(work);
	if (found > 0)
		ereport(NOTICE,
				(errmsg("%d of %d measurements%s have times that their devices cannot have", found, looked_at, looked_at < n ? " that were looked at" : ""),
				 errdetail_internal("%s%s.", said.data, found > MOST_NAMED ? psprintf("; and %d more", found - MOST_NAMED) : ""),
				 errhint(HINT_OF_TIMES)));
}

/* Whether the row is far from what is predicted, and not impossible: then said, while there are few. */
static bool
note_far(const pm_sample *s, double predicted_ms, int n_before, MemoryContext work, StringInfo said)
{
	pm_arena	arena;
	double		peak_ms;

	if (s->step_ms >= predicted_ms / FAR && s->step_ms <= predicted_ms * FAR)
		return false;
	pm_context_arena(&arena, work, 0);
	if (is_impossible(s, &arena, &peak_ms))
		return false;
	if (n_before < MOST_NAMED)
		appendStringInfo(said, "%srofile %lld has %s ms, and %s ms are predicted on gpu \"%s\"", n_before > 0 ? "; p" : "P",
						 (long long) s->id, shown_ms(s->step_ms), shown_ms(predicted_ms), pm_shown_name(pm_message_from_core(s->query.gpu->name)));
	return true;
}

void
pm_rows_notice_far(const pm_rows *r, const double *predicted_ms)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel work of rows", ALLOCSET_DEFAULT_SIZES);
	int			found = 0;
	StringInfoData said;

	initStringInfo(&said);
	for (int i = 0; i < r->set.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		found += note_far(&r->set.samples[i], predicted_ms[i], found, work, &said);
		MemoryContextReset(work);
	}
	MemoryContextDelete(work);
	if (found > 0)
		ereport(NOTICE,
				(errmsg("%d of %d measurements %s more than %g times shorter or longer than predicted", found, r->set.n, found == 1 ? "is" : "are", FAR),
				 errdetail_internal("%s%s.", said.data, found > MOST_NAMED ? psprintf("; and %d more", found - MOST_NAMED) : ""),
				 errhint(HINT_OF_TIMES)));
}
