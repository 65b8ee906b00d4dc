/*
 * worker.c - the background worker of one training.
 *
 * It does what train() does, in transactions of its own: one that reads the
 * request and the measurements, short ones that write how far it is, one that
 * stores the result.  Between those it holds no snapshot and no lock but that
 * of its run, so a training of hours keeps neither VACUUM nor DROP from their
 * work.  What fails in any of them is written into the row of the run.
 *
 * The worker works as the role that called train_async(), connected as the
 * session's user.  Settings that were made for interactive sessions (timeouts,
 * isolation level) do not apply to it, except for a statement_timeout that the
 * administrator has given the role or the database: that is a limit on what it
 * may use, and holds for the whole training.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"

#include "errors.h"
#include "plans.h"
#include "run_hooks.h"
#include "tables.h"
#include "training.h"

/* how long a worker waits for a lock on the row of its run, and how often when it writes how it ended */
#define LOCK_WAIT		"100ms"
#define LAST_WRITES		30

typedef struct job
{
	pm_worker_task task;
	MemoryContext cxt;			/* of everything that outlives a transaction */
	pm_training training;
	bool		cancelled;		/* before it began */
} job;

/* ---------- transactions ---------- */

static void
begin(const job *j)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	if (pm_table("training_run") != j->task.table)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the extension perfmodel was dropped and created again")));
	SPI_connect();
}

static void
commit(const job *j)
{
	SPI_finish();
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(false);
	MemoryContextSwitchTo(j->cxt);
}

/* After an error: what it was, in the job's memory, and no transaction. */
static ErrorData *
roll_back(const job *j)
{
	ErrorData  *e = pm_error_copy(j->cxt);

	AbortOutOfAnyTransaction();
	MemoryContextSwitchTo(j->cxt);
	return e;
}

static void
set_local(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
}

/* ---------- progress ---------- */

/*
 * Where the training is.  When somebody has locked the row or the table it is
 * not written this time: a training waits for nobody.  After any error there is
 * no transaction: the core must not return through one that is open.
 */
static void
write_progress(job *j, const char *phase, const pm_progress *p)
{
	MemoryContext old = CurrentMemoryContext;

	PG_TRY();
	{
		begin(j);
		set_local("lock_timeout", LOCK_WAIT);
		/* nobody needs to wait until it is on disk */
		set_local("synchronous_commit", "off");
		pm_run_progress(&j->training, phase, p);
		commit(j);
	}
	PG_CATCH();
	{
		ErrorData  *e = roll_back(j);

		if (e->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
			ReThrowError(e);
		FreeErrorData(e);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
}

/* Hook: once a second while training. */
static void
beat(void *arg, const pm_progress *p)
{
	write_progress(arg, p != NULL && p->fold > 0 ? "calibrating" : "training", p);
}

/* ---------- from start to end ---------- */

static void
set(const char *name, const char *value, GucContext context)
{
	if (GetConfigOption(name, true, false) != NULL)
		SetConfigOption(name, value, context, PGC_S_SESSION);
}

static void
set_up_session(const job *j)
{
	set("default_transaction_isolation", "read committed", PGC_USERSET);
	set("default_transaction_read_only", "off", PGC_USERSET);
	set("default_transaction_deferrable", "off", PGC_USERSET);
	set("lock_timeout", "0", PGC_USERSET);
	set("transaction_timeout", "0", PGC_USERSET);
	set("idle_in_transaction_session_timeout", "0", PGC_USERSET);
	set("application_name", "perfmodel", PGC_USERSET);
	set("perfmodel.train_threads", psprintf("%d", j->task.train_threads), PGC_USERSET);
	set("perfmodel.train_mem", psprintf("%d", j->task.train_mem_kb), PGC_SUSET);
	if (j->task.user != j->task.session_user)
	{
		StartTransactionCommand();
		SetCurrentRoleId(j->task.user, superuser_arg(j->task.user));
		CommitTransactionCommand();
	}
}

/* Wait for the end of the caller's transaction. A cancel meanwhile is remembered: there is no row yet to write it into. */
static void
await_caller(job *j)
{
	volatile bool over = false;

	while (!over)
	{
		PG_TRY();
		{
			SetCurrentStatementStartTimestamp();
			StartTransactionCommand();
			XactLockTableWait(j->task.caller, NULL, NULL, XLTW_None);
			CommitTransactionCommand();
			over = true;
		}
		PG_CATCH();
		{
			ErrorData  *e = roll_back(j);

			if (e->sqlerrcode != ERRCODE_QUERY_CANCELED)
				ReThrowError(e);
			j->cancelled = true;
		}
		PG_END_TRY();
	}
	MemoryContextSwitchTo(j->cxt);
}

/* The request from its row; false when it was rolled back. */
static bool
read_request(job *j)
{
	static pm_plan query = {
		"SELECT predictor, kind, profiles, options, started_at, warm_start FROM perfmodel.training_run"
		" WHERE run_id OPERATOR(pg_catalog.=) $1 AND status OPERATOR(pg_catalog.=) 'running'", 1, {INT8OID}
	};
	pm_training *t = &j->training;
	Datum		arg = Int64GetDatum(j->task.run_id);
	MemoryContext old;
	Jsonb	   *options;
	char	   *kind;
	Datum		profiles;
	bool		all;

	t->run_id = j->task.run_id;
	if (pm_run(&query, &arg, NULL, true) != 1)
		return false;
	old = MemoryContextSwitchTo(j->cxt);
	t->name = TextDatumGetCString(pm_value(0, 1, TEXTOID, NULL));
	profiles = pm_value(0, 3, INT8ARRAYOID, &all);
	t->profiles = all ? NULL : DatumGetArrayTypePCopy(profiles);
	t->started_at = DatumGetTimestampTz(pm_value(0, 5, TIMESTAMPTZOID, NULL));
	t->warm_start = pm_value_text_or_null(0, 6, j->cxt);
	kind = TextDatumGetCString(pm_value(0, 2, TEXTOID, NULL));
	options = DatumGetJsonbPCopy(pm_value(0, 4, JSONBOID, NULL));
	pm_training_choose(t, kind, options);
	MemoryContextSwitchTo(old);
	return true;
}

static void
read_measurements(job *j)
{
	MemoryContext old;

	begin(j);
	old = MemoryContextSwitchTo(j->cxt);
	pm_training_read(&j->training);
	MemoryContextSwitchTo(old);
	commit(j);
}

static void
store(job *j)
{
	int64		id;

	begin(j);
	pm_training_check(&j->training);
	id = pm_training_store(&j->training);
	commit(j);
	ereport(LOG,
			(errmsg("perfmodel training \"%s\" (run %lld) is finished: predictor_id %lld",
					j->training.name, (long long) j->task.run_id, (long long) id)));
}

static void
activity(const job *j, const char *what)
{
	pgstat_report_activity(STATE_RUNNING, psprintf("perfmodel training \"%s\": %s", j->training.name, what));
}

static void
train(job *j)
{
	pm_run_hooks hooks;

	if (j->cancelled)
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("training was cancelled before it began")));
	activity(j, "reading measurements");
	write_progress(j, "reading", NULL);
	read_measurements(j);
	activity(j, "training");
	write_progress(j, "training", NULL);
	pm_hooks_init(&hooks, psprintf("training \"%s\"", j->training.name));
	hooks.beat = beat;
	hooks.beat_arg = j;
	hooks.last_beat = pm_now();
	pm_training_fit(&j->training, &hooks);
	activity(j, "storing the predictor");
	store(j);
}

