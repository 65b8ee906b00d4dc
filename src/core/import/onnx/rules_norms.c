/*
 * rules_norms.c - normalisations, and the operators that fold.c puts in place
 * of their pieces.
 */
#include "import/onnx/rules.h"

#include <string.h>

#include "import/onnx/attributes.h"
#include "import/onnx/emit.h"
#include "import/onnx/operands.h"
#include "import/onnx/rules_layers.h"
#include "import/onnx/rules_moves.h"
#include "import/onnx/rules_products.h"
#include "import/onnx/shapes.h"
#include "import/onnx/views.h"

/* The data, then parameters; the result is laid out like the data or densely. */
static bool
norm(ox_run *r, const char *name, int count, const ox_t *const *in, bool dense, ox_t *out)
{
	out->shape = in[0]->shape;
	out->dtype = in[0]->dtype;
	if (!ox_emit(r, name, count, in, out, false))
		return false;
	if (!dense)
		ox_elementwise_strides(1, in, out);
	return true;
}

/* Running statistics are written, not read, in training. */
static bool
batch_norm(ox_run *r, const ox_node *n)
{
	const ox_t *in[3] = {ox_in(r, n, 0), ox_in(r, n, 1), ox_in(r, n, 2)};

	if (in[0]->shape.rank < 2)
		return ox_error(r, "its data has %d dimensions, but needs 2", in[0]->shape.rank);
	for (int k = 1; k < 3; k++)
		if (pm_shape_count(&in[k]->shape) != (double) in[0]->shape.dim[1])
			return ox_error(r, "its data has %lld channels, but its parameters %.0f", (long long) in[0]->shape.dim[1],
							pm_shape_count(&in[k]->shape));
	for (int k = 1; k < n->n_out; k++)
		if (n->out[k] >= 0)
			ox_alias(in[1], &r->values[n->out[k]]);
	return norm(r, "BatchNormalization", 3, in, false, ox_out(r, n, 0));
}

static bool
instance_norm(ox_run *r, const ox_node *n)
{
	const ox_t *in[3] = {ox_in(r, n, 0), ox_in(r, n, 1), ox_in(r, n, 2)};

	return norm(r, "InstanceNormalization", 3, in, true, ox_out(r, n, 0));
}

static bool
group_norm(ox_run *r, const ox_node *n)
{
	const ox_t *in[3] = {ox_in(r, n, 0), ox_in(r, n, 1), ox_in(r, n, 2)};
	ox_t	   *out = ox_out(r, n, 0);

	if (!norm(r, "GroupNormalization", 3, in, true, out))
		return false;
	ox_key_int(r, ox_last(r, out), "num_groups", ox_attr_int(n, "num_groups", ox_attr_int(n, "groups", 1)));
	return true;
}

/* Mean and deviation, which some models ask for beside the result. */
static bool
statistics(ox_run *r, const ox_node *n, const ox_t *x, int axis)
{
	for (int k = 1; k < 3; k++)
		if (k < n->n_out && n->out[k] >= 0)
		{
			ox_t	   *s = &r->values[n->out[k]];

			s->shape = x->shape;
			s->dtype = OX_FLOAT;
			for (int i = axis; i < x->shape.rank; i++)
				s->shape.dim[i] = 1;
			if (r->m->values[n->out[k]].uses == 0)
			{
				s->origin = OX_STATIC;
				s->data = NULL;
				ox_contiguous(s);
			}
			else if (!ox_emit(r, "ReduceMean", 1, &x, s, false))
				return false;
		}
	return true;
}

static bool
layer_norm(ox_run *r, const ox_node *n)
{
	const ox_t *in[3] = {ox_in(r, n, 0), ox_in(r, n, 1), ox_in(r, n, 2)};
	ox_t	   *out = ox_out(r, n, 0);
	const char *name = n->rule->as != NULL ? n->rule->as : n->op;
	int			axis;

	if (!ox_axis(r, ox_attr_int(n, "axis", -1), in[0]->shape.rank, &axis))
		return false;
	if (!norm(r, name, 3, in, true, out))
		return false;
	ox_key_int(r, ox_last(r, out), "axis", axis - in[0]->shape.rank);
	return statistics(r, n, in[0], axis);
}

