/*
 * rules_layers.c - recurrent layers and attention.
 */
#include "import/onnx/rules_layers.h"

#include <string.h>

#include "import/onnx/attributes.h"
#include "import/onnx/emit.h"
#include "import/onnx/operands.h"
#include "import/onnx/rules.h"
#include "import/onnx/rules_products.h"
#include "import/onnx/shapes.h"
#include "import/onnx/views.h"

/* ---------- recurrent layers ---------- */

/* Y [steps, directions, batch, hidden], Y_h, Y_c: read from one node. */
static bool
recurrent_outputs(ox_run *r, const ox_node *n, const ox_t *made, int64_t steps, int64_t dirs, int64_t batch, int64_t hidden)
{
	/* the node's output is [steps, batch, dirs * hidden]; seen as ONNX wants it */
	pm_shape	split = {.rank = 4, .dim = {steps, batch, dirs, hidden}};
	static const int perm[4] = {0, 2, 1, 3};
	ox_t		wide;

	if (n->n_out > 0 && n->out[0] >= 0 &&
		!(ox_reshape(r, made, &split, &wide) && ox_permute(r, &wide, perm, &r->values[n->out[0]])))
		return false;
	for (int k = 1; k < n->n_out && k < 3; k++)
	{
		ox_t		last;
		pm_shape	state = {.rank = 4, .dim = {1, batch, dirs, hidden}};
		pm_shape	flat = {.rank = 3, .dim = {dirs, batch, hidden}};
		static const int front[4] = {2, 1, 0, 3};
		ox_t		a,
					b;

		if (n->out[k] < 0 || r->m->values[n->out[k]].uses == 0)
		{
			if (n->out[k] >= 0)
			{
				r->values[n->out[k]] = *made;
				r->values[n->out[k]].shape = flat;
				ox_contiguous(&r->values[n->out[k]]);
			}
			continue;
		}
		if (steps < 1 || !ox_narrow(r, made, 0, steps - 1, 1, 1, &last) || !ox_reshape(r, &last, &state, &a) ||
			!ox_permute(r, &a, front, &b) || !ox_reshape(r, &b, &flat, &r->values[n->out[k]]))
			return r->failed ? false : ox_error(r, "its sequence is empty");
	}
	return true;
}

/*
 * Weights in the manner of PyTorch: of each layer and direction the input and
 * the recurrent matrix, then two biases.
 */
static bool
recurrent_weights(ox_run *r, const ox_node *n, ox_op *op, int layers, int64_t gates)
{
	op->weights = PM_NEW(r->m->arena, pm_shape, (size_t) layers * 8);
	if (op->weights == NULL)
		return ox_no_memory(r);
	op->n_weights = 0;
	for (int l = 0; l < layers; l++)
	{
		const ox_t *w = ox_in(r, n, 3 * l + 1);
		const ox_t *bias = ox_in(r, n, 3 * l + 3);
		int64_t		hidden = ox_in(r, n, 3 * l + 2)->shape.dim[2];

		for (int64_t d = 0; d < w->shape.dim[0]; d++)
		{
			op->weights[op->n_weights++] = ox_shape(2, (int64_t[]){gates * hidden, w->shape.dim[2]});
			op->weights[op->n_weights++] = ox_shape(2, (int64_t[]){gates * hidden, hidden});
			for (int i = 0; bias != NULL && i < 2; i++)
				op->weights[op->n_weights++] = ox_shape(1, (int64_t[]){gates * hidden});
		}
	}
	return true;
}

/* Every layer fits the one below. */
static bool
check_layers(ox_run *r, const ox_node *n, int layers, int64_t gates)
{
	const ox_t *x = ox_in(r, n, 0);
	int64_t		width;

	if (x->shape.rank != 3)
		return ox_error(r, "its data must have three dimensions");
	if (ox_attr_int(n, "layout", 0) != 0)
		return ox_error(r, "layout 1 is not supported");
	width = x->shape.dim[2];
	for (int l = 0; l < layers; l++)
	{
		const ox_t *w = ox_in(r, n, 3 * l + 1);
		const ox_t *rec = ox_in(r, n, 3 * l + 2);
		int64_t		hidden;

		if (w == NULL || rec == NULL || w->shape.rank != 3 || rec->shape.rank != 3 || w->shape.dim[0] < 1 ||
			w->shape.dim[0] > 2 || w->shape.dim[0] != ox_in(r, n, 1)->shape.dim[0])
			return ox_error(r, "its weights must have three dimensions, of which the first is 1 or 2");
		hidden = rec->shape.dim[2];
		if (hidden > PM_MAX_DIM / 8 || w->shape.dim[2] != width || w->shape.dim[1] != gates * hidden)
			return ox_error(r, "its weights do not fit data of width %lld", (long long) width);
		width = w->shape.dim[0] * hidden;
	}
	return true;
}

