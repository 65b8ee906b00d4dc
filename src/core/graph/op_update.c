/*
 * op_update.c - what an optimizer does for each parameter.
 */
#include "graph/op_update.h"

/*
 * Optimizer work a parameter: operations, and bytes with states of 4 bytes, by
 * one kernel for each term as PyTorch's torch/optim/{sgd,adam,adamw}.py does
 * unless told otherwise ("foreach", or a loop over the tensors), and by one
 * kernel for all ("fused").
 */
static const struct update_cost
{
	double		flops;
	double		bytes;
	double		fused_bytes;
}			update_costs[PM_N_OPTIMIZERS] =
{
	[PM_SGD] = {2, 12, 12},
	[PM_SGD_MOMENTUM] = {4, 32, 20},	/* mul, add; add to the weight */
	[PM_ADAM] = {12, 72, 28},	/* lerp; mul, addcmul; sqrt, div, add; addcdiv */
	[PM_ADAMW] = {13, 80, 28},	/* and the decay */
	[PM_OPT_OTHER] = {4, 32, 20},
	[PM_OPT_NONE] = {0, 0, 0},
};

double
pm_fused_update_saves(pm_optimizer opt, pm_dtype dtype)
{
	double		bytes = update_costs[opt].bytes - update_costs[opt].fused_bytes;

	return dtype == PM_BF16 || dtype == PM_FP16 ? bytes / 2 : bytes;
}

pm_update_cost
pm_sparse_update_cost_of(pm_dtype dtype, pm_optimizer opt)
{
	pm_update_cost c = pm_update_cost_of(dtype, opt);

	if (opt != PM_OPT_NONE)
		c.bytes += dtype == PM_BF16 || dtype == PM_FP16 ? 4 : 8;
	return c;
}

/* Mixed precision also writes a copy of 2 bytes; a model in 2 bytes moves half. */
pm_update_cost
pm_update_cost_of(pm_dtype dtype, pm_optimizer opt)
{
	pm_update_cost c = {update_costs[opt].flops, update_costs[opt].bytes};

	if (opt == PM_OPT_NONE)
		return c;
	if (dtype == PM_AMP)
		c.bytes += 2;
	else if (dtype == PM_BF16 || dtype == PM_FP16)
		c.bytes /= 2;
	return c;
}
