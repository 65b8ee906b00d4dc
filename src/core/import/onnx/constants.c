/*
 * constants.c - the arithmetic of shapes: values of constants that are computed
 * from constants.
 *
 * Values are kept as doubles, exact for whole numbers to 2^53; shapes end at
 * 2^40.  What is not computed here simply stays unknown, and whoever needs the
 * values says so.
 */
#include "import/onnx/constants.h"

#include <math.h>
#include <string.h>

#include "import/onnx/attributes.h"
#include "import/onnx/fold.h"
#include "import/onnx/operands.h"
#include "import/onnx/shapes.h"

static bool
is_whole(int dtype)
{
	return dtype != OX_FLOAT && dtype != OX_DOUBLE && dtype != OX_FLOAT16 && dtype != OX_BFLOAT16;
}

/* ---------- element by element ---------- */

static double
binary(const char *op, double a, double b, bool whole)
{
	switch (op[0])
	{
		case 'A':
			return op[1] == 'd' ? a + b : a != 0 && b != 0;	/* Add, And */
		case 'S':
			return a - b;
		case 'D':
			return whole ? (b == 0 ? NAN : trunc(a / b)) : a / b;
		case 'P':
			return pow(a, b);
		case 'E':
			return a == b;
		case 'L':
			return strcmp(op, "Less") == 0 ? a < b : a <= b;
		case 'G':
			return strcmp(op, "Greater") == 0 ? a > b : a >= b;
		case 'O':
			return a != 0 || b != 0;
		case 'X':
			return (a != 0) != (b != 0);
		default:
			break;
	}
	if (strcmp(op, "Mul") == 0)
		return a * b;
	if (strcmp(op, "Mod") == 0)
		return b == 0 ? NAN : a - floor(a / b) * b;
	if (strcmp(op, "Max") == 0)
		return fmax(a, b);
	return fmin(a, b);
}

static bool
is_binary(const char *op)
{
	static const char *const names[] = {"Add", "Sub", "Mul", "Div", "Mod", "Pow", "Max", "Min", "Equal", "Less",
	"LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", NULL};

	for (int i = 0; names[i] != NULL; i++)
		if (strcmp(op, names[i]) == 0)
			return true;
	return false;
}

static bool
unary_value(const char *op, double a, int to, double *v)
{
	static const struct
	{
		const char *name;
		double		(*f) (double);
	}			table[] = {{"Floor", floor}, {"Ceil", ceil}, {"Sqrt", sqrt}, {"Abs", fabs}, {"Exp", exp}, {"Log", log},
	{"Round", nearbyint}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(op, table[i].name) == 0)
		{
			*v = table[i].f(a);
			return true;
		}
	if (strcmp(op, "Cast") == 0)
		*v = to == OX_BOOL ? a != 0 : is_whole(to) ? trunc(a) : a;
	else if (strcmp(op, "Neg") == 0)
		*v = -a;
	else if (strcmp(op, "Not") == 0)
		*v = a == 0;
	else if (strcmp(op, "Reciprocal") == 0)
		*v = 1 / a;
	else
		return false;
	return true;
}

/* A place in a dimension; constants with a fixed batch baked in may be shorter than what they meet. */
static int64_t
wrap(int64_t at, int64_t dim)
{
	return dim > 0 ? at % dim : 0;
}

/* Element of t that meets element `at` of a result of the given shape. */
static double
element(const ox_t *t, const pm_shape *shape, const int64_t *at)
{
	int64_t		from = 0;

	for (int i = 0; i < t->shape.rank; i++)
	{
		int			d = i + shape->rank - t->shape.rank;

		from += wrap(at[d], t->shape.dim[i]) * t->stride[i];
	}
	return t->data[from];
}

static void
step(const pm_shape *shape, int64_t *at)
{
	for (int d = shape->rank - 1; d >= 0 && ++at[d] == shape->dim[d]; d--)
		at[d] = 0;
}

static void
elementwise(const ox_node *n, const ox_t *const *in, ox_t *out)
{
	int64_t		at[PM_MAX_RANK] = {0};
	int64_t		count = (int64_t) pm_shape_count(&out->shape);
	bool		whole = is_whole(in[0]->dtype);

	for (int64_t i = 0; i < count; i++, step(&out->shape, at))
	{
		double		v = element(in[0], &out->shape, at);

		if (strcmp(n->op, "Where") == 0)
			v = element(in[v != 0 ? 1 : 2], &out->shape, at);
		else
			for (int k = 1; k < n->n_in; k++)
				v = binary(n->op, v, element(in[k], &out->shape, at), whole);
		out->data[i] = v;
	}
}

/* ---------- others ---------- */

