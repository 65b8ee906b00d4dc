/*
 * recalibrate_sql.c - recalibrate() and corrections(): a predictor fitted to
 * new measurements by a few numbers per device, as a new predictor;
 * card_factors(), those inside a step; and known_gpus(): the devices that a predictor knows.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "cache/freshness.h"
#include "cache/predictor_cache.h"
#include "catalog.h"
#include "context_arena.h"
#include "encoding.h"
#include "fit_cluster.h"
#include "locks.h"
#include "measurements.h"
#include "plans.h"
#include "results.h"
#include "run_hooks.h"
#include "training.h"
#include "kinds/cards.h"
#include "predictor/recalibrate.h"

PG_FUNCTION_INFO_V1(pm_recalibrate_sql);
PG_FUNCTION_INFO_V1(pm_corrections);
PG_FUNCTION_INFO_V1(pm_card_factors_sql);
PG_FUNCTION_INFO_V1(pm_known_gpus);

typedef struct request
{
	pm_predictor_ref base;
	char	   *base_name;
	pm_training t;				/* of the new predictor */
	bool	   *seen;			/* [rows] base was trained on a network of this structure */
	int			n_trained_on;	/* rows that base was trained on */
	ArrayType  *several;		/* measurements on several GPUs among those given, for clusters; NULL: none */
	pm_recalibration result;
} request;

/* ---------- what is asked for. Inside SPI_connect(). ---------- */

static void
find_name(request *q, MemoryContext cxt)
{
	static pm_plan query = {
		"SELECT name FROM perfmodel.predictor WHERE predictor_id OPERATOR(pg_catalog.=) $1", 1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(q->base.id);

	if (pm_run(&query, &arg, NULL, true) != 1)
		elog(ERROR, "predictor %lld has no row", (long long) q->base.id);
	q->base_name = pm_value_text(0, 1, cxt);
}

/* "x recalibrated", or "x recalibrated 2" when that exists, and so on. */
static char *
next_name(const char *base, MemoryContext cxt)
{
	static pm_plan query = {
		"SELECT w FROM (SELECT 1 AS i, $1 AS w UNION ALL"
		" SELECT i, pg_catalog.concat($1, ' ', i) FROM pg_catalog.generate_series(2, 100000) i) x"
		" WHERE NOT EXISTS (SELECT 1 FROM perfmodel.predictor p WHERE p.name OPERATOR(pg_catalog.=) w) ORDER BY i LIMIT 1",
		1, {TEXTOID}
	};
	Datum		arg = CStringGetTextDatum(psprintf("%s recalibrated", base));

	/* as of now, and not as of the statement that waits for others */
	if (pm_run(&query, &arg, NULL, false) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no free name for the new predictor"),
				 errhint("Choose a name: recalibrate(name => ...).")));
	return pm_value_text(0, 1, cxt);
}

/* The same, and locked: what another call has taken while this one waited for it is not free. */
static char *
free_name(const char *base, MemoryContext cxt)
{
	char	   *name = next_name(base, cxt);

	for (;;)
	{
		char	   *now;

		pm_lock_name("predictor", name);
		now = next_name(base, cxt);
		if (strcmp(now, name) == 0)
			return name;
		name = now;
	}
}

/* All that base was not trained on. */
static ArrayType *
new_profiles(const request *q, MemoryContext cxt)
{
	static pm_plan query = {
		"SELECT pg_catalog.array_agg(p.profile_id) FROM perfmodel.profile p"
		" WHERE p.world_size OPERATOR(pg_catalog.=) 1"
		" AND NOT p.profile_id OPERATOR(pg_catalog.=) ANY (SELECT perfmodel.learned_profiles($1, false))", 1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(q->base.id);
	bool		isnull;
	Datum		ids;
	MemoryContext old;
	ArrayType  *array;

	pm_run(&query, &arg, NULL, true);
	ids = pm_value(0, 1, INT8ARRAYOID, &isnull);
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there are no measurements that predictor \"%s\" has not learned from", q->base_name),
				 q->several != NULL ? errhint("Rows with world_size above 1 are for fit_cluster(); a predictor is recalibrated on steps on one device.") :
				 errhint("Add rows to perfmodel.profile, or choose some by recalibrate(profiles => ...).")));
	old = MemoryContextSwitchTo(cxt);
	array = DatumGetArrayTypePCopy(ids);
	MemoryContextSwitchTo(old);
	return array;
}

