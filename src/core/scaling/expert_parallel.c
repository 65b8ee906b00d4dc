/*
 * expert_parallel.c - GPUs that divide the experts of each layer.
 */
#include "scaling/expert_parallel.h"
#include "scaling/groups.h"

#include <math.h>

static double
passes(const pm_step_shape *s, const pm_parallel *p)
{
	return 2 + pm_again_share(p, s->layers);
}

/* us in which the GPUs of a layer sum so many bytes. */
static double
sum_us(const pm_parallel *p, const pm_fabric *f, double bytes)
{
	pm_group	g = pm_group_of(p, f, p->tp, 1);

	return p->sequence_parallel ? pm_group_us(&g, PM_REDUCE_SCATTER, bytes) + pm_group_us(&g, PM_ALL_GATHER, bytes) : pm_group_us(&g, PM_ALL_REDUCE, bytes);
}

/*
 * us by which the GPUs of a layer send to each other longer than what is counted with the layers, a sum of what a layer hands
 * on.  Where they share each expert, they sum what the experts make, tokens times experts of each.  Where they do not, each sends
 * its part of the tokens, and they gather the result, unless the sequence is divided anyway.
 */
static double
longer_us(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double bytes)
{
	pm_group	g = pm_group_of(p, f, p->tp, 1);
	double		counted = sum_us(p, f, s->activation_bytes);

	if (p->tp == 1)
		return 0;
	if (p->etp == 1)
		return (p->sequence_parallel ? 0 : pm_group_us(&g, PM_ALL_GATHER, s->activation_bytes)) - counted;
	return fmax(0, sum_us(p, f, bytes) - counted);
}

pm_messages_ms
pm_expert_messages(const pm_step_shape *s, const pm_parallel *p, const pm_fabric *f, double comm_factor, double share)
{
	pm_group	g;
	double		us;
	double		ms;

	if (p->ep <= 1 || s->expert_layers == 0)
		return (pm_messages_ms) {0};
	g = pm_group_of(p, f, p->ep, p->etp == 1 ? 1 : p->tp);
	us = pm_group_us(&g, PM_ALL_TO_ALL, s->sent_bytes / s->expert_layers / p->tp) + pm_group_us(&g, PM_ALL_TO_ALL, s->returned_bytes / s->expert_layers / p->tp) +
		longer_us(s, p, f, (s->sent_bytes + s->returned_bytes) / 2 / s->expert_layers);
	ms = passes(s, p) * s->expert_layers * share * us * comm_factor / 1000;
	return (pm_messages_ms) {.all_ms = ms,.left_ms = ms};
}

double
pm_expert_calls(const pm_step_shape *s, const pm_parallel *p)
{
	return p->ep > 1 ? 2.0 * passes(s, p) * s->expert_layers : 0;
}

double
pm_updaters(const pm_parallel *p, double gradients, double experts)
{
	double		share = gradients > 0 ? experts / gradients : 0;

	if (p->zero == 0)
		return 1;
	return p->ep > 1 ? pm_sharers(p) / (1 + share * (pm_expert_parts(p) - 1)) : pm_shard(p);
}

double
pm_expert_update(const pm_parallel *p)
{
	return p->zero > 0 ? pm_expert_parts(p) : 1;
}
