/*
 * attributes.h - attributes of a node by name. Private to the importer.
 */
#ifndef PM_ONNX_ATTRIBUTES_H
#define PM_ONNX_ATTRIBUTES_H

#include "import/onnx/model.h"

const PmOnnx__Attribute *ox_attr(const ox_node *n, const char *name);
int64_t		ox_attr_int(const ox_node *n, const char *name, int64_t otherwise);
double		ox_attr_float(const ox_node *n, const char *name, double otherwise);
/* Text of at most size - 1 bytes; "" when absent. */
void		ox_attr_text(const ox_node *n, const char *name, char *text, size_t size);
/* Numbers of a list attribute, NULL and *n = 0 when absent. */
const int64_t *ox_attr_ints(const ox_node *n, const char *name, int *count);

#endif
