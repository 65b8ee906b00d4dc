/*
 * answers.h - answers that a session remembers.
 */
#ifndef PM_PG_CACHE_ANSWERS_H
#define PM_PG_CACHE_ANSWERS_H

#include "cache/answer.h"

/* False: the names are too long for a key, and the answer is not remembered. */
extern bool pm_answer_key_make(const pm_asked_words *q, pm_answer_key *key);

/*
 * After pm_freshen(): the answer, judged at `level` unless that is NaN, if it
 * is remembered.  Its note lives until the next question or longer.
 */
extern bool pm_answer_find(const pm_answer_key *key, double level, pm_answer *a);

/* After pm_answer_find() in the same generation. The note is copied. */
extern void pm_answer_keep(const pm_answer_key *key, const pm_answer *a);

#endif
