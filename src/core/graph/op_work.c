/*
 * op_work.c - operations and bytes of one operator, by the rules of its row in
 * the catalogue.  Knows no operator by name.
 */
#include "graph/op_work.h"

#include <math.h>
#include <string.h>

#include "graph/op_catalogue.h"
#include "graph/op_linalg.h"
#include "graph/op_operands.h"
#include "graph/op_update.h"
#include "graph/recurrent.h"

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
			return want * pm_node_parts(p) * (p->batch_dim >= 0 ? (double) batch : 1);
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
	pm_operand	out = pm_output_operand(n);

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
			/* a product of complex numbers is four of real ones */
			return f * pm_node_parts(n) * pm_node_count(n, batch) * pm_inner_dim(n, o, batch);
		case PM_FLOPS_RNN:
			return 2 * pm_rnn_tokens(n, batch) * pm_rnn_matrices(g, n, f);
		case PM_FLOPS_BILINEAR:
			return f * pm_node_count(n, batch) * (pm_bilinear_width(g, n, false) + 1) * pm_bilinear_width(g, n, true);
		case PM_FLOPS_BAG:
			return f * pm_bag_rows(g, n, batch) * pm_dim_at(&out, -1, 1);
		case PM_FLOPS_ATTENTION:
			/* half of it are scores, as wide as queries are */
			return f * pm_node_count(n, batch) * pm_attention_seen(g, n, batch) * (1 + pm_attention_widths(g, n)) / 2;
		case PM_FLOPS_LARGEST:
		case PM_FLOPS_ROWS:
		case PM_FLOPS_SPARSE:
		case PM_FLOPS_CUBES:
		case PM_FLOPS_SOLVE:
			return pm_linalg_flops(g, n, row, batch);
	}
	return 0;
}

/* Bytes of an element of the output, and of a parameter or constant that the operator reads. */
typedef struct widths
{
	double		out;
	double		stored;
} widths;

static double
width(bool wide, pm_dtype dtype)
{
	if (dtype == PM_FP32 || dtype == PM_TF32)
		return 4;
	return dtype == PM_AMP && wide ? 4 : 2;
}

static widths
widths_of(const pm_node *n, const pm_op_row *row, pm_dtype dtype)
{
	return (widths) {.out = width(n->flow.wide, dtype), .stored = width(row->cast != PM_CAST_HALF || n->attrs.complex, dtype)};
}

/* Whether mixed precision casts input k in a kernel of its own before the operator runs. */
static bool
is_cast(const pm_graph *g, const pm_node *n, const pm_op_row *row, int k)
{
	bool		wide = g->nodes[n->inputs[k]].flow.wide;

	if (g->nodes[n->inputs[k]].attrs.complex)
		return false;
	switch ((pm_cast) row->cast)
	{
		case PM_CAST_HALF:
			return wide;
		case PM_CAST_FLOAT:
			return !wide;
		case PM_CAST_PROMOTE:
			return n->flow.wide && !wide;
		default:
			return false;
	}
}

/* Bytes an element of input k as the operator reads it. */
static double
read_width(const pm_graph *g, const pm_node *n, const pm_op_row *row, int k, pm_dtype dtype)
{
	return width(g->nodes[n->inputs[k]].flow.wide != is_cast(g, n, row, k), dtype);
}

/* Elements of input k; 0 for one that repeats an earlier one. */
static double
input_count(const pm_graph *g, const pm_node *n, int k, int64_t batch)
{
	return repeats(g, n, k) ? 0 : touched_count(g, n, &g->nodes[n->inputs[k]], batch);
}

static double
stored_count(const pm_node *n)
{
	double		count = 0;

	for (int i = 0; i < n->n_weights; i++)
		count += pm_shape_count(&n->weights[i]);
	for (int i = 0; i < n->n_consts; i++)
		count += pm_shape_count(&n->consts[i]);
	return count;
}

