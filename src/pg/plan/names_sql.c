/*
 * names_sql.c - resolve_job_names(): what the names in a history of jobs mean.
 *
 * Each different name is looked up once. What is merely similar is told as a
 * candidate and never as what is meant.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/blanks.h"
#include "cache/freshness.h"
#include "catalog.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "features/question.h"
#include "features/tokens.h"
#include "gpus.h"
#include "plan/graph_names.h"
#include "plan/job_arguments.h"
#include "plan/job_table.h"
#include "plan/name_aliases.h"
#include "plan/names.h"
#include "plans.h"
#include "question.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_resolve_job_names);
PG_FUNCTION_INFO_V1(pm_resolve_job_table);

/* More different names of one kind than that are no names, and would fill the memory. */
#define MAX_NAMES 5000000

/* Columns of the result. */
enum
{
	WHAT, GIVEN, JOBS, MATCH, RESOLVED, GRAPH_ID, SCORE, CANDIDATES, NOTE, N_COLUMNS
};

/* A name as it stands in the jobs; NULL: no name. */
typedef struct given_name
{
	char	   *name;
	int64		jobs;
} given_name;

/* All names of devices. */
typedef struct known
{
	pm_name_list list;
	char	  **label;			/* [things] the usual name */
} known;

typedef struct resolving
{
	pm_rows_out out;
	MemoryContext cxt;			/* of what is kept for all names */
	MemoryContext one;			/* of what is needed for one */
	pm_arena	arena;
	double		min_score;
	pm_graph_names graphs;
	known		gpus;
	bool		has_gpus;		/* whether they were read */
	bool		counts_in_names;	/* whether a name of a device says how many, as Slurm writes it */
} resolving;

/* ---------- what there is ---------- */

/* Names of devices, in a row for each name: for candidates; what is meant is for the data sheets to say. */
static void
read_gpus(resolving *r)
{
	static pm_plan query = {
		"SELECT g.name, a.name, pg_catalog.dense_rank() OVER (ORDER BY g.name) OPERATOR(pg_catalog.-) 1 FROM perfmodel.gpu g,"
		" LATERAL pg_catalog.unnest(g.name OPERATOR(pg_catalog.||) g.aliases) a(name) WHERE a.name IS NOT NULL ORDER BY 1"
	};
	MemoryContext cxt = r->cxt;
	MemoryContext before = CurrentMemoryContext;

	SPI_connect();
	pm_run(&query, NULL, NULL, true);
	MemoryContextSwitchTo(cxt);
	pm_name_list_begin(&r->gpus.list, &r->gpus.label, &r->arena, SPI_processed, SPI_processed);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		int32		thing = (int32) DatumGetInt64(pm_value(i, 3, INT8OID, NULL));

		r->gpus.label[thing] = pm_value_text(i, 1, cxt);
		pm_name_list_add(&r->gpus.list, pm_value_text(i, 2, cxt), thing, PM_NAME_OTHER);
	}
	pm_names_sort(&r->gpus.list);
	SPI_finish();
	MemoryContextSwitchTo(before);
	r->has_gpus = true;
}

/* ---------- one name ---------- */

static void
set_text(Datum *values, bool *nulls, int column, const char *s)
{
	values[column] = pm_text_or_null(s, &nulls[column]);
}

static void
set_match(Datum *values, bool *nulls, pm_match match, const char *resolved, const char *note)
{
	set_text(values, nulls, MATCH, pm_match_name[match]);
	set_text(values, nulls, RESOLVED, resolved);
	set_text(values, nulls, NOTE, note);
	if (match == PM_MATCH_EXACT || match == PM_MATCH_ALIAS)
	{
		values[SCORE] = Float8GetDatum(1);
		nulls[SCORE] = false;
	}
}

static void
set_candidates(Datum *values, bool *nulls, char *const *label, const pm_name_found *f)
{
	const char *names[PM_NAME_CANDIDATES];

	if (f->n_candidates == 0)
		return;
	for (int i = 0; i < f->n_candidates; i++)
		names[i] = label[f->candidates[i]];
	values[CANDIDATES] = pm_text_array(names, f->n_candidates);
	nulls[CANDIDATES] = false;
	if (f->match == PM_MATCH_FUZZY)
	{
		values[SCORE] = Float8GetDatum(rint(f->score * 100) / 100);
		nulls[SCORE] = false;
	}
}

/* What the rows of name_alias say. */
#define BY_ALIAS "by perfmodel.name_alias"
#define SIMILAR "similar names are not taken for this one; if one is meant, say so in perfmodel.name_alias"

