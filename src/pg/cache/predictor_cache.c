/*
 * predictor_cache.c - loaded predictors by id, and the id of a name.
 *
 * State: the last few look-ups "name -> id" (no name: the active one), each
 * with the generation it belongs to.  The predictors themselves are in cache.c
 * under their ids, whose contents never change.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "cache/cache.h"
#include "cache/freshness.h"
#include "cache/predictor_cache.h"
#include "compat.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "plans.h"
#include "predictor/stored.h"

#define N_NAMES		8
#define NAME_SIZE	128			/* longer names are looked up every time */

typedef struct known_name
{
	uint64		generation;		/* 0: free */
	bool		active;			/* asked for the active one, not by name */
	char		name[NAME_SIZE];
	int64		id;
	TimestampTz born;
} known_name;

static known_name known[N_NAMES];
static int	next_known = 0;

/* ---------- name -> id ---------- */

static char *
predictor_hint(const char *name)
{
	/* one that another transaction has just dropped may still be seen here */
	static pm_plan query = {
		"SELECT name FROM perfmodel.predictor WHERE name OPERATOR(pg_catalog.<>) $1 ORDER BY name LIMIT 20000", 1, {TEXTOID}
	};
	Datum		arg = CStringGetTextDatum(name);
	const char **names;
	uint64		n = pm_run(&query, &arg, NULL, true);

	names = palloc(sizeof(char *) * Max(n, 1));
	for (uint64 i = 0; i < n; i++)
		names[i] = pm_value_text(i, 1, CurrentMemoryContext);
	return pm_did_you_mean(name, names, (int) n, "SELECT name FROM perfmodel.predictor",
						   strcmp(name, "pretrained") == 0 ? "CREATE EXTENSION perfmodel_pretrained" : "call perfmodel.train()");
}

/* Inside SPI_connect(). */
void
pm_no_such_predictor(const char *name)
{
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no predictor is active"),
				 errhint("CREATE EXTENSION perfmodel_pretrained adds a trained one; perfmodel.train('name') trains one; "
						 "perfmodel.activate_predictor('name') activates one that exists.")));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("unknown predictor \"%s\"", pm_shown_name(name)),
			 errhint("%s", predictor_hint(name))));
}

static known_name
ask(const char *name)
{
	static pm_plan by_name = {
		"SELECT predictor_id, trained_at FROM perfmodel.predictor WHERE name OPERATOR(pg_catalog.=) $1",
		1, {TEXTOID}
	};
	static pm_plan active = {
		/* the last one: one that came trained stays active in a copy of a database in which another one was */
		"SELECT predictor_id, trained_at FROM perfmodel.predictor WHERE active AND quantity OPERATOR(pg_catalog.=) 'step_ms'"
		" ORDER BY predictor_id DESC LIMIT 1"
	};
	known_name	k = {0};
	Datum		arg = name ? CStringGetTextDatum(name) : (Datum) 0;

	SPI_connect();
	if (pm_run(name ? &by_name : &active, &arg, NULL, true) == 0)
		pm_no_such_predictor(name);
	k.generation = pm_generation;
	k.active = name == NULL;
	if (name != NULL)
		strlcpy(k.name, name, NAME_SIZE);
	k.id = DatumGetInt64(pm_value(0, 1, INT8OID, NULL));
	k.born = DatumGetTimestampTz(pm_value(0, 2, TIMESTAMPTZOID, NULL));
	SPI_finish();
	return k;
}

static known_name
resolve(const char *name)
{
	known_name	k;

	for (int i = 0; i < N_NAMES; i++)
		if (known[i].generation == pm_generation && known[i].active == (name == NULL) &&
			(name == NULL || strcmp(known[i].name, name) == 0))
			return known[i];
	k = ask(name);
	if (name == NULL || strlen(name) < NAME_SIZE)
	{
		known[next_known] = k;
		next_known = (next_known + 1) % N_NAMES;
	}
	return k;
}

/* ---------- predictors that cannot be loaded. Inside SPI_connect(). ---------- */

