/*
 * small.h - what a predictor says of small work, in place of what the shape of a step takes: of launches, which GPUs
 * that share layers or sequences do not divide, of the work of fewer samples, and of the update that they divide.
 */
#ifndef PM_SCALING_SMALL_H
#define PM_SCALING_SMALL_H

#include "predictor/predictor.h"
#include "scaling/shape.h"

/* Parts of the time of a step on one GPU. */
typedef struct pm_small_work
{
	int			cp;
	double		launch_share;	/* what the processor needs whatever part of the work a GPU has; 0: nobody shares it */
	double		part_share;		/* what a batch of 1 / cp of the samples takes */
	double		update_share;	/* what the update adds; NaN: not known, or each GPU updates all weights */
} pm_small_work;

/* *w for the question s, whose GPUs are divided as p says (checked); x was prepared for s at any batch.  Errors as of pm_predictor_predict(). */
pm_code		pm_small_work_of(const pm_predictor *predictor, pm_prepared *x, const pm_sample *s, const pm_parallel *p, pm_small_work *w, pm_status *st);

/* The shape *to of a step that takes step_ms on one GPU, with *w: the update, the passes, and their launches. */
void		pm_small_work_put(const pm_small_work *w, double step_ms, pm_step_shape *to);

/* The two parts of it.  The update takes no more than update_ms (NaN: as it is); what the shape has more is in the passes. */
void		pm_small_update(double update_ms, pm_step_shape *to);
/*
 * How much longer than its part of the time of the passes one of the GPUs that share the sequences needs for its part of their work; at
 * least 1.  s: the shape of a step of step_ms, after pm_small_update().
 */
double		pm_small_stretch(const pm_small_work *w, double step_ms, const pm_step_shape *s);
/* Passes that take stretch times as long, and at least launch_ms, which is not more than they take before. */
void		pm_small_passes(double launch_ms, double stretch, pm_step_shape *to);

#endif
