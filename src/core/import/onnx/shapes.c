/*
 * shapes.c - shapes and strides.
 */
#include "import/onnx/shapes.h"

#include "import/onnx/operands.h"

pm_shape
ox_shape(int rank, const int64_t *dim)
{
	pm_shape	s = {.rank = rank};

	for (int i = 0; i < rank; i++)
		s.dim[i] = dim[i];
	return s;
}

bool
ox_same_shape(const pm_shape *a, const pm_shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	return true;
}

/* Every shape that is made passes here: dimensions and element counts stay far from overflow. */
bool
ox_check_shape(ox_run *r, const pm_shape *s)
{
	double		room = 1;		/* strides are made as if no dimension were 0 */

	if (s->rank < 0 || s->rank > PM_MAX_RANK)
		return ox_error(r, "its result has %d dimensions, but %d are the limit", s->rank, PM_MAX_RANK);
	for (int i = 0; i < s->rank; i++)
	{
		if (s->dim[i] < 0 || s->dim[i] > PM_MAX_DIM)
			return ox_error(r, "dimension %d of its result would be %lld", i, (long long) s->dim[i]);
		room *= s->dim[i] > 1 ? (double) s->dim[i] : 1;
	}
	if (room > 0x1p60)
		return ox_error(r, "its result would have more than 2^60 elements");
	return true;
}

void
ox_contiguous(ox_t *t)
{
	int64_t		stride = 1;

	for (int i = t->shape.rank - 1; i >= 0; i--)
	{
		t->stride[i] = stride;
		stride *= t->shape.dim[i] > 1 ? t->shape.dim[i] : 1;
	}
}

bool
ox_is_contiguous(const ox_t *t)
{
	int64_t		stride = 1;

	for (int i = t->shape.rank - 1; i >= 0; i--)
	{
		if (t->shape.dim[i] == 1)
			continue;
		if (t->stride[i] != stride)
			return false;
		stride *= t->shape.dim[i];
	}
	return true;
}

/* Two dimensions that meet: equal, one of them 1, or, with a fixed batch baked into constants, the larger. */
static bool
meet(const ox_run *r, int64_t *a, int64_t b)
{
	int64_t		base = r->m->base_batch;

	if (*a == b || b == 1)
		return true;
	if (*a == 1)
	{
		*a = b;
		return true;
	}
	if (!r->m->fixed || base == 0 || base == r->batch)
		return false;
	if (b / base * r->batch == *a)
		return true;
	if (*a / base * r->batch != b)
		return false;
	*a = b;
	return true;
}

bool
ox_broadcast(ox_run *r, int n, const ox_t *const *in, pm_shape *shape)
{
	int			rank = 0;

	for (int k = 0; k < n; k++)
		if (in[k]->shape.rank > rank)
			rank = in[k]->shape.rank;
	shape->rank = rank;
	for (int i = 0; i < rank; i++)
		shape->dim[i] = 1;
	for (int k = 0; k < n; k++)
		for (int i = 0; i < in[k]->shape.rank; i++)
		{
			int			at = i + rank - in[k]->shape.rank;

			if (!meet(r, &shape->dim[at], in[k]->shape.dim[i]))
				return ox_error(r, "dimension %d is %lld in one input and %lld in another", at,
								(long long) shape->dim[at], (long long) in[k]->shape.dim[i]);
		}
	return ox_check_shape(r, shape);
}

/* ---------- strides of elementwise results ---------- */

int64_t
ox_operand_stride(const ox_t *t, int i, const pm_shape *shape)
{
	int			at = i - (shape->rank - t->shape.rank);

	return at < 0 || (t->shape.dim[at] == 1 && shape->dim[i] != 1) ? 0 : t->stride[at];
}

/* < 0: dimension a is inside b in memory, as its stride is smaller (PyTorch's TensorIterator); > 0: the other way; 0: not known. */
static int
order(int n, const ox_t *const *in, const pm_shape *shape, int a, int b)
{
	for (int k = 0; k < n; k++)
	{
		int64_t		sa = ox_operand_stride(in[k], a, shape);
		int64_t		sb = ox_operand_stride(in[k], b, shape);

		if (sa == 0 || sb == 0)
			continue;
		if (sa != sb)
			return sa < sb ? -1 : 1;
		if (shape->dim[a] > shape->dim[b])
			return 1;
	}
	return 0;
}

void
ox_elementwise_strides(int n, const ox_t *const *in, ox_t *out)
{
	const pm_shape *shape = &out->shape;
	int			perm[PM_MAX_RANK];	/* innermost first */
	int64_t		stride = 1;
	bool		plain = true;

	for (int k = 0; k < n; k++)
		plain = plain && (ox_is_contiguous(in[k]) || pm_shape_count(&in[k]->shape) == 1);
	if (plain)
	{
		ox_contiguous(out);
		return;
	}
	for (int i = 0; i < shape->rank; i++)
		perm[i] = shape->rank - 1 - i;
	for (int i = 1; i < shape->rank; i++)
	{
		int			at = i;

		for (int j = i - 1; j >= 0; j--)
		{
			int			c = order(n, in, shape, perm[j], perm[at]);

			if (c > 0)
			{
				int			swap = perm[j];

				perm[j] = perm[at];
				perm[at] = swap;
				at = j;
			}
			else if (c < 0)
				break;
		}
	}
	for (int i = 0; i < shape->rank; i++)
	{
		out->stride[perm[i]] = stride;
		stride *= shape->dim[perm[i]] > 1 ? shape->dim[perm[i]] : 1;
	}
}
