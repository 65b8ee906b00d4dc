/*
 * shared_answers.c - answers among the processes of a parallel query.
 *
 * A parallel worker is a new process: its memo is empty, and it would load
 * predictor and graphs only to find out what its leader has long known.  So
 * the first question that the leader answers while workers are at it puts the
 * leader's memo into a dynamic shared memory segment; later answers of leader
 * and workers are added.  A process looks there once for each question that
 * its own memo lacks.  Sessions share nothing with each other, and a query
 * without workers none of this.
 *
 * Whatever the leader has seen since, an answer is a function of the question,
 * of the rows that a snapshot sees, and of the rights of a user.  All processes
 * of a parallel query have the same snapshot; the segment notes it and the
 * user, and who has others leaves it alone.
 *
 * Workers find the segment in a small list in the server's shared memory, by
 * the process number of their leader, entered and removed with one atomic
 * operation each.  Where there is no room (list full, table full) nothing is
 * shared and everybody computes by himself; only where the system has no shared
 * memory left for a segment, the query fails, as any parallel query would.
 *
 * State: the segment that this process is attached to, until the transaction ends,
 * and what to know to find it.
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "port/atomics.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"

#include "cache/answer.h"
#include "cache/freshness.h"
#include "cache/shared_answers.h"

#define N_LEADERS		64		/* parallel queries that share at the same time */
#define MIN_SLOTS		8192
#define MAX_SLOTS		32768	/* 7 MB */
#define NOTE_BYTES		32		/* of the room for notes, for each slot */

typedef struct registry
{
	int			tranche;
	pg_atomic_uint64 leader[N_LEADERS]; /* process number << 32 | handle of the segment; 0: free */
} registry;

typedef struct shared_answer
{
	pm_answer_key key;
	pm_answer	answer;			/* but for its note */
	uint32		note;			/* where it begins among the notes; 0: none */
	bool		used;
} shared_answer;

typedef struct shared_table
{
	LWLock		lock;
	pm_moment	moment;
	Oid			user;
	uint32		n_slots;		/* a power of two */
	uint32		n_used;
	uint32		notes_used;		/* bytes; the first is not used */
	uint32		notes_size;
	shared_answer slots[FLEXIBLE_ARRAY_MEMBER]; /* open addressing; then the notes */
} shared_table;

static registry *leaders = NULL;
static dsm_segment *segment = NULL;
static dsm_handle seen = DSM_HANDLE_INVALID;	/* of a worker: looked at already */
static bool no_room = false;	/* of a leader: none in this transaction */

static shared_table *
table(void)
{
	return dsm_segment_address(segment);
}

static char *
notes_of(shared_table *t)
{
	return (char *) &t->slots[t->n_slots];
}

/* ---------- finding each other ---------- */

static uint64
entry_of(int pid, dsm_handle handle)
{
	return (uint64) (uint32) pid << 32 | handle;
}

static bool
enter(uint64 entry)
{
	for (int i = 0; i < N_LEADERS; i++)
	{
		uint64		empty = 0;

		if (pg_atomic_compare_exchange_u64(&leaders->leader[i], &empty, entry))
			return true;
	}
	return false;
}

static void
leave(uint64 entry)
{
	for (int i = 0; i < N_LEADERS; i++)
	{
		uint64		mine = entry;

		if (pg_atomic_compare_exchange_u64(&leaders->leader[i], &mine, 0))
			return;
	}
}

static dsm_handle
look_up(int leader_pid)
{
	for (int i = 0; i < N_LEADERS; i++)
	{
		uint64		entry = pg_atomic_read_u64(&leaders->leader[i]);

		if (entry >> 32 == (uint32) leader_pid)
			return (dsm_handle) entry;
	}
	return DSM_HANDLE_INVALID;
}

static void
let_go(void)
{
	if (segment == NULL)
		return;
	if (!IsParallelWorker())
		leave(entry_of(MyProcPid, dsm_segment_handle(segment)));
	dsm_detach(segment);
	segment = NULL;
}

static void
on_xact(XactEvent event, void *arg)
{
	(void) arg;
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			let_go();
			no_room = false;
			break;
		default:
			break;
	}
}

/* What was shared may stand on what is undone now. */
static void
on_subxact(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *arg)
{
	(void) mine;
	(void) parent;
	(void) arg;
	if (event == SUBXACT_EVENT_ABORT_SUB)
		let_go();
}

static void
registry_ready(void)
{
	bool		found;

	if (leaders != NULL)
		return;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	leaders = ShmemInitStruct("perfmodel parallel queries", sizeof(registry), &found);
	if (!found)
	{
		leaders->tranche = LWLockNewTrancheId();
		for (int i = 0; i < N_LEADERS; i++)
			pg_atomic_init_u64(&leaders->leader[i], 0);
	}
	LWLockRelease(AddinShmemInitLock);
	LWLockRegisterTranche(leaders->tranche, "perfmodel_answers");
	RegisterXactCallback(on_xact, NULL);
	RegisterSubXactCallback(on_subxact, NULL);
}

/* ---------- the table: with its lock held ---------- */

