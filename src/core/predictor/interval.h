/*
 * interval.h - an interval about a prediction, calibrated on predictions of
 * rows whose structure the predictor had not seen.
 */
#ifndef PM_INTERVAL_H
#define PM_INTERVAL_H

#include "base/serial.h"
#include "features/dataset.h"
#include "features/schema.h"

typedef struct pm_intervals pm_intervals;

/*
 * Learn from the rows of d.  cross[i] is the prediction of row i by a model
 * that has not seen its structure, NaN where there is none; NULL: no row has
 * one, and there will be no intervals.  So it is, too, when cross predictions
 * are of fewer than 10 structures.  gpus[n_gpus]: the devices of the rows,
 * which must stay.
 */
pm_code		pm_intervals_fit(const pm_dataset *d, const double *cross, const char *const *gpus, int n_gpus, pm_arena *a,
							 const pm_intervals **intervals, pm_status *st);

/* What is known, and new rows besides, as pm_trust_update() describes. gpus: of both. */
pm_code		pm_intervals_update(const pm_intervals *old, const pm_dataset *d, const double *cross, const bool *seen,
								const char *const *gpus, int n_gpus, pm_arena *a, const pm_intervals **intervals,
								pm_status *st);

bool		pm_intervals_calibrated(const pm_intervals *t);

/*
 * The interval at a level of 0..1 about what was predicted for q: 0 < low <=
 * predicted <= high < infinity.  stretch: a factor on its logarithm.  False,
 * and NaN: not calibrated.
 */
bool		pm_intervals_of(const pm_intervals *t, const pm_question *q, double predicted, double level, double stretch,
							double *low, double *high);

void		pm_intervals_save(const pm_intervals *t, pm_buffer *b);
/* Damage shows in r->failed. */
pm_code		pm_intervals_load(pm_reader *r, const char *const *gpus, int n_gpus, pm_arena *a,
							  const pm_intervals **intervals, pm_status *st);

#endif
