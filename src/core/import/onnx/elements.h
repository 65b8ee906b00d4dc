/*
 * elements.h - shapes and numbers of stored tensors. Private to the importer.
 */
#ifndef PM_ONNX_ELEMENTS_H
#define PM_ONNX_ELEMENTS_H

#include "import/onnx/model.h"

/* Shape and, when small and whole, values of a tensor; data is of the arena. False: no memory. */
bool		ox_tensor(ox_model *m, const PmOnnx__Tensor *t, int *dtype, pm_shape *shape, double **data);

#endif
