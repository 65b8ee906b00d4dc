/*
 * wire.h - removes large and unknown parts from the bytes of a model.
 */
#ifndef PM_ONNX_WIRE_H
#define PM_ONNX_WIRE_H

#include "base/core.h"

/* Contents of tensors above so many bytes are weights, whose values are not needed. */
#define PM_ONNX_KEEP	((size_t) 4096)

/*
 * *out, of *out_len bytes in arena a: a copy of the serialised Model bytes[len] with
 * only the fields of onnx.proto, and without contents of tensors and lists above
 * PM_ONNX_KEEP bytes and empty groups.  PM_ERR_INPUT: the bytes are not a valid
 * message; PM_ERR_LIMIT: the copy would be too large; PM_ERR_MEMORY.
 */
pm_code		pm_onnx_reduce(const uint8_t *bytes, size_t len, pm_arena *a, uint8_t **out, size_t *out_len, pm_status *st);

#endif
