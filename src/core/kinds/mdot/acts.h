/*
 * acts.h - the activations of one pass of the MDOT network over the samples of
 * a shard.
 */
#ifndef PM_MDOT_ACTS_H
#define PM_MDOT_ACTS_H

#include "kinds/mdot/params.h"

/* The samples that a pass reads. */
typedef struct pm_mdot_data
{
	const pm_mdot_net *net;
	const pm_input *inputs;		/* [rows] */
	const double *step_ms;		/* [rows] */
	const double *weight;		/* [rows] */
	double		loss_scale;		/* of Cauchy's loss; 0: that of the end of training */
} pm_mdot_data;

/* The outputs of the additive head for an operator; the same for all batches. */
typedef struct pm_mdot_token
{
	double		a,				/* factors on compute and memory time */
				b;
	double		g;				/* growth */
	double		ref_us;			/* device time without growth, at the batch of the features */
	double		pass;			/* factor on the device time in a forward pass of inference; 1 in a training step */
	double		launch;			/* of one launch, in units of the head */
} pm_mdot_token;

/* Of one estimate of the times. */
typedef struct pm_mdot_estimate_acts
{
	pm_real    *h_pre, *h_act, *h_mask;	/* [rows, PM_MDOT_OUTPUTS * hidden] */
	pm_mlp_acts rest;
	pm_mlp_acts pass;			/* [rows]; not set in a shard without passes */
	double	   *dpass;			/* [rows] gradient of its output */
	pm_mdot_token *token;		/* [ops] */
	double	   *k_us, *l_us, *t_us;	/* [ops] device, launch, both; one copy */
	double	   *da, *dm, *dl, *dg, *dp;	/* [ops] derivatives of t_us by the four outputs, and by that of pass */
	double	   *sum_us, *rest_us, *rest_slope;	/* [n] the step; its rest, and the derivative of that by the output */
	double	   *ms;				/* [n] the step */
	double	   *dms, *dsum;		/* [n] gradients of the loss by ms, by sum_us */
} pm_mdot_estimate_acts;

typedef struct pm_mdot_acts
{
	int			n;				/* samples */
	int			ops;			/* operators of all samples */
	int			rows;			/* ops + n */
	pm_segment *seg;			/* [n] */
	pm_segments segs;
	pm_segments triples;
	int32_t    *type;			/* [ops] embedding row in use, after hiding */
	int32_t    *framework;		/* [n] */

	/* operator encoder */
	pm_real    *config;			/* [ops, 2 * slots] */
	pm_real    *load;			/* [ops, loads] */
	pm_mlp_acts config_mlp, load_mlp;
	pm_real    *x3;				/* [3, ops, d_op] residual stream */
	pm_encoder_acts *op;		/* [op_layers] */
	pm_real    *f, *f_xhat, *f_rstd;	/* [3 * ops, d_op], [3 * ops] */
	pm_real    *o;				/* [ops, d] */

	/* messages along edges */
	pm_real    *heard[PM_N_EDGE_WAYS];	/* [ops, d] means over producers, over consumers; not set where left out */
	pm_real    *d_heard;		/* [ops, d] */
	pm_real    *heard_scale;	/* [n] 0: left out */

	/* job token and sequence */
	pm_real    *job;			/* [n, job features] */
	pm_mlp_acts job_mlp;
	pm_real    *j;				/* [n, d] job tokens */
	pm_real    *x;				/* [rows, d] residual stream */
	pm_encoder_acts *seq;		/* [layers] */
	pm_real    *z, *z_xhat, *z_rstd;	/* [rows, d], [rows] */

	/* heads */
	pm_real    *z0;				/* [n, d] job tokens */
	int			estimates;		/* that some sample has */
	pm_mdot_estimate_acts estimate[PM_MDOT_ESTIMATES];
	pm_real    *pool;			/* [n, 3 * d] job token, mean, max */
	int32_t    *top;			/* [n, d] row of the maximum */
	pm_mlp_acts pooled;
	double	   *c, *c_slope;	/* [n] */

	/* backward */
	double	   *dc;				/* [n] */
	pm_real    *dz;				/* [rows, d] */
	pm_real    *dx;				/* [rows, d] */
	pm_real    *d_ops;			/* [ops, d] */
	pm_real    *dx3;			/* [3, ops, d_op] */
	pm_real    *wide;			/* [max(rows * max(3 * d, PM_MDOT_OUTPUTS * hidden), 9 * ops * d_op)] */
	pm_real    *small;			/* [n * 4d + d_op] */
	pm_encoder_scratch scratch;
} pm_mdot_acts;

#endif
