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
 * The answer to s, whose mode is not PM_TRAIN, as the sum of parts.  If the kind does not answer it itself: of each part of the
 * training step, the share that the pass has in the operator's roofline time and launches, and PM_INFER_REST_SHARE of the rest.  In
 * inference, the parts are multiplied by the factors of p->passes.  Arguments and errors are those of pm_predictor_predict().
 */
pm_code		pm_infer_by_parts(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
							  double *step_ms, pm_part *parts, int *n_parts, pm_status *st);

/* Multiply *factors and device[t->n], the factors on the time of each token, by those of inference on this device. */
void		pm_infer_factors(const pm_passes *passes, const pm_gpu *gpu, const pm_tokens *t, double *device, pm_factors *factors);

/* Factor on the whole pass: the level of the device. passes may be NULL: 1. */
double		pm_infer_level(const pm_passes *passes, const pm_gpu *gpu);

/*
 * Factor on the answer, behind those for cards that hold it: by how much recalibrations moved the device's passes, so that they move no
 * other device.  1 if q is not about inference, or passes is NULL.
 */
double		pm_infer_moved(const pm_passes *passes, const pm_question *q);

/* The question about the training step of which s is the forward pass. */
pm_sample	pm_infer_step_of(const pm_sample *s);

/*
 * Change *v, the verdict on the training step, to that on its forward pass: the interval also holds the errors of passes, and only
 * devices with passes of at least PM_INFER_NETWORKS networks are in the domain.  With passes of many networks (ENOUGH_NETWORKS in infer.c) it
 * is that of these errors alone, if that is narrower.
 */
#define PM_INFER_NETWORKS	5
void		pm_infer_doubt(const pm_passes *passes, const pm_question *q, double step_ms, double level, pm_verdict *v);

#endif
