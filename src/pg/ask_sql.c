/*
 * ask_sql.c - predict_train_time(), predict(), and ask() and ask_many(), whose
 * questions are jsonb.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "asking.h"
#include "cache/freshness.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_predict_train_time);
PG_FUNCTION_INFO_V1(pm_predict);
PG_FUNCTION_INFO_V1(pm_ask_sql);
PG_FUNCTION_INFO_V1(pm_ask_many);
PG_FUNCTION_INFO_V1(pm_find_dtype);
PG_FUNCTION_INFO_V1(pm_find_layout);
PG_FUNCTION_INFO_V1(pm_find_optimizer);

Datum
pm_predict_train_time(PG_FUNCTION_ARGS)
{
	pm_asked_words q;
	pm_manner	how;
	pm_answer	a;
	pm_problem	p;

	if (!pm_question_read(fcinfo, &q, &how) || !pm_ask(&q, &how, &a, &p))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(a.step_ms);
}

static void
fill(const pm_asked_words *q, const pm_manner *how, Datum *values, bool *nulls)
{
	pm_answer	a;
	pm_problem	p;

	if (pm_ask(q, how, &a, &p))
		pm_fill_answer(&a, q, values, nulls);
	else
		pm_fill_problem(&p, values, nulls);
}

Datum
pm_predict(PG_FUNCTION_ARGS)
{
	pm_asked_words q;
	pm_manner	how;
	pm_problem	p;
	Datum		values[PM_N_ANSWER];
	bool		nulls[PM_N_ANSWER] = {false};

	if (pm_question_read(fcinfo, &q, &how))
		fill(&q, &how, values, nulls);
	else if (pm_question_absent(fcinfo, &p))
		pm_fill_problem(&p, values, nulls);
	else
		PG_RETURN_NULL();
	return pm_record(fcinfo, values, nulls);
}

/* ---------- jsonb ---------- */

/*
 * The columns of predict().  A question that lacks something has no answer, as
 * NULL arguments have none, and its note says what it lacks.
 */
static void
fill_from_jsonb(Jsonb *question, pm_asked_words *q, const pm_manner *how, Datum *values, bool *nulls)
{
	pm_problem	p = {0};

	bool		complete = pm_question_from_jsonb(question, q, &p);

	memset(nulls, false, sizeof(bool) * PM_N_ANSWER);
	if (p.reason == NULL)
		fill(q, how, values, nulls);
	else if (!complete || how->problem_is_null)
		pm_fill_problem(&p, values, nulls);
	else
		pm_problem_raise(&p);
}

Datum
pm_ask_sql(PG_FUNCTION_ARGS)
{
	pm_asked_words q;
	pm_manner	how;
	Datum		values[PM_N_ANSWER];
	bool		nulls[PM_N_ANSWER];

	if (!pm_question_read(fcinfo, &q, &how) || PG_ARGISNULL(0))
		PG_RETURN_NULL();
	fill_from_jsonb(PG_GETARG_JSONB_P(0), &q, &how, values, nulls);
	return pm_record(fcinfo, values, nulls);
}

/* In an array of thousands, which of them it was. */
static void
say_element(void *arg)
{
	errcontext("question %d of the array", *(int *) arg);
}

Datum
pm_ask_many(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_asked_words q;
	pm_manner	how;
	ArrayIterator it;
	Datum		question;
	bool		isnull;
	int			ordinality = 0;
	ErrorContextCallback frame = {.previous = error_context_stack,.callback = say_element,.arg = &ordinality};
	MemoryContext row;

	pm_rows_begin(fcinfo, &out);
	if (!pm_question_read(fcinfo, &q, &how) || PG_ARGISNULL(0))
		return (Datum) 0;
	it = array_create_iterator(PG_GETARG_ARRAYTYPE_P(0), 0, NULL);
	row = AllocSetContextCreate(CurrentMemoryContext, "perfmodel question", ALLOCSET_DEFAULT_SIZES);
	error_context_stack = &frame;
	while (array_iterate(it, &question, &isnull))
	{
		Datum		values[1 + PM_N_ANSWER] = {Int64GetDatum(++ordinality)};
		bool		nulls[1 + PM_N_ANSWER] = {false};
		MemoryContext old = MemoryContextSwitchTo(row);

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			memset(nulls + 1, true, sizeof(bool) * PM_N_ANSWER);
		else
			fill_from_jsonb(DatumGetJsonbP(question), &q, &how, values + 1, nulls + 1);
		pm_rows_add(&out, values, nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row);
	}
	error_context_stack = frame.previous;
	return (Datum) 0;
}

/* ---------- words ---------- */

static Datum
find_word(FunctionCallInfo fcinfo, const pm_word_list *list)
{
	int			at = pm_word_find(list, text_to_cstring(PG_GETARG_TEXT_PP(0)));

	if (at < 0)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(list->names[at]));
}

Datum
pm_find_dtype(PG_FUNCTION_ARGS)
{
	const char *dtype = pm_asked_dtype(text_to_cstring(PG_GETARG_TEXT_PP(0)));

	if (dtype == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(dtype));
}

Datum
pm_find_layout(PG_FUNCTION_ARGS)
{
	return find_word(fcinfo, &pm_layout_words);
}

Datum
pm_find_optimizer(PG_FUNCTION_ARGS)
{
	return find_word(fcinfo, &pm_optimizer_words);
}
