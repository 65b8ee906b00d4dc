/*
 * freshness.c - whether the contents of a session's cache are still valid.
 *
 * A session remembers data sheets, which predictor has which name and which is
 * active, which graphs exist, and answers given (memo).  All of that belongs
 * to one "generation"; a change of generation makes it worthless.  Weights and
 * parsed graphs are kept under ids whose contents never change; of them, only
 * the check that the row is there belongs to a generation.
 *
 * Statement triggers on the tables send relcache invalidations, which reach
 * every session when the change is committed, and standbys too.  The callback
 * only sets a flag.  Rollbacks set it as well: what was looked up inside the
 * transaction may never have been.
 *
 * That alone is not enough.  A statement whose snapshot was taken before the
 * change can run on after its session has received the invalidation (a
 * REPEATABLE READ transaction, or simply a long query); what it looks up then
 * is old, and nothing would ever throw it away again.  So after an
 * invalidation the state "now" is noted down as the horizon:
 *   - a snapshot not older than the horizon sees the change; what is looked up
 *     under it is kept until the next invalidation;
 *   - under an older snapshot, things are remembered for exactly that snapshot
 *     and forgotten when another one comes along.
 * Snapshots of a server are ordered in time: a later one has a higher xmax,
 * or the same xmax and fewer transactions still running; within a transaction
 * curcid grows with its own changes.
 *
 * Rights count too: a generation belongs to one user; GRANT and REVOKE change
 * pg_class, which sends invalidations for the table, and what changes roles or
 * their members sends its own.  Where row security applies to the user, what
 * rows there are may depend on anything, a setting or another table: then each
 * call has a generation of its own, and so asks for everything again.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "cache/cache.h"
#include "cache/freshness.h"
#include "compat.h"
#include "plans.h"
#include "triggers.h"

PG_FUNCTION_INFO_V1(pm_forget_cached);

static const char *const watched_name[] = {"gpu", "graph", "predictor", "predictor_weights", "predictor_pretrained", "interconnect", "cluster", "price",
	"carbon_intensity", "memory_factor", "name_alias"
};

static Oid	watched[lengthof(watched_name)];
static bool forget_wanted = true;
static bool horizon_known = false;
static pm_moment horizon;
static bool belongs_to_snapshot = false;
static pm_moment owner_snapshot;
static Oid	owner_user = InvalidOid;

static bool some_row_security = false;	/* on a watched table, for anybody */

uint64		pm_generation = 1;
bool		pm_row_security = false;

static void
on_relcache_invalidation(Datum arg, Oid relid)
{
	(void) arg;
	if (!OidIsValid(relid))
		forget_wanted = true;
	for (int i = 0; i < lengthof(watched); i++)
		if (relid == watched[i])
			forget_wanted = true;
}

static void
on_role_change(Datum arg, int cacheid, uint32 hashvalue)
{
	(void) arg;
	(void) cacheid;
	(void) hashvalue;
	forget_wanted = true;
}

static void
on_xact(XactEvent event, void *arg)
{
	(void) arg;
	/* what a prepared transaction has written is not seen until it commits, perhaps never */
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT || event == XACT_EVENT_PREPARE)
		forget_wanted = true;
}

static void
on_subxact(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *arg)
{
	(void) mine;
	(void) parent;
	(void) arg;
	if (event == SUBXACT_EVENT_ABORT_SUB)
		forget_wanted = true;
}

void
pm_freshness_init(void)
{
	CacheRegisterRelcacheCallback(on_relcache_invalidation, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, on_role_change, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, on_role_change, (Datum) 0);
	RegisterXactCallback(on_xact, NULL);
	RegisterSubXactCallback(on_subxact, NULL);
}

static pm_moment
moment_of(Snapshot s)
{
	pm_moment	m;

	m.xmin = s->xmin;
	m.xmax = s->xmax;
	/* on a standby the running ones stand in subxip */
	m.running = s->xcnt + (s->takenDuringRecovery ? s->subxcnt : 0);
	m.curcid = s->curcid;
	m.lxid = PM_MY_LXID;
	return m;
}

