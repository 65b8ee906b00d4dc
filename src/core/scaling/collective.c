/*
 * collective.c - NCCL's model of its collectives.
 *
 * Constants are those of src/graph/tuning.cc of NVIDIA/nccl (2.19 and later):
 * base times, time of a step by kind of link, shares of the bandwidth that the
 * protocols reach, the correction of trees.
 */
#include "scaling/collective.h"

#include <math.h>

const char *const pm_collective_name[PM_N_COLLECTIVES] = {
	[PM_ALL_REDUCE] = "all_reduce", [PM_ALL_GATHER] = "all_gather", [PM_REDUCE_SCATTER] = "reduce_scatter",
	[PM_BROADCAST] = "broadcast", [PM_ALL_TO_ALL] = "all_to_all", [PM_SEND_RECV] = "send_recv"
};

const char *const pm_link_kind_name[PM_N_LINK_KINDS] = {
	[PM_LINK_NVLINK] = "nvlink", [PM_LINK_NVSWITCH] = "nvswitch", [PM_LINK_PCIE] = "pcie",
	[PM_LINK_ETHERNET] = "ethernet", [PM_LINK_INFINIBAND] = "infiniband"
};

enum
{
	LL, LL128, SIMPLE, N_PROTOCOLS
};
enum
{
	NVLINK, PCIE, NET
};
enum
{
	RING, TREE, N_ALGORITHMS
};

/* Microseconds: before the first step, and of a step. */
static const double base_us[N_ALGORITHMS][N_PROTOCOLS] = {[RING] = {6.6, 14.0, 8.4},[TREE] = {6.8, 14.0, 8.4}};
static const double step_us[3][N_ALGORITHMS][N_PROTOCOLS] = {
	[NVLINK] = {[RING] = {0.6, 1.9, 3.4},[TREE] = {0.6, 1.25, 4.0}},
	[PCIE] = {[RING] = {1.0, 2.5, 5.7},[TREE] = {1.0, 1.9, 4.0}},
	[NET] = {[RING] = {2.7, 4.0, 14.0},[TREE] = {5.0, 8.5, 14.0}},
};

/* Share of the bandwidth that is left to the data. */
static const double share[N_ALGORITHMS][N_PROTOCOLS] = {
	[RING] = {0.5, 0.92, 1.0},[TREE] = {1 / 3.8, 0.92, 0.92 * 0.85}
};
#define LL_MAX_GBS 39.0			/* what the LL protocol reaches on one machine, whatever the link */

/* Trees at sizes of 64 bytes times powers of two. */
#define N_TREE_SIZES 24
static const double tree_share[N_PROTOCOLS][N_TREE_SIZES] = {
	[LL] = {1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1.0, 1.0, 1.0, 1.0, 1.0},
	[LL128] = {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1.0, 1.0, 1.0},
	[SIMPLE] = {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}
};

/* Rings over several machines with messages that keep every channel busy take longer to fill. */
#define RING_PLATEAU		1.4
#define RING_PLATEAU_BYTES	64.0	/* a GPU and channel */
#define RING_CHANNELS		2.0

/* Factor from size over time to bus bandwidth: 2(n-1)/n of an all-reduce (nccl-tests, doc/PERFORMANCE.md). */
static double
bus_factor(pm_collective op, int n)
{
	switch (op)
	{
		case PM_ALL_REDUCE:
			return 2.0 * (n - 1) / n;
		case PM_ALL_GATHER:
		case PM_REDUCE_SCATTER:
		case PM_ALL_TO_ALL:
			return (n - 1.0) / n;
		default:
			return 1;
	}
}

#define GPUS_OF_ONE_PROCESSOR 4

int
pm_gpus_of_a_host(const pm_fabric *f, int gpus)
{
	int			half = (f->gpus_per_node + 1) / 2;

	return f->intra.kind == PM_LINK_PCIE && f->gpus_per_node > GPUS_OF_ONE_PROCESSOR && gpus > half ? half : gpus;
}

