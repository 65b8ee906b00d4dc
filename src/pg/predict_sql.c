/*
 * predict_sql.c - predict_train_time() and explain_train_time().
 *
 * State: the memo, a hash table from whole questions to answers, because
 * reports ask the same few thousand questions a million times.  It belongs to
 * a generation (freshness.c) and is emptied when that changes or when it is
 * full.  A question with very long names is answered without it.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "pm_pg.h"

PG_FUNCTION_INFO_V1(pm_predict_train_time);
PG_FUNCTION_INFO_V1(pm_explain_train_time);

#define MEMO_MAX	20000
#define WORDS_SIZE	112

typedef struct question
{
	int64		graph_id;
	int32		batch;
	text	   *gpu;
	text	   *dtype;
	text	   *layout;
	text	   *framework;		/* may be NULL */
	text	   *predictor;		/* may be NULL */
} question;

/* A question as a block of bytes: every word after its length, 0xff for NULL. */
typedef struct memo_key
{
	int64		graph_id;
	int32		batch;
	uint8		words[WORDS_SIZE];
} memo_key;

typedef struct memo_entry
{
	memo_key	key;
	double		step_ms;
} memo_entry;

static MemoryContext memo_cxt = NULL;
static HTAB *memo = NULL;
static uint64 memo_generation = 0;

/* ---------- memo ---------- */

static bool
put_word(memo_key *key, int *at, const text *word)
{
	Size		len = word ? VARSIZE_ANY_EXHDR(word) : 0;

	if (*at + 1 + len > WORDS_SIZE || len >= 0xff)
		return false;
	key->words[(*at)++] = word ? (uint8) len : 0xff;
	if (word)
		memcpy(key->words + *at, VARDATA_ANY(word), len);
	*at += len;
	return true;
}

static bool
make_key(const question *q, memo_key *key)
{
	int			at = 0;

	memset(key, 0, sizeof(*key));
	key->graph_id = q->graph_id;
	key->batch = q->batch;
	return put_word(key, &at, q->gpu) && put_word(key, &at, q->dtype) && put_word(key, &at, q->layout) &&
		put_word(key, &at, q->framework) && put_word(key, &at, q->predictor);
}

static void
memo_ready(void)
{
	HASHCTL		ctl = {.keysize = sizeof(memo_key),.entrysize = sizeof(memo_entry)};

	if (memo != NULL && memo_generation == pm_generation && hash_get_num_entries(memo) < MEMO_MAX)
		return;
	if (memo_cxt == NULL)
		memo_cxt = AllocSetContextCreate(TopMemoryContext, "perfmodel memo", ALLOCSET_DEFAULT_SIZES);
	memo = NULL;
	MemoryContextReset(memo_cxt);
	ctl.hcxt = memo_cxt;
	memo = hash_create("perfmodel memo", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	memo_generation = pm_generation;
}

/* ---------- question -> core ---------- */

/* False when an argument is NULL whose NULL makes the answer NULL. */
static bool
read_question(FunctionCallInfo fcinfo, question *q)
{
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

static const pm_predictor *
build_sample(const question *q, pm_sample *s)
{
	pm_predictor_ref ref;

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
	pm_predictor_get(q->predictor ? text_to_cstring(q->predictor) : NULL, &ref);
	s->skeleton = pm_skeleton_get(q->graph_id, pm_predictor_merges(ref.predictor->kind, &ref.predictor->options));
	s->query.graph = s->skeleton->graph;
	s->forward_ms = s->backward_ms = get_float8_nan();
	s->weight = 1;
	return ref.predictor;
}

static double
answer(const question *q)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel predict", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	const pm_predictor *p;
	pm_sample	s;
	pm_arena	scratch;
	pm_status	st = {PM_OK};
	double		step_ms;

	p = build_sample(q, &s);
	pm_context_arena(&scratch, work, 0);
	if (pm_predictor_predict(p, &s, &scratch, &step_ms, NULL, NULL, &st) != PM_OK)
		pm_raise(&st);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	return step_ms;
}

Datum
pm_predict_train_time(PG_FUNCTION_ARGS)
{
	question	q;
	memo_key	key;
	memo_entry *e;
	bool		found;
	double		step_ms;

	if (!read_question(fcinfo, &q))
		PG_RETURN_NULL();
	pm_freshen();
	if (!make_key(&q, &key))
		PG_RETURN_FLOAT8(answer(&q));
	memo_ready();
	e = hash_search(memo, &key, HASH_FIND, NULL);
	if (e != NULL)
		PG_RETURN_FLOAT8(e->step_ms);
	step_ms = answer(&q);
	/* reading the tables may have ended the generation */
	if (memo_generation == pm_generation)
	{
		e = hash_search(memo, &key, HASH_ENTER, &found);
		e->step_ms = step_ms;
	}
	PG_RETURN_FLOAT8(step_ms);
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
	Datum		values[8];
	bool		nulls[8] = {false};

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
	pm_rows_add(out, values, nulls);
}

Datum
pm_explain_train_time(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	question	q;
	const pm_predictor *p;
	pm_sample	s;
	pm_arena	scratch;
	pm_status	st = {PM_OK};
	pm_part    *parts;
	double		step_ms;
	int			n = 0;

	pm_rows_begin(fcinfo, &out);
	if (!read_question(fcinfo, &q))
		return (Datum) 0;
	pm_freshen();
	p = build_sample(&q, &s);
	parts = palloc0(sizeof(pm_part) * (s.skeleton->n + 1));
	pm_context_arena(&scratch, CurrentMemoryContext, 0);
	if (pm_predictor_predict(p, &s, &scratch, &step_ms, parts, &n, &st) != PM_OK)
		pm_raise(&st);
	for (int i = 0; i < n; i++)
		add_part(&out, &s, &parts[i], step_ms);
	pm_arena_release(&scratch);
	return (Datum) 0;
}
