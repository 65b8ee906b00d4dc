/*
 * op_step.h - how a step is computed: words of a question that change the work
 * of operators.
 */
#ifndef PM_OP_STEP_H
#define PM_OP_STEP_H

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

/* The computation that is timed. */
typedef enum pm_mode
{
	PM_TRAIN,					/* a training step */
	PM_INFERENCE,				/* a forward pass, of a network in evaluation mode and without gradients */
	PM_N_MODES,					/* modes that a question can name */
	PM_FORWARD = PM_N_MODES		/* the forward pass of a training step, whose time is forward_ms of a measurement */
} pm_mode;

#endif
