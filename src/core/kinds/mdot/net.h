/*
 * net.h - the MDOT network: parameters, forward and backward pass.
 *
 * An MDOT reconstruction with a roofline-anchored head; equations: docs/mdot.md.
 * mdot.c makes a predictor of it.
 */
#ifndef PM_MDOT_NET_H
#define PM_MDOT_NET_H

#include "nn/encoder.h"
#include "nn/mlp.h"
#include "features/inputs.h"
#include "kinds/kind.h"

/* What the additive head says of an operator. */
enum
{
	PM_MDOT_COMPUTE, PM_MDOT_MEMORY, PM_MDOT_LAUNCH, PM_MDOT_GROWTH, PM_MDOT_OUTPUTS
};


typedef enum pm_mdot_head
{
	PM_HEAD_ADDITIVE, PM_HEAD_POOLED
} pm_mdot_head;

typedef enum pm_mdot_loss
{
	PM_LOSS_LOG_HUBER, PM_LOSS_MAPE, PM_LOSS_MSE_RAW, PM_LOSS_MAE_RAW, PM_LOSS_LOG_CAUCHY
} pm_mdot_loss;

typedef struct pm_mdot_config
{
	int			d;				/* width of the sequence Transformer */
	int			heads;
	int			layers;
	int			d_op;			/* width of the operator encoder */
	int			op_heads;
	int			op_layers;
	int			hidden;			/* of the heads' perceptrons */
	pm_mdot_head head;
	pm_mdot_loss loss;
	bool		residual;		/* additive head: the pooled factor exp(c) */
	double		dropout;		/* of units in the sequence Transformer's branches */
	double		drop_path;		/* of whole branches */
	double		head_dropout;	/* of units inside the heads */
	double		unknown;		/* probability of hiding a type or framework in training */
	int			n_types;		/* rows of the embedding tables */
	int			n_frameworks;
	int			n_gpus;
	const pm_schema *schema;	/* lists that the inputs have; NULL: this library's */
} pm_mdot_config;

typedef struct pm_mdot_net
{
	pm_mdot_config c;
	pm_widths	width;			/* of the inputs */
	pm_tensors	tensors;

	/* offsets, in the order of the data's way */
	size_t		type, dtype, layout, framework; /* tables */
	size_t		tag;			/* [3, d_op] which dimension it is */
	pm_mlp		config, load;	/* the other two dimensions of an operator */
	pm_encoder_shape op_shape;
	pm_encoder_params *op;		/* [c.op_layers] */
	size_t		fuse_ln_g, fuse_ln_b;	/* [d_op] */
	size_t		fuse_w, fuse_b; /* [3 d_op, d], [d] the three dimensions of an operator become one vector */
	size_t		position;		/* [PM_POSITION_DIM, d] */
	pm_mlp		job;
	pm_encoder_shape seq_shape;
	pm_encoder_params *seq;		/* [c.layers] */
	size_t		seq_ln_g, seq_ln_b; /* [d] */
	size_t		hidden_w, hidden_b; /* [d, PM_MDOT_OUTPUTS * hidden]: a hidden layer for each output */
	struct
	{
		size_t		w, b;		/* [hidden], [1] */
	}			output[PM_MDOT_OUTPUTS];
	pm_mlp		rest;			/* what a step costs beside its operators, from the job token */
	pm_mlp		pooled;			/* the step, or a factor on it, from job token, mean and maximum */
	size_t		adapter;		/* [n_gpus, classes] */

	/* constants of the output, set from the training rows */
	double		log_mean,		/* of ln(step_ms): pooled head */
				log_sigma;
	double		raw_scale;		/* mean step_ms: raw losses */
} pm_mdot_net;

/* The samples that a pass reads. */
typedef struct pm_mdot_data
{
	const pm_mdot_net *net;
	const pm_input *inputs;		/* [rows] */
	const double *step_ms;		/* [rows] */
	const double *weight;		/* [rows] */
	double		loss_scale;		/* of Cauchy's loss; 0: that of the end of training */
} pm_mdot_data;

/* What the additive head says of each token; for explain. Arrays may be NULL. */
typedef struct pm_mdot_detail
{
	double	   *token_ms;		/* [n] all copies together */
	double	   *launch_share;	/* [n] 0..1: of launch time in launch and device time */
	double		rest_ms;
} pm_mdot_detail;

/* What the additive head says of an operator for every batch. */
typedef struct pm_mdot_token
{
	double		a,				/* factors on compute and memory time */
				b;
	double		g;				/* growth */
	double		ref_us;			/* device time without growth, at the batch of the features */
	double		launch;			/* of one launch, in units of the head */
} pm_mdot_token;

/*
 * Device time and launch time of one copy, and the time that comes of both; us.
 * *growth: logarithm of the device time, without growth, over that of the features.
 */
double		pm_mdot_device_us(const pm_mdot_token *o, double compute_us, double memory_us, double *growth);
double		pm_mdot_launch_us(const pm_mdot_token *o, double kernels);
double		pm_mdot_token_us(double device_us, double launch_us);

/*
 * The parameters of a network of this configuration.  The lists grow in a; a
 * NULL: parameters are counted (net->tensors.n_params), which is all that
 * pm_mdot_workspace() needs, and nothing can fail.
 */
pm_code		pm_mdot_net_init(pm_mdot_net *net, const pm_mdot_config *c, pm_arena *a, pm_status *st);

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
 * Forward of one sample, for what does not depend on its work: token[n], and of
 * the step what it costs beside its operators and the factor on it all, 1
 * without residual.  Additive head only.
 */
void		pm_mdot_outputs(const pm_mdot_data *data, const pm_real *w, int row, void *workspace,
							pm_mdot_token *token, double *rest_us, double *factor);

#endif
