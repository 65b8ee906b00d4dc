/*
 * memory_cache.c - plans of memory, kept with the graph that they belong to.
 *
 * A graph has few of them: a number format, an optimizer and a generation of
 * PyTorch each make one.  They go when the graph does.
 */
#include "postgres.h"

#include "cache/graph_cache.h"
#include "cache/memory_cache.h"
#include "cache/prepared_cache.h"
#include "errors.h"
#include "graph/layers.h"

struct pm_memory_kept
{
	struct pm_memory_kept *next;
	uint32		options;
	pm_memory_plan plan;
};

/* The layout changes no plan. */
uint32
pm_memory_options_key(const pm_step_options *o)
{
	return (uint32) o->dtype | (uint32) o->optimizer << 8 | (o->checkpointing ? 1u << 16 : 0) | (o->gradients_stay ? 1u << 17 : 0) |
		(o->fused_attention ? 1u << 18 : 0) | (o->on_cpu ? 1u << 19 : 0) |
		(o->softmax_keeps_input ? 1u << 20 : 0) | (o->fused_update ? 1u << 21 : 0) |
		(o->masked_attention ? 1u << 22 : 0) | (o->inference ? 1u << 23 : 0) |
		(o->attention_again ? 1u << 24 : 0) | (o->compile ? 1u << 25 | (o->recomputes_less ? 1u << 26 : 0) : 0) |
		(o->products_stay ? 1u << 27 : 0);
}

int
pm_memory_layers_get(pm_cached *graph, pm_heads *heads)
{
	Assert(pm_cache_good(graph));
	if (!graph->has_layers)
	{
		const pm_graph *g = pm_graph_whole(graph);

		graph->layers = pm_layers_of(g);
		graph->heads = pm_heads_of(g);
		graph->has_layers = true;
	}
	*heads = graph->heads;
	return graph->layers;
}

const pm_memory_plan *
pm_memory_plan_get(pm_cached *graph, const pm_step_options *o)
{
	uint32		key = pm_memory_options_key(o);
	struct pm_memory_kept *k;
	pm_status	st = {PM_OK};
	pm_memory_plan plan;

	Assert(pm_cache_good(graph));
	for (k = graph->memory; k != NULL; k = k->next)
		if (k->options == key)
			return &k->plan;
	if (pm_memory_plan_make(pm_graph_whole(graph), o, pm_workspace(), &plan, &st) != PM_OK)
		pm_raise(&st);
	k = MemoryContextAlloc(graph->cxt, sizeof(*k));
	*k = (struct pm_memory_kept) {graph->memory, key, plan};
	graph->memory = k;
	pm_cache_grown(graph);
	return &k->plan;
}
