/*
 * tensors.c - tools of the rules: reading inputs, shapes and strides, and
 * writing nodes.
 */
#include "import/onnx/run.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---------- errors ---------- */

bool
ox_error(ox_run *r, const char *fmt,...)
{
	char		what[192];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	if (!r->failed)
		ox_fail(r->m, r->node, "%s", what);
	r->failed = true;
	return false;
}

bool
ox_no_memory(ox_run *r)
{
	if (!r->failed)
		pm_no_memory(r->m->st, r->m->arena);
	r->failed = true;
	return false;
}

/* ---------- inputs and outputs ---------- */

const ox_t *
ox_in(const ox_run *r, const ox_node *n, int k)
{
	return k < n->n_in && n->in[k] >= 0 ? &r->values[n->in[k]] : NULL;
}

ox_t *
ox_out(ox_run *r, const ox_node *n, int k)
{
	static const ox_t none;

	/* an output that nobody wants goes where nobody looks */
	if (k >= n->n_out || n->out[k] < 0)
	{
		ox_t	   *scratch = &r->values[r->m->n_values];

		*scratch = none;
		return scratch;
	}
	return &r->values[n->out[k]];
}

static int64_t
whole(double v)
{
	return v >= 9.2e18 ? INT64_MAX : v <= -9.2e18 ? INT64_MIN : (int64_t) v;
}

bool
ox_ints(ox_run *r, const ox_node *n, int k, int *count, int64_t *v, int max)
{
	const ox_t *t = ox_in(r, n, k);
	double		elements;
	char		buf[64];

	*count = -1;
	if (t == NULL)
		return true;
	ox_shown(r->m->values[n->in[k]].name, buf);
	if (t->origin != OX_STATIC || t->data == NULL)
		return ox_error(r, "input %d, \"%s\", must be a constant, but depends on data or is missing from the file", k, buf);
	elements = pm_shape_count(&t->shape);
	if (elements > max)
		return ox_error(r, "input %d, \"%s\", has %.0f values, but %d are the limit", k, buf, elements, max);
	*count = (int) elements;
	for (int i = 0; i < *count; i++)
	{
		if (isnan(t->data[i]))
			return ox_error(r, "input %d, \"%s\", is not a number", k, buf);
		v[i] = whole(t->data[i]);
	}
	return true;
}

bool
ox_ints_or_attr(ox_run *r, const ox_node *n, const char *name, int k, int *count, int64_t *v, int max)
{
	const int64_t *list;

	if (ox_in(r, n, k) != NULL)
		return ox_ints(r, n, k, count, v, max);
	list = ox_attr_ints(n, name, count);
	if (*count > max)
		return ox_error(r, "attribute \"%s\" has %d values, but %d are the limit", name, *count, max);
	if (*count > 0)
		memcpy(v, list, sizeof(int64_t) * (size_t) *count);
	else if (ox_attr(n, name) == NULL)
		*count = -1;
	return true;
}

double
ox_scalar(const ox_t *t)
{
	return t != NULL && t->origin == OX_STATIC && t->data != NULL && pm_shape_count(&t->shape) == 1 ? t->data[0] : NAN;
}

bool
ox_axis(ox_run *r, int64_t axis, int rank, int *result)
{
	if (axis < -rank || axis >= rank)
		return ox_error(r, "axis %lld does not exist in %d dimensions", (long long) axis, rank);
	*result = (int) (axis < 0 ? axis + rank : axis);
	return true;
}

/* ---------- shapes ---------- */

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

/* Stride of operand t in dimension i of a result of the given rank; 0 where it is broadcast. */
static int64_t
operand_stride(const ox_t *t, int i, const pm_shape *shape)
{
	int			at = i - (shape->rank - t->shape.rank);

	return at < 0 || (t->shape.dim[at] == 1 && shape->dim[i] != 1) ? 0 : t->stride[at];
}

