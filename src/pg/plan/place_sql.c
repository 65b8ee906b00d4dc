/*
 * place_sql.c - place(): on which machines the waiting jobs of a table run.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/timestamp.h"

#include "arrays.h"
#include "context_arena.h"
#include "errors.h"
#include "plan/job_arguments.h"
#include "plan/job_rows.h"
#include "plan/name_aliases.h"
#include "plan/place.h"
#include "plan/unknown_gpus.h"
#include "plans.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_place_sql);

/* Machines, as the arguments name them. */
typedef struct machines
{
	int			n;
	char	  **names;
	pm_machine *nodes;
} machines;

static int
elements(FunctionCallInfo fcinfo, int arg, const char *name, Datum **v)
{
	bool	   *nulls;
	int			n;

	pm_array_read(PG_GETARG_ARRAYTYPE_P(arg), v, &nulls, &n);
	for (int i = 0; i < n; i++)
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not have NULLs", name)));
	return n;
}

static void
read_machines(FunctionCallInfo fcinfo, const pm_jobs *jobs, machines *m)
{
	Datum	   *names, *gpus, *free;
	pm_unknown_gpus unknown = {0};

	m->n = elements(fcinfo, 2, "nodes", &names);
	if (elements(fcinfo, 3, "node_gpus", &gpus) != m->n || elements(fcinfo, 4, "node_free", &free) != m->n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("nodes, node_gpus and node_free must have the same number of elements")));
	m->names = palloc(sizeof(char *) * Max(m->n, 1));
	m->nodes = palloc(sizeof(pm_machine) * Max(m->n, 1));
	for (int i = 0; i < m->n; i++)
	{
		char	   *gpu = TextDatumGetCString(gpus[i]);

		m->names[i] = TextDatumGetCString(names[i]);
		m->nodes[i] = (pm_machine) {pm_jobs_pool(jobs, pm_job_gpu(gpu)), DatumGetInt32(free[i])};
		if (m->nodes[i].pool < 0)
			pm_unknown_gpus_add(&unknown, gpu);
		if (m->nodes[i].free < 0 || m->nodes[i].free > 1000000)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("node_free[%d] must be between 0 and 1000000, not %d", i + 1, m->nodes[i].free)));
	}
	pm_unknown_gpus_tell(&unknown, "node_gpus", jobs);
}

/* A kind of device that no machine has. */
#define NOWHERE (-2)

/* Jobs that do not fit into the memory of their devices are placed on none, nor those of which no number of devices is known. */
static void
keep_out_what_cannot_run(pm_jobs *jobs)
{
	for (int i = 0; i < jobs->n; i++)
		if (jobs->rows[i].lacks_memory || jobs->rows[i].lacks_count)
			jobs->queue[i].pool = NOWHERE;
}

/* The step of a job in so many machines; NaN where it cannot be asked for, and *note says why if nothing else is said. */
static double
step_in(pm_jobs *jobs, int i, int nodes, char **note)
{
	double		p10, p50, p90;
	bool		in_domain;
	char	   *why;

	if (jobs->rows[i].gpu == NULL || isnan(jobs->rows[i].p50_s))
		return NAN;
	if (pm_jobs_step(jobs, i, jobs->rows[i].gpu, jobs->queue[i].gpus, nodes, &p10, &p50, &p90, &in_domain, &why))
		return p50;
	if (*note == NULL)
		*note = why;
	return NAN;
}

/* ---------- two jobs on one device ---------- */

/* Words of a question, in the order of the parameters $4 to $7 of needs_query. */
enum
{
	DTYPE, LAYOUT, FRAMEWORK, OPTIMIZER, N_WORDS
};

/*
 * Each different question once. $1 graphs, $2 devices, $3 batches, $4 to $7
 * the words of jobs, NULL where a table does not say, $8 the predictor.
 */
static const char needs_query[] =
"WITH asked AS (SELECT a.graph_id, a.gpu, a.batch, COALESCE(a.dtype, 'fp32') AS dtype, COALESCE(a.layout, 'nchw') AS layout, a.framework,"
"         COALESCE(a.optimizer, 'sgd_momentum') AS optimizer, pg_catalog.array_agg(a.nr) AS jobs"
"     FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4), pg_catalog.unnest($5),"
"         pg_catalog.unnest($6), pg_catalog.unnest($7)) WITH ORDINALITY AS a (graph_id, gpu, batch, dtype, layout, framework, optimizer, nr)"
"     GROUP BY 1, 2, 3, 4, 5, 6, 7)"
" SELECT pg_catalog.unnest(q.jobs)::pg_catalog.int4, c.busy_a, COALESCE(m.high, m.peak_mb), perfmodel.usable_memory_mb(q.gpu)"
" FROM asked AS q,"
"     LATERAL perfmodel.colocate(q.graph_id, q.batch, q.graph_id, q.batch, q.gpu, q.dtype, q.dtype, $8) AS c,"
"     LATERAL perfmodel.predict_memory(q.graph_id, q.gpu, q.batch, q.dtype, q.layout, q.framework, q.optimizer) AS m";

