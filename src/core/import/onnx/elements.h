/*
 * elements.h - shapes and numbers of stored tensors. Private to the importer.
 */
#ifndef PM_ONNX_ELEMENTS_H
#define PM_ONNX_ELEMENTS_H

#include "import/onnx/model.h"

/*
 * Element type and shape of a stored tensor, and its values in the model's arena: *data is NULL if there are more than OX_MAX_CONST
 * or the file lacks them.  False: no memory.
 */
bool		ox_tensor(ox_model *m, const PmOnnx__Tensor *t, int *dtype, pm_shape *shape, double **data);

#endif