/* > 0: dimension a lies inside b in memory (as PyTorch's TensorIterator decides), < 0: the other way, 0: no opinion. */
static int
order(int n, const ox_t *const *in, const pm_shape *shape, int a, int b)
{
	for (int k = 0; k < n; k++)
	{
		int64_t		sa = operand_stride(in[k], a, shape);
		int64_t		sb = operand_stride(in[k], b, shape);

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

/* ---------- writing nodes ---------- */

static ox_op *
new_op(ox_run *r)
{
	if (r->n_ops == r->max_ops)
	{
		int			max = r->max_ops == 0 ? 256 : r->max_ops * 2;
		ox_op	   *ops = r->n_ops >= PM_MAX_NODES ? NULL : PM_NEW(r->m->arena, ox_op, (size_t) max);

		if (r->n_ops >= PM_MAX_NODES)
		{
			if (!r->failed)
				pm_fail(r->m->st, PM_ERR_LIMIT, "model has more than %d operators", PM_MAX_NODES);
			r->failed = true;
			return NULL;
		}
		if (ops == NULL)
		{
			ox_no_memory(r);
			return NULL;
		}
		if (r->n_ops > 0)
			memcpy(ops, r->ops, sizeof(ox_op) * (size_t) r->n_ops);
		r->ops = ops;
		r->max_ops = max;
	}
	return &r->ops[r->n_ops];
}

static void
count_weight(ox_run *r, const ox_t *t)
{
	if (r->counted[t->weight])
		return;
	r->counted[t->weight] = 1;
	r->params += pm_shape_count(&t->stored);
}

/* Sort operands into inputs, weights and constants; scalars are part of the operator. */
static bool
add_operands(ox_run *r, ox_op *op, int n, const ox_t *const *in)
{
	op->inputs = PM_NEW(r->m->arena, int32_t, (size_t) n + 1);
	op->weights = PM_NEW(r->m->arena, pm_shape, (size_t) n + 1);
	op->consts = PM_NEW(r->m->arena, pm_shape, (size_t) n + 1);
	if (op->inputs == NULL || op->weights == NULL || op->consts == NULL)
		return ox_no_memory(r);
	for (int k = 0; k < n; k++)
	{
		if (in[k] == NULL)
			continue;
		if (in[k]->origin == OX_NODE)
			op->inputs[op->n_inputs++] = in[k]->node;
		else if (in[k]->origin == OX_WEIGHT)
		{
			count_weight(r, in[k]);
			op->weights[op->n_weights++] = in[k]->stored;
		}
		else if (pm_shape_count(&in[k]->shape) > 1)
			op->consts[op->n_consts++] = in[k]->stored.rank > 0 ? in[k]->stored : in[k]->shape;
	}
	return true;
}

bool
ox_emit(ox_run *r, const char *name, int n, const ox_t *const *in, ox_t *out, bool view)
{
	bool		is_static = true;
	ox_op	   *op;

	if (!ox_check_shape(r, &out->shape))
		return false;
	for (int k = 0; k < n; k++)
		is_static = is_static && (in[k] == NULL || in[k]->origin == OX_STATIC);
	ox_contiguous(out);
	out->data = NULL;
	out->stored.rank = 0;
	/* large constants that the model computes are computed on the device, every time */
	if (is_static && pm_shape_count(&out->shape) <= OX_MAX_CONST)
	{
		out->origin = OX_STATIC;
		return true;
	}
	op = new_op(r);
	if (op == NULL)
		return false;
	memset(op, 0, sizeof(*op));
	op->name = name;
	op->shape = out->shape;
	op->view = view;
	op->from = r->node;
	if (!add_operands(r, op, n, in))
		return false;
	out->origin = OX_NODE;
	out->node = r->n_ops++;
	return true;
}

bool
ox_emit_input(ox_run *r, ox_t *out)
{
	ox_op	   *op;

	if (!ox_check_shape(r, &out->shape) || (op = new_op(r)) == NULL)
		return false;
	memset(op, 0, sizeof(*op));
	op->name = "Input";
	op->shape = out->shape;
	ox_contiguous(out);
	out->origin = OX_NODE;
	out->node = r->n_ops++;
	return true;
}

ox_op *
ox_last(ox_run *r, const ox_t *out)
{
	return out->origin == OX_NODE && out->node == r->n_ops - 1 ? &r->ops[out->node] : NULL;
}

static ox_key *
new_key(ox_op *op, const char *key)
{
	if (op == NULL || op->n_keys == OX_MAX_KEYS)
		return NULL;
	op->keys[op->n_keys].key = key;
	return &op->keys[op->n_keys++];
}

void
ox_key_ints(ox_run *r, ox_op *op, const char *key, int n, const int64_t *v)
{
	ox_key	   *k = new_key(op, key);

	if (k == NULL)
		return;
	k->v = PM_NEW(r->m->arena, int64_t, (size_t) n + 1);
	if (k->v == NULL)
	{
		op->n_keys--;
		ox_no_memory(r);
		return;
	}
	memcpy(k->v, v, sizeof(int64_t) * (size_t) n);
	k->n = n;
}

void
ox_key_int(ox_run *r, ox_op *op, const char *key, int64_t v)
{
	ox_key_ints(r, op, key, 1, &v);
	if (op != NULL && op->n_keys > 0 && !r->failed)
		op->keys[op->n_keys - 1].n = -2;
}

void
ox_key_real(ox_run *r, ox_op *op, const char *key, double v)
{
	ox_key	   *k = isfinite(v) ? new_key(op, key) : NULL;

	(void) r;
	if (k != NULL)
	{
		k->n = -1;
		k->real = v;
	}
}

void
ox_key_reals(ox_run *r, ox_op *op, const char *key, int n, const double *v)
{
	double	   *copy;
	ox_key	   *k;

	for (int i = 0; i < n; i++)
		if (!isfinite(v[i]))
			n = i;
	k = n > 0 ? new_key(op, key) : NULL;
	copy = k == NULL ? NULL : PM_NEW(r->m->arena, double, (size_t) n);
	if (k == NULL)
		return;
	if (copy == NULL)
	{
		op->n_keys--;
		ox_no_memory(r);
		return;
	}
	memcpy(copy, v, sizeof(double) * (size_t) n);
	k->n = n;
	k->reals = copy;
}

void
ox_key_text(ox_run *r, ox_op *op, const char *key, const char *v)
{
	ox_key	   *k = new_key(op, key);

	(void) r;
	if (k != NULL)
		k->text = v;
}

/* ---------- views ---------- */

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
	pm_shape	stored = in->stored;

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
	if (from.origin == OX_NODE)
		ok = ox_emit(r, op, 1, list, out, true);
	for (int i = 0; i < shape->rank; i++)
		out->stride[i] = stride[i];
	return ok;
}

bool
ox_make_contiguous(ox_run *r, const ox_t *in, ox_t *out)
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
		if (!ox_make_contiguous(r, in, &plain) || !view_strides(&plain, shape, stride))
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
		stride[i] = operand_stride(in, i, shape);
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
