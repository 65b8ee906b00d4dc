/*
 * operands.c - errors, inputs and outputs of the current node.
 */
#include "import/onnx/operands.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "import/onnx/attributes.h"

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

bool
ox_mark_axis(ox_run *r, int axis, bool *seen)
{
	if (seen[axis])
		return ox_error(r, "axis %d comes twice", axis);
	seen[axis] = true;
	return true;
}
