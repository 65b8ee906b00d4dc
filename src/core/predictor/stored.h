/*
 * stored.h - predictors as bytes: writing and reading them.
 */
#ifndef PM_STORED_H
#define PM_STORED_H

#include "predictor/predictor.h"

/* The largest stored form that is written or read: room for some 500 million weights, far more than any kind has. */
#define PM_MAX_STORED_BYTES ((size_t) 2 * 1024 * 1024 * 1024)

/*
 * *data, *len bytes in arena a: the stored form of p (stored.c describes it).  PM_ERR_MEMORY.
 */
pm_code		pm_predictor_save(const pm_predictor *p, pm_arena *a, uint8_t **data, size_t *len, pm_status *st);
/*
 * The same for a predictor that was just trained on d.  It is then read back and
 * predicts some of the rows: its answers must be the same bits, and lie in their
 * intervals.  PM_ERR_DIVERGED: they do not, so the predictor should not be kept.
 */
pm_code		pm_predictor_save_proven(const pm_predictor *p, const pm_dataset *d, pm_arena *a, uint8_t **data, size_t *len,
									 pm_status *st);
/*
 * *p, in arena a: the predictor in data[len].  PM_ERR_FORMAT: damaged;
 * PM_ERR_OUTDATED: stored by a release whose rules differ from those of this one (the
 * message says which); PM_ERR_MEMORY.
 */
pm_code		pm_predictor_load(const uint8_t *data, size_t len, pm_arena *a, pm_predictor *p, pm_status *st);

#endif