/* A row of name_alias that leads nowhere. */
static void
set_dangling(Datum *values, bool *nulls, const char *alias)
{
	set_match(values, nulls, PM_MATCH_UNKNOWN, NULL, psprintf("perfmodel.name_alias says \"%s\", which is not known", pm_shown_name(alias)));
}

static void
resolve_graph(resolving *r, const char *name, Datum *values, bool *nulls)
{
	pm_name_found f;
	const char *alias = pm_graph_meant(&r->graphs, name, r->min_score, &f);
	const char *note = alias != NULL ? BY_ALIAS : NULL;

	if (alias != NULL && f.thing < 0)
	{
		set_dangling(values, nulls, alias);
		return;
	}
	if (f.match == PM_MATCH_AMBIGUOUS)
		note = psprintf("%d graphs go by this name; say which one in perfmodel.name_alias", f.n_meant);
	else if (f.match == PM_MATCH_FUZZY)
		note = SIMILAR;
	else if (f.match == PM_MATCH_UNKNOWN)
		note = "no graph goes by this name: load it";
	set_match(values, nulls, f.match, f.thing >= 0 ? r->graphs.label[f.thing] : NULL, note);
	set_candidates(values, nulls, r->graphs.label, &f);
	if (f.thing >= 0)
	{
		values[GRAPH_ID] = Int64GetDatum(r->graphs.graph_id[f.thing]);
		nulls[GRAPH_ID] = false;
	}
}

/* The number of the device that is called so; -1: it came after the names were read. */
static int32
device_called(const known *gpus, const char *name)
{
	for (int i = 0; i < gpus->list.n; i++)
		if (strcmp(gpus->label[gpus->list.names[i].thing], name) == 0)
			return gpus->list.names[i].thing;
	return -1;
}

/* Those that an error would suggest, in place of those that are spelt alike. */
static void
suggest_gpus(resolving *r, const char *name, pm_name_found *f)
{
	const char *nearest[PM_NAME_CANDIDATES];
	int			n = pm_gpu_nearest(name, nearest, PM_NAME_CANDIDATES);
	int			found = 0;

	for (int i = 0; i < n; i++)
	{
		int32		thing = device_called(&r->gpus, nearest[i]);

		if (thing >= 0)
			f->candidates[found++] = thing;
	}
	if (found == 0)
		return;
	if (f->n_candidates == 0)
		f->score = pm_name_likeness(pm_name_key(&r->arena, pm_to_core_lossy(name)), pm_name_key(&r->arena, pm_to_core_lossy(nearest[0])));
	f->n_candidates = found;
}

static void
resolve_gpu(resolving *r, const char *name, Datum *values, bool *nulls)
{
	pm_problem	p;
	const pm_gpu *sheet;
	const char *found;
	pm_name_found f;

	const char *alias;
	const char *given = name;
	char	   *type;
	int			count;

	pm_freshen();
	type = pm_gpu_in_gres(name, &count);
	sheet = pm_gpu_look_up(name, &p);
	if (type != NULL && pm_alias_of(PM_ALIAS_GPU, name) == NULL)
	{
		r->counts_in_names = r->counts_in_names || count > 0;
		name = type;
		sheet = pm_gpu_look_up(name, &p);
	}
	found = sheet != NULL ? pstrdup(pm_from_core(sheet->name)) : NULL;
	alias = found == NULL || strcmp(found, name) != 0 ? pm_alias_of(PM_ALIAS_GPU, name) : NULL;
	if (alias != NULL)
	{
		sheet = pm_gpu_in_sheets(alias);
		if (sheet != NULL)
			set_match(values, nulls, PM_MATCH_ALIAS, pm_from_core(sheet->name), BY_ALIAS);
		else
			set_dangling(values, nulls, alias);
		return;
	}
	if (sheet != NULL)
	{
		set_match(values, nulls, strcmp(found, given) == 0 ? PM_MATCH_EXACT : PM_MATCH_ALIAS, found, pm_note_short_name(cstring_to_text(name), sheet, NULL));
		return;
	}
	if (!r->has_gpus)
		read_gpus(r);
	f = pm_name_list_find(&r->gpus.list, name, r->min_score);
	if (strcmp(p.reason, "ambiguous_gpu") == 0)
	{
		f.match = PM_MATCH_AMBIGUOUS;
		set_match(values, nulls, f.match, NULL, p.detail);
	}
	else if (pm_gpu_is_slice(name))
	{
		f = (pm_name_found) {.match = PM_MATCH_UNKNOWN,.thing = -1};
		set_match(values, nulls, f.match, NULL, PM_GPU_SLICE ", which is not the card: insert the data sheet of the slice into perfmodel.gpu");
	}
	else
	{
		/* what the data sheets do not take for a name of theirs is none, however like */
		suggest_gpus(r, name, &f);
		f.match = f.n_candidates > 0 ? PM_MATCH_FUZZY : PM_MATCH_UNKNOWN;
		set_match(values, nulls, f.match, NULL, strcmp(name, PM_ANY_GPU) == 0 ? PM_ANY_GPU_HINT : f.match == PM_MATCH_FUZZY ? SIMILAR :
				  "no device goes by this name: insert its data sheet into perfmodel.gpu");
	}
	set_candidates(values, nulls, r->gpus.label, &f);
}

