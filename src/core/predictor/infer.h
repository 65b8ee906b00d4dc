/*
 * infer.h - questions of PM_INFERENCE: the forward pass alone, of a network in
 * evaluation mode and without gradients.
 *
 * Kinds are trained on training steps. What they learned about an operator (how
 * much slower than the peaks of the data sheet it runs, and the time of a
 * launch) is applied to the work of inference (op_work.h).
 */
#ifndef PM_INFER_H
#define PM_INFER_H

#include "kinds/kind.h"
#include "predictor/domain.h"

/* Whether the kind of p, with its options, answers such questions itself. */
bool		pm_infers(const pm_predictor *p);

/*
 * The answer to s, not of PM_TRAIN, by its parts: where the kind has none of it, of each part of its training step the share that the
 * pass has of the time of the operator, by roofline and launches, and of the rest PM_INFER_REST_SHARE.  In
 * inference, times what p->passes says.  Arguments and errors are those of pm_predictor_predict().
 */
pm_code		pm_infer_by_parts(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
							  double *step_ms, pm_part *parts, int *n_parts, pm_status *st);

/* Multiply the factors on a card's parts, device[t->n] among them, by those of inference on it. */
void		pm_infer_factors(const pm_passes *passes, const pm_gpu *gpu, const pm_tokens *t, double *device, pm_factors *factors);

/* Factor on the whole pass: the level of the device. passes may be NULL: 1. */
double		pm_infer_level(const pm_passes *passes, const pm_gpu *gpu);

/* The question about the training step that s is the forward pass of. */
pm_sample	pm_infer_step_of(const pm_sample *s);

/*
 * Add to the verdict on the training step what is not known of its forward pass: an interval that holds the errors of
 * passes besides those on steps, and the domain, which has devices with passes of PM_INFER_NETWORKS networks.
 */
#define PM_INFER_NETWORKS	5
void		pm_infer_doubt(const pm_passes *passes, const pm_question *q, double step_ms, double level, pm_verdict *v);

#endif
