/*
 * fold_tools.c - searches in a model, and replaces nodes.
 */
#include "import/onnx/fold_tools.h"

#include <math.h>
#include <string.h>

#include "import/onnx/attributes.h"
#include "import/onnx/elements.h"
#include "import/onnx/rules.h"

ox_node *
ox_producer(const ox_folder *f, int value)
{
	int			p = value < 0 ? -1 : f->m->values[value].producer;

	return p < 0 || f->m->nodes[p].dead ? NULL : &f->m->nodes[p];
}

bool
ox_is_op(const ox_node *n, const char *op)
{
	return n != NULL && n->rule != NULL && strcmp(n->op, op) == 0;
}

/* The node of this operator that makes input k of n. */
ox_node *
ox_made_by(const ox_folder *f, const ox_node *n, int k, const char *op)
{
	ox_node    *p = k < n->n_in ? ox_producer(f, n->in[k]) : NULL;

	return ox_is_op(p, op) && p->n_out > 0 && p->out[0] == n->in[k] ? p : NULL;
}

/* Input 0 or 1 of n is made by this operator: the node, and *other is the other input. */
ox_node *
ox_either_input(const ox_folder *f, const ox_node *n, const char *op, int *other)
{
	for (int k = 0; k < 2 && n->n_in == 2; k++)
	{
		ox_node    *p = ox_made_by(f, n, k, op);

		if (p != NULL)
		{
			*other = n->in[1 - k];
			return p;
		}
	}
	return NULL;
}

bool
ox_single(const ox_folder *f, const ox_node *n)
{
	return n->n_out > 0 && n->out[0] >= 0 && f->m->values[n->out[0]].uses == 1 && !f->m->values[n->out[0]].is_output;
}

/* The only reader of n's first output, when it is this operator (NULL: any). */
ox_node *
ox_only_reader(const ox_folder *f, const ox_node *n, const char *op)
{
	if (!ox_single(f, n))
		return NULL;
	for (int i = f->reader_at[n->out[0]]; i < f->reader_at[n->out[0] + 1]; i++)
	{
		ox_node    *r = &f->m->nodes[f->reader[i]];

		if (!r->dead)
			return op == NULL || ox_is_op(r, op) ? r : NULL;
	}
	return NULL;
}

/* The number in a tensor, NaN when there are none or several: those are not decoded for every node that asks. */
static double
ox_tensor_number(const ox_folder *f, const PmOnnx__Tensor *t)
{
	int			dtype;
	pm_shape	shape;
	double	   *data;

	for (size_t i = 0; i < t->n_dims; i++)
		if (t->dims[i] != 1)
			return NAN;
	return ox_tensor(f->m, t, &dtype, &shape, &data) && data != NULL ? data[0] : NAN;
}

/* The number that a value is, NaN when it is none or not known. */
double
ox_number(const ox_folder *f, int value)
{
	const ox_node *n = ox_producer(f, value);
	const PmOnnx__Attribute *a;

	for (int i = 0; i < OX_MAX_CHAIN && (ox_is_op(n, "Identity") || ox_is_op(n, "Cast")) && n->n_in == 1; i++)
	{
		value = n->in[0];
		n = ox_producer(f, value);
	}
	if (value >= 0 && f->m->values[value].is_init)
	{
		const ox_value *v = &f->m->values[value];

		return v->data != NULL && pm_shape_count(&v->shape) == 1 ? v->data[0] : NAN;
	}
	if (!ox_is_op(n, "Constant") || (a = ox_attr(n, "value")) == NULL || a->t == NULL)
		return NAN;
	return ox_tensor_number(f, a->t);
}

bool
ox_near(double a, double b)
{
	return fabs(a - b) <= 1e-4 * fabs(b);
}

/* One of the two inputs is this number; *other is the other one. */
bool
ox_with_number(const ox_folder *f, const ox_node *n, double want, int *other)
{
	for (int k = 0; k < 2 && n->n_in == 2; k++)
		if (ox_near(ox_number(f, n->in[k]), want))
		{
			*other = n->in[1 - k];
			return true;
		}
	return false;
}

/* A parameter, possibly with dimensions of 1 put around it: the parameter's value number, else -1. */
int
ox_parameter(const ox_folder *f, int value)
{
	const ox_node *n = ox_producer(f, value);

	if (value >= 0 && f->m->values[value].is_init)
		return value;
	if ((ox_is_op(n, "Unsqueeze") || ox_is_op(n, "Identity")) && n->n_in > 0 && n->in[0] >= 0 && f->m->values[n->in[0]].is_init)
		return n->in[0];
	return -1;
}

/* What n reads is read once less. */
static void
read_less(ox_folder *f, const ox_node *n)
{
	for (int k = 0; k < n->n_in; k++)
		if (n->in[k] >= 0)
			f->m->values[n->in[k]].uses--;
}

void
ox_kill(ox_folder *f, ox_node *n)
{
	if (n == NULL || n->dead)
		return;
	n->dead = true;
	read_less(f, n);
}

static const ox_rule *
ox_fused_rule(const char *name)
{
	for (const ox_rule *r = ox_rules_fused; r->name != NULL; r++)
		if (strcmp(r->name, name) == 0)
			return r;
	return NULL;
}

/* n becomes `name` of in[count]; its outputs stay. */
pm_code
ox_become(ox_folder *f, ox_node *n, const char *name, int count, const int *in)
{
	int		   *list = PM_NEW(f->m->arena, int, (size_t) count + 1);

	if (list == NULL)
		return pm_no_memory(f->m->st, f->m->arena);
	read_less(f, n);
	memcpy(list, in, sizeof(int) * (size_t) count);
	n->in = list;
	n->n_in = count;
	n->op = name;
	n->domain = "";
	n->rule = ox_fused_rule(name);
	for (int k = 0; k < count; k++)
		if (list[k] >= 0)
			f->m->values[list[k]].uses++;
	return PM_OK;
}

/* n reads another value as its data, and stays what it is. */
void
ox_become_same(ox_folder *f, ox_node *n, int value)
{
	f->m->values[n->in[0]].uses--;
	f->m->values[value].uses++;
	n->in[0] = value;
}
