/*
 * memory_sql.c - predict_memory(), max_batch(), usable_memory_mb() and p_fits_together().
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "cache/freshness.h"
#include "cache/graph_cache.h"
#include "catalog.h"
#include "encoding.h"
#include "features/tokens.h"
#include "gpus.h"
#include "memory_asking.h"
#include "memory_factors.h"
#include "results.h"
#include "scaling/checks.h"
#include "scaling/groups.h"

PG_FUNCTION_INFO_V1(pm_predict_memory);
PG_FUNCTION_INFO_V1(pm_max_batch);
PG_FUNCTION_INFO_V1(pm_usable_memory_mb);
PG_FUNCTION_INFO_V1(pm_p_fits_together);

#define CHECKPOINTING	7		/* argument */
#define N_COLUMNS	13
#define FITS	9				/* columns that have answers of other types than figures */
#define P_FITS	10
#define IN_DOMAIN	11
#define NOTE	12

/* False: *p says what is wrong with the number of GPUs, or how they share the work. */
static bool
check_parallel(const pm_parallel *q, pm_dtype dtype, pm_cached *graph, pm_problem *p)
{
	pm_status	st = {PM_OK};
	pm_step_shape shape = {0};

	if (q->tp > 1 || q->pp > 1 || q->cp > 1 || q->again_layers > 0)
		shape.layers = pm_memory_layers_get(graph, &shape.heads);
	if (pm_parallel_check_numbers(q, &st) == PM_OK && pm_division_check(q, &shape, &st) == PM_OK && pm_masters_check(q, dtype, &st) == PM_OK)
		return true;
	*p = pm_problem_of_status("bad_parallel", &st);
	return false;
}

/* A larger ep reserves no more than any that divides it. */
static void
reserve_at_most(const pm_asked_words *words, pm_memory_question *m)
{
	for (int ep = 1; ep < m->split.by.ep; ep++)
	{
		pm_memory_division by = m->split.by;
		const pm_memory_plan *whole;
		pm_memory_plan divided;
		pm_cached  *graph;
		pm_problem	p;

		if (m->split.by.ep % ep != 0)
			continue;
		if ((graph = pm_graph_look_up(words->graph_id, ep, &p)) == NULL)
			pm_problem_raise(&p);
		whole = pm_memory_plan_get(graph, &m->options);
		by.ep = ep;
		by.recompute = whole->segments;
		pm_memory_divide(whole, &by, &divided);
		pm_memory_reserve_at_most(&m->divided, &divided);
	}
}

/* The plan of one of the GPUs. */
static void
divide(const pm_asked_words *words, pm_memory_question *m)
{
	const pm_parallel *q = &words->parallel;
	bool		narrow = m->question.dtype == PM_BF16 || m->question.dtype == PM_FP16;
	const pm_memory_division by = {
		.replicas = pm_sharers(q), .zero = q->zero, .tp = q->tp, .pp = q->pp, .micro_batches = q->accumulation, .interleave = q->interleave, .bucket_mb = q->bucket_mb,
		.recompute = m->plan->segments, .sequence_parallel = q->sequence_parallel, .shard = q->shard, .cp = q->cp, .ep = pm_expert_parts(q),
		.master_bytes = q->master_weights ? (narrow ? 2 : 4) : 0
	};

	m->is_divided = q->world_size > 1;
	m->split = (pm_memory_split) {0};
	if (!m->is_divided && !q->master_weights)
		return;
	m->split = (pm_memory_split) {m->plan, by, false};
	pm_memory_divide(m->plan, &by, &m->divided);
	reserve_at_most(words, m);
	m->plan = &m->divided;
}

/* Of the layers of a GPU, those that are computed again; the argument checkpointing means all. */
static double
share_again(const pm_parallel *q, bool checkpointing, pm_cached *graph)
{
	pm_heads	heads;

	return q->again_layers > 0 && !checkpointing ? pm_again_share(q, pm_memory_layers_get(graph, &heads)) : 1;
}

void
pm_memory_plan_again(const pm_asked_words *words, pm_memory_question *m)
{
	m->plan = pm_memory_plan_get(m->graph, &m->options);
	divide(words, m);
	if (m->again_share == 1)
		return;
	m->divided = *m->plan;
	m->divided.again_share = m->again_share;
	m->plan = &m->divided;
}

