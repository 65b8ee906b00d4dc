/*
 * onnx_sql.c - ONNX models as graphs.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "catalog.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "graph/graph_finish.h"
#include "graph/graph_write.h"
#include "graphs.h"
#include "import/onnx/onnx.h"
#include "members.h"

PG_FUNCTION_INFO_V1(pm_load_onnx);
PG_FUNCTION_INFO_V1(pm_onnx_to_graph);

/* What the importer may take beside the model itself; a network of 200,000 nodes needs a tenth. */
#define IMPORT_LIMIT ((size_t) 1 << 30)

static int
batch_dim_of(FunctionCallInfo fcinfo, int arg)
{
	int			d = PG_ARGISNULL(arg) ? -1 : PG_GETARG_INT32(arg);

	if (!PG_ARGISNULL(arg) && (d < 0 || d >= PM_MAX_RANK))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("batch_dim is %d, but must lie between 0 and %d", d, PM_MAX_RANK - 1)));
	return d;
}

static void
bad_dims(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"dims\" must be a JSON object of positive whole numbers"),
			 errhint("For example '{\"sequence_length\": 128}'.")));
}

static int64_t
dim_value(const JsonbValue *v)
{
	double		n;

	if (v->type != jbvNumeric)
		bad_dims();
	n = pm_member_number(v);
	if (!(n >= 1 && n <= PM_MAX_DIM) || n != floor(n))
		bad_dims();
	return (int64_t) n;
}

/* {"name": size, ...} into o. */
static void
read_dims(Jsonb *dims, pm_onnx_options *o)
{
	pm_members	m;
	pm_onnx_dim *list;

	if (!JB_ROOT_IS_OBJECT(dims))
		bad_dims();
	list = palloc0(sizeof(pm_onnx_dim) * Max(JB_ROOT_COUNT(dims), 1));
	for (pm_members_begin(&m, dims); pm_next_member(&m);)
		list[o->n_dims++] = (pm_onnx_dim) {.name = pm_to_core(m.name), .value = dim_value(&m.value)};
	o->dims = list;
}

/* Text in place of a model, which begins with bytes that are no letters: its path, its base64, or its name. */
static bool
is_text(const char *bytes, size_t n)
{
	for (size_t i = 0; i < Min(n, 64); i++)
		if (bytes[i] < ' ' || bytes[i] > '~')
			return false;
	return n > 0;
}

/* Import a model; arguments from first on are batch_dim and dims. The document goes into *doc. */
static void
import_model(FunctionCallInfo fcinfo, int model, int first, const char *name, pm_arena *arena, pm_graph *g, Datum *doc)
{
	pm_onnx_options o = {.name = name, .batch_dim = batch_dim_of(fcinfo, first)};
	pm_text		text = {.arena = arena};
	pm_status	st = {PM_OK};
	bytea	   *bytes;
	pm_code		code;

	if (!PG_ARGISNULL(first + 1))
		read_dims(PG_GETARG_JSONB_P(first + 1), &o);
	/* may be the only copy of half a gigabyte: read where it lies */
	bytes = PG_GETARG_BYTEA_PP(model);
	pm_context_arena(arena, CurrentMemoryContext, IMPORT_LIMIT);
	code = pm_onnx_import(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), &o, arena, g, &st);
	if (code == PM_OK)
		code = pm_graph_write(g, &text, &st);
	if (code == PM_OK && name != NULL)
		code = pm_graph_rename(g, name, arena, &st);
	/* also interrupts that end nothing (a barrier, a memory dump that somebody asked for), which have waited */
	CHECK_FOR_INTERRUPTS();
	if (code == PM_ERR_INPUT && is_text(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)))
		pm_hint(&st, "The model, %s, is the content of the file as bytea, and no text: pg_read_binary_file('/path/on/the/server'), or decode('...', 'base64').",
				model == 1 ? "which comes after the name" : "the first argument");
	if (code != PM_OK)
		pm_raise(&st);
	*doc = DirectFunctionCall1(jsonb_in, CStringGetDatum(pm_from_core(text.s)));
}

/* The bytes of a model as they are written in SQL stand where the name belongs: load_graph() has its name at the end. */
static void
check_order(const char *name)
{
	if (strncmp(name, "\\x", 2) == 0 && strspn(name + 2, "0123456789abcdefABCDEF") == strlen(name + 2))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the name of the graph is a bytea, \"%s\"", pm_shown_name(name)),
				 errdetail("load_onnx() has the name first and the model second; load_graph() has the document first."),
				 errhint("Exchange the two, or name them: load_onnx(model => ..., name => ...).")));
}

Datum
pm_load_onnx(PG_FUNCTION_ARGS)
{
	MemoryContext work;
	MemoryContext old;
	pm_arena	arena;
	pm_graph	graph;
	char	   *name;
	Datum		doc;
	int64		id;

	pm_require_catalog();
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	PreventCommandIfReadOnly("perfmodel.load_onnx()");
	pm_require_catalog();
	work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel onnx", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(work);
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	check_order(name);
	pm_check_graph_name(name);
	import_model(fcinfo, 1, 2, pm_to_core(name), &arena, &graph, &doc);
	id = pm_store_graph(doc, &graph);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	PG_RETURN_INT64(id);
}

Datum
pm_onnx_to_graph(PG_FUNCTION_ARGS)
{
	MemoryContext work;
	MemoryContext old;
	pm_arena	arena;
	pm_graph	graph;
	Datum		doc;
	Jsonb	   *result;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel onnx", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(work);
	import_model(fcinfo, 0, 1, NULL, &arena, &graph, &doc);
	MemoryContextSwitchTo(old);
	result = (Jsonb *) PG_DETOAST_DATUM_COPY(doc);
	MemoryContextDelete(work);
	PG_RETURN_JSONB_P(result);
}
