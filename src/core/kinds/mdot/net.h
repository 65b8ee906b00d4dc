/*
 * net.h - forward and backward pass of the MDOT network.
 *
 * An MDOT reconstruction with a roofline-anchored head; equations: docs/mdot.md.
 * mdot.c makes a predictor of it.
 */
#ifndef PM_MDOT_NET_H
#define PM_MDOT_NET_H

#include "kinds/mdot/heads.h"

/* The time of each token by the additive head, for explain_train_time. */
typedef struct pm_mdot_detail
{
	double	   *token_ms;		/* [n] all copies together */
	double	   *launch_share;	/* [n] 0..1: launch time over the sum of launch and device time */
	double		rest_ms;
} pm_mdot_detail;

/* One estimate's outputs for a question; the same for all batches. */
typedef struct pm_mdot_said
{
	pm_mdot_token *token;		/* [n] */
	double		rest_us;		/* time of the step apart from its operators */
} pm_mdot_said;

/* Bytes of workspace for a pass over samples of this size. */
size_t		pm_mdot_workspace(const pm_mdot_net *net, const pm_pass_size *size);

/* pm_objective.pass; ctx is a pm_mdot_data. */
double		pm_mdot_pass(const void *ctx, const pm_real *w, pm_real *grad, const int *index, int n,
						 double *predicted, pm_rng *rng, void *workspace);
/* pm_objective.begin_epoch; ctx is a pm_mdot_data.  Sets its loss_scale. */
void		pm_mdot_begin_epoch(void *ctx, double progress);
/* Forward pass of one sample; returns its ms. *detail, whose arrays exist, gets the times of its tokens. */
double		pm_mdot_explain(const pm_mdot_data *data, const pm_real *w, int row, void *workspace, pm_mdot_detail *detail);

/*
 * Forward pass of one sample, for the outputs that do not depend on its work:
 * said[c.estimates], whose token[n] exist, and *factor on the step (1 without the
 * option residual).  Additive head only.
 */
void		pm_mdot_outputs(const pm_mdot_data *data, const pm_real *w, int row, void *workspace, pm_mdot_said *said, double *factor);

#endif
