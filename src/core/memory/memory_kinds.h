/*
 * memory_kinds.h - methods to predict the peak memory of a training step,
 * judged on the same rows: they learn from some rows and answer for others.
 *
 * They are not pm_kinds: they learn a few factors of a device, which
 * calibrate_memory() stores in a table of its own, not as a predictor.
 */
#ifndef PM_MEMORY_KINDS_H
#define PM_MEMORY_KINDS_H

#include "memory/rivals.h"

/* A measured training step. plan: of its graph with the options of pm_memory_step_options(). */
typedef struct pm_memory_row
{
	pm_question question;
	const pm_memory_plan *plan;
	double		measured_mb;	/* peak, > 0; not read where an answer is asked for */
} pm_memory_row;

typedef struct pm_memory_answer
{
	double		peak_mb;
	double		low_mb,			/* interval; NaN: the kind has none */
				high_mb;
	signed char in_domain;		/* 1 in, 0 out, -1: the kind does not say */
} pm_memory_answer;

typedef struct pm_memory_kind pm_memory_kind;
/* What a kind has learned. Immutable; it refers to the rows that it was fitted to. */
typedef struct pm_memory_model pm_memory_model;

/* NULL when unknown. */
const pm_memory_kind *pm_memory_kind_find(const char *name);
/* i-th kind, NULL past the end; for listing. */
const pm_memory_kind *pm_memory_kind_at(int i);
const char *pm_memory_kind_name(const pm_memory_kind *kind);
const char *pm_memory_kind_summary(const pm_memory_kind *kind); /* one sentence, without a full stop */

/*
 * Learn from rows[n], for each device, framework and number format by itself.
 * *model is in arena a.  PM_ERR_DATA when the kind needs more rows,
 * PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_memory_model_fit(const pm_memory_kind *kind, const pm_memory_row *rows, int n, pm_arena *a,
								const pm_memory_model **model, pm_status *st);

/*
 * Answer a row from what was learned of its device with the framework and the
 * number format that are nearest to its own; of a device without rows: as
 * shipped, or, by a regression, from all rows, as of a group of too few.  level in (0, 1), of the interval.
 */
void		pm_memory_model_answer(const pm_memory_model *model, const pm_memory_row *row, double level, pm_memory_answer *answer);

#endif