pm_link_row
pm_link_for(const pm_link *link, int gpus)
{
	const pm_link_row *below = NULL;
	const pm_link_row *above = NULL;
	const pm_link_row *any = NULL;
	pm_link_row r;
	double		at;

	for (int i = 0; i < link->n_rows; i++)
	{
		const pm_link_row *row = &link->rows[i];

		if (row->gpus == gpus)
			return *row;
		if (row->gpus == 0)
			any = row;
		else if (row->gpus < gpus)
			below = row;
		else if (above == NULL)
			above = row;
	}
	if (any != NULL)
		r = *any;
	else if (below == NULL || above == NULL)
		r = below != NULL ? *below : *above;
	else
	{
		at = (double) (gpus - below->gpus) / (above->gpus - below->gpus);
		r.busbw_gbs = below->busbw_gbs + at * (above->busbw_gbs - below->busbw_gbs);
		r.latency_us = below->latency_us + at * (above->latency_us - below->latency_us);
		r.ring_gbs = below->ring_gbs + at * (above->ring_gbs - below->ring_gbs);
	}
	r.gpus = gpus;
	return r;
}

double
pm_usual_host_s_per_gb(const pm_link *intra, int gpus)
{
	pm_link_row row = pm_link_for(intra, gpus);

	return intra->kind == PM_LINK_PCIE && isnan(row.latency_us) ? 1 / row.busbw_gbs : 0;
}

/* The bus bandwidth of the GPUs of one machine. */
static double
intra_gbs(const pm_fabric *f, pm_collective op, int gpus)
{
	pm_link_row row = pm_link_for(&f->intra, gpus);

	return (op != PM_ALL_REDUCE && row.ring_gbs > 0 ? row.ring_gbs : row.busbw_gbs) * f->intra_factor;
}

/* The bandwidth that is left where so many GPUs of a machine send at a time through what they share. */
static double
through_host(double gbs, int gpus, const pm_fabric *f)
{
	return 1 / (1 / gbs + pm_gpus_of_a_host(f, gpus) * f->host_s_per_gb);
}

/* What a collective has to go through. */
typedef struct route
{
	int			n;
	int			nodes;
	double		ppn;			/* GPUs a node */
	int			intra;			/* row of step_us */
	double		gbs;			/* bus bandwidth of the narrowest part */
	double		inter_gbs;		/* of all adapters of a machine that are used */
	double		measured_us;	/* fixed time of an all-reduce, NaN: not measured */
} route;

static route
find_route(pm_collective op, int n, int nodes, const pm_fabric *f)
{
	route		r = {.n = n, .nodes = nodes, .ppn = (double) n / nodes, .inter_gbs = INFINITY, .gbs = INFINITY,
	.measured_us = NAN};
	int			most = (n + nodes - 1) / nodes;

	r.intra = f->intra.kind == PM_LINK_PCIE ? PCIE : NVLINK;
	if (most > 1)
	{
		r.gbs = intra_gbs(f, op, most);
		if (nodes == 1)
			r.measured_us = pm_link_for(&f->intra, most).latency_us;
	}
	if (nodes > 1)
	{
		pm_link_row row = pm_link_for(&f->inter, nodes);
		int			least = n / nodes;	/* GPUs of the emptiest machine, each of which drives one adapter */
		int			used = f->adapters < least ? f->adapters : least;

		r.inter_gbs = row.busbw_gbs * f->inter_factor * (nodes == 2 ? f->pair_factor : 1) * used;
		r.gbs = fmin(r.gbs, r.inter_gbs);
		if (most == 1)
			r.measured_us = row.latency_us;
	}
	r.gbs = through_host(r.gbs, most, f);
	return r;
}

/* ---- rings and trees ---- */

static double
ring_us(const route *r, pm_collective op, int protocol, double bytes, double latency_factor)
{
	int			rounds = op == PM_ALL_REDUCE ? 2 : 1;
	double		inter = r->nodes > 1 ? rounds * (r->nodes - 1) : 0;
	double		intra = rounds * (r->n - 1) - inter;
	double		fixed = base_us[RING][protocol] + intra * step_us[r->intra][RING][protocol] + inter * step_us[NET][RING][protocol];
	double		gbs = r->gbs * share[RING][protocol];

	if (protocol == LL)
		gbs = fmin(gbs, LL_MAX_GBS);
	if (protocol == SIMPLE && op == PM_ALL_REDUCE && r->nodes > 1 && bytes / (RING_CHANNELS * r->n) >= RING_PLATEAU_BYTES)
		fixed *= RING_PLATEAU;
	return fixed * latency_factor + bus_factor(op, r->n) * bytes / (1000 * gbs);
}

