/*
 * groups.c - which of the GPUs send to each other, and over what.
 */
#include "scaling/groups.h"

#include <math.h>

int
pm_sharers(const pm_parallel *p)
{
	return p->world_size / (p->tp * p->pp);
}

int
pm_shard(const pm_parallel *p)
{
	return p->shard > 0 ? p->shard : pm_sharers(p);
}

int
pm_expert_copies(const pm_parallel *p)
{
	return pm_sharers(p) / pm_expert_parts(p);
}

static int64_t
common_multiple(int64_t a, int64_t b)
{
	return a / pm_common_divisor(a, b) * b;
}

int64_t
pm_least_gpus(const pm_parallel *p)
{
	/* shards, those that divide the experts and the GPUs of a sequence divide those that have the same part of the model */
	int64_t		sharers = common_multiple(p->cp, p->shard > 0 ? p->shard : 1);

	return common_multiple(sharers, pm_expert_parts(p)) * p->tp * p->pp;
}

/* Machines are full but for the last one, unless more of them were asked for than are needed. */
static int
gpus_of_a_node(const pm_parallel *p, const pm_fabric *f)
{
	int			needed = (p->world_size + f->gpus_per_node - 1) / f->gpus_per_node;

	return p->nodes > needed ? (p->world_size + p->nodes - 1) / p->nodes : f->gpus_per_node;
}

/* The links of a machine for one of several groups that send at the same time, each `together` GPUs of it. */
static pm_fabric
links_of(const pm_parallel *p, const pm_fabric *f, int per_node, int together)
{
	int			stage = pm_sharers(p) * p->tp;
	int			sending = stage < per_node ? stage : per_node;
	double		wanted = fmin(f->adapters, together) * sending / together;
	pm_fabric	links = *f;

	if (wanted > f->adapters)
		links.inter_factor *= f->adapters / wanted;
	return links;
}

pm_group
pm_group_of(const pm_parallel *p, const pm_fabric *f, int n, int apart)
{
	int			per_node = gpus_of_a_node(p, f);
	int			nodes = (n * apart + per_node - 1) / per_node;

	if (n == p->world_size)
		return (pm_group) {n, p->nodes, *f};
	nodes = nodes < n ? nodes : n;
	return (pm_group) {n, nodes, links_of(p, f, per_node, (n + nodes - 1) / nodes)};
}

pm_group
pm_group_of_stages(const pm_parallel *p, const pm_fabric *f)
{
	int			per_node = gpus_of_a_node(p, f);

	return (pm_group) {2, p->world_size > per_node ? 2 : 1, links_of(p, f, per_node, 1)};
}

double
pm_group_us(const pm_group *g, pm_collective op, double bytes)
{
	return pm_collective_us(op, bytes, g->n, g->nodes, &g->links);
}
