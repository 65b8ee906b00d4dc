/*
 * predict_sql.c - predict_many() and what_if(): many questions in one call.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "asking.h"
#include "cache/freshness.h"
#include "compat.h"
#include "encoding.h"
#include "gpus.h"
#include "memory_asking.h"
#include "prices.h"
#include "results.h"
#include "tables.h"

PG_FUNCTION_INFO_V1(pm_predict_many);
PG_FUNCTION_INFO_V1(pm_what_if);

/* ---------- many at once ---------- */

/* An array argument that is read from its first element to its last. */
typedef struct list
{
	const char *name;
	int			n;
	ArrayIterator next;
} list;

static list
list_of(const char *name, ArrayType *array)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must be an array of one dimension, not of %d", name, ARR_NDIM(array))));
	return (list) {
		name, ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)), array_create_iterator(array, 0, NULL)
	};
}

static void
same_length(const list *a, const list *b)
{
	if (a->n != b->n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s and %s must have the same length, not %d and %d", a->name, b->name, a->n, b->n),
				 errdetail("Question i is made of element i of each array."),
				 errhint("perfmodel.what_if() asks about every combination of devices and batches.")));
}

/* Rights come before the work, which may be long without a single answer. */
static void
require_rights(void)
{
	pm_require_some_select("graph");
	pm_require_some_select("predictor");
	pm_require_some_select("predictor_weights");
}

/* Answer q into the last columns of a row. */
static void
ask_for_row(const pm_asked_words *q, const pm_manner *how, Datum *values, bool *nulls)
{
	pm_answer	a;
	pm_problem	p;

	CHECK_FOR_INTERRUPTS();
	if (pm_ask(q, how, &a, &p))
		/* this copies the note, which the next question may drop from the memo */
		pm_fill_answer(&a, q, values, nulls);
	else
		pm_fill_problem(&p, values, nulls);
}

#define N_MANY		(4 + PM_N_ANSWER)	/* ordinality, graph_id, gpu, batch, pm_answer */

typedef struct many_row
{
	Datum		values[N_MANY];
	bool		nulls[N_MANY];
} many_row;

/* A question: of which row of its block it is, and in which order it is worked on. */
typedef struct entry
{
	int64		graph_id;
	uint64		gpu;			/* hash */
	int			at;
} entry;

/*
 * So many questions are answered together as work_mem has room for: those about
 * one graph on one device after each other, so that a graph is looked for once.
 */
typedef struct block
{
	int			room;
	int			n;
	many_row   *rows;
	entry	   *order;
} block;

static int
by_graph(const void *a, const void *b)
{
	const entry *x = a;
	const entry *y = b;

	if (x->graph_id != y->graph_id)
		return x->graph_id < y->graph_id ? -1 : 1;
	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	return x->at - y->at;
}

static void
make_block(block *b, int n)
{
	Size		fit = (Size) work_mem * 1024 / (sizeof(many_row) + sizeof(entry));

	b->room = (int) Max(1, Min((Size) n, fit));
	b->rows = MemoryContextAllocHuge(CurrentMemoryContext, b->room * sizeof(many_row));
	b->order = MemoryContextAllocHuge(CurrentMemoryContext, b->room * sizeof(entry));
}

/* The next questions, with everything but their answers; first: their number in the arrays. */
static void
read_block(block *b, int first, list *lists[3])
{
	int			end = Min(first + b->room, lists[0]->n);

	b->n = end - first;
	memset(b->rows, 0, b->n * sizeof(many_row));
	for (int i = 0; i < b->n; i++)
	{
		many_row   *r = &b->rows[i];

		r->values[0] = Int64GetDatum(first + i + 1);
		for (int k = 0; k < 3; k++)
			array_iterate(lists[k]->next, &r->values[k + 1], &r->nulls[k + 1]);
		for (int k = 4; k < N_MANY; k++)
			r->nulls[k] = true;
	}
}

/* The questions without NULL in the order of work; returns how many. */
static int
order_block(block *b)
{
	int			n = 0;

	for (int i = 0; i < b->n; i++)
	{
		const many_row *r = &b->rows[i];
		text	   *gpu;

		if (r->nulls[1] || r->nulls[2] || r->nulls[3])
			continue;
		gpu = DatumGetTextPP(r->values[2]);
		b->order[n++] = (entry) {DatumGetInt64(r->values[1]),
			pm_hash(PM_HASH_INIT, VARDATA_ANY(gpu), VARSIZE_ANY_EXHDR(gpu)), i};
	}
	qsort(b->order, n, sizeof(entry), by_graph);
	return n;
}

