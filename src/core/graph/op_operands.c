/*
 * op_operands.c - which shapes take part in an operator, and the sizes of the
 * products that it is.
 */
#include "graph/op_operands.h"

#include <math.h>
#include <string.h>

pm_operand
pm_input_operand(const pm_graph *g, const pm_node *n, int k)
{
	const pm_node *p = &g->nodes[n->inputs[k]];
	pm_operand		t = {&p->shape, p->batch_dim, k, p->grad, false};

	return t;
}

/* The first shape of a list with a rank in [least, most], or none. */
static pm_operand
stored_tensor(int n, const pm_shape *shapes, int least, int most, bool grad)
{
	pm_operand		t = {NULL, -1, -1, grad, false};

	for (int i = 0; i < n && t.shape == NULL; i++)
		if (shapes[i].rank >= least && shapes[i].rank <= most)
			t.shape = &shapes[i];
	return t;
}

double
pm_dim_at(const pm_operand *t, int d, int64_t batch)
{
	if (t->shape == NULL)
		return 1;
	if (d < 0)
		d += t->shape->rank;
	if (d < 0 || d >= t->shape->rank)
		return 1;
	return (double) t->shape->dim[d] * (d == t->batch_dim ? (double) batch : 1);
}

double
pm_count_at(const pm_operand *t, int64_t batch)
{
	if (t->shape == NULL)
		return 0;
	return pm_shape_count(t->shape) * (t->batch_dim >= 0 ? (double) batch : 1);
}

/*
 * The first two inputs of a rank in [least, most]; n_found of them.  A bias
 * computed ahead of the data (rank 1) is passed over.
 */
static int
matrix_inputs(const pm_graph *g, const pm_node *n, int least, int most, pm_operand found[2])
{
	int			count = 0;

	for (int k = 0; k < n->n_inputs && count < 2; k++)
	{
		pm_operand		t = pm_input_operand(g, n, k);

		if (t.shape->rank >= least && t.shape->rank <= most)
			found[count++] = t;
	}
	return count;
}

/*
 * Which operand is the kernel and which the data, in the order of docs/graph_format.md: the
 * node's own weights; else a producer that does not follow the batch; else the
 * second input (a kernel made per sample, or a product of two activations);
 * else a constant.  least, most: ranks a kernel can have.
 */
static pm_operands
find_operands(const pm_graph *g, const pm_node *n, int least, int most)
{
	pm_operand		in[2];
	int			n_in = matrix_inputs(g, n, least, most, in);
	pm_operand		constant = stored_tensor(n->n_consts, n->consts, least, most, false);
	pm_operands	o;

	memset(&o, 0, sizeof(o));
	o.data.input = o.kernel.input = -1;
	o.kernel = stored_tensor(n->n_weights, n->weights, least, most, !n->attrs.frozen);
	if (o.kernel.shape != NULL)
	{
		bool		second = n_in == 2 && in[0].batch_dim < 0 && in[1].batch_dim >= 0;

		o.kernel.weight = true;
		o.data = n_in > 0 ? in[second ? 1 : 0] : constant;
		return o;
	}
	if (n_in == 2)
	{
		bool		first = in[0].batch_dim < 0 && in[1].batch_dim >= 0;

		o.kernel = in[first ? 0 : 1];
		o.data = in[first ? 1 : 0];
		return o;
	}
	o.kernel = constant;
	if (n_in > 0)
		o.data = in[0];
	else if (n->n_consts > 1)	/* a product of two constants */
		o.data = stored_tensor(n->n_consts - 1, n->consts + 1, least, most, false);
	return o;
}

pm_operands
pm_conv_operands(const pm_graph *g, const pm_node *n)
{
	return find_operands(g, n, n->shape.rank, n->shape.rank);
}

pm_operands
pm_gemm_operands(const pm_graph *g, const pm_node *n)
{
	return find_operands(g, n, 2, PM_MAX_RANK);
}

pm_operand
pm_output_operand(const pm_node *n)
{
	pm_operand		t = {&n->shape, n->batch_dim, -1, n->grad, false};

	return t;
}

/* ---------- products ---------- */