/*
 * Of a snapshot taken now.  Nothing is read under it, so that it may be taken
 * while parallel workers are at it, when GetLatestSnapshot() refuses.
 */
static pm_moment
latest_moment(void)
{
	static SnapshotData latest = {.snapshot_type = SNAPSHOT_MVCC};

	return moment_of(GetSnapshotData(&latest));
}

static bool
moment_older(const pm_moment *a, const pm_moment *b)
{
	if (a->xmax != b->xmax)
		return TransactionIdPrecedes(a->xmax, b->xmax);
	return a->running > b->running || (a->lxid == b->lxid && a->curcid < b->curcid);
}

static bool
moment_equal(const pm_moment *a, const pm_moment *b)
{
	return pm_moment_sees_same(a, b) && a->lxid == b->lxid;
}

pm_moment
pm_moment_now(void)
{
	return moment_of(GetActiveSnapshot());
}

bool
pm_moment_sees_same(const pm_moment *a, const pm_moment *b)
{
	return a->xmin == b->xmin && a->xmax == b->xmax && a->running == b->running && a->curcid == b->curcid;
}

static bool
has_row_security(Oid table)
{
	HeapTuple	t = OidIsValid(table) ? SearchSysCache1(RELOID, ObjectIdGetDatum(table)) : NULL;
	bool		has = HeapTupleIsValid(t) && ((Form_pg_class) GETSTRUCT(t))->relrowsecurity;

	if (HeapTupleIsValid(t))
		ReleaseSysCache(t);
	return has;
}

/* Whether this user sees only some of the rows of a table. */
static bool
row_security_applies(void)
{
	for (int i = 0; some_row_security && i < lengthof(watched); i++)
		if (OidIsValid(watched[i]) && check_enable_rls(watched[i], InvalidOid, true) == RLS_ENABLED)
			return true;
	return false;
}

/* Start over: nothing remembered is true any more. */
static void
forget(void)
{
	Oid			schema = get_namespace_oid("perfmodel", true);

	forget_wanted = some_row_security = false;
	for (int i = 0; i < lengthof(watched); i++)
	{
		watched[i] = OidIsValid(schema) ? get_relname_relid(watched_name[i], schema) : InvalidOid;
		some_row_security |= has_row_security(watched[i]);
	}
	pm_generation++;
	horizon_known = false;
	belongs_to_snapshot = false;
	owner_user = GetUserId();
}

void
pm_freshen(void)
{
	pm_moment	now = moment_of(GetActiveSnapshot());

	if (pm_reading())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("functions of perfmodel cannot be called while perfmodel reads its tables"),
				 errhint("A policy of row security, or a view, on a table of perfmodel calls such a function: change the policy or the view.")));
	/* inside a transaction that has its locks nothing else would */
	AcceptInvalidationMessages();
	pm_cache_trim();
	/* looking up the tables may itself bring in invalidations */
	while (forget_wanted || owner_user != GetUserId())
		forget();
	pm_row_security = row_security_applies();
	if (pm_row_security)
		pm_generation++;
	/* a worker lives for one snapshot */
	if (!horizon_known && !IsParallelWorker())
	{
		horizon = latest_moment();
		horizon_known = true;
	}
	if (horizon_known && !moment_older(&now, &horizon))
	{
		if (belongs_to_snapshot)
			pm_generation++;
		belongs_to_snapshot = false;
	}
	else if (!belongs_to_snapshot || !moment_equal(&now, &owner_snapshot))
	{
		pm_generation++;
		belongs_to_snapshot = true;
		owner_snapshot = now;
	}
}

/* Trigger, after a statement: tell all sessions. */
Datum
pm_forget_cached(PG_FUNCTION_ARGS)
{
	CacheInvalidateRelcache(pm_trigger_call(fcinfo, "forget_cached")->tg_relation);
	return PointerGetDatum(NULL);
}