/* The answer to a question with NULLs: which they are, where on_error is 'null', else NULL. */
static void
fill_absent(const pm_manner *how, const bool *is_null, const char *const *names, int n, Datum *values, bool *nulls)
{
	StringInfoData s;
	pm_problem	p;

	memset(nulls, true, PM_N_ANSWER * sizeof(bool));
	if (!how->problem_is_null)
		return;
	initStringInfo(&s);
	for (int i = 0; i < n; i++)
		if (is_null[i])
			appendStringInfo(&s, "%s%s is null", s.len > 0 ? ", " : "", names[i]);
	pm_problem_incomplete(s.data, &p);
	pm_fill_problem(&p, values, nulls);
}

static void
answer_block(block *b, pm_asked_words *q, const pm_manner *how, pm_rows_out *out)
{
	static const char *const names[] = {"graph_id", "gpu", "batch"};
	int			n = order_block(b);

	for (int i = 0; i < n; i++)
	{
		many_row   *r = &b->rows[b->order[i].at];

		q->graph_id = b->order[i].graph_id;
		q->gpu = DatumGetTextPP(r->values[2]);
		q->batch = DatumGetInt32(r->values[3]);
		memset(r->nulls + 4, 0, PM_N_ANSWER * sizeof(bool));
		ask_for_row(q, how, r->values + 4, r->nulls + 4);
	}
	for (int i = 0; i < b->n; i++)
	{
		many_row   *r = &b->rows[i];

		if (r->nulls[1] || r->nulls[2] || r->nulls[3])
			fill_absent(how, r->nulls + 1, names, lengthof(names), r->values + 4, r->nulls + 4);
		pm_rows_add(out, r->values, r->nulls);
	}
}

