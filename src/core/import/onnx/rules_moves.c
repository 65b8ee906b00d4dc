/*
 * rules_moves.c - operators that move data.
 */
#include "import/onnx/rules.h"

#include <math.h>
#include <string.h>

#include "import/onnx/attributes.h"
#include "import/onnx/emit.h"
#include "import/onnx/operands.h"
#include "import/onnx/rules_moves.h"
#include "import/onnx/shapes.h"
#include "import/onnx/views.h"

/* ---------- joining and cutting ---------- */

static bool
concat_shape(ox_run *r, const ox_node *n, int axis, pm_shape *shape)
{
	double		sum = 0;

	for (int k = 0; k < n->n_in; k++)
	{
		const ox_t *in = ox_in(r, n, k);

		if (in == NULL || in->shape.rank != shape->rank)
			return ox_error(r, "its inputs have different numbers of dimensions");
		sum += (double) in->shape.dim[axis];
		for (int i = 0; i < shape->rank; i++)
			if (i != axis && in->shape.dim[i] != shape->dim[i])
			{
				if (r->base == NULL)
					return ox_error(r, "dimension %d is %lld in one input and %lld in another", i,
									(long long) shape->dim[i], (long long) in->shape.dim[i]);
				if (in->shape.dim[i] > shape->dim[i])
					shape->dim[i] = in->shape.dim[i];
			}
	}
	if (sum > (double) PM_MAX_DIM)
		return ox_error(r, "its result would have a dimension of %.0f", sum);
	shape->dim[axis] = (int64_t) sum;
	return true;
}

static bool
concat(ox_run *r, const ox_node *n)
{
	const ox_t *first = ox_in(r, n, 0);
	const ox_t **in = PM_NEW(r->m->arena, const ox_t *, (size_t) n->n_in + 1);
	ox_t	   *out = ox_out(r, n, 0);
	bool		packed = n->folded.n == OX_PACKED;
	int			axis;

	if (in == NULL)
		return ox_no_memory(r);
	if (!ox_axis(r, ox_attr_int(n, "axis", 1), first->shape.rank, &axis))
		return false;
	out->shape = first->shape;
	out->dtype = first->dtype;
	if (!concat_shape(r, n, axis, &out->shape))
		return false;
	for (int k = 0; k < n->n_in; k++)
	{
		in[k] = ox_in(r, n, k);
		packed = packed && in[k]->origin == OX_WEIGHT;
	}
	if (packed)
	{
		pm_shape	shape = out->shape;

		*out = *first;
		out->shape = out->stored = shape;
		ox_contiguous(out);
		return ox_check_shape(r, &shape);
	}
	if (!ox_emit(r, "Concat", n->n_in, in, out, false))
		return false;
	ox_key_int(r, ox_last(r, out), "axis", axis);
	return true;
}

static bool
split_sizes(ox_run *r, const ox_node *n, int64_t whole, int *count, int64_t *size)
{
	int64_t		each;

	if (!ox_ints_or_attr(r, n, "split", 1, count, size, OX_MAX_IO))
		return false;
	if (*count > 0)
		return *count >= n->n_out ? true : ox_error(r, "it has %d outputs, but %d sizes", n->n_out, *count);
	*count = n->n_out;
	if (n->n_out == 0)
		return ox_error(r, "it has no outputs");
	each = (whole + n->n_out - 1) / n->n_out;
	for (int i = 0; i < n->n_out; i++)
	{
		size[i] = whole < each ? whole : each;
		whole -= size[i];
	}
	return true;
}

static bool
split_static(ox_run *r, const ox_node *n, const ox_t *in, int axis, const int64_t *size)
{
	int64_t		at = 0;

	for (int i = 0; i < n->n_out; i++)
	{
		if (n->out[i] >= 0 && !ox_narrow(r, in, axis, at, 1, size[i], &r->values[n->out[i]]))
			return false;
		at += size[i];
	}
	return true;
}

/* Whether the parts fit into the whole. */
static bool
check_parts(ox_run *r, const int64_t *size, int count, int64_t whole)
{
	int64_t		total = 0;

	for (int i = 0; i < count; i++)
	{
		if (size[i] < 0 || size[i] > whole - total)
			return ox_error(r, "its parts are larger than the whole of %lld", (long long) whole);
		total += size[i];
	}
	return true;
}