/*
 * On the line between two sizes of the table.  NCCL takes the entry of the smaller size, so that its share jumps, and a larger
 * message could take less time.
 */
static double
tree_share_at(int protocol, double bytes)
{
	double		size = log2(fmax(bytes, 64) / 64);
	int			below = (int) size;
	const double *of = tree_share[protocol];

	if (below >= N_TREE_SIZES)
		return 1;
	return of[below] + (size - below) * ((below + 1 < N_TREE_SIZES ? of[below + 1] : 1) - of[below]);
}

static double
tree_us(const route *r, int protocol, double bytes, double latency_factor)
{
	double		fixed = base_us[TREE][protocol] +
		2 * ((r->ppn - 1) * step_us[r->intra][TREE][protocol] + log2(r->nodes) * step_us[NET][TREE][protocol]);
	double		gbs = r->gbs * share[TREE][protocol] * tree_share_at(protocol, bytes);

	if (protocol == LL)
		gbs = fmin(gbs, LL_MAX_GBS);
	return fixed * latency_factor + 2 * bytes / (1000 * gbs);
}

/* The 128-byte protocol needs NVLink between the GPUs of a machine. */
static bool
can_use(const route *r, int protocol)
{
	return protocol != LL128 || (r->intra == NVLINK && r->ppn > 1);
}

static double
modelled_us(const route *r, pm_collective op, double bytes, double latency_factor)
{
	double		best = INFINITY;

	for (int p = 0; p < N_PROTOCOLS; p++)
	{
		if (!can_use(r, p))
			continue;
		best = fmin(best, ring_us(r, op, p, bytes, latency_factor));
		if (op == PM_ALL_REDUCE)
			best = fmin(best, tree_us(r, p, bytes, latency_factor));
	}
	return best;
}

/* ---- each to each ---- */

/* Every GPU sends to every other one; what leaves a machine shares its adapters, and all of it what the GPUs of the machine share. */
static double
all_to_all_us(const route *r, const pm_fabric *f, double bytes)
{
	int			gpus = (int) ceil(r->ppn);	/* of a machine */
	double		outside = bytes * (r->n - r->ppn) / r->n;
	double		inside = bytes * (r->ppn - 1) / r->n;
	double		inside_gbs = gpus > 1 ? intra_gbs(f, PM_ALL_TO_ALL, gpus) : INFINITY;
	int			net = r->nodes > 1 ? NET : r->intra;
	double		fixed = base_us[RING][SIMPLE] + step_us[net][RING][SIMPLE];
	double		links_us = fmax(outside * r->ppn / (1000 * r->inter_gbs), inside / (1000 * inside_gbs));

	return fixed * f->latency_factor + links_us + (outside + inside) / (1000 * through_host(INFINITY, gpus, f));
}

static double
send_recv_us(const route *r, const pm_fabric *f, double bytes)
{
	bool		inside = r->nodes == 1;
	double		fixed = base_us[RING][SIMPLE] + step_us[inside ? r->intra : NET][RING][SIMPLE];
	double		gbs = inside ? intra_gbs(f, PM_SEND_RECV, 2)
		: pm_link_for(&f->inter, 2).busbw_gbs * f->inter_factor;

	return fixed * f->latency_factor + bytes / (1000 * through_host(gbs, 1, f));
}

double
pm_collective_us(pm_collective op, double bytes, int n, int nodes, const pm_fabric *f)
{
	route		r;

	if (n <= 1 || bytes <= 0)
		return 0;
	r = find_route(op, n, nodes, f);
	if (op == PM_SEND_RECV)
		return send_recv_us(&r, f, bytes);
	if (op == PM_ALL_TO_ALL)
		return all_to_all_us(&r, f, bytes);
	if (!isnan(r.measured_us))
	{
		/* half of the steps of an all-reduce, the same start */
		double		fixed = op == PM_ALL_REDUCE ? r.measured_us : fmax(base_us[RING][SIMPLE], 0.5 * (r.measured_us + base_us[RING][SIMPLE]));

		return fixed * f->latency_factor + bus_factor(op, n) * bytes / (1000 * r.gbs);
	}
	return modelled_us(&r, op, bytes, f->latency_factor);
}
