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
	double	   *pass_ms[PM_N_CROSS];	/* [passes of the dataset] the same of forward passes, NaN: not predicted; NULL: the kind does not learn them */
	int			n;				/* sets that there are; 0: none */
} pm_cross;

/*
 * Train p's kind with p's options `folds` times, each time without some of the rows
 * of d, and predict these: *c, in arena a.  With enough families, each training
 * leaves out whole families and single networks of the others, so every row is
 * predicted twice; else only networks are left out.  If folds < 2, or there are too
 * few rows or structures, c->n is 0: the predictor then has no intervals, but this
 * is no error.  If the kind learns from forward passes, those of a network are left out
 * with its steps, or, if it has none, with those of its family.
 * PM_ERR_MEMORY; PM_CANCELLED; errors of fitting.
 */
pm_code		pm_cross_predict(const pm_predictor *p, const pm_dataset *d, int folds, uint64_t seed, int threads,
							 const pm_hooks *hooks, pm_arena *a, pm_cross *c, pm_status *st);

#endif
