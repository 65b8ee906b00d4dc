/*
 * scaling_sql.c - collective_ms(), and scaling_curve(): one question for more and more GPUs.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"

#include "asking.h"
#include "cache/freshness.h"
#include "catalog.h"
#include "clusters.h"
#include "encoding.h"
#include "errors.h"
#include "memory_asking.h"
#include "results.h"
#include "scaling/checks.h"
#include "scaling/groups.h"

PG_FUNCTION_INFO_V1(pm_collective_ms);
PG_FUNCTION_INFO_V1(pm_scaling_curve);

/* ---------- a collective ---------- */

static pm_collective
collective_named(const char *name)
{
	for (int op = 0; op < PM_N_COLLECTIVES; op++)
		if (pg_strcasecmp(name, pm_collective_name[op]) == 0)
			return (pm_collective) op;
	pm_unknown_word("collective", name, pm_collective_name, PM_N_COLLECTIVES);
}

static const pm_fabric *
cluster_or_error(const char *name)
{
	pm_problem	p;
	const pm_fabric *f = pm_cluster_look_up(name, NULL, &p);

	if (f == NULL)
		pm_problem_raise(&p);
	return f;
}

/* collective_ms(kind, bytes, world_size, nodes, cluster): NULL nodes are as few as have room. */
Datum
pm_collective_ms(PG_FUNCTION_ARGS)
{
	pm_parallel how = PM_PARALLEL_NONE;
	pm_status	st = {PM_OK};
	pm_collective op;
	double		bytes;
	const pm_fabric *f;

	for (int i = 0; i < 5; i++)
		if (PG_ARGISNULL(i) && i != 3)
			PG_RETURN_NULL();
	pm_require_catalog();
	op = collective_named(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	bytes = PG_GETARG_FLOAT8(1);
	if (!(bytes >= 0 && bytes <= 1e18))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bytes must be between 0 and 1e18, not %.15g", bytes)));
	how.world_size = PG_GETARG_INT32(2);
	how.nodes = PG_ARGISNULL(3) ? 0 : pm_checked_nodes(PG_GETARG_INT32(3));
	pm_freshen();
	f = cluster_or_error(text_to_cstring(PG_GETARG_TEXT_PP(4)));
	if (pm_parallel_check(&how, f, &st) != PM_OK)
		pm_raise(&st);
	PG_RETURN_FLOAT8(pm_collective_us(op, bytes, how.world_size, how.nodes, f) / 1000);
}

/* ---------- more and more GPUs ---------- */

#define N_COLUMNS 12
#define MAX_GPUS_ARG 4

/* One row: the question as it stands in q. *first: samples a GPU and ms of the first row; 0 before it. end: see curve. */
static void
add_row(pm_rows_out *out, const pm_asked_words *q, const pm_manner *how, int nodes, double *first, const char *end)
{
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};
	pm_answer	a;
	pm_problem	p;
	char	   *note;
	double		rate;

	(void) pm_ask(q, how, &a, &p);
	/* that of the answer may go with the memo */
	note = a.note != NULL ? pstrdup(a.note) : NULL;
	rate = pm_samples_of(q) / a.step_ms / q->parallel.world_size;
	if (*first == 0)
		*first = rate;
	values[0] = Int32GetDatum(q->parallel.world_size);
	values[1] = Int32GetDatum(nodes);
	values[2] = Float8GetDatum(a.step_ms);
	values[3] = pm_float8_or_null(a.low_ms, &nulls[3]);
	values[4] = pm_float8_or_null(a.high_ms, &nulls[4]);
	values[5] = Float8GetDatum(1000 * pm_samples_of(q) / a.step_ms);
	values[6] = Float8GetDatum(rate / *first);
	values[7] = Float8GetDatum(a.comm_ms);
	values[8] = Float8GetDatum(a.exposed_ms);
	nulls[9] = nulls[10] = true;
	if (pm_ask_memory(q, &a, &p))
	{
		values[10] = pm_probability_or_null(a.p_fits, &nulls[10]);
		values[9] = BoolGetDatum(a.p_fits >= PM_MEMORY_SURE);
		nulls[9] = nulls[10];
	}
	else
		note = note != NULL ? psprintf("%s; %s", note, p.message) : p.message;
	if (end != NULL)
		note = note != NULL ? psprintf("%s; %s", note, end) : pstrdup(end);
	values[11] = pm_text_or_null(note, &nulls[11]);
	pm_rows_add(out, values, nulls);
}

