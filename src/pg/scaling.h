/*
 * scaling.h - turns an answer for one GPU into one for several.
 */
#ifndef PM_PG_SCALING_H
#define PM_PG_SCALING_H

#include "cache/answer.h"
#include "cache/prepared_cache.h"
#include "change/change.h"
#include "problem.h"

/*
 * Change *a, the answer to q on one GPU (judged or not; x was prepared for q),
 * into the answer for q->parallel on q->fabric; the note says how far these times
 * were measured.  False: *p says why the model cannot be divided so.  Raises.
 */
extern bool pm_scale_answer(pm_asked *q, pm_prepared *x, pm_answer *a, pm_problem *p);
/* Put forward_ms, roofline_ms and alone_share into a, the answer to q on one GPU. Raises. */
extern void pm_note_work(pm_asked *q, pm_prepared *x, pm_answer *a);
/* Fill *to from the step of q on one GPU, which takes step_ms. Puts the slim graph into q. Raises. */
extern void pm_shape_of(pm_asked *q, double step_ms, pm_step_shape *to);
/* The same after a change, with which it takes after_ms. */
extern void pm_changed_shape_of(pm_asked *q, pm_change change, double before_ms, double after_ms, pm_step_shape *to);
/* Fill *s: the step of q on its GPUs, if it takes step_ms on one, where its shape is *shape. Puts the slim graph into q. Raises. */
extern void pm_scale_step(pm_asked *q, double step_ms, pm_step_shape *shape, pm_scaled *s);

#endif
