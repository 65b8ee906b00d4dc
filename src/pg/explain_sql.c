/*
 * explain_sql.c - explain_train_time(): where a predicted time goes.
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"

#include "cache/freshness.h"
#include "errors.h"
#include "graphs.h"
#include "question.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_explain_train_time);

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
	pm_manner	how;
	pm_asked	asked;
	pm_problem	problem;
	const pm_sample *s = &asked.sample;
	pm_status	st = {PM_OK};
	pm_part    *parts;
	double		step_ms;
	int			n = 0;

	pm_rows_begin(fcinfo, &out);
	if (!pm_question_read(fcinfo, &q, &how))
		return (Datum) 0;
	pm_freshen();
	if (!pm_question_resolve(&q, &asked, &problem))
		pm_problem_raise(&problem);
	pm_ask_whole(&asked);
	parts = palloc0(sizeof(pm_part) * (s->skeleton->n + 1));
	if (pm_predictor_predict(asked.ref.predictor, s, pm_workspace(), &step_ms, parts, &n, &st) != PM_OK)
		pm_raise(&st);
	for (int i = 0; i < n; i++)
		add_part(&out, s, &parts[i], step_ms);
	return (Datum) 0;
}
