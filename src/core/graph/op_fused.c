/*
 * op_fused.c - which operators a compiler fuses.
 */
#include "graph/op_fused.h"

#include "graph/op_catalogue.h"

#include <string.h>

bool
pm_op_ends_kernel(const pm_node *n)
{
	static const char *const reductions[] = {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "GlobalAveragePool", "aten::adaptive_avg_pool2d", "aten::var",
		"aten::var_mean", "aten::std"};

	for (size_t i = 0; i < sizeof(reductions) / sizeof(reductions[0]); i++)
		if (pm_op_class(n->op) == PM_CLASS_POOL && strcmp(pm_op_name(n->op), reductions[i]) == 0)
			return true;
	return false;
}

bool
pm_op_is_fused(const pm_node *n)
{
	pm_class	class = pm_op_class(n->op);

	return n->op != PM_OP_UNKNOWN && (class == PM_CLASS_ELEMENTWISE || class == PM_CLASS_NORM || class == PM_CLASS_ATTENTION || class == PM_CLASS_MOVE || pm_op_ends_kernel(n));
}
