/*
 * predict_sql.c - predict_train_time(), predict(), predict_many(), what_if()
 * and explain_train_time().
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"

#include "cache/answer.h"
#include "cache/answers.h"
#include "cache/freshness.h"
#include "cache/graph_cache.h"
#include "cache/predictor_cache.h"
#include "cache/prepared_cache.h"
#include "catalog.h"
#include "errors.h"
#include "gpus.h"
#include "graphs.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_predict_train_time);
PG_FUNCTION_INFO_V1(pm_predict);
PG_FUNCTION_INFO_V1(pm_predict_many);
PG_FUNCTION_INFO_V1(pm_what_if);
PG_FUNCTION_INFO_V1(pm_explain_train_time);

#define N_ANSWER	7			/* columns of predict() */

/* ---------- question -> core ---------- */

/* False when an argument is NULL whose NULL makes the answer NULL. */
static bool
read_question(FunctionCallInfo fcinfo, pm_asked_words *q)
{
	pm_require_catalog();
	for (int i = 0; i < 5; i++)
		if (PG_ARGISNULL(i))
			return false;
	q->graph_id = PG_GETARG_INT64(0);
	q->gpu = PG_GETARG_TEXT_PP(1);
	q->batch = PG_GETARG_INT32(2);
	q->dtype = PG_GETARG_TEXT_PP(3);
	q->layout = PG_GETARG_TEXT_PP(4);
	q->framework = PG_ARGISNULL(5) ? NULL : PG_GETARG_TEXT_PP(5);
	q->predictor = PG_ARGISNULL(6) ? NULL : PG_GETARG_TEXT_PP(6);
	return true;
}

static int
parse_word(const text *word, int (*parse) (const char *), const char *what, const char *const *names, int n)
{
	char	   *s = text_to_cstring(word);
	int			v = parse(s);

	if (v < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown %s \"%s\"", what, s),
				 errhint("Known are %s.", pm_quoted_list(names, n))));
	pfree(s);
	return v;
}

static void
build_sample(const pm_asked_words *q, pm_asked *to)
{
	pm_sample  *s = &to->sample;
	pm_predictor_ref *ref = &to->ref;

	memset(s, 0, sizeof(*s));
	if (q->batch < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("batch must be positive, not %d", q->batch)));
	s->query.batch = q->batch;
	s->query.dtype = parse_word(q->dtype, pm_dtype_parse, "dtype", pm_dtype_name, PM_N_DTYPES);
	s->query.layout = parse_word(q->layout, pm_layout_parse, "layout", pm_layout_name, PM_N_LAYOUTS);
	s->query.optimizer = PM_SGD_MOMENTUM;
	s->query.framework = q->framework ? text_to_cstring(q->framework) : NULL;
	s->query.gpu = pm_gpu_find(text_to_cstring(q->gpu));
	pm_predictor_get(q->predictor ? text_to_cstring(q->predictor) : NULL, ref);
	to->merged = pm_predictor_merges(ref->predictor->kind, &ref->predictor->options);
	to->graph = pm_graph_get(q->graph_id);
	s->forward_ms = s->backward_ms = get_float8_nan();
	s->weight = 1;
}

/* Interval, domain and note of an answer that has its step_ms. The note is in the current context. */
static void
judge(const pm_asked *q, pm_prepared *x, double level, pm_answer *a)
{
	const pm_predictor *p = q->ref.predictor;
	pm_verdict	v = {0};
	pm_status	st = {PM_OK};
	const char *missing = pm_trust_calibrated(p->trust) ? NULL : "no interval: the predictor is not calibrated";

	a->level = level;
	if (pm_predictor_judge_prepared(p, x, &q->sample, a->step_ms, level, &v, &st) != PM_OK)
		pm_raise(&st);
	a->low_ms = v.low_ms;
	a->high_ms = v.high_ms;
	a->in_domain = v.in_domain;
	if (missing != NULL)
		a->note = psprintf("%s%s%s", v.reason, v.reason[0] ? "; " : "", missing);
	else if (v.reason[0])
		a->note = pstrdup(v.reason);
}