/* The node that makes all parts: it gives their shapes. first: that of the first part. */
static bool
describe_parts(ox_run *r, ox_op *op, const pm_shape *first, int axis, const int64_t *size, int count)
{
	op->shapes = PM_NEW(r->m->arena, pm_shape, (size_t) count);
	if (op->shapes == NULL)
		return ox_no_memory(r);
	op->n_shapes = count;
	for (int i = 0; i < count; i++)
	{
		op->shapes[i] = *first;
		op->shapes[i].dim[axis] = size[i];
	}
	ox_key_int(r, op, "axis", axis);
	return true;
}

static bool
split_along(ox_run *r, const ox_node *n, int64_t asked)
{
	const ox_t *in = ox_in(r, n, 0);
	int64_t    *size = PM_NEW(r->m->arena, int64_t, OX_MAX_IO);
	int			axis,
				count;
	pm_shape	first = in->shape;
	ox_t		made = {0};
	ox_op	   *op;

	if (size == NULL)
		return ox_no_memory(r);
	if (!ox_axis(r, asked, in->shape.rank, &axis) ||
		!split_sizes(r, n, in->shape.dim[axis], &count, size) ||
		!check_parts(r, size, count, in->shape.dim[axis]))
		return false;
	if (in->origin == OX_STATIC)
		return split_static(r, n, in, axis, size);
	first.dim[axis] = size[0];
	if (!ox_view(r, "Split", in, 0, &first, in->stride, &made))
		return false;
	op = ox_last(r, &made);
	if (op != NULL && made.origin == OX_NODE && in->origin == OX_NODE &&
		!describe_parts(r, op, &first, axis, size, count))
		return false;
	for (int i = 0; i < n->n_out; i++)
		if (n->out[i] >= 0)
		{
			ox_t	   *out = &r->values[n->out[i]];

			*out = made;
			out->shape.dim[axis] = size[i];
			if (made.origin == OX_WEIGHT && count > 1)
				out->stored = out->shape;
		}
	return true;
}

static bool
split(ox_run *r, const ox_node *n)
{
	return split_along(r, n, ox_attr_int(n, "axis", 0));
}

bool
ox_chunk(ox_run *r, const ox_node *n)
{
	return split_along(r, n, n->folded.axis);
}

typedef struct cut
{
	int			axis;
	int64_t		start;
	int64_t		step;
	int64_t		count;
} cut;

static int64_t
clamp(int64_t v, int64_t least, int64_t most)
{
	return v < least ? least : v > most ? most : v;
}

/* start, end, step of ONNX to a cut of a dimension. */
static void
make_cut(int64_t dim, int64_t start, int64_t end, int64_t step, cut *c)
{
	if (start < 0)
		start = start < -dim ? (step < 0 ? -1 : 0) : start + dim;
	if (end < 0)
		end = end < -dim ? (step < 0 ? -1 : 0) : end + dim;
	c->step = step;
	if (step > 0)
	{
		start = clamp(start, 0, dim);
		end = clamp(end, 0, dim);
		c->count = end > start ? (end - start - 1) / step + 1 : 0;
	}
	else
	{
		start = clamp(start, -1, dim - 1);
		end = clamp(end, -1, dim - 1);
		c->count = start > end ? (start - end - 1) / -step + 1 : 0;
	}
	c->start = start;
}

static bool
read_cuts(ox_run *r, const ox_node *n, const pm_shape *shape, int *count, cut *c)
{
	int64_t		start[PM_MAX_RANK],
				end[PM_MAX_RANK],
				axes[PM_MAX_RANK],
				steps[PM_MAX_RANK];
	int			n_end,
				n_axes,
				n_steps;
	bool		cut_before[PM_MAX_RANK] = {false};

	if (!ox_ints_or_attr(r, n, "starts", 1, count, start, PM_MAX_RANK) ||
		!ox_ints_or_attr(r, n, "ends", 2, &n_end, end, PM_MAX_RANK) ||
		!ox_ints_or_attr(r, n, "axes", 3, &n_axes, axes, PM_MAX_RANK) ||
		!ox_ints(r, n, 4, &n_steps, steps, PM_MAX_RANK))
		return false;
	if (*count < 0 || n_end != *count || (n_axes >= 0 && n_axes != *count) || (n_steps >= 0 && n_steps != *count))
		return ox_error(r, "its starts, ends, axes and steps differ in number");
	for (int i = 0; i < *count; i++)
	{
		int64_t		step = n_steps >= 0 ? steps[i] : 1;

		if (!ox_axis(r, n_axes >= 0 ? axes[i] : i, shape->rank, &c[i].axis) || !ox_mark_axis(r, c[i].axis, cut_before))
			return false;
		if (step == 0 || step == INT64_MIN)
			return ox_error(r, "its step is 0");
		make_cut(shape->dim[c[i].axis], start[i], end[i], step, &c[i]);
	}
	return true;
}

