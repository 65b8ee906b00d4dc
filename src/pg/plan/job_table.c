/*
 * job_table.c - the user's own table of jobs, and which of its columns mean what.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "errors.h"
#include "members.h"
#include "plan/job_table.h"

/* Columns of a table that an error names. */
#define MOST_SHOWN 20

static const char *const names[PM_N_COLUMNS] = {
	[PM_COLUMN_ID] = "job_id",
	[PM_COLUMN_TEAM] = "team",
	[PM_COLUMN_GRAPH] = "graph",
	[PM_COLUMN_GRAPH_ID] = "graph_id",
	[PM_COLUMN_GPU] = "gpu",
	[PM_COLUMN_GPU_COUNT] = "gpu_count",
	[PM_COLUMN_BATCH] = "batch",
	[PM_COLUMN_DTYPE] = "dtype",
	[PM_COLUMN_LAYOUT] = "layout",
	[PM_COLUMN_FRAMEWORK] = "framework",
	[PM_COLUMN_OPTIMIZER] = "optimizer",
	[PM_COLUMN_CLUSTER] = "cluster",
	[PM_COLUMN_WEIGHT] = "weight",
	[PM_COLUMN_NOISE_SCALE] = "noise_scale",
	[PM_COLUMN_STEPS] = "steps",
	[PM_COLUMN_DONE_STEPS] = "done_steps",
	[PM_COLUMN_DURATION_S] = "duration_s",
	[PM_COLUMN_DURATION_P90_S] = "duration_p90_s",
	[PM_COLUMN_SUBMITTED_AT] = "submitted_at",
	[PM_COLUMN_STARTED_AT] = "started_at",
	[PM_COLUMN_FINISHED_AT] = "finished_at",
	[PM_COLUMN_DEADLINE] = "deadline",
};

const char *
pm_job_column_name(pm_job_column what)
{
	return names[what];
}

static void
check_kind(const pm_job_table *t)
{
	char		kind = get_rel_relkind(t->relid);

	if (kind == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("there is no table with OID %u", t->relid),
				 errhint("It was dropped meanwhile, or made anew under the same name: ask again.")));
	if (kind != RELKIND_RELATION && kind != RELKIND_VIEW && kind != RELKIND_MATVIEW &&
		kind != RELKIND_FOREIGN_TABLE && kind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or view", get_rel_name(t->relid)),
				 errhint("The argument \"%s\" is a table, a view or a foreign table with a row for each job.", t->jobs_argument)));
}

static pm_job_column
column_named(const pm_job_table *t, const char *name)
{
	for (int i = 0; i < PM_N_COLUMNS; i++)
		if (strcmp(name, names[i]) == 0)
			return (pm_job_column) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown meaning \"%s\" in the argument \"%s\"", pm_shown_name(name), t->columns_argument),
			 errdetail("In this object, each key is a meaning and each value the name of a column. Give other objects by name, such as free => '{\"T4\": 4}'."),
			 errhint("Known are %s.", pm_quoted_list(names, PM_N_COLUMNS))));
}

/* The names of the table's columns, for a hint. */
static char *
columns_hint(Oid relid, const char *wanted)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	const char **columns = palloc(sizeof(char *) * Max(desc->natts, 1));
	int			n = 0;
	char	   *hint;

	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			columns[n++] = pstrdup(NameStr(TupleDescAttr(desc, i)->attname));
	hint = pm_did_you_mean(wanted, columns, n, psprintf("\\d %s", quote_identifier(RelationGetRelationName(rel))), NULL);
	relation_close(rel, AccessShareLock);
	return hint;
}

/* A column that the table has. */
static void
use_column(pm_job_table *t, pm_job_column what, const char *column)
{
	t->column[what] = psprintf("j.%s", quote_identifier(column));
	t->column_type[what] = getBaseType(get_atttype(t->relid, get_attnum(t->relid, column)));
}

