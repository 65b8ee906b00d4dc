/*
 * probes.h - chooses the networks to measure on a card from which a
 * recalibration learns most.
 */
#ifndef PM_PROBES_H
#define PM_PROBES_H

#include "predictor/card_state.h"

/* Questions about one card, dtype and layout: those that may be measured, whose predictions should become better. */
typedef struct pm_probe_questions
{
	int			n;
	const double *z;			/* [n, PM_N_FACTORS] of pm_sensitivity() */
	const double *log_ms;		/* [n] ln of the predicted step */
	const int64_t *network;		/* [n] rows of one network have a common error, and at most one is proposed */
	const bool *measured;		/* [n] already; NULL: none */
	double		known;			/* networks that the predictor has learned of on the card */
} pm_probe_questions;

/*
 * Put up to `most` questions into picked[], the best first.  Each time, the
 * question is taken after whose measurement the mean variance of all n
 * predictions is smallest (the variance that the numbers of pm_recalibrate()
 * leave).  doubt[most + 1]: the square root of this variance, doubt[0] before
 * all, doubt[i] after the first i.  *n_picked is smaller if there are fewer
 * networks without a measurement.  PM_CANCELLED.
 */
pm_code		pm_choose_probes(const pm_probe_questions *q, int most, pm_arena *scratch, int *picked, int *n_picked, double *doubt,
							 pm_status *st);

#endif
