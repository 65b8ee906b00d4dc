/*
 * answers.c - the memo: answers that a session remembers.
 *
 * Reports ask the same few thousand questions a million times.  The memo is a
 * hash table from whole questions to answers; it belongs to a generation
 * (freshness.c) and is emptied when that changes or when it is full.  An answer
 * takes about 300 bytes and its note, so that all answers take about a tenth of
 * perfmodel.cache_mem.  What the memo lacks, another process of the same
 * parallel query may have.
 *
 * State: the memo.
 */
#include "postgres.h"

#include <math.h>

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "cache/answer.h"
#include "cache/answers.h"
#include "cache/freshness.h"
#include "cache/shared_answers.h"
#include "compat.h"
#include "settings.h"

#define KB_AN_ANSWER	4		/* of perfmodel.cache_mem */
#define LEAST_ANSWERS	20000	/* with any setting: 6 MB */

typedef struct memo_entry
{
	pm_answer_key key;
	pm_answer	answer;
} memo_entry;

static MemoryContext memo_cxt = NULL;
static HTAB *memo = NULL;
static uint64 memo_generation = 0;

static bool
put_word(pm_answer_key *key, int *at, const text *word)
{
	Size		len = word ? VARSIZE_ANY_EXHDR(word) : 0;

	if (*at + 1 + len > PM_WORDS_SIZE || len >= 0xff)
		return false;
	key->words[(*at)++] = word ? (uint8) len : 0xff;
	if (word)
		memcpy(key->words + *at, VARDATA_ANY(word), len);
	*at += len;
	return true;
}

bool
pm_answer_key_make(const pm_asked_words *q, pm_answer_key *key)
{
	int			at = 0;

	memset(key, 0, sizeof(*key));
	/* one that is an error must not have the key of another */
	if (q->parallel.zero < 0 || q->parallel.zero > 3 || (q->parallel.ep > 1 && q->parallel.world_size == 1))
		return false;
	key->graph_id = q->graph_id;
	key->batch = q->batch;
	key->parallel[0] = q->parallel.world_size;
	key->parallel[1] = q->parallel.nodes;
	key->parallel[2] = q->parallel.accumulation;
	key->parallel[3] = q->parallel.tp;
	key->parallel[4] = q->parallel.pp;
	key->parallel[5] = q->parallel.interleave;
	key->parallel[6] = q->parallel.cp;
	key->parallel[7] = q->parallel.shard;
	/* what divides the experts alike may send otherwise */
	key->parallel[8] = q->parallel.ep > 1 || q->parallel.etp > 0 ? -(2 * PM_MAX_TP * q->parallel.ep + q->parallel.etp) : pm_expert_part(q);
	key->parallel[9] = 256 * q->parallel.again_layers + 128 * q->parallel.compile + 32 * q->parallel.zero + 16 * q->parallel.master_weights + 8 * q->parallel.compress + 4 * q->parallel.sequence_parallel + q->parallel.recompute;
	key->bucket_mb = (float) q->parallel.bucket_mb;
	return put_word(key, &at, q->gpu) && put_word(key, &at, q->dtype) && put_word(key, &at, q->layout) &&
		put_word(key, &at, q->optimizer) && put_word(key, &at, q->mode) &&
		put_word(key, &at, q->framework) && put_word(key, &at, q->predictor) &&
		put_word(key, &at, q->cluster);
}

static bool
memo_is_full(void)
{
	return hash_get_num_entries(memo) >= Max(LEAST_ANSWERS, pm_cache_mem_kb / KB_AN_ANSWER);
}

static void
memo_ready(void)
{
	HASHCTL		ctl = {.keysize = sizeof(pm_answer_key),.entrysize = sizeof(memo_entry)};

	if (memo != NULL && memo_generation == pm_generation && !memo_is_full())
		return;
	if (memo_cxt == NULL)
		memo_cxt = AllocSetContextCreate(TopMemoryContext, "perfmodel memo", ALLOCSET_DEFAULT_SIZES);
	memo = NULL;
	MemoryContextReset(memo_cxt);
	ctl.hcxt = memo_cxt;
	memo = hash_create("perfmodel memo", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	memo_generation = pm_generation;
}

static void
memo_put(const pm_answer_key *key, const pm_answer *a)
{
	/* first what may fail: an entry must not lack its note */
	char	   *note = a->note ? MemoryContextStrdup(memo_cxt, a->note) : NULL;
	bool		found;
	memo_entry *e = hash_search(memo, key, HASH_ENTER, &found);

	if (found && e->answer.note != NULL)
		pfree(e->answer.note);
	e->answer = *a;
	e->answer.note = note;
}

/* All that is remembered, for the workers of a parallel query. */
static void
visit_memo(pm_answer_visit visit)
{
	HASH_SEQ_STATUS seq;
	memo_entry *e;

	hash_seq_init(&seq, memo);
	while ((e = hash_seq_search(&seq)) != NULL)
		if (!visit(&e->key, &e->answer))
		{
			hash_seq_term(&seq);
			return;
		}
}

bool
pm_answer_find(const pm_answer_key *key, double level, pm_answer *a)
{
	memo_entry *e;

	memo_ready();
	pm_share_answers((int) hash_get_num_entries(memo), visit_memo);
	e = hash_search(memo, key, HASH_FIND, NULL);
	if (e != NULL && pm_level_will_do(e->answer.level, level))
	{
		*a = e->answer;
		return true;
	}
	if (!pm_shared_answer_find(key, level, a))
		return false;
	memo_put(key, a);
	return true;
}

void
pm_answer_keep(const pm_answer_key *key, const pm_answer *a)
{
	memo_put(key, a);
	pm_shared_answer_keep(key, a);
}