/* An array of a query's only row, in cxt; NULL for none. */
static ArrayType *
array_value(int col, MemoryContext cxt)
{
	bool		isnull;
	Datum		ids = pm_value(0, col, INT8ARRAYOID, &isnull);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	ArrayType  *array = isnull ? NULL : DatumGetArrayTypePCopy(ids);

	MemoryContextSwitchTo(old);
	return array;
}

/* Measurements on several GPUs are for clusters: those among q->t.profiles (NULL: all) go from there to q->several. */
static void
take_several(request *q, MemoryContext cxt)
{
	static pm_plan among_all = {
		"SELECT pg_catalog.array_agg(profile_id) FROM perfmodel.profile"
		" WHERE mode OPERATOR(pg_catalog.=) 'train' AND world_size OPERATOR(pg_catalog.>) 1"
	};
	static pm_plan among_given = {
		"SELECT pg_catalog.array_agg(u.id) FILTER (WHERE p.profile_id IS NOT NULL),"
		" pg_catalog.array_agg(u.id ORDER BY u.i) FILTER (WHERE p.profile_id IS NULL)"
		" FROM pg_catalog.unnest($1) WITH ORDINALITY AS u (id, i) LEFT JOIN perfmodel.profile AS p"
		" ON p.profile_id OPERATOR(pg_catalog.=) u.id AND p.mode OPERATOR(pg_catalog.=) 'train' AND p.world_size OPERATOR(pg_catalog.>) 1",
		1, {INT8ARRAYOID}
	};
	Datum		arg = PointerGetDatum(q->t.profiles);
	bool		all = q->t.profiles == NULL;

	pm_run(all ? &among_all : &among_given, all ? NULL : &arg, NULL, true);
	q->several = array_value(1, cxt);
	if (!all && q->several != NULL && (q->t.profiles = array_value(2, cxt)) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("all of these profiles are training steps on several devices"),
				 errhint("fit_cluster(profiles => ...) fits a cluster to them; a predictor is recalibrated on steps on one device.")));
}

static void
read_request(FunctionCallInfo fcinfo, request *q)
{
	MemoryContext cxt = CurrentMemoryContext;

	pm_require_catalog();
	pm_freshen();
	pm_predictor_get_own(PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0)), &q->base);
	q->t.started_at = GetCurrentTimestamp();
	q->t.predictor.kind = q->base.predictor->kind;
	q->t.threads = 1;
	q->t.name = PG_ARGISNULL(2) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(2));
	q->t.profiles = pm_some_profiles_arg(fcinfo, 1);
	SPI_connect();
	find_name(q, cxt);
	if (q->t.name == NULL)
		q->t.name = free_name(q->base_name, cxt);
	pm_training_check(&q->t);
	take_several(q, cxt);
	if (q->t.profiles == NULL)
		q->t.profiles = new_profiles(q, cxt);
	SPI_finish();
	q->t.rows = pm_rows_load(q->t.profiles, PM_ROWS_PASSES_APART, pm_predictor_merges(q->t.predictor.kind, &q->base.predictor->options),
							 (Size) pm_memory_limit());
	pm_rows_notice_times(q->t.rows);
	q->seen = palloc0(sizeof(bool) * Max(q->t.rows->set.n, 1));
	SPI_connect();
	q->n_trained_on = pm_mark_seen(q->base.id, false, q->t.rows, q->seen);
	SPI_finish();
}

/* ---------- fit ---------- */

static int
rows_of(const request *q)
{
	return q->t.rows->set.n + q->t.rows->set.n_passes;
}

static void
fit(request *q)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "perfmodel train", ALLOCSET_DEFAULT_SIZES);
	pm_fit_report *r = &q->t.report;
	double		started = pm_now();
	pm_run_hooks hooks;
	pm_status	st = {PM_OK};
	pm_arena	arena;
	pm_code		code;

	pm_context_arena(&arena, cxt, (size_t) pm_memory_limit());
	pm_hooks_init(&hooks, psprintf("recalibrating \"%s\"", q->base_name));
	code = pm_recalibrate(q->base.predictor, &q->t.rows->set, q->seen, &hooks.hooks, &arena, &q->t.predictor,
						  &q->result, &st);
	pm_hooks_finish(&hooks, code, &st);
	r->seconds = pm_now() - started;
	pm_rows_notice_far(q->t.rows, q->result.before);
	r->train_mape = NAN;
	r->n_params = q->result.n_numbers;
	r->valid_n = isnan(q->result.mape_after) ? 0 : rows_of(q);
	r->valid_mape = q->result.mape_after;
	r->valid_mae = q->result.mae_after;
	r->valid_rmse = q->result.rmse_after;
	q->t.memory_bytes = arena.used;
}

/* ---------- store. Inside SPI_connect(). ---------- */

