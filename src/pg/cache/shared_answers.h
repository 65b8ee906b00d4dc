/*
 * shared_answers.h - answers that the processes of a parallel query share.
 * Outside of a parallel query, these functions do nothing.
 */
#ifndef PM_PG_CACHE_SHARED_ANSWERS_H
#define PM_PG_CACHE_SHARED_ANSWERS_H

#include "cache/answer.h"

/* false: no more of them */
typedef bool (*pm_answer_visit) (const pm_answer_key *key, const pm_answer *a);

/*
 * Of its leader, at every question, before the functions below: the n answers
 * that it knows, which each() visits, are there for its workers.
 */
extern void pm_share_answers(int n, void (*each) (pm_answer_visit visit));

/* Like pm_answer_find(); the note is in the current context. */
extern bool pm_shared_answer_find(const pm_answer_key *key, double level, pm_answer *a);
extern void pm_shared_answer_keep(const pm_answer_key *key, const pm_answer *a);

#endif
