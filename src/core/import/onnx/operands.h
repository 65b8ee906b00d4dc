/*
 * operands.h - for rules: errors, inputs and outputs of the current node. Private to the importer.
 */
#ifndef PM_ONNX_OPERANDS_H
#define PM_ONNX_OPERANDS_H

#include "import/onnx/walk.h"

/* Set r->failed and an error about the current node (the first error stays). Always false. */
bool		ox_error(ox_run *r, const char *fmt,...) PM_PRINTF(2, 3);
/* The same for PM_ERR_MEMORY. Always false. */
bool		ox_no_memory(ox_run *r);
/* Input k of n; NULL: it is absent. */
const ox_t *ox_in(const ox_run *r, const ox_node *n, int k);
/* Output k of n; if the node has no such output, a scratch value. Never NULL. */
ox_t	   *ox_out(ox_run *r, const ox_node *n, int k);
/* v[*count]: the whole numbers of input k, at most max; *count is -1 if it is absent. False: an error, such as that it is no constant. */
bool		ox_ints(ox_run *r, const ox_node *n, int k, int *count, int64_t *v, int max);
/* The same from input k, or if this is absent, from the list attribute of older opsets. */
bool		ox_ints_or_attr(ox_run *r, const ox_node *n, const char *name, int k, int *count, int64_t *v, int max);
/* The number of a constant tensor with one element; NaN for any other tensor, NULL, or if the number is not known. */
double		ox_scalar(const ox_t *t);
/* *result: axis in 0 to rank - 1; a negative axis counts from the end. False: an error, as there is no such axis. */
bool		ox_axis(ox_run *r, int64_t axis, int rank, int *result);
/* Mark an axis in seen[PM_MAX_RANK]. False: an error, as it was marked already. */
bool		ox_mark_axis(ox_run *r, int axis, bool *seen);

#endif
