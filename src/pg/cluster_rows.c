/*
 * cluster_rows.c - measurements on several GPUs of a cluster, for fits of the cluster.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "cluster_rows.h"
#include "encoding.h"
#include "parallel.h"
#include "plans.h"
#include "results.h"
#include "scaling.h"
#include "scaling/checks.h"

#define MAX_ROWS 5000			/* that are used; of more, every so many */
#define NAMED_ROWS 5			/* of those that are not used */

static text *
text_value(uint64 row, int col, MemoryContext cxt)
{
	char	   *s = pm_value_text_or_null(row, col, cxt);

	return s != NULL ? cstring_to_text(s) : NULL;
}

static void
read_row(pm_cluster_row *m, uint64 row, MemoryContext cxt, text *predictor)
{
	bool		isnull;
	Datum		parallel;

	m->words = (pm_asked_words) {.parallel = PM_PARALLEL_NONE,.predictor = predictor};
	m->words.graph_id = DatumGetInt64(pm_value(row, 1, INT8OID, NULL));
	m->words.gpu = text_value(row, 2, cxt);
	m->words.batch = DatumGetInt32(pm_value(row, 3, INT4OID, NULL));
	m->words.dtype = text_value(row, 4, cxt);
	m->words.layout = text_value(row, 5, cxt);
	m->words.framework = text_value(row, 6, cxt);
	m->words.optimizer = text_value(row, 7, cxt);
	m->world_size = DatumGetInt32(pm_value(row, 8, INT4OID, NULL));
	m->nodes = DatumGetInt32(pm_value(row, 9, INT4OID, NULL));
	m->step_ms = pm_value_float8(row, 10);
	m->single_ms = pm_value_float8(row, 11);
	m->parallel = (pm_parallel) PM_PARALLEL_NONE;
	parallel = pm_value(row, 12, JSONBOID, &isnull);
	if (!isnull)
		pm_parallel_from_jsonb(DatumGetJsonbP(parallel), &m->parallel);
	m->words.parallel.bucket_mb = m->parallel.bucket_mb;
	m->words.parallel.compile = m->parallel.compile;
	m->words.expert_part = pm_expert_parts(&m->parallel);
	m->profile_id = DatumGetInt64(pm_value(row, 13, INT8OID, NULL));
}

pm_cluster_row *
pm_cluster_rows_read(const char *cluster, Datum profiles, bool all, text *predictor, int *n)
{
	static pm_plan query = {
		/* the means of single GPUs once for all rows, so that many rows of a graph do not each read all of them */
		"WITH several AS ("
		"  SELECT p.profile_id, p.graph_id, p.gpu, p.batch, p.dtype, p.layout, p.framework, p.optimizer, p.world_size, p.nodes, p.step_ms, p.parallel"
		"  FROM perfmodel.profile AS p, perfmodel.cluster AS c"
		"  WHERE c.name OPERATOR(pg_catalog.=) $1 AND p.gpu OPERATOR(pg_catalog.=) COALESCE(c.gpu, p.gpu)"
		"  AND p.mode OPERATOR(pg_catalog.=) 'train' AND p.world_size OPERATOR(pg_catalog.>) 1"
		"  AND ($2 IS NULL OR p.profile_id OPERATOR(pg_catalog.=) ANY ($2))"
		" ), single AS ("
		"  SELECT s.graph_id, s.gpu, s.batch, s.dtype, s.layout, s.optimizer, COALESCE(s.framework, '') AS framework, pg_catalog.avg(s.step_ms) AS step_ms"
		"  FROM perfmodel.profile AS s"
		"  WHERE s.mode OPERATOR(pg_catalog.=) 'train' AND s.world_size OPERATOR(pg_catalog.=) 1"
		"  AND s.graph_id OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT DISTINCT several.graph_id FROM several))"
		"  GROUP BY 1, 2, 3, 4, 5, 6, 7"
		" )"
		" SELECT p.graph_id, p.gpu, p.batch, p.dtype, p.layout, p.framework, p.optimizer, p.world_size, p.nodes, p.step_ms, s.step_ms, p.parallel, p.profile_id"
		" FROM several AS p LEFT JOIN single AS s ON s.graph_id OPERATOR(pg_catalog.=) p.graph_id AND s.gpu OPERATOR(pg_catalog.=) p.gpu"
		"  AND s.batch OPERATOR(pg_catalog.=) p.batch AND s.dtype OPERATOR(pg_catalog.=) p.dtype AND s.layout OPERATOR(pg_catalog.=) p.layout"
		"  AND s.optimizer OPERATOR(pg_catalog.=) p.optimizer AND s.framework OPERATOR(pg_catalog.=) COALESCE(p.framework, '')"
		" ORDER BY p.graph_id, p.gpu, p.batch, p.profile_id",
		2, {TEXTOID, INT8ARRAYOID}
	};
	MemoryContext cxt = CurrentMemoryContext;
	MemoryContext old;
	pm_cluster_row *m;
	int			step;
	Datum		args[2] = {CStringGetTextDatum(cluster), profiles};

	SPI_connect();
	pm_run(&query, args, all ? " n" : "  ", true);
	old = MemoryContextSwitchTo(cxt);
	step = (int) (SPI_processed / MAX_ROWS) + 1;
	m = palloc(sizeof(pm_cluster_row) * (SPI_processed / step + 1));
	*n = 0;
	for (uint64 i = 0; i < SPI_processed; i += step)
		read_row(&m[(*n)++], i, cxt, predictor);
	MemoryContextSwitchTo(old);
	SPI_finish();
	return m;
}

