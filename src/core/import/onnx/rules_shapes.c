/*
 * rules_shapes.c - the arithmetic of shapes, and operators that only change the
 * view of data.
 */
#include "import/onnx/rules.h"

#include <math.h>
#include <string.h>

#include "import/onnx/attributes.h"
#include "import/onnx/elements.h"
#include "import/onnx/emit.h"
#include "import/onnx/operands.h"
#include "import/onnx/shapes.h"
#include "import/onnx/views.h"

/* ---------- shapes as data ---------- */

static bool
shape_of(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	int64_t		rank = in->shape.rank;
	int64_t		start = ox_attr_int(n, "start", 0);
	int64_t		end = ox_attr_int(n, "end", rank);
	pm_shape	shape = {.rank = 1};
	ox_t	   *out = ox_out(r, n, 0);

	start = start < -rank ? 0 : start < 0 ? start + rank : start > rank ? rank : start;
	end = end < -rank ? 0 : end < 0 ? end + rank : end > rank ? rank : end;
	shape.dim[0] = end > start ? end - start : 0;
	if (!ox_static(r, out, OX_INT64, &shape))
		return false;
	for (int64_t i = start; i < end; i++)
		out->data[i - start] = (double) in->shape.dim[i];
	return true;
}

static bool
size_of(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	double		count = pm_shape_count(&in->shape);
	pm_shape	scalar = {0};
	ox_t	   *out = ox_out(r, n, 0);

	if (!ox_static(r, out, OX_INT64, &scalar))
		return false;
	out->data[0] = count;
	return true;
}

static bool
constant(ox_run *r, const ox_node *n)
{
	ox_t	   *out = ox_out(r, n, 0);
	const PmOnnx__Attribute *a;
	pm_shape	shape = {0};

	if ((a = ox_attr(n, "value")) != NULL && a->t != NULL)
	{
		int			dtype;
		double	   *data;

		if (!ox_tensor(r->m, a->t, &dtype, &shape, &data))
			return ox_no_memory(r);
		if (!ox_check_shape(r, &shape))
			return false;
		*out = (ox_t)
		{
			.origin = OX_STATIC, .dtype = dtype, .shape = shape, .data = data
		};
		ox_contiguous(out);
		return true;
	}
	if ((a = ox_attr(n, "value_int")) != NULL || (a = ox_attr(n, "value_float")) != NULL)
	{
		if (!ox_static(r, out, a->has_i ? OX_INT64 : OX_FLOAT, &shape))
			return false;
		out->data[0] = a->has_i ? (double) a->i : (double) a->f;
		return true;
	}
	if ((a = ox_attr(n, "value_ints")) != NULL || (a = ox_attr(n, "value_floats")) != NULL)
	{
		bool		ints = strcmp(a->name, "value_ints") == 0;

		shape = ox_shape(1, (int64_t[]){(int64_t) (ints ? a->n_ints : a->n_floats)});
		if (!ox_static(r, out, ints ? OX_INT64 : OX_FLOAT, &shape))
			return false;
		for (int64_t i = 0; out->data != NULL && i < shape.dim[0]; i++)
			out->data[i] = ints ? (double) a->ints[i] : (double) a->floats[i];
		return true;
	}
	if (ox_attr(n, "value_string") != NULL || ox_attr(n, "value_strings") != NULL)
		return ox_static(r, out, OX_STRING, &shape);
	return ox_error(r, "its value is missing");
}

static bool
target_shape(ox_run *r, const ox_node *n, int k, pm_shape *shape)
{
	int64_t		dim[PM_MAX_RANK];
	int			count;

	if (!ox_ints(r, n, k, &count, dim, PM_MAX_RANK))
		return false;
	if (count < 0)
		return ox_error(r, "its shape is missing");
	*shape = ox_shape(count, dim);
	return true;
}

static bool
constant_of_shape(ox_run *r, const ox_node *n)
{
	const PmOnnx__Attribute *a = ox_attr(n, "value");
	ox_t	   *out = ox_out(r, n, 0);
	pm_shape	shape;
	pm_shape	one;
	int			dtype = OX_FLOAT;
	double	   *data = NULL;

	if (!target_shape(r, n, 0, &shape))
		return false;
	if (a != NULL && a->t != NULL && !ox_tensor(r->m, a->t, &dtype, &one, &data))
		return ox_no_memory(r);
	if (!ox_static(r, out, dtype, &shape))
		return false;
	for (int64_t i = 0; out->data != NULL && i < (int64_t) pm_shape_count(&shape); i++)
		out->data[i] = data != NULL && pm_shape_count(&one) >= 1 ? data[0] : 0;
	return true;
}

