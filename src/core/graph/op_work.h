/*
 * op_work.h - operations and bytes of one operator.
 */
#ifndef PM_OP_WORK_H
#define PM_OP_WORK_H

#include "graph/graph.h"
#include "graph/op_step.h"

/* Work of one copy of a node in one step. Numbers are >= 0, and exact up to 2^53. */
typedef struct pm_work
{
	double		flops_forward,
				flops_backward,
				flops_update;	/* optimizer */
	double		bytes_forward,
				bytes_backward,
				bytes_update;
	double		bytes_across;	/* forward: bytes that could be moved in the time that is lost on operands in another memory order
								 * than the output (docs/mdot.md, Across); they are not moved */
	double		params;			/* trainable parameters owned by this node */
	double		in_elems;		/* elements of all data inputs */
	double		out_elems;		/* elements of all outputs */
	double		weight_elems;	/* elements of weights, computed weights included */
	double		kernels_forward;	/* estimated kernel launches; 0 for views and inputs */
	double		kernels_backward;
	bool		tensor_core;	/* matrix product that the device's matrix units can take */
} pm_work;

/*
 * Raise it when a change gives the same graph other work or another geometry.
 * Then predictors that were trained by the old rules refuse to answer, and say
 * why.
 */
#define PM_WORK_VERSION	2

/*
 * *w: the work of node i of a finished graph in a training step at this batch,
 * number format, layout of the question, and optimizer.  Formulas: docs/mdot.md.
 *
 * PM_AMP: a tensor has 2 or 4 bytes an element, as autocast would have it; casts
 * are counted; the optimizer keeps 4 bytes.  PM_BF16, PM_FP16: everything has 2
 * bytes, also in the optimizer.  The backward pass covers only what needs a
 * gradient: a product of an input of the network and a weight has one gradient
 * product, not two.  The work of the node's place in the graph (pm_node.flow) is
 * included: sums of gradients, views reversed, copies.  Views and inputs have no
 * work.  Unknown operators move their inputs and outputs.
 */
void		pm_node_work(const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_layout layout, pm_optimizer opt,
						 pm_work *w);

/*
 * Reduce *w, the work of node i from pm_node_work() at the same batch and dtype, to its part in a mode: all of it in
 * PM_TRAIN, else without backward pass and update.  In PM_INFERENCE, a BatchNormalization uses stored statistics, so it
 * reads its input once less, and a Dropout does nothing.
 */
void		pm_node_work_in(pm_mode mode, const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_work *w);

#endif
