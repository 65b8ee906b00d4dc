/*
 * train_run.c - rows of perfmodel.training_run, and whether the worker of a
 * run lives.
 *
 * A worker holds a lock on its run for as long as it lives, whatever becomes of
 * it, and takes it before anybody else can see the row.  So a row that says
 * "running" whose lock is free has lost its worker.  The lock is an advisory
 * one, because those outlive the end of a transaction by error, with a last
 * field that the SQL functions for advisory locks cannot set.
 *
 * A second lock of the same sort says as which role the worker works.  The
 * column trained_by says so too, but whoever may update the table may write
 * there what he likes; nobody can take these locks but a worker.
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "plans.h"
#include "tables.h"
#include "training.h"

PG_FUNCTION_INFO_V1(pm_training_lost);

/* last field of the locks; SQL's advisory locks have 1 and 2 */
#define LOCK_OF_RUN		3
#define LOCK_OF_ROLE	4

/* ---------- the lock of a run ---------- */

static LOCKTAG
run_tag(Oid table, int64 run_id)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, table, (uint32) run_id, LOCK_OF_RUN);
	return tag;
}

void
pm_run_lock(Oid table, int64 run_id, Oid role)
{
	LOCKTAG		tag = run_tag(table, run_id);
	LOCKTAG		role_tag;

	/* several workers of one role may have run numbers with the same last 32 bits, in tables that are gone */
	SET_LOCKTAG_ADVISORY(role_tag, MyDatabaseId, (uint32) run_id, role, LOCK_OF_ROLE);
	(void) LockAcquire(&role_tag, ShareLock, true, false);
	/* waits only for those who are just looking whether it is free */
	(void) LockAcquire(&tag, ExclusiveLock, true, false);
}

int
pm_run_worker(int64 run_id, Oid *role)
{
	static pm_plan query = {
		"SELECT run.pid, role.objid FROM pg_catalog.pg_locks run JOIN pg_catalog.pg_locks role"
		" ON role.pid OPERATOR(pg_catalog.=) run.pid"
		" WHERE run.locktype OPERATOR(pg_catalog.=) 'advisory' AND run.database OPERATOR(pg_catalog.=) $1"
		" AND run.classid OPERATOR(pg_catalog.=) $2 AND run.objid OPERATOR(pg_catalog.=) $3"
		" AND run.objsubid OPERATOR(pg_catalog.=) 3 AND run.mode OPERATOR(pg_catalog.=) 'ExclusiveLock' AND run.granted"
		" AND role.locktype OPERATOR(pg_catalog.=) 'advisory' AND role.database OPERATOR(pg_catalog.=) $1"
		" AND role.classid OPERATOR(pg_catalog.=) $3 AND role.objsubid OPERATOR(pg_catalog.=) 4 AND role.granted",
		3, {OIDOID, OIDOID, OIDOID}
	};
	Datum		args[3];

	args[0] = ObjectIdGetDatum(MyDatabaseId);
	args[1] = ObjectIdGetDatum(pm_table("training_run"));
	args[2] = ObjectIdGetDatum((Oid) run_id);
	if (pm_run(&query, args, NULL, true) == 0)
		return 0;
	*role = DatumGetObjectId(pm_value(0, 2, OIDOID, NULL));
	return DatumGetInt32(pm_value(0, 1, INT4OID, NULL));
}

bool
pm_run_locked(Oid table, int64 run_id)
{
	LOCKTAG		tag = run_tag(table, run_id);

	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, ShareLock, false);
	return false;
}

