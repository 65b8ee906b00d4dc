/*
 * views.c - views of the same data, and copies if a view is not possible.
 */
#include "import/onnx/views.h"

#include <math.h>
#include <string.h>

#include "import/onnx/emit.h"
#include "import/onnx/operands.h"
#include "import/onnx/shapes.h"

void
ox_alias(const ox_t *in, ox_t *out)
{
	*out = *in;
}

bool
ox_static(ox_run *r, ox_t *out, int dtype, const pm_shape *shape)
{
	double		count = pm_shape_count(shape);

	if (!ox_check_shape(r, shape))
		return false;
	memset(out, 0, sizeof(*out));
	out->origin = OX_STATIC;
	out->dtype = dtype;
	out->shape = *shape;
	ox_contiguous(out);
	if (count > OX_MAX_CONST)
		return true;
	out->data = PM_NEW(r->m->arena, double, (size_t) count + 1);
	return out->data != NULL ? true : ox_no_memory(r);
}

/*
 * Constants are always contiguous: a view of one is a copy of the values it
 * sees.  A constant with a fixed batch baked in may be shorter than the view
 * of it at another batch; the values of such a view are not known.
 */
static bool
static_view(ox_run *r, const ox_t *in, int64_t offset, const pm_shape *shape, const int64_t *stride, ox_t *out)
{
	int64_t		at[PM_MAX_RANK] = {0};
	int64_t		count = (int64_t) pm_shape_count(shape);
	double		there = pm_shape_count(&in->shape);
	int			dtype = in->dtype;
	const double *data = in->data;
	pm_shape	stored = pm_shape_count(shape) < pm_shape_count(&in->stored) && in->stored.rank > 0 ? *shape : in->stored;

	if (!ox_static(r, out, dtype, shape))
		return false;
	out->stored = stored;
	if (data == NULL)
		out->data = NULL;
	for (int64_t i = 0; out->data != NULL && i < count; i++)
	{
		int64_t		from = offset;

		for (int d = 0; d < shape->rank; d++)
			from += at[d] * stride[d];
		if (from < 0 || (double) from >= there)
		{
			out->data = NULL;
			break;
		}
		out->data[i] = data[from];
		for (int d = shape->rank - 1; d >= 0 && ++at[d] == shape->dim[d]; d--)
			at[d] = 0;
	}
	return true;
}

bool
ox_view(ox_run *r, const char *op, const ox_t *in, int64_t offset, const pm_shape *shape, const int64_t *stride, ox_t *out)
{
	ox_t		from = *in;		/* out may be in */
	const ox_t *list[1] = {&from};
	bool		ok = true;

	if (!ox_check_shape(r, shape))
		return false;
	if (from.origin == OX_STATIC)
		return static_view(r, &from, offset, shape, stride, out);
	*out = from;
	out->shape = *shape;
	/* a part of a parameter is read as a parameter of its own size */
	if (from.origin == OX_WEIGHT && pm_shape_count(shape) < pm_shape_count(&from.stored))
		out->stored = *shape;
	if (from.origin == OX_NODE)
		ok = ox_emit(r, op, 1, list, out, true);
	for (int i = 0; i < shape->rank; i++)
		out->stride[i] = stride[i];
	return ok;
}

/* in as contiguous data: itself or a copy. */
static bool
make_contiguous(ox_run *r, const ox_t *in, ox_t *out)
{
	ox_t		from = *in;
	const ox_t *list[1] = {&from};

	*out = from;
	if (ox_is_contiguous(&from))
		return true;
	if (from.origin == OX_STATIC)
	{
		ox_contiguous(out);
		return true;
	}
	return ox_emit(r, "aten::clone", 1, list, out, false);
}

/* Strides under which in's memory has the new shape, as PyTorch finds them; false when there are none. */
static bool
view_strides(const ox_t *in, const pm_shape *shape, int64_t *stride)
{
	int			at = shape->rank - 1;
	int64_t		chunk_stride;
	int64_t		in_count = 1;
	int64_t		out_count = 1;

	if (pm_shape_count(shape) == 0 || in->shape.rank == 0)
	{
		ox_t		plain = {.shape = *shape};

		ox_contiguous(&plain);
		memcpy(stride, plain.stride, sizeof(plain.stride));
		return true;
	}
	chunk_stride = in->stride[in->shape.rank - 1];
	for (int d = in->shape.rank - 1; d >= 0; d--)
	{
		in_count *= in->shape.dim[d];
		if (d > 0 && (in->shape.dim[d - 1] == 1 || in->stride[d - 1] == in_count * chunk_stride))
			continue;
		while (at >= 0 && (out_count < in_count || shape->dim[at] == 1))
		{
			stride[at] = out_count * chunk_stride;
			out_count *= shape->dim[at];
			at--;
		}
		if (out_count != in_count)
			return false;
		if (d > 0)
		{
			chunk_stride = in->stride[d - 1];
			in_count = 1;
			out_count = 1;
		}
	}
	return at == -1;
}