/* Fill in_elems, out_elems, weight_elems and params; returns the bytes of all inputs as they are read. */
static double
count_elements(const pm_graph *g, const pm_node *n, const pm_op_row *row, const pm_operands *o, int64_t batch, pm_dtype dtype,
			   pm_work *w)
{
	double		bytes = 0;

	for (int k = 0; k < n->n_inputs; k++)
	{
		double		count = input_count(g, n, k, batch);

		bytes += count * read_width(g, n, row, k, dtype);
		if (weight_input(g, n, row, o, k))
			w->weight_elems += count;
		else
			w->in_elems += count;
	}
	for (int i = 0; i < n->n_weights; i++)
	{
		double		count = pm_shape_count(&n->weights[i]);

		w->weight_elems += count;
		if (pm_node_owns(n, i) && !n->attrs.frozen)
			w->params += count;
	}
	for (int i = 0; i < n->n_consts; i++)
		w->weight_elems += pm_shape_count(&n->consts[i]);
	w->out_elems = pm_node_count_all(n, batch);
	return bytes;
}

/* in: bytes of the inputs. w: with forward_flops(). */
static double
forward_bytes(const pm_graph *g, const pm_node *n, const pm_op_row *row, const pm_work *w, int64_t batch, double in, const widths *e)
{
	pm_operand		out = pm_output_operand(n);
	double		columns = pm_dim_at(&out, -1, 1);
	double		all = in + e->stored * stored_count(n) + e->out * w->out_elems;

	switch ((pm_byte_rule) row->bytes)
	{
		case PM_BYTES_NONE:
			return 0;
		case PM_BYTES_IO:
			/* a convolution's bias is added to its output by a kernel of its own, a matrix product's on the way */
			return all + (row->class == PM_CLASS_CONV && n->n_weights > 1 ? 2 * e->out * w->out_elems : 0);
		case PM_BYTES_WRITE:
			return e->out * w->out_elems;
		case PM_BYTES_NORM:
			return all + in;
		case PM_BYTES_INDEX:
			return all + 8 * w->out_elems;
		case PM_BYTES_MASK:
			return all + w->out_elems;
		case PM_BYTES_GATHER:
			return e->out * 2 * w->out_elems + (columns > 0 ? 8 * w->out_elems / columns : 0);
		case PM_BYTES_BAG:
			return e->out * (w->flops_forward + w->out_elems) + 8 * pm_bag_rows(g, n, batch);
		case PM_BYTES_SPARSE:
			return (e->stored + 16) * pm_sparse_count(g, n, batch) + e->out * (w->flops_forward / 2 + w->out_elems);
		case PM_BYTES_DISTANCE:
			return all + 6 * (in + e->stored * stored_count(n)) + 4 * e->out * w->out_elems;
		case PM_BYTES_BILINEAR:
			return all + 2 * e->out * w->out_elems * pm_bilinear_width(g, n, true);
		case PM_BYTES_RNN:
			return all + e->out * pm_rnn_tokens(n, batch) * row->factor * pm_rnn_hidden(n) * pm_rnn_directions(n) *
				(double) n->attrs.num_layers;
		case PM_BYTES_FACTORS:
			return all + e->out * pm_linalg_factored(g, n, batch);
		case PM_BYTES_AFFINE:
			return all + 2 * e->out * pm_affine_base(g, n, batch);
	}
	return 0;
}

/* ---------- backward ---------- */

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
	return (input_grad(g, n) ? 1 : 0) + (pm_node_trains(n) ? 1 : 0);
}

/* Launches that each read `read` bytes and write `written`, with one operation for each of `count` elements. */
static void
add_launches(pm_work *w, double launches, double read, double written, double count)
{
	w->bytes_backward += launches * (read + written);
	w->flops_backward += launches * count;
	w->kernels_backward += launches;
}

/*
 * A recurrent layer, which is two products a matrix: the gradient of what it is multiplied with, and its own.  The gradient runs
 * back through the positions and layers whether the input needs one or not; without, only the product with the
 * first layer's matrices of the input drops out.  bytes: of one product in all matrices; in: of the inputs.
 */
static void
recurrent_back(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch, double bytes, double in, const widths *e,
			   pm_work *w)
{
	bool		data = n->n_inputs > 0 && g->nodes[n->inputs[0]].grad;
	double		first = data ? 0 : pm_rnn_input_matrices(g, n, row->factor);
	double		times = pm_node_trains(n) ? 2 : 1;

	w->flops_backward += times * w->flops_forward - 2 * pm_rnn_tokens(n, batch) * first;
	w->bytes_backward += times * bytes - (data ? 0 : in + e->stored * first);
	w->kernels_backward += row->kernels_back + times * w->kernels_forward;
}

