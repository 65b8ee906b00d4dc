/*
 * net.h - forward and backward pass of the MDOT network.
 *
 * An MDOT reconstruction with a roofline-anchored head; equations: docs/mdot.md.
 * mdot.c makes a predictor of it.
 */
#ifndef PM_MDOT_NET_H
#define PM_MDOT_NET_H

#include "kinds/mdot/heads.h"

/* What the additive head says of each token; for explain. Arrays may be NULL. */
typedef struct pm_mdot_detail
{
	double	   *token_ms;		/* [n] all copies together */
	double	   *launch_share;	/* [n] 0..1: of launch time in launch and device time */
	double		rest_ms;
} pm_mdot_detail;

/* What one estimate says of a question, whatever the batch. */
typedef struct pm_mdot_said
{
	pm_mdot_token *token;		/* [n] */
	double		rest_us;		/* what the step costs beside its operators */
} pm_mdot_said;

/* Bytes of workspace for a pass over samples of this size. */
size_t		pm_mdot_workspace(const pm_mdot_net *net, const pm_pass_size *size);

/* pm_objective.pass; ctx is a pm_mdot_data. */
double		pm_mdot_pass(const void *ctx, const pm_real *w, pm_real *grad, const int *index, int n,
						 double *predicted, pm_rng *rng, void *workspace);
/* pm_objective.begin_epoch; ctx is a pm_mdot_data.  Sets its loss_scale. */
void		pm_mdot_begin_epoch(void *ctx, double progress);
/* Forward of one sample with detail. */
double		pm_mdot_explain(const pm_mdot_data *data, const pm_real *w, int row, void *workspace, pm_mdot_detail *detail);

/*
 * Forward of one sample, for what does not depend on its work: said[c.estimates],
 * whose token[n] are there, and the factor on the step, 1 without residual.  Additive head only.
 */
void		pm_mdot_outputs(const pm_mdot_data *data, const pm_real *w, int row, void *workspace, pm_mdot_said *said, double *factor);

#endif
