/*
 * constants.h - results of constants. Private to the importer.
 */
#ifndef PM_ONNX_CONSTANTS_H
#define PM_ONNX_CONSTANTS_H

#include "import/onnx/walk.h"

/* Compute the outputs of n where all inputs are constants with known values. */
void		ox_fold_constants(ox_run *r, const ox_node *n);

#endif