bool
ox_reshape(ox_run *r, const ox_t *in, const pm_shape *shape, ox_t *out)
{
	int64_t		stride[PM_MAX_RANK] = {0};
	ox_t		plain;
	double	   *data = in->data;

	if (!ox_check_shape(r, shape))
		return false;
	if (pm_shape_count(&in->shape) != pm_shape_count(shape))
		return ox_error(r, "%.0f elements cannot take a shape of %.0f", pm_shape_count(&in->shape), pm_shape_count(shape));
	plain = *in;
	if (!view_strides(in, shape, stride))
	{
		if (!make_contiguous(r, in, &plain) || !view_strides(&plain, shape, stride))
			return r->failed ? false : ox_error(r, "its input cannot be reshaped");
	}
	if (plain.origin == OX_STATIC)
	{
		*out = plain;
		out->shape = *shape;
		ox_contiguous(out);
		out->data = data;
		return true;
	}
	return ox_view(r, "Reshape", &plain, 0, shape, stride, out);
}

bool
ox_permute(ox_run *r, const ox_t *in, const int *perm, ox_t *out)
{
	pm_shape	shape = {.rank = in->shape.rank};
	int64_t		stride[PM_MAX_RANK] = {0};
	int64_t		list[PM_MAX_RANK];
	bool		same = true;

	for (int i = 0; i < shape.rank; i++)
	{
		shape.dim[i] = in->shape.dim[perm[i]];
		stride[i] = in->stride[perm[i]];
		list[i] = perm[i];
		same = same && perm[i] == i;
	}
	if (same)
	{
		ox_alias(in, out);
		return true;
	}
	if (!ox_view(r, "Transpose", in, 0, &shape, stride, out))
		return false;
	ox_key_ints(r, ox_last(r, out), "perm", shape.rank, list);
	return !r->failed;
}

bool
ox_expand(ox_run *r, const ox_t *in, const pm_shape *shape, ox_t *out)
{
	int64_t		stride[PM_MAX_RANK] = {0};
	double		value = ox_scalar(in);

	if (!ox_check_shape(r, shape))
		return false;
	if (ox_same_shape(&in->shape, shape))
	{
		ox_alias(in, out);
		return true;
	}
	for (int i = 0; i < shape->rank; i++)
		stride[i] = ox_operand_stride(in, i, shape);
	if (shape->rank < in->shape.rank)
		return ox_error(r, "it cannot be expanded to fewer dimensions");
	if (isnan(value))
		return ox_view(r, "Expand", in, 0, shape, stride, out);
	if (!ox_static(r, out, in->dtype, shape))
		return false;
	for (int64_t i = 0; out->data != NULL && i < (int64_t) pm_shape_count(shape); i++)
		out->data[i] = value;
	return true;
}

bool
ox_narrow(ox_run *r, const ox_t *in, int axis, int64_t start, int64_t step, int64_t count, ox_t *out)
{
	pm_shape	shape = in->shape;
	int64_t		stride[PM_MAX_RANK];

	if (start == 0 && step == 1 && count == shape.dim[axis])
	{
		ox_alias(in, out);
		return true;
	}
	memcpy(stride, in->stride, sizeof(stride));
	shape.dim[axis] = count;
	stride[axis] *= count > 1 ? step : 1;	/* a step beyond the dimension is of no account */
	if (!ox_view(r, "Slice", in, count > 0 ? start * in->stride[axis] : 0, &shape, stride, out))
		return false;
	ox_key_int(r, ox_last(r, out), "axis", axis);
	ox_key_int(r, ox_last(r, out), "start", start);
	ox_key_int(r, ox_last(r, out), "end", count > 0 ? start + (count - 1) * step + 1 : start);
	ox_key_int(r, ox_last(r, out), "step", count > 1 ? step : 1);
	return !r->failed;
}