/* Ask the core; level NaN: for the time alone. */
static void
compute(const pm_asked_words *q, double level, pm_answer *a)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel predict", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	pm_asked	asked;
	pm_prepared *x;
	pm_status	st = {PM_OK};

	*a = (pm_answer) {.level = get_float8_nan()};
	build_sample(q, &asked);
	a->predictor_id = asked.ref.id;
	x = pm_prepared_get(&asked);
	if (pm_predictor_predict_prepared(asked.ref.predictor, x, &asked.sample, pm_workspace(), &a->step_ms, &st) != PM_OK)
		pm_raise(&st);
	if (!isnan(level))
		judge(&asked, x, level, a);
	MemoryContextSwitchTo(old);
	if (a->note != NULL)
		a->note = pstrdup(a->note);
	MemoryContextDelete(work);
}

/* Remembered, or computed and remembered. The note lives as long as what is remembered, or the current context. */
static void
ask(const pm_asked_words *q, double level, pm_answer *a)
{
	pm_answer_key key;

	pm_freshen();
	if (!pm_answer_key_make(q, &key))
		compute(q, level, a);
	else if (!pm_answer_find(&key, level, a))
	{
		uint64		generation = pm_generation;

		compute(q, level, a);
		/* a function of the user's that ran on the way, in a trigger or a policy, may have ended the generation */
		if (generation == pm_generation)
			pm_answer_keep(&key, a);
	}
}

Datum
pm_predict_train_time(PG_FUNCTION_ARGS)
{
	pm_asked_words q;
	pm_answer	a;

	if (!read_question(fcinfo, &q))
		PG_RETURN_NULL();
	ask(&q, get_float8_nan(), &a);
	PG_RETURN_FLOAT8(a.step_ms);
}

/* ---------- predict ---------- */

static double
level_arg(double level)
{
	if (!(level >= PM_LEVEL_MIN && level <= PM_LEVEL_MAX))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("level must be between %g and %g, not %g", PM_LEVEL_MIN, PM_LEVEL_MAX, level),
				 errhint("Level 0.9 asks for an interval that holds 9 of 10 measurements.")));
	return level;
}

/* The columns of predict(); nulls come in as false. */
static void
fill_answer(const pm_answer *a, int32 batch, Datum *values, bool *nulls)
{
	values[0] = Float8GetDatum(a->step_ms);
	values[1] = pm_float8_or_null(a->low_ms, &nulls[1]);
	values[2] = pm_float8_or_null(a->high_ms, &nulls[2]);
	values[3] = Float8GetDatum(1000.0 * batch / a->step_ms);
	values[4] = BoolGetDatum(a->in_domain);
	values[5] = Int64GetDatum(a->predictor_id);
	values[6] = pm_text_or_null(a->note, &nulls[6]);
}

Datum
pm_predict(PG_FUNCTION_ARGS)
{
	pm_asked_words q;
	pm_answer	a;
	Datum		values[N_ANSWER];
	bool		nulls[N_ANSWER] = {false};

	if (!read_question(fcinfo, &q) || PG_ARGISNULL(7))
		PG_RETURN_NULL();
	ask(&q, level_arg(PG_GETARG_FLOAT8(7)), &a);
	fill_answer(&a, q.batch, values, nulls);
	return pm_record(fcinfo, values, nulls);
}

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

/* Arguments 3 to 7 of both functions: dtype, layout, framework, predictor, level. False: the answer is no rows. */
static bool
read_rest(FunctionCallInfo fcinfo, pm_asked_words *q, double *level)
{
	pm_require_catalog();
	if (PG_ARGISNULL(3) || PG_ARGISNULL(4) || PG_ARGISNULL(7))
		return false;
	memset(q, 0, sizeof(*q));
	q->dtype = PG_GETARG_TEXT_PP(3);
	q->layout = PG_GETARG_TEXT_PP(4);
	q->framework = PG_ARGISNULL(5) ? NULL : PG_GETARG_TEXT_PP(5);
	q->predictor = PG_ARGISNULL(6) ? NULL : PG_GETARG_TEXT_PP(6);
	*level = level_arg(PG_GETARG_FLOAT8(7));
	return true;
}