static void
set_column(pm_job_table *t, pm_job_column what, const JsonbValue *v)
{
	char	   *column;

	if (v->type == jbvNull)
	{
		t->column[what] = NULL;
		return;
	}
	if (v->type != jbvString)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("member \"%s\" of %s must be the name of a column", names[what], t->columns_argument),
				 errhint("Write {\"%s\": \"my_column\"}; for what has to be computed, make a view.", names[what])));
	column = pnstrdup(v->val.string.val, v->val.string.len);
	if (get_attnum(t->relid, column) <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("table \"%s\" has no column \"%s\"", get_rel_name(t->relid), pm_shown_name(column)),
				 errdetail("The argument \"%s\" names it as \"%s\".", t->columns_argument, names[what]),
				 errhint("%s", columns_hint(t->relid, column))));
	use_column(t, what, column);
}

/* Meanings that nightly alone asks for: one object then does for all functions that read the table. */
static bool
is_of_finished_jobs(const char *name)
{
	return strcmp(name, "nodes") == 0 || strcmp(name, "restarts") == 0;
}

static void
read_mapping(pm_job_table *t, Jsonb *mapping)
{
	pm_members	m;

	if (!JB_ROOT_IS_OBJECT(mapping))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be an object", t->columns_argument),
				 errhint("For example: {\"graph\": \"network\", \"gpu\": \"device\"}: each meaning, with the name of its column.")));
	for (pm_members_begin(&m, mapping); pm_next_member(&m);)
		if (!is_of_finished_jobs(m.name))
			set_column(t, column_named(t, m.name), &m.value);
}

static bool
names_column(Jsonb *mapping, pm_job_column what)
{
	JsonbValue	v;

	return getKeyJsonValueFromContainer(&mapping->root, names[what], strlen(names[what]), &v) != NULL;
}

/* Of the name and the number of a graph: where the mapping names only one, the other is not read. job_columns() has the same rule. */
static void
forget_other(pm_job_table *t, Jsonb *mapping, pm_job_column named, pm_job_column other)
{
	if (t->column[named] != NULL && names_column(mapping, named) && !names_column(mapping, other))
		t->column[other] = NULL;
}

/* Nobody drops or alters the table while it is read: a regclass is a number, and holds no lock. */
static void
lock_table(Oid relid)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);

	if (rel != NULL)
		relation_close(rel, NoLock);
}

void
pm_job_table_open(pm_job_table *t, Jsonb *mapping)
{
	Oid			relid = t->relid;

	lock_table(relid);
	check_kind(t);
	t->relation = psprintf("%s AS j", quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid)));
	for (int i = 0; i < PM_N_COLUMNS; i++)
		if (get_attnum(relid, names[i]) > 0)
			use_column(t, (pm_job_column) i, names[i]);
	if (mapping != NULL)
		read_mapping(t, mapping);
	if (mapping != NULL)
		forget_other(t, mapping, PM_COLUMN_GRAPH, PM_COLUMN_GRAPH_ID);
	if (mapping != NULL)
		forget_other(t, mapping, PM_COLUMN_GRAPH_ID, PM_COLUMN_GRAPH);
}

void
pm_job_arrays_begin(pm_job_table *t)
{
	*t = (pm_job_table) {0};
}

void
pm_job_arrays_add(pm_job_table *t, pm_job_column what, Oid type, Datum array)
{
	ArrayType  *a = DatumGetArrayTypeP(array);
	int			n = ArrayGetNItems(ARR_NDIM(a), ARR_DIMS(a));

	if (t->nargs > 0)
	{
		ArrayType  *first = DatumGetArrayTypeP(t->args[0]);
		int			expected = ArrayGetNItems(ARR_NDIM(first), ARR_DIMS(first));

		if (n != expected)
			ereport(ERROR,
					(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
					 errmsg("the arrays of jobs have %d and %d elements", expected, n),
					 errhint("Each array that is given has an element for each job.")));
	}
	t->column[what] = psprintf("j.c%d", t->nargs + 1);
	t->types[t->nargs] = type;
	t->args[t->nargs++] = PointerGetDatum(a);
}

void
pm_job_arrays_end(pm_job_table *t)
{
	StringInfoData args;
	StringInfoData columns;

	initStringInfo(&args);
	initStringInfo(&columns);
	for (int i = 1; i <= t->nargs; i++)
	{
		appendStringInfo(&args, "%spg_catalog.unnest($%d)", i > 1 ? ", " : "", i);
		appendStringInfo(&columns, "%sc%d", i > 1 ? ", " : "", i);
	}
	if (t->nargs > 0)
		t->relation = psprintf("ROWS FROM (%s) AS j(%s)", args.data, columns.data);
	else
		t->relation = "(SELECT WHERE false) AS j";
}

