/*
 * infer.h - questions of PM_INFERENCE: the forward pass alone, of a network in
 * evaluation mode and without gradients.
 *
 * Kinds are trained on training steps.  What they learned of an operator (how
 * much slower than at the peaks of the data sheet it runs, and what a launch
 * costs) is taken for the work that inference leaves of it (op_work.h).
 */
#ifndef PM_INFER_H
#define PM_INFER_H

#include "kinds/kind.h"
#include "predictor/domain.h"

/* Whether the kind of p, with its options, answers such questions itself. */
bool		pm_infers(const pm_predictor *p);

/*
 * The answer to s by a kind that does not: of each part of its training step the share that inference has of the time
 * of the operator, by roofline and launches, and of the rest PM_INFER_REST_SHARE.  Arguments and errors are those of pm_predictor_predict().
 */
pm_code		pm_infer_by_share(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
							  double *step_ms, pm_part *parts, int *n_parts, pm_status *st);

/* The question about the training step that s is the forward pass of. */
pm_sample	pm_infer_step_of(const pm_sample *s);

/*
 * Add to the verdict on the training step what is not known of its forward pass: out of the domain, and an interval that
 * holds the errors of forward passes besides those on steps, which are independent.
 */
void		pm_infer_doubt(const pm_question *q, double step_ms, double level, pm_verdict *v);

#endif
