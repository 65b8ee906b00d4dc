/*
 * views.h - for rules: the same data seen in another way. Private to the importer.
 */
#ifndef PM_ONNX_VIEWS_H
#define PM_ONNX_VIEWS_H

#include "import/onnx/walk.h"

/* out is in from an offset under another shape and strides: a view node, or the same parameter, or a smaller constant. */
bool		ox_view(ox_run *r, const char *op, const ox_t *in, int64_t offset, const pm_shape *shape, const int64_t *stride, ox_t *out);
/* in with another shape of as many elements, copied first when strides demand it. */
bool		ox_reshape(ox_run *r, const ox_t *in, const pm_shape *shape, ox_t *out);
bool		ox_permute(ox_run *r, const ox_t *in, const int *perm, ox_t *out);
bool		ox_expand(ox_run *r, const ox_t *in, const pm_shape *shape, ox_t *out);
/* The parts of x along an axis: a view. */
bool		ox_narrow(ox_run *r, const ox_t *in, int axis, int64_t start, int64_t step, int64_t count, ox_t *out);
/* Only another shape, no node: for constants and shapes. */
void		ox_alias(const ox_t *in, ox_t *out);
/* Static output with room for its values when it is small. */
bool		ox_static(ox_run *r, ox_t *out, int dtype, const pm_shape *shape);

#endif
