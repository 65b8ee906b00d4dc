/*
 * pm_answers.h - answers that are remembered: by a session (answers.c), and
 * among the processes of a parallel query (shared_answers.c).
 */
#ifndef PM_ANSWERS_H
#define PM_ANSWERS_H

#include "pm_pg.h"

/* A question in the words of the caller; pm_question of the core is what they mean. */
typedef struct pm_asked_words
{
	int64		graph_id;
	int32		batch;
	text	   *gpu;
	text	   *dtype;
	text	   *layout;
	text	   *framework;		/* may be NULL */
	text	   *predictor;		/* may be NULL */
} pm_asked_words;

/* What is known about a question. */
typedef struct pm_answer
{
	double		step_ms;
	int64		predictor_id;
	double		level;			/* of what follows; NaN: not judged yet */
	double		low_ms;			/* NaN: no interval */
	double		high_ms;
	bool		in_domain;
	char	   *note;			/* or NULL */
} pm_answer;

/* A question as a block of bytes: every word after its length, 0xff for NULL. */
#define PM_WORDS_SIZE 112
typedef struct pm_answer_key
{
	int64		graph_id;
	int32		batch;
	uint8		words[PM_WORDS_SIZE];
} pm_answer_key;

/* ---- answers.c ---- */

/* False: the names are too long for a key, and the answer is not remembered. */
extern bool pm_answer_key_make(const pm_asked_words *q, pm_answer_key *key);

/*
 * After pm_freshen(): the answer, judged at `level` unless that is NaN, if it
 * is remembered.  Its note lives until the next question or longer.
 */
extern bool pm_answer_find(const pm_answer_key *key, double level, pm_answer *a);

/* After pm_answer_find() in the same generation. The note is copied. */
extern void pm_answer_keep(const pm_answer_key *key, const pm_answer *a);

/* Does `visit` for each that the session remembers. */
extern void pm_answers_each(void (*visit) (const pm_answer_key *key, const pm_answer *a));
extern int	pm_answers_count(void);

/* ---- shared_answers.c: all do nothing outside a parallel query ---- */

/* Of its leader, at every question: what it knows is there for its workers. */
extern void pm_share_answers(void);

/* Like pm_answer_find(); the note is in the current context. */
extern bool pm_shared_answer_find(const pm_answer_key *key, double level, pm_answer *a);
extern void pm_shared_answer_keep(const pm_answer_key *key, const pm_answer *a);

/* Whether an answer judged at `known` (NaN: not) will do for a question at `wanted`. */
static inline bool
pm_level_will_do(double known, double wanted)
{
	return isnan(wanted) || known == wanted;
}

#endif
