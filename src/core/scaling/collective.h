/*
 * collective.h - the time of a collective operation among n GPUs.
 *
 * The model is NCCL's own (src/graph/tuning.cc of NVIDIA/nccl): a fixed time
 * that grows with the steps of the algorithm, plus bytes divided by a
 * bandwidth; the smallest over its algorithms and protocols. If a link was
 * measured with this number of GPUs, it has a fixed time of its own, and
 * nothing is guessed.
 */
#ifndef PM_COLLECTIVE_H
#define PM_COLLECTIVE_H

#include "base/core.h"

#define PM_MAX_WORLD	65536	/* GPUs that train together */

typedef enum pm_collective
{
	PM_ALL_REDUCE, PM_ALL_GATHER, PM_REDUCE_SCATTER, PM_BROADCAST, PM_ALL_TO_ALL, PM_SEND_RECV, PM_N_COLLECTIVES
} pm_collective;

extern const char *const pm_collective_name[PM_N_COLLECTIVES];	/* "all_reduce" */

typedef enum pm_link_kind
{
	PM_LINK_NVLINK,				/* without a switch: bandwidth depends on which GPUs take part */
	PM_LINK_NVSWITCH, PM_LINK_PCIE, PM_LINK_ETHERNET, PM_LINK_INFINIBAND, PM_N_LINK_KINDS
} pm_link_kind;

extern const char *const pm_link_kind_name[PM_N_LINK_KINDS];	/* "nvlink", also in perfmodel.interconnect */

/* What is known of a link with so many GPUs. */
typedef struct pm_link_row
{
	int			gpus;			/* 0: any number that has no row of its own */
	double		busbw_gbs;		/* bus bandwidth of a large all-reduce, as nccl-tests print it */
	double		latency_us;		/* fixed time of an all-reduce; NaN: NCCL's constants */
	double		ring_gbs;		/* bus bandwidth of all collectives but all-reduce; 0: busbw_gbs */
} pm_link_row;

typedef struct pm_link
{
	const char *name;
	pm_link_kind kind;
	int			n_rows;			/* at least 1 */
	const pm_link_row *rows;	/* ascending gpus, all different */
} pm_link;

/* A cluster of equal machines. The factors are 1 until they are fitted to measurements. */
typedef struct pm_fabric
{
	const char *name;
	pm_link		intra;			/* between the GPUs of a machine */
	pm_link		inter;			/* one network adapter of a machine; n_rows 0: the machines are not connected */
	int			gpus_per_node;
	int			adapters;		/* network adapters of a machine */
	int			max_nodes;		/* 0: not known */
	double		intra_factor,	/* on the bandwidth of the two links */
				inter_factor,
				pair_factor,	/* on the bandwidth of inter between just two machines, besides inter_factor */
				latency_factor; /* on every fixed time */
	double		host_s_per_gb;	/* seconds of a GB of messages on what the GPUs of a machine share, such as its memory; 0: nothing */
	double		compute_factor; /* on computing: of several GPUs over the step on one */
	double		overlap;		/* speed of messages while the GPUs compute, as a share of their speed while not; above 0 */
	double		steal;			/* share by which computing is slower while gradients travel */
	double		straggler;		/* standard deviation between the steps of different GPUs, as a share */
	double		contention,		/* computing is slower by contention * (GPUs of a machine at work - 1)^contention_power */
				contention_power;
	double		own_contention; /* of the network that trains, besides: slower by it for each doubling of the GPUs of a machine at work */
	const char *other_gpu;		/* the GPU of its machines, where the question is about another one; NULL: the same, or any */
	bool		measured;		/* whether the factors were fitted to rows of the network that trains, among others */
	double		comm_error;		/* standard deviation of ln(measured / predicted communication) */
	double		step_error;		/* standard deviation of ln(measured / predicted step) besides, where the network was measured */
	double		unseen_above,	/* in its place where it was not, or nothing is fitted: for steps longer than predicted, */
				unseen_below;	/* and for shorter ones */
	int			fitted_rows;	/* measurements that the factors were fitted to; 0: none */
	const struct pm_divided_correction *correction; /* of steps where tp or pp divide the model; NULL: none */
} pm_fabric;

/* The numbers of a cluster that nothing was fitted to, as the columns of perfmodel.cluster default to them. */
#define PM_NOT_FITTED .intra_factor = 1, .inter_factor = 1, .latency_factor = 1, .compute_factor = 1, .pair_factor = 1, .overlap = 0.5, .contention_power = 0.7, \
	.steal = 0.05, .straggler = 0.01, .comm_error = 0.3, .unseen_above = 0.5, .unseen_below = 0.1

/*
 * Of so many GPUs of a machine that work together, those that share the memory
 * and the PCIe root of one processor.  Where messages pass it, and a machine has
 * more than four GPUs, it has two processors with half of them each, and the GPUs
 * of the first are taken first.  Over NVLink only what goes to the network passes a
 * processor, that of the adapter, so that all GPUs share it.
 */
int			pm_gpus_of_a_host(const pm_fabric *f, int gpus);

/*
 * host_s_per_gb that is usual for machines whose GPUs are connected by that link, with so many GPUs each; nothing was
 * fitted.  Without a direct link, what the GPUs of a processor send passes the PCIe root that they share, one message
 * after the other: each holds it as long as its own link.  0 for other links, and for one that was measured, which has
 * a latency: its bandwidth is already that of GPUs that share.
 */
double		pm_usual_host_s_per_gb(const pm_link *intra, int gpus);

/* The row of a link for n GPUs: its own, else that of any number, else between its neighbours. */
pm_link_row pm_link_for(const pm_link *link, int gpus);

/*
 * Microseconds of `op` on `bytes` by n GPUs on that many nodes, as even as n
 * and nodes allow; 0 for n = 1 and for no bytes.  bytes is what nccl-tests
 * call the size: the whole buffer of an all-reduce, what all GPUs together have
 * after an all-gather or before a reduce-scatter, what one GPU sends to all in
 * an all-to-all, what is sent by a broadcast or from one GPU to another (n is
 * then 2).  1 <= nodes <= n.
 */
double		pm_collective_us(pm_collective op, double bytes, int n, int nodes, const pm_fabric *f);

#endif