static int
checked_max_gpus(int n)
{
	if (n < 1 || n > PM_MAX_WORLD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_gpus must be between 1 and %d, not %d", PM_MAX_WORLD, n)));
	return n;
}

/* The cluster that answers, so that the numbers of GPUs can follow its machines. */
static const pm_fabric *
cluster_of_question(const pm_asked_words *q)
{
	pm_asked	asked;
	pm_problem	p;
	const pm_fabric *f;

	if (!pm_question_resolve_computed(q, &asked, &p) ||
		(f = pm_cluster_look_up(q->cluster ? text_to_cstring(q->cluster) : NULL, asked.sample.query.gpu->name, &p)) == NULL)
		pm_problem_raise(&p);
	return f;
}

/* The numbers of GPUs of a curve: at most 17 doublings of the first, 17 of a machine, and all machines. */
typedef struct curve
{
	int			n;
	int			gpus[40];		/* ascending */
	int			most;			/* that there can be */
	char	   *end;			/* what keeps it below the GPUs that were asked for; NULL: nothing */
} curve;

/* Why a cluster has no more GPUs than room. */
static char *
why_end(const pm_fabric *f, int room)
{
	const char *name = pm_shown_name(pm_from_core(f->name));

	if (f->inter.n_rows == 0 && f->max_nodes != 1)
		return psprintf("the curve ends here: the nodes of cluster \"%s\" are not connected", name);
	return psprintf("the curve ends here: cluster \"%s\" has %d GPU%s in %d node%s", name, room, room == 1 ? "" : "s", f->max_nodes, f->max_nodes == 1 ? "" : "s");
}

/* n and its doublings, the multiples of `model` among them: into their places. */
static void
add_doublings(curve *c, int64 n, int64 model)
{
	for (; n <= c->most; n *= 2)
	{
		int			at = c->n;

		while (at > 0 && c->gpus[at - 1] > n)
			at--;
		if (n % model != 0 || (at > 0 && c->gpus[at - 1] == n))
			continue;
		memmove(&c->gpus[at + 1], &c->gpus[at], sizeof(int) * (c->n - at));
		c->gpus[at] = (int) n;
		c->n++;
	}
}

/*
 * Powers of two, which are what people ask about, and whole machines, doubled, which may be others: of both, the multiples
 * of a model's GPUs, and where no power of two is one, the doublings of these.  At the end all machines.
 */
static void
make_curve(const pm_fabric *f, int max, int64 model, curve *c)
{
	int			per_node = f->gpus_per_node;
	int			room = f->inter.n_rows == 0 ? per_node : f->max_nodes > 0 ? f->max_nodes * per_node : PM_MAX_WORLD;

	*c = (curve) {.most = Min(max, room),.end = max > room ? why_end(f, room) : NULL};
	add_doublings(c, (model & (model - 1)) == 0 ? 1 : model, model);
	add_doublings(c, per_node, model);
	if (f->max_nodes > 0 && room <= max && room % model == 0 && (c->n == 0 || c->gpus[c->n - 1] < room))
		c->gpus[c->n++] = room;
}

/* scaling_curve(graph_id, gpu, batch, cluster, max_gpus, ...) */
Datum
pm_scaling_curve(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_asked_words q;
	pm_manner	how;
	const pm_fabric *f;
	curve		c;
	int			per_node;
	int			max;
	int64		model;			/* GPUs that have one model, and what they divide */
	double		first = 0;

	pm_rows_begin(fcinfo, &out);
	if (!pm_question_read(fcinfo, &q, &how) || PG_ARGISNULL(MAX_GPUS_ARG))
		return (Datum) 0;
	max = checked_max_gpus(PG_GETARG_INT32(MAX_GPUS_ARG));
	model = pm_least_gpus(&q.parallel);
	q.parallel.world_size = (int) Min(model, PM_MAX_WORLD);
	pm_freshen();
	f = cluster_of_question(&q);
	per_node = f->gpus_per_node;
	make_curve(f, max, model, &c);
	for (int i = 0; i < c.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		q.parallel.world_size = c.gpus[i];
		q.parallel.nodes = (c.gpus[i] + per_node - 1) / per_node;
		add_row(&out, &q, &how, q.parallel.nodes, &first, i == c.n - 1 ? c.end : NULL);
	}
	if (c.n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no number of GPUs of the curve is a multiple of %lld, among which \"parallel\" divides the model", (long long) model),
				 errdetail("The curve has at most %d GPUs.", c.most),
				 c.end == NULL ? errhint("Raise max_gpus.") : errhint("Name a cluster with more GPUs.")));
	return (Datum) 0;
}