/* com.microsoft.SkipLayerNormalization: x, skip, gamma, beta, bias. */
static bool
skip_norm(ox_run *r, const ox_node *n)
{
	bool		simple = strcmp(n->op, "SkipSimplifiedLayerNormalization") == 0;
	const ox_t *add[3] = {ox_in(r, n, 0), ox_in(r, n, 1), ox_in(r, n, simple ? 3 : 4)};
	ox_t		sum = {0};
	const ox_t *in[3] = {&sum, ox_in(r, n, 2), simple ? NULL : ox_in(r, n, 3)};
	ox_t	   *out = ox_out(r, n, 0);

	sum.shape = add[0]->shape;
	sum.dtype = add[0]->dtype;
	if (!ox_emit(r, "Add", 3, add, &sum, false) ||
		!norm(r, simple ? "RMSNormalization" : "LayerNormalization", 3, in, true, out))
		return false;
	ox_key_int(r, ox_last(r, out), "axis", -1);
	if (n->n_out > 3 && n->out[3] >= 0)
		ox_alias(&sum, &r->values[n->out[3]]);
	return true;
}

/* com.microsoft.EmbedLayerNormalization: word, segment and position tables, summed and normalised. */
static bool
embed_norm(ox_run *r, const ox_node *n)
{
	const ox_t *ids = ox_in(r, n, 0);
	ox_t		sum = {0};
	ox_t	   *out = ox_out(r, n, 0);
	const ox_t *in[3] = {&sum, ox_in(r, n, 5), ox_in(r, n, 6)};

	for (int k = 2; k < 5; k++)
	{
		const ox_t *table = ox_in(r, n, k);
		const ox_t *look[2] = {table, ids};
		ox_t		row = {0};
		ox_t		before = sum;
		const ox_t *both[2] = {&before, &row};

		if (table == NULL)
			continue;
		if (table->shape.rank != 2 || ids->shape.rank != 2)
			return ox_error(r, "its tables and ids must have two dimensions");
		row.shape = ox_shape(3, (int64_t[]){ids->shape.dim[0], ids->shape.dim[1], table->shape.dim[1]});
		row.dtype = table->dtype;
		if (!ox_emit(r, "Gather", 2, look, &row, false))
			return false;
		sum = row;
		if (before.origin != OX_NOTHING && !ox_emit(r, "Add", 2, both, &sum, false))
			return false;
	}
	if (!norm(r, "LayerNormalization", 3, in, true, out))
		return false;
	ox_key_int(r, ox_last(r, out), "axis", -1);
	return true;
}

static bool
plain_norm(ox_run *r, const ox_node *n)
{
	const ox_t *in[1] = {ox_in(r, n, 0)};

	return norm(r, n->op, 1, in, true, ox_out(r, n, 0));
}

/* ---------- what fold.c has put together ---------- */

static bool
folded_norm(ox_run *r, const ox_node *n)
{
	const ox_t *in[3] = {ox_in(r, n, 0), ox_in(r, n, 1), ox_in(r, n, 2)};
	ox_t	   *out = ox_out(r, n, 0);

	if (!norm(r, n->rule->as, 3, in, true, out))
		return false;
	ox_key_int(r, ox_last(r, out), strcmp(n->rule->as, "GroupNormalization") == 0 ? "num_groups" : "axis", n->folded.axis);
	return true;
}

static bool
folded_unary(ox_run *r, const ox_node *n)
{
	const ox_t *in[1] = {ox_in(r, n, 0)};

	return norm(r, n->rule->as, 1, in, false, ox_out(r, n, 0));
}

/* Half of the channels times the sigmoid of the others. */
static bool
folded_glu(ox_run *r, const ox_node *n)
{
	const ox_t *in[1] = {ox_in(r, n, 0)};
	ox_t	   *out = ox_out(r, n, 0);
	int			axis;

	if (!ox_axis(r, n->folded.axis, in[0]->shape.rank, &axis))
		return false;
	out->shape = in[0]->shape;
	out->dtype = in[0]->dtype;
	out->shape.dim[axis] /= 2;
	return ox_emit(r, "aten::glu", 1, in, out, false);
}