/* A one-dimensional array of text; NULL elements are kept. */
static Datum
text_array(text *const *v, int n)
{
	Datum	   *elements = palloc(sizeof(Datum) * Max(n, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(n, 1));
	int			first = 1;

	for (int i = 0; i < n; i++)
	{
		elements[i] = PointerGetDatum(v[i]);
		nulls[i] = v[i] == NULL;
	}
	return PointerGetDatum(construct_md_array(elements, nulls, n > 0 ? 1 : 0, &n, &first, TEXTOID, -1, false, TYPALIGN_INT));
}

/* What jobs of one device need of it: need[jobs->n], NaN where nobody knows. */
static void
read_needs(const pm_jobs *jobs, text *predictor, pm_device_need *need)
{
	Oid			types[] = {INT8ARRAYOID, TEXTARRAYOID, INT4ARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTOID};
	char		nulls[] = {' ', ' ', ' ', ' ', ' ', ' ', ' ', predictor != NULL ? ' ' : 'n', 0};
	int			room = Max(jobs->n, 1);
	Datum	   *graph = palloc(sizeof(Datum) * room);
	Datum	   *batch = palloc(sizeof(Datum) * room);
	text	  **gpu = palloc(sizeof(text *) * room);
	text	  **words[N_WORDS];
	int		   *of = palloc(sizeof(int) * room);
	Datum		args[8];
	int			n = 0;

	for (int k = 0; k < N_WORDS; k++)
		words[k] = palloc(sizeof(text *) * room);
	for (int i = 0; i < jobs->n; i++)
	{
		const pm_asked_words *w = pm_jobs_asked(jobs, i);

		need[i] = (pm_device_need) {NAN, NAN, NAN};
		if (jobs->queue[i].elapsed_s >= 0 || jobs->queue[i].gpus != 1 || w == NULL)
			continue;
		graph[n] = Int64GetDatum(w->graph_id);
		batch[n] = Int32GetDatum(w->batch);
		gpu[n] = cstring_to_text(jobs->rows[i].gpu);
		words[DTYPE][n] = w->dtype;
		words[LAYOUT][n] = w->layout;
		words[FRAMEWORK][n] = w->framework;
		words[OPTIMIZER][n] = w->optimizer;
		of[n++] = i;
	}
	args[0] = pm_array_make(graph, n, INT8OID);
	args[1] = text_array(gpu, n);
	args[2] = pm_array_make(batch, n, INT4OID);
	for (int k = 0; k < N_WORDS; k++)
		args[3 + k] = text_array(words[k], n);
	args[7] = PointerGetDatum(predictor);
	SPI_connect();
	if (SPI_execute_with_args(needs_query, lengthof(args), types, args, nulls, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "cannot ask what the jobs need of a device");
	for (uint64 row = 0; row < SPI_processed; row++)
		need[of[DatumGetInt32(pm_value(row, 1, INT4OID, NULL)) - 1]] = (pm_device_need) {pm_value_float8(row, 2), pm_value_float8(row, 3), pm_value_float8(row, 4)};
	SPI_finish();
}

static double
slowdown_argument(FunctionCallInfo fcinfo, int arg)
{
	double		v;

	pm_need_argument(fcinfo, arg, "max_slowdown", "1, for a device to each job");
	v = PG_GETARG_FLOAT8(arg);
	if (!(v >= 1 && v <= 2))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_slowdown must be between 1 and 2, not %.15g", v),
				 errhint("1: jobs share no device; 1.2: two jobs may, where neither takes more than 1.2 times as long.")));
	return v;
}

/* ---------- rows ---------- */

static void
add_part(pm_rows_out *out, pm_jobs *jobs, int i, int64 position, const machines *m, const pm_placed *part, int parts, double step_ms,
		 const pm_pair *pair, char *note)
{
	const pm_job_row *r = &jobs->rows[i];
	bool		shared = pair->with >= 0;
	bool		nulls[12] = {[4] = r->lacks_count};
	Datum		values[12] = {
		Int64GetDatum(position),
		pm_text_or_null(r->id, &nulls[1]),
		pm_text_or_null(r->team, &nulls[2]),
		pm_text_or_null(r->gpu, &nulls[3]),
		Int32GetDatum(jobs->queue[i].gpus),
		pm_text_or_null(part ? m->names[part->node] : NULL, &nulls[5]),
		Int32GetDatum(part ? part->gpus : 0),
		Int32GetDatum(parts),
		pm_figure_or_null(step_ms, &nulls[8]),
		pm_text_or_null(shared ? jobs->rows[pair->with].id : NULL, &nulls[9]),
		pm_figure_or_null(shared ? pair->slowdown : NAN, &nulls[10]),
		pm_text_or_null(note, &nulls[11])
	};

	pm_rows_add(out, values, nulls);
}