/*
 * Fused attention does not keep its scores: the backward pass computes them again.  That makes five products of the size of
 * the two of the forward pass (Dao et al. 2022, algorithm 4), which is 1.25 times as much as two passes.
 */
#define ATTENTION_BACK 1.25

static void
product_back(const pm_graph *g, const pm_node *n, const pm_op_row *row, const pm_operands *o, double bytes, const widths *e,
			 pm_work *w)
{
	double		times = gradients(g, n, row, o);
	int			own = o->kernel.weight ? 1 : 0;

	w->flops_backward += times * w->flops_forward * (row->flops == PM_FLOPS_ATTENTION ? ATTENTION_BACK : 1);
	w->bytes_backward += times * bytes;
	w->kernels_backward += row->kernels_back + times * row->kernels;
	if (pm_is_product(row) && pm_node_trains(n) && n->n_weights > own)
		add_launches(w, 1, e->out * w->out_elems, 0, w->out_elems);
}

/*
 * Distances: their quotient, a mask of zeros and its use read and write the output 6 times, then each operand's sum and product
 * read it twice; an operand is read or written 7 times.  Both have a gradient, needed or not.  in: bytes of both operands.
 */
static void
distance_back(const pm_op_row *row, double in, const widths *e, pm_work *w)
{
	w->flops_backward += 2 * w->flops_forward + 5 * w->out_elems;
	w->bytes_backward += 7 * in + (10 * e->out + 2) * w->out_elems;
	w->kernels_backward += row->kernels_back;
}

/* For each operand with a gradient, one for each pair is written and summed; for the second, distances are transposed.  in: of both. */
static void
pairs_back(const pm_op_row *row, const pm_operands *o, double pairs, double in, const widths *e, pm_work *w)
{
	for (int k = 0; k < 2; k++)
		if ((k == 0 ? o->data : o->kernel).grad)
		{
			w->flops_backward += 5 * pairs;
			w->bytes_backward += 1.5 * in + e->out * (2 * pairs + (2 + 4 * k) * w->out_elems);
			w->kernels_backward += row->kernels_back + 2 * k;
		}
}

/* For each operand that needs a gradient, what the forward pass takes. */
static void
again_back(const pm_graph *g, const pm_node *n, pm_work *w)
{
	double		times = pm_node_trains(n) ? 1 : 0;

	for (int k = 0; k < n->n_inputs; k++)
		times += g->nodes[n->inputs[k]].grad ? 1 : 0;
	w->flops_backward += times * w->flops_forward;
	w->bytes_backward += times * w->bytes_forward;
	w->kernels_backward += times * w->kernels_forward;
}

static void
linalg_back(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch, const widths *e, pm_work *w)
{
	pm_linalg_work back = pm_linalg_back(g, n, row, batch, e->out, w->bytes_forward);

	w->flops_backward += back.flops;
	w->bytes_backward += back.bytes;
	w->kernels_backward += back.kernels;
}

/* An operand of an elementwise operator: what its gradient takes. */
typedef struct factor
{
	double		count;			/* elements */
	double		bytes;			/* to read it */
	double		e;				/* bytes of an element of its gradient */
	bool		grad;
} factor;

#define MAX_OPERANDS	8		/* that are looked at one by one */

static int
elementwise_operands(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch, pm_dtype dtype, const widths *e,
					 factor *v)
{
	int			count = 0;

	for (int k = 0; k < n->n_inputs && count < MAX_OPERANDS; k++)
	{
		const pm_node *p = &g->nodes[n->inputs[k]];
		double		elements = touched_count(g, n, p, batch);

		v[count++] = (factor) {elements, elements * read_width(g, n, row, k, dtype), width(p->flow.wide, dtype), p->grad};
	}
	for (int i = 0; i < n->n_weights && count < MAX_OPERANDS; i++)
		v[count++] = (factor) {pm_shape_count(&n->weights[i]), pm_shape_count(&n->weights[i]) * e->stored, e->stored, !n->attrs.frozen};
	for (int i = 0; i < n->n_consts && count < MAX_OPERANDS; i++)
		v[count++] = (factor) {pm_shape_count(&n->consts[i]), pm_shape_count(&n->consts[i]) * e->stored, e->stored, false};
	return count;
}