static bool
range(ox_run *r, const ox_node *n)
{
	double		from = ox_scalar(ox_in(r, n, 0));
	double		to = ox_scalar(ox_in(r, n, 1));
	double		step = ox_scalar(ox_in(r, n, 2));
	double		count = ceil((to - from) / step);
	pm_shape	shape = {.rank = 1};
	ox_t	   *out = ox_out(r, n, 0);

	if (!isfinite(count) || count > (double) PM_MAX_DIM)
		return ox_error(r, "its bounds are not known numbers");
	shape.dim[0] = count > 0 ? (int64_t) count : 0;
	if (!ox_static(r, out, ox_in(r, n, 0)->dtype, &shape))
		return false;
	for (int64_t i = 0; out->data != NULL && i < shape.dim[0]; i++)
		out->data[i] = from + (double) i * step;
	return true;
}

/* ---------- another shape ---------- */

/* What an operator does to an axis twice is not defined. */

/*
 * In a model with a fixed batch, constants hold that batch.  The result at the
 * fixed batch is known; this finds which of its dimensions follows the batch:
 * the one where the elements ahead of it are as many as ahead of the input's.
 */
static bool
scale_shape(const ox_run *r, const ox_node *n, const pm_shape *in, pm_shape *shape)
{
	const pm_shape *was = &r->base[n->in[0]].shape;
	const pm_shape *made = &r->base[n->out[0]].shape;
	int64_t		times = r->batch / r->m->base_batch;
	double		ahead = 1;
	double		passed = 1;
	int			b = 0;
	int			j = 0;

	*shape = *made;
	while (b < was->rank && in->dim[b] == was->dim[b])
		ahead *= (double) was->dim[b++];
	if (b == was->rank)
		return true;
	while (j < made->rank && passed < ahead)
		passed *= (double) made->dim[j++];
	if (passed > ahead && j > 0)
		j--;
	/* (steps, batch, width) seen as (steps * batch, width): what follows is the same */
	if (passed == ahead && j > 0 && made->rank - j == was->rank - b - 1 && made->rank < was->rank)
	{
		bool		same = true;

		for (int i = j; i < made->rank; i++)
			same = same && made->dim[i] == was->dim[b + 1 + i - j];
		if (same)
			j--;
	}
	if (j >= made->rank)
		j = made->rank - 1;
	if (j < 0)
		return false;
	shape->dim[j] *= times;
	return true;
}

static bool
resolve_shape(ox_run *r, const ox_node *n, const ox_t *in, pm_shape *shape)
{
	double		known = 1;
	int			open = -1;

	for (int i = 0; i < shape->rank; i++)
	{
		if (shape->dim[i] == 0 && ox_attr_int(n, "allowzero", 0) == 0)
		{
			if (i >= in->shape.rank)
				return ox_error(r, "dimension %d of its shape is 0, but its input has only %d", i, in->shape.rank);
			shape->dim[i] = in->shape.dim[i];
		}
		if (shape->dim[i] == -1 && open < 0)
			open = i;
		else if (shape->dim[i] < 0 || shape->dim[i] > PM_MAX_DIM)
			return ox_error(r, "dimension %d of its shape is %lld", i, (long long) shape->dim[i]);
		else
			known *= (double) shape->dim[i];
	}
	if (open >= 0)
	{
		double		rest = known > 0 ? pm_shape_count(&in->shape) / known : 0;

		if (rest != floor(rest) || rest > (double) PM_MAX_DIM)
			return ox_error(r, "%.0f elements do not divide into parts of %.0f", pm_shape_count(&in->shape), known);
		shape->dim[open] = (int64_t) rest;
	}
	return true;
}

static bool
reshape(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	pm_shape	shape;

	if (!target_shape(r, n, 1, &shape))
		return false;
	if (r->base != NULL && n->out[0] >= 0 && in->origin == OX_NODE)
	{
		if (!scale_shape(r, n, &in->shape, &shape))
			return ox_error(r, "where the batch goes cannot be told: export the model with a dynamic batch");
	}
	else if (!resolve_shape(r, n, in, &shape))
		return false;
	return ox_reshape(r, in, &shape, ox_out(r, n, 0));
}

static bool
flatten(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	int64_t		axis = ox_attr_int(n, "axis", 1);
	pm_shape	shape = {.rank = 2, .dim = {1, 1}};

	if (axis < -in->shape.rank || axis > in->shape.rank)
		return ox_error(r, "axis %lld does not exist in %d dimensions", (long long) axis, in->shape.rank);
	if (axis < 0)
		axis += in->shape.rank;
	for (int i = 0; i < in->shape.rank; i++)
		shape.dim[i < axis ? 0 : 1] *= in->shape.dim[i];
	return ox_reshape(r, in, &shape, ox_out(r, n, 0));
}

static bool
squeeze(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	int64_t		axes[PM_MAX_RANK];
	int			count;
	bool		drop[PM_MAX_RANK] = {false};
	pm_shape	shape = {0};
	int64_t		stride[PM_MAX_RANK] = {0};
	ox_t	   *out = ox_out(r, n, 0);

	if (!ox_ints_or_attr(r, n, "axes", 1, &count, axes, PM_MAX_RANK))
		return false;
	for (int i = 0; i < (count < 0 ? in->shape.rank : count); i++)
	{
		int			axis = i;

		if (count >= 0 && !ox_axis(r, axes[i], in->shape.rank, &axis))
			return false;
		if (count >= 0 && in->shape.dim[axis] != 1)
			return ox_error(r, "dimension %d is %lld, not 1", axis, (long long) in->shape.dim[axis]);
		drop[axis] = in->shape.dim[axis] == 1;
	}
	for (int i = 0; i < in->shape.rank; i++)
		if (!drop[i])
		{
			stride[shape.rank] = in->stride[i];
			shape.dim[shape.rank++] = in->shape.dim[i];
		}
	if (!ox_view(r, "Squeeze", in, 0, &shape, stride, out))
		return false;
	if (count > 0)
		ox_key_ints(r, ox_last(r, out), "axes", count, axes);
	return !r->failed;
}

