/*
 * attributes.h - attributes of a node by name. Private to the importer.
 */
#ifndef PM_ONNX_ATTRIBUTES_H
#define PM_ONNX_ATTRIBUTES_H

#include "import/onnx/model.h"

/* The attribute of n with this name; NULL: there is none. */
const PmOnnx__Attribute *ox_attr(const ox_node *n, const char *name);
/* Its whole number, or its real number; otherwise: if there is no such attribute, or none of this type. */
int64_t		ox_attr_int(const ox_node *n, const char *name, int64_t otherwise);
double		ox_attr_float(const ox_node *n, const char *name, double otherwise);
/* text[size]: its text, cut to size - 1 bytes; "" if absent. */
void		ox_attr_text(const ox_node *n, const char *name, char *text, size_t size);
/* The *count numbers of its list; NULL and 0 if absent or empty. */
const int64_t *ox_attr_ints(const ox_node *n, const char *name, int *count);

#endif