bool
ox_recurrent(ox_run *r, const ox_node *n)
{
	int			layers = n->folded.n > 0 ? n->folded.n : 1;
	int			count = 3 * layers + 1;
	int64_t		gates = strcmp(n->op, "LSTM") == 0 ? 4 : strcmp(n->op, "GRU") == 0 ? 3 : 1;
	const ox_t **in = PM_NEW(r->m->arena, const ox_t *, (size_t) count);
	const ox_t *x = ox_in(r, n, 0);
	ox_t		out = {0};
	ox_t		turned,
				turned_back;
	ox_op	   *op;
	int64_t		dirs,
				hidden,
				steps,
				batch;
	static const int swap[3] = {1, 0, 2};
	bool		batch_first;

	if (in == NULL)
		return ox_no_memory(r);
	if (!check_layers(r, n, layers, gates))
		return false;
	for (int k = 0; k < count; k++)
		in[k] = ox_in(r, n, k);
	dirs = in[1]->shape.dim[0];
	hidden = in[count - 2]->shape.dim[2];
	steps = x->shape.dim[0];
	batch = x->shape.dim[1];
	/* data whose memory has the batch outside came from a layer with batch_first */
	batch_first = x->stride[0] < x->stride[1];
	if (batch_first)
	{
		if (!ox_permute(r, x, swap, &turned))
			return false;
		in[0] = &turned;
	}
	out.shape = ox_shape(3, (int64_t[]){batch_first ? batch : steps, batch_first ? steps : batch, dirs * hidden});
	out.dtype = x->dtype;
	if (!ox_emit(r, n->op, count, in, &out, false))
		return false;
	op = ox_last(r, &out);
	if (op != NULL && in[1]->origin == OX_WEIGHT && !recurrent_weights(r, n, op, layers, gates))
		return false;
	ox_key_int(r, op, "hidden_size", hidden);
	ox_key_int(r, op, "num_layers", layers);
	ox_key_text(r, op, "direction", dirs == 2 ? "bidirectional" : "forward");
	if (batch_first)
	{
		/* made step by step: the steps lie outside in memory */
		out.stride[0] = out.shape.dim[2];
		out.stride[1] = out.shape.dim[0] * out.shape.dim[2];
		if (!ox_permute(r, &out, swap, &turned_back))
			return false;
		out = turned_back;
	}
	return recurrent_outputs(r, n, &out, steps, dirs, batch, hidden);
}

/* ---------- attention ---------- */

/* Fused scaled dot-product attention over q, k, v that are [batch, heads, length, width]. */
static bool
attend(ox_run *r, const ox_t *q, const ox_t *k, const ox_t *v, const ox_t *mask, bool causal, ox_t *out)
{
	const ox_t *in[4] = {q, k, v, mask};

	out->shape = q->shape;
	out->shape.dim[q->shape.rank - 1] = v->shape.dim[v->shape.rank - 1];
	out->dtype = q->dtype;
	if (!ox_emit(r, "Attention", 4, in, out, false))
		return false;
	if (causal)
		ox_key_int(r, ox_last(r, out), "is_causal", 1);
	return true;
}

/* Folded: queries, transposed keys, values, mask. */
bool
ox_scaled_dot_product(ox_run *r, const ox_node *n)
{
	const ox_t *q = ox_in(r, n, 0);
	const ox_t *k = ox_in(r, n, 1);
	const ox_t *v = ox_in(r, n, 2);
	int			perm[PM_MAX_RANK];
	int			rank = q->shape.rank;
	ox_t		keys;

	if (rank < 3 || k->shape.rank != rank || v->shape.rank != rank || k->shape.dim[rank - 2] != q->shape.dim[rank - 1] ||
		k->shape.dim[rank - 1] != v->shape.dim[rank - 2])
		return ox_error(r, "its queries, keys and values do not fit each other");
	for (int i = 0; i < rank; i++)
		perm[i] = i;
	perm[rank - 1] = rank - 2;
	perm[rank - 2] = rank - 1;
	return ox_permute(r, k, perm, &keys) && attend(r, q, &keys, v, ox_in(r, n, 3), false, ox_out(r, n, 0));
}

