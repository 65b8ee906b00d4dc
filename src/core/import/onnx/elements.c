/*
 * elements.c - shapes and numbers of stored tensors, whatever their type.
 */
#include "import/onnx/elements.h"

#include <string.h>

static double
half(uint16_t h)
{
	int			exponent = (h >> 10) & 31;
	double		v = (h & 1023) / 1024.0;

	v = exponent == 0 ? v * 2 : v + 1;
	for (; exponent > 15; exponent--)
		v *= 2;
	for (; exponent < 15; exponent++)
		v /= 2;
	return h & 0x8000 ? -v : v;
}

/* Element i of raw little-endian bytes. */
static double
raw_element(const uint8_t *p, int dtype)
{
	uint64_t	u = 0;
	int			bytes = dtype == OX_FLOAT || dtype == OX_INT32 || dtype == OX_UINT32 ? 4 :
		dtype == OX_INT64 || dtype == OX_DOUBLE || dtype == OX_UINT64 ? 8 :
		dtype == OX_FLOAT16 || dtype == OX_BFLOAT16 || dtype == OX_INT16 || dtype == OX_UINT16 ? 2 : 1;
	uint32_t	u32;
	float		f;
	double		d;

	for (int i = 0; i < bytes; i++)
		u |= (uint64_t) p[i] << (8 * i);
	u32 = dtype == OX_BFLOAT16 ? (uint32_t) u << 16 : (uint32_t) u;
	memcpy(&f, &u32, 4);
	memcpy(&d, &u, 8);
	switch (dtype)
	{
		case OX_FLOAT:
		case OX_BFLOAT16:
			return f;
		case OX_DOUBLE:
			return d;
		case OX_FLOAT16:
			return half((uint16_t) u);
		case OX_INT64:
			return (double) (int64_t) u;
		case OX_INT32:
			return (int32_t) u32;
		case OX_INT16:
			return (int16_t) u;
		case OX_INT8:
			return (int8_t) u;
		default:
			return (double) u;
	}
}

static int
element_size(int dtype)
{
	switch (dtype)
	{
		case OX_UINT8:
		case OX_INT8:
		case OX_BOOL:
			return 1;
		case OX_UINT16:
		case OX_INT16:
		case OX_FLOAT16:
		case OX_BFLOAT16:
			return 2;
		case OX_FLOAT:
		case OX_INT32:
		case OX_UINT32:
			return 4;
		case OX_INT64:
		case OX_DOUBLE:
		case OX_UINT64:
			return 8;
		default:
			return 0;
	}
}

/* Values of t into data[count]; false when they are not all there. */
static bool
read_elements(const PmOnnx__Tensor *t, size_t count, double *data)
{
	size_t		size = (size_t) element_size(t->data_type);

	if (t->has_raw_data && size > 0 && t->raw_data.len == count * size)
	{
		for (size_t i = 0; i < count; i++)
			data[i] = raw_element(t->raw_data.data + i * size, t->data_type);
		return true;
	}
#define COPY(field) \
	if (t->n_##field == count) \
	{ \
		for (size_t i = 0; i < count; i++) \
			data[i] = (double) t->field[i]; \
		return true; \
	}
	if (t->data_type == OX_FLOAT)
		COPY(float_data)
	if (t->data_type == OX_INT64)
		COPY(int64_data)
	if (t->data_type == OX_DOUBLE)
		COPY(double_data)
	if (t->data_type == OX_UINT64 || t->data_type == OX_UINT32)
		COPY(uint64_data)
	if (t->data_type == OX_FLOAT16 && t->n_int32_data == count)
	{
		for (size_t i = 0; i < count; i++)
			data[i] = half((uint16_t) t->int32_data[i]);
		return true;
	}
	if (size > 0 && size <= 4 && t->data_type != OX_FLOAT && t->data_type != OX_BFLOAT16)
		COPY(int32_data)
#undef COPY
	return false;
}

bool
ox_tensor(ox_model *m, const PmOnnx__Tensor *t, int *dtype, pm_shape *shape, double **data)
{
	double		count;

	*data = NULL;
	*dtype = t->data_type;
	shape->rank = (int) t->n_dims;
	for (size_t i = 0; i < t->n_dims; i++)
		shape->dim[i] = t->dims[i];
	count = pm_shape_count(shape);
	if (count > OX_MAX_CONST || count < 0)
		return true;
	*data = PM_NEW(m->arena, double, (size_t) count + 1);
	if (*data == NULL)
		return false;
	if (!read_elements(t, (size_t) count, *data))
		*data = NULL;
	return true;
}