static bool
slice(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t		at = *in;
	cut			c[PM_MAX_RANK];
	int			count;

	if (!read_cuts(r, n, &in->shape, &count, c))
		return false;
	for (int i = 0; i < count; i++)
	{
		ox_t		next = {0};

		if (at.origin == OX_STATIC)
		{
			pm_shape	shape = at.shape;
			int64_t		stride[PM_MAX_RANK];

			memcpy(stride, at.stride, sizeof(stride));
			shape.dim[c[i].axis] = c[i].count;
			stride[c[i].axis] *= c[i].count > 1 ? c[i].step : 0;
			if (!ox_view(r, "Slice", &at, c[i].count > 0 ? c[i].start * at.stride[c[i].axis] : 0, &shape, stride, &next))
				return false;
		}
		else if (c[i].step > 0)
		{
			if (!ox_narrow(r, &at, c[i].axis, c[i].start, c[i].step, c[i].count, &next))
				return false;
		}
		else
		{
			const ox_t *list[1] = {&at};

			next.shape = at.shape;
			next.shape.dim[c[i].axis] = c[i].count;
			next.dtype = at.dtype;
			if (!ox_emit(r, "aten::flip", 1, list, &next, false))
				return false;
			ox_key_int(r, ox_last(r, &next), "axis", c[i].axis);
		}
		at = next;
	}
	ox_alias(&at, ox_out(r, n, 0));
	return true;
}

/* One index out of a dimension, as aten::select: a view. */
static bool
select_one(ox_run *r, const ox_t *in, int axis, int64_t index, ox_t *out)
{
	pm_shape	shape = {0};
	int64_t		stride[PM_MAX_RANK] = {0};
	int64_t		dim = in->shape.dim[axis];

	if (index < -dim || index >= dim)
		return ox_error(r, "index %lld does not exist in dimension %d of %lld", (long long) index, axis, (long long) dim);
	for (int i = 0; i < in->shape.rank; i++)
		if (i != axis)
		{
			stride[shape.rank] = in->stride[i];
			shape.dim[shape.rank++] = in->shape.dim[i];
		}
	index += index < 0 ? dim : 0;
	if (!ox_view(r, "Slice", in, index * in->stride[axis], &shape, stride, out))
		return false;
	ox_key_int(r, ox_last(r, out), "axis", axis);
	ox_key_int(r, ox_last(r, out), "start", index);
	ox_key_int(r, ox_last(r, out), "squeeze", 1);
	return !r->failed;
}

static bool
gather(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	const ox_t *index = ox_in(r, n, 1);
	const ox_t *list[2] = {in, index};
	ox_t	   *out = ox_out(r, n, 0);
	double		number = ox_scalar(index);
	int			axis;

	if (!ox_axis(r, ox_attr_int(n, "axis", 0), in->shape.rank, &axis))
		return false;
	if (index->shape.rank == 0 && !isnan(number) && fabs(number) < 1e15)
		return select_one(r, in, axis, (int64_t) number, out);
	out->shape.rank = in->shape.rank - 1 + index->shape.rank;
	if (out->shape.rank > PM_MAX_RANK)
		return ox_error(r, "its result has %d dimensions, but %d are the limit", out->shape.rank, PM_MAX_RANK);
	for (int i = 0, at = 0; i < in->shape.rank; i++)
		if (i != axis)
			out->shape.dim[at++] = in->shape.dim[i];
		else
			for (int k = 0; k < index->shape.rank; k++)
				out->shape.dim[at++] = index->shape.dim[k];
	out->dtype = in->dtype;
	return ox_emit(r, "Gather", 2, list, out, false);
}