/* The shape of the step on one GPU; measured, or predicted.  NULL, and *p is filled: it has no prediction. */
static pm_step_shape *
shape_of(const pm_cluster_row *m, pm_problem *p)
{
	pm_step_shape *shape = palloc(sizeof(pm_step_shape));
	pm_asked	asked;
	pm_answer	a;
	pm_manner	how = {.level = get_float8_nan(),.problem_is_null = true};

	if (!pm_ask(&m->words, &how, &a, p) || !pm_question_resolve_computed(&m->words, &asked, p))
		return NULL;
	/* a GPU alone had all experts, and what is compiled was not measured on one */
	pm_shape_of(&asked, isnan(m->single_ms) || m->parallel.ep > 1 || m->parallel.compile ? a.step_ms : m->single_ms, shape);
	return shape;
}

/* Words of measurements are checked when they are stored. */
static pm_dtype
dtype_of(const pm_cluster_row *m)
{
	return m->words.dtype != NULL ? (pm_dtype) pm_dtype_parse(text_to_cstring(m->words.dtype)) : PM_FP32;
}

/* Such as a graph with too many operators, that one row in thousands may have. */
static void
notice_unanswered(int n, const pm_problem *first)
{
	if (n > 0)
		ereport(NOTICE,
				(errmsg_plural("%d measurement on several GPUs is not used: %s", "%d measurements on several GPUs are not used: %s", n, n, first->message),
				 n > 1 ? errdetail("The message is that of the first of them.") : 0));
}

/* Measurements that cannot have run on the cluster as it is described. */
typedef struct impossible_rows
{
	int			n;
	pm_status	first;			/* what is wrong with the first */
	StringInfoData ids;			/* of the first of them */
	bool		crowded;		/* some have more GPUs on a machine than it has */
} impossible_rows;

static void
add_impossible(impossible_rows *r, const pm_cluster_row *m, const pm_fabric *f, const pm_status *st)
{
	if (r->n == 0)
	{
		r->first = *st;
		initStringInfo(&r->ids);
	}
	if (r->n < NAMED_ROWS)
		appendStringInfo(&r->ids, "%s" INT64_FORMAT, r->n > 0 ? ", " : "", m->profile_id);
	else if (r->n == NAMED_ROWS)
		appendStringInfoString(&r->ids, ", ...");
	r->n++;
	r->crowded |= m->nodes > 0 && m->world_size > (int64) m->nodes * f->gpus_per_node;
}

/* The usual cause is that a row does not say how many machines there were, which the table takes for one. */
static void
notice_impossible(const impossible_rows *r)
{
	if (r->n > 0)
		ereport(NOTICE,
				(errmsg_plural("%d measurement on several GPUs is not used: %s", "%d measurements on several GPUs are not used: %s", r->n, r->n,
							   pm_message_from_core(r->first.message)),
				 errdetail("profile_id: %s.%s", r->ids.data, r->n > 1 ? " The message is that of the first of them." : ""),
				 r->crowded ? errhint("Set the column nodes of perfmodel.profile, the number of machines. It is 1 where it is not given.") :
				 r->first.hint[0] ? errhint("%s", pm_message_from_core(r->first.hint)) : 0));
}

pm_scaled_row *
pm_cluster_rows_scaled(const pm_cluster_row *m, int n, const pm_fabric *f, int64 *graphs, int *used)
{
	pm_scaled_row *rows = palloc(sizeof(pm_scaled_row) * Max(n, 1));
	pm_problem	first;
	int			unanswered = 0;
	impossible_rows impossible = {0};
	int64		last = 0;
	int			network = -1;

	*used = 0;
	for (int i = 0; i < n; i++)
	{
		pm_parallel p = m[i].parallel;
		pm_status	st = {PM_OK};
		pm_problem	problem;
		pm_step_shape *shape;

		CHECK_FOR_INTERRUPTS();
		p.world_size = m[i].world_size;
		p.nodes = m[i].nodes;
		if (pm_parallel_check(&p, f, &st) != PM_OK || pm_masters_check(&p, dtype_of(&m[i]), &st) != PM_OK)
		{
			add_impossible(&impossible, &m[i], f, &st);
			continue;
		}
		if ((shape = shape_of(&m[i], &problem)) == NULL && unanswered++ == 0)
			first = problem;
		/* what has no layers cannot have been divided by them */
		if (shape != NULL && pm_layers_check(&p, shape, &st) != PM_OK)
		{
			add_impossible(&impossible, &m[i], f, &st);
			continue;
		}
		if (shape == NULL)
			continue;
		/* measurements of a graph stand together */
		if (network < 0 || m[i].words.graph_id != last)
			graphs[++network] = last = m[i].words.graph_id;
		rows[(*used)++] = (pm_scaled_row) {shape, p, m[i].step_ms, network};
	}
	notice_unanswered(unanswered, &first);
	notice_impossible(&impossible);
	return rows;
}
