/*
 * recalibrate.h - fits the numbers of correction.h to new measurements, without
 * training the predictor again.  docs/training.md gives reasons.
 */
#ifndef PM_RECALIBRATE_H
#define PM_RECALIBRATE_H

#include "predictor/correction.h"
#include "predictor/predictor.h"

/* Errors on the new rows, steps and passes, before and after: mape as a fraction, mae and rmse in the unit of the predicted quantity. */
typedef struct pm_recalibration
{
	double		mape_before,
				mae_before,
				rmse_before;
	double		mape_after,		/* each row by numbers that had not seen its structure; NaN: a single structure */
				mae_after,
				rmse_after;
	const double *before;		/* [d->n] what base says of each step, in the arena */
	int			structures;		/* of steps and passes together */
	int			n_numbers;		/* fitted */
} pm_recalibration;

/*
 * *out: base with a correction fitted to the rows of d, and with intervals and
 * a domain that include these rows.  Corrections of devices without rows in d
 * are kept; those of other devices are fitted again.  seen[i]: base was trained
 * on the structure of row i, so the row says less about intervals.  *out shares
 * the memory of base.  Forward passes of d move the times of their device in mode inference, and change its errors, as
 * pm_passes_update() says.  PM_ERR_DATA: no rows; other errors are those of predicting a row.
 */
pm_code		pm_recalibrate(const pm_predictor *base, const pm_dataset *d, const bool *seen, const pm_hooks *hooks,
						   pm_arena *a, pm_predictor *out, pm_recalibration *report, pm_status *st);

/* The same from the steps alone, of which there must be some. */
pm_code		pm_recalibrate_on_steps(const pm_predictor *base, const pm_dataset *d, const bool *seen, const pm_hooks *hooks,
									pm_arena *a, pm_predictor *out, pm_recalibration *report, pm_status *st);

#endif
