/*
 * heads.h - from the sequence's output to milliseconds, and back.
 */
#ifndef PM_MDOT_HEADS_H
#define PM_MDOT_HEADS_H

#include "kinds/mdot/acts.h"

/* Number of estimates whose mean is the answer for this input: one on a CPU, where both would start from the peaks. */
int			pm_mdot_estimates(const pm_mdot_net *net, const pm_input *in);

/* From t->z, the output of the sequence, to the ms of t's estimates. rng: for dropout inside the heads; NULL: none. */
void		pm_mdot_heads(const pm_mdot_data *data, const int *index, const pm_real *w, pm_rng *rng, pm_mdot_acts *t);
/* The dms of t's estimates are gradients of their ms. Adds to grad and fills t->dz. */
void		pm_mdot_heads_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t);

/*
 * Device time, launch time and total time of one copy, us; of a pass, if o is of one.  The total is their sum if they follow each other (pm_input.in_turn), else
 * a smooth maximum.  *growth: ln of the device time without growth over that at the batch of the features.
 */
double		pm_mdot_device_us(const pm_mdot_token *o, double compute_us, double memory_us, double *growth);
double		pm_mdot_launch_us(const pm_mdot_token *o, double kernels);
double		pm_mdot_token_us(double device_us, double launch_us, bool in_turn);

/*
 * Device time of the passes alone of a token whose update is this much of memory_us, and of the time at the batch of the features.
 * A table of embeddings gathers and scatters rows, which takes many times as long as their bytes; its update streams through the
 * table like any other, and takes PM_UPDATE_MOST times its time at the peak at the most.
 */
double		pm_mdot_passes_us(const pm_mdot_token *o, double compute_us, double memory_us, double update_us, double *growth);

/*
 * Total times of n tokens, us.  time[n]: device times before, total times after.  Device times are first held above floor_us[n]
 * (NULL: no floor), then multiplied by factor[n] (NULL: 1).
 */
void		pm_mdot_tokens_us(int n, double *time, const double *launch_us, const double *floor_us, const double *factor, bool in_turn);

#endif