static bool
unsqueeze(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	int64_t		axes[PM_MAX_RANK];
	int			count;
	bool		fresh[PM_MAX_RANK] = {false};
	pm_shape	shape;
	int64_t		stride[PM_MAX_RANK] = {0};
	ox_t	   *out = ox_out(r, n, 0);
	int			from = 0;

	if (!ox_ints_or_attr(r, n, "axes", 1, &count, axes, PM_MAX_RANK))
		return false;
	if (count < 0 || in->shape.rank + count > PM_MAX_RANK)
		return ox_error(r, count < 0 ? "its axes are missing" : "its result has more than 8 dimensions");
	shape.rank = in->shape.rank + count;
	for (int i = 0; i < count; i++)
	{
		int			axis;

		if (!ox_axis(r, axes[i], shape.rank, &axis) || !ox_mark_axis(r, axis, fresh))
			return false;
	}
	for (int i = 0; i < shape.rank; i++)
	{
		/* as PyTorch: the stride that a dimension in this place would have */
		stride[i] = !fresh[i] ? in->stride[from] : from < in->shape.rank ? in->stride[from] * in->shape.dim[from] : 1;
		shape.dim[i] = fresh[i] ? 1 : in->shape.dim[from];
		from += !fresh[i];
	}
	if (!ox_view(r, "Unsqueeze", in, 0, &shape, stride, out))
		return false;
	ox_key_ints(r, ox_last(r, out), "axes", count, axes);
	return !r->failed;
}

static bool
transpose(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	int			count;
	const int64_t *list = ox_attr_ints(n, "perm", &count);
	int			perm[PM_MAX_RANK];
	bool		seen[PM_MAX_RANK] = {false};

	if (list != NULL && count != in->shape.rank)
		return ox_error(r, "its permutation has %d places for %d dimensions", count, in->shape.rank);
	for (int i = 0; i < in->shape.rank; i++)
	{
		int64_t		p = list != NULL ? list[i] : in->shape.rank - 1 - i;

		if (p < 0 || p >= in->shape.rank || seen[p])
			return ox_error(r, "its permutation is none");
		seen[p] = true;
		perm[i] = (int) p;
	}
	return ox_permute(r, in, perm, ox_out(r, n, 0));
}

static bool
expand(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t		wanted = {0};
	const ox_t *both[2] = {in, &wanted};
	pm_shape	shape;

	if (!target_shape(r, n, 1, &wanted.shape))
		return false;
	for (int i = 0; i < wanted.shape.rank; i++)
		if (wanted.shape.dim[i] == -1)
			wanted.shape.dim[i] = 1;
	if (!ox_check_shape(r, &wanted.shape) || !ox_broadcast(r, 2, both, &shape))
		return false;
	return ox_expand(r, in, &shape, ox_out(r, n, 0));
}

static bool
tile(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t	   *out = ox_out(r, n, 0);
	int64_t		times[PM_MAX_RANK];
	int			count;

	if (!ox_ints(r, n, 1, &count, times, PM_MAX_RANK))
		return false;
	if (count != in->shape.rank)
		return ox_error(r, "it has %d repetitions for %d dimensions", count, in->shape.rank);
	out->shape = in->shape;
	for (int i = 0; i < count; i++)
	{
		if (times[i] < 0 || (double) times[i] * (double) in->shape.dim[i] > (double) PM_MAX_DIM)
			return ox_error(r, "it repeats dimension %d %lld times", i, (long long) times[i]);
		out->shape.dim[i] *= times[i];
	}
	out->dtype = in->dtype;
	return ox_emit(r, "Tile", 1, &in, out, false);
}

const ox_rule ox_rules_shapes[] =
{
	{"Shape", shape_of, 1, 1, NULL}, {"Size", size_of, 1, 1, NULL}, {"Constant", constant, 0, 0, NULL},
	{"ConstantOfShape", constant_of_shape, 1, 1, NULL}, {"Range", range, 3, 3, NULL},
	{"Reshape", reshape, 2, 2, NULL}, {"Flatten", flatten, 1, 1, NULL}, {"Squeeze", squeeze, 1, 2, NULL},
	{"Unsqueeze", unsqueeze, 1, 2, NULL}, {"Transpose", transpose, 1, 1, NULL}, {"Expand", expand, 2, 2, NULL},
	{"Tile", tile, 2, 2, NULL}, {NULL, NULL, 0, 0, NULL}
};