/* The gradient of a broadcast operand is a sum. */
static void
sum_back(const factor *v, const widths *e, pm_work *w)
{
	if (v->count < w->out_elems)
		add_launches(w, 1, e->out * w->out_elems, v->count * v->e, w->out_elems);
}

/* Operators of several operands: PM_BACK_PASS, PM_BACK_MUL, PM_BACK_DIV. */
static void
elementwise_back(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch, pm_dtype dtype, const widths *e,
				 pm_work *w)
{
	factor		v[MAX_OPERANDS];
	int			count = elementwise_operands(g, n, row, batch, dtype, e, v);
	double		all = 0;
	double		out = e->out * w->out_elems;
	bool		elementwise = row->class == PM_CLASS_ELEMENTWISE;

	for (int i = 0; i < count; i++)
		all += v[i].bytes;
	for (int i = 0; i < count; i++)
	{
		if (!v[i].grad)
			continue;
		if (row->back == PM_BACK_MUL || (row->back == PM_BACK_DIV && i == 0))
			add_launches(w, row->back == PM_BACK_MUL ? row->kernels_back : 1, out + (count > 1 ? all - v[i].bytes : 0), out, w->out_elems);
		else if (row->back == PM_BACK_DIV)
			add_launches(w, 4, 2 * out, out, w->out_elems);
		else if (i > 0)
			add_launches(w, row->kernels_back, out, out, w->out_elems); /* of a difference, the gradient with its sign changed */
		if (elementwise)
			sum_back(&v[i], e, w);
	}
	/* a parameter that is concatenated was broadcast to all samples first */
	if (row->lay == PM_LAY_CONCAT && pm_node_trains(n) && n->batch_dim >= 0)
		for (int i = 0; i < n->n_weights; i++)
			add_launches(w, 1, e->out * (double) batch * pm_shape_count(&n->weights[i]),
						 e->stored * pm_shape_count(&n->weights[i]), pm_shape_count(&n->weights[i]));
}

/* Everything else, by its passes over the tensors: `in` of the inputs, `out` of the outputs, bytes. */
static void
passes_back(const pm_node *n, const pm_op_row *row, double in, const widths *e, pm_work *w)
{
	double		out = e->out * w->out_elems;
	double		launches = row->kernels_back;
	double		rows;

	switch ((pm_back_rule) row->back)
	{
		case PM_BACK_GRAD:
			add_launches(w, launches, out, out, w->out_elems);
			break;
		case PM_BACK_SAVED:
			add_launches(w, launches, out + in, in, fmax(w->flops_forward, w->in_elems));
			break;
		case PM_BACK_STAT:
			add_launches(w, launches, 5 * fmax(in, out) / launches, 0, 1.5 * w->flops_forward / launches);
			break;
		case PM_BACK_ABN:
			add_launches(w, launches, 7 * out / launches, 0, 2 * w->flops_forward / launches);
			break;
		case PM_BACK_SPREAD:
			add_launches(w, launches, out, in, w->in_elems);
			break;
		case PM_BACK_INDEX:
			add_launches(w, launches, out + 8 * w->out_elems, in, w->out_elems);
			break;
		case PM_BACK_MASK:
			add_launches(w, launches, out + w->out_elems, out, w->out_elems);
			break;
		case PM_BACK_MOVE:
			add_launches(w, launches, out / launches, in / launches, 0);
			break;
		case PM_BACK_ZEROS:
			add_launches(w, launches, (out + in) / launches, out / launches, 0);
			break;
		case PM_BACK_TABLE:
			rows = row->flops == PM_FLOPS_BAG ? w->flops_forward : w->out_elems;
			/* a sparse gradient of rows is that of the output; rows that were added up have that of their sum each */
			if (pm_node_sparse(n))
			{
				if (row->flops == PM_FLOPS_BAG)
					add_launches(w, 1, e->out * rows, e->out * rows, 0);
				break;
			}
			add_launches(w, launches, (out + 2 * e->out * rows) / launches, 0, rows);
			/* the gradient of a table is as large as the table, however few rows were read */
			w->bytes_backward += n->n_weights > 0 ? e->stored * stored_count(n) : in;
			break;
		default:
			break;
	}
}

