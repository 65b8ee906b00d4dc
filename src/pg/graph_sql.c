/*
 * graph_sql.c - storing graphs and finding them by name.
 */
#include "postgres.h"

#include <ctype.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "catalog.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "graph/family.h"
#include "graph/graph_finish.h"
#include "graph/graph_json.h"
#include "graphs.h"
#include "plans.h"

PG_FUNCTION_INFO_V1(pm_load_graph);
PG_FUNCTION_INFO_V1(pm_family_of);
PG_FUNCTION_INFO_V1(pm_graph_id);
PG_FUNCTION_INFO_V1(pm_find_graph);

static pm_code
read_doc(Jsonb *doc, pm_arena *a, pm_graph *g, pm_status *st)
{
	char	   *written = JsonbToCString(NULL, &doc->root, VARSIZE(doc));
	char	   *text = pm_to_core(written);

	if (text != written)
		pfree(written);
	return pm_graph_from_json(text, strlen(text), a, g, st);
}

void
pm_graph_from_doc(Jsonb *doc, pm_arena *a, pm_graph *g)
{
	pm_status	st = {PM_OK};

	if (read_doc(doc, a, g, &st) != PM_OK)
		pm_raise(&st);
}

static void
say_graph(void *arg)
{
	errcontext("stored graph with graph_id %lld", (long long) *(int64 *) arg);
}

bool
pm_graph_from_row(int64 graph_id, Jsonb *doc, pm_arena *a, pm_graph *g, pm_status *st)
{
	ErrorContextCallback frame = {.previous = error_context_stack,.callback = say_graph,.arg = &graph_id};
	pm_status	why = {PM_OK};

	error_context_stack = &frame;
	if (read_doc(doc, a, g, &why) != PM_OK && why.code != PM_ERR_INPUT && why.code != PM_ERR_LIMIT)
		pm_raise(&why);
	error_context_stack = frame.previous;
	if (why.code == PM_OK)
		return true;
	pm_fail(st, why.code, "the document of graph %lld is none that load_graph takes: %s", (long long) graph_id, why.message);
	pm_hint(st, "It was stored in another way. Delete its measurements, and its row in perfmodel.graph.");
	return false;
}

/* ---------- load_graph ---------- */

/*
 * graph_id of a graph of this name, 0 when there is none.  The same document,
 * or another document of the same network (of another exporter, say), is the
 * same graph; any other is an error.
 */
static int64
find_same(const char *name, Datum doc, const char *structure)
{
	static pm_plan query = {
		"SELECT graph_id, structure OPERATOR(pg_catalog.=) $3 OR doc OPERATOR(pg_catalog.=) $2"
		" FROM perfmodel.graph WHERE name OPERATOR(pg_catalog.=) $1",
		3, {TEXTOID, JSONBOID, TEXTOID}
	};
	Datum		args[3];

	args[0] = CStringGetTextDatum(name);
	args[1] = doc;
	args[2] = CStringGetTextDatum(structure);
	if (pm_run(&query, args, NULL, false) == 0)
		return 0;
	if (!DatumGetBool(pm_value(0, 2, BOOLOID, NULL)))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("graph \"%s\" already exists with other content", name),
				 errhint("Give the new graph a name of its own, or delete the old one from perfmodel.graph first.")));
	return DatumGetInt64(pm_value(0, 1, INT8OID, NULL));
}

/* New row; 0 when another transaction was faster. */
static int64
insert_graph(Datum doc, const pm_graph *g, const char *structure)
{
	static pm_plan insert = {
		"INSERT INTO perfmodel.graph (name, model, family, source, nodes, params, unknown_ops, structure, doc)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) DO NOTHING RETURNING graph_id",
		9, {TEXTOID, TEXTOID, TEXTOID, TEXTOID, INT4OID, FLOAT8OID, INT4OID, TEXTOID, JSONBOID}
	};
	char	   *model = g->model[0] ? pstrdup(g->model) : pnstrdup(g->name, strcspn(g->name, "@"));
	Datum		args[9];

	args[0] = CStringGetTextDatum(pm_from_core(g->name));
	args[1] = CStringGetTextDatum(pm_from_core(model));
	args[2] = CStringGetTextDatum(pm_from_core(g->family));
	args[3] = CStringGetTextDatum(pm_from_core(g->source));
	args[4] = Int32GetDatum(g->n_nodes);
	/* what the document says counts: weights read by several nodes are not always marked as tied; but frozen ones are not trained */
	args[5] = Float8GetDatum(isnan(g->declared_params) || (g->frozen > 0 && g->params < g->declared_params) ? g->params : g->declared_params);
	args[6] = Int32GetDatum(g->n_unknown);
	args[7] = CStringGetTextDatum(structure);
	args[8] = doc;
	return pm_run(&insert, args, NULL, false) == 0 ? 0 : DatumGetInt64(pm_value(0, 1, INT8OID, NULL));
}

