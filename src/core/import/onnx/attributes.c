/*
 * attributes.c - attributes of a node by name.
 */
#include "import/onnx/attributes.h"

#include <string.h>

const PmOnnx__Attribute *
ox_attr(const ox_node *n, const char *name)
{
	for (size_t i = 0; i < n->n_attr; i++)
		if (n->attr[i]->name != NULL && strcmp(n->attr[i]->name, name) == 0)
			return n->attr[i];
	return NULL;
}

int64_t
ox_attr_int(const ox_node *n, const char *name, int64_t otherwise)
{
	const PmOnnx__Attribute *a = ox_attr(n, name);

	return a != NULL && a->has_i ? a->i : otherwise;
}

double
ox_attr_float(const ox_node *n, const char *name, double otherwise)
{
	const PmOnnx__Attribute *a = ox_attr(n, name);

	return a != NULL && a->has_f ? (double) a->f : otherwise;
}

void
ox_attr_text(const ox_node *n, const char *name, char *text, size_t size)
{
	const PmOnnx__Attribute *a = ox_attr(n, name);
	size_t		len = a != NULL && a->has_s ? a->s.len : 0;

	if (len > size - 1)
		len = size - 1;
	if (len > 0)
		memcpy(text, a->s.data, len);
	text[len] = '\0';
}

const int64_t *
ox_attr_ints(const ox_node *n, const char *name, int *count)
{
	const PmOnnx__Attribute *a = ox_attr(n, name);

	*count = a == NULL ? 0 : (int) a->n_ints;
	return *count == 0 ? NULL : a->ints;
}
