/*
 * place_sql.c - place(): on which machines the waiting jobs of a table run.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "context_arena.h"
#include "errors.h"
#include "plan/job_arguments.h"
#include "plan/job_rows.h"
#include "plan/place.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_place_sql);

/* Machines, as the arguments name them. */
typedef struct machines
{
	int			n;
	char	  **names;
	pm_node    *nodes;
} machines;

static int
elements(FunctionCallInfo fcinfo, int arg, Oid type, int16 length, bool by_value, const char *name, Datum **v)
{
	bool	   *nulls;
	int			n;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(arg), type, length, by_value, TYPALIGN_INT, v, &nulls, &n);
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

	m->n = elements(fcinfo, 1, TEXTOID, -1, false, "nodes", &names);
	if (elements(fcinfo, 2, TEXTOID, -1, false, "node_gpus", &gpus) != m->n || elements(fcinfo, 3, INT4OID, 4, true, "node_free", &free) != m->n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("nodes, node_gpus and node_free must have the same number of elements")));
	m->names = palloc(sizeof(char *) * Max(m->n, 1));
	m->nodes = palloc(sizeof(pm_node) * Max(m->n, 1));
	for (int i = 0; i < m->n; i++)
	{
		m->names[i] = TextDatumGetCString(names[i]);
		m->nodes[i] = (pm_node) {pm_jobs_pool(jobs, pm_job_gpu(TextDatumGetCString(gpus[i]))), DatumGetInt32(free[i])};
		if (m->nodes[i].free < 0 || m->nodes[i].free > 1000000)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("node_free[%d] must be between 0 and 1000000, not %d", i + 1, m->nodes[i].free)));
	}
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

static void
add_part(pm_rows_out *out, pm_jobs *jobs, int i, int64 position, const machines *m, const pm_placed *part, int parts, double step_ms, char *note)
{
	const pm_job_row *r = &jobs->rows[i];
	bool		nulls[10] = {false};
	Datum		values[10] = {
		Int64GetDatum(position),
		pm_text_or_null(r->id, &nulls[1]),
		pm_text_or_null(r->team, &nulls[2]),
		pm_text_or_null(r->gpu, &nulls[3]),
		Int32GetDatum(jobs->queue[i].gpus),
		pm_text_or_null(part ? m->names[part->node] : NULL, &nulls[5]),
		Int32GetDatum(part ? part->gpus : 0),
		Int32GetDatum(parts),
		pm_float8_or_null(step_ms, &nulls[8]),
		pm_text_or_null(note, &nulls[9])
	};

	pm_rows_add(out, values, nulls);
}

static void
add_job(pm_rows_out *out, pm_jobs *jobs, int i, int64 position, const machines *m, const pm_placement *p, const pm_placed *parts)
{
	int			n = p->parts[i];
	char	   *note = jobs->rows[i].note;
	double		step_ms = n > 0 ? step_in(jobs, i, n, &note) : NAN;

	if (n == 0)
	{
		note = note != NULL ? psprintf("no room now; %s", note) : "no room now";
		add_part(out, jobs, i, position, m, NULL, 0, NAN, note);
	}
	for (int k = 0; k < n; k++)
		add_part(out, jobs, i, position, m, &parts[k], n, step_ms, note);
}

/* jobs, nodes, node_gpus, node_free, columns, policy, predictor, at */
Datum
pm_place_sql(PG_FUNCTION_ARGS)
{
	static const int needed[] = {0, 1, 2, 3, 5, 7};
	pm_rows_out out;
	pm_job_table t;
	pm_jobs		jobs;
	machines	m;
	pm_placement p;
	pm_arena	a;
	pm_status	st = {PM_OK};
	int32	   *order;
	int			at = 0;
	int64		position = 0;

	pm_rows_begin(fcinfo, &out);
	for (int i = 0; i < lengthof(needed); i++)
		if (PG_ARGISNULL(needed[i]))
			return (Datum) 0;
	pm_job_table_argument(fcinfo, 0, 4, &t);
	pm_jobs_read(&t, pm_predictor_argument(fcinfo, 6), pm_at_argument(fcinfo, 7), DT_NOBEGIN, &jobs);
	read_machines(fcinfo, &jobs, &m);
	pm_context_arena(&a, CurrentMemoryContext, 0);
	order = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int32) * Max(jobs.n, 1));
	if (pm_queue_order(jobs.queue, jobs.n, pm_policy_argument(fcinfo, 5), order, &a, &st) != PM_OK ||
		pm_place(jobs.queue, jobs.n, order, m.nodes, m.n, &p, &a, &st) != PM_OK)
		pm_raise(&st);
	for (int k = 0; k < jobs.n; k++)
	{
		int			i = order[k];

		if (jobs.queue[i].elapsed_s >= 0)
			continue;
		add_job(&out, &jobs, i, ++position, &m, &p, p.v + at);
		at += p.parts[i];
	}
	return (Datum) 0;
}