void
pm_check_graph_name(const char *name)
{
	if (name == NULL || pm_is_blank(name))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg(name == NULL || name[0] == '\0' ? "the graph has no name" : "the name of the graph is blank"),
				 errhint("Put \"name\" into the document, or give the name as an argument.")));
	if (strlen(name) > PM_MAX_NAME_LEN)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("the name of the graph is too long"),
				 errdetail("It has %zu bytes, and may have at most %d.", strlen(name), PM_MAX_NAME_LEN)));
}

/*
 * How many networks that are there under another name this statement has met,
 * with this one. A statement that loads a thousand graphs says so twice and
 * not a hundred times.
 */
static int
twins_of_statement(void)
{
	static TimestampTz statement = 0;
	static int	twins = 0;

	if (statement != GetCurrentStatementStartTimestamp())
		twins = 0;
	statement = GetCurrentStatementStartTimestamp();
	return ++twins;
}

/* Say so when a network is there under another name, however it came in. */
static void
notice_twins(int64 id, const char *structure)
{
	int			nth;

	static pm_plan query = {
		"SELECT name FROM perfmodel.graph WHERE structure OPERATOR(pg_catalog.=) $1"
		" AND graph_id OPERATOR(pg_catalog.<>) $2 ORDER BY graph_id LIMIT 1",
		2, {TEXTOID, INT8OID}
	};
	Datum		args[2];

	args[0] = CStringGetTextDatum(structure);
	args[1] = Int64GetDatum(id);
	if (pm_run(&query, args, NULL, false) == 0)
		return;
	nth = twins_of_statement();
	if (nth == 1)
		ereport(NOTICE,
				(errmsg("the same network is already stored as graph \"%s\"", pm_value_text(0, 1, CurrentMemoryContext))));
	else if (nth == 2)
		ereport(NOTICE,
				(errmsg("more networks of this statement are already stored; they are not listed"),
				 errdetail("Graphs of the same network have the same value in perfmodel.graph.structure.")));
}

int64
pm_store_graph(Datum doc, const pm_graph *g)
{
	const char *structure = psprintf("%016llx", (unsigned long long) g->structure);
	const char *name = pm_from_core(g->name);
	int64		id;

	SPI_connect();
	id = find_same(name, doc, structure);
	if (id == 0)
	{
		/* as it came, so that a compressed document stays compressed */
		id = insert_graph(doc, g, structure);
		if (id != 0)
		{
			pm_store_nodes(id, g);
			notice_twins(id, structure);
		}
		else
			id = find_same(name, doc, structure);
	}
	SPI_finish();
	if (id == 0)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("graph \"%s\" is being loaded and dropped by other transactions", name),
				 errhint("Try again. If that does not help, a trigger of yours on perfmodel.graph may keep rows away.")));
	return id;
}

/* The document stands where the name belongs, and no document where that does: load_onnx() has its name first. */
static void
check_order(Jsonb *doc, const char *given)
{
	if (!JB_ROOT_IS_OBJECT(doc) && given[strspn(given, " \t\r\n")] == '{')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the name of the graph is a document"),
				 errdetail("load_graph() has the document first and the name second; load_onnx() has the name first."),
				 errhint("Exchange the two, or name them: load_graph(name => ..., doc => ...).")));
}

/* given: the name to store it under, NULL: its own. */
static int64
load_document(Datum doc, const char *given)
{
	pm_status	st = {PM_OK};
	pm_arena	arena;
	pm_graph	graph;

	if (given != NULL)
	{
		check_order(DatumGetJsonbP(doc), given);
		pm_check_graph_name(given);
	}
	pm_context_arena(&arena, CurrentMemoryContext, 0);
	pm_graph_from_doc(DatumGetJsonbP(doc), &arena, &graph);
	if (given == NULL)
		pm_check_graph_name(graph.name);
	else if (pm_graph_rename(&graph, pm_to_core(given), &arena, &st) != PM_OK)
		pm_raise(&st);
	return pm_store_graph(doc, &graph);
}