static int64
insert_predictor(const request *q)
{
	static pm_plan insert = {
		"INSERT INTO perfmodel.predictor (name, kind, active, options, seed, n_profiles, n_operators, profiles_hash, profiles,"
		" base_predictor_id, recalibrated_on, valid_n, valid_mape, valid_mae_ms, valid_rmse_ms, train_seconds, epochs,"
		" n_params, library_version, quantity, gpus, frameworks, dtypes, layouts, row_hashes)"
		" SELECT $2, kind, false, options, seed, n_profiles, n_operators, profiles_hash, profiles, predictor_id, $3, $4, $5, $6, $7, $8, 0,"
		" n_params OPERATOR(pg_catalog.+) $9, $10, quantity,"
		PM_DISTINCT_OF("gpus OPERATOR(pg_catalog.||) $11") ","
		PM_DISTINCT_OF("frameworks OPERATOR(pg_catalog.||) $12") ","
		PM_DISTINCT_OF("dtypes OPERATOR(pg_catalog.||) $13") ","
		PM_DISTINCT_OF("layouts OPERATOR(pg_catalog.||) $14")  ", row_hashes"
		" FROM perfmodel.predictor WHERE predictor_id OPERATOR(pg_catalog.=) $1 RETURNING predictor_id",
		14, {INT8OID, TEXTOID, INT8ARRAYOID, INT4OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, INT8OID, TEXTOID,
		TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID}
	};
	const pm_rows *rows = q->t.rows;
	const pm_fit_report *r = &q->t.report;
	pm_args		a = {.n = 0};

	pm_arg(&a, Int64GetDatum(q->base.id));
	pm_arg_text(&a, q->t.name);
	pm_arg(&a, pm_int8_array(rows->ids, rows_of(q)));
	pm_arg(&a, Int32GetDatum(r->valid_n));
	pm_arg_float8(&a, r->valid_mape);
	pm_arg_float8(&a, r->valid_mae);
	pm_arg_float8(&a, r->valid_rmse);
	pm_arg_float8(&a, r->seconds);
	pm_arg(&a, Int64GetDatum(r->n_params));
	pm_arg_text(&a, PM_VERSION);
	pm_arg(&a, pm_text_array(rows->gpu, rows_of(q)));
	pm_arg(&a, pm_text_array(rows->framework, rows_of(q)));
	pm_arg(&a, pm_text_array(rows->dtype, rows_of(q)));
	pm_arg(&a, pm_text_array(rows->layout, rows_of(q)));
	if (pm_run(&insert, a.v, a.nulls, false) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("predictor \"%s\" was dropped meanwhile", q->base_name)));
	return DatumGetInt64(pm_value(0, 1, INT8OID, NULL));
}

static int64
store(const request *q)
{
	int64		id;

	SPI_connect();
	id = insert_predictor(q);
	pm_weights_store(id, &q->t.predictor, &q->t.rows->set);
	pm_run_insert(&q->t, id);
	SPI_finish();
	return id;
}

Datum
pm_recalibrate_sql(PG_FUNCTION_ARGS)
{
	request		q = {0};
	Datum		values[10];
	bool		nulls[10] = {false};

	PreventCommandIfReadOnly("perfmodel.recalibrate()");
	read_request(fcinfo, &q);
	fit(&q);
	values[0] = Int64GetDatum(store(&q));
	if (q.several != NULL)
		pm_fit_clusters_of(q.several, cstring_to_text(q.t.name));
	values[1] = CStringGetTextDatum(q.t.name);
	values[2] = Int32GetDatum(rows_of(&q));
	values[3] = Int32GetDatum(q.n_trained_on);
	values[4] = Int32GetDatum(q.result.structures);
	values[5] = pm_rounded_or_null(100 * q.result.mape_before, &nulls[5]);
	values[6] = pm_rounded_or_null(100 * q.result.mape_after, &nulls[6]);
	values[7] = pm_figure_or_null(q.result.mae_before, &nulls[7]);
	values[8] = pm_figure_or_null(q.result.mae_after, &nulls[8]);
	values[9] = Float8GetDatum(ceil(1000 * q.t.report.seconds) / 1000);
	return pm_record(fcinfo, values, nulls);
}

/* ---------- corrections() ---------- */

