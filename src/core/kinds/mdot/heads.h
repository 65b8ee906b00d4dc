/*
 * heads.h - from the sequence's output to milliseconds, and back.
 */
#ifndef PM_MDOT_HEADS_H
#define PM_MDOT_HEADS_H

#include "kinds/mdot/acts.h"

/* How many estimates an answer of this input is the mean of: one on a CPU, where both would start from the peaks. */
int			pm_mdot_estimates(const pm_mdot_net *net, const pm_input *in);

/* From t->z to the ms of t's estimates. rng: dropout inside the heads; NULL: none. */
void		pm_mdot_heads(const pm_mdot_data *data, const int *index, const pm_real *w, pm_rng *rng, pm_mdot_acts *t);
/* The dms of t's estimates are gradients of their ms. Adds to grad and fills t->dz. */
void		pm_mdot_heads_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t);

/*
 * Device time and launch time of one copy, and the time that comes of both, us: their sum where they follow each other
 * (in_turn, pm_input), else the larger, smoothly.
 * *growth: logarithm of the device time, without growth, over that of the features.
 */
double		pm_mdot_device_us(const pm_mdot_token *o, double compute_us, double memory_us, double *growth);
double		pm_mdot_launch_us(const pm_mdot_token *o, double kernels);
double		pm_mdot_token_us(double device_us, double launch_us, bool in_turn);

/*
 * The same for n tokens: each time[n] is a device time first, which is held above the floor (floor_us[n]; NULL: none) and taken
 * times factor[n] (NULL: 1).
 */
void		pm_mdot_tokens_us(int n, double *time, const double *launch_us, const double *floor_us, const double *factor, bool in_turn);

#endif