/* What a name stands for; word NULL: nothing, and the note is `unknown`. */
static void
set_word(const char *name, const char *word, char *unknown, Datum *values, bool *nulls)
{
	if (word == NULL)
		set_match(values, nulls, PM_MATCH_UNKNOWN, NULL, unknown);
	else
		set_match(values, nulls, strcmp(word, name) == 0 ? PM_MATCH_EXACT : PM_MATCH_ALIAS, word, NULL);
}

static void
resolve_word(const pm_word_list *list, const char *name, Datum *values, bool *nulls)
{
	int			at = pm_word_find(list, name);
	char	   *unknown = psprintf("%sknown are %s", list == &pm_optimizer_words ? "taken as \"other\"; " : "", pm_quoted_list(list->names, list->n));

	set_word(name, at >= 0 ? list->names[at] : NULL, unknown, values, nulls);
}

static void
resolve_dtype(const char *name, Datum *values, bool *nulls)
{
	const char *alias;
	const char *dtype;

	pm_freshen();
	alias = pm_dtype_alias_of(name);
	dtype = pm_asked_dtype(alias != NULL ? alias : name);
	if (alias == NULL)
		set_word(name, dtype, psprintf("known are %s", pm_known_dtypes()), values, nulls);
	else if (dtype != NULL)
		set_match(values, nulls, PM_MATCH_ALIAS, dtype, BY_ALIAS);
	else
		set_dangling(values, nulls, alias);
}

/* A batch, or a number of devices. */
static void
resolve_number(pm_job_column what, const char *name, Datum *values, bool *nulls)
{
	int			most = what == PM_COLUMN_GPU_COUNT ? PM_MAX_GPU_COUNT : PM_MAX_BATCH;
	char	   *end;
	double		v = strtod(name, &end);

	/* blanks around a number are no part of it: a plan reads it, too */
	if (end != name && end[strspn(end, " \t\n\r\f\v")] == '\0' && v >= 1 && v <= most && v == floor(v))
		set_match(values, nulls, PM_MATCH_EXACT, psprintf("%.0f", v), NULL);
	else
		set_match(values, nulls, PM_MATCH_UNKNOWN, NULL, psprintf("a %s is an integer from 1 to %d%s", pm_job_column_name(what), most,
																			pm_has_wide_blank(name) ? "; this one has a blank that is no space, such as U+00A0" : ""));
}

/* What jobs have that do not say; NULL: they have none, and cannot be predicted. */
static const char *
usual_word(pm_job_column what)
{
	return what == PM_COLUMN_DTYPE ? pm_dtype_name[PM_FP32] : what == PM_COLUMN_LAYOUT ? pm_layout_name[PM_NCHW] :
		what == PM_COLUMN_OPTIMIZER ? pm_optimizer_name[PM_SGD_MOMENTUM] : what == PM_COLUMN_GPU_COUNT ? "1" : NULL;
}

static void
add_row(resolving *r, pm_job_column what, const given_name *g)
{
	Datum		values[N_COLUMNS] = {0};
	bool		nulls[N_COLUMNS];
	const char *usual = what == PM_COLUMN_GPU_COUNT && r->counts_in_names ? "what gpu says, else 1" : usual_word(what);

	CHECK_FOR_INTERRUPTS();
	memset(nulls, true, sizeof(nulls));
	set_text(values, nulls, WHAT, pm_job_column_name(what));
	set_text(values, nulls, GIVEN, g->name);
	values[JOBS] = Int64GetDatum(g->jobs);
	nulls[JOBS] = false;
	if (g->name == NULL)
		set_match(values, nulls, PM_MATCH_MISSING, NULL, psprintf("NULL or blank in these jobs%s%s", usual ? ": taken as " : "", usual ? usual : ""));
	else if (what == PM_COLUMN_GRAPH)
		resolve_graph(r, g->name, values, nulls);
	else if (what == PM_COLUMN_GPU)
		resolve_gpu(r, g->name, values, nulls);
	else if (what == PM_COLUMN_DTYPE)
		resolve_dtype(g->name, values, nulls);
	else if (what == PM_COLUMN_LAYOUT)
		resolve_word(&pm_layout_words, g->name, values, nulls);
	else if (what == PM_COLUMN_OPTIMIZER)
		resolve_word(&pm_optimizer_words, g->name, values, nulls);
	else
		resolve_number(what, g->name, values, nulls);
	pm_rows_add(&r->out, values, nulls);
}