/* False: a lock, or another cancel, was in the way. */
static bool
write_failure(job *j, const ErrorData *why)
{
	volatile bool written = false;

	PG_TRY();
	{
		begin(j);
		set_local("lock_timeout", LOCK_WAIT);
		pm_run_fail(j->task.run_id, why);
		commit(j);
		written = true;
	}
	PG_CATCH();
	{
		ErrorData  *e = roll_back(j);

		if (e->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE && e->sqlerrcode != ERRCODE_QUERY_CANCELED)
			ReThrowError(e);
		FreeErrorData(e);
	}
	PG_END_TRY();
	return written;
}

/*
 * Write down why the training ended.  When somebody keeps the row locked, the
 * worker goes nevertheless: the run then counts as one that has lost its worker.
 */
static void
fail(job *j, const ErrorData *e)
{
	ereport(LOG,
			(errmsg("perfmodel training \"%s\" (run %lld) ended: %s", j->training.name, (long long) j->task.run_id,
					e->message)));
	disable_timeout(STATEMENT_TIMEOUT, false);
	for (int i = 0; i < LAST_WRITES; i++)
		if (write_failure(j, e))
			return;
	ereport(LOG,
			(errmsg("run %lld of perfmodel.training_run is locked: why it ended is not written there",
					(long long) j->task.run_id)));
}

/* The role's or the database's own limit in ms, 0: none. Inside SPI_connect(). */
static int
time_limit(void)
{
	static pm_plan query = {
		"SELECT setting::pg_catalog.int4 FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'statement_timeout'"
		" AND source OPERATOR(pg_catalog.=) ANY ('{database,user,database user}')"
	};

	return pm_run(&query, NULL, NULL, true) > 0 ? DatumGetInt32(pm_value(0, 1, INT4OID, NULL)) : 0;
}

static void
run(job *j)
{
	bool		found;
	int			limit;

	pgstat_report_activity(STATE_RUNNING, "perfmodel training: waiting for the transaction that started it");
	await_caller(j);
	begin(j);
	found = read_request(j);
	limit = time_limit();
	commit(j);
	if (found && limit > 0)
		enable_timeout_after(STATEMENT_TIMEOUT, limit);
	if (found)
		train(j);
}

void
pm_training_main(Datum arg)
{
	job		   *j = MemoryContextAllocZero(TopMemoryContext, sizeof(job));

	memcpy(&j->task, MyBgworkerEntry->bgw_extra, sizeof(j->task));
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	if (strcmp(j->task.version, PM_VERSION) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("perfmodel %.16s started a training, and the library is now %s", j->task.version, PM_VERSION),
				 errhint("Reconnect and start the training again.")));
	BackgroundWorkerInitializeConnectionByOid(j->task.database, j->task.session_user, 0);
	j->cxt = AllocSetContextCreate(TopMemoryContext, "perfmodel worker", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(j->cxt);
	j->training.name = "";
	set_up_session(j);
	pm_run_lock(j->task.table, j->task.run_id, j->task.user);
	PG_TRY();
	{
		run(j);
	}
	PG_CATCH();
	{
		fail(j, roll_back(j));
	}
	PG_END_TRY();
}
