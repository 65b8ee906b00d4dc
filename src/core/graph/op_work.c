/*
 * op_work.c - operations and bytes of one operator, by the rules of its row in
 * the catalogue.  Knows no operator by name.
 */
#include "graph/op_work.h"

#include <string.h>

#include "graph/op_catalogue.h"
#include "graph/op_operands.h"

/* ---------- recurrent networks ---------- */

static double
rnn_directions(const pm_node *n)
{
	return n->attrs.bidirectional ? 2 : 1;
}

/* Steps over all sequences: output elements over the width of one output. */
static double
rnn_tokens(const pm_node *n, int64_t batch)
{
	pm_operand		out = pm_output_operand(n);
	double		width = pm_dim_at(&out, -1, 1);

	return width > 0 ? pm_count_at(&out, batch) / width : 0;
}

static double
rnn_hidden(const pm_node *n)
{
	pm_operand		out = pm_output_operand(n);

	if (n->attrs.hidden_size > 0)
		return (double) n->attrs.hidden_size;
	return pm_dim_at(&out, -1, 1) / rnn_directions(n);
}

/* Elements of the matrices of all layers and directions; from the sizes when the node shows no weights. */
static double
rnn_matrices(const pm_graph *g, const pm_node *n, double gates)
{
	double		count = 0;
	double		h = rnn_hidden(n);
	double		dirs = rnn_directions(n);
	pm_operand		in = {NULL, -1, -1, false};

	for (int i = 0; i < n->n_weights; i++)
		if (n->weights[i].rank >= 2)
			count += pm_shape_count(&n->weights[i]);
	if (count > 0)
		return count;
	if (n->n_inputs > 0)
		in = pm_input_operand(g, n, 0);
	count = dirs * gates * h * (h + pm_dim_at(&in, -1, 1));
	return count + ((double) n->attrs.num_layers - 1) * dirs * gates * h * (h + dirs * h);
}

/* ---------- elements moved ---------- */

/*
 * Elements that node n touches of its producer p.  Of several outputs the one
 * with as many elements as n's own is taken, else their mean: readers name the
 * node as a whole.
 */
static double
touched_count(const pm_graph *g, const pm_node *n, const pm_node *p, int64_t batch)
{
	double		want = pm_shape_count(&n->shape);

	if (p->n_shapes <= 1)
		return pm_node_count(&g->nodes[p->memory], batch);
	for (int i = 0; i < p->n_shapes; i++)
		if (pm_shape_count(&p->shapes[i]) == want)
			return want * (p->batch_dim >= 0 ? (double) batch : 1);
	return pm_node_count_all(p, batch) / p->n_shapes;
}

/* Whether input k repeats an earlier one (x * x reads x once). Lists beyond a handful are not compared. */
static bool
repeats(const pm_graph *g, const pm_node *n, int k)
{
	if (n->n_inputs > 4 || g->nodes[n->inputs[k]].n_shapes > 1)
		return false;
	for (int j = 0; j < k; j++)
		if (n->inputs[j] == n->inputs[k])
			return true;
	return false;
}

/* Whether input k of a product counts as weight: a convolution's kernel, and all that does not follow the batch. */
static bool
weight_input(const pm_graph *g, const pm_node *n, const pm_op_row *row, const pm_operands *o, int k)
{
	if (!pm_is_product(row) || k == o->data.input)
		return false;
	if (row->flops != PM_FLOPS_GEMM && k == o->kernel.input)
		return true;
	return g->nodes[n->inputs[k]].batch_dim < 0;
}

/* Fill in_elems, out_elems, weight_elems and params. */
static void
count_elements(const pm_graph *g, const pm_node *n, const pm_op_row *row, const pm_operands *o, int64_t batch, pm_work *w)
{
	for (int k = 0; k < n->n_inputs; k++)
	{
		double		count = touched_count(g, n, &g->nodes[n->inputs[k]], batch);

		if (repeats(g, n, k))
			continue;
		if (weight_input(g, n, row, o, k))
			w->weight_elems += count;
		else
			w->in_elems += count;
	}
	for (int i = 0; i < n->n_weights; i++)
	{
		double		count = pm_shape_count(&n->weights[i]);

		w->weight_elems += count;
		if (i > 0 || n->attrs.tied < 0)
			w->params += count;
	}
	for (int i = 0; i < n->n_consts; i++)
		w->weight_elems += pm_shape_count(&n->consts[i]);
	w->out_elems = pm_node_count_all(n, batch);
}

