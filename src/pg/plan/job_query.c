/*
 * job_query.c - the query that reads the jobs of a table.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "plan/job_query.h"

static const struct
{
	pm_job_column what;
	const char *type;
} query_columns[] = {
	{PM_COLUMN_ID, "pg_catalog.text"}, {PM_COLUMN_TEAM, "pg_catalog.text"}, {PM_COLUMN_GRAPH, "pg_catalog.text"},
	{PM_COLUMN_GRAPH_ID, "pg_catalog.int8"}, {PM_COLUMN_GPU, "pg_catalog.text"}, {PM_COLUMN_GPU_COUNT, "pg_catalog.int4"},
	{PM_COLUMN_BATCH, "pg_catalog.int4"}, {PM_COLUMN_DTYPE, "pg_catalog.text"}, {PM_COLUMN_LAYOUT, "pg_catalog.text"},
	{PM_COLUMN_FRAMEWORK, "pg_catalog.text"}, {PM_COLUMN_OPTIMIZER, "pg_catalog.text"},
	{PM_COLUMN_CLUSTER, "pg_catalog.text"}, {PM_COLUMN_WEIGHT, "pg_catalog.float8"},
	{PM_COLUMN_NOISE_SCALE, "pg_catalog.float8"}, {PM_COLUMN_STEPS, "pg_catalog.float8"},
	{PM_COLUMN_DONE_STEPS, "pg_catalog.float8"}, {PM_COLUMN_DURATION_S, "pg_catalog.float8"}, {PM_COLUMN_DURATION_P90_S, "pg_catalog.float8"},
	{PM_COLUMN_SUBMITTED_AT, "pg_catalog.timestamptz"}, {PM_COLUMN_STARTED_AT, "pg_catalog.timestamptz"}, {PM_COLUMN_DEADLINE, "pg_catalog.timestamptz"}
};

/* Which rows are read, with " WHERE " before it; "": all. The argument behind the table's own is the time from which those that are over are read. */
static char *
which_jobs(const pm_job_table *t, bool recent)
{
	if (t->column[PM_COLUMN_FINISHED_AT] == NULL)
		return "";
	if (!recent)
		return psprintf(" WHERE %s", pm_job_table_is_null(t, PM_COLUMN_FINISHED_AT));
	return psprintf(" WHERE %s OR %s OPERATOR(pg_catalog.>) $%d OR %s OPERATOR(pg_catalog.>) $%d", pm_job_table_is_null(t, PM_COLUMN_FINISHED_AT),
					pm_job_table_value(t, PM_COLUMN_SUBMITTED_AT, "pg_catalog.timestamptz"), t->nargs + 1,
					pm_job_table_value(t, PM_COLUMN_FINISHED_AT, "pg_catalog.timestamptz"), t->nargs + 1);
}

/* The number of the graph that a job says, else of the one that it names. */
static const char *
graph_number(const pm_job_table *t)
{
	if (t->column[PM_COLUMN_GRAPH_ID] == NULL)
		return "COALESCE(g.graph_id, ag.graph_id)";
	return psprintf("COALESCE(%s, g.graph_id, ag.graph_id)", pm_job_table_value(t, PM_COLUMN_GRAPH_ID, "pg_catalog.int8"));
}

/*
 * A name of a graph, or one of name_alias, becomes its id in the query, so that each is looked up by the server's own join.
 * Other spellings are for resolve_graphs(). A job that has a number needs no name.
 */
char *
pm_job_query(const pm_job_table *t, bool recent)
{
	bool		by_name = t->column[PM_COLUMN_GRAPH] != NULL;
	bool		by_id = t->column[PM_COLUMN_GRAPH_ID] != NULL;
	StringInfoData s;

	initStringInfo(&s);
	appendStringInfoString(&s, "SELECT ");
	for (int i = 0; i < lengthof(query_columns); i++)
		appendStringInfo(&s, "%s%s", i > 0 ? ", " : "",
						 by_name && query_columns[i].what == PM_COLUMN_GRAPH_ID ? graph_number(t) :
						 pm_job_table_value(t, query_columns[i].what, query_columns[i].type));
	if (t->column[PM_COLUMN_FINISHED_AT] != NULL)
		appendStringInfo(&s, ", %s, %s", recent ? pm_job_table_value(t, PM_COLUMN_FINISHED_AT, "pg_catalog.timestamptz") : "NULL::pg_catalog.timestamptz",
						 pm_job_table_is_null(t, PM_COLUMN_FINISHED_AT));
	else
		appendStringInfoString(&s, ", NULL::pg_catalog.timestamptz, true");
	appendStringInfo(&s, " FROM %s", t->relation);
	if (by_name)
		appendStringInfo(&s, " LEFT JOIN perfmodel.graph AS g ON %s g.name OPERATOR(pg_catalog.=) %s::pg_catalog.text"
						 " LEFT JOIN perfmodel.name_alias AS a ON g.graph_id IS NULL AND a.kind OPERATOR(pg_catalog.=) 'graph' AND a.alias OPERATOR(pg_catalog.=) %s::pg_catalog.text"
						 " LEFT JOIN perfmodel.graph AS ag ON ag.name OPERATOR(pg_catalog.=) a.name",
						 by_id ? psprintf("%s AND", pm_job_table_is_null(t, PM_COLUMN_GRAPH_ID)) : "", t->column[PM_COLUMN_GRAPH], t->column[PM_COLUMN_GRAPH]);
	appendStringInfoString(&s, which_jobs(t, recent));
	appendStringInfo(&s, " ORDER BY %s, %s COLLATE pg_catalog.\"C\"", pm_job_table_value(t, PM_COLUMN_SUBMITTED_AT, "pg_catalog.timestamptz"),
					 pm_job_table_value(t, PM_COLUMN_ID, "pg_catalog.text"));
	return s.data;
}

void
pm_job_check_times(const pm_job_table *t, bool recent)
{
	static const pm_job_column times[] = {PM_COLUMN_SUBMITTED_AT, PM_COLUMN_STARTED_AT, PM_COLUMN_DEADLINE, PM_COLUMN_FINISHED_AT};

	/* where times say which rows are read, all of them are compared */
	for (int i = 0; i < lengthof(times) - !recent; i++)
		pm_job_table_check_text(t, times[i], "pg_catalog.timestamptz", recent ? "" : which_jobs(t, false));
}

void
pm_job_check_values(const pm_job_table *t, const pm_job_table *asked, bool recent)
{
	char	   *where = which_jobs(t, recent);

	pm_job_check_times(t, recent);
	for (int i = 0; i < lengthof(query_columns); i++)
		if (strcmp(query_columns[i].type, "pg_catalog.timestamptz") != 0)
			pm_job_table_check_text(asked, query_columns[i].what, query_columns[i].type, where);
}
