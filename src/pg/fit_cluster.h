/*
 * fit_cluster.h - clusters fitted to measurements on several GPUs.
 */
#ifndef PM_PG_FIT_CLUSTER_H
#define PM_PG_FIT_CLUSTER_H

#include "utils/array.h"

/*
 * Of the measurements with these ids, those on several GPUs: the usual cluster
 * of each device is fitted to them and stored, with the steps on one GPU by
 * that predictor where they are not measured.  A NOTICE for each device says
 * what came of it, or that the user may not change clusters; what cannot be
 * true is not stored.
 */
extern void pm_fit_clusters_of(ArrayType *profiles, text *predictor);

#endif
