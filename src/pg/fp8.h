/*
 * fp8.h - answers to questions with dtype fp8.
 */
#ifndef PM_PG_FP8_H
#define PM_PG_FP8_H

#include "cache/answer.h"
#include "cache/prepared_cache.h"

/*
 * Parts parts[n] of the step of q on one GPU, whose whole skeleton is in q (pm_ask_whole()), become those of the step in
 * FP8. Returns their sum. Raises.
 */
extern double pm_narrow_parts(const pm_asked *q, pm_part *parts, int n);

/*
 * Change *a, the answer to q on one GPU as if its dtype were that of the rest (judged or not; q was prepared), into that in FP8.  Returns the
 * step over that in 16 bits.  Raises.
 */
extern double pm_narrow_answer(pm_asked *q, pm_answer *a);

#endif