double
pm_kernel_depth(const pm_node *n, const pm_operands *o)
{
	double		depth = 1;

	if (o->kernel.shape == NULL)
	{
		/* no kernel in sight: the attributes know its window */
		for (int i = 0; i < n->attrs.spatial; i++)
			depth *= (double) n->attrs.kernel[i];
		return depth * pm_dim_at(&o->data, 1, 1) / (double) n->attrs.group;
	}
	for (int i = 1; i < o->kernel.shape->rank; i++)
		depth *= pm_dim_at(&o->kernel, i, 1);
	return depth;
}

/* Real numbers of an element of a kernel that the node stores. */
static double
stored_parts(const pm_node *n, const pm_operands *o)
{
	return o->kernel.input < 0 ? pm_node_parts(n) : 1;
}

/* Matrices of a stack whose leading dimensions are the output's; 0: they are not. */
static double
stack_in_order(const pm_node *n, const pm_shape *kernel)
{
	int			before = n->shape.rank - kernel->rank;
	double		count = 1;

	for (int i = 0; i < kernel->rank - 2; i++)
	{
		if (before < 0 || before + i == n->batch_dim || kernel->dim[i] != n->shape.dim[before + i])
			return 0;
		count *= (double) kernel->dim[i];
	}
	return count;
}

/*
 * Matrices of a stack that lies in another order, or is cut into more dimensions: einsum permutes and flattens, and the node
 * lists the parameter as it is stored.  A matrix has the sizes that the data and the output leave to it.
 */
static double
stack_by_size(const pm_node *n, const pm_operands *o)
{
	pm_operand		out = pm_output_operand(n);
	double		cols = pm_dim_at(&out, -1, 1);
	double		all = pm_shape_count(o->kernel.shape) / stored_parts(n, o);
	double		one[2] = {pm_dim_at(&o->data, -1, 1) * cols, pm_dim_at(&o->data, -2, 1) * pm_dim_at(&out, -2, 1)};
	int			sides = pm_dim_at(&o->data, -1, 1) == cols ? 2 : 1;	/* it may stand left of the data as well */
	double		products = 1;

	if (o->data.shape == NULL)
		return 1;
	for (int i = 0; i < n->shape.rank - 2; i++)
		products *= i == n->batch_dim ? 1 : (double) n->shape.dim[i];
	for (int k = 0; k < sides; k++)
		if (one[k] == all)
			return 1;
	for (int k = 0; k < sides; k++)
		if (one[k] > 0 && fmod(all, one[k]) == 0 && fmod(products, all / one[k]) == 0)
			return all / one[k];
	return 1;
}

double
pm_stacked(const pm_node *n, const pm_operands *o)
{
	double		count;

	if (o->kernel.shape == NULL || o->kernel.input >= 0 || o->kernel.shape->rank < 3)
		return 1;
	count = n->attrs.complex ? 0 : stack_in_order(n, o->kernel.shape);
	return count > 0 ? count : stack_by_size(n, o);
}

/*
 * The inner dimension K of a matrix product, at the given batch.  Both
 * operands may be stored transposed, and attributes do not always say so; the
 * shapes do: K is the dimension that the output does not have.
 */
double
pm_inner_dim(const pm_node *n, const pm_operands *o, int64_t batch)
{
	pm_operand		out = pm_output_operand(n);
	double		rows = pm_dim_at(&out, -2, 1);
	double		cols = pm_dim_at(&out, -1, 1);
	double		kernel = pm_count_at(&o->kernel, 1) / stored_parts(n, o) / pm_stacked(n, o);
	const pm_operand *left;

	if (o->kernel.shape != NULL && o->kernel.input < 0)
	{
		/* a stored matrix, right or left of the data */
		if (o->data.shape != NULL && pm_dim_at(&o->data, -1, 1) * cols == kernel)
			return pm_dim_at(&o->data, -1, batch);
		if (o->data.shape != NULL && pm_dim_at(&o->data, -1, 1) == cols && pm_dim_at(&o->data, -2, 1) * rows == kernel)
			return pm_dim_at(&o->data, -2, batch);
		return cols > 0 ? kernel / cols : 0;
	}
	left = o->kernel.input >= 0 && o->kernel.input < o->data.input ? &o->kernel : &o->data;
	if (left->shape == NULL)
		return 0;
	if (left->shape->rank >= 2 && pm_dim_at(left, -1, 1) == rows && pm_dim_at(left, -2, 1) != rows)
		return pm_dim_at(left, -2, batch);
	return pm_dim_at(left, -1, batch);
}

