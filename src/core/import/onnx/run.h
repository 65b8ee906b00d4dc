/*
 * run.h - the walk over a model at one batch size. Private to the importer.
 */
#ifndef PM_ONNX_RUN_H
#define PM_ONNX_RUN_H

#include "import/onnx/walk.h"

/*
 * *r: the walk over the nodes of m at this batch; after an error it cannot be used.
 * base: for a model whose batch is a fixed number, the values of the walk at that
 * batch; NULL: none.  PM_ERR_INPUT, PM_ERR_LIMIT, PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		ox_run_model(ox_run *r, ox_model *m, int64_t batch, const ox_t *base);

#endif
