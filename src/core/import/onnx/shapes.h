/*
 * shapes.h - for rules: shapes and strides. Private to the importer.
 */
#ifndef PM_ONNX_SHAPES_H
#define PM_ONNX_SHAPES_H

#include "import/onnx/walk.h"

/* Set the strides of t to those of contiguous memory. */
void		ox_contiguous(ox_t *t);
/* Whether t has such strides; dimensions of size 1 do not count. */
bool		ox_is_contiguous(const ox_t *t);
/* *shape: that to which in[n] are broadcast. False: an error, as their shapes do not fit. */
bool		ox_broadcast(ox_run *r, int n, const ox_t *const *in, pm_shape *shape);
/* Stride of operand t in dimension i of a result of the given shape; 0 where it is broadcast. */
int64_t		ox_operand_stride(const ox_t *t, int i, const pm_shape *shape);
/* Set the strides of out, whose shape is set, as PyTorch's TensorIterator does for an elementwise operator on in[n]. */
void		ox_elementwise_strides(int n, const ox_t *const *in, ox_t *out);
/* A shape of `rank` dimensions dim[rank], rank <= PM_MAX_RANK. */
pm_shape	ox_shape(int rank, const int64_t *dim);
bool		ox_same_shape(const pm_shape *a, const pm_shape *b);
/* False, and an error: more than PM_MAX_RANK dimensions, one outside of 0 to PM_MAX_DIM, or more than 2^60 elements. */
bool		ox_check_shape(ox_run *r, const pm_shape *s);

#endif
