/*
 * computed.h - answers to questions that no predictor has learned: dtype fp8,
 * and torch.compile.
 */
#ifndef PM_PG_COMPUTED_H
#define PM_PG_COMPUTED_H

#include "cache/answer.h"
#include "cache/prepared_cache.h"

#define PM_IS_COMPUTED(query) ((query)->fp8 || (query)->compile)

/*
 * Parts parts[n] of the step of q on one GPU, whose whole skeleton is in q (pm_ask_whole()), become those of the step in
 * FP8, compiled, or both. Returns their sum. Raises.
 */
extern double pm_compute_parts(const pm_asked *q, pm_part *parts, int n);

/*
 * Change *a, the answer to q on one GPU as if it were in the dtype of the rest and not compiled (judged or not; q was prepared), into that
 * to q.  Returns the step over that.  Raises.
 */
extern double pm_compute_answer(pm_asked *q, pm_answer *a);

#endif
