/*
 * interval.h - an interval around a prediction, calibrated on predictions of
 * rows whose structure the predictor had not seen.
 */
#ifndef PM_INTERVAL_H
#define PM_INTERVAL_H

#include "base/serial.h"
#include "features/dataset.h"
#include "features/schema.h"

typedef struct pm_intervals pm_intervals;

/*
 * Predictions of the rows of a dataset by models that had not seen their
 * structures, and how far each row was from what its model had seen
 * (pm_domain_distance()).
 */
typedef struct pm_crossed
{
	const double *ms;			/* [rows] NaN: there is none */
	const double *distance;		/* [rows] NULL: not known */
	const uint64_t *unit;		/* [rows] rows with the same number are one piece of evidence; NULL: those of a structure */
} pm_crossed;

/*
 * Learn from the rows of d.  crossed[n]: n >= 0 sets of such predictions, those
 * of folds of networks and those of folds of families.  There will be no
 * intervals when they are of fewer than 10 structures.  gpus[n_gpus]: the
 * devices of the rows, which must stay.
 */
pm_code		pm_intervals_fit(const pm_dataset *d, const pm_crossed *crossed, int n, const char *const *gpus, int n_gpus,
							 pm_arena *a, const pm_intervals **intervals, pm_status *st);

/* Add new rows, as in pm_trust_update(). gpus: the devices of old and new rows. */
pm_code		pm_intervals_update(const pm_intervals *old, const pm_dataset *d, const pm_crossed *crossed, const bool *seen,
								const char *const *gpus, int n_gpus, pm_arena *a, const pm_intervals **intervals,
								pm_status *st);

bool		pm_intervals_calibrated(const pm_intervals *t);

/*
 * A device with few rows; its intervals come from the errors on all such devices together.  NULL: there are fewer than two.
 * Errors on a card without measurements are more like errors on these devices than like those on devices with many rows.
 */
const char *pm_intervals_few_rows(const pm_intervals *t);

/* Whether the width grows with the distance up to this distance. It does up to the distance of the farthest row in the calibration. */
bool		pm_intervals_reach(const pm_intervals *t, double distance);

/*
 * The interval at a level of 0..1 around the prediction for q, a network at this
 * distance: 0 < low <= predicted <= high < infinity.  stretch: a factor on its
 * logarithm.  Returns false, and sets NaN, if there are no intervals.
 */
bool		pm_intervals_of(const pm_intervals *t, const pm_question *q, double predicted, double distance, double level,
							double stretch, double *low, double *high);

/*
 * Widen an interval around step_ms > 0, with bounds in (0, infinity), so that it also holds an independent error: its half widths
 * in logarithms become the root of the sum of squares of what they were and of `doubt` >= 0.
 */
void		pm_interval_widen(double step_ms, double doubt, double *low_ms, double *high_ms);
/* Multiply the half widths in logarithms of such an interval by a factor >= 0. */
void		pm_interval_stretch(double step_ms, double factor, double *low_ms, double *high_ms);

void		pm_intervals_save(const pm_intervals *t, pm_buffer *b);
/* Damage shows in r->failed. */
pm_code		pm_intervals_load(pm_reader *r, const char *const *gpus, int n_gpus, pm_arena *a,
							  const pm_intervals **intervals, pm_status *st);

#endif