/* The columns that the table has, for a detail. */
static char *
columns_detail(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	StringInfoData s;
	int			n = 0;

	initStringInfo(&s);
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped && ++n <= MOST_SHOWN)
			appendStringInfo(&s, "%s\"%s\"", n > 1 ? ", " : "", NameStr(TupleDescAttr(desc, i)->attname));
	relation_close(rel, AccessShareLock);
	if (n > MOST_SHOWN)
		appendStringInfo(&s, ", and %d more", n - MOST_SHOWN);
	return n > 0 ? psprintf("Its columns are %s.", s.data) : "It has no columns.";
}

void
pm_job_table_need(const pm_job_table *t, pm_job_column what)
{
	if (t->column[what] != NULL)
		return;
	if (!OidIsValid(t->relid))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the array of \"%s\" must not be NULL", names[what])));
	else
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("table \"%s\" has no column \"%s\"", get_rel_name(t->relid), names[what]),
				 errdetail("%s", columns_detail(t->relid)),
				 errhint("If it has another name, say so: %s => '{\"%s\": \"its_name\"}'.", t->columns_argument, names[what])));
}

/* Raise where columns are missing; of a graph, its name is asked for. Arrays have no columns that could be named otherwise. */
static void
need_all(const pm_job_table *t, const pm_job_column *wanted, int n)
{
	const char *missing[PM_N_COLUMNS];
	int			n_missing = 0;
	StringInfoData example;

	if (!OidIsValid(t->relid))
		return;
	for (int i = 0; i < n; i++)
		if (t->column[wanted[i]] == NULL && !(wanted[i] == PM_COLUMN_GRAPH && t->column[PM_COLUMN_GRAPH_ID] != NULL))
			missing[n_missing++] = names[wanted[i]];
	if (n_missing == 0)
		return;
	initStringInfo(&example);
	for (int i = 0; i < n_missing; i++)
		appendStringInfo(&example, "%s\"%s\": \"its_name\"", i > 0 ? ", " : "", missing[i]);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("table \"%s\" has no column %s", get_rel_name(t->relid), pm_quoted_list(missing, n_missing)),
			 errdetail("%s", columns_detail(t->relid)),
			 errhint("%s, say so: %s => '{%s}'.", n_missing > 1 ? "If they have other names" : "If it has another name", t->columns_argument, example.data)));
}

void
pm_job_table_need_forecast(const pm_job_table *t, bool with_gpu)
{
	static const pm_job_column asked[] = {PM_COLUMN_GRAPH, PM_COLUMN_GPU, PM_COLUMN_BATCH, PM_COLUMN_STEPS};
	static const pm_job_column gpu[] = {PM_COLUMN_GPU};

	if (t->column[PM_COLUMN_DURATION_S] == NULL)
		need_all(t, asked, lengthof(asked));
	else if (with_gpu)
		need_all(t, gpu, lengthof(gpu));
}

void
pm_job_table_need_question(const pm_job_table *t)
{
	static const pm_job_column asked[] = {PM_COLUMN_GRAPH, PM_COLUMN_BATCH};

	need_all(t, asked, lengthof(asked));
}

static bool
is_time(pm_job_column what)
{
	return what == PM_COLUMN_SUBMITTED_AT || what == PM_COLUMN_STARTED_AT || what == PM_COLUMN_FINISHED_AT || what == PM_COLUMN_DEADLINE;
}

/* Types that have a cast to integer and are no numbers: true would be 1, and the letter '8' of a "char" 56. */
static bool
is_no_number(Oid type)
{
	return type == BOOLOID || type == CHAROID;
}

