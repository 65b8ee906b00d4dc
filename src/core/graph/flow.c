/*
 * flow.c - strides, element widths and sums of gradients in a whole graph.
 *
 * The layout belongs to each tensor and not to the step: ConvNeXt permutes its
 * tensors so that nearly all of its convolutions run channels-last although
 * nobody asked for it, and a channel shuffle makes contiguous tensors in the
 * middle of a channels-last network.  So strides are carried along as PyTorch
 * carries them: views permute, cut and merge them (TensorImpl, computeStride in
 * ATen/TensorUtils.cpp), elementwise operators keep the order of their inputs
 * (ATen/TensorIterator.cpp), the others have the rules of their row (pm_lay).
 *
 * The backward pass is done in the same way from the end: gradients have strides,
 * too.  Autograd adds the gradients of a tensor with several readers
 * (torch/csrc/autograd/input_buffer.cpp), reverses views that cut
 * (derivatives.yaml: slice, select, split, unbind, expand), and copies a gradient
 * that cannot be viewed in the shape of its tensor.  A view is no operator of the
 * dag, so its work counts for the node whose tensor it looks at.
 *
 * All is done for both layouts of a question.  Strides are those of batch 2: at
 * batch 1, the stride of the batch dimension says nothing.
 */
#include "graph/flow.h"
#include "graph/op_catalogue.h"
#include "graph/op_operands.h"

#include <string.h>

#define STRIDE_BATCH 2

/*
 * How many more passes the time of an elementwise kernel corresponds to for an
 * operand whose memory order differs from the output's (a transposed tensor in a
 * sum, its copy): neighbouring threads read from different cache lines.  Chosen by
 * the errors of networks on an RTX 3090 (docs/accuracy.md).
 */
#define ACROSS		6

/* Sizes at batch 2, and strides; double, since sizes can multiply beyond 2^63. */
typedef struct strided
{
	int			rank;
	double		size[PM_MAX_RANK];
	double		stride[PM_MAX_RANK];
} strided;

/* ---------- strides ---------- */

static void
set_sizes(strided *t, const pm_shape *shape, int batch_dim)
{
	t->rank = shape->rank;
	for (int d = 0; d < t->rank; d++)
		t->size[d] = (double) shape->dim[d] * (d == batch_dim ? STRIDE_BATCH : 1);
}

static void
lay_plain(strided *t)
{
	double		step = 1;

	for (int d = t->rank - 1; d >= 0; d--)
	{
		t->stride[d] = step;
		step *= t->size[d] > 1 ? t->size[d] : 1;
	}
}

static void
lay_channels_last(strided *t)
{
	static const int order[] = {1, 3, 2, 0};
	double		step = 1;

	for (int i = 0; i < 4; i++)
	{
		t->stride[order[i]] = step;
		step *= t->size[order[i]] > 1 ? t->size[order[i]] : 1;
	}
}

/* Whether t is dense and its dimensions lie in this order, the innermost first; those of size 1 do not count. */
static bool
lies_in_order(const strided *t, const int *order)
{
	double		step = 1;

	for (int i = 0; i < t->rank; i++)
	{
		int			d = order != NULL ? order[i] : t->rank - 1 - i;

		if (t->size[d] != 1 && t->stride[d] != step)
			return false;
		step *= t->size[d];
	}
	return true;
}

static bool
is_plain(const strided *t)
{
	return lies_in_order(t, NULL);
}

/* c10::is_channels_last_strides_2d: what a tensor asks of an operator that has both. */
static bool
suggests_channels_last(const strided *t)
{
	static const int order[] = {1, 3, 2, 0};
	double		least = 0;

	if (t->rank != 4 || t->stride[1] == 0)
		return false;
	for (int i = 0; i < 4; i++)
	{
		int			d = order[i];

		if (t->size[d] == 0 || t->stride[d] < least)
			return false;
		if (d == 0 && least == t->stride[1])
			return false;		/* (N, 1, 1, 1) and (N, 1, H, 1) are both: contiguous */
		least = t->stride[d] * (t->size[d] > 1 ? t->size[d] : 1);
	}
	return true;
}

