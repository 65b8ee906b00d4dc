/*
 * events.h - the parts of a simulated step: tensors, and the events that
 * allocate and free them.
 */
#ifndef PM_EVENTS_H
#define PM_EVENTS_H

#include "graph/graph.h"
#include "graph/op_work.h"

/* What a tensor is for. */
typedef enum pm_memory_role
{
	PM_MEMORY_WEIGHTS,
	PM_MEMORY_GRADIENTS,		/* of the weights */
	PM_MEMORY_OPTIMIZER,		/* states of the optimizer */
	PM_MEMORY_ACTIVATIONS,		/* outputs of operators, and what the backward pass keeps of them */
	PM_MEMORY_FLOW,				/* gradients of outputs, on their way back */
	PM_MEMORY_WORKSPACE,		/* scratch memory of kernels */
	PM_N_MEMORY_ROLES
} pm_memory_role;

extern const char *const pm_memory_role_name[PM_N_MEMORY_ROLES];

/* How the step is run. */
typedef struct pm_step_options
{
	pm_dtype	dtype;
	pm_layout	layout;
	pm_optimizer optimizer;
	bool		inference;		/* forward alone and without gradients: outputs go when their last reader is done */
	bool		checkpointing;	/* segments of the graph are run again in the backward pass */
	bool		products_stay;	/* in these segments, results of products and of attention in one kernel are kept, and those alone do not run again */
	bool		attention_again;	/* or only what an attention of single operators computes from query, key and value */
	bool		gradients_stay; /* zero_grad() fills with zeros, as before PyTorch 2.0, in place of freeing */
	bool		fused_attention;	/* an Attention node does not store its scores: PyTorch 2.0 and later */
	bool		masked_attention;	/* and neither do operators of one with a mask, or of one that is plain; libraries leave those alone */
	bool		fused_update;	/* one kernel reads gradients and writes weights and states, without scratch memory */
	bool		softmax_keeps_input;	/* before PyTorch 1.11 */
	bool		on_cpu;
	bool		compile;		/* operators are fused, and what is kept is chosen (step_compiled.c); not with checkpoints, nor on a CPU */
	bool		recomputes_less;		/* and norms, and what is split, are not computed again: before PyTorch 2.4 */
} pm_step_options;

typedef struct pm_memory_tensor
{
	double		fixed;			/* bytes whatever the batch */
	double		per;			/* bytes a sample */
	int32_t		node;			/* that it belongs to, -1: the step */
	uint8_t		role;			/* pm_memory_role */
	bool		copy;			/* of a weight, in 2 bytes */
	bool		score;			/* between the products of an attention: for each pair of a query and a key */
	bool		expert;			/* of a node that is an expert's product (graph/experts.h) */
} pm_memory_tensor;

typedef enum pm_step_phase
{
	PM_PHASE_START, PM_PHASE_FORWARD, PM_PHASE_BACKWARD, PM_PHASE_UPDATE, PM_N_PHASES
} pm_step_phase;

extern const char *const pm_step_phase_name[PM_N_PHASES];

/* event >= 0: tensor `event` is taken; < 0: tensor `~event` is given back. */
typedef struct pm_step
{
	int			n_tensors;
	pm_memory_tensor *tensors;
	int			n_events;
	int32_t    *events;
	int32_t    *at;				/* [n_events] node that runs, -1: none */
	int			phase_at[PM_N_PHASES + 1];	/* first event of each phase */
} pm_step;

#endif