static bool
gather_elements(ox_run *r, const ox_node *n)
{
	const ox_t *list[2] = {ox_in(r, n, 0), ox_in(r, n, 1)};
	ox_t	   *out = ox_out(r, n, 0);

	out->shape = list[1]->shape;
	out->dtype = list[0]->dtype;
	return ox_emit(r, "GatherElements", 2, list, out, false);
}

static bool
gather_nd(ox_run *r, const ox_node *n)
{
	const ox_t *list[2] = {ox_in(r, n, 0), ox_in(r, n, 1)};
	const pm_shape *x = &list[0]->shape;
	const pm_shape *i = &list[1]->shape;
	int64_t		batch = ox_attr_int(n, "batch_dims", 0);
	ox_t	   *out = ox_out(r, n, 0);
	int64_t		depth = i->rank > 0 ? i->dim[i->rank - 1] : -1;

	if (batch < 0 || batch > PM_MAX_RANK || depth < 0 || depth > PM_MAX_RANK || batch + depth > x->rank || i->rank - 1 + x->rank - batch - depth > PM_MAX_RANK)
		return ox_error(r, "its indices do not fit its data");
	out->shape.rank = 0;
	for (int k = 0; k < i->rank - 1; k++)
		out->shape.dim[out->shape.rank++] = i->dim[k];
	for (int64_t k = batch + depth; k < x->rank; k++)
		out->shape.dim[out->shape.rank++] = x->dim[k];
	out->dtype = list[0]->dtype;
	return ox_emit(r, "GatherND", 2, list, out, false);
}

static bool
scatter(ox_run *r, const ox_node *n)
{
	const ox_t *list[3] = {ox_in(r, n, 0), ox_in(r, n, 1), ox_in(r, n, 2)};
	ox_t	   *out = ox_out(r, n, 0);

	out->shape = list[0]->shape;
	out->dtype = list[0]->dtype;
	return ox_emit(r, n->rule->as != NULL ? n->rule->as : n->op, 3, list, out, false);
}

/* ---------- borders and sizes ---------- */

static bool
pad(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t	   *out = ox_out(r, n, 0);
	int64_t		pads[2 * PM_MAX_RANK];
	int64_t		axes[PM_MAX_RANK];
	bool		padded[PM_MAX_RANK] = {false};
	int			count,
				n_axes;

	if (!ox_ints_or_attr(r, n, "pads", 1, &count, pads, 2 * PM_MAX_RANK) || !ox_ints(r, n, 3, &n_axes, axes, PM_MAX_RANK))
		return false;
	if (n_axes < 0)
		for (n_axes = 0; n_axes < in->shape.rank; n_axes++)
			axes[n_axes] = n_axes;
	if (count != 2 * n_axes)
		return ox_error(r, "it has %d pads for %d dimensions", count, n_axes);
	out->shape = in->shape;
	for (int i = 0; i < n_axes; i++)
	{
		int			axis;

		if (!ox_axis(r, axes[i], in->shape.rank, &axis) || !ox_mark_axis(r, axis, padded))
			return false;
		if (clamp(pads[i], -PM_MAX_DIM, PM_MAX_DIM) != pads[i] ||
			clamp(pads[n_axes + i], -PM_MAX_DIM, PM_MAX_DIM) != pads[n_axes + i])
			return ox_error(r, "it pads dimension %d by %lld", axis, (long long) pads[i]);
		out->shape.dim[axis] += pads[i] + pads[n_axes + i];
	}
	out->dtype = in->dtype;
	if (!ox_emit(r, "Pad", 1, &in, out, false))
		return false;
	ox_key_ints(r, ox_last(r, out), "pads", count, pads);
	return !r->failed;
}

/* Factors of input k, or of the attribute of Upsample 9's predecessor. */
static const double *
scales_of(const ox_run *r, const ox_node *n, int k, int rank)
{
	const ox_t *t = ox_in(r, n, k);

	return t != NULL && t->origin == OX_STATIC && t->data != NULL && pm_shape_count(&t->shape) == rank ? t->data : NULL;
}

