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

/* What is known, and new rows besides, as pm_trust_update() describes. gpus: of both. */
pm_code		pm_intervals_update(const pm_intervals *old, const pm_dataset *d, const pm_crossed *crossed, const bool *seen,
								const char *const *gpus, int n_gpus, pm_arena *a, const pm_intervals **intervals,
								pm_status *st);

bool		pm_intervals_calibrated(const pm_intervals *t);

/*
 * A device of few rows, whose intervals are of the errors on all such devices together; NULL: there are none, or fewer than
 * two of them.  Where nothing was measured on a card, errors are more like theirs than like those on devices of many rows.
 */
const char *pm_intervals_few_rows(const pm_intervals *t);

/* Whether their width follows the distance at this distance: it does up to the farthest row that was calibrated on. */
bool		pm_intervals_reach(const pm_intervals *t, double distance);

/*
 * The interval at a level of 0..1 about what was predicted for q, which is that
 * far: 0 < low <= predicted <= high < infinity.  stretch: a factor on its
 * logarithm.  False, and NaN: not calibrated.
 */
bool		pm_intervals_of(const pm_intervals *t, const pm_question *q, double predicted, double distance, double level,
							double stretch, double *low, double *high);

void		pm_intervals_save(const pm_intervals *t, pm_buffer *b);
/* Damage shows in r->failed. */
pm_code		pm_intervals_load(pm_reader *r, const char *const *gpus, int n_gpus, pm_arena *a,
							  const pm_intervals **intervals, pm_status *st);

#endif