bool
pm_memory_ask(const pm_asked_words *words, bool checkpointing, pm_memory_question *m, pm_problem *p)
{
	pm_freshen();
	if (!pm_question_resolve_alone(words, &m->question, &m->graph, p) || !check_parallel(&words->parallel, m->question.dtype, m->graph, p))
		return false;
	if (m->question.mode == PM_INFERENCE && (words->parallel.world_size != 1 || words->parallel.master_weights))
	{
		pm_problem_infer_on_several(p);
		return false;
	}
	pm_memory_step_options(&m->question, checkpointing || words->parallel.recompute == PM_RECOMPUTE_LAYERS || words->parallel.recompute == PM_RECOMPUTE_CHEAP, &m->options);
	m->options.products_stay = words->parallel.recompute == PM_RECOMPUTE_CHEAP && m->options.checkpointing && !checkpointing;
	m->again_share = share_again(&words->parallel, checkpointing, m->graph);
	m->options.attention_again = words->parallel.recompute == PM_RECOMPUTE_ATTENTION && !m->options.checkpointing && !m->options.inference;
	pm_memory_plan_again(words, m);
	pm_memory_factors_find(&m->question, &m->factors);
	if (m->is_divided)
		pm_memory_factors_divided(&m->factors);
	if (m->options.compile)
		pm_memory_factors_compiled(&m->factors);
	return true;
}

bool
pm_memory_read(FunctionCallInfo fcinfo, int checkpointing_arg, pm_asked_words *words, pm_manner *how, bool *checkpointing)
{
	if (PG_NARGS() <= checkpointing_arg || !pm_question_read(fcinfo, words, how) || PG_ARGISNULL(checkpointing_arg))
		return false;
	*checkpointing = PG_GETARG_BOOL(checkpointing_arg);
	return true;
}

static void
fill(const pm_asked_words *words, const pm_memory_question *m, const pm_memory_estimate *e, Datum *values, bool *nulls)
{
	const double figures[] = {
		e->peak_mb, e->low_mb, e->high_mb, e->weights_mb, e->gradients_mb, e->optimizer_mb, e->activations_mb, e->workspace_mb,
		e->context_mb
	};
	char		note[480];

	for (int i = 0; i < FITS; i++)
		values[i] = pm_float8_or_null(figures[i], &nulls[i]);
	nulls[FITS] = isnan(e->p_fits);
	values[FITS] = BoolGetDatum(e->p_fits >= PM_MEMORY_SURE);
	values[P_FITS] = pm_probability_or_null(e->p_fits, &nulls[P_FITS]);
	pm_memory_note(&m->question, &m->factors, note, sizeof(note));
	if (m->question.fp8)
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "%smemory with fp8 is taken to be that with %s", note[0] ? "; " : "", pm_dtype_name[m->question.dtype]);
	if (m->question.compile)
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "%s%s", note[0] ? "; " : "",
				 !m->options.compile ? "memory with \"compile\" on a CPU is taken to be that without" : m->plan->checkpoints ? "memory with \"compile\" and recomputing is taken to be that without \"compile\"" :
				 "memory with \"compile\" is computed from what is fused and kept");
	if (m->is_divided)
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "%smemory of several GPUs that train together has not been measured",
				 note[0] ? "; " : "");
	values[IN_DOMAIN] = BoolGetDatum(note[0] == '\0');
	if (isnan(e->p_fits))
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "%swhether it fits is not known: memory_gb of the device is not in perfmodel.gpu",
				 note[0] ? "; " : "");
	/* after in_domain, of which this says nothing */
	if (e->p_fits < PM_MEMORY_SURE && m->question.mode == PM_TRAIN)
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "%s%s", note[0] ? "; " : "",
				 m->is_divided ? "best_parallel() looks for divisions that fit" : "what_would_fit() lists changes that save memory");
	values[NOTE] = pm_text_or_null(pm_note_short_name(words->gpu, m->question.gpu, note[0] ? pm_message_from_core(note) : NULL),
								   &nulls[NOTE]);
}

static void
fill_none(const pm_problem *p, Datum *values, bool *nulls)
{
	memset(nulls, true, N_COLUMNS * sizeof(bool));
	values[NOTE] = pm_text_or_null(p->message, &nulls[NOTE]);
}

