/*
 * op_work.h - operations and bytes of one operator.
 */
#ifndef PM_OP_WORK_H
#define PM_OP_WORK_H

#include "graph/graph.h"

typedef enum pm_dtype
{
	PM_FP32, PM_TF32, PM_AMP, PM_BF16, PM_FP16, PM_N_DTYPES
} pm_dtype;

typedef enum pm_optimizer
{
	PM_SGD, PM_SGD_MOMENTUM, PM_ADAM, PM_ADAMW, PM_OPT_OTHER,
	PM_OPT_NONE,				/* a step that updates nothing */
	PM_N_OPTIMIZERS
} pm_optimizer;

/* What is run and timed. */
typedef enum pm_mode
{
	PM_TRAIN,					/* a training step */
	PM_INFERENCE,				/* a forward pass, of a network in evaluation mode and without gradients */
	PM_N_MODES,					/* those that can be asked for by a word */
	PM_FORWARD = PM_N_MODES		/* the forward pass of a training step, as forward_ms of measurements has it */
} pm_mode;

/* Work of one node, once. Doubles: exact to 2^53. All >= 0. */
typedef struct pm_work
{
	double		flops_forward,
				flops_backward,
				flops_update;	/* optimizer */
	double		bytes_forward,
				bytes_backward,
				bytes_update;
	double		bytes_across;	/* that could be moved forward in the time that operands take longer which lie across the others; not moved */
	double		params;			/* trainable parameters owned by this node */
	double		in_elems;		/* elements of all data inputs */
	double		out_elems;		/* elements of all outputs */
	double		weight_elems;	/* elements of weights, computed weights included */
	double		kernels_forward;	/* estimated kernel launches; 0 for views and inputs */
	double		kernels_backward;
	bool		tensor_core;	/* matrix product that the device's matrix units can take */
} pm_work;

/*
 * Raised when the same graph has other work or another geometry than before:
 * predictors that were trained on the old rules cannot be asked any more, and
 * say so.
 */
#define PM_WORK_VERSION	2

/*
 * Work of node i of a finished g at the given batch, element types, layout that is asked for, and optimizer.
 * PM_AMP: 2 or 4 bytes an element, by what autocast makes of each tensor, and
 * its casts; optimizer states in 4.
 * PM_BF16, PM_FP16: the whole model in 2 bytes, optimizer states included.
 * The backward pass covers only what needs a gradient: a product of an input
 * and a weight has one gradient product, not two.  What the node's place in the
 * graph adds (pm_node.flow) is included: gradients of several readers, views reversed, copies.
 * Views and inputs: all zero. Unknown operators: a memory move of inputs and outputs.
 */
void		pm_node_work(const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_layout layout, pm_optimizer opt,
						 pm_work *w);

/* Bytes a parameter that one kernel for the whole update moves less than one kernel for each term of its formula. */
double		pm_fused_update_saves(pm_optimizer opt, pm_dtype dtype);

/*
 * What of the work *w of node i, from pm_node_work() of the same batch and element types, is left in a mode: all of it
 * in PM_TRAIN, else no backward pass and no update.  In inference a BatchNormalization normalises by the statistics
 * that it has, which saves it the pass that takes them, and a Dropout does nothing.
 */
void		pm_node_work_in(pm_mode mode, const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_work *w);

#endif