/* Answer q into the last columns of a row. */
static void
ask_for_row(const pm_asked_words *q, double level, Datum *values, bool *nulls)
{
	pm_answer	a;

	CHECK_FOR_INTERRUPTS();
	ask(q, level, &a);
	/* this copies the note, which the next question may drop from the memo */
	fill_answer(&a, q->batch, values, nulls);
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

#define N_MANY		(4 + N_ANSWER)	/* ordinality, graph_id, gpu, batch, pm_answer */

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
	double		level;
	list		ids,
				gpus,
				batches;
	many_row   *rows;
	entry	   *order;
	int			n;

	pm_rows_begin(fcinfo, &out);
	if (!read_rest(fcinfo, &q, &level) || PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
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
		memset(rows[at].nulls + 4, 0, N_ANSWER * sizeof(bool));
		ask_for_row(&q, level, rows[at].values + 4, rows[at].nulls + 4);
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

	pm_predictor_get(q->predictor ? text_to_cstring(q->predictor) : NULL, &ref);
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
	double		level;
	list		gpus,
				batches;

	pm_rows_begin(fcinfo, &out);
	if (!read_rest(fcinfo, &q, &level) || PG_ARGISNULL(0) || PG_ARGISNULL(2))
		return (Datum) 0;
	q.graph_id = PG_GETARG_INT64(0);
	batches = read_batches(fcinfo, 2);
	pm_freshen();
	gpus = PG_ARGISNULL(1) ? trained_gpus(&q) : read_gpus(fcinfo, 1);
	for (int g = 0; g < gpus.n; g++)
		for (int b = 0; b < batches.n; b++)
		{
			Datum		values[2 + N_ANSWER] = {gpus.values[g], batches.values[b]};
			bool		nulls[2 + N_ANSWER] = {gpus.nulls[g], batches.nulls[b]};

			if (nulls[0] || nulls[1])
				memset(nulls + 2, true, N_ANSWER * sizeof(bool));
			else
			{
				q.gpu = DatumGetTextPP(values[0]);
				q.batch = DatumGetInt32(values[1]);
				ask_for_row(&q, level, values + 2, nulls + 2);
			}
			pm_rows_add(&out, values, nulls);
		}
	return (Datum) 0;
}

/* ---------- explain ---------- */

static const char *
bound_name(char bound)
{
	switch (bound)
	{
		case 'c':
			return "compute";
		case 'm':
			return "memory";
		case 'l':
			return "launch";
	}
	return NULL;
}

static void
add_part(pm_rows_out *out, const pm_sample *s, const pm_part *part, double step_ms)
{
	Datum		values[11];
	bool		nulls[11] = {false};

	if (part->token < 0)
		nulls[0] = nulls[1] = nulls[2] = nulls[3] = nulls[4] = true;
	else
	{
		int			node = s->skeleton->node[part->token];
		const pm_node *n = &s->query.graph->nodes[node];

		values[0] = Int32GetDatum(node);
		values[1] = CStringGetTextDatum(n->op_name);
		values[2] = CStringGetTextDatum(pm_class_name[pm_op_class(n->op)]);
		nulls[3] = n->shape.rank == 0;
		if (!nulls[3])
			values[3] = pm_shape_array(&n->shape, n->batch_dim, s->query.batch);
		values[4] = Int32GetDatum((int32) rint(s->skeleton->copies[part->token]));
	}
	values[5] = Float8GetDatum(part->step_ms);
	values[6] = Float8GetDatum(step_ms > 0 ? part->step_ms / step_ms : 0);
	values[7] = pm_text_or_null(bound_name(part->bound), &nulls[7]);
	values[8] = pm_float8_or_null(part->forward_ms, &nulls[8]);
	values[9] = pm_float8_or_null(part->backward_ms, &nulls[9]);
	values[10] = pm_float8_or_null(part->update_ms, &nulls[10]);
	pm_rows_add(out, values, nulls);
}

Datum
pm_explain_train_time(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_asked_words q;
	pm_asked	asked;
	const pm_sample *s = &asked.sample;
	pm_status	st = {PM_OK};
	pm_part    *parts;
	double		step_ms;
	int			n = 0;

	pm_rows_begin(fcinfo, &out);
	if (!read_question(fcinfo, &q))
		return (Datum) 0;
	pm_freshen();
	build_sample(&q, &asked);
	pm_ask_whole(&asked);
	parts = palloc0(sizeof(pm_part) * (s->skeleton->n + 1));
	if (pm_predictor_predict(asked.ref.predictor, s, pm_workspace(), &step_ms, parts, &n, &st) != PM_OK)
		pm_raise(&st);
	for (int i = 0; i < n; i++)
		add_part(&out, s, &parts[i], step_ms);
	return (Datum) 0;
}
