/*
 * decode.h - from bytes to a model. Private to the importer.
 */
#ifndef PM_ONNX_DECODE_H
#define PM_ONNX_DECODE_H

#include "import/onnx/model.h"

/*
 * Fill *m, whose arena, st and options are set, from the serialised model bytes[len].  PM_ERR_INPUT: it is no sound model of ours;
 * PM_ERR_LIMIT; PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		ox_decode(const void *bytes, size_t len, ox_model *m);

#endif
