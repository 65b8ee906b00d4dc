/*
 * views.h - for rules: views of a tensor. Private to the importer.
 *
 * Functions return false after an error, or without memory.  in and out may be the
 * same.
 */
#ifndef PM_ONNX_VIEWS_H
#define PM_ONNX_VIEWS_H

#include "import/onnx/walk.h"

/* *out: in, from an offset on, with another shape and strides. It is a view node `op`, or the same parameter, or another constant. */
bool		ox_view(ox_run *r, const char *op, const ox_t *in, int64_t offset, const pm_shape *shape, const int64_t *stride, ox_t *out);
/* *out: in with another shape of as many elements; a copy if the strides of in allow no view. */
bool		ox_reshape(ox_run *r, const ox_t *in, const pm_shape *shape, ox_t *out);
/* *out: dimension i is dimension perm[i] of in. */
bool		ox_permute(ox_run *r, const ox_t *in, const int *perm, ox_t *out);
/* *out: in, broadcast to a shape. */
bool		ox_expand(ox_run *r, const ox_t *in, const pm_shape *shape, ox_t *out);
/* *out: `count` elements of in along an axis, every `step`-th from `start` on. */
bool		ox_narrow(ox_run *r, const ox_t *in, int axis, int64_t start, int64_t step, int64_t count, ox_t *out);
/* *out = in, without a node. */
void		ox_alias(const ox_t *in, ox_t *out);
/* *out: a static tensor of this type and shape; it has room for its values (data) if there are at most OX_MAX_CONST. */
bool		ox_static(ox_run *r, ox_t *out, int dtype, const pm_shape *shape);

#endif
