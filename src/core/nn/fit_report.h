/*
 * fit_report.h - what a training reports: epochs, errors, and how it ended.
 */
#ifndef PM_FIT_REPORT_H
#define PM_FIT_REPORT_H

#include <stdint.h>

typedef struct pm_fit_report
{
	double		valid_mape;		/* on the validation part, fraction; NaN: none */
	double		valid_mae;		/* in the unit of what is predicted */
	double		valid_rmse;
	int			valid_n;
	double		train_mape;		/* fraction, on the rows that were trained on */
	int			epochs;			/* run */
	int			best_epoch;
	double		seconds;
	int64_t		n_params;		/* trained numbers */
	const double *cross;		/* [n] of each training row, predicted by what had not seen its structure, NaN where that
								 * failed; in the arena of fit; NULL: not calibrated.  Not for kinds to fill */
} pm_fit_report;

#endif