/* Why there is no room. */
static char *
why_no_room(const pm_jobs *jobs, int i, const machines *m)
{
	int64		devices = 0;
	bool		any = false;

	if (jobs->rows[i].gpu == NULL)
		return "it asks for no device";
	for (int k = 0; k < m->n; k++)
		if (m->nodes[k].pool == jobs->queue[i].pool)
		{
			any = true;
			devices += m->nodes[k].free;
		}
	if (!any)
		return psprintf("no machine has %s", pm_shown_name(jobs->rows[i].gpu));
	if (devices < jobs->queue[i].gpus)
		return psprintf("no room: it needs %d devices, and " INT64_FORMAT " of %s are free", jobs->queue[i].gpus, devices, pm_shown_name(jobs->rows[i].gpu));
	return "no room now";
}

static void
add_job(pm_rows_out *out, pm_jobs *jobs, int i, int64 position, const machines *m, const pm_placement *p, const pm_placed *parts,
		const pm_pair *pair)
{
	int			n = p->parts[i];
	char	   *note = jobs->rows[i].note;
	double		step_ms = n > 0 ? step_in(jobs, i, n, &note) : NAN;

	if (n == 0)
	{
		if (!jobs->rows[i].lacks_memory && !jobs->rows[i].lacks_count)
		{
			char	   *why = why_no_room(jobs, i, m);

			note = note != NULL ? psprintf("%s; %s", why, note) : why;
		}
		add_part(out, jobs, i, position, m, NULL, 0, NAN, pair, note);
	}
	for (int k = 0; k < n; k++)
		add_part(out, jobs, i, position, m, &parts[k], n, step_ms, pair, note);
}

/* Where all of them go, and who shares a device with whom. */
typedef struct placed
{
	int32	   *order;			/* [jobs->n] */
	pm_placement p;				/* parts of jobs with devices of their own, in that order, then those of jobs that share one */
	int			alone;			/* number of the former */
	pm_pair    *pair;			/* [jobs->n] */
} placed;

static void
place_jobs(const pm_jobs *jobs, const machines *m, pm_policy policy, double max_slowdown, text *predictor, placed *to)
{
	pm_arena	a;
	pm_status	st = {PM_OK};

	pm_context_arena(&a, CurrentMemoryContext, 0);
	to->order = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int32) * Max(jobs->n, 1));
	if (pm_queue_order(jobs->queue, jobs->n, policy, to->order, &a, &st) != PM_OK ||
		pm_place(jobs->queue, jobs->n, to->order, m->nodes, m->n, &to->p, &a, &st) != PM_OK)
		pm_raise(&st);
	to->alone = to->p.n;
	to->pair = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(pm_pair) * Max(jobs->n, 1));
	for (int i = 0; i < jobs->n; i++)
		to->pair[i] = (pm_pair) {-1, 1};
	if (max_slowdown > 1)
	{
		pm_device_need *need = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(pm_device_need) * Max(jobs->n, 1));

		read_needs(jobs, predictor, need);
		if (pm_place_together(jobs->queue, jobs->n, to->order, need, max_slowdown, &to->p, to->pair, &a, &st) != PM_OK)
			pm_raise(&st);
	}
}

static void
add_jobs(pm_rows_out *out, pm_jobs *jobs, const machines *m, const placed *where)
{
	int			own = 0;
	int			shared = where->alone;
	int64		position = 0;

	for (int k = 0; k < jobs->n; k++)
	{
		int			i = where->order[k];
		int		   *part;

		if (jobs->queue[i].elapsed_s >= 0)
			continue;
		part = own < where->alone && where->p.v[own].job == i ? &own : &shared;
		add_job(out, jobs, i, ++position, m, &where->p, where->p.v + *part, &where->pair[i]);
		*part += where->p.parts[i];
	}
}

/* jobs, columns, nodes, node_gpus, node_free, policy, predictor, at, max_slowdown */
Datum
pm_place_sql(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_job_table t;
	pm_jobs		jobs;
	machines	m;
	placed		where;
	double		max_slowdown;

	pm_rows_begin(fcinfo, &out);
	pm_need_argument(fcinfo, 2, "nodes", "'{n1,n2}', the names of machines");
	pm_need_argument(fcinfo, 3, "node_gpus", "'{T4,A100}', the device of each machine");
	pm_need_argument(fcinfo, 4, "node_free", "'{4,8}', the free devices of each machine");
	max_slowdown = slowdown_argument(fcinfo, 8);
	pm_job_table_argument(fcinfo, 0, 1, &t);
	pm_job_table_need(&t, PM_COLUMN_GPU);
	pm_jobs_read(&t, pm_predictor_argument(fcinfo, 6), pm_at_argument(fcinfo, 7), DT_NOBEGIN, &jobs);
	read_machines(fcinfo, &jobs, &m);
	keep_out_what_cannot_run(&jobs);
	place_jobs(&jobs, &m, pm_policy_argument(fcinfo, 5), max_slowdown, pm_predictor_argument(fcinfo, 6), &where);
	add_jobs(&out, &jobs, &m, &where);
	return (Datum) 0;
}
