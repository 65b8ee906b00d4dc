/*
 * params.h - a network of the kind "mdot": its configuration and where its
 * parameters stand.
 */
#ifndef PM_MDOT_PARAMS_H
#define PM_MDOT_PARAMS_H

#include "nn/encoder.h"
#include "nn/mlp.h"
#include "features/inputs.h"
#include "kinds/kind.h"

/* The outputs of the additive head for an operator. */
enum
{
	PM_MDOT_COMPUTE, PM_MDOT_MEMORY, PM_MDOT_LAUNCH, PM_MDOT_GROWTH, PM_MDOT_OUTPUTS
};

#define PM_MDOT_ESTIMATES	2	/* the most that a network makes of each time */

typedef enum pm_mdot_head
{
	PM_HEAD_ADDITIVE, PM_HEAD_POOLED
} pm_mdot_head;

typedef enum pm_mdot_anchor
{
	PM_ANCHOR_AUTO, PM_ANCHOR_BASE, PM_ANCHOR_PEAK
} pm_mdot_anchor;

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
	int			estimates;		/* 1 or 2: the first starts from compute_us and memory_us of pm_input, the second from these times to_peak */
	bool		edges;			/* messages along the edges of the graph */
	bool		residual;		/* additive head: the pooled factor exp(c) */
	bool		passes;			/* additive head: operators of forward passes of inference have a factor of their own */
	double		dropout;		/* of units in the sequence Transformer's branches */
	double		drop_path;		/* of whole branches */
	double		head_dropout;	/* of units inside the heads */
	double		unknown;		/* probability of hiding a type or framework in training */
	int			n_types;		/* rows of the embedding tables */
	int			n_frameworks;
	int			n_gpus;
	const pm_schema *schema;	/* lists that the inputs have; NULL: this library's */
} pm_mdot_config;

/* Offsets of an estimate's parameters, which turn an operator's vector into its time, and the job token into the rest of the step. */
typedef struct pm_mdot_estimate
{
	size_t		hidden_w, hidden_b; /* [d, PM_MDOT_OUTPUTS * hidden]: a hidden layer for each output */
	struct
	{
		size_t		w, b;		/* [hidden], [1] */
	}			output[PM_MDOT_OUTPUTS];
	pm_mlp		rest;			/* what a step costs beside its operators, from the job token */
	size_t		adapter;		/* [n_gpus, classes] */
	pm_mlp		pass;			/* factor on the device time of an operator in a forward pass of inference, from its vector; with c.passes */
} pm_mdot_estimate;

typedef struct pm_mdot_net
{
	pm_mdot_config c;
	pm_widths	width;			/* of the inputs */
	pm_tensors	tensors;

	/* offsets, in the order in which the forward pass uses them */
	size_t		type, dtype, framework; /* tables */
	size_t		tag;			/* [3, d_op] which dimension it is */
	pm_mlp		config, load;	/* the other two dimensions of an operator */
	pm_encoder_shape op_shape;
	pm_encoder_params *op;		/* [c.op_layers] */
	size_t		fuse_ln_g, fuse_ln_b;	/* [d_op] */
	size_t		fuse_w, fuse_b; /* [3 d_op, d], [d] the three dimensions of an operator become one vector */
	size_t		position;		/* [PM_POSITION_DIM, d] */
	size_t		message[PM_N_EDGE_WAYS];	/* [d, d] of messages from producers, from consumers */
	pm_mlp		job;
	pm_encoder_shape seq_shape;
	pm_encoder_params *seq;		/* [c.layers] */
	size_t		seq_ln_g, seq_ln_b; /* [d] */
	pm_mdot_estimate estimate[PM_MDOT_ESTIMATES];	/* [c.estimates] */
	pm_mlp		pooled;			/* the step, or a factor on it, from job token, mean and maximum */

	/* constants of the output, set from the training rows */
	double		log_mean,		/* of ln(step_ms): pooled head */
				log_sigma;
	double		raw_scale;		/* mean step_ms: raw losses */
} pm_mdot_net;

/*
 * *net: the list of parameters of a network of this configuration, in arena a.
 * a NULL: parameters are only counted (net->tensors.n_params), which is all that
 * pm_mdot_workspace() needs, and nothing can fail.  PM_ERR_MEMORY.
 */
pm_code		pm_mdot_net_init(pm_mdot_net *net, const pm_mdot_config *c, pm_arena *a, pm_status *st);

#endif
