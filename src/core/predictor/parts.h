/*
 * parts.h - the parts of an answer.
 */
#ifndef PM_PARTS_H
#define PM_PARTS_H

#include "features/tokens.h"
#include "kinds/kind.h"

/* The step becomes ms; parts[n_parts] keep their shares. */
void		pm_parts_become(double ms, double *step_ms, pm_part *parts, int n_parts);

/*
 * Raise the parts of operators that are below the least time of work's tokens, and lower what the others are above theirs, so that the
 * sum stays.  Nothing changes if the sum is too small for that.
 */
void		pm_parts_hold(const pm_tokens *work, pm_part *parts, int n_parts);

#endif