/* Where key is, or the free slot where it would be. */
static shared_answer *
slot_of(shared_table *t, const pm_answer_key *key)
{
	uint32		i = hash_bytes((const unsigned char *) key, sizeof(*key)) & (t->n_slots - 1);

	while (t->slots[i].used && memcmp(&t->slots[i].key, key, sizeof(*key)) != 0)
		i = (i + 1) & (t->n_slots - 1);
	return &t->slots[i];
}

/* False: there is no room. */
static bool
put_note(shared_table *t, const char *note, uint32 *at)
{
	Size		len = note ? strlen(note) + 1 : 0;

	if (len > t->notes_size - t->notes_used)
		return false;
	*at = len > 0 ? t->notes_used : 0;
	if (len > 0)
		memcpy(notes_of(t) + t->notes_used, note, len);
	t->notes_used += len;
	return true;
}

static void
put(shared_table *t, const pm_answer_key *key, const pm_answer *a)
{
	shared_answer *s = slot_of(t, key);

	/* a quarter stays free, so that searches are short and end */
	if ((!s->used && t->n_used >= t->n_slots / 4 * 3) || !put_note(t, a->note, &s->note))
		return;
	t->n_used += !s->used;
	s->key = *key;
	s->answer = *a;
	s->answer.note = NULL;		/* an address of this process */
	s->used = true;
}

/* ---------- attaching ---------- */

/* A third of the places that may be taken stays free for what this query asks besides. */
static bool
publish(const pm_answer_key *key, const pm_answer *a)
{
	put(table(), key, a);
	return table()->n_used < table()->n_slots / 2;
}

/* Of the leader: with all that it knows. */
static void
create(const pm_moment *now, int n, void (*each) (pm_answer_visit visit))
{
	uint32		n_slots = Min(MAX_SLOTS, pg_nextpower2_32(Max(MIN_SLOTS, 2 * n)));
	uint32		notes_size = n_slots * NOTE_BYTES;
	Size		size = offsetof(shared_table, slots) + n_slots * sizeof(shared_answer) + notes_size;
	shared_table *t;

	segment = dsm_create(size, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	no_room = segment == NULL;
	if (no_room)
		return;
	dsm_pin_mapping(segment);
	t = table();
	memset(t, 0, offsetof(shared_table, slots) + n_slots * sizeof(shared_answer));
	LWLockInitialize(&t->lock, leaders->tranche);
	t->moment = *now;
	t->user = GetUserId();
	t->n_slots = n_slots;
	t->notes_used = 1;
	t->notes_size = notes_size;
	/* nobody else knows of it yet */
	each(publish);
	no_room = !enter(entry_of(MyProcPid, dsm_segment_handle(segment)));
	if (no_room)
		let_go();
}

/* Of a worker. */
static void
attach(void)
{
	dsm_handle	handle = look_up(MyProc->lockGroupLeader->pid);

	if (handle == DSM_HANDLE_INVALID || handle == seen)
		return;
	seen = handle;
	segment = dsm_attach(handle);
	if (segment != NULL)
		dsm_pin_mapping(segment);
}

/* The table that belongs to this query, or NULL. */
static shared_table *
shared(void)
{
	pm_moment	now;

	/* lockGroupLeader: there are workers, or were in an earlier query of the session */
	if (!IsInParallelMode() || MyProc->lockGroupLeader == NULL || pm_row_security)
		return NULL;
	registry_ready();
	now = pm_moment_now();
	/* that of an earlier query of the transaction */
	if (!IsParallelWorker() && segment != NULL && !pm_moment_sees_same(&table()->moment, &now))
		let_go();
	if (segment == NULL && IsParallelWorker())
		attach();
	if (segment == NULL || table()->user != GetUserId() || !pm_moment_sees_same(&table()->moment, &now))
		return NULL;
	return table();
}

void
pm_share_answers(int n, void (*each) (pm_answer_visit visit))
{
	pm_moment	now;

	if (!IsInParallelMode() || IsParallelWorker() || MyProc->lockGroupLeader == NULL || pm_row_security)
		return;
	(void) shared();
	if (segment != NULL || no_room)
		return;
	now = pm_moment_now();
	create(&now, n, each);
}

bool
pm_shared_answer_find(const pm_answer_key *key, double level, pm_answer *a)
{
	shared_table *t = shared();
	const shared_answer *s;
	bool		found;

	if (t == NULL)
		return false;
	LWLockAcquire(&t->lock, LW_SHARED);
	s = slot_of(t, key);
	found = s->used && pm_level_will_do(s->answer.level, level);
	if (found)
	{
		*a = s->answer;
		/* notes stay where they are, even if the answer is replaced */
		a->note = s->note != 0 ? notes_of(t) + s->note : NULL;
	}
	LWLockRelease(&t->lock);
	if (found && a->note != NULL)
		a->note = pstrdup(a->note);
	return found;
}

void
pm_shared_answer_keep(const pm_answer_key *key, const pm_answer *a)
{
	shared_table *t = shared();

	if (t == NULL)
		return;
	LWLockAcquire(&t->lock, LW_EXCLUSIVE);
	put(t, key, a);
	LWLockRelease(&t->lock);
}