static bool
split_heads(ox_run *r, const ox_t *in, int64_t heads, ox_t *out)
{
	pm_shape	split;
	static const int perm[4] = {0, 2, 1, 3};
	ox_t		wide;

	if (in->shape.rank == 4)
	{
		ox_alias(in, out);
		return true;
	}
	if (in->shape.rank != 3 || heads < 1 || in->shape.dim[2] % heads != 0)
		return ox_error(r, "%lld heads do not divide its data", (long long) heads);
	split = ox_shape(4, (int64_t[]){in->shape.dim[0], in->shape.dim[1], heads, in->shape.dim[2] / heads});
	return ox_reshape(r, in, &split, &wide) && ox_permute(r, &wide, perm, out);
}

static bool
join_heads(ox_run *r, const ox_t *in, ox_t *out)
{
	static const int perm[4] = {0, 2, 1, 3};
	pm_shape	flat;
	ox_t		moved;

	flat = ox_shape(3, (int64_t[]){in->shape.dim[0], in->shape.dim[2], in->shape.dim[1] * in->shape.dim[3]});
	return ox_permute(r, in, perm, &moved) && ox_reshape(r, &moved, &flat, out);
}

/* The standard says is_causal, com.microsoft unidirectional; grouped queries are always causal. */
static bool
is_causal(const ox_node *n)
{
	return ox_attr_int(n, "is_causal", 0) != 0 || ox_attr_int(n, "unidirectional", 0) != 0 || strcmp(n->op, "GroupQueryAttention") == 0;
}

/* com.microsoft.Attention: x, weights [in, 3 out], bias, mask. */
static bool
contrib_attention(ox_run *r, const ox_node *n)
{
	const ox_t *x = ox_in(r, n, 0);
	const ox_t *w = ox_in(r, n, 1);
	const ox_t *bias = ox_in(r, n, 2);
	int64_t		heads = ox_attr_int(n, "num_heads", 0);
	ox_t		qkv = {0},
				part[3],
				head[3],
				out = {0};

	if (x->shape.rank != 3 || w->shape.rank != 2 || w->shape.dim[1] % 3 != 0)
		return ox_error(r, "its data must have three dimensions and its weight two");
	if (bias != NULL ? !ox_linear(r, x, w, bias, &qkv) : !ox_matmul(r, x, w, &qkv))
		return false;
	for (int i = 0; i < 3; i++)
		if (!ox_narrow(r, &qkv, 2, i * (w->shape.dim[1] / 3), 1, w->shape.dim[1] / 3, &part[i]) ||
			!split_heads(r, &part[i], heads, &head[i]))
			return false;
	return attend(r, &head[0], &head[1], &head[2], NULL, is_causal(n), &out) && join_heads(r, &out, ox_out(r, n, 0));
}

/* MultiHeadAttention, GroupQueryAttention and the standard's Attention: q, k, v apart. */
static bool
query_attention(ox_run *r, const ox_node *n)
{
	const ox_t *in[3] = {ox_in(r, n, 0), ox_in(r, n, 1), ox_in(r, n, 2)};
	int64_t		heads = ox_attr_int(n, "num_heads", ox_attr_int(n, "q_num_heads", 0));
	int64_t		kv_heads = ox_attr_int(n, "kv_num_heads", heads);
	ox_t		head[3],
				out = {0};

	if (in[1] == NULL || in[2] == NULL)
		return ox_error(r, "packed queries, keys and values are not supported");
	for (int i = 0; i < 3; i++)
		if (!split_heads(r, in[i], i == 0 ? heads : kv_heads, &head[i]))
			return false;
	if (head[0].shape.dim[3] != head[1].shape.dim[3])
		return ox_error(r, "queries have width %lld and keys %lld", (long long) head[0].shape.dim[3],
						(long long) head[1].shape.dim[3]);
	if (!attend(r, &head[0], &head[1], &head[2], NULL, is_causal(n), &out))
		return false;
	if (in[0]->shape.rank == 3)
		return join_heads(r, &out, ox_out(r, n, 0));
	ox_alias(&out, ox_out(r, n, 0));
	return true;
}

const ox_rule ox_rules_layers[] =
{
	{"LSTM", ox_recurrent, 3, 8, NULL}, {"GRU", ox_recurrent, 3, 6, NULL},
	{"RNN", ox_recurrent, 3, 6, NULL}, {"com.microsoft.Attention", contrib_attention, 2, 7, NULL},
	{"com.microsoft.MultiHeadAttention", query_attention, 3, 8, "Attention"},
	{"com.microsoft.GroupQueryAttention", query_attention, 3, 11, "Attention"},
	{"Attention", query_attention, 3, 6, NULL},
	{NULL, NULL, 0, 0, NULL}
};