/* Raise for a column of a type that has no cast to the one it is read as: a time, or a number. */
static void
check_type(const pm_job_table *t, pm_job_column what, const char *as)
{
	Oid			type = t->column_type[what];
	Oid			to;
	Oid			cast;

	if (t->column[what] == NULL || !OidIsValid(t->relid))
		return;
	to = DatumGetObjectId(DirectFunctionCall1(regtypein, CStringGetDatum(as)));
	if (type == to || to == TEXTOID ||
		(!is_no_number(type) && find_coercion_pathway(to, type, COERCION_EXPLICIT, &cast) != COERCION_PATH_NONE))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("\"%s\" of the jobs in \"%s\" must be a %s", names[what], get_rel_name(t->relid), is_time(what) ? "time" : "number"),
			 errdetail("The column %s is of type %s.", t->column[what] + strlen("j."), format_type_be(type)),
			 is_time(what) ?
			 errhint("Name another column, or none: %s => '{\"%s\": null}'. For seconds since 1970, make a view with to_timestamp().", t->columns_argument, names[what]) :
			 errhint("Name another column, or none: %s => '{\"%s\": null}'.", t->columns_argument, names[what])));
}

/* What is shown as it stands there, and never looked up. */
static bool
is_label(pm_job_column what)
{
	return what == PM_COLUMN_ID || what == PM_COLUMN_TEAM;
}

/* Of a table's column, or of an array's elements. */
static bool
is_text(const pm_job_table *t, pm_job_column what)
{
	if (OidIsValid(t->relid))
		return TypeCategory(t->column_type[what]) == TYPCATEGORY_STRING;
	return what == PM_COLUMN_GPU;
}

static bool
is_duration(pm_job_column what)
{
	return what == PM_COLUMN_DURATION_S || what == PM_COLUMN_DURATION_P90_S;
}

/* A number, or text that says one, as an integer that it is, neither rounded nor an error. */
static char *
whole_number(const char *column, const char *type)
{
	const char *v = psprintf("%s::pg_catalog.numeric", column);
	bool		is_long = strcmp(type, "pg_catalog.int8") == 0;
	const char *most = is_long ? PM_MOST_ID : "2000000000";

	return psprintf("CASE WHEN %s OPERATOR(pg_catalog.>=) -%s AND %s OPERATOR(pg_catalog.<=) %s AND %s OPERATOR(pg_catalog.=) pg_catalog.trunc(%s) THEN %s::%s"
					" WHEN %s IS NOT NULL THEN '" INT64_FORMAT "'::%s END", v, most, v, most, v, v, v, type, column, is_long ? PM_NO_ID : (int64) PM_NOT_WHOLE, type);
}

/* A numeric as the nearest double, which one of hundreds of digits is not without an error. */
static char *
nearest_double(const char *v)
{
	return psprintf("CASE WHEN %s OPERATOR(pg_catalog.=) 'NaN'::pg_catalog.numeric THEN 'NaN'::pg_catalog.float8"
					" WHEN %s OPERATOR(pg_catalog.>) 1e300 THEN 'Infinity'::pg_catalog.float8"
					" WHEN %s OPERATOR(pg_catalog.<) -1e300 THEN '-Infinity'::pg_catalog.float8"
					" WHEN pg_catalog.abs(%s) OPERATOR(pg_catalog.<) 1e-300 THEN 0::pg_catalog.float8 ELSE %s::pg_catalog.float8 END", v, v, v, v, v);
}

/* A date or a time of no zone; dates go on for millions of years after the last time that there is. */
static char *
nearest_time(const char *v, Oid type)
{
	const char *t = format_type_be_qualified(type);

	return psprintf("CASE WHEN pg_catalog.isfinite(%s) AND %s OPERATOR(pg_catalog.>) '294276-12-30'::%s THEN '" PM_LAST_TIME "'::pg_catalog.timestamptz"
					" WHEN pg_catalog.isfinite(%s) AND %s OPERATOR(pg_catalog.<) '4714-11-26 BC'::%s THEN '" PM_FIRST_TIME "'::pg_catalog.timestamptz"
					" ELSE %s::pg_catalog.timestamptz END", v, v, t, v, v, t, v);
}

static bool
is_integer_type(const char *type)
{
	return strcmp(type, "pg_catalog.int4") == 0 || strcmp(type, "pg_catalog.int8") == 0;
}

/* Whether each value of a column's type is one of the integer type. */
static bool
all_are(Oid column_type, const char *type)
{
	return column_type == INT2OID || column_type == INT4OID || (column_type == INT8OID && strcmp(type, "pg_catalog.int8") == 0);
}

