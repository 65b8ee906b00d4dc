/*
 * operands.h - for rules: errors, inputs and outputs of the current node. Private to the importer.
 */
#ifndef PM_ONNX_OPERANDS_H
#define PM_ONNX_OPERANDS_H

#include "import/onnx/walk.h"

bool		ox_error(ox_run *r, const char *fmt,...) PM_PRINTF(2, 3);	/* always false */
bool		ox_no_memory(ox_run *r);	/* always false */
/* Input k, NULL when it is absent. */
const ox_t *ox_in(const ox_run *r, const ox_node *n, int k);
ox_t	   *ox_out(ox_run *r, const ox_node *n, int k);
/* Constant whole numbers of input k; an error when it is not constant. Absent: *count = -1. */
bool		ox_ints(ox_run *r, const ox_node *n, int k, int *count, int64_t *v, int max);
/* Attribute of older opsets, else input k. */
bool		ox_ints_or_attr(ox_run *r, const ox_node *n, const char *name, int k, int *count, int64_t *v, int max);
/* One number out of a constant tensor; NaN when it is not known. */
double		ox_scalar(const ox_t *t);
bool		ox_axis(ox_run *r, int64_t axis, int rank, int *result);
/* Mark an axis as taken in seen[PM_MAX_RANK]; an error when it was. */
bool		ox_mark_axis(ox_run *r, int axis, bool *seen);

#endif
