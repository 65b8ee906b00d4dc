/*
 * passes_parts.h - what is known of forward passes, and what its parts share:
 * passes.c (factors on what training steps say), passes_errors.c (of kinds
 * that learn from passes themselves), passes_stored.c.
 */
#ifndef PM_PASSES_PARTS_H
#define PM_PASSES_PARTS_H

#include "kinds/kind.h"

#define PM_PASS_LAUNCH		PM_N_GROUPS		/* operators whose launch takes longest */
#define PM_PASS_REST		(PM_N_GROUPS + 1)
#define PM_N_PASS_FACTORS	(PM_N_GROUPS + 2)

typedef struct pm_pass_device
{
	const char *gpu;
	int			structures;		/* different networks among its passes */
	double		level;			/* logarithm */
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
#define PM_PASS_LEVEL_KNOWN 1.0		/* networks at which half of what a device's mean error says is believed */
#define PM_PASS_USUAL_ERROR(is_cpu) ((is_cpu) ? 0.25 : 0.15)	/* where no passes say more: docs/predicting.md */

/* Mean error of passes whose errors add up to sum, with weights that add up to `weight`; with few passes near the usual one. */
static inline double
pm_pass_error(double sum, double weight, bool is_cpu)
{
	const double usual_weight = 3;	/* networks that the usual error counts for */

	return (sum + usual_weight * PM_PASS_USUAL_ERROR(is_cpu)) / (weight + usual_weight);
}

/*
 * Errors of the passes of CPUs, or of GPUs, into *m: of ms[d->n_passes], predictions of those of d by predictors of a kind that learns from
 * passes, and that have not learned from their networks; NaN: none.  PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_passes_left_out(const pm_dataset *d, const double *ms, bool is_cpu, pm_pass_machine *m, const pm_arena *a, pm_status *st);

#endif
