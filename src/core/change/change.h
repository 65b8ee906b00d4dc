/*
 * change.h - what a change of a training would do that measurements seldom
 * tell: computed from the predicted parts of the step and the work of its
 * operators.  Times are milliseconds of one step on one device.
 */
#ifndef PM_CHANGE_H
#define PM_CHANGE_H

#include "kinds/kind.h"
#include "scaling/small.h"

typedef enum pm_change
{
	PM_CHANGE_FLASH_ATTENTION,	/* attention that is written out as operators becomes one kernel */
	PM_CHANGE_FUSED_OPTIMIZER,	/* one kernel updates weights and states, in place of one for each term of the formula */
	PM_CHANGE_FIGURES,			/* the data sheet has other figures, such as twice the bandwidth */
	PM_N_CHANGES
} pm_change;

extern const char *const pm_change_name[PM_N_CHANGES];	/* "flash attention" */

/* A step as it is, with what a predictor says of it. */
typedef struct pm_change_of
{
	const pm_skeleton *skeleton;	/* whole: with dag and token_of */
	const pm_question *question;
	const pm_tokens *work;		/* of the skeleton and the question */
	double		step_ms;
	const pm_part *parts;		/* [n_parts], together step_ms */
	int			n_parts;
} pm_change_of;

/*
 * The step after a change. other: the device with other figures for
 * PM_CHANGE_FIGURES, else not read.  *touched: attentions, parameters in
 * thousands, or operators that the change is about; 0: it changes nothing, and
 * *step_ms is the step as it is.  PM_ERR_MEMORY; PM_ERR_INPUT where the figures
 * of `other` are out of bounds; PM_CANCELLED.
 */
pm_code		pm_change_step(pm_change change, const pm_change_of *of, const pm_gpu *other, pm_arena *a, double *step_ms, double *touched,
						   pm_status *st);

/*
 * s: the shape of the step on one device before the change; it becomes that
 * after it, which takes step_ms (above 0).  A fused optimizer makes the update shorter,
 * attention the layers, and other figures everything.
 */
void		pm_change_shape(pm_change change, double step_ms, pm_step_shape *s);

/*
 * The same of a step of several GPUs, of before_ms on one: the change is one of the step on one GPU, and what small work takes, *w,
 * comes on top.
 */
void		pm_change_shared_shape(pm_change change, const pm_small_work *w, double before_ms, double after_ms, pm_step_shape *s);

#endif
