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
#include "gpus.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_predict_many);
PG_FUNCTION_INFO_V1(pm_what_if);

/* ---------- many at once ---------- */

/* One of three arrays of the same length, taken apart. */
typedef struct list
{
	const char *name;
	int			n;
	Datum	   *values;
	bool	   *nulls;
} list;

static list
read_list(FunctionCallInfo fcinfo, int arg, const char *name, Oid type, int len, bool by_value, char align)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(arg);
	list		l = {.name = name};

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must be an array of one dimension, not of %d", name, ARR_NDIM(array))));
	deconstruct_array(array, type, len, by_value, align, &l.values, &l.nulls, &l.n);
	return l;
}

static list
read_ids(FunctionCallInfo fcinfo, int arg)
{
	return read_list(fcinfo, arg, "graph_ids", INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

static list
read_gpus(FunctionCallInfo fcinfo, int arg)
{
	return read_list(fcinfo, arg, "gpus", TEXTOID, -1, false, TYPALIGN_INT);
}

static list
read_batches(FunctionCallInfo fcinfo, int arg)
{
	return read_list(fcinfo, arg, "batches", INT4OID, 4, true, TYPALIGN_INT);
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

/* Answer q into the last columns of a row. */
static void
ask_for_row(const pm_asked_words *q, const pm_manner *how, Datum *values, bool *nulls)
{
	pm_answer	a;
	pm_problem	p;

	CHECK_FOR_INTERRUPTS();
	if (pm_ask(q, how, &a, &p))
		/* this copies the note, which the next question may drop from the memo */
		pm_fill_answer(&a, q->batch, values, nulls);
	else
		pm_fill_problem(&p, values, nulls);
}

/* A row of predict_many(): where it stands in the arrays, and in which order it is worked on. */
typedef struct entry
{
	int64		graph_id;
	uint64		gpu;			/* hash */
	int			at;
} entry;

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

/* The questions without NULL, those about one graph on one device after each other. */
static int
order_questions(const list *ids, const list *gpus, const list *batches, entry *order)
{
	int			n = 0;

	for (int i = 0; i < ids->n; i++)
		if (!ids->nulls[i] && !gpus->nulls[i] && !batches->nulls[i])
		{
			text	   *gpu = DatumGetTextPP(gpus->values[i]);

			order[n++] = (entry) {DatumGetInt64(ids->values[i]),
				pm_hash(PM_HASH_INIT, VARDATA_ANY(gpu), VARSIZE_ANY_EXHDR(gpu)), i};
		}
	qsort(order, n, sizeof(entry), by_graph);
	return n;
}

#define N_MANY		(4 + PM_N_ANSWER)	/* ordinality, graph_id, gpu, batch, pm_answer */

typedef struct many_row
{
	Datum		values[N_MANY];
	bool		nulls[N_MANY];
} many_row;

/* Everything but the answers. */
static void
start_rows(many_row *rows, const list *ids, const list *gpus, const list *batches)
{
	const list *lists[] = {ids, gpus, batches};

	for (int i = 0; i < ids->n; i++)
	{
		rows[i].values[0] = Int64GetDatum(i + 1);
		for (int k = 0; k < 3; k++)
		{
			rows[i].values[k + 1] = lists[k]->values[i];
			rows[i].nulls[k + 1] = lists[k]->nulls[i];
		}
		for (int k = 4; k < N_MANY; k++)
			rows[i].nulls[k] = true;
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
	many_row   *rows;
	entry	   *order;
	int			n;

	pm_rows_begin(fcinfo, &out);
	if (!pm_question_read(fcinfo, &q, &how) || PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	ids = read_ids(fcinfo, 0);
	gpus = read_gpus(fcinfo, 1);
	batches = read_batches(fcinfo, 2);
	same_length(&ids, &gpus);
	same_length(&ids, &batches);
	rows = MemoryContextAllocHuge(CurrentMemoryContext, Max(ids.n, 1) * sizeof(many_row));
	memset(rows, 0, ids.n * sizeof(many_row));
	order = MemoryContextAllocHuge(CurrentMemoryContext, Max(ids.n, 1) * sizeof(entry));
	start_rows(rows, &ids, &gpus, &batches);
	n = order_questions(&ids, &gpus, &batches, order);
	for (int i = 0; i < n; i++)
	{
		int			at = order[i].at;

		q.graph_id = order[i].graph_id;
		q.gpu = DatumGetTextPP(gpus.values[at]);
		q.batch = DatumGetInt32(batches.values[at]);
		memset(rows[at].nulls + 4, 0, PM_N_ANSWER * sizeof(bool));
		ask_for_row(&q, &how, rows[at].values + 4, rows[at].nulls + 4);
	}
	for (int i = 0; i < ids.n; i++)
		pm_rows_add(&out, rows[i].values, rows[i].nulls);
	return (Datum) 0;
}

/* The devices that the predictor was trained on and that are still in the table, by name. */
static list
trained_gpus(const pm_asked_words *q)
{
	list		l = {.name = "gpus"};
	pm_predictor_ref ref;
	const char *name;

	pm_question_predictor(q, &ref);
	l.values = palloc0(sizeof(Datum) * Max(pm_trust_gpu_count(ref.predictor->trust), 1));
	l.nulls = palloc0(sizeof(bool) * Max(pm_trust_gpu_count(ref.predictor->trust), 1));
	for (int i = 0; i < pm_trust_gpu_count(ref.predictor->trust); i++)
		if (pm_gpu_exists(name = pm_trust_gpu(ref.predictor->trust, i)))
			l.values[l.n++] = CStringGetTextDatum(name);
	return l;
}

Datum
pm_what_if(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_asked_words q;
	pm_manner	how;
	list		gpus,
				batches;

	pm_rows_begin(fcinfo, &out);
	if (!pm_question_read(fcinfo, &q, &how) || PG_ARGISNULL(0) || PG_ARGISNULL(2))
		return (Datum) 0;
	q.graph_id = PG_GETARG_INT64(0);
	batches = read_batches(fcinfo, 2);
	pm_freshen();
	gpus = PG_ARGISNULL(1) ? trained_gpus(&q) : read_gpus(fcinfo, 1);
	for (int g = 0; g < gpus.n; g++)
		for (int b = 0; b < batches.n; b++)
		{
			Datum		values[2 + PM_N_ANSWER] = {gpus.values[g], batches.values[b]};
			bool		nulls[2 + PM_N_ANSWER] = {gpus.nulls[g], batches.nulls[b]};

			if (nulls[0] || nulls[1])
				memset(nulls + 2, true, PM_N_ANSWER * sizeof(bool));
			else
			{
				q.gpu = DatumGetTextPP(values[0]);
				q.batch = DatumGetInt32(values[1]);
				ask_for_row(&q, &how, values + 2, nulls + 2);
			}
			pm_rows_add(&out, values, nulls);
		}
	return (Datum) 0;
}
