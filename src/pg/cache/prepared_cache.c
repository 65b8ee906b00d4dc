/*
 * prepared_cache.c - questions without their batch, prepared (predictor.h).
 *
 * They are entries of the cache (cache.c) under graph, predictor, device and
 * formats, and go when their graph or predictor goes, so that no check of their
 * own is needed: graph and predictor have been asked for, and thereby checked,
 * before.  A data sheet that has changed makes another key.
 *
 * State: the workspace, the memory of one call of the core, kept for the next,
 * and the workbench, which all prepared questions share.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "cache/cache.h"
#include "cache/graph_cache.h"
#include "cache/prepared_cache.h"
#include "context_arena.h"
#include "errors.h"

#define WORKSPACE_KEEP	((size_t) 2 * 1024 * 1024)	/* between calls */
#define SHEET_NUMBERS	PM_N_GPU_FIGURES

/* All that makes the prepared form of a question on a graph by a predictor, as bytes. */
typedef struct words
{
	double		sheet[SHEET_NUMBERS];
	int32		is_cpu;
	int32		dtype;
	int32		layout;
	int32		optimizer;
	int32		mode;
	int32		has_framework;
	char		names[FLEXIBLE_ARRAY_MEMBER];	/* gpu, framework, each with its 0 */
} words;

pm_arena *
pm_workspace(void)
{
	static MemoryContext cxt = NULL;
	static pm_arena arena;

	if (cxt == NULL)
	{
		cxt = AllocSetContextCreate(TopMemoryContext, "perfmodel workspace", ALLOCSET_SMALL_SIZES);
		pm_context_arena(&arena, cxt, 0);
	}
	pm_arena_reset(&arena, WORKSPACE_KEEP);
	return &arena;
}

/* Where the core puts the work of the question that is asked; all of them share it. */
static pm_workbench *
workbench(void)
{
	static pm_workbench bench;

	if (bench.arena.get == NULL)
		pm_context_arena(&bench.arena, AllocSetContextCreate(TopMemoryContext, "perfmodel workbench",
															 ALLOCSET_SMALL_SIZES), 0);
	return &bench;
}

/* In the current context. */
static words *
spell(const pm_question *q, Size *len)
{
	const pm_gpu *g = q->gpu;
	const double sheet[SHEET_NUMBERS] = {
		g->memory_gb, g->mem_bw_gbs, g->sm_count, g->cores_per_sm, g->clock_ghz, g->fp32_tflops,
		g->fp16_tensor_tflops, g->l2_mb, g->tdp_w, g->base_clock_ghz, g->compute_capability, g->l1_kb, g->register_kb,
		g->fp16_tflops
	};
	const char *framework = q->framework ? q->framework : "";
	Size		n_gpu = strlen(g->name) + 1;
	Size		n_framework = strlen(framework) + 1;
	words	   *w;

	*len = offsetof(words, names) + n_gpu + n_framework;
	w = palloc0(*len);
	memcpy(w->sheet, sheet, sizeof(sheet));
	w->is_cpu = g->is_cpu;
	w->dtype = q->dtype;
	w->layout = q->layout;
	w->optimizer = q->optimizer;
	w->mode = q->mode;
	w->has_framework = q->framework != NULL;
	memcpy(w->names, g->name, n_gpu);
	memcpy(w->names + n_gpu, framework, n_framework);
	return w;
}

static void
put_skeleton(pm_asked *q, const pm_skeleton *s)
{
	q->sample.skeleton = s;
	q->sample.query.graph = s->graph;
}

void
pm_ask_whole(pm_asked *q)
{
	put_skeleton(q, pm_skeleton_get(q->graph, q->merged));
}

static pm_cached *
prepare(pm_asked *q, const pm_cached_key *key, const words *w, Size len)
{
	pm_cached  *e = pm_cache_make(key);
	uint8	   *copy = MemoryContextAlloc(e->cxt, len);
	pm_status	st = {PM_OK};

	memcpy(copy, w, len);
	e->words = copy;
	e->n_words = len;
	e->prepared = MemoryContextAllocZero(e->cxt, sizeof(pm_prepared));
	pm_ask_whole(q);
	if (pm_predictor_prepare(q->ref.predictor, &q->sample, &e->arena, pm_workspace(), workbench(), e->prepared,
							 &st) != PM_OK)
		pm_raise(&st);
	/* the whole graph may go; what stays refers to the slim one */
	pm_prepared_refer(e->prepared, pm_skeleton_get_slim(q->graph, q->merged));
	pm_cache_keep(e);
	dlist_push_head(&q->graph->dependents, &e->by_graph);
	dlist_push_head(&q->ref.entry->dependents, &e->by_predictor);
	return e;
}

pm_prepared *
pm_prepared_get(pm_asked *q)
{
	Size		len;
	words	   *w = spell(&q->sample.query, &len);
	pm_cached_key key = {PM_CACHED_PREPARED, q->graph->key.id, q->ref.id,.expert_part = q->graph->key.expert_part};
	pm_cached  *e;

	Assert(pm_cache_good(q->graph) && pm_cache_good(q->ref.entry));
	key.question = pm_mix(pm_hash(PM_HASH_INIT, w, len));
	e = pm_cache_find(&key);
	/* another question of the same hash makes room for this one */
	if (e != NULL && (e->n_words != len || memcmp(e->words, w, len) != 0))
	{
		pm_cache_drop(e);
		e = NULL;
	}
	if (e == NULL)
		e = prepare(q, &key, w, len);
	pfree(w);
	q->prepared = e;
	if (e->prepared->state == NULL)
		pm_ask_whole(q);
	else
		put_skeleton(q, pm_skeleton_get_slim(q->graph, q->merged));
	return e->prepared;
}

const pm_buckets *
pm_buckets_get(pm_asked *q, double bucket_mb)
{
	pm_cached  *e = q->prepared;
	/* sizes that users try out are not kept: there is no end to them */
	bool		keep = bucket_mb == PM_BUCKET_MB_USUAL;
	pm_arena   *a = keep ? &e->arena : pm_workspace();
	const pm_skeleton *whole;
	pm_buckets *b;
	pm_status	st = {PM_OK};

	Assert(pm_cache_good(e));
	if (keep && e->buckets != NULL)
		return e->buckets;
	whole = pm_skeleton_get(q->graph, q->merged);
	b = PM_NEW_PACKED(a, pm_buckets, 1);
	if (b == NULL)
		pm_no_memory(&st, a);
	if (b == NULL || pm_buckets_build(whole, q->sample.query.dtype, bucket_mb, a, b, &st) != PM_OK)
		pm_raise(&st);
	if (keep)
	{
		e->buckets = b;
		pm_cache_grown(e);
	}
	return b;
}
