/*
 * recalibrate.h - fits the numbers of correction.h to new measurements, without
 * training the predictor again.  docs/training.md gives reasons.
 */
#ifndef PM_RECALIBRATE_H
#define PM_RECALIBRATE_H

#include "predictor/correction.h"
#include "predictor/predictor.h"

/* What it was worth: on the new rows, as fractions and in the unit of what is predicted. */
typedef struct pm_recalibration
{
	double		mape_before,
				mae_before,
				rmse_before;
	double		mape_after,		/* each row by numbers that had not seen its structure; NaN: a single structure */
				mae_after,
				rmse_after;
	const double *before;		/* [rows of d] what base says of each, in the arena */
	int			structures;
	int			n_numbers;		/* fitted */
} pm_recalibration;

/*
 * base with a correction that is fitted to the rows of d, and with intervals
 * and a domain that know of them.  Corrections of devices that d has no rows of
 * are kept; those of others are fitted anew.  seen[i]: base was trained on the
 * structure of row i, so that the row says less about its intervals.
 * out shares base's memory.  PM_ERR_DATA: no rows; errors of predicting a row.
 */
pm_code		pm_recalibrate(const pm_predictor *base, const pm_dataset *d, const bool *seen, const pm_hooks *hooks,
						   pm_arena *a, pm_predictor *out, pm_recalibration *report, pm_status *st);

#endif
