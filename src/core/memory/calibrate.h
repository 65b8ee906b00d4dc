/*
 * calibrate.h - factors of memory, fitted to measurements: to peaks, and to
 * brackets (a batch that fits and one that does not).
 */
#ifndef PM_CALIBRATE_H
#define PM_CALIBRATE_H

#include "memory/estimate.h"

/* A measurement and what the simulation says of it. MB; NaN: not measured. */
typedef struct pm_memory_sample
{
	uint64_t	network;		/* structure of the graph: rows of one network count as one */
	double		simulated;		/* what the allocator reserves, on a CPU what malloc holds */
	double		conv;			/* pm_memory_largest_conv() */
	double		measured;		/* peak */
	double		need_fits,		/* the least that the step runs with, at a batch that fits */
				need_fails;		/* at one that does not */
} pm_memory_sample;

/* Networks are left out of a fit in so many folds; the fold that a sample is in, from 0. */
#define PM_MEMORY_FOLDS	5
int			pm_memory_fold_of(const pm_memory_sample *s);

/* The sample of a question at its batch: simulated and conv; the rest is NaN. */
void		pm_memory_sample_at(const pm_memory_plan *plan, const pm_question *q, pm_memory_sample *s);
/* What a step needs at a batch, without the context and without need_factor: the mean of its tensors and of what is reserved. */
double		pm_memory_need_mb(const pm_memory_plan *plan, int64_t batch);

typedef struct pm_memory_fit
{
	int			networks;		/* that were measured */
	int			peaks,
				brackets;
	double		mape_before,	/* of the peaks, percent: with the factors before */
				mape;			/* of networks that were left out of the fit */
	double		in_bracket_before,	/* share of brackets that hold the memory of the device, percent */
				in_bracket;
} pm_memory_fit;

/*
 * Factors for n samples of one device, framework and type: *f comes in as the
 * factors that hold without measurements and is drawn towards the samples, the
 * more the more networks there are.  capacity_mb: of the device, NaN when not known
 * (brackets are left aside).  The spread comes from the errors on networks that are
 * left out of the fit, a fifth at a time.  PM_ERR_DATA when no sample has a peak or a
 * bracket, PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_memory_calibrate(const pm_memory_sample *samples, int n, double capacity_mb, bool is_cpu, pm_arena *a,
								pm_memory_factors *f, pm_memory_fit *fit, pm_status *st);

/*
 * Whether factors are within the bounds of perfmodel.memory_factor (sql/install/memory.sql).  Peaks in another unit,
 * or those of other networks, need factors outside of them.
 */
bool		pm_memory_factors_plausible(const pm_memory_factors *f);

#endif