/* Whether the newest state of the row is "running". Inside SPI_connect(). */
static bool
says_running(int64 run_id)
{
	static pm_plan query = {
		"SELECT 1 FROM perfmodel.training_run"
		" WHERE run_id OPERATOR(pg_catalog.=) $1 AND status OPERATOR(pg_catalog.=) 'running'", 1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(run_id);
	bool		running;

	PushActiveSnapshot(GetLatestSnapshot());
	running = pm_run(&query, &arg, NULL, true) > 0;
	PopActiveSnapshot();
	return running;
}

/*
 * The lock first, then the row: a worker writes how it ended before it lets go
 * of the lock, but the caller's snapshot may be older than that.
 */
Datum
pm_training_lost(PG_FUNCTION_ARGS)
{
	int64		run_id = PG_GETARG_INT64(0);
	bool		lost;

	if (RecoveryInProgress())
		PG_RETURN_NULL();
	if (pm_run_locked(pm_table("training_run"), run_id))
		PG_RETURN_BOOL(false);
	SPI_connect();
	lost = says_running(run_id);
	SPI_finish();
	PG_RETURN_BOOL(lost);
}

void
pm_run_bury_lost(void)
{
	static pm_plan query = {
		"UPDATE perfmodel.training_run SET status = 'failed', finished_at = pg_catalog.clock_timestamp(),"
		" seconds_left = NULL, error_code = '57P02',"
		" error_message = 'the background worker is gone: the server crashed or was restarted, or the worker was terminated'"
		" WHERE run_id OPERATOR(pg_catalog.=) ANY (ARRAY("
		"SELECT run_id FROM perfmodel.training_run WHERE status OPERATOR(pg_catalog.=) 'running'"
		" AND perfmodel.training_lost(run_id) FOR UPDATE SKIP LOCKED))"
	};

	pm_run(&query, NULL, NULL, false);
}

void
pm_run_refuse_twin(const char *name)
{
	static pm_plan query = {
		"SELECT run_id FROM perfmodel.training_run WHERE predictor OPERATOR(pg_catalog.=) $1"
		" AND status OPERATOR(pg_catalog.=) 'running' AND NOT perfmodel.training_lost(run_id)", 1, {TEXTOID}
	};
	Datum		arg = CStringGetTextDatum(name);
	int64		run_id;

	if (pm_run(&query, &arg, NULL, false) == 0)
		return;
	run_id = DatumGetInt64(pm_value(0, 1, INT8OID, NULL));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("predictor \"%s\" is being trained in the background", name),
			 errdetail("It is run %lld of perfmodel.training_status.", (long long) run_id),
			 errhint("Wait for it, choose another name, or end it: SELECT perfmodel.cancel_training(%lld).",
					 (long long) run_id)));
}

/* ---------- the row ---------- */

#define N_RESULTS	10

static void
add_results(pm_args *a, const pm_training *t)
{
	const pm_fit_report *r = &t->report;

	pm_arg(a, Int32GetDatum(t->rows->set.n));
	pm_arg(a, Int32GetDatum(r->epochs));
	pm_arg(a, Int32GetDatum(r->best_epoch));
	pm_arg_float8(a, r->train_mape);
	pm_arg_float8(a, r->valid_n > 0 ? r->valid_mape : NAN);
	pm_arg(a, Int32GetDatum(t->threads));
	pm_arg_float8(a, r->seconds);
	pm_arg(a, Int64GetDatum((int64) t->memory_bytes));
	pm_arg_float8(a, t->last.epoch > 0 ? t->last.loss : NAN);
	pm_arg_float8(a, t->last.epoch > 0 ? t->last.rate : NAN);
}

static void
add_no_results(pm_args *a)
{
	for (int i = 0; i < N_RESULTS; i++)
		pm_arg_null(a);
}

int64
pm_run_insert(const pm_training *t, int64 predictor_id)
{
	static pm_plan insert = {
		"INSERT INTO perfmodel.training_run (background, status, phase, predictor_id, predictor, kind, profiles, options, warm_start,"
		" started_at, finished_at, heartbeat_at,"
		" n_profiles, epoch, epochs, best_epoch, train_mape, valid_mape, threads, seconds, memory_bytes,"
		" loss, learning_rate)"
		" SELECT b, CASE WHEN b THEN 'running' ELSE 'finished' END, CASE WHEN b THEN 'starting' ELSE 'done' END,"
		" $1, $2, $3, $4, $5, $17, $6, CASE WHEN b THEN NULL ELSE now END, CASE WHEN b THEN now END,"
		" $7, $8, $8, $9, $10, $11, $12, $13, $14, $15, $16"
		" FROM (SELECT $1 IS NULL AS b, pg_catalog.clock_timestamp() AS now) x RETURNING run_id",
		17, {INT8OID, TEXTOID, TEXTOID, INT8ARRAYOID, JSONBOID, TIMESTAMPTZOID, INT4OID, INT4OID, INT4OID,
		FLOAT8OID, FLOAT8OID, INT4OID, FLOAT8OID, INT8OID, FLOAT8OID, FLOAT8OID, TEXTOID}
	};
	pm_args		a = {.n = 0};

	if (predictor_id != 0)
		pm_arg(&a, Int64GetDatum(predictor_id));
	else
		pm_arg_null(&a);
	pm_arg_text(&a, t->name);
	pm_arg_text(&a, t->predictor.kind->name);
	if (t->profiles != NULL)
		pm_arg(&a, PointerGetDatum(t->profiles));
	else
		pm_arg_null(&a);
	pm_arg(&a, t->settings != NULL ? JsonbPGetDatum(t->settings) :
		   DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
	pm_arg(&a, TimestampTzGetDatum(t->started_at));
	if (predictor_id != 0)
		add_results(&a, t);
	else
		add_no_results(&a);
	pm_arg_text(&a, t->warm_start);
	pm_run_store(&insert, a.v, a.nulls, "training_run");
	return DatumGetInt64(pm_value(0, 1, INT8OID, NULL));
}

/* For an update that must have found its row. */
static void
expect_row(uint64 n, int64 run_id)
{
	if (n != 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("run %lld is not in perfmodel.training_run any more, or not as running", (long long) run_id)));
}

