/*
 * cluster_rows.h - measurements on several GPUs of a cluster, for fits of the cluster.
 */
#ifndef PM_PG_CLUSTER_ROWS_H
#define PM_PG_CLUSTER_ROWS_H

#include "asking.h"
#include "scaling/fit.h"

typedef struct pm_cluster_row
{
	int64		profile_id;
	pm_asked_words words;		/* of the step on one of its GPUs */
	int			world_size;
	int			nodes;
	pm_parallel parallel;		/* without the two above */
	double		step_ms;
	double		single_ms;		/* measured on one GPU, NaN: to be predicted */
} pm_cluster_row;

/*
 * Training steps on several of the devices of a cluster, at most a few thousand of them, those of a graph beside each
 * other.  profiles: an array of ids, or all.  predictor: for steps on one GPU that are not measured; NULL: the active one.
 */
extern pm_cluster_row *pm_cluster_rows_read(const char *cluster, Datum profiles, bool all, text *predictor, int *n);

/*
 * The same as a fit takes them: *used of them.  Left out, with a NOTICE, are those that could not have run on f as it is
 * described, and those whose step on one GPU has no prediction.  graphs: [n] becomes the graph_id of each network that a
 * row speaks of by its number.
 */
extern pm_scaled_row *pm_cluster_rows_scaled(const pm_cluster_row *m, int n, const pm_fabric *f, int64 *graphs, int *used);

#endif