/* ---------- work ---------- */

static double
first_input_count(const pm_graph *g, const pm_node *n, int64_t batch)
{
	const pm_node *p;

	if (n->n_inputs == 0)
		return n->n_weights > 0 ? pm_shape_count(&n->weights[0]) :
			n->n_consts > 0 ? pm_shape_count(&n->consts[0]) : 0;
	p = &g->nodes[n->inputs[0]];
	return p->n_shapes > 1 ? touched_count(g, n, p, batch) : pm_node_count(p, batch);
}

static double
forward_flops(const pm_graph *g, const pm_node *n, const pm_op_row *row, const pm_operands *o, int64_t batch)
{
	double		f = row->factor;

	switch ((pm_flop_rule) row->flops)
	{
		case PM_FLOPS_NONE:
			return 0;
		case PM_FLOPS_OUT:
			return f * pm_node_count_all(n, batch);
		case PM_FLOPS_IN:
			return f * first_input_count(g, n, batch);
		case PM_FLOPS_WINDOW:
			return f * pm_node_count(n, batch) * pm_window(n);
		case PM_FLOPS_CONV:
			return f * pm_node_count(n, batch) * pm_kernel_depth(n, o);
		case PM_FLOPS_CONV_TRANSPOSE:
			return f * pm_count_at(&o->data, batch) * pm_kernel_depth(n, o);
		case PM_FLOPS_GEMM:
			return f * pm_node_count(n, batch) * pm_inner_dim(n, o, batch);
		case PM_FLOPS_RNN:
			return 2 * rnn_tokens(n, batch) * rnn_matrices(g, n, f);
		case PM_FLOPS_ATTENTION:
			return f * pm_node_count(n, batch) * pm_attention_keys(g, n, batch);
	}
	return 0;
}

static double
element_bytes(const pm_op_row *row, pm_dtype dtype)
{
	if (dtype == PM_FP32 || dtype == PM_TF32)
		return 4;
	return dtype == PM_AMP && (row->traits & PM_OP_WIDE) != 0 ? 4 : 2;
}

static double
forward_bytes(const pm_node *n, const pm_op_row *row, const pm_work *w, int64_t batch, double e)
{
	pm_operand		out = pm_output_operand(n);
	double		width;

	switch ((pm_byte_rule) row->bytes)
	{
		case PM_BYTES_NONE:
			return 0;
		case PM_BYTES_IO:
			return e * (w->in_elems + w->weight_elems + w->out_elems);
		case PM_BYTES_WRITE:
			return e * w->out_elems;
		case PM_BYTES_NORM:
			return e * 3 * w->out_elems;
		case PM_BYTES_GATHER:
			width = pm_dim_at(&out, -1, 1);
			return e * 2 * w->out_elems + (width > 0 ? 8 * w->out_elems / width : 0);
		case PM_BYTES_RNN:
			return e * (w->in_elems + w->weight_elems + w->out_elems +
						rnn_tokens(n, batch) * row->factor * rnn_hidden(n) * rnn_directions(n) *
						(double) n->attrs.num_layers);
	}
	return 0;
}

static bool
input_grad(const pm_graph *g, const pm_node *n)
{
	for (int k = 0; k < n->n_inputs; k++)
		if (g->nodes[n->inputs[k]].grad)
			return true;
	return false;
}

/* Backward products: one for each factor that needs a gradient (the data, the kernel), 0 to 2. */
static double
gradients(const pm_graph *g, const pm_node *n, const pm_op_row *row, const pm_operands *o)
{
	if (pm_is_product(row))
		return (o->data.shape != NULL && o->data.grad ? 1 : 0) + (o->kernel.shape != NULL && o->kernel.grad ? 1 : 0);
	if (row->flops == PM_FLOPS_ATTENTION)
		return input_grad(g, n) ? 2 : 0;
	return (input_grad(g, n) ? 1 : 0) + (n->n_weights > 0 ? 1 : 0);
}

