/*
 * job_read.c - reads a job from its row in a table.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/timestamp.h"

#include "plan/gres.h"
#include "plan/job_query.h"
#include "plan/job_read.h"
#include "plan/job_table.h"
#include "plans.h"

static text *
text_or_null(uint64 row, int col, MemoryContext cxt)
{
	char	   *s = pm_value_text_or_null(row, col, cxt);

	return s != NULL ? cstring_to_text(s) : NULL;
}

TimestampTz
pm_job_time_or_none(uint64 row, int col)
{
	bool		isnull;
	Datum		d = pm_value(row, col, TIMESTAMPTZOID, &isnull);

	return isnull ? DT_NOBEGIN : DatumGetTimestampTz(d);
}

void
pm_job_note(pm_job_row *row, const char *what)
{
	row->note = row->note != NULL ? psprintf("%s; %s", row->note, what) : pstrdup(what);
}

/* The graph by its number. */
static void
read_graph_id(uint64 row, pm_job_question *q)
{
	bool		isnull;

	q->words.graph_id = DatumGetInt64(pm_value(row, Q_GRAPH_ID, INT8OID, &isnull));
	q->has_graph_id = !isnull && q->words.graph_id != PM_NO_ID;
	if (!isnull && !q->has_graph_id)
		q->not_meant = "graph_id is no whole number that a graph has";
}

/* A time that was read as the first or the last one that there is: its job is planned with that. */
static void
note_if_outside(pm_job_row *r, const char *column, TimestampTz t)
{
	if (t == PM_FIRST_TIME_DAY * USECS_PER_DAY)
		pm_job_note(r, psprintf("%s is before all times that are known: taken as the first", column));
	else if (t == PM_LAST_TIME_DAY * USECS_PER_DAY)
		pm_job_note(r, psprintf("%s is after all times that are known: taken as the last", column));
}

/* Slurm writes the number of devices behind their name. */
static int32
count_in_name(const char *gpu)
{
	pm_gres		g;

	return gpu != NULL && pm_gres_read(gpu, &g) && g.count > 0 ? g.count : 1;
}

void
pm_job_read_row(uint64 row, MemoryContext cxt, pm_job_row *r, pm_job_question *q)
{
	bool		isnull;

	*r = (pm_job_row) {
		.id = pm_value_text_or_null(row, Q_ID, cxt),.team = pm_value_text_or_null(row, Q_TEAM, cxt),.gpu = pm_value_text_or_null(row, Q_GPU, cxt),
		.submitted_at = pm_job_time_or_none(row, Q_SUBMITTED),.started_at = pm_job_time_or_none(row, Q_STARTED),
		.deadline = pm_job_time_or_none(row, Q_DEADLINE),.finished_at = pm_job_time_or_none(row, Q_FINISHED),
		.p10_s = get_float8_nan(),.p50_s = get_float8_nan(),.p90_s = get_float8_nan(),
		.step_ms = get_float8_nan(),.steps_left = get_float8_nan(),.weight = pm_value_float8(row, Q_WEIGHT),.noise_scale = pm_value_float8(row, Q_NOISE),.share_left = 1,.live = DatumGetBool(pm_value(row, Q_LIVE, BOOLOID, NULL))
	};
	*q = (pm_job_question) {
		.graph = pm_value_text_or_null(row, Q_GRAPH, cxt),.steps = pm_value_float8(row, Q_STEPS),.done = pm_value_float8(row, Q_DONE),
		.duration_s = pm_value_float8(row, Q_DURATION),.duration_p90_s = pm_value_float8(row, Q_P90)
	};
	read_graph_id(row, q);
	note_if_outside(r, "submitted_at", r->submitted_at);
	note_if_outside(r, "started_at", r->started_at);
	note_if_outside(r, "deadline", r->deadline);
	q->words.batch = DatumGetInt32(pm_value(row, Q_BATCH, INT4OID, &isnull));
	q->has_batch = !isnull && q->words.batch != PM_NOT_WHOLE;
	q->no_batch = isnull ? "no batch" : "batch is no whole number from 1 to 16777216";
	q->gpu_count = DatumGetInt32(pm_value(row, Q_GPU_COUNT, INT4OID, &isnull));
	if (isnull)
		q->gpu_count = count_in_name(r->gpu);
	q->words.dtype = text_or_null(row, Q_DTYPE, cxt);
	q->words.layout = text_or_null(row, Q_LAYOUT, cxt);
	q->words.framework = text_or_null(row, Q_FRAMEWORK, cxt);
	q->words.optimizer = text_or_null(row, Q_OPTIMIZER, cxt);
	q->words.cluster = text_or_null(row, Q_CLUSTER, cxt);
	q->words.parallel = (pm_parallel) PM_PARALLEL_NONE;
	q->words.parallel.world_size = q->gpu_count;
}
