/*
 * cross.h - predictions of training rows by predictors that have not seen their
 * networks. Intervals are calibrated on them.
 */
#ifndef PM_CROSS_H
#define PM_CROSS_H

#include "kinds/kind.h"
#include "predictor/interval.h"

enum
{
	PM_CROSS_NETWORK,			/* the network was left out, others of its family were not */
	PM_CROSS_FAMILY,			/* the whole family was left out, and others with it */
	PM_N_CROSS
};

typedef struct pm_cross
{
	pm_crossed	set[PM_N_CROSS];
	int			n;				/* sets that there are; 0: none */
} pm_cross;

/*
 * Train p's kind with p's options `folds` times, each time without some rows,
 * and predict those.  Where there are enough families each training leaves out
 * whole families and, of the others, single networks, so that every row is
 * predicted twice; else networks alone.  folds < 2, and rows or structures that
 * are too few: c->n is 0, which costs the intervals and not the training.
 */
pm_code		pm_cross_predict(const pm_predictor *p, const pm_dataset *d, int folds, uint64_t seed, int threads,
							 const pm_hooks *hooks, pm_arena *a, pm_cross *c, pm_status *st);

#endif
