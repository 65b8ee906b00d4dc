/*
 * constants.h - results of constants. Private to the importer.
 */
#ifndef PM_ONNX_CONSTANTS_H
#define PM_ONNX_CONSTANTS_H

#include "import/onnx/walk.h"

/*
 * Compute the values of the outputs of n, if all inputs are constants with known values and the operator is one of shape arithmetic.
 * Otherwise, outputs stay as they are: their values are not known.
 */
void		ox_fold_constants(ox_run *r, const ox_node *n);

#endif
