/*
 * expert_parallel.c - GPUs that divide the experts of each layer.
 */
#include "scaling/expert_parallel.h"
#include "scaling/groups.h"

#include <math.h>

static int
passes(const pm_parallel *p)
{
	return p->recompute == PM_RECOMPUTE_LAYERS ? 3 : 2;
}

/* us by which tp GPUs sum so many bytes longer than what a layer hands on, which is counted with the layers. */
static double
longer_sum_us(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double bytes)
{
	pm_group	g = pm_group_of(p, f, p->tp, 1);
	double		us = 0;

	if (p->tp == 1 || bytes <= s->activation_bytes)
		return 0;
	if (!p->sequence_parallel)
		return pm_group_us(&g, PM_ALL_REDUCE, bytes) - pm_group_us(&g, PM_ALL_REDUCE, s->activation_bytes);
	for (int i = 0; i < 2; i++)
		us += pm_group_us(&g, i ? PM_ALL_GATHER : PM_REDUCE_SCATTER, bytes) - pm_group_us(&g, i ? PM_ALL_GATHER : PM_REDUCE_SCATTER, s->activation_bytes);
	return us;
}

pm_messages_ms
pm_expert_messages(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, double share)
{
	pm_group	g;
	double		us;
	double		ms;

	if (p->ep <= 1 || s->expert_layers == 0)
		return (pm_messages_ms) {0};
	g = pm_group_of(p, f, p->ep, p->tp);
	us = pm_group_us(&g, PM_ALL_TO_ALL, s->sent_bytes / s->expert_layers / p->tp) + pm_group_us(&g, PM_ALL_TO_ALL, s->returned_bytes / s->expert_layers / p->tp) +
		longer_sum_us(s, p, f, (s->sent_bytes + s->returned_bytes) / 2 / s->expert_layers);
	ms = passes(p) * s->expert_layers * share * us * comm_factor / 1000;
	return (pm_messages_ms) {.all_ms = ms,.left_ms = ms};
}

double
pm_expert_calls(const pm_step_shape *s, const pm_parallel *p)
{
	return p->ep > 1 ? 2.0 * passes(p) * s->expert_layers : 0;
}

double
pm_updaters(const pm_parallel *p, double gradients, double experts)
{
	double		share = gradients > 0 ? experts / gradients : 0;

	if (p->zero == 0)
		return 1;
	return p->ep > 1 ? pm_sharers(p) / (1 + share * (p->ep - 1)) : pm_shard(p);
}
