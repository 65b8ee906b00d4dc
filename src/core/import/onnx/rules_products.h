/*
 * rules_products.h - matrix products, for other rules. Private to the importer.
 */
#ifndef PM_ONNX_RULES_PRODUCTS_H
#define PM_ONNX_RULES_PRODUCTS_H

#include "import/onnx/walk.h"

/* *out = x times transposed w, plus bias (NULL: none), as torch.nn.Linear computes it. False: an error, or no memory. */
bool		ox_linear(ox_run *r, const ox_t *x, const ox_t *w, const ox_t *bias, ox_t *out);
/* *out = a times b, as torch.matmul() computes it, also for batches of matrices. False: an error, or no memory. */
bool		ox_matmul(ox_run *r, const ox_t *a, const ox_t *b, ox_t *out);

#endif
