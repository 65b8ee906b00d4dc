/*
 * split_far.h - folds of networks that are unlike all others.
 */
#ifndef PM_SPLIT_FAR_H
#define PM_SPLIT_FAR_H

#include "features/dataset.h"

/*
 * fold_of[i] gets 0..folds-1.  A fold is a region: the networks whose roofline
 * time is spent on the same types of operators as that of the fold's centre,
 * whatever they are called.  The centres are as far from each other as can be,
 * and folds have about as many networks each.  The same rows, in any order,
 * make the same folds.  PM_ERR_DATA: fewer networks than folds.
 */
pm_code		pm_split_far(int folds, const pm_dataset *d, pm_arena *a, int *fold_of, pm_status *st);

#endif
