/*
 * fold.h - what exporters have taken apart. Private to the importer.
 */
#ifndef PM_ONNX_FOLD_H
#define PM_ONNX_FOLD_H

#include "import/onnx/model.h"

/* Put it together again. PM_ERR_MEMORY; PM_CANCELLED. */
pm_code		ox_fold(ox_model *m);

#endif
