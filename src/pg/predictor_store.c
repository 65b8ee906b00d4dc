/*
 * predictor_store.c - a trained predictor to its rows: predictor, weights, run.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "pm_pg.h"

#define PART_BYTES	((Size) 64 * 1024 * 1024)

/* Fill args[] and nulls[] of an SPI plan one after the other. */
typedef struct args
{
	Datum		v[PM_MAX_ARGS];
	char		nulls[PM_MAX_ARGS + 1];
	int			n;
} args;

static void
add(args *a, Datum v)
{
	a->v[a->n] = v;
	a->nulls[a->n++] = ' ';
}

/* NaN becomes null. */
static void
add_float8(args *a, double v)
{
	bool		isnull;

	a->v[a->n] = pm_float8_or_null(v, &isnull);
	a->nulls[a->n++] = isnull ? 'n' : ' ';
}

/*
 * The first predictor of a database becomes the active one.  Two first
 * trainings at once must not both, so they take turns here.
 */
static int64
insert_predictor(const pm_trained *t)
{
	static pm_plan insert = {
		"INSERT INTO perfmodel.predictor (name, kind, active, options, seed, n_profiles, profiles_hash, profiles,"
		" valid_n, valid_mape, valid_mae_ms, valid_rmse_ms, train_seconds, epochs, n_params, library_version,"
		" gpus, frameworks, dtypes, layouts)"
		" SELECT $1, $2, NOT EXISTS (SELECT 1 FROM perfmodel.predictor WHERE active), $3, $4, $5, $6, $7,"
		" $8, $9, $10, $11, $12, $13, $14, $15,"
		" COALESCE(pg_catalog.array_agg(DISTINCT p.gpu), '{}'),"
		" COALESCE(pg_catalog.array_agg(DISTINCT p.framework) FILTER (WHERE p.framework IS NOT NULL), '{}'),"
		" COALESCE(pg_catalog.array_agg(DISTINCT p.dtype), '{}'),"
		" COALESCE(pg_catalog.array_agg(DISTINCT p.layout), '{}')"
		" FROM perfmodel.profile p WHERE p.profile_id OPERATOR(pg_catalog.=) ANY ($7) RETURNING predictor_id",
		15, {TEXTOID, TEXTOID, JSONBOID, INT8OID, INT4OID, TEXTOID, INT8ARRAYOID,
		INT4OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, INT4OID, INT8OID, TEXTOID}
	};
	const pm_fit_report *r = t->report;
	bool		judged = r->valid_n > 0;
	args		a = {.n = 0};

	add(&a, CStringGetTextDatum(t->name));
	add(&a, CStringGetTextDatum(t->predictor->kind->name));
	add(&a, JsonbPGetDatum(pm_options_to_jsonb(t->predictor->kind, &t->predictor->options)));
	add(&a, Int64GetDatum((int64) t->seed));
	add(&a, Int32GetDatum(t->rows->set.n));
	add(&a, CStringGetTextDatum(psprintf("%016llx", (unsigned long long) t->rows->hash)));
	add(&a, pm_int8_array(t->rows->ids, t->rows->set.n));
	add(&a, Int32GetDatum(r->valid_n));
	add_float8(&a, judged ? r->valid_mape : NAN);
	add_float8(&a, judged ? r->valid_mae_ms : NAN);
	add_float8(&a, judged ? r->valid_rmse_ms : NAN);
	add_float8(&a, r->seconds);
	add(&a, Int32GetDatum(r->epochs));
	add(&a, Int64GetDatum(r->n_params));
	add(&a, CStringGetTextDatum(PM_VERSION));
	pm_lock_name("perfmodel.predictor", "active");
	if (pm_run(&insert, a.v, a.nulls, false) != 1)
		elog(ERROR, "predictor was not inserted");
	return DatumGetInt64(pm_value(0, 1, NULL));
}

static void
insert_weights(int64 predictor_id, const pm_predictor *p)
{
	static pm_plan insert = {
		"INSERT INTO perfmodel.predictor_weights (predictor_id, part, data) VALUES ($1, $2, $3)",
		3, {INT8OID, INT4OID, BYTEAOID}
	};
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "perfmodel save", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	pm_status	st = {PM_OK};
	pm_arena	arena;
	uint8	   *data;
	size_t		len;
	Datum		v[3];
	int			part = 0;

	pm_context_arena(&arena, cxt, 0);
	if (pm_predictor_save(p, &arena, &data, &len, &st) != PM_OK)
		pm_raise(&st);
	for (size_t at = 0; at < len; at += PART_BYTES)
	{
		Size		n = Min(len - at, PART_BYTES);
		bytea	   *b = palloc(VARHDRSZ + n);

		SET_VARSIZE(b, VARHDRSZ + n);
		memcpy(VARDATA(b), data + at, n);
		v[0] = Int64GetDatum(predictor_id);
		v[1] = Int32GetDatum(part++);
		v[2] = PointerGetDatum(b);
		pm_run(&insert, v, NULL, false);
		pfree(b);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}

static void
insert_run(int64 predictor_id, const pm_trained *t)
{
	static pm_plan insert = {
		"INSERT INTO perfmodel.training_run (predictor_id, predictor, kind, status, n_profiles, epochs, best_epoch,"
		" train_mape, valid_mape, threads, seconds, memory_bytes, started_at)"
		" VALUES ($1, $2, $3, 'finished', $4, $5, $6, $7, $8, $9, $10, $11, $12)",
		12, {INT8OID, TEXTOID, TEXTOID, INT4OID, INT4OID, INT4OID, FLOAT8OID, FLOAT8OID, INT4OID, FLOAT8OID,
		INT8OID, TIMESTAMPTZOID}
	};
	const pm_fit_report *r = t->report;
	args		a = {.n = 0};

	add(&a, Int64GetDatum(predictor_id));
	add(&a, CStringGetTextDatum(t->name));
	add(&a, CStringGetTextDatum(t->predictor->kind->name));
	add(&a, Int32GetDatum(t->rows->set.n));
	add(&a, Int32GetDatum(r->epochs));
	add(&a, Int32GetDatum(r->best_epoch));
	add_float8(&a, r->train_mape);
	add_float8(&a, r->valid_n > 0 ? r->valid_mape : NAN);
	add(&a, Int32GetDatum(t->threads));
	add_float8(&a, r->seconds);
	add(&a, Int64GetDatum((int64) t->memory_bytes));
	add(&a, TimestampTzGetDatum(t->started_at));
	pm_run(&insert, a.v, a.nulls, false);
}

int64
pm_predictor_store(const pm_trained *t)
{
	int64		id = insert_predictor(t);

	insert_weights(id, t->predictor);
	insert_run(id, t);
	return id;
}