static bool
resize(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t	   *out = ox_out(r, n, 0);
	int			at = strcmp(n->op, "Upsample") == 0 || r->m->opset < 11 ? 1 : 2;
	const double *scale = scales_of(r, n, at, in->shape.rank);
	int64_t		size[PM_MAX_RANK];
	int			count;
	char		mode[32];
	ox_op	   *op;

	out->shape = in->shape;
	if (!ox_ints(r, n, at + 1, &count, size, PM_MAX_RANK))
		return false;
	if (count == in->shape.rank && count > 0)
		out->shape = ox_shape(count, size);
	else if (scale == NULL)
		return ox_error(r, "its sizes are not known");
	for (int i = 0; count != in->shape.rank && i < in->shape.rank; i++)
	{
		double		v = floor((double) in->shape.dim[i] * scale[i]);

		if (!(v >= 0 && v <= (double) PM_MAX_DIM))
			return ox_error(r, "dimension %d of its result would be %.0f", i, v);
		out->shape.dim[i] = (int64_t) v;
	}
	/* sizes of a fixed batch are constants */
	if (r->base != NULL && out->shape.rank > 0 && in->shape.dim[0] != r->base[n->in[0]].shape.dim[0])
		out->shape.dim[0] = in->shape.dim[0];
	out->dtype = in->dtype;
	if (!ox_emit(r, "Resize", 1, &in, out, false))
		return false;
	ox_attr_text(n, "mode", mode, sizeof(mode));
	op = ox_last(r, out);
	ox_key_text(r, op, "mode", strcmp(mode, "linear") == 0 ? "bilinear" : strcmp(mode, "cubic") == 0 ? "bicubic" : "nearest");
	return true;
}

static bool
depth_to_space(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	int64_t		b = ox_attr_int(n, "blocksize", 0);
	bool		back = strcmp(n->op, "SpaceToDepth") == 0;
	const int64_t *d = in->shape.dim;
	pm_shape	wide;
	pm_shape	flat;
	static const int out_of[6] = {0, 3, 4, 1, 5, 2};	/* DCR */
	static const int out_of_crd[6] = {0, 1, 4, 2, 5, 3};
	static const int into[6] = {0, 3, 5, 1, 2, 4};
	char		mode[8];
	ox_t		a,
				p;

	if (in->shape.rank != 4 || b < 1 || b > 1024)
		return ox_error(r, "it needs four dimensions and a block size");
	ox_attr_text(n, "mode", mode, sizeof(mode));
	if (back ? d[2] % b != 0 || d[3] % b != 0 : d[1] % (b * b) != 0)
		return ox_error(r, "blocks of %lld do not divide its input", (long long) b);
	if (back)
	{
		wide = ox_shape(6, (int64_t[]){d[0], d[1], d[2] / b, b, d[3] / b, b});
		flat = ox_shape(4, (int64_t[]){d[0], d[1] * b * b, d[2] / b, d[3] / b});
	}
	else
	{
		wide = strcmp(mode, "CRD") == 0 ? ox_shape(6, (int64_t[]){d[0], d[1] / (b * b), b, b, d[2], d[3]}) :
			ox_shape(6, (int64_t[]){d[0], b, b, d[1] / (b * b), d[2], d[3]});
		flat = ox_shape(4, (int64_t[]){d[0], d[1] / (b * b), d[2] * b, d[3] * b});
	}
	return ox_reshape(r, in, &wide, &a) &&
		ox_permute(r, &a, back ? into : strcmp(mode, "CRD") == 0 ? out_of_crd : out_of, &p) &&
		ox_reshape(r, &p, &flat, ox_out(r, n, 0));
}

static bool
grid_sample(ox_run *r, const ox_node *n)
{
	const ox_t *list[2] = {ox_in(r, n, 0), ox_in(r, n, 1)};
	ox_t	   *out = ox_out(r, n, 0);
	int			rank = list[0]->shape.rank;

	if (rank < 3 || list[1]->shape.rank != rank)
		return ox_error(r, "its data and grid have %d and %d dimensions", rank, list[1]->shape.rank);
	out->shape = list[0]->shape;
	for (int i = 2; i < rank; i++)
		out->shape.dim[i] = list[1]->shape.dim[i - 1];
	out->dtype = list[0]->dtype;
	return ox_emit(r, "GridSample", 2, list, out, false);
}

