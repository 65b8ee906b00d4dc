/*
 * breakdown.h - the parts of the memory of a step, and its course over time.
 */
#ifndef PM_BREAKDOWN_H
#define PM_BREAKDOWN_H

#include "memory/step.h"

/* Bytes of a tensor at a batch. */
double		pm_tensor_bytes(const pm_tensor *t, int64_t batch);

/* The event after which tensors hold most, at a batch. */
int			pm_memory_peak_event(const pm_step *s, int64_t batch);

/* held[n_tensors]: whether tensor i is held after `event`. */
void		pm_memory_held_after(const pm_step *s, int event, bool *held);

typedef struct pm_memory_point
{
	int			event;			/* the one in its stretch after which most is held */
	pm_step_phase phase;
	int			node;			/* that runs, -1: none */
	double		bytes;
} pm_memory_point;

/*
 * The events in at most n stretches of the same length, of each the highest
 * point; returns how many. points[n].
 */
int			pm_memory_timeline(const pm_step *s, int64_t batch, int n, pm_memory_point *points);

#endif