void
pm_run_finish(const pm_training *t, int64 predictor_id)
{
	static pm_plan update = {
		"UPDATE perfmodel.training_run SET status = 'finished', phase = 'done', seconds_left = NULL, fold = NULL,"
		" finished_at = pg_catalog.clock_timestamp(), heartbeat_at = pg_catalog.clock_timestamp(),"
		" predictor_id = $2, n_profiles = $3, epoch = $4, epochs = $4, best_epoch = $5, train_mape = $6, valid_mape = $7,"
		" threads = $8, seconds = $9, memory_bytes = $10, loss = $11, learning_rate = $12"
		" WHERE run_id OPERATOR(pg_catalog.=) $1 AND status OPERATOR(pg_catalog.=) 'running'",
		12, {INT8OID, INT8OID, INT4OID, INT4OID, INT4OID, FLOAT8OID, FLOAT8OID, INT4OID, FLOAT8OID, INT8OID,
		FLOAT8OID, FLOAT8OID}
	};
	pm_args		a = {.n = 0};

	pm_arg(&a, Int64GetDatum(t->run_id));
	pm_arg(&a, Int64GetDatum(predictor_id));
	add_results(&a, t);
	expect_row(pm_run(&update, a.v, a.nulls, false), t->run_id);
}

/* 0 becomes null. */
static void
add_count(pm_args *a, int n)
{
	if (n > 0)
		pm_arg(a, Int32GetDatum(n));
	else
		pm_arg_null(a);
}

void
pm_run_progress(const pm_training *t, const char *phase, const pm_progress *p)
{
	static pm_plan update = {
		"UPDATE perfmodel.training_run SET phase = $2, epoch = $3, epochs = $4, loss = $5, valid_mape = $6,"
		" learning_rate = $7, seconds_left = $8, fold = $9, folds = $10, n_profiles = $11, threads = $12, memory_bytes = $13,"
		" seconds = pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) started_at),"
		" heartbeat_at = pg_catalog.clock_timestamp()"
		" WHERE run_id OPERATOR(pg_catalog.=) $1 AND status OPERATOR(pg_catalog.=) 'running'",
		13, {INT8OID, TEXTOID, INT4OID, INT4OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, INT4OID, INT4OID, INT4OID,
		INT4OID, INT8OID}
	};
	pm_args		a = {.n = 0};

	pm_arg(&a, Int64GetDatum(t->run_id));
	pm_arg_text(&a, phase);
	add_count(&a, p ? p->epoch : 0);
	add_count(&a, p ? p->epochs : 0);
	pm_arg_float8(&a, p ? p->loss : NAN);
	pm_arg_float8(&a, p ? p->valid_mape : NAN);
	pm_arg_float8(&a, p ? p->rate : NAN);
	pm_arg_float8(&a, p ? p->left_s : NAN);
	add_count(&a, p ? p->fold : 0);
	add_count(&a, p ? p->folds : 0);
	add_count(&a, t->rows ? t->rows->set.n : 0);
	add_count(&a, t->threads);
	if (t->rows != NULL)
		pm_arg(&a, Int64GetDatum((int64) t->memory_bytes));
	else
		pm_arg_null(&a);
	expect_row(pm_run(&update, a.v, a.nulls, false), t->run_id);
}

void
pm_run_fail(int64 run_id, const ErrorData *e)
{
	static pm_plan update = {
		"UPDATE perfmodel.training_run SET status = $2, seconds_left = NULL, finished_at = pg_catalog.clock_timestamp(),"
		" seconds = pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) started_at),"
		" error_code = $3, error_message = $4, error_detail = $5, error_hint = $6"
		" WHERE run_id OPERATOR(pg_catalog.=) $1 AND status OPERATOR(pg_catalog.=) 'running'",
		6, {INT8OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID}
	};
	pm_args		a = {.n = 0};

	pm_arg(&a, Int64GetDatum(run_id));
	pm_arg_text(&a, e->sqlerrcode == ERRCODE_QUERY_CANCELED ? "cancelled" : "failed");
	pm_arg_text(&a, unpack_sql_state(e->sqlerrcode));
	pm_arg_text(&a, e->message);
	pm_arg_text(&a, e->detail);
	pm_arg_text(&a, e->hint);
	pm_run(&update, a.v, a.nulls, false);
}
