/*
 * probes.h - chooses the networks to measure on a card from which a
 * recalibration learns most.
 */
#ifndef PM_PROBES_H
#define PM_PROBES_H

#include "predictor/card_state.h"

/* Questions about one card, dtype and layout: what may be measured, and what is to be known well. */
typedef struct pm_probe_questions
{
	int			n;
	const double *z;			/* [n, PM_N_STATE] of pm_sensitivity() */
	const double *log_ms;		/* [n] ln of the predicted step */
	const int64_t *network;		/* [n] rows of the same one err together, and one of them is proposed */
	const bool *measured;		/* [n] already; NULL: none */
	double		known;			/* networks that the predictor has learned of on the card */
} pm_probe_questions;

/*
 * Up to `most` questions in picked[], the most telling first: each time the one
 * after whose measurement the predictions of all n are expected to err least (the
 * mean variance that the numbers of pm_recalibrate() leave).  doubt[0]: the
 * square root of that before, doubt[i]: after the first i, [most + 1].  *n_picked
 * is less where there are fewer networks that are not measured.  PM_CANCELLED.
 */
pm_code		pm_choose_probes(const pm_probe_questions *q, int most, pm_arena *scratch, int *picked, int *n_picked, double *doubt,
							 pm_status *st);

#endif
