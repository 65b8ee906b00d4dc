/*
 * phases.h - how the time of an operator is divided among forward pass,
 * backward pass and update.
 */
#ifndef PM_PHASES_H
#define PM_PHASES_H

#include "features/tokens.h"

/* The launch of a kernel on the processor: what an operator, or a GPU's share of a layer, cannot get below; and what is usual. */
#define PM_LEAST_LAUNCH_US	4.0
#define PM_USUAL_LAUNCH_US	5.0
/* The update moves data and does little else, whatever the batch: it reaches three quarters of the bandwidth. */
#define PM_UPDATE_MOST	(4 / 3.0)

/* Share of the data sheet's bandwidth that kernels reach which only move data. */
#define PM_COPY_SHARE	0.8

/* Microseconds of the forward and of the backward pass of one copy of operator i: roofline times, or the launches of their kernels where these take longer. */
double		pm_forward_us(const pm_tokens *work, int i);
double		pm_backward_us(const pm_tokens *work, int i);
/* Their sum. */
double		pm_passes_us(const pm_tokens *work, int i);

/*
 * The update's part of ms, if the passes take passes_us at the peaks of the device, and the update update_us: its share,
 * but no longer than its traffic takes.  0 where both are 0.
 */
double		pm_update_part(double passes_us, double update_us, double ms);

#endif
