/*
 * features.h - the names of the inputs of predictors: configuration ("slots")
 * and load of an operator, and the numbers of the job token.
 *
 * Stored predictors list their features by these names. For a new feature, add
 * a member and its name. If a feature is removed, remove its name, too. If a
 * formula changes, raise PM_FEATURE_VERSION.
 */
#ifndef PM_FEATURES_H
#define PM_FEATURES_H

#include "features/question.h"
#include "graph/op_work.h"
#include "graph/op_geometry.h"

/*
 * Raise it when a change gives the same graph and question other values of an
 * existing feature.  Then predictors that were trained on the old values refuse
 * to answer, and say why.
 */
#define PM_FEATURE_VERSION	2

/* Configuration: the fields of pm_geometry (PM_HAS_...), and those below, which depend on the question. */
enum
{
	PM_SLOT_BATCH = PM_HAS_BIAS + 1,
	PM_SLOT_ELEMENT_BYTES,		/* of its output */
	PM_SLOT_CHANNELS_LAST,		/* 1: it runs on channels-last tensors, and has other kernels for them */
	PM_SLOT_OWN_KERNEL,			/* 1: a depthwise convolution that the framework runs itself, see runs_own_kernel() */
	PM_N_SLOTS
};

/* Computational load of one copy of an operator, and how well it fits the device. */
enum
{
	PM_LOAD_FLOPS_FORWARD, PM_LOAD_FLOPS_BACKWARD, PM_LOAD_FLOPS_UPDATE,
	PM_LOAD_BYTES_FORWARD, PM_LOAD_BYTES_BACKWARD, PM_LOAD_BYTES_UPDATE,
	PM_LOAD_WEIGHT_ELEMS, PM_LOAD_OUT_ELEMS, PM_LOAD_IN_ELEMS,
	PM_LOAD_INTENSITY,			/* FLOPs a byte */
	PM_LOAD_US_FORWARD, PM_LOAD_US_BACKWARD, PM_LOAD_US_UPDATE, /* roofline times */
	PM_LOAD_COMPUTE_US, PM_LOAD_MEMORY_US,
	PM_LOAD_RIDGE,				/* intensity over the device's: its FLOP/s over its bytes per second */
	PM_LOAD_OCCUPANCY,			/* elements of the output for each multiprocessor */
	PM_LOAD_KERNELS, PM_LOAD_TENSOR_CORE,
	PM_LOAD_CACHE,				/* bytes of the forward pass over the L2 cache */
	PM_LOAD_ALIGN_N, PM_LOAD_ALIGN_K, PM_LOAD_TILE_FILL, PM_LOAD_ROUNDS, PM_LOAD_LAST_ROUND,	/* of a matrix product; NaN for others */
	PM_N_LOADS
};

/* Job token, which describes the whole step. There is a member for each optimizer; all are 0 for a step without an update. */
enum
{
	PM_JOB_BATCH, PM_JOB_INPUT_ELEMS, PM_JOB_FLOPS, PM_JOB_BYTES, PM_JOB_PARAMS, PM_JOB_OPERATORS, PM_JOB_DEPTH,
	PM_JOB_KERNELS, PM_JOB_ROOFLINE_US, PM_JOB_CRITICAL_US, PM_JOB_US_A_KERNEL,
	PM_JOB_OPTIMIZER,			/* the first of them */
	PM_JOB_DTYPE = PM_JOB_OPTIMIZER + PM_OPT_NONE,	/* the first of them */
	PM_JOB_LAYOUT = PM_JOB_DTYPE + PM_N_DTYPES,
	PM_JOB_PEAK, PM_JOB_PEAK_FP32, PM_JOB_BANDWIDTH, PM_JOB_MEMORY, PM_JOB_CACHE, PM_JOB_SMS, PM_JOB_CLOCK,
	PM_JOB_RIDGE, PM_JOB_IS_CPU, PM_JOB_TOKENS,
	PM_N_JOB
};

extern const char *const pm_slot_name[PM_N_SLOTS];
extern const char *const pm_load_name[PM_N_LOADS];
extern const char *const pm_job_name[PM_N_JOB];

#endif