/* The gradient of a weight that another node owns is added to that node's. */
static void
add_to_owner(double count, const widths *e, pm_work *w)
{
	add_launches(w, 1, 2 * e->stored * count, e->stored * count, count);
}

/* in: bytes of the inputs. */
static void
backward(const pm_graph *g, const pm_node *n, const pm_op_row *row, const pm_operands *o, int64_t batch, pm_dtype dtype,
		 double in, const widths *e, pm_work *w)
{
	double		all;

	for (int k = 0; k < n->n_weights && !n->attrs.frozen && row->back != PM_BACK_NONE; k++)
		if (!pm_node_owns(n, k) && !pm_node_sparse(n))
			add_to_owner(pm_shape_count(&n->weights[k]), e, w);
	switch ((pm_back_rule) row->back)
	{
		case PM_BACK_NONE:
			return;
		case PM_BACK_PRODUCTS:
			/* each product reads two of the three tensors and writes the third */
			all = in + e->stored * stored_count(n) + e->out * w->out_elems;
			if (row->flops == PM_FLOPS_RNN)
				recurrent_back(g, n, row, batch, all, in, e, w);
			else
				product_back(g, n, row, o, all, e, w);
			return;
		case PM_BACK_DISTANCE:
			distance_back(row, in + e->stored * stored_count(n), e, w);
			return;
		case PM_BACK_PAIRS:
			pairs_back(row, o, w->out_elems * pm_inner_dim(n, o, batch), in + e->stored * stored_count(n), e, w);
			return;
		case PM_BACK_AGAIN:
			again_back(g, n, w);
			return;
		case PM_BACK_VECTORS:
		case PM_BACK_INVERSE:
		case PM_BACK_CHOLESKY:
		case PM_BACK_SOLVE:
		case PM_BACK_DET:
			linalg_back(g, n, row, batch, e, w);
			return;
		case PM_BACK_PASS:
		case PM_BACK_MUL:
		case PM_BACK_DIV:
			elementwise_back(g, n, row, batch, dtype, e, w);
			return;
		default:
			if (n->n_inputs == 0 || row->back == PM_BACK_STAT)
				in = e->out * w->out_elems;
			passes_back(n, row, in, e, w);
	}
}

/* ---------- casts ---------- */

/* Autocast's copies in another width, 6 bytes an element each: of operands forward, of their gradients backward. */
static void
add_casts(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch, pm_work *w)
{
	for (int k = 0; k < n->n_inputs; k++)
	{
		const pm_node *p = &g->nodes[n->inputs[k]];
		bool		cast = is_cast(g, n, row, k);
		/* an operator that widens while it reads leaves a gradient wider than its operand */
		bool		back = n->grad && p->grad && (cast || (row->cast == PM_CAST_WIDEST && n->flow.wide && !p->flow.wide));
		double		count = cast || back ? input_count(g, n, k, batch) : 0;

		if (cast)
		{
			w->bytes_forward += 6 * count;
			w->kernels_forward += 1;
		}
		if (back)
		{
			w->bytes_backward += 6 * count;
			w->kernels_backward += 1;
		}
	}
	if (row->cast != PM_CAST_HALF || n->attrs.complex)
		return;
	w->bytes_forward += 6 * stored_count(n);
	w->kernels_forward += n->n_weights + n->n_consts;
	if (n->grad && pm_node_trains(n))
	{
		for (int i = 0; i < n->n_weights; i++)
			w->bytes_backward += 6 * pm_shape_count(&n->weights[i]);
		w->kernels_backward += n->n_weights;
	}
}

/* Launches forward: a recurrent node steps through its sequence, a convolution adds its bias apart. */
static double
forward_kernels(const pm_node *n, const pm_op_row *row)
{
	pm_operand	out = pm_output_operand(n);

	if (row->flops == PM_FLOPS_RNN)
		return pm_rnn_steps(n) * pm_rnn_directions(n) * (double) n->attrs.num_layers;
	if (row->flops == PM_FLOPS_BILINEAR)
		return row->kernels * pm_dim_at(&out, -1, 1);
	/* samples folded into the channels: an InstanceNorm, which does not count batches as a BatchNorm does */
	if (row->class == PM_CLASS_NORM && n->batch_dim == 1 && row->kernels > 1 && row->lay == PM_LAY_FORMAT)
		return row->kernels - 1;
	return row->kernels + (row->class == PM_CLASS_CONV && n->n_weights > 1 ? 1 : 0);
}

