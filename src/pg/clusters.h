/*
 * clusters.h - clusters and their links by name.
 */
#ifndef PM_PG_CLUSTERS_H
#define PM_PG_CLUSTERS_H

#include "problem.h"
#include "scaling/step.h"

/*
 * The cluster of that name.  NULL: the one that the user has described for the
 * device, if there is just one; else the one that came with the extension for
 * it, by name the first of them; else the one for all devices with its link, or
 * with any.  NULL, with *p filled, when there is none.
 * gpu is a name as in perfmodel.gpu, or NULL: a name is needed then.  Valid
 * until the next pm_freshen().
 */
extern const pm_fabric *pm_cluster_look_up(const char *name, const char *gpu, pm_problem *p);

/*
 * For questions about a network and a GPU (a name as in perfmodel.gpu) on f, which
 * was just looked up: f, or a copy of it (palloc) with what was measured of the
 * network there, and the GPU of its machines where that is another one.
 */
extern const pm_fabric *pm_cluster_for_question(const pm_fabric *f, int64 graph_id, const char *gpu);

/* The networks that have a contention of their own on f, which was just looked up, and how much each has. */
extern int	pm_cluster_own(const pm_fabric *f, const int64 **graphs, const double **contention);

/* Whether a cluster that was just looked up is of one device, and not of any. */
extern bool pm_cluster_has_gpu(const pm_fabric *f);

/* Raise where the cluster of that name came with the extension: its row never changes. Inside SPI_connect(). */
extern void pm_cluster_refuse_builtin(const char *name);

#endif
