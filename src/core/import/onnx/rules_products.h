/*
 * rules_products.h - matrix products, for other rules. Private to the importer.
 */
#ifndef PM_ONNX_RULES_PRODUCTS_H
#define PM_ONNX_RULES_PRODUCTS_H

#include "import/onnx/walk.h"

/* x times the transposed weight w, and a bias that may be NULL, as Linear does it. */
bool		ox_linear(ox_run *r, const ox_t *x, const ox_t *w, const ox_t *bias, ox_t *out);
/* a times b, stacks of matrices included. */
bool		ox_matmul(ox_run *r, const ox_t *a, const ox_t *b, ox_t *out);

#endif
