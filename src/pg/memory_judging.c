/*
 * memory_judging.c - kinds of memory: their names in SQL, and their
 * cross-validation.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "cache/memory_cache.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "kind_options.h"
#include "memory_judging.h"
#include "training.h"
#include "predictor/predictor.h"

PG_FUNCTION_INFO_V1(pm_memory_kinds);

/* ---------- kinds ---------- */

const pm_memory_kind *
pm_memory_kind_or_error(const char *name)
{
	const pm_memory_kind *kind = pm_memory_kind_find(name);
	const char *names[32];
	int			n = 0;

	if (kind != NULL)
		return kind;
	for (; n < lengthof(names) && pm_memory_kind_at(n) != NULL; n++)
		names[n] = pm_memory_kind_name(pm_memory_kind_at(n));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 pm_kind_find(name) != NULL ? errmsg("kind \"%s\" does not predict \"%s\"", name, pm_quantities[PM_PEAK_MEMORY_MB].name) :
			 errmsg("unknown kind of predictor \"%s\"", pm_shown_name(name)),
			 errhint("Kinds of \"%s\" are %s; perfmodel.memory_kinds() describes them.", pm_quantities[PM_PEAK_MEMORY_MB].name,
					 pm_quoted_list(names, n))));
}

uint64
pm_memory_kind_seed(const pm_memory_kind *kind, Jsonb *options)
{
	static const pm_option seed[] = {
		{"seed", PM_OPT_INT, 42, 0, 2147483647, NULL, "deals networks and families to folds"}
	};
	/* what reads options knows them by the kind of predictor that has them */
	const pm_kind named = {.name = pm_memory_kind_name(kind), .options = seed, .n_options = lengthof(seed)};
	pm_options	o;

	pm_options_from_jsonb(&named, options, &o);
	return pm_option_seed(&named, &o);
}

Datum
pm_memory_kinds(PG_FUNCTION_ARGS)
{
	pm_rows_out out;

	pm_rows_begin(fcinfo, &out);
	for (int i = 0; pm_memory_kind_at(i) != NULL; i++)
	{
		Datum		values[] = {
			CStringGetTextDatum(pm_memory_kind_name(pm_memory_kind_at(i))),
			CStringGetTextDatum(pm_memory_kind_summary(pm_memory_kind_at(i)))
		};
		bool		nulls[] = {false, false};

		pm_rows_add(&out, values, nulls);
	}
	return (Datum) 0;
}

/* ---------- plans of the measurements ---------- */

typedef struct plan_key
{
	const pm_graph *graph;
	uint64		options;
} plan_key;

typedef struct plan_entry
{
	plan_key	key;
	const pm_memory_plan *plan;
} plan_entry;

/* Simulated once for each graph and each way to run a step. */
static const pm_memory_plan *
plan_of(HTAB *plans, const pm_question *q, MemoryContext scratch)
{
	pm_step_options options;
	plan_key	key = {.graph = q->graph};
	plan_entry *e;
	bool		found;
	pm_memory_plan *plan;
	pm_status	st = {PM_OK};
	pm_arena	arena;

	pm_memory_step_options(q, false, &options);
	key.options = pm_memory_options_key(&options);
	e = hash_search(plans, &key, HASH_ENTER, &found);
	if (found)
		return e->plan;
	CHECK_FOR_INTERRUPTS();
	e->plan = plan = palloc(sizeof(pm_memory_plan));
	pm_context_arena(&arena, scratch, 0);
	if (pm_memory_plan_make(q->graph, &options, &arena, plan, &st) != PM_OK)
		pm_raise(&st);
	MemoryContextReset(scratch);
	return plan;
}

static pm_memory_row *
make_rows(const pm_outcome *o)
{
	HASHCTL		ctl = {.keysize = sizeof(plan_key), .entrysize = sizeof(plan_entry), .hcxt = CurrentMemoryContext};
	HTAB	   *plans = hash_create("perfmodel plans of memory", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "perfmodel simulated memory", ALLOCSET_DEFAULT_SIZES);
	pm_memory_row *rows = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(pm_memory_row) * o->rows->set.n);

	for (int i = 0; i < o->rows->set.n; i++)
	{
		const pm_question *q = &o->rows->set.samples[i].query;

		rows[i] = (pm_memory_row) {.question = *q, .plan = plan_of(plans, q, scratch), .measured_mb = o->measured[i]};
	}
	MemoryContextDelete(scratch);
	return rows;
}

/* ---------- folds ---------- */

static void
run_fold(const pm_memory_kind *kind, const pm_memory_row *rows, pm_outcome *o, int fold, pm_costs *cost)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel train", ALLOCSET_DEFAULT_SIZES);
	int			n = o->rows->set.n;
	pm_memory_row *others = MemoryContextAllocHuge(work, sizeof(pm_memory_row) * n);
	const pm_memory_model *model;
	pm_status	st = {PM_OK};
	pm_arena	arena;
	int			n_others = 0;
	double		started = pm_now();

	for (int i = 0; i < n; i++)
		if (o->fold[i] != fold)
			others[n_others++] = rows[i];
	pm_context_arena(&arena, work, (size_t) pm_memory_limit());
	if (pm_memory_model_fit(kind, others, n_others, &arena, &model, &st) != PM_OK)
		pm_raise(&st);
	cost->train_s += pm_now() - started;
	cost->n_trained++;
	started = pm_now();
	for (int i = 0; i < n; i++)
	{
		pm_memory_answer answer;

		if (o->fold[i] != fold)
			continue;
		pm_memory_model_answer(model, &rows[i], PM_LEVEL_USUAL, &answer);
		o->predicted[i] = answer.peak_mb;
		o->low[i] = answer.low_mb;
		o->high[i] = answer.high_mb;
		o->domain[i] = answer.in_domain;
		cost->n_predicted++;
	}
	cost->predict_s += pm_now() - started;
	MemoryContextDelete(work);
}

void
pm_memory_cross_validate(const pm_memory_kind *kind, pm_outcome *o, int n_folds, pm_costs *cost)
{
	const pm_memory_row *rows = make_rows(o);

	for (int fold = 0; fold < n_folds; fold++)
	{
		CHECK_FOR_INTERRUPTS();
		run_fold(kind, rows, o, fold, cost);
	}
}
