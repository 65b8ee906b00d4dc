/*
 * forest.h - a random forest for regression, with the defaults of scikit-learn:
 * 100 trees on bootstrap samples, every feature tried at every split, least
 * squares, leaves of a single sample.
 */
#ifndef PM_FOREST_H
#define PM_FOREST_H

#include "base/core.h"

typedef struct pm_forest pm_forest;

/*
 * Learn y[n] from x[n * n_features], row after row, all finite; n > 0.  The
 * same seed gives the same forest. *forest is in arena a. PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_forest_fit(const double *x, const double *y, int n, int n_features, uint64_t seed, pm_arena *a,
						  const pm_forest **forest, pm_status *st);
/* Mean of the trees for x[n_features]. */
double		pm_forest_at(const pm_forest *forest, const double *x);

#endif
