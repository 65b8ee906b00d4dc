/*
 * emit.c - writes nodes of the new graph.
 */
#include "import/onnx/emit.h"

#include <math.h>
#include <string.h>

#include "import/onnx/operands.h"
#include "import/onnx/shapes.h"

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
	r->params += pm_shape_count(&r->m->values[t->weight].shape);	/* whole, whatever part is read first */
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