/* What the node's place in the graph adds: flow.h. */
static void
add_flow(const pm_node *n, int64_t batch, pm_layout layout, double e, pm_work *w)
{
	const pm_extra *copied = &n->flow.copied[layout];
	const pm_extra *across = &n->flow.across[layout];
	const pm_extra *merged = &n->flow.merged[layout];

	w->bytes_forward += e * (copied->fixed + copied->each * (double) batch);
	w->kernels_forward += copied->launches;
	w->bytes_across = e * (across->fixed + across->each * (double) batch);
	w->bytes_backward += e * (merged->fixed + merged->each * (double) batch);
	w->kernels_backward += merged->launches;
}

/* Whether it is a product that matrix units take: mixed precision leaves some in 4 bytes. */
static bool
on_matrix_units(const pm_node *n, const pm_op_row *row, pm_dtype dtype)
{
	bool		product = row->back == PM_BACK_PRODUCTS || row->back == PM_BACK_DISTANCE || row->flops == PM_FLOPS_BILINEAR;

	return product && (dtype == PM_AMP ? row->cast == PM_CAST_HALF && !n->attrs.complex : dtype != PM_FP32);
}

void
pm_node_work(const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_layout layout, pm_optimizer opt, pm_work *w)
{
	const pm_node *n = &g->nodes[i];
	const pm_op_row *row = pm_op_row_of(n->op);
	pm_operands	o = {{NULL, -1, -1, false, false}, {NULL, -1, -1, false, false}};
	widths		e = widths_of(n, row, dtype);
	pm_update_cost each = pm_node_sparse(n) ? pm_sparse_update_cost_of(dtype, opt) : pm_update_cost_of(dtype, opt);
	double		updated;
	double		in;

	memset(w, 0, sizeof(*w));
	if (n->view || row->class == PM_CLASS_OTHER)
		return;
	if (pm_is_product(row))
		o = pm_product_operands(g, n, row);
	in = count_elements(g, n, row, &o, batch, dtype, w);
	w->flops_forward = forward_flops(g, n, row, &o, batch);
	w->bytes_forward = forward_bytes(g, n, row, w, batch, in, &e);
	w->kernels_forward = forward_kernels(n, row);
	w->tensor_core = on_matrix_units(n, row, dtype) && pm_conv_kind_of(n, row, &o) != PM_CONV_DEPTHWISE;
	if (n->grad)
		backward(g, n, row, &o, batch, dtype, in, &e, w);
	if (dtype == PM_AMP)
		add_casts(g, n, row, batch, w);
	add_flow(n, batch, layout, e.out, w);
	updated = pm_node_sparse(n) ? pm_looked_up(g, n, batch) : w->params;
	w->flops_update = each.flops * updated;
	w->bytes_update = each.bytes * updated;
}

/* ---------- inference ---------- */

/* Whether a node takes the statistics of the batch when it trains, and only then: BatchNormalization and its kin. */
static bool
has_batch_statistics(const pm_node *n, const pm_op_row *row)
{
	return row->bytes == PM_BYTES_NORM && row->lay == PM_LAY_FORMAT && (row->back == PM_BACK_STAT || row->back == PM_BACK_ABN) &&
		row->kernels > 1 && n->batch_dim != 1;
}

void
pm_node_work_in(pm_mode mode, const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_work *w)
{
	const pm_node *n = &g->nodes[i];
	const pm_op_row *row = pm_op_row_of(n->op);

	if (mode == PM_TRAIN)
		return;
	w->flops_backward = w->flops_update = w->bytes_backward = w->bytes_update = w->kernels_backward = 0;
	if (mode != PM_INFERENCE || w->kernels_forward <= 0)
		return;
	if (row->bytes == PM_BYTES_MASK)
		w->flops_forward = w->bytes_forward = w->kernels_forward = 0;
	else if (has_batch_statistics(n, row))
	{
		for (int k = 0; k < n->n_inputs; k++)
			w->bytes_forward -= input_count(g, n, k, batch) * read_width(g, n, row, k, dtype);
		w->kernels_forward -= 1;
	}
}
