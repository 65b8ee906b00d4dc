/*
 * memory_explain_sql.c - explain_memory() and memory_timeline(): the parts of
 * the memory of a step, and its course over time.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"

#include "cache/graph_cache.h"
#include "encoding.h"
#include "graph/op_catalogue.h"
#include "memory/breakdown.h"
#include "memory/step.h"
#include "memory_asking.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_explain_memory);
PG_FUNCTION_INFO_V1(pm_memory_timeline_sql);

#define CHECKPOINTING	7		/* arguments of both */
#define PER				8
#define POINTS			8
#define MAX_POINTS		100000

/* ---------- the step of a question ---------- */

/* A way to run the step. */
typedef struct way
{
	pm_step		step;
	pm_memory_split split;
	double		share;			/* of the layers that are run so */
} way;

typedef struct asked_step
{
	pm_memory_question m;
	const pm_graph *graph;
	int			n_ways;			/* two where only some layers are computed again: those that keep all come first */
	way			ways[2];
} asked_step;

/* Of one GPU of several; NULL: the GPU has the whole model. */
static const pm_memory_split *
split_of(const way *w)
{
	return w->split.plan != NULL ? &w->split : NULL;
}

static void
add_way(asked_step *a, pm_arena *arena, bool again, double share)
{
	way		   *w = &a->ways[a->n_ways++];
	pm_step_options o = a->m.options;
	pm_status	st = {PM_OK};

	o.checkpointing = o.checkpointing && again;
	o.attention_again = o.attention_again && again;
	w->split = a->m.split;
	w->split.checkpoints = again;
	w->share = share;
	if (pm_step_simulate(a->graph, &o, arena, &w->step, &st) != PM_OK)
		pm_raise(&st);
}

/* False: an argument is NULL. Raises for a question that has no answer. */
static bool
simulate(FunctionCallInfo fcinfo, asked_step *a)
{
	pm_asked_words words;
	pm_manner	how;
	pm_problem	p;
	pm_arena   *arena;
	bool		checkpointing;
	bool		again;

	if (!pm_memory_read(fcinfo, CHECKPOINTING, &words, &how, &checkpointing))
		return false;
	if (!pm_memory_ask(&words, checkpointing, &a->m, &p))
		pm_problem_raise(&p);
	a->graph = pm_graph_whole(a->m.graph);
	again = pm_memory_checkpoints_at(a->m.plan, a->m.question.batch);
	a->n_ways = 0;
	arena = pm_workspace();
	if (again && a->m.again_share < 1)
		add_way(a, arena, false, 1 - a->m.again_share);
	add_way(a, arena, again, again ? a->m.again_share : 1);
	return true;
}

/* ---------- explain_memory ---------- */

/* Tensors of one kind: a part of the step, of an operator or of one node. */
typedef struct owner
{
	int			part;			/* pm_memory_role, PM_N_MEMORY_ROLES: outside of tensors */
	const char *what;			/* of those outside */
	int			op;				/* -1: no operator */
	int			node;			/* -1: several */
	double		tensors;		/* in the mean over the layers */
	double		bytes;
} owner;

static int
by_bytes(const void *a, const void *b)
{
	const owner *x = a;
	const owner *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->part != y->part)
		return x->part - y->part;
	return x->op != y->op ? x->op - y->op : x->node - y->node;
}

/* Add what a way holds at its peak to owners[roles * width]; returns the bytes of gradients that are in no tensor. */
static double
add_held(const asked_step *a, const way *w, bool per_node, int width, owner *owners)
{
	const pm_step *s = &w->step;
	const pm_memory_split *split = split_of(w);
	int64		batch = a->m.question.batch;
	bool	   *held = palloc(Max(s->n_tensors, 1));
	int			peak = pm_memory_peak_event(s, split, batch);
	pm_memory_shares shares = {0};

	pm_memory_held_after(s, peak, held);
	if (split != NULL)
		pm_memory_shares_after(s, split, peak, &shares);
	for (int t = 0; t < s->n_tensors; t++)
	{
		int			node = s->tensors[t].node;
		int			op = node >= 0 ? a->graph->nodes[node].op : -1;
		owner	   *o = &owners[s->tensors[t].role * width + (per_node ? node : op) + 1];
		double		bytes = split != NULL ? pm_tensor_share(&shares, &s->tensors[t], batch) : pm_memory_tensor_bytes(&s->tensors[t], batch);

		if (!held[t])
			continue;
		*o = (owner) {s->tensors[t].role, NULL, op, per_node ? node : -1, o->tensors + w->share, o->bytes + w->share * bytes};
	}
	return w->share * shares.added;
}

/* Sum up what is held at the peak; returns how many owners. owners[roles * (operators + 1) + 1], or [roles * (nodes + 1) + 1] per node. */
static int
sum_up(const asked_step *a, bool per_node, owner *owners)
{
	int			width = per_node ? a->graph->n_nodes + 1 : pm_op_count() + 1;
	double		added = 0;
	int			n = 0;

	for (int i = 0; i < a->n_ways; i++)
		added += add_held(a, &a->ways[i], per_node, width, owners);
	for (int i = 0; i < PM_N_MEMORY_ROLES * width; i++)
		if (owners[i].tensors > 0 && owners[i].bytes > 0)
			owners[n++] = owners[i];
	if (added > 0)
		owners[n++] = (owner) {PM_MEMORY_GRADIENTS, NULL, -1, -1, 0, added};
	return n;
}

/* Sums that differ by less are the same. */
#define ROUNDING 1e-9

