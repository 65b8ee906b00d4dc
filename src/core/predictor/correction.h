/*
 * correction.h - a few numbers per device that fit a trained predictor to new
 * measurements; recalibrate.c fits them.
 *
 * ln(value) = ln(predicted) + a + b * (ln(predicted) - centre) + d, for each
 * device, where d belongs to a dtype and layout on it, and predicted is what
 * the kind says of a card in that state (card_state.h).  Where other cards hold the
 * answer, a share of what they add to ln(predicted) stays (bounds.h).  b > -1 and the same for
 * all questions about a device, so that a larger batch still never takes less
 * time.
 */
#ifndef PM_CORRECTION_H
#define PM_CORRECTION_H

#include "kinds/kind.h"
#include "predictor/card_state.h"

#define PM_CORRECTION_MAX_B	0.3	/* of |b| */
#define PM_MOST_SURPRISE	10.0	/* upper limit of pm_device_correction.surprise */

typedef struct pm_device_correction
{
	const char *gpu;
	int			rows;
	int			structures;		/* different networks among them */
	double		a;
	double		b;
	double		centre;			/* mean of ln(predicted) */
	double		surprise;		/* error on these networks, each left out, over what the intervals expect; 0: not known */
	double		low;			/* range of ln(predicted) in the rows; b counts inside it only */
	double		high;
	int			used[PM_N_DTYPES][PM_N_LAYOUTS];	/* rows */
	double		d[PM_N_DTYPES][PM_N_LAYOUTS];	/* 0 where there were no rows */
	double		state[PM_N_STATE];	/* of the card; 0 for kinds that take no factors */
	double		by_state[PM_N_DTYPES][PM_N_LAYOUTS];	/* mean of ln(prediction with the state / without), over the rows */
} pm_device_correction;

struct pm_correction
{
	int			n;
	pm_device_correction *device;	/* [n] */
};

/* The correction of a device; NULL: it has none. c may be NULL. */
const pm_device_correction *pm_correction_find(const pm_correction *c, const char *gpu);

/* Whether there were rows of the device in a format, in any layout. */
bool		pm_correction_measured(const pm_device_correction *g, pm_dtype dtype);

/* Whether the correction has a state, so that the kind must be asked with its factors. c may be NULL. */
bool		pm_correction_has_state(const pm_device_correction *c);

/* How much of the logarithm by which other cards hold an answer (bounds.h) is left after the measurements, 0..1.  c may be NULL: all. */
double		pm_correction_held(const pm_device_correction *c, pm_card_work work);

/*
 * The corrected prediction for q, where `predicted` already has the factors of the state.  answered_as: the format in which q is
 * answered if q->dtype was not measured.
 */
double		pm_correction_apply(const pm_correction *c, const pm_question *q, pm_dtype answered_as, double predicted);

void		pm_correction_save(const pm_correction *c, pm_buffer *b);
/* PM_ERR_FORMAT when damaged. */
pm_code		pm_correction_load(pm_reader *r, pm_arena *a, const pm_correction **c, pm_status *st);

#endif
