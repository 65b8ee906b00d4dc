/*
 * run.h - the walk over a model at one batch size. Private to the importer.
 */
#ifndef PM_ONNX_RUN_H
#define PM_ONNX_RUN_H

#include "import/onnx/walk.h"

/*
 * Walk the nodes of m at the given batch; *r is of no use on errors.  base: the
 * values at the batch of a fixed model, NULL: none.  PM_ERR_INPUT,
 * PM_ERR_LIMIT, PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		ox_run_model(ox_run *r, ox_model *m, int64_t batch, const ox_t *base);

#endif
