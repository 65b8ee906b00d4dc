/*
 * wire.h - a model's bytes without what is large or unknown.
 */
#ifndef PM_ONNX_WIRE_H
#define PM_ONNX_WIRE_H

#include "base/core.h"

/* Contents of a tensor above so many bytes are weights, which nobody reads. */
#define PM_ONNX_KEEP	((size_t) 4096)

/*
 * Copy what onnx.proto knows of the serialised Model bytes[len] into *out, of
 * the arena.  Contents of tensors and lists above PM_ONNX_KEEP bytes, unknown
 * fields and empty groups are left out.  PM_ERR_INPUT when the bytes are not a
 * sound message, PM_ERR_LIMIT when too much is left.
 */
pm_code		pm_onnx_reduce(const uint8_t *bytes, size_t len, pm_arena *a, uint8_t **out, size_t *out_len, pm_status *st);

#endif
