/*
 * estimate.h - device memory of a training step: the simulation, plus the
 * memory of drivers and libraries. All figures are in MB of 2^20 bytes.
 */
#ifndef PM_ESTIMATE_H
#define PM_ESTIMATE_H

#include <math.h>

#include "features/question.h"
#include "memory/peak.h"

#define PM_MB	1048576.0		/* bytes */

/* The logistic distribution function, of which the probability that a step fits is one. */
static inline double
pm_logistic(double x)
{
	return 1 / (1 + exp(-x));
}

/* Numbers of a device and its software that the simulation needs. */
typedef struct pm_memory_factors
{
	double		context_mb;		/* driver's context and libraries */
	double		factor;			/* measured / simulated peak, without context and scratch memory */
	double		workspace;		/* scratch memory of convolutions / bytes that the largest reads and writes */
	double		need_factor;	/* least memory with which a step runs / simulated memory */
	double		spread;			/* relative standard deviation of measured / predicted */
	double		context_spread_mb;
	double		fit_spread;		/* the same for the least memory with which a step runs: scale of a logistic distribution */
	bool		measured;		/* from measurements on this device */
} pm_memory_factors;

/* Fill *o: how the step of q runs. If q names no framework, today's PyTorch. */
void		pm_memory_step_options(const pm_question *q, bool checkpointing, pm_step_options *o);

/* The factors that come with the library; docs/memory.md has their sources. */
void		pm_memory_shipped_factors(const pm_question *q, pm_memory_factors *f);

/* The same of a compiled step, whose memory is less certain. */
void		pm_memory_factors_compiled(pm_memory_factors *f);

/*
 * How well factors that were calibrated on the device of a question, with a framework ("": not known) and a type, from
 * so many networks, serve it: the framework counts most, then the type, then the networks.  The largest is the best.
 */
int			pm_memory_nearness(const pm_question *q, const char *framework, int dtype, int networks);

/* Usable memory of a device; NaN when its data sheet has none. */
double		pm_memory_capacity_mb(const pm_gpu *gpu);

typedef struct pm_memory_estimate
{
	double		peak_mb;		/* as nvidia-smi shows it: context and what the allocator reserves */
	double		low_mb,			/* interval at the level asked for */
				high_mb;
	double		weights_mb;
	double		gradients_mb;
	double		optimizer_mb;
	double		activations_mb; /* the rest: activations, their gradients, cached segments */
	double		workspace_mb;	/* scratch memory of convolutions */
	double		context_mb;
	double		need_mb;		/* least memory with which the step runs, context included: half of the cached segments can be given back */
	double		p_fits;			/* NaN: the device's memory is not known */
} pm_memory_estimate;

/* At the batch of q. level in (0, 1), of the interval. The larger the batch, the larger the memory, and the smaller p_fits. */
void		pm_memory_estimate_at(const pm_memory_plan *plan, const pm_question *q, const pm_memory_factors *f, double level,
								  pm_memory_estimate *e);

/* A step, and the numbers that it was estimated with. */
typedef struct pm_memory_share
{
	pm_memory_estimate e;
	pm_memory_factors f;
} pm_memory_share;

/*
 * Probability that two steps fit into a device together.  Each has a context of its own.  What the allocator of one
 * holds and does not need, it gives back for that step alone: so each has to run beside the peak of the other.  NaN:
 * the memory of the device is not known.
 */
double		pm_memory_fit_together(const pm_memory_share *a, const pm_memory_share *b, double capacity_mb);

/* The largest batch, up to `most`, whose p_fits is p or more; 0: not even 1, or the memory of the device is not known. */
int64_t		pm_memory_max_batch(const pm_memory_plan *plan, const pm_question *q, const pm_memory_factors *f, double p, int64_t most);

/* Why an estimate is less certain than others, "" when it is not; ASCII, at most size bytes. */
void		pm_memory_note(const pm_question *q, const pm_memory_factors *f, char *note, size_t size);

#endif
