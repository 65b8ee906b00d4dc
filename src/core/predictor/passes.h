/*
 * passes.h - what a predictor of training steps also learns, from measured forward
 * passes: factors on the forward parts of operators, a level of each device, and how
 * large the errors are.
 *
 *     pass = level of the device * (sum over groups g of  f_g * parts of g  +  f_launch * launches  +  f_rest * rest)
 *
 * where the parts are those of infer.h.  GPUs and CPUs have separate factors: a CPU
 * saves far more if a BatchNormalization computes no statistics, and if memory is
 * used again at once.
 */
#ifndef PM_PASSES_H
#define PM_PASSES_H

#include "kinds/kind.h"
#include "predictor/domain.h"

#define PM_PASS_LAUNCH		PM_N_GROUPS		/* operators whose launch takes longest */
#define PM_PASS_REST		(PM_N_GROUPS + 1)
#define PM_N_PASS_FACTORS	(PM_N_GROUPS + 2)

/* The number of the factor on a part of a pass, 0 to PM_N_PASS_FACTORS - 1.  t: the tokens of the pass. */
int			pm_pass_factor_of(const pm_tokens *t, const pm_part *part);

typedef struct pm_pass_device
{
	const char *gpu;
	int			structures;		/* different networks among its passes */
	double		level;			/* logarithm */
	double		moved;			/* the same, by recalibrations */
	double		error[PM_N_LAYOUTS];	/* as below, of its passes in each layout */
} pm_pass_device;

/* Of GPUs [0], of CPUs [1]. */
typedef struct pm_pass_machine
{
	int			structures;		/* different networks of passes; 0: factors are 1, or those of forward passes of training steps */
	double		factor[PM_N_PASS_FACTORS];
	double		error;			/* mean of the absolute logarithm of the errors on networks left out */
	double		error_abroad;	/* the same on devices left out */
} pm_pass_machine;

struct pm_passes
{
	pm_pass_machine machine[2];
	int			n;
	pm_pass_device *device;		/* [n] */
};

#define PM_PASS_MAX_GPUS	4096	/* in a stored form */
#define PM_PASS_FACTOR_MIN	0.05
#define PM_PASS_FACTOR_MAX	5.0
#define PM_PASS_LEVEL_MAX	0.7		/* of |level| */
#define PM_PASS_MOVED_MAX	7.0		/* of |moved|: a machine may be in use, or have another clock */
#define PM_PASS_USUAL_ERROR(is_cpu) ((is_cpu) ? 0.25 : 0.15)	/* where no passes say more: docs/predicting.md */

/* What is known of a device's passes; NULL: nothing. t may be NULL. */
const pm_pass_device *pm_passes_find(const pm_passes *t, const char *gpu);

/* pm_predictor_predict(), which this file cannot include. */
typedef pm_code (*pm_pass_ask) (const pm_predictor *p, const pm_sample *s, pm_arena *scratch, double *step_ms, pm_part *parts,
								int *n_parts, pm_status *st);

/*
 * *passes, in arena a: learned from the passes of d and the forward times of its steps.  p is fitted and has no passes yet; `ask`
 * predicts with it.  *passes stays NULL if d has no such times.  If the kind of p learns from passes itself, their
 * errors are those of cross_ms[d->n_passes]: predictions by predictors that have not learned from the network, NaN: none; NULL:
 * there are none.  PM_ERR_MEMORY, PM_CANCELLED, and the errors of `ask`.
 */
pm_code		pm_passes_fit(const pm_predictor *p, pm_pass_ask ask, const pm_dataset *d, const double *cross_ms, const pm_hooks *hooks,
						  pm_arena *a, const pm_passes **passes, pm_status *st);

/* What pm_passes_update() says of the passes of a dataset. */
typedef struct pm_pass_answers
{
	double	   *before;			/* [n_passes] ms */
	double	   *after;			/* [n_passes] ms, by levels that had not seen the network; NaN: it is the only one on its device */
} pm_pass_answers;

/*
 * *passes, in arena a: those of p, where the passes of d have moved the times on their devices, and changed their errors.  `ask` predicts
 * with p.  What was known of a device counts as three networks if passes on it were in training, else as one.  Errors are those on
 * networks left out.  What earlier recalibrations said of these devices no longer holds.
 * PM_ERR_MEMORY, PM_CANCELLED, and the errors of `ask`.
 */
pm_code		pm_passes_update(const pm_predictor *p, pm_pass_ask ask, const pm_dataset *d, const pm_hooks *hooks, pm_arena *a,
							 const pm_passes **passes, pm_pass_answers *answers, pm_status *st);

void		pm_passes_save(const pm_passes *t, pm_buffer *b);
/* PM_ERR_FORMAT when damaged. */
pm_code		pm_passes_load(pm_reader *r, pm_arena *a, const pm_passes **passes, pm_status *st);

#endif