/* in: x, weight [in, out], bias. */
static bool
folded_linear(ox_run *r, const ox_node *n)
{
	const ox_t *x = ox_in(r, n, 0);
	const ox_t *w = ox_in(r, n, 1);

	if (x->shape.rank < 2 || w->shape.rank != 2)
	{
		ox_t		product = {0};
		const ox_t *sum[2] = {&product, ox_in(r, n, 2)};
		ox_t	   *out = ox_out(r, n, 0);

		if (!ox_matmul(r, x, w, &product) || !ox_broadcast(r, 2, sum, &out->shape))
			return false;
		out->dtype = x->dtype;
		return ox_emit(r, "Add", 2, sum, out, false);
	}
	return ox_linear(r, x, w, ox_in(r, n, 2), ox_out(r, n, 0));
}

/* Slices swapped end for end along some axes. */
static bool
folded_roll(ox_run *r, const ox_node *n)
{
	const ox_t *in[1] = {ox_in(r, n, 0)};
	ox_t	   *out = ox_out(r, n, 0);

	if (!norm(r, "aten::roll", 1, in, true, out))
		return false;
	ox_key_ints(r, ox_last(r, out), "axes", n->folded.n, n->folded.v);
	return !r->failed;
}

const ox_rule ox_rules_norms[] =
{
	{"BatchNormalization", batch_norm, 3, 5, NULL}, {"InstanceNormalization", instance_norm, 3, 3, NULL},
	{"GroupNormalization", group_norm, 3, 3, NULL}, {"com.microsoft.GroupNorm", group_norm, 3, 3, "GroupNormalization"},
	{"LayerNormalization", layer_norm, 2, 3, NULL}, {"RMSNormalization", layer_norm, 2, 2, NULL},
	{"SimplifiedLayerNormalization", layer_norm, 2, 2, "RMSNormalization"},
	{"com.microsoft.SkipLayerNormalization", skip_norm, 3, 5, "LayerNormalization"},
	{"com.microsoft.SkipSimplifiedLayerNormalization", skip_norm, 3, 4, "RMSNormalization"},
	{"com.microsoft.EmbedLayerNormalization", embed_norm, 7, 9, "LayerNormalization"},
	{"LRN", plain_norm, 1, 1, NULL}, {"LpNormalization", plain_norm, 1, 1, NULL},
	{"MeanVarianceNormalization", plain_norm, 1, 1, NULL},
	{NULL, NULL, 0, 0, NULL}
};

const ox_rule ox_rules_fused[] =
{
	{"LayerNormalization", folded_norm, 1, 3, "LayerNormalization"}, {"RMSNormalization", folded_norm, 1, 3, "RMSNormalization"},
	{"GroupNormalization", folded_norm, 1, 3, "GroupNormalization"},
	{"Gelu", folded_unary, 1, 1, "Gelu"}, {"Silu", folded_unary, 1, 1, "Silu"}, {"HardSwish", folded_unary, 1, 1, "HardSwish"},
	{"HardSigmoid", folded_unary, 1, 1, "HardSigmoid"}, {"Mish", folded_unary, 1, 1, "Mish"},
	{"LogSigmoid", folded_unary, 1, 1, "LogSigmoid"},
	{"Rsqrt", folded_unary, 1, 1, "aten::rsqrt"}, {"ScaledDotProduct", ox_scaled_dot_product, 3, 4, "Attention"},
	{"LSTM", ox_recurrent, 4, -1, "LSTM"}, {"GRU", ox_recurrent, 4, -1, "GRU"}, {"RNN", ox_recurrent, 4, -1, "RNN"},
	{"Linear", folded_linear, 3, 3, "Gemm"}, {"Glu", folded_glu, 1, 1, "aten::glu"}, {"Roll", folded_roll, 1, 1, "aten::roll"},
	{"Chunk", ox_chunk, 1, 1, "Split"},
	{NULL, NULL, 0, 0, NULL}
};