/* Its predictor_id, where the row is not there any more. */
static char *
name_of(int64 id)
{
	static pm_plan query = {
		"SELECT name FROM perfmodel.predictor WHERE predictor_id OPERATOR(pg_catalog.=) $1", 1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(id);

	return pm_run(&query, &arg, NULL, true) > 0 ? pm_value_text(0, 1, CurrentMemoryContext) : psprintf("%lld", (long long) id);
}

/* How to go on without predictor `id`, in the current context. */
static char *
way_out(int64 id, const char *name)
{
	if (id < 0)
		return pstrdup("DROP EXTENSION perfmodel_pretrained and then CREATE EXTENSION perfmodel_pretrained store it anew; "
					   "perfmodel.activate_predictor('name') makes another one answer.");
	return psprintf("perfmodel.activate_predictor('name') makes another one answer; perfmodel.drop_predictor(%s) removes this one, "
					"and perfmodel.train(%s) makes it anew.", quote_literal_cstr(name), quote_literal_cstr(name));
}

/* For what is wrong with its weights, say whose they are, and how to go on where nothing else is advised. */
pg_noreturn static void
refuse_weights(int64 id, pm_status *st)
{
	const char *name;

	if (st->code != PM_ERR_FORMAT && st->code != PM_ERR_OUTDATED)
		pm_raise(st);
	name = name_of(id);
	ereport(ERROR,
			(errcode(st->code == PM_ERR_FORMAT ? ERRCODE_DATA_CORRUPTED : ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("predictor \"%s\" cannot be read: %s", name, pm_message_from_core(st->message)),
			 st->detail[0] ? errdetail_internal("%s", pm_message_from_core(st->detail)) : 0,
			 errhint("%s", st->hint[0] ? pm_message_from_core(st->hint) : way_out(id, name))));
}

pg_noreturn static void
refuse_without_weights(int64 id)
{
	const char *name = name_of(id);

	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("predictor \"%s\" has no weights", name),
			 errdetail("This role sees no row of perfmodel.predictor_weights with predictor_id %lld.", (long long) id),
			 errhint("%s", way_out(id, name))));
}

pg_noreturn static void
refuse_size(int64 id, Size bytes)
{
	const char *name = name_of(id);

	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("predictor \"%s\" has %zu bytes, more than %zu", name, bytes, PM_MAX_STORED_BYTES),
			 errhint("%s", way_out(id, name))));
}

/* ---------- id -> predictor ---------- */

/* Rows of SPI's result, one part of predictor `id` each, as one piece. */
static uint8 *
join_parts(int64 id, Size *len)
{
	uint8	   *data;
	Size		at = 0;

	*len = 0;
	for (uint64 i = 0; i < SPI_processed; i++)
		*len += toast_raw_datum_size(pm_value(i, 1, BYTEAOID, NULL)) - VARHDRSZ;
	/* parts that somebody has compressed may be a thousand times as large as what they take on disk */
	if (*len > PM_MAX_STORED_BYTES)
		refuse_size(id, *len);
	data = MemoryContextAllocHuge(CurrentMemoryContext, Max(*len, 1));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		stored = pm_value(i, 1, BYTEAOID, NULL);
		bytea	   *part = DatumGetByteaPP(stored);

		memcpy(data + at, VARDATA_ANY(part), VARSIZE_ANY_EXHDR(part));
		at += VARSIZE_ANY_EXHDR(part);
		if (PointerGetDatum(part) != stored)
			pfree(part);
	}
	Assert(at == *len);
	return data;
}

/* Returns the number of their parts. */
static int64
load_weights(int64 id, pm_arena *a, pm_predictor *p)
{
	static pm_plan query = {
		"SELECT data FROM perfmodel.predictor_weights WHERE predictor_id OPERATOR(pg_catalog.=) $1 ORDER BY part",
		1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(id);
	pm_status	st = {PM_OK};
	int64		parts = (int64) pm_run(&query, &arg, NULL, true);
	uint8	   *data;
	Size		len;

	if (parts == 0)
		refuse_without_weights(id);
	data = join_parts(id, &len);
	if (pm_predictor_load(data, len, a, p, &st) != PM_OK)
		refuse_weights(id, &st);
	pfree(data);
	return parts;
}

/* Whether the rows of the weights of e are there still, for this user. */
static bool
weights_still_there(const pm_cached *e)
{
	static pm_plan query = {
		/* the data for the right to read them */
		"SELECT pg_catalog.count(data) FROM perfmodel.predictor_weights WHERE predictor_id OPERATOR(pg_catalog.=) $1",
		1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(e->key.id);
	bool		all;

	SPI_connect();
	all = pm_run(&query, &arg, NULL, true) == 1 && DatumGetInt64(pm_value(0, 1, INT8OID, NULL)) == e->parts;
	SPI_finish();
	return all;
}

void
pm_predictor_get(const char *name, pm_predictor_ref *ref)
{
	known_name	k = resolve(name);
	pm_cached_key key = {PM_CACHED_PREDICTOR, k.id};
	pm_cached  *e = pm_cache_find(&key);

	if (e != NULL && (e->born != k.born || (e->checked != pm_generation && !weights_still_there(e))))
	{
		pm_cache_drop(e);
		e = NULL;
	}
	if (e == NULL)
	{
		SPI_connect();
		e = pm_cache_make(&key);
		e->born = k.born;
		e->parts = load_weights(k.id, &e->arena, &e->predictor);
		pm_cache_keep(e);
		SPI_finish();
	}
	e->checked = pm_generation;
	ref->id = k.id;
	ref->predictor = &e->predictor;
	ref->entry = e;
}

void
pm_predictor_get_own(const char *name, pm_predictor_ref *ref)
{
	pm_predictor *p = palloc0(sizeof(pm_predictor));
	pm_arena	arena;

	pm_context_arena(&arena, CurrentMemoryContext, 0);
	ref->id = resolve(name).id;
	ref->predictor = p;
	ref->entry = NULL;
	SPI_connect();
	load_weights(ref->id, &arena, p);
	SPI_finish();
}