/* What is no tensor of the simulation: the allocator's gaps, convolutions' scratch memory, the context. */
static int
add_outside(const asked_step *a, owner *owners, int n)
{
	pm_memory_estimate e;
	double		tensors = 0;
	double		taken;

	for (int i = 0; i < n; i++)
		tensors += owners[i].bytes;
	pm_memory_estimate_at(a->m.plan, &a->m.question, &a->m.factors, 0.9, &e);
	taken = fmax((e.peak_mb - e.context_mb - e.workspace_mb) * PM_MB, 0);
	/* the measurements of calibrate_memory() may say that all tensors together take less than the simulation has them take */
	for (int i = 0; i < n && tensors > taken * (1 + ROUNDING); i++)
		owners[i].bytes *= taken / tensors;
	owners[n++] = (owner) {PM_N_MEMORY_ROLES, "cached segments", -1, -1, 0, fmax(taken - tensors, 0)};
	owners[n++] = (owner) {PM_N_MEMORY_ROLES, "workspace", -1, -1, 0, e.workspace_mb * PM_MB};
	owners[n++] = (owner) {PM_N_MEMORY_ROLES, "context", -1, -1, 0, e.context_mb * PM_MB};
	return n;
}

#define N_EXPLAIN	8			/* part, op, class, node_id, module, tensors, mb, share */

static void
add_owner(pm_rows_out *out, const asked_step *a, const owner *o, double all)
{
	Datum		values[N_EXPLAIN] = {0};
	bool		nulls[N_EXPLAIN] = {false};
	const char *module = o->node >= 0 ? a->graph->nodes[o->node].module : NULL;

	values[0] = CStringGetTextDatum(o->what ? o->what : pm_memory_role_name[o->part]);
	nulls[1] = nulls[2] = o->op < 0;
	if (o->op >= 0)
	{
		values[1] = CStringGetTextDatum(o->node >= 0 ? pm_from_core(a->graph->nodes[o->node].op_name) : pm_op_name(o->op));
		values[2] = CStringGetTextDatum(pm_class_name[pm_op_class(o->op)]);
	}
	nulls[3] = o->node < 0;
	values[3] = Int32GetDatum(o->node);
	values[4] = pm_text_or_null(module ? pm_from_core(module) : NULL, &nulls[4]);
	values[5] = Int32GetDatum((int32) ceil(o->tensors - ROUNDING));
	values[6] = Float8GetDatum(o->bytes / PM_MB);
	values[7] = Float8GetDatum(all > 0 ? o->bytes / all : 0);
	pm_rows_add(out, values, nulls);
}

Datum
pm_explain_memory(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	asked_step	a;
	owner	   *owners;
	double		all = 0;
	bool		nodes;
	int			n;

	pm_rows_begin(fcinfo, &out);
	if (PG_NARGS() <= PER || PG_ARGISNULL(PER))
		return (Datum) 0;
	nodes = pm_wants_nodes(fcinfo, PER, "op", "sort of operator");
	if (!simulate(fcinfo, &a))
		return (Datum) 0;
	n = PM_N_MEMORY_ROLES * ((nodes ? a.graph->n_nodes : pm_op_count()) + 1) + 4;
	owners = palloc0(sizeof(owner) * n);
	n = add_outside(&a, owners, sum_up(&a, nodes, owners));
	for (int i = 0; i < n; i++)
		all += owners[i].bytes;
	qsort(owners, n, sizeof(owner), by_bytes);
	for (int i = 0; i < n; i++)
		add_owner(&out, &a, &owners[i], all);
	return (Datum) 0;
}

/* ---------- memory_timeline ---------- */

/* Where only some layers are computed again, the events are those of the step that keeps all. */
static int
timeline(const asked_step *a, int room, pm_memory_point *points)
{
	const way  *w = a->ways;
	int64		batch = a->m.question.batch;
	double	   *held = palloc(sizeof(double) * Max(w[0].step.n_events, 1));

	pm_memory_course(&w[0].step, split_of(&w[0]), batch, held);
	if (a->n_ways > 1)
	{
		double	   *other = palloc(sizeof(double) * Max(w[1].step.n_events, 1));

		pm_memory_course(&w[1].step, split_of(&w[1]), batch, other);
		pm_memory_mix(&w[0].step, held, &w[1].step, other, w[1].share);
	}
	return pm_memory_timeline(&w[0].step, held, room, points);
}

#define N_TIMELINE	5			/* event, phase, node_id, op, mb */

Datum
pm_memory_timeline_sql(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	asked_step	a;
	pm_memory_point *points;
	int			room;
	int			n;

	pm_rows_begin(fcinfo, &out);
	if (PG_NARGS() <= POINTS || PG_ARGISNULL(POINTS))
		return (Datum) 0;
	room = PG_GETARG_INT32(POINTS);
	if (room < 1 || room > MAX_POINTS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("points must be between 1 and %d, not %d", MAX_POINTS, room),
				 errdetail("The step is divided into so many parts of equal length, and each has a row."),
				 errhint("For example: points => 500.")));
	if (!simulate(fcinfo, &a))
		return (Datum) 0;
	points = palloc(sizeof(pm_memory_point) * room);
	n = timeline(&a, room, points);
	for (int i = 0; i < n; i++)
	{
		const pm_memory_point *p = &points[i];
		Datum		values[N_TIMELINE];
		bool		nulls[N_TIMELINE] = {false};

		CHECK_FOR_INTERRUPTS();
		values[0] = Int32GetDatum(p->event);
		values[1] = CStringGetTextDatum(pm_step_phase_name[p->phase]);
		nulls[2] = nulls[3] = p->node < 0;
		values[2] = Int32GetDatum(p->node);
		values[3] = pm_text_or_null(p->node >= 0 ? pm_from_core(a.graph->nodes[p->node].op_name) : NULL, &nulls[3]);
		values[4] = Float8GetDatum(p->bytes / PM_MB);
		pm_rows_add(&out, values, nulls);
	}
	return (Datum) 0;
}