/* False when an input is shorter than the result says: at another batch, other dimensions of it may have become 0. */
static bool
concat(const ox_node *n, const ox_t *const *in, ox_t *out, int axis)
{
	int64_t		at[PM_MAX_RANK] = {0};
	int64_t		count = (int64_t) pm_shape_count(&out->shape);

	for (int64_t i = 0; i < count; i++, step(&out->shape, at))
	{
		int64_t		here = at[axis];
		int64_t		from = 0;
		int			k = 0;

		while (k < n->n_in - 1 && here >= in[k]->shape.dim[axis])
			here -= in[k++]->shape.dim[axis];
		for (int d = 0; d < out->shape.rank; d++)
			from += wrap(d == axis ? here : at[d], in[k]->shape.dim[d]) * in[k]->stride[d];
		if (from < 0 || (double) from >= pm_shape_count(&in[k]->shape))
			return false;
		out->data[i] = in[k]->data[from];
	}
	return true;
}

static bool
gather(const ox_t *x, const ox_t *index, ox_t *out, int axis)
{
	int64_t		at[PM_MAX_RANK] = {0};
	int64_t		count = (int64_t) pm_shape_count(&out->shape);

	for (int64_t i = 0; i < count; i++, step(&out->shape, at))
	{
		int64_t		place = 0;
		int64_t		from = 0;
		double		v;

		for (int d = 0; d < index->shape.rank; d++)
			place += at[axis + d] * index->stride[d];
		v = index->data[place];
		v += v < 0 ? (double) x->shape.dim[axis] : 0;
		if (!(v >= 0 && v < (double) x->shape.dim[axis]))
			return false;
		for (int d = 0; d < x->shape.rank; d++)
			from += (d == axis ? (int64_t) v : at[d < axis ? d : d - 1 + index->shape.rank]) * x->stride[d];
		out->data[i] = x->data[from];
	}
	return true;
}

/* Over all elements only, which is what shapes need. */
static bool
reduce(const ox_node *n, const ox_t *x, ox_t *out)
{
	int64_t		count = (int64_t) pm_shape_count(&x->shape);
	double		v = strcmp(n->op, "ReduceProd") == 0 ? 1 : 0;

	if (pm_shape_count(&out->shape) != 1 || count == 0)
		return false;
	for (int64_t i = 0; i < count; i++)
		if (strcmp(n->op, "ReduceProd") == 0)
			v *= x->data[i];
		else if (strcmp(n->op, "ReduceSum") == 0)
			v += x->data[i];
		else if (strcmp(n->op, "ReduceMax") == 0)
			v = i == 0 ? x->data[i] : fmax(v, x->data[i]);
		else if (strcmp(n->op, "ReduceMin") == 0)
			v = i == 0 ? x->data[i] : fmin(v, x->data[i]);
		else
			return false;
	out->data[0] = v;
	return true;
}

static bool
compute(const ox_node *n, const ox_t *const *in, ox_t *out)
{
	int64_t		axis = ox_attr_int(n, "axis", 0);

	if (is_binary(n->op) || strcmp(n->op, "Where") == 0)
	{
		elementwise(n, in, out);
		return true;
	}
	if (strcmp(n->op, "Concat") == 0)
	{
		axis = ox_attr_int(n, "axis", 1);
		return concat(n, in, out, (int) (axis < 0 ? axis + out->shape.rank : axis));
	}
	if (strcmp(n->op, "Gather") == 0)
		return gather(in[0], in[1], out, (int) (axis < 0 ? axis + in[0]->shape.rank : axis));
	if (strncmp(n->op, "Reduce", 6) == 0)
		return reduce(n, in[0], out);
	for (int64_t i = 0; i < (int64_t) pm_shape_count(&out->shape); i++)
		if (!ox_same_shape(&in[0]->shape, &out->shape) || !unary_value(n->op, in[0]->data[i], out->dtype, &out->data[i]))
			return false;
	return true;
}

/* The one output that matters is out; it is static and its values are not known yet. */
void
ox_fold_constants(ox_run *r, const ox_node *n)
{
	ox_t	   *out = n->n_out > 0 && n->out[0] >= 0 ? &r->values[n->out[0]] : NULL;
	const ox_t **in;

	if (out == NULL || out->origin != OX_STATIC || out->data != NULL || n->n_in == 0 ||
		pm_shape_count(&out->shape) > OX_MAX_CONST)
		return;
	in = PM_NEW(r->m->arena, const ox_t *, (size_t) n->n_in);
	if (in == NULL)
	{
		ox_no_memory(r);
		return;
	}
	for (int k = 0; k < n->n_in; k++)
	{
		in[k] = ox_in(r, n, k);
		if (in[k] == NULL || in[k]->origin != OX_STATIC || in[k]->data == NULL)
			return;
	}
	out->data = PM_NEW(r->m->arena, double, (size_t) pm_shape_count(&out->shape) + 1);
	if (out->data == NULL)
	{
		ox_no_memory(r);
		return;
	}
	if (!compute(n, in, out))
		out->data = NULL;
}