Datum
pm_load_graph(PG_FUNCTION_ARGS)
{
	MemoryContext work;
	MemoryContext old;
	int64		id;

	pm_require_catalog();
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PreventCommandIfReadOnly("perfmodel.load_graph()");
	work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel load", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(work);
	id = load_document(PG_GETARG_DATUM(0), PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1)));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	PG_RETURN_INT64(id);
}

/* ---------- families ---------- */

Datum
pm_family_of(PG_FUNCTION_ARGS)
{
	char		family[PM_FAMILY_SIZE];

	pm_family(pm_to_core(text_to_cstring(PG_GETARG_TEXT_PP(0))), family, sizeof(family));
	PG_RETURN_TEXT_P(cstring_to_text(pm_from_core(family)));
}

/* ---------- graph_id ---------- */

#define EXPORT_HINT "run demo/sample_graphs.sql with psql for graphs of common networks, or python3 -m perfmodel_tools export for your own;" \
	" perfmodel.load_graph() and perfmodel.load_onnx() store single ones"

/* Whether name has the letters of word, in any case; whole: with no letter before and after them ("opt" is not in "adopted"). */
static bool
has_word(const char *name, const char *word, bool whole)
{
	size_t		len = strlen(word);

	for (const char *s = name; *s != '\0'; s++)
	{
		if (pg_strncasecmp(s, word, len) != 0)
			continue;
		if (!whole || ((s == name || !isalpha((unsigned char) s[-1])) && !isalpha((unsigned char) s[len])))
			return true;
	}
	return false;
}

/* Language models need no export: their sizes are enough. */
static const char *
decoder_hint(const char *name)
{
	static const struct
	{
		const char *word;
		bool		whole;
	}			families[] = {{"gpt", false}, {"llama", false}, {"mistral", false}, {"qwen", false}, {"opt", true}, {"bloom", false}, {"falcon", false}};

	for (int i = 0; i < (int) lengthof(families); i++)
		if (has_word(name, families[i].word, families[i].whole))
			return " For a language model, perfmodel.decoder_graph() makes the document from its sizes.";
	return "";
}

static char *
graph_hint(const char *name)
{
	static pm_plan query = {"SELECT name FROM perfmodel.graph ORDER BY name LIMIT 20000"};
	MemoryContext cxt = CurrentMemoryContext;
	const char **names;
	char	   *hint;
	uint64		n;

	SPI_connect();
	n = pm_run(&query, NULL, NULL, true);
	names = palloc(sizeof(char *) * Max(n, 1));
	for (uint64 i = 0; i < n; i++)
		names[i] = pm_value_text(i, 1, CurrentMemoryContext);
	hint = pm_did_you_mean(name, names, (int) n, "SELECT name FROM perfmodel.graph",
						   n == 0 ? EXPORT_HINT : "call perfmodel.load_graph() or perfmodel.load_onnx()");
	hint = MemoryContextStrdup(cxt, psprintf("%s%s", hint, decoder_hint(name)));
	SPI_finish();
	return hint;
}

/* 0: there is none. Inside SPI_connect(). */
static int64
id_of(Datum name)
{
	static pm_plan query = {
		"SELECT graph_id FROM perfmodel.graph WHERE name OPERATOR(pg_catalog.=) $1", 1, {TEXTOID}
	};

	return pm_run(&query, &name, NULL, true) == 0 ? 0 : DatumGetInt64(pm_value(0, 1, INT8OID, NULL));
}

int64
pm_graph_named(const char *name, pm_problem *p)
{
	int64		id;

	SPI_connect();
	id = id_of(CStringGetTextDatum(name));
	SPI_finish();
	if (id == 0)
		*p = (pm_problem) {
			"unknown_graph", ERRCODE_UNDEFINED_OBJECT, psprintf("unknown graph \"%s\"", pm_shown_name(name)), NULL, NULL,
			graph_hint, pstrdup(name)
		};
	return id;
}

Datum
pm_graph_id(PG_FUNCTION_ARGS)
{
	pm_problem	p;
	int64		id = pm_graph_named(text_to_cstring(PG_GETARG_TEXT_PP(0)), &p);

	if (id == 0)
		pm_problem_raise(&p);
	PG_RETURN_INT64(id);
}

Datum
pm_find_graph(PG_FUNCTION_ARGS)
{
	int64		id;

	SPI_connect();
	id = id_of(PG_GETARG_DATUM(0));
	SPI_finish();
	if (id == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(id);
}
