/*
 * explain_sql.c - explain_train_time(): divides a predicted time among
 * operators.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "cache/freshness.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "computed.h"
#include "graphs.h"
#include "question.h"
#include "results.h"
#include "scaling.h"
#include "scaling/expert_parallel.h"
#include "scaling/parts.h"

PG_FUNCTION_INFO_V1(pm_explain_train_time);

#define PER 8					/* argument "per" */

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

#define N_COLUMNS 13

/* What is said of a node: columns 0 to 4 and 11. */
static void
fill_node(const pm_sample *s, int node, int copies, Datum *values, bool *nulls)
{
	const pm_node *n = &s->query.graph->nodes[node];

	values[0] = Int32GetDatum(node);
	values[1] = CStringGetTextDatum(pm_from_core(n->op_name));
	values[2] = CStringGetTextDatum(pm_class_name[pm_op_class(n->op)]);
	nulls[3] = n->shape.rank == 0;
	if (!nulls[3])
		values[3] = pm_shape_array(&n->shape, n->batch_dim, s->query.batch);
	values[4] = Int32GetDatum(copies);
	values[11] = pm_text_or_null(n->module ? pm_from_core(n->module) : NULL, &nulls[11]);
}

/* Of a part that belongs to no operator. */
#define FRAMEWORK		-1
#define COMMUNICATION	-2
#define CONTENTION		-3
#define BUBBLE			-4

static const char *
part_name(int node)
{
	switch (node)
	{
		case FRAMEWORK:
			return "framework";
		case COMMUNICATION:
			return "communication";
		case CONTENTION:
			return "contention";
		case BUBBLE:
			return "bubble";
	}
	return "operator";
}

/* A row for a share of a part of the step; node: also one of the above. */
static void
add_part(pm_rows_out *out, const pm_sample *s, const pm_part *part, int node, int copies, double share, double step_ms)
{
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};

	if (node < 0)
		nulls[0] = nulls[1] = nulls[2] = nulls[3] = nulls[4] = nulls[11] = true;
	else
		fill_node(s, node, copies, values, nulls);
	values[5] = Float8GetDatum(share * part->step_ms);
	values[6] = Float8GetDatum(step_ms > 0 ? share * part->step_ms / step_ms : 0);
	values[7] = pm_text_or_null(bound_name(part->bound), &nulls[7]);
	values[8] = pm_float8_or_null(share * part->forward_ms, &nulls[8]);
	values[9] = pm_float8_or_null(share * part->backward_ms, &nulls[9]);
	values[10] = pm_float8_or_null(share * part->update_ms, &nulls[10]);
	values[12] = CStringGetTextDatum(part_name(node));
	pm_rows_add(out, values, nulls);
}

/* One row for each group of identical operators. */
static void
add_group(pm_rows_out *out, const pm_sample *s, const pm_part *part, double step_ms)
{
	int			token = part->token;

	if (token < 0)
		add_part(out, s, part, FRAMEWORK, 0, 1, step_ms);
	else
		add_part(out, s, part, s->skeleton->node[token], (int) rint(s->skeleton->copies[token]), 1, step_ms);
}

/* One row for each operator: those of a group have the same time. */
static void
add_nodes(pm_rows_out *out, const pm_sample *s, const pm_part *parts, int n, double step_ms)
{
	const pm_skeleton *k = s->skeleton;
	const pm_part **part_of = palloc0(sizeof(pm_part *) * k->n);

	for (int i = 0; i < n; i++)
		if (parts[i].token >= 0)
			part_of[parts[i].token] = &parts[i];
		else
			add_group(out, s, &parts[i], step_ms);
	for (int i = 0; i < k->dag.n; i++)
	{
		int			token = k->token_of[i];

		CHECK_FOR_INTERRUPTS();
		if (part_of[token] != NULL)
			add_part(out, s, part_of[token], k->dag.node[i], 1, 1 / k->copies[token], step_ms);
	}
}

/* The work of each operator of the whole graph. */
static void
work_of_parts(const pm_sample *s, pm_tokens *work)
{
	pm_arena	arena;
	pm_status	st = {PM_OK};

	pm_context_arena(&arena, CurrentMemoryContext, 0);
	if (pm_tokens_build_work(s->skeleton, &s->query, &arena, work, &st) != PM_OK)
		pm_raise(&st);
}

/* The parts become those of one of the GPUs of *to, which is the step, if it takes step_ms on one. */
static void
scale_parts(const pm_asked *asked, pm_part *parts, int n, double step_ms, pm_scaled *to)
{
	pm_asked	slim = *asked;	/* the whole graph stays in asked */
	pm_step_shape shape;
	pm_tokens	work;

	work_of_parts(&asked->sample, &work);
	pm_scale_step(&slim, step_ms, &shape, to);
	pm_scale_parts(&work, pm_expert_update(&slim.parallel), &shape, to, parts, n);
}

/* A row for ms of the step in which no operator runs. */
static void
add_waits(pm_rows_out *out, const pm_sample *s, int which, double ms, double step_ms)
{
	const double unknown = get_float8_nan();
	pm_part		part = {-1, fmax(0, ms), unknown, unknown, unknown, '-'};	/* rounding may leave less than nothing */

	add_part(out, s, &part, which, 0, 1, step_ms);
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
	pm_scaled	scaled;
	double		step_ms;
	int			n = 0;
	bool		nodes;

	pm_rows_begin(fcinfo, &out);
	if (!pm_question_read(fcinfo, &q, &how) || PG_NARGS() <= PER || PG_ARGISNULL(PER))
		return (Datum) 0;
	nodes = pm_wants_nodes(fcinfo, PER, "group", "group of identical operators");
	pm_freshen();
	if (!pm_question_resolve_computed(&q, &asked, &problem))
		pm_problem_raise(&problem);
	pm_ask_whole(&asked);
	parts = palloc0(sizeof(pm_part) * (s->skeleton->n + 1));
	if (pm_predictor_predict(asked.ref.predictor, s, pm_workspace(), &step_ms, parts, &n, &st) != PM_OK)
		pm_raise(&st);
	if (PM_IS_COMPUTED(&asked.sample.query))
		step_ms = pm_compute_parts(&asked, parts, n);
	if (asked.fabric != NULL)
	{
		scale_parts(&asked, parts, n, step_ms, &scaled);
		step_ms = scaled.step_ms;
	}
	if (nodes)
		add_nodes(&out, s, parts, n, step_ms);
	else
		for (int i = 0; i < n; i++)
			add_group(&out, s, &parts[i], step_ms);
	if (asked.parallel.world_size > 1)
	{
		add_waits(&out, s, COMMUNICATION, scaled.step_ms - scaled.compute_ms, step_ms);
		add_waits(&out, s, CONTENTION, scaled.contention_ms, step_ms);
	}
	if (asked.parallel.pp > 1)
		add_waits(&out, s, BUBBLE, scaled.bubble_ms, step_ms);
	return (Datum) 0;
}