/* Whether t can be read as it is by an operator that wants one of the two formats. */
static bool
has_format(const strided *t, bool channels_last)
{
	static const int order[] = {1, 3, 2, 0};

	return channels_last ? lies_in_order(t, order) : is_plain(t);
}

static void
lay_format(strided *t, bool channels_last)
{
	if (channels_last && t->rank == 4)
		lay_channels_last(t);
	else
		lay_plain(t);
}

/* Dense, in the order of `like`, which has the same rank. */
static void
lay_like(strided *t, const strided *like)
{
	int			order[PM_MAX_RANK];
	double		step = 1;

	for (int i = 0; i < t->rank; i++)
	{
		int			k = i;

		/* the widest stride first; equal ones stay as they are */
		for (; k > 0 && like->stride[order[k - 1]] < like->stride[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	for (int i = t->rank - 1; i >= 0; i--)
	{
		t->stride[order[i]] = step;
		step *= t->size[order[i]] > 1 ? t->size[order[i]] : 1;
	}
}

/* at::detail::computeStride: t, of which only the sizes are known, as a view of `from`. False: there is none. */
static bool
lay_reshaped(strided *t, const strided *from)
{
	int			v = t->rank - 1;
	double		have = 1;
	double		seen = 1;
	double		base = from->rank > 0 ? from->stride[from->rank - 1] : 1;

	for (int d = from->rank - 1; d >= 0; d--)
	{
		have *= from->size[d];
		if (d > 0 && (from->size[d - 1] == 1 || from->stride[d - 1] == have * base))
			continue;
		for (; v >= 0 && (seen < have || t->size[v] == 1); v--)
		{
			t->stride[v] = seen * base;
			seen *= t->size[v];
		}
		if (seen != have)
			return false;
		if (d > 0)
			base = from->stride[d - 1];
		have = seen = 1;
	}
	for (; v >= 0 && t->size[v] == 1; v--)
		t->stride[v] = 1;
	return v < 0;
}

static double
strided_count(const strided *t)
{
	double		count = 1;

	for (int d = 0; d < t->rank; d++)
		count *= t->size[d];
	return count;
}

static bool
same_sizes(const strided *a, const strided *b)
{
	return a->rank == b->rank && memcmp(a->size, b->size, a->rank * sizeof(double)) == 0;
}

/* ---------- the state of a pass ---------- */

typedef struct pass
{
	pm_graph   *g;
	strided    *lies;			/* [n_nodes] output of each node */
	strided    *grad;			/* [n_nodes] its gradient; rank -1: none has come yet */
	int32_t    *base;			/* [n_nodes] node whose tensor a view looks at; others: themselves */
	int			layout;			/* that is asked for */
} pass;

/* How an operator lays its output; an operator that moves is a view only when the node says so. */
static pm_lay
lay_of(const pm_node *n)
{
	pm_lay		lay = (pm_lay) pm_op_row_of(n->op)->lay;

	if (lay >= PM_LAY_RESHAPE && !n->view)
		return PM_LAY_PLAIN;
	return lay < PM_LAY_RESHAPE && n->view ? PM_LAY_RESHAPE : lay;
}

/* Add work on `count` elements of n's output, of which there are some a sample unless they do not follow the batch. */
static void
add_extra(pm_extra *e, double count, bool follows_batch, int launches)
{
	if (follows_batch)
		e->each += count;
	else
		e->fixed += count;
	e->launches += launches;
}

static void
add_forward(pass *p, int node, const pm_node *what, double passes)
{
	add_extra(&p->g->nodes[node].flow.copied[p->layout], passes * pm_node_count(what, 1), what->batch_dim >= 0, 1);
}

static void
add_backward(pass *p, int node, const pm_node *what, double passes, int launches)
{
	add_extra(&p->g->nodes[node].flow.merged[p->layout], passes * pm_node_count(what, 1), what->batch_dim >= 0, launches);
}

static void
add_across(pass *p, int node, const pm_node *what, double passes)
{
	add_extra(&p->g->nodes[node].flow.across[p->layout], passes * pm_node_count(what, 1), what->batch_dim >= 0, 0);
}

/* ---------- forward ---------- */

/* The dimension along which t lies side by side; -1: it has a single element. */
static int
innermost(const strided *t)
{
	int			best = -1;

	for (int d = 0; d < t->rank; d++)
		if (t->size[d] > 1 && t->stride[d] > 0 && (best < 0 || t->stride[d] < t->stride[best]))
			best = d;
	return best;
}

/* Additional passes for reading `from`, if the output t has the same sizes and another memory order. */
static double
read_across(const strided *from, const strided *t)
{
	return innermost(from) != innermost(t) ? ACROSS : 0;
}

/* Whether the gradient of an input is that of the output itself, or a part of it, and not a new tensor. */
static bool
passes_gradient(const pm_node *n)
{
	return pm_op_row_of(n->op)->back == PM_BACK_PASS;
}

/* Operator i goes along the memory of its output t; an operand of the same sizes may lie across it. */
static void
read_operands(pass *p, int i, const strided *t)
{
	const pm_node *n = &p->g->nodes[i];
	double		passes = 0;

	for (int k = 0; k < n->n_inputs; k++)
		if (same_sizes(&p->lies[n->inputs[k]], t))
			passes += read_across(&p->lies[n->inputs[k]], t);
	add_across(p, i, n, passes);
}

/* The first input that is as large as the output, else the first; -1: none. */
static int
full_input(const pass *p, const pm_node *n, const strided *out)
{
	for (int k = 0; k < n->n_inputs; k++)
		if (same_sizes(&p->lies[n->inputs[k]], out))
			return k;
	return n->n_inputs > 0 ? 0 : -1;
}

/* Sizes and strides of a view of `from`; what cannot be a view is a copy, which lies plainly. */
static bool
lay_view(pm_lay lay, const pm_node *n, const strided *from, strided *t)
{
	int			dropped = -1;
	int			lead = t->rank - from->rank;

	switch (lay)
	{
		case PM_LAY_TRANSPOSE:
			if (n->attrs.n_perm != t->rank || from->rank != t->rank)
				break;
			for (int d = 0; d < t->rank; d++)
				t->stride[d] = from->stride[n->attrs.perm[d]];
			return true;
		case PM_LAY_EXPAND:
			if (lead < 0)
				break;
			for (int d = 0; d < t->rank; d++)
				t->stride[d] = d < lead || from->size[d - lead] != t->size[d] ? 0 : from->stride[d - lead];
			return true;
		case PM_LAY_SLICE:
		case PM_LAY_SPLIT:
			if (from->rank == t->rank + 1 && n->attrs.axis != INT64_MIN)
				dropped = (int) (n->attrs.axis < 0 ? n->attrs.axis + from->rank : n->attrs.axis);
			if (from->rank != t->rank && dropped < 0)
				break;
			for (int d = 0; d < t->rank; d++)
				t->stride[d] = from->stride[dropped >= 0 && d >= dropped ? d + 1 : d];
			return true;
		default:
			if (strided_count(t) != strided_count(from))
				break;
			if (lay_reshaped(t, from))
				return true;
			lay_plain(t);
			return false;
	}
	lay_plain(t);
	return true;
}

/* Whether all inputs of n of rank 4 ask for channels-last. */
static bool
all_suggest(const pass *p, const pm_node *n)
{
	for (int k = 0; k < n->n_inputs; k++)
		if (!suggests_channels_last(&p->lies[n->inputs[k]]))
			return false;
	return n->n_inputs > 0;
}

/* An operator that wants its input k in a format copies one that has it not; k < 0: it has no such input. */
static void
want_format(pass *p, int i, int k, bool channels_last)
{
	const pm_node *n = &p->g->nodes[i];

	if (k >= 0 && k < n->n_inputs && !has_format(&p->lies[n->inputs[k]], channels_last && p->lies[n->inputs[k]].rank == 4))
		add_forward(p, i, &p->g->nodes[n->inputs[k]], 2);
}

/*
 * Whether convolution i runs channels-last: its data or its kernel lies so.  A
 * parameter lies as the network was asked to; a kernel that was computed, as in weight
 * standardisation, lies as the operator left it, mostly plainly.  Operands are copied where they lie otherwise.
 */
static bool
lay_convolution(pass *p, int i)
{
	const pm_node *n = &p->g->nodes[i];
	pm_operands	o = pm_conv_operands(p->g, n);
	bool		last = p->layout == PM_NHWC;

	if (n->shape.rank != 4)
		last = false;
	else
	{
		if (o.kernel.input >= 0)
			last = suggests_channels_last(&p->lies[n->inputs[o.kernel.input]]);
		if (o.data.input >= 0)
			last = last || suggests_channels_last(&p->lies[n->inputs[o.data.input]]);
	}
	want_format(p, i, o.data.input, last);
	want_format(p, i, o.kernel.input, last);
	return last;
}

/*
 * Lay the output of operator i.  True: it runs on channels-last tensors, and
 * that matters; an elementwise operator goes along the memory whatever it holds.
 */
static bool
lay_operator(pass *p, int i, strided *t)
{
	const pm_node *n = &p->g->nodes[i];
	int			k = full_input(p, n, t);
	const strided *in = k >= 0 ? &p->lies[n->inputs[k]] : NULL;
	pm_lay		lay = lay_of(n);
	bool		last = in != NULL && suggests_channels_last(in) && !is_plain(in);

	switch (lay)
	{
		case PM_LAY_LIKE:
			if (in != NULL && same_sizes(in, t))
				lay_like(t, in);
			else
				lay_plain(t);
			read_operands(p, i, t);
			return false;
		case PM_LAY_CONV:
			last = lay_convolution(p, i);
			lay_format(t, last);
			return last;
		case PM_LAY_FORMAT:
			last = n->n_inputs > 0 && suggests_channels_last(&p->lies[n->inputs[0]]);
			want_format(p, i, 0, last);
			lay_format(t, last);
			return last && t->rank == 4;
		case PM_LAY_CONCAT:
			lay_format(t, all_suggest(p, n));
			return last;
		case PM_LAY_PLAIN_COPY:
			want_format(p, i, 0, false);
			/* FALLTHROUGH */
		default:
			lay_plain(t);
			if (passes_gradient(n))
				read_operands(p, i, t); /* a copy */
			return last;
	}
}

static void
lay_node(pass *p, int i)
{
	pm_node    *n = &p->g->nodes[i];
	strided    *t = &p->lies[i];

	p->base[i] = i;
	set_sizes(t, &n->shape, n->batch_dim);
	if (n->view && n->n_inputs > 0)
	{
		p->base[i] = p->base[n->inputs[0]];
		if (!lay_view(lay_of(n), n, &p->lies[n->inputs[0]], t))
		{
			strided		plain = p->lies[n->inputs[0]];

			lay_plain(&plain);
			add_forward(p, p->base[i], n, 2);
			add_across(p, p->base[i], n, read_across(&p->lies[n->inputs[0]], &plain));
		}
		n->flow.runs[p->layout] = PM_NCHW;
	}
	else if (n->n_inputs == 0 && t->rank == 4 && p->layout == PM_NHWC)
		lay_channels_last(t);
	else
		n->flow.runs[p->layout] = lay_operator(p, i, t) ? PM_NHWC : PM_NCHW;
}

/* ---------- backward ---------- */

/* Whether a gradient comes back through node i: not through a view that nobody reads, unless it is the end. */
static bool
hands_back(const pm_graph *g, int i, int readers)
{
	return g->nodes[i].grad && (readers > 0 || !g->nodes[i].view || i == g->n_nodes - 1);
}

/* How many gradients reach each node: one for each time it is read by what hands one back. */
static void
count_readers(const pm_graph *g, int32_t *readers)
{
	for (int i = g->n_nodes - 1; i >= 0; i--)
		for (int k = 0; hands_back(g, i, readers[i]) && k < g->nodes[i].n_inputs; k++)
			readers[g->nodes[i].inputs[k]] += g->nodes[g->nodes[i].inputs[k]].grad;
}

/* The gradient of a view, in the sizes of what it looks at: strides into t, work to the base. k > 0: what was written into input 0. */
static void
reverse_view(pass *p, int i, int k, strided *t)
{
	const pm_node *n = &p->g->nodes[i];
	const pm_node *from = &p->g->nodes[n->inputs[k]];
	int			base = p->base[i];
	pm_lay		lay = lay_of(n);
	bool		smaller = pm_node_count(from, 1) < pm_node_count(n, 1);

	lay_plain(t);
	if (n->attrs.complex != from->attrs.complex)
		return;					/* pairs of numbers seen as complex ones, or the other way round */
	if (k > 0)
	{
		add_backward(p, base, n, 2, 1);	/* the whole copied ... */
		add_backward(p, base, from, 5, 3);	/* ... and the part of it, where it is cleared */
	}
	else if (lay == PM_LAY_TRANSPOSE && n->attrs.n_perm == t->rank && p->grad[i].rank == t->rank)
	{
		for (int d = 0; d < t->rank; d++)
			t->stride[n->attrs.perm[d]] = p->grad[i].stride[d];
	}
	else if (lay == PM_LAY_SPLIT)
		add_backward(p, base, from, 2, 1);	/* one concatenation */
	else if (lay == PM_LAY_SLICE)
	{
		add_backward(p, base, from, 1, 1);	/* zeros ... */
		add_backward(p, base, n, 2, 1); /* ... and the part copied into them */
	}
	else if (smaller)
	{
		add_backward(p, base, n, 1, 1); /* one sum over what was broadcast */
		add_backward(p, base, from, 1, 0);
	}
	else if (!lay_reshaped(t, &p->grad[i]))
	{
		lay_plain(t);
		add_backward(p, base, n, 2, 1);
	}
}

/* The gradient that operator i hands to its input k: strides into t. */
static void
reverse_operator(const pass *p, int i, int k, strided *t)
{
	const pm_node *n = &p->g->nodes[i];
	const strided *grad = &p->grad[i];
	pm_lay		lay = lay_of(n);

	lay_plain(t);
	if (passes_gradient(n) && same_sizes(t, grad))
		memcpy(t->stride, grad->stride, sizeof(t->stride));
	else if (passes_gradient(n) && lay == PM_LAY_CONCAT && t->rank == grad->rank)
		memcpy(t->stride, grad->stride, sizeof(t->stride));	/* a part of it, no copy */
	else if (lay == PM_LAY_LIKE && same_sizes(t, grad))
		lay_like(t, grad);
	else if ((lay == PM_LAY_CONV || lay == PM_LAY_FORMAT) && k == 0)
		lay_format(t, n->flow.runs[p->layout] == PM_NHWC);
}

/* Operators that ask for a format ask it of their gradient, too. */
static void
want_gradient(pass *p, int i)
{
	const pm_node *n = &p->g->nodes[i];
	pm_lay		lay = lay_of(n);
	bool		last = (lay == PM_LAY_CONV || lay == PM_LAY_FORMAT) && n->flow.runs[p->layout] == PM_NHWC;

	if (lay != PM_LAY_CONV && lay != PM_LAY_FORMAT && lay != PM_LAY_PLAIN_COPY)
		return;
	if (!has_format(&p->grad[i], last && p->grad[i].rank == 4))
		add_backward(p, i, n, 2, 1);
}

/* Gradients of several readers are added one by one; outputs of a Split are read apart. */
static void
merge_readers(pass *p, int i, int readers)
{
	const pm_node *n = &p->g->nodes[i];
	int			outputs = n->n_shapes > 1 ? n->n_shapes : 1;
	int			sums = readers - outputs;

	if (sums <= 0)
		return;
	add_backward(p, p->base[i], n, 3.0 * sums, sums);
	/* the engine adds into the first that came; a part of something is made whole by it */
	lay_like(&p->grad[i], &p->grad[i]);
}

static void
reverse_node(pass *p, int i, int readers)
{
	const pm_node *n = &p->g->nodes[i];

	if (!hands_back(p->g, i, readers))
		return;
	if (p->grad[i].rank < 0)
	{
		set_sizes(&p->grad[i], &n->shape, n->batch_dim);
		lay_plain(&p->grad[i]);
	}
	merge_readers(p, i, readers);
	if (!n->view)
		want_gradient(p, i);
	for (int k = 0; k < n->n_inputs; k++)
	{
		int			from = n->inputs[k];
		strided    *t = &p->grad[from];
		strided		other;
		bool		first = t->rank < 0;	/* of its readers the last runs first */

		if (!p->g->nodes[from].grad)
			continue;
		if (!first)
			t = &other;
		set_sizes(t, &p->g->nodes[from].shape, p->g->nodes[from].batch_dim);
		if (n->view)
			reverse_view(p, i, k, t);
		else
			reverse_operator(p, i, k, t);
	}
}

/* ---------- width under autocast ---------- */

/* Parameters and constants have 4 bytes; a scalar does not widen. */
static bool
stored_wide(const pm_node *n)
{
	for (int i = 0; i < n->n_weights; i++)
		if (n->weights[i].rank > 0)
			return true;
	for (int i = 0; i < n->n_consts; i++)
		if (n->consts[i].rank > 0)
			return true;
	return false;
}

/*
 * Whether n adds the bias of a Linear that runs as a product and an addition.  Autocast has cast all
 * operands of the Linear by then, the bias too.
 */
static bool
is_bias_of_product(const pm_graph *g, const pm_node *n)
{
	const pm_node *p = n;

	if (n->n_inputs != 1 || n->n_weights != 1 || n->n_consts > 0 || n->weights[0].rank != 1 ||
		pm_op_row_of(n->op)->back != PM_BACK_PASS)
		return false;
	do
		p = &g->nodes[p->inputs[0]];
	while (p->view && p->n_inputs == 1);
	return p->n_weights == 1 && pm_op_row_of(p->op)->flops == PM_FLOPS_GEMM;
}

static bool
is_wide(const pm_graph *g, const pm_node *n)
{
	pm_cast		cast = n->view ? PM_CAST_FIRST : (pm_cast) pm_op_row_of(n->op)->cast;

	if (n->attrs.complex)
		return true;			/* autocast leaves complex numbers alone */
	if (cast == PM_CAST_HALF)
		return false;
	if (cast == PM_CAST_FLOAT || cast == PM_CAST_FLOAT_FUSED || n->n_inputs == 0)
		return true;
	if (cast == PM_CAST_FIRST)
		return g->nodes[n->inputs[0]].flow.wide;
	for (int k = 0; k < n->n_inputs; k++)
		if (g->nodes[n->inputs[k]].flow.wide && g->nodes[n->inputs[k]].shape.rank > 0)
			return true;
	return stored_wide(n) && !is_bias_of_product(g, n);
}

pm_code
pm_flow_derive(pm_graph *g, pm_arena *scratch, pm_status *st)
{
	size_t		n = (size_t) g->n_nodes;
	int32_t    *readers = PM_NEW(scratch, int32_t, n);
	pass		p = {.g = g, .lies = PM_NEW(scratch, strided, n), .grad = PM_NEW(scratch, strided, n),
	.base = PM_NEW(scratch, int32_t, n)};

	if (!p.lies || !p.grad || !p.base || !readers)
		return pm_no_memory(st, scratch);
	count_readers(g, readers);
	for (int i = 0; i < g->n_nodes; i++)
	{
		memset(&g->nodes[i].flow, 0, sizeof(pm_flow));
		g->nodes[i].flow.wide = is_wide(g, &g->nodes[i]);
	}
	for (p.layout = 0; p.layout < PM_N_LAYOUTS; p.layout++)
	{
		for (int i = 0; i < g->n_nodes; i++)
		{
			lay_node(&p, i);
			p.grad[i].rank = -1;
		}
		for (int i = g->n_nodes - 1; i >= 0; i--)
			reverse_node(&p, i, readers[i]);
	}
	g->has_layout = false;
	for (int i = 0; i < g->n_nodes; i++)
		g->has_layout |= g->nodes[i].flow.runs[PM_NHWC] == PM_NHWC;
	return PM_OK;
}
