/*
 * shapes.h - for rules: shapes and strides. Private to the importer.
 */
#ifndef PM_ONNX_SHAPES_H
#define PM_ONNX_SHAPES_H

#include "import/onnx/walk.h"

void		ox_contiguous(ox_t *t);	/* set strides for its shape */
bool		ox_is_contiguous(const ox_t *t);
bool		ox_broadcast(ox_run *r, int n, const ox_t *const *in, pm_shape *shape);
/* Stride of operand t in dimension i of a result of the given shape; 0 where it is broadcast. */
int64_t		ox_operand_stride(const ox_t *t, int i, const pm_shape *shape);
/* Strides PyTorch gives to the result of an elementwise operator. */
void		ox_elementwise_strides(int n, const ox_t *const *in, ox_t *out);
pm_shape	ox_shape(int rank, const int64_t *dim);
bool		ox_same_shape(const pm_shape *a, const pm_shape *b);
bool		ox_check_shape(ox_run *r, const pm_shape *s);

#endif