static void
backward(const pm_graph *g, const pm_node *n, const pm_op_row *row, const pm_operands *o, double e, pm_work *w)
{
	double		times;

	if (!n->grad || row->back == PM_BACK_NONE)
		return;
	if (row->back == PM_BACK_HALF)
	{
		w->flops_backward = 1.5 * w->flops_forward;
		w->bytes_backward = 1.5 * w->bytes_forward;
		/* the gradient of a table is as large as the table, however few rows were read */
		if (row->bytes == PM_BYTES_GATHER)
			for (int i = 0; i < n->n_weights; i++)
				w->bytes_backward += e * pm_shape_count(&n->weights[i]);
		w->kernels_backward = row->kernels_back;
		return;
	}
	times = gradients(g, n, row, o);
	w->flops_backward = times * w->flops_forward;
	w->bytes_backward = times * w->bytes_forward;
	if (!pm_is_product(row) || o->kernel.grad)
		w->bytes_backward += e * w->weight_elems;
	w->kernels_backward = row->kernels_back + times * w->kernels_forward;
}

/* Sequence length of a recurrent node: of rank-3 outputs the dimension that is neither batch nor width. */
static double
rnn_steps(const pm_node *n)
{
	pm_operand		out = pm_output_operand(n);

	return out.shape->rank < 3 ? pm_dim_at(&out, 0, 1) : pm_dim_at(&out, n->batch_dim == 0 ? 1 : 0, 1);
}

/*
 * Launches forward: a recurrent node steps through its sequence, a
 * convolution adds its bias apart, mixed precision casts each weight once.
 */
static double
forward_kernels(const pm_node *n, const pm_op_row *row, pm_dtype dtype)
{
	double		kernels = row->kernels;

	if (row->flops == PM_FLOPS_RNN)
		kernels = rnn_steps(n) * rnn_directions(n) * (double) n->attrs.num_layers;
	if (row->class == PM_CLASS_CONV && n->n_weights > 1)
		kernels += 1;
	if (dtype == PM_AMP && row->back == PM_BACK_PRODUCTS)
		kernels += n->n_weights;
	return kernels;
}

/* Optimizer work a parameter: operations and bytes, states in 4 bytes. */
static const struct update_cost
{
	double		flops;
	double		bytes;
}			update_costs[PM_N_OPTIMIZERS] =
{
	[PM_SGD] = {2, 12},
	[PM_SGD_MOMENTUM] = {4, 20},
	[PM_ADAM] = {12, 28},
	[PM_ADAMW] = {12, 28},
	[PM_OPT_OTHER] = {4, 20},
	[PM_OPT_NONE] = {0, 0},
};

/* Mixed precision keeps a 2-byte copy next to it; a model held in 2 bytes moves half. */
static void
update(pm_dtype dtype, pm_optimizer opt, pm_work *w)
{
	const struct update_cost *c = &update_costs[opt];
	double		bytes = c->bytes;

	if (opt == PM_OPT_NONE)
		return;
	if (dtype == PM_AMP)
		bytes += 2;
	else if (dtype == PM_BF16 || dtype == PM_FP16)
		bytes /= 2;
	w->flops_update = c->flops * w->params;
	w->bytes_update = bytes * w->params;
}

void
pm_node_work(const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_optimizer opt, pm_work *w)
{
	const pm_node *n = &g->nodes[i];
	const pm_op_row *row = pm_op_row_of(n->op);
	pm_operands	o = {{NULL, -1, -1, false}, {NULL, -1, -1, false}};
	double		e = element_bytes(row, dtype);

	memset(w, 0, sizeof(*w));
	if (n->view || row->class == PM_CLASS_OTHER)
		return;
	if (pm_is_product(row))
		o = pm_product_operands(g, n, row);
	count_elements(g, n, row, &o, batch, w);
	w->flops_forward = forward_flops(g, n, row, &o, batch);
	w->bytes_forward = forward_bytes(n, row, w, batch, e);
	w->kernels_forward = forward_kernels(n, row, dtype);
	w->tensor_core = row->back == PM_BACK_PRODUCTS && dtype != PM_FP32 && pm_conv_kind_of(n, row, &o) != PM_CONV_DEPTHWISE;
	backward(g, n, row, &o, e, w);
	update(dtype, opt, w);
}
