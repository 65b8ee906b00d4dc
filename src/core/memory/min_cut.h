/*
 * min_cut.h - the vertices of least weight that cut all ways from a source to a sink.
 */
#ifndef PM_MIN_CUT_H
#define PM_MIN_CUT_H

#include "base/core.h"

/* Vertices 0 to n - 1, each with a weight, and directed edges. */
typedef struct pm_cut_network
{
	int			n;
	const double *weight;		/* [n] finite */
	const bool *source;			/* [n] */
	const bool *sink;			/* [n] */
	int			n_edges;
	const int32_t *from;		/* [n_edges] */
	const int32_t *to;			/* [n_edges] */
} pm_cut_network;

/* cut: [n] gets the vertices to take.  Of cuts of the same weight, the one nearest to the sinks.  PM_ERR_MEMORY, PM_CANCELLED. */
pm_code		pm_min_cut(const pm_cut_network *network, pm_arena *a, bool *cut, pm_status *st);

#endif