/* The value of a table's column that is no text. */
static char *
value_of_type(const pm_job_table *t, pm_job_column what, const char *type)
{
	const char *column = t->column[what];
	Oid			is = t->column_type[what];

	if (TypeCategory(is) == TYPCATEGORY_NUMERIC && is_integer_type(type) && !all_are(is, type))
		/* the cast of a float4 to numeric keeps six digits */
		return whole_number(is == FLOAT4OID ? psprintf("%s::pg_catalog.float8", column) : column, type);
	if (is == NUMERICOID && strcmp(type, "pg_catalog.float8") == 0)
		return nearest_double(column);
	if ((is == DATEOID || is == TIMESTAMPOID) && strcmp(type, "pg_catalog.timestamptz") == 0)
		return nearest_time(column, is);
	return psprintf("%s::%s", column, type);
}

char *
pm_job_table_value(const pm_job_table *t, pm_job_column what, const char *type)
{
	if (t->column[what] == NULL)
		return psprintf("NULL::%s", type);
	/* as reports and collect_from_jobs read it */
	if (is_duration(what) && OidIsValid(t->relid) && t->column_type[what] == INTERVALOID)
		return psprintf("pg_catalog.date_part('epoch', %s)::%s", t->column[what], type);
	check_type(t, what, type);
	/* logs that were loaded as text have '' where there is nothing, which is no number, no time and no name */
	if (is_text(t, what) && !is_label(what))
	{
		const char *text = psprintf("%s::pg_catalog.text", t->column[what]);

		return psprintf("CASE WHEN " PM_NOT_BLANK " THEN %s END", text,
						is_integer_type(type) ? whole_number(text, type) : psprintf("%s::%s", t->column[what], type));
	}
	return OidIsValid(t->relid) ? value_of_type(t, what, type) : psprintf("%s::%s", t->column[what], type);
}

char *
pm_job_table_is_null(const pm_job_table *t, pm_job_column what)
{
	return psprintf("%s IS NULL", is_text(t, what) ? pm_job_table_value(t, what, "pg_catalog.text") : t->column[what]);
}

/* An error of reading a column of text as a number or a time, with the name of the column. */
static void
refuse_text(const pm_job_table *t, pm_job_column what, ErrorData *e)
{
	const char *kind = is_time(what) ? "times" : "numbers";
	const char *column = t->column[what] + strlen("j.");

	if (ERRCODE_TO_CATEGORY(e->sqlerrcode) != ERRCODE_DATA_EXCEPTION)
		ReThrowError(e);
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg(column[0] == '"' ? "column %s of table \"%s\" must hold %s" : "column \"%s\" of table \"%s\" must hold %s", column, get_rel_name(t->relid), kind),
			 errdetail("It is read as \"%s\" of the jobs; its type is %s. One value: %s.", names[what], format_type_be(t->column_type[what]), e->message),
			 errhint("Text is accepted where every value is one of these %s, or empty. Make a view that converts the others, such as nullif(%s, 'N/A'), or leaves them out%s, and give the view instead of the table.", kind, column,
					 is_duration(what) ? " (a duration may be an interval, such as '1 02:03:04'::interval)" : "")));
}

void
pm_job_table_check_text(const pm_job_table *t, pm_job_column what, const char *type, const char *where)
{
	pm_job_table asked = *t;
	MemoryContext cxt = CurrentMemoryContext;
	char	   *sql;

	if (t->column[what] == NULL || !OidIsValid(t->relid) || !is_text(t, what) || strcmp(type, "pg_catalog.text") == 0)
		return;
	sql = psprintf("SELECT pg_catalog.count(%s) FROM %s%s", pm_job_table_value(t, what, type), t->relation, where);
	PG_TRY();
	{
		if (SPI_execute_with_args(sql, asked.nargs, asked.types, asked.args, NULL, true, 0) != SPI_OK_SELECT)
			elog(ERROR, "cannot read the jobs");
	}
	PG_CATCH();
	{
		refuse_text(t, what, pm_error_copy(cxt));
	}
	PG_END_TRY();
}
