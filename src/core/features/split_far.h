/*
 * split_far.h - folds of networks that are unlike all others.
 */
#ifndef PM_SPLIT_FAR_H
#define PM_SPLIT_FAR_H

#include "features/dataset.h"

/*
 * fold_of[d->n]: the fold of each row, 0 to folds - 1.  Each fold has a network as
 * its centre, and the networks that spend their roofline time on about the same
 * types of operators, whatever their names.  The centres are as far from each
 * other as possible; folds have about the same number of networks.  The order of
 * the rows does not matter.  PM_ERR_DATA: fewer networks than folds;
 * PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_split_far(int folds, const pm_dataset *d, pm_arena *a, int *fold_of, pm_status *st);

#endif
