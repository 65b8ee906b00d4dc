/*
 * groups.h - which of the GPUs send to each other.
 *
 * GPUs are numbered as Megatron does: those that share a layer (tp) next to each
 * other, then those that share a sequence (cp), then the copies of the model, then
 * the stages of the pipeline.  Machines are filled in this order.
 */
#ifndef PM_SCALING_GROUPS_H
#define PM_SCALING_GROUPS_H

#include "scaling/shape.h"

/* GPUs that hold the same part of the model: all copies, and in each of them those that share a sequence. They sum their gradients. */
int			pm_sharers(const pm_parallel *p);

/* Of these, how many divide what zero divides; the parts are alike in each group of so many. */
int			pm_shard(const pm_parallel *p);

/* GPUs that have the same experts, of those that have the same part of the model. */
int			pm_expert_copies(const pm_parallel *p);

/* The smallest number of GPUs that p can divide a model among, whatever its world_size: the others are its multiples. */
int64_t		pm_least_gpus(const pm_parallel *p);

typedef struct pm_group
{
	int			n;
	int			nodes;			/* machines that have GPUs of it */
	pm_fabric	links;			/* with the adapters of a machine shared by the groups that send at the same time */
} pm_group;

/* n GPUs, `apart` numbers from one to the next. p is checked, and its nodes are set. */
pm_group	pm_group_of(const pm_parallel *p, const pm_fabric *f, int n, int apart);

/* Two GPUs of neighbouring stages; where there are several machines, on two of them. */
pm_group	pm_group_of_stages(const pm_parallel *p, const pm_fabric *f);

/* Microseconds of a collective on `bytes`, as pm_collective_us() takes them. */
double		pm_group_us(const pm_group *g, pm_collective op, double bytes);

#endif