static bool
roi_align(ox_run *r, const ox_node *n)
{
	const ox_t *list[2] = {ox_in(r, n, 0), ox_in(r, n, 1)};
	ox_t	   *out = ox_out(r, n, 0);

	if (list[0]->shape.rank != 4 || list[1]->shape.rank != 2)
		return ox_error(r, "it needs data of four dimensions and regions of two");
	out->shape = ox_shape(4, (int64_t[]){list[1]->shape.dim[0], list[0]->shape.dim[1],
		ox_attr_int(n, "output_height", 1), ox_attr_int(n, "output_width", 1)});
	out->dtype = list[0]->dtype;
	return ox_emit(r, "RoiAlign", 2, list, out, false);
}

static bool
center_crop_pad(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t	   *out = ox_out(r, n, 0);
	int64_t		size[PM_MAX_RANK];
	int			count,
				n_axes;
	const int64_t *axes = ox_attr_ints(n, "axes", &n_axes);
	bool		sized[PM_MAX_RANK] = {false};

	if (!ox_ints(r, n, 1, &count, size, PM_MAX_RANK))
		return false;
	if (count < 0 || count > in->shape.rank || (n_axes > 0 && n_axes != count))
		return ox_error(r, "its sizes do not fit its input");
	out->shape = in->shape;
	for (int i = 0; i < count; i++)
	{
		int			axis;

		if (!ox_axis(r, n_axes > 0 ? axes[i] : i, in->shape.rank, &axis) || !ox_mark_axis(r, axis, sized))
			return false;
		out->shape.dim[axis] = size[i];
	}
	out->dtype = in->dtype;
	return ox_emit(r, "Pad", 1, &in, out, false);
}

static bool
col2im(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t	   *out = ox_out(r, n, 0);
	int64_t		image[PM_MAX_RANK],
				block[PM_MAX_RANK];
	int			count,
				n_block;
	int64_t		area = 1;

	if (!ox_ints(r, n, 1, &count, image, PM_MAX_RANK) || !ox_ints(r, n, 2, &n_block, block, PM_MAX_RANK))
		return false;
	if (in->shape.rank != 3 || count < 1 || count > PM_MAX_RANK - 2 || n_block != count)
		return ox_error(r, "its shapes do not fit its input");
	for (int i = 0; i < count; i++)
	{
		if (block[i] < 1 || block[i] > 65536)
			return ox_error(r, "its block is %lld wide", (long long) block[i]);
		area = area > PM_MAX_DIM ? area : area * block[i];
	}
	out->shape = ox_shape(2, (int64_t[]){in->shape.dim[0], in->shape.dim[1] / area});
	for (int i = 0; i < count; i++)
		out->shape.dim[out->shape.rank++] = image[i];
	out->dtype = in->dtype;
	return ox_emit(r, "aten::col2im", 1, &in, out, false);
}

const ox_rule ox_rules_moves[] =
{
	{"Concat", concat, 1, -1, NULL}, {"Split", split, 1, 2, NULL}, {"Slice", slice, 1, 5, NULL},
	{"Gather", gather, 2, 2, NULL}, {"GatherElements", gather_elements, 2, 2, NULL}, {"GatherND", gather_nd, 2, 2, NULL},
	{"ScatterElements", scatter, 3, 3, NULL}, {"Scatter", scatter, 3, 3, "ScatterElements"},
	{"ScatterND", scatter, 3, 3, NULL}, {"Pad", pad, 1, 4, NULL}, {"Resize", resize, 1, 4, NULL},
	{"Upsample", resize, 1, 2, "Resize"}, {"DepthToSpace", depth_to_space, 1, 1, "aten::clone"},
	{"SpaceToDepth", depth_to_space, 1, 1, "aten::clone"}, {"GridSample", grid_sample, 2, 2, NULL},
	{"RoiAlign", roi_align, 3, 3, NULL}, {"CenterCropPad", center_crop_pad, 2, 2, "Pad"}, {"Col2Im", col2im, 3, 3, "aten::col2im"},
	{NULL, NULL, 0, 0, NULL}
};
