/*
 * run.c - the walk over a model's nodes at one batch size.
 */
#include "import/onnx/run.h"

#include <string.h>

#include "import/onnx/constants.h"
#include "import/onnx/emit.h"
#include "import/onnx/fold.h"
#include "import/onnx/operands.h"
#include "import/onnx/rules.h"
#include "import/onnx/shapes.h"

/* ---------- values before any node ---------- */

static bool
set_input(ox_run *r, int k)
{
	const ox_value *v = &r->m->values[k];
	ox_t	   *t = &r->values[k];

	t->dtype = v->dtype;
	t->shape = v->shape;
	for (int i = 0; i < t->shape.rank; i++)
		if (t->shape.dim[i] == OX_BATCH_DIM)
			t->shape.dim[i] = r->batch;
	return ox_emit_input(r, t);
}

static bool
is_float(int dtype)
{
	return dtype == OX_FLOAT || dtype == OX_FLOAT16 || dtype == OX_DOUBLE || dtype == OX_BFLOAT16;
}

/*
 * A tensor of the file that is not an input: a parameter when it holds several
 * real numbers, else a constant.
 */
static bool
set_initializer(ox_run *r, int k)
{
	const ox_value *v = &r->m->values[k];
	ox_t	   *t = &r->values[k];

	t->dtype = v->dtype;
	t->shape = t->stored = v->shape;
	t->weight = k;
	t->data = v->data;
	if (!ox_check_shape(r, &t->shape))
		return false;
	ox_contiguous(t);
	t->origin = pm_shape_count(&t->shape) > 1 && is_float(v->dtype) && !v->is_constant ? OX_WEIGHT : OX_STATIC;
	/* a linear layer's matrix that the exporter has transposed is stored as the layer has it */
	if (t->origin == OX_WEIGHT && t->shape.rank == 2 && strncmp(v->name, "onnx::MatMul", 12) == 0)
		t->stored = ox_shape(2, (int64_t[]){t->shape.dim[1], t->shape.dim[0]});
	return true;
}

/* ---------- one node ---------- */

/* An operator without a rule: what the file says about its results. */
static bool
unknown(ox_run *r, const ox_node *n)
{
	const ox_t **in = PM_NEW(r->m->arena, const ox_t *, (size_t) n->n_in + 1);

	if (in == NULL)
		return ox_no_memory(r);
	for (int k = 0; k < n->n_in; k++)
		in[k] = ox_in(r, n, k);
	for (int k = 0; k < n->n_out; k++)
	{
		const ox_value *v = n->out[k] < 0 ? NULL : &r->m->values[n->out[k]];
		ox_t	   *out = ox_out(r, n, k);

		if (v == NULL)
			continue;
		if (!v->has_shape)
		{
			ox_error(r, "the operator is not known, and the file does not say what shape its result has");
			pm_hint(r->m->st, "Export the model without custom operators, or with their shapes in value_info.");
			return false;
		}
		out->shape = v->shape;
		out->dtype = v->dtype;
		for (int i = 0; i < out->shape.rank; i++)
			if (out->shape.dim[i] == OX_BATCH_DIM)
				out->shape.dim[i] = r->batch;
			else if (out->shape.dim[i] < 0)
				return ox_error(r, "the operator is not known, and dimension %d of its result is not either", i);
		if (!ox_emit(r, n->op, n->n_in, in, out, false))
			return false;
	}
	return true;
}

static bool
check_arity(ox_run *r, const ox_node *n)
{
	const ox_rule *rule = n->rule;

	if (n->n_in < rule->min_in)
		return ox_error(r, "it has %d inputs, but needs %d", n->n_in, rule->min_in);
	if (rule->max_in >= 0 && n->n_in > rule->max_in)
		return ox_error(r, "it has %d inputs, but takes %d", n->n_in, rule->max_in);
	for (int k = 0; k < rule->min_in; k++)
	{
		bool		needed = k < 3 || strncmp(n->op, "QLinear", 7) == 0;

		/* regions and scales of Resize, segments of EmbedLayerNormalization */
		needed = needed && !(k > 0 && (strcmp(n->op, "Resize") == 0 || strcmp(n->op, "EmbedLayerNormalization") == 0));
		if (n->in[k] < 0 && needed)
			return ox_error(r, "input %d is missing", k);
	}
	for (int k = 0; k < n->n_in; k++)
		if (n->in[k] >= 0 && r->values[n->in[k]].origin == OX_NOTHING)
			return ox_error(r, "input %d is not a tensor that its producer makes", k);
	return true;
}

/* What the file says about a result against what was found. */
static bool
check_declared(ox_run *r, const ox_node *n, int k)
{
	const ox_value *v = &r->m->values[n->out[k]];
	const ox_t *t = &r->values[n->out[k]];
	char		buf[64];

	if (!v->has_shape || t->origin == OX_NOTHING || r->base != NULL)
		return true;
	ox_shown(v->name, buf);
	if (v->shape.rank != t->shape.rank)
		return ox_error(r, "the file says that \"%s\" has %d dimensions, but it has %d", buf, v->shape.rank, t->shape.rank);
	for (int i = 0; i < t->shape.rank; i++)
		/* exporters write down the batch they were run with here and there */
		if (v->shape.dim[i] >= 0 && t->shape.dim[i] != v->shape.dim[i] && t->shape.dim[i] % r->batch != 0)
			return ox_error(r, "the file says that dimension %d of \"%s\" is %lld, but it is %lld", i, buf,
							(long long) v->shape.dim[i], (long long) t->shape.dim[i]);
	return true;
}

static bool
run_node(ox_run *r, const ox_node *n)
{
	r->node = n;
	if (n->rule == NULL)
		return unknown(r, n);
	if (!check_arity(r, n) || !n->rule->apply(r, n) || r->failed)
		return false;
	ox_fold_constants(r, n);
	for (int k = 0; k < n->n_out; k++)
		if (n->out[k] >= 0 && !check_declared(r, n, k))
			return false;
	return !r->failed;
}

/* ---------- the walk ---------- */

pm_code
ox_run_model(ox_run *r, ox_model *m, int64_t batch, const ox_t *base)
{
	memset(r, 0, sizeof(*r));
	r->m = m;
	r->batch = batch;
	r->base = base;
	r->values = PM_NEW(m->arena, ox_t, (size_t) m->n_values + 1);
	r->counted = PM_NEW(m->arena, uint8_t, (size_t) m->n_values + 1);
	if (r->values == NULL || r->counted == NULL)
		return pm_no_memory(m->st, m->arena);
	for (int i = 0; i < m->n_inputs; i++)
		if (!set_input(r, m->inputs[i]))
			return m->st->code;
	for (int k = 0; k < m->n_values; k++)
		if (m->values[k].is_init && !set_initializer(r, k))
			return m->st->code;
	for (int i = 0; i < m->n_nodes; i++)
	{
		if (ox_stopped(m))
			return PM_CANCELLED;
		if (!m->nodes[i].dead && !run_node(r, &m->nodes[i]))
			return m->st->code;
	}
	return PM_OK;
}