/* ---------- from where the names come ---------- */

static void
begin(FunctionCallInfo fcinfo, resolving *r, double min_score)
{
	pm_require_catalog();
	if (!(min_score >= 0 && min_score <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("min_score must be between 0 and 1, not %.15g", min_score)));
	*r = (resolving) {.min_score = min_score,.cxt = CurrentMemoryContext};
	r->one = AllocSetContextCreate(CurrentMemoryContext, "perfmodel name", ALLOCSET_DEFAULT_SIZES);
	pm_context_arena(&r->arena, CurrentMemoryContext, 0);
	pm_graph_names_begin(&r->graphs);
	pm_rows_begin(fcinfo, &r->out);
}

/* The different names that a query has, with their counts: in this context, since looking one up runs queries too. */
static given_name *
names_of(const char *sql, int nargs, Oid *types, Datum *args, uint64 *n)
{
	MemoryContext cxt = CurrentMemoryContext;
	given_name *g;

	SPI_connect();
	if (SPI_execute_with_args(sql, nargs, types, args, NULL, true, MAX_NAMES + 1) != SPI_OK_SELECT)
		elog(ERROR, "cannot read the names of the jobs");
	MemoryContextSwitchTo(cxt);
	if (SPI_processed > MAX_NAMES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are more than %d different names", MAX_NAMES),
				 errhint("Make a view of fewer jobs.")));
	*n = SPI_processed;
	g = MemoryContextAllocHuge(cxt, sizeof(given_name) * Max(*n, 1));
	for (uint64 i = 0; i < *n; i++)
		g[i] = (given_name) {pm_value_text_or_null(i, 1, cxt), DatumGetInt64(pm_value(i, 2, INT8OID, NULL))};
	SPI_finish();
	return g;
}

#define COUNTED " GROUP BY 1 ORDER BY 2 DESC, 1"

static void
add_names(resolving *r, pm_job_column what, const char *from, int nargs, Oid *types, Datum *args)
{
	uint64		n;
	given_name *g = names_of(psprintf("SELECT CASE WHEN " PM_NOT_BLANK " THEN n END, pg_catalog.count(*) FROM (%s) AS j(n)" COUNTED, "n", from), nargs, types, args, &n);

	for (uint64 i = 0; i < n; i++)
	{
		MemoryContextSwitchTo(r->one);
		add_row(r, what, &g[i]);
		MemoryContextSwitchTo(r->cxt);
		MemoryContextReset(r->one);
	}
}

Datum
pm_resolve_job_names(PG_FUNCTION_ARGS)
{
	static const pm_job_column what[] = {PM_COLUMN_GRAPH, PM_COLUMN_GPU, PM_COLUMN_DTYPE};
	Oid			type = TEXTARRAYOID;
	resolving	r;

	pm_need_argument(fcinfo, 3, "min_score", "0.5");
	begin(fcinfo, &r, PG_GETARG_FLOAT8(3));
	for (int i = 0; i < lengthof(what); i++)
	{
		Datum		names;

		if (PG_ARGISNULL(i))
			continue;
		names = PG_GETARG_DATUM(i);
		add_names(&r, what[i], "SELECT pg_catalog.unnest($1)", 1, &type, &names);
	}
	return (Datum) 0;
}

Datum
pm_resolve_job_table(PG_FUNCTION_ARGS)
{
	static const pm_job_column what[] = {PM_COLUMN_GRAPH, PM_COLUMN_GPU, PM_COLUMN_DTYPE, PM_COLUMN_LAYOUT, PM_COLUMN_OPTIMIZER, PM_COLUMN_BATCH, PM_COLUMN_GPU_COUNT};
	pm_job_table t;
	resolving	r;
	bool		any = false;

	pm_need_argument(fcinfo, 2, "min_score", "0.5");
	begin(fcinfo, &r, PG_GETARG_FLOAT8(2));
	pm_job_table_argument(fcinfo, 0, 1, &t);
	for (int i = 0; i < lengthof(what); i++)
	{
		if (t.column[what[i]] == NULL)
			continue;
		any = true;
		add_names(&r, what[i], psprintf("SELECT %s FROM %s", pm_job_table_value(&t, what[i], "pg_catalog.text"), t.relation), 0, NULL, NULL);
	}
	if (!any)
		pm_job_table_need(&t, PM_COLUMN_GRAPH);
	return (Datum) 0;
}
