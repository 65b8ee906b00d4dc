/*
 * recalibrate.h - a few numbers per device that fit a trained predictor to new
 * measurements, without training it again.  docs/training.md gives reasons.
 *
 * ln(time) = ln(predicted) + a + b * (ln(predicted) - centre) + d, for each
 * device, where d belongs to a number format and layout on it.  b > -1 and the
 * same for all questions about a device, so that the order of predictions
 * stays: a larger batch still never takes less time.
 */
#ifndef PM_RECALIBRATE_H
#define PM_RECALIBRATE_H

#include "predictor/predictor.h"

typedef struct pm_device_correction
{
	const char *gpu;
	int			rows;
	int			structures;		/* different networks among them */
	double		a;
	double		b;
	double		centre;			/* mean of ln(predicted ms) */
	double		low;			/* range of ln(predicted ms) in the rows; b counts inside it only */
	double		high;
	int			used[PM_N_DTYPES][PM_N_LAYOUTS];	/* rows */
	double		d[PM_N_DTYPES][PM_N_LAYOUTS];	/* 0 where there were no rows */
} pm_device_correction;

struct pm_correction
{
	int			n;
	pm_device_correction *device;	/* [n] */
};

/* What it was worth: on the new rows, as fractions and ms. */
typedef struct pm_recalibration
{
	double		mape_before,
				mae_before_ms,
				rmse_before_ms;
	double		mape_after,		/* each row by numbers that had not seen its structure; NaN: a single structure */
				mae_after_ms,
				rmse_after_ms;
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

/* The corrected time of one step that was predicted to take ms. */
double		pm_correction_apply(const pm_correction *c, const pm_question *q, double ms);

void		pm_correction_save(const pm_correction *c, pm_buffer *b);
/* PM_ERR_FORMAT when damaged. */
pm_code		pm_correction_load(pm_reader *r, pm_arena *a, const pm_correction **c, pm_status *st);

#endif
