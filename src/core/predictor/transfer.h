/*
 * transfer.h - the time of a measured step on another device.
 *
 * With p(x) the prediction for device x and m the measured time on device o,
 * the step on device d is taken to be
 *
 *     p(d) * (m / p(o))^w          0 <= w <= 1
 *
 * w = 1 is the measured time times the ratio of the predictions, as in Habitat.
 * It is right if the two predictions are wrong by the same factor, that of the
 * network.  w = 0 is the prediction alone.  The common part of the errors on two
 * devices depends on the distance of the network from those in training.  w and
 * the interval are learned from networks and families that were left out.
 */
#ifndef PM_TRANSFER_H
#define PM_TRANSFER_H

#include "kinds/kind.h"
#include "predictor/domain.h"
#include "predictor/interval.h"

/*
 * Learn from pairs of rows: the same network, batch and format on two devices,
 * both predicted by a model that had not seen the network.  crossed[n]: such
 * predictions of the rows of d.  The last set must be the farthest from training;
 * intervals come from it.  *t is NULL if there are too few pairs.
 */
pm_code		pm_transfer_fit(const pm_dataset *d, const pm_crossed *crossed, int n, pm_arena *a, const pm_transfer **t, pm_status *st);

/* w for a network at this distance (pm_domain_prepare()), 0..1; t may be NULL: 1. */
double		pm_transfer_weight(const pm_transfer *t, double distance);

/* One side of the question: the device of the measurement, or the device of the answer. */
typedef struct pm_side
{
	const pm_question *query;
	double		predicted_ms;
	double		distance;		/* of the network */
	const pm_verdict *verdict;	/* of the prediction */
} pm_side;

/* The answer. */
typedef struct pm_carried
{
	double		step_ms;
	double		low_ms;			/* NaN: no interval */
	double		high_ms;
	double		weight;			/* w */
} pm_carried;

/*
 * The time on `to` of a step that took measured_ms on `from`; both sides have
 * predictions of p.  The interval comes from the pairs.  It is wider for each
 * side whose device p has not learned from, and twice as wide for other causes
 * of being out of the domain.  If p is not calibrated on pairs, it is as wide as
 * that of the prediction for `to`.  If both sides have the same device, it is at
 * most as wide as that.
 */
void		pm_predictor_carry(const pm_predictor *p, const pm_side *from, double measured_ms, const pm_side *to, double level,
							   pm_carried *out);

void		pm_transfer_save(const pm_transfer *t, pm_buffer *b);
/* PM_ERR_FORMAT when damaged. */
pm_code		pm_transfer_load(pm_reader *r, pm_arena *a, const pm_transfer **t, pm_status *st);

#endif
