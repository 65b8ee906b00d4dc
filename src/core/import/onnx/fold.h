/*
 * fold.h - joins operators that exporters have taken apart. Private to the
 * importer.
 */
#ifndef PM_ONNX_FOLD_H
#define PM_ONNX_FOLD_H

#include "import/onnx/model.h"

/* Replace the patterns of fold_patterns.h in m by single operators. PM_ERR_MEMORY; PM_CANCELLED. */
pm_code		ox_fold(ox_model *m);

#endif
