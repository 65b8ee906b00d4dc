/*
 * predictor_store.c - stores a trained predictor in its rows.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "context_arena.h"
#include "errors.h"
#include "kind_options.h"
#include "locks.h"
#include "plans.h"
#include "predictor/stored.h"
#include "results.h"
#include "training.h"

#define PART_BYTES	((Size) 64 * 1024 * 1024)

/*
 * The first predictor of a database becomes the active one.  Two first
 * trainings at once must not both, so they take turns here.
 */
static int64
insert_predictor(const pm_training *t)
{
	static pm_plan insert = {
		"INSERT INTO perfmodel.predictor (name, kind, active, options, seed, n_profiles, n_operators, profiles_hash, profiles,"
		" valid_n, valid_mape, valid_mae_ms, valid_rmse_ms, train_seconds, epochs, n_params, library_version,"
		" base_predictor_id, quantity, gpus, frameworks, dtypes, layouts, row_hashes)"
		" SELECT $1, $2, NOT EXISTS (SELECT 1 FROM perfmodel.predictor WHERE active AND quantity OPERATOR(pg_catalog.=) $22), $3, $4, $5, $21, $6, $7,"
		" $8, $9, $10, $11, $12, $13, $14, $15, $20, $22,"
		PM_DISTINCT_OF("$16") "," PM_DISTINCT_OF("$17") "," PM_DISTINCT_OF("$18") "," PM_DISTINCT_OF("$19") ","
		" CASE WHEN $20 IS NULL THEN $23 ELSE" PM_HASHES_WITH("$23", "$20") "END"
		" RETURNING predictor_id",
		23, {TEXTOID, TEXTOID, JSONBOID, INT8OID, INT4OID, TEXTOID, INT8ARRAYOID,
		INT4OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, INT4OID, INT8OID, TEXTOID,
		TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, INT8OID, INT4OID, TEXTOID, INT8ARRAYOID}
	};
	const pm_fit_report *r = &t->report;
	bool		judged = r->valid_n > 0;
	pm_args		a = {.n = 0};

	pm_arg(&a, CStringGetTextDatum(t->name));
	pm_arg(&a, CStringGetTextDatum(t->predictor.kind->name));
	pm_arg(&a, JsonbPGetDatum(pm_options_to_jsonb(t->predictor.kind, &t->predictor.options)));
	pm_arg(&a, Int64GetDatum((int64) t->seed));
	pm_arg(&a, Int32GetDatum(t->rows->set.n));
	pm_arg(&a, CStringGetTextDatum(psprintf("%016llx", (unsigned long long) t->rows->hash)));
	pm_arg(&a, pm_int8_array(t->rows->ids, t->rows->set.n));
	pm_arg(&a, Int32GetDatum(r->valid_n));
	pm_arg_float8(&a, judged ? r->valid_mape : NAN);
	pm_arg_float8(&a, judged ? r->valid_mae : NAN);
	pm_arg_float8(&a, judged ? r->valid_rmse : NAN);
	pm_arg_float8(&a, r->seconds);
	pm_arg(&a, Int32GetDatum(r->epochs));
	pm_arg(&a, Int64GetDatum(r->n_params));
	pm_arg(&a, CStringGetTextDatum(PM_VERSION));
	/* the words as they were read: the rows may have changed or gone meanwhile */
	pm_arg(&a, pm_text_array(t->rows->gpu, t->rows->set.n));
	pm_arg(&a, pm_text_array(t->rows->framework, t->rows->set.n));
	pm_arg(&a, pm_text_array(t->rows->dtype, t->rows->set.n));
	pm_arg(&a, pm_text_array(t->rows->layout, t->rows->set.n));
	if (t->start_id != 0)
		pm_arg(&a, Int64GetDatum(t->start_id));
	else
		pm_arg_null(&a);
	pm_arg(&a, Int32GetDatum(t->rows->set.n_operators));
	pm_arg_text(&a, pm_predictor_quantity(&t->predictor)->name);
	pm_arg(&a, pm_rows_hashes(t->rows));
	pm_lock_name("active predictor", "");
	pm_run_store(&insert, a.v, a.nulls, "predictor");
	return DatumGetInt64(pm_value(0, 1, INT8OID, NULL));
}

void
pm_weights_store(int64 predictor_id, const pm_predictor *p, const pm_dataset *rows)
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
	if (pm_predictor_save_proven(p, rows, &arena, &data, &len, &st) != PM_OK)
		pm_raise(&st);
	if (len > PM_MAX_STORED_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the predictor has %zu bytes, more than %zu", len, PM_MAX_STORED_BYTES)));
	for (size_t at = 0; at < len; at += PART_BYTES)
	{
		Size		n = Min(len - at, PART_BYTES);
		bytea	   *b = palloc(VARHDRSZ + n);

		SET_VARSIZE(b, VARHDRSZ + n);
		memcpy(VARDATA(b), data + at, n);
		v[0] = Int64GetDatum(predictor_id);
		v[1] = Int32GetDatum(part++);
		v[2] = PointerGetDatum(b);
		pm_run_store(&insert, v, NULL, "predictor_weights");
		pfree(b);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}

int64
pm_predictor_store(const pm_training *t)
{
	int64		id = insert_predictor(t);

	pm_weights_store(id, &t->predictor, &t->rows->set);
	return id;
}