Datum
pm_predict_memory(PG_FUNCTION_ARGS)
{
	pm_asked_words words;
	pm_manner	how;
	pm_memory_question m;
	pm_memory_estimate e;
	pm_problem	p;
	bool		checkpointing;
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};

	if (!pm_memory_read(fcinfo, CHECKPOINTING, &words, &how, &checkpointing))
	{
		if (!pm_question_absent(fcinfo, &p))
			PG_RETURN_NULL();
		fill_none(&p, values, nulls);
	}
	else if (pm_memory_ask(&words, checkpointing, &m, &p))
	{
		pm_memory_estimate_at(m.plan, &m.question, &m.factors, how.level, &e);
		fill(&words, &m, &e, values, nulls);
	}
	else if (how.problem_is_null)
		fill_none(&p, values, nulls);
	else
		pm_problem_raise(&p);
	return pm_record(fcinfo, values, nulls);
}

#define MAX_BATCH_CHECKPOINTING	6	/* arguments of max_batch */
#define P	7

Datum
pm_max_batch(PG_FUNCTION_ARGS)
{
	pm_asked_words words;
	pm_manner	how;
	pm_memory_question m;
	pm_problem	problem;
	bool		checkpointing;
	double		p;

	if (!pm_memory_read(fcinfo, MAX_BATCH_CHECKPOINTING, &words, &how, &checkpointing) || PG_ARGISNULL(P))
		PG_RETURN_NULL();
	p = PG_GETARG_FLOAT8(P);
	if (!(p > 0 && p < 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("p must be above 0 and below 1, not %.15g", p),
				 errhint("0.95 asks for a batch that fits in 19 of 20 cases.")));
	words.batch = 1;
	if (!pm_memory_ask(&words, checkpointing, &m, &problem))
		pm_problem_raise(&problem);
	if (isnan(pm_memory_capacity_mb(m.question.gpu)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the memory of gpu \"%s\" is not known", pm_shown_name(pm_message_from_core(m.question.gpu->name))),
				 errhint("Set memory_gb of its row in perfmodel.gpu.")));
	PG_RETURN_INT32((int32) pm_memory_max_batch(m.plan, &m.question, &m.factors, p, PM_MAX_BATCH));
}

Datum
pm_usable_memory_mb(PG_FUNCTION_ARGS)
{
	double		mb;

	pm_freshen();
	mb = pm_memory_capacity_mb(pm_gpu_find(text_to_cstring(PG_GETARG_TEXT_PP(0))));
	if (isnan(mb))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(mb);
}

/* One of two steps; returns the memory of its device. */
static double
ask_share(int64 graph_id, int32 batch, text *gpu, text *dtype, pm_memory_share *share)
{
	pm_asked_words words = {.graph_id = graph_id,.batch = batch,.gpu = gpu,.dtype = dtype,.parallel = PM_PARALLEL_NONE};
	pm_memory_question m;
	pm_problem	p;

	if (!pm_memory_ask(&words, false, &m, &p))
		pm_problem_raise(&p);
	pm_memory_estimate_at(m.plan, &m.question, &m.factors, PM_MEMORY_SURE, &share->e);
	share->f = m.factors;
	return pm_memory_capacity_mb(m.question.gpu);
}

/* graph_a, batch_a, graph_b, batch_b, gpu, dtype_a, dtype_b */
Datum
pm_p_fits_together(PG_FUNCTION_ARGS)
{
	text	   *gpu = PG_GETARG_TEXT_PP(4);
	pm_memory_share a;
	pm_memory_share b;
	double		capacity_mb;
	Datum		p;
	bool		is_null;

	pm_require_catalog();
	ask_share(PG_GETARG_INT64(0), PG_GETARG_INT32(1), gpu, PG_GETARG_TEXT_PP(5), &a);
	capacity_mb = ask_share(PG_GETARG_INT64(2), PG_GETARG_INT32(3), gpu, PG_GETARG_TEXT_PP(6), &b);
	p = pm_probability_or_null(pm_memory_fit_together(&a, &b, capacity_mb), &is_null);
	if (is_null)
		PG_RETURN_NULL();
	return p;
}
