/*
 * breakdown.h - the parts of the memory of a step, and its course over time.
 */
#ifndef PM_BREAKDOWN_H
#define PM_BREAKDOWN_H

#include "memory/divide.h"

/* Bytes of a tensor at a batch >= 1. */
double		pm_memory_tensor_bytes(const pm_memory_tensor *t, int64_t batch);

/* The event after which tensors hold most, at a batch; split: of the GPU that holds most, NULL: of one that has the whole model. */
int			pm_memory_peak_event(const pm_step *s, const pm_memory_split *split, int64_t batch);

/* held[n_tensors]: whether tensor i is held after `event`. */
void		pm_memory_held_after(const pm_step *s, int event, bool *held);

/* What a GPU has of tensors that are held after `event`: fill *of, and ask it of a tensor. */
void		pm_memory_shares_after(const pm_step *s, const pm_memory_split *split, int event, pm_memory_shares *of);
double		pm_tensor_share(const pm_memory_shares *of, const pm_memory_tensor *t, int64_t batch);

typedef struct pm_memory_point
{
	int			event;			/* after which most is held in the stretch */
	pm_step_phase phase;
	int			node;			/* that runs, -1: none */
	double		bytes;			/* of all tensors then */
} pm_memory_point;

/* held[n_events]: bytes that tensors hold after each event. */
void		pm_memory_course(const pm_step *s, const pm_memory_split *split, int64_t batch, double *held);

/* held becomes that of a step of whose layers a share is run as in another one: the same part of each phase stands beside the same part of the other's. */
void		pm_memory_mix(const pm_step *s, double *held, const pm_step *other, const double *held_other, double share);

/*
 * The highest point of each of at most n stretches, which have the same number of
 * events; returns how many stretches there are. held: as above; points[n], n >= 1.
 */
int			pm_memory_timeline(const pm_step *s, const double *held, int n, pm_memory_point *points);

#endif
