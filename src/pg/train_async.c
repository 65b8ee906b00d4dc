/*
 * train_async.c - train_async() and cancel_training(): starting a background
 * worker for a training, and telling it to stop.
 *
 * The row of the run belongs to the transaction of the caller.  The worker is
 * started at once, so that the caller hears when there is none to be had; it
 * takes the lock of its run (train_run.c), then waits for the end of the
 * caller's transaction.  If the row is not there after that, the transaction
 * was rolled back, and the worker goes without a word.
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "compat.h"
#include "plans.h"
#include "settings.h"
#include "tables.h"
#include "training.h"

PG_FUNCTION_INFO_V1(pm_train_async);
PG_FUNCTION_INFO_V1(pm_cancel_training);
PG_FUNCTION_INFO_V1(pm_may_commit);

#define POLL_MS 5

/* ---------- starting ---------- */

static void
describe_task(pm_worker_task *task, int64 run_id)
{
	memset(task, 0, sizeof(*task));
	strlcpy(task->version, PM_VERSION, sizeof(task->version));
	task->database = MyDatabaseId;
	task->session_user = GetSessionUserId();
	task->user = GetUserId();
	task->table = pm_table("training_run");
	task->caller = GetTopTransactionId();
	task->train_threads = pm_train_threads;
	task->train_mem_kb = pm_train_mem_kb;
	task->run_id = run_id;
}

static BackgroundWorkerHandle *
launch(const pm_worker_task *task)
{
	BackgroundWorker w = {0};
	BackgroundWorkerHandle *handle;

	StaticAssertStmt(sizeof(pm_worker_task) <= BGW_EXTRALEN, "the task must fit into bgw_extra");
	snprintf(w.bgw_name, BGW_MAXLEN, "perfmodel training, run %lld", (long long) task->run_id);
	strlcpy(w.bgw_type, "perfmodel training", BGW_MAXLEN);
	w.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	w.bgw_start_time = BgWorkerStart_RecoveryFinished;
	w.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(w.bgw_library_name, "$libdir/perfmodel", sizeof(w.bgw_library_name));
	strlcpy(w.bgw_function_name, "pm_training_main", sizeof(w.bgw_function_name));
	memcpy(w.bgw_extra, task, sizeof(*task));
	w.bgw_notify_pid = MyProcPid;
	if (!RegisterDynamicBackgroundWorker(&w, &handle))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no background worker is free for the training"),
				 errdetail("max_worker_processes is %d, and all of them are in use, by trainings, parallel queries or replication.",
						   max_worker_processes),
				 errhint("Wait until one is free, raise max_worker_processes and restart the server, or train in the foreground with perfmodel.train.")));
	return handle;
}

/* Until the worker holds the lock of its run. */
static void
await_start(BackgroundWorkerHandle *handle, const pm_worker_task *task)
{
	for (;;)
	{
		pid_t		pid;
		BgwHandleStatus status = GetBackgroundWorkerPid(handle, &pid);

		if (status == BGWH_STARTED && pm_run_locked(task->table, task->run_id))
			return;
		if (status == BGWH_STOPPED || status == BGWH_POSTMASTER_DIED)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
					 errmsg("the background worker for the training could not start"),
					 errhint("The server log has the reason, such as a connection limit of the role or database.")));
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, POLL_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

static void
require_rights(void)
{
	pm_require_privilege("training_run", ACL_SELECT);
	pm_require_privilege("training_run", ACL_UPDATE);
	pm_require_privilege("profile", ACL_SELECT);
	pm_require_privilege("graph", ACL_SELECT);
}

Datum
pm_train_async(PG_FUNCTION_ARGS)
{
	pm_training t;
	pm_worker_task task;
	int64		run_id;

	PreventCommandIfReadOnly("perfmodel.train_async()");
	pm_training_args(fcinfo, &t);
	require_rights();
	SPI_connect();
	pm_training_check(&t);
	pm_run_bury_lost();
	run_id = pm_run_insert(&t, 0);
	SPI_finish();
	describe_task(&task, run_id);
	await_start(launch(&task), &task);
	PG_RETURN_INT64(run_id);
}

/* ---------- cancelling ---------- */

static void
require_run(int64 run_id)
{
	static pm_plan query = {
		"SELECT 1 FROM perfmodel.training_run WHERE run_id OPERATOR(pg_catalog.=) $1", 1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(run_id);

	if (pm_run(&query, &arg, NULL, true) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("unknown run %lld", (long long) run_id),
				 errhint("SELECT run_id, predictor, status FROM perfmodel.training_status lists them.")));
}

/* As for pg_cancel_backend. */
static void
require_membership(Oid owner)
{
	bool		allowed = superuser();

	if (!allowed && OidIsValid(owner) && !superuser_arg(owner))
		allowed = has_privs_of_role(GetUserId(), owner);
	if (!allowed && !(OidIsValid(owner) && superuser_arg(owner)))
		allowed = has_privs_of_role(GetUserId(), ROLE_PG_SIGNAL_BACKEND);
	if (!allowed)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be a member of the role that started the training, or of pg_signal_backend, to cancel it"),
				 errhint("The column trained_by of perfmodel.training_run names the role; trainings of superusers are cancelled by superusers.")));
}

Datum
pm_cancel_training(PG_FUNCTION_ARGS)
{
	int64		run_id = PG_GETARG_INT64(0);
	Oid			role;
	int			pid;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot cancel a training from a standby"),
				 errhint("Its worker runs on the primary: call perfmodel.cancel_training there.")));
	SPI_connect();
	require_run(run_id);
	pid = pm_run_worker(run_id, &role);
	if (pid != 0)
		require_membership(role);
	SPI_finish();
	PG_RETURN_BOOL(pid != 0 && kill(pid, SIGINT) == 0);
}

/* Asked by a procedure, which is what is connected to SPI then. */
Datum
pm_may_commit(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(PM_MAY_COMMIT);
}