double
pm_bag_rows(const pm_graph *g, const pm_node *n, int64_t batch)
{
	int			k = n->n_weights + n->n_consts > 0 ? 0 : 1;	/* a table that another node makes is the first input */
	pm_operand	out = pm_output_operand(n);
	double		columns = pm_dim_at(&out, -1, 1);
	pm_operand	indices;

	if (k < n->n_inputs)
	{
		indices = pm_input_operand(g, n, k);
		return pm_count_at(&indices, batch);
	}
	return columns > 0 ? pm_count_at(&out, batch) / columns : 0;
}

double
pm_looked_up(const pm_graph *g, const pm_node *n, int64_t batch)
{
	pm_operand	out = pm_output_operand(n);

	return pm_op_row_of(n->op)->flops == PM_FLOPS_BAG ? pm_bag_rows(g, n, batch) * pm_dim_at(&out, -1, 1) : pm_count_at(&out, batch);
}

double
pm_bilinear_width(const pm_graph *g, const pm_node *n, bool second)
{
	pm_operand	in = {NULL, -1, -1, false, false};

	if (n->n_inputs > 0)
		in = pm_input_operand(g, n, second ? n->n_inputs - 1 : 0);
	return pm_dim_at(&in, -1, 1);
}

double
pm_attention_keys(const pm_graph *g, const pm_node *n, int64_t batch)
{
	pm_operand		keys = n->n_inputs > 1 ? pm_input_operand(g, n, 1) : pm_output_operand(n);

	return pm_dim_at(&keys, -2, batch);
}

double
pm_attention_seen(const pm_graph *g, const pm_node *n, int64_t batch)
{
	double		keys = pm_attention_keys(g, n, batch);
	double		most;
	pm_operand	out = pm_output_operand(n);
	double		queries = pm_dim_at(&out, -2, batch);
	double		window = n->attrs.window > 0 ? (double) n->attrs.window : INFINITY;

	/* as many on both sides; those at the ends have fewer */
	if (!n->attrs.is_causal || queries <= 0)
		return window >= 2 * keys - 1 ? keys : fmin(keys, window - (window * window - 1) / (4 * keys));
	/* query i of the first `most` sees i keys, and each further one so many */
	most = fmin(keys, window);
	return queries <= most ? (queries + 1) / 2 : most - most * (most - 1) / (2 * queries);
}

double
pm_attention_widths(const pm_graph *g, const pm_node *n)
{
	pm_operand		query = n->n_inputs > 2 ? pm_input_operand(g, n, 0) : pm_output_operand(n);
	pm_operand	out = pm_output_operand(n);

	return pm_dim_at(&query, -1, 1) / fmax(1, pm_dim_at(&out, -1, 1));
}

double
pm_window(const pm_node *n)
{
	double		count = 1;

	for (int i = 0; i < n->attrs.spatial; i++)
		count *= (double) n->attrs.kernel[i];
	return count;
}

bool
pm_is_product(const pm_op_row *row)
{
	return row->flops == PM_FLOPS_CONV || row->flops == PM_FLOPS_CONV_TRANSPOSE || row->flops == PM_FLOPS_GEMM;
}

pm_operands
pm_product_operands(const pm_graph *g, const pm_node *n, const pm_op_row *row)
{
	return row->flops == PM_FLOPS_GEMM ? pm_gemm_operands(g, n) : pm_conv_operands(g, n);
}

pm_conv_kind
pm_conv_kind_of(const pm_node *n, const pm_op_row *row, const pm_operands *o)
{
	double		depth = 1;

	if (row->class != PM_CLASS_CONV)
		return PM_CONV_NONE;
	if (row->flops == PM_FLOPS_CONV_TRANSPOSE)
		return PM_CONV_TRANSPOSE;
	for (int i = 2; i < n->shape.rank; i++)
		depth *= o->kernel.shape != NULL ? pm_dim_at(&o->kernel, i, 1) : 1;
	/* samples folded into the channels: a group for each sample */
	if (n->attrs.group > 1 || o->data.batch_dim == 1)
		return o->kernel.shape != NULL && pm_dim_at(&o->kernel, 1, 1) == 1 ? PM_CONV_DEPTHWISE : PM_CONV_GROUPED;
	return depth == 1 && pm_window(n) == 1 ? PM_CONV_1X1 : PM_CONV_KXK;
}