Datum
pm_predict_many(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_asked_words q;
	pm_manner	how;
	list		ids,
				gpus,
				batches;
	list	   *lists[3] = {&ids, &gpus, &batches};
	MemoryContext notes;
	MemoryContext old;
	block		b;

	pm_rows_begin(fcinfo, &out);
	if (!pm_question_read(fcinfo, &q, &how) || PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	require_rights();
	ids = list_of("graph_ids", PG_GETARG_ARRAYTYPE_P(0));
	gpus = list_of("gpus", PG_GETARG_ARRAYTYPE_P(1));
	batches = list_of("batches", PG_GETARG_ARRAYTYPE_P(2));
	same_length(&ids, &gpus);
	same_length(&ids, &batches);
	make_block(&b, ids.n);
	/* with what else the answers of a block point to */
	notes = AllocSetContextCreate(CurrentMemoryContext, "perfmodel answers", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(notes);
	for (int first = 0; first < ids.n; first += b.n)
	{
		CHECK_FOR_INTERRUPTS();
		read_block(&b, first, lists);
		answer_block(&b, &q, &how, &out);
		MemoryContextReset(notes);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(notes);
	return (Datum) 0;
}

/* The devices that the predictor was trained on and that are still in the table, by name. */
static ArrayType *
trained_gpus(const pm_asked_words *q)
{
	pm_predictor_ref ref;
	const char **names;
	int			n = 0;

	pm_question_predictor(q, &ref);
	names = palloc(sizeof(char *) * Max(pm_trust_gpu_count(ref.predictor->trust), 1));
	for (int i = 0; i < pm_trust_gpu_count(ref.predictor->trust); i++)
	{
		names[n] = pm_message_from_core(pm_trust_gpu(ref.predictor->trust, i));
		n += pm_gpu_exists(names[n]);
	}
	return DatumGetArrayTypeP(pm_text_array(names, n));
}

#define MAX_GRID	1000000		/* combinations in one call of what_if */

static void
check_grid(const list *gpus, const list *batches)
{
	if ((int64) gpus->n * batches->n > MAX_GRID)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%d devices and %d batches make more than %d combinations", gpus->n, batches->n, MAX_GRID),
				 errhint("Divide them among several calls.")));
}

#define N_MEMORY	3			/* columns of what_if behind the answer: peak_mb, fits, p_fits */
#define N_COST		3			/* behind them: usd_per_hour, usd_per_1000_samples, cost_note */
#define N_WHAT_IF	(2 + PM_N_ANSWER + N_MEMORY + N_COST)
#define PRICES_FROM 14			/* arguments provider, region, price_kind, at */

/* Whether the step fits into the device; nulls for a question that has no answer, which the columns before say. */
static void
fill_memory(const pm_asked_words *q, Datum *values, bool *nulls)
{
	pm_memory_question m;
	pm_memory_estimate e;
	pm_problem	p;

	memset(nulls, true, N_MEMORY * sizeof(bool));
	if (!pm_memory_ask(q, false, &m, &p))
		return;
	pm_memory_estimate_at(m.plan, &m.question, &m.factors, 0.9, &e);
	values[0] = pm_float8_or_null(e.peak_mb, &nulls[0]);
	values[1] = BoolGetDatum(e.p_fits >= PM_MEMORY_SURE);
	values[2] = pm_probability_or_null(e.p_fits, &nulls[2]);
	nulls[1] = nulls[2];
}

/* The price of a device, and that it is a spot price or why there is none; nulls for a device that is not known, which the columns before say. */
static void
fill_price(const pm_asked_words *q, const pm_price_wish *wish, Datum *values, bool *nulls)
{
	pm_problem	p;
	const pm_gpu *gpu = pm_gpu_look_up(text_to_cstring(q->gpu), &p);
	char	   *spot;
	char	   *why = NULL;

	memset(nulls, true, N_COST * sizeof(bool));
	if (gpu == NULL)
		return;
	values[0] = pm_float8_or_null(pm_price_of(pm_from_core(gpu->name), wish, &spot, &why), &nulls[0]);
	values[2] = pm_text_or_null(spot != NULL ? spot : why, &nulls[2]);
}

/* What 1,000 samples cost on all devices of the question; samples_per_s: of them together. */
static void
fill_cost(const pm_asked_words *q, Datum samples_per_s, bool no_answer, Datum *values, bool *nulls)
{
	nulls[1] = no_answer || nulls[0];
	if (!nulls[1])
		values[1] = Float8GetDatum(DatumGetFloat8(values[0]) / 3600 * q->parallel.world_size * 1000 / DatumGetFloat8(samples_per_s));
}

/* One row: a device at a batch. The columns of the price are there already. */
static void
answer_cell(pm_asked_words *q, const pm_manner *how, pm_rows_out *out, Datum *values, bool *nulls)
{
	static const char *const names[] = {"gpu", "batch"};
	Datum	   *answer = values + 2;
	bool	   *no_answer = nulls + 2;
	int			cost = PM_N_ANSWER + N_MEMORY;

	if (nulls[0] || nulls[1])
	{
		memset(no_answer, true, cost * sizeof(bool));
		fill_absent(how, nulls, names, lengthof(names), answer, no_answer);
	}
	else
	{
		q->batch = DatumGetInt32(values[1]);
		memset(no_answer, false, cost * sizeof(bool));
		ask_for_row(q, how, answer, no_answer);
		fill_memory(q, answer + PM_N_ANSWER, no_answer + PM_N_ANSWER);
	}
	fill_cost(q, answer[3], no_answer[3], answer + cost, no_answer + cost);
	pm_rows_add(out, values, nulls);
}

/* All batches on a device, which is values[0]. */
static void
answer_device(pm_asked_words *q, const pm_manner *how, const pm_price_wish *wish, ArrayType *batch_array, pm_rows_out *out, Datum *values,
			  bool *nulls)
{
	list		batches = list_of("batches", batch_array);
	int			cost = 2 + PM_N_ANSWER + N_MEMORY;
	MemoryContext cell = AllocSetContextCreate(CurrentMemoryContext, "perfmodel answer", ALLOCSET_DEFAULT_SIZES);

	memset(nulls + cost, true, N_COST * sizeof(bool));
	if (!nulls[0])
	{
		q->gpu = DatumGetTextPP(values[0]);
		fill_price(q, wish, values + cost, nulls + cost);
	}
	while (array_iterate(batches.next, &values[1], &nulls[1]))
	{
		MemoryContext old = MemoryContextSwitchTo(cell);

		answer_cell(q, how, out, values, nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(cell);
	}
}

Datum
pm_what_if(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_asked_words q;
	pm_manner	how;
	list		gpus,
				batches;
	ArrayType  *batch_array;
	MemoryContext work;
	MemoryContext old;
	Datum		values[N_WHAT_IF];
	bool		nulls[N_WHAT_IF];
	pm_price_wish wish;

	pm_rows_begin(fcinfo, &out);
	if (!pm_question_read(fcinfo, &q, &how) || PG_ARGISNULL(0) || PG_ARGISNULL(2))
		return (Datum) 0;
	require_rights();
	pm_price_wish_read(fcinfo, PRICES_FROM, &wish);
	q.graph_id = PG_GETARG_INT64(0);
	batch_array = PG_GETARG_ARRAYTYPE_P(2);
	batches = list_of("batches", batch_array);
	pm_freshen();
	gpus = list_of("gpus", PG_ARGISNULL(1) ? trained_gpus(&q) : PG_GETARG_ARRAYTYPE_P(1));
	check_grid(&gpus, &batches);
	work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel answers", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(work);
	while (array_iterate(gpus.next, &values[0], &nulls[0]))
	{
		CHECK_FOR_INTERRUPTS();
		answer_device(&q, &how, &wish, batch_array, &out, values, nulls);
		MemoryContextReset(work);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	return (Datum) 0;
}