static void
add_row(pm_rows_out *out, const pm_device_correction *g, int dtype, int layout)
{
	Datum		values[8];
	bool		nulls[8] = {false};

	values[0] = CStringGetTextDatum(pm_message_from_core(g->gpu));
	values[1] = CStringGetTextDatum(pm_dtype_name[dtype]);
	values[2] = CStringGetTextDatum(pm_layout_name[layout]);
	values[3] = Int32GetDatum(g->used[dtype][layout]);
	values[4] = Int32GetDatum(g->structures);
	values[5] = pm_figure_or_null(exp(g->a + g->d[dtype][layout] + g->by_state[dtype][layout]), &nulls[5]);
	values[6] = pm_figure_or_null(exp(g->centre), &nulls[6]);
	values[7] = pm_figure_or_null(1 + g->b, &nulls[7]);
	pm_rows_add(out, values, nulls);
}

/* Begin the rows of a function of a predictor's name; its correction, NULL: it has none. */
static const pm_correction *
begin_of_correction(FunctionCallInfo fcinfo, pm_rows_out *out)
{
	pm_predictor_ref ref;

	pm_require_catalog();
	pm_rows_begin(fcinfo, out);
	pm_freshen();
	pm_predictor_get(PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0)), &ref);
	return ref.predictor->correction;
}

Datum
pm_corrections(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	const pm_correction *c = begin_of_correction(fcinfo, &out);

	for (int i = 0; c != NULL && i < c->n; i++)
		for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
			for (int layout = 0; layout < PM_N_LAYOUTS; layout++)
				if (c->device[i].used[dtype][layout] > 0)
					add_row(&out, &c->device[i], dtype, layout);
	return (Datum) 0;
}

/* ---------- card_factors() ---------- */

Datum
pm_card_factors_sql(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	const pm_correction *c = begin_of_correction(fcinfo, &out);

	for (int i = 0; c != NULL && i < c->n; i++)
		for (int k = 0; k < PM_N_FACTORS; k++)
		{
			bool		nulls[3] = {false};
			Datum		values[3] = {CStringGetTextDatum(pm_message_from_core(c->device[i].gpu)),
				CStringGetTextDatum(pm_state_names.names[k]), pm_figure_or_null(exp(c->device[i].state[k]), &nulls[2])};

			if (c->device[i].state[k] != 0)
				pm_rows_add(&out, values, nulls);
		}
	return (Datum) 0;
}

/* ---------- known_gpus() ---------- */

static void
add_known(pm_rows_out *out, const pm_trust *t, const char *gpu)
{
	const char *framework = pm_trust_gpu_framework(t, gpu);
	Datum		values[4] = {CStringGetTextDatum(pm_message_from_core(gpu)), Int32GetDatum(pm_trust_gpu_structures(t, gpu)),
		[3] = Int32GetDatum(pm_trust_pass_gpu_structures(t, gpu))};
	bool		nulls[4] = {[2] = framework == NULL};

	if (framework != NULL)
		values[2] = CStringGetTextDatum(pm_message_from_core(framework));
	pm_rows_add(out, values, nulls);
}

/* Whether forward passes of inference are what a device is known from. */
static bool
known_from_passes(const pm_trust *t, const char *gpu)
{
	return pm_trust_knows_passes(t, gpu) && pm_trust_gpu_structures(t, gpu) == 0;
}

static void
add_known_from_passes(pm_rows_out *out, const pm_trust *t)
{
	for (int i = 0; i < pm_trust_pass_gpu_count(t); i++)
		if (known_from_passes(t, pm_trust_pass_gpu(t, i)))
			add_known(out, t, pm_trust_pass_gpu(t, i));
}

/* Devices whose level single operators alone tell, each once. */
static void
add_known_from_operators(pm_rows_out *out, const pm_cards *c, const pm_trust *t)
{
	for (int i = 0; i < c->n; i++)
	{
		const char *gpu = c->level[i].gpu;
		bool		again = pm_cards_known(c, gpu) != PM_CARD_FROM_OPERATORS || pm_trust_gpu_structures(t, gpu) > 0 ||
			known_from_passes(t, gpu);

		for (int k = 0; k < i; k++)
			again = again || strcmp(c->level[k].gpu, gpu) == 0;
		if (!again)
			add_known(out, t, gpu);
	}
}

Datum
pm_known_gpus(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_predictor_ref ref;
	const pm_trust *t;

	pm_require_catalog();
	pm_rows_begin(fcinfo, &out);
	pm_freshen();
	pm_predictor_get(PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0)), &ref);
	t = ref.predictor->trust;
	for (int i = 0; i < pm_trust_gpu_count(t); i++)
		add_known(&out, t, pm_trust_gpu(t, i));
	add_known_from_passes(&out, t);
	if (pm_predictor_cards(ref.predictor) != NULL)
		add_known_from_operators(&out, pm_predictor_cards(ref.predictor), t);
	return (Datum) 0;
}
