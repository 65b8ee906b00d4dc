/*
 * fold_products.c - patterns of products, rolls, chunks, pools and recurrent layers.
 */
#include "import/onnx/fold_patterns.h"

#include <math.h>
#include <string.h>

#include "import/onnx/attributes.h"
#include "import/onnx/elements.h"

#define MAX_PARTS	256			/* of a chunk() */
#define MAX_PACKING	9			/* nodes in a row between a parameter and its recurrent layer */

/* ---------- products ---------- */

/* A matrix that is a parameter, or one transposed. */
static bool
is_matrix(const ox_folder *f, int value)
{
	const ox_node *n = ox_producer(f, value);

	if (ox_is_op(n, "Transpose") && n->n_in == 1)
		value = n->in[0];
	return value >= 0 && f->m->values[value].is_init && f->m->values[value].shape.rank == 2;
}

/* MatMul with a parameter, then a bias: a linear layer. n: the Add. */
pm_code
ox_fold_linear(ox_folder *f, ox_node *n)
{
	int			bias;
	ox_node    *p = ox_either_input(f, n, "MatMul", &bias);
	int			in[3];

	if (p == NULL || !ox_single(f, p) || p->n_in != 2 || !is_matrix(f, p->in[1]) || bias < 0 ||
		!f->m->values[bias].is_init || f->m->values[bias].shape.rank != 1 || p->in[0] < 0)
		return PM_OK;
	in[0] = p->in[0];
	in[1] = p->in[1];
	in[2] = bias;
	ox_kill(f, p);
	return ox_become(f, n, "Linear", 3, in);
}

/*
 * What PyTorch 2 makes of scaled_dot_product_attention: queries and transposed
 * keys both scaled by a square root, which nobody writes by hand.
 */
static ox_node *
scaled(const ox_folder *f, const ox_node *product, int k)
{
	ox_node    *mul = ox_made_by(f, product, k, "Mul");

	if (mul == NULL || !ox_single(f, mul) || mul->n_in != 2)
		return NULL;
	return ox_is_op(ox_producer(f, mul->in[1]), "Sqrt") || !isnan(ox_number(f, mul->in[1])) ? mul : NULL;
}

/* n: the MatMul of the weights with the values. */
pm_code
ox_fold_attention(ox_folder *f, ox_node *n)
{
	ox_node    *soft = ox_made_by(f, n, 0, "Softmax");
	ox_node    *add,
			   *scores,
			   *q,
			   *k;
	int			in[4] = {-1, -1, -1, -1};

	if (soft == NULL || !ox_single(f, soft) || n->n_in != 2)
		return PM_OK;
	add = ox_made_by(f, soft, 0, "Add");
	scores = add != NULL ? ox_either_input(f, add, "MatMul", &in[3]) : ox_made_by(f, soft, 0, "MatMul");
	if (scores == NULL || !ox_single(f, scores) || (add != NULL && !ox_single(f, add)) ||
		(q = scaled(f, scores, 0)) == NULL || (k = scaled(f, scores, 1)) == NULL)
		return PM_OK;
	in[0] = q->in[0];
	in[1] = k->in[0];
	in[2] = n->in[1];
	ox_kill(f, q);
	ox_kill(f, k);
	ox_kill(f, scores);
	ox_kill(f, add);
	ox_kill(f, soft);
	return ox_become(f, n, "ScaledDotProduct", add != NULL ? 4 : 3, in);
}

/* ---------- rolls ---------- */

/* The one axis that a Slice cuts, -100 when it is not a plain one. */
static int
slice_axis(const ox_folder *f, const ox_node *n)
{
	int			count;
	const int64_t *axes = ox_attr_ints(n, "axes", &count);
	double		axis = n->n_in > 3 ? ox_number(f, n->in[3]) : NAN;

	if (count == 1)
		return axes[0] > -9 && axes[0] < 9 ? (int) axes[0] : -100;
	return axis > -9 && axis < 9 ? (int) axis : -100;
}

/* Two parts of one value in the other order. n: the Concat. */
pm_code
ox_fold_roll(ox_folder *f, ox_node *n)
{
	ox_node    *a = n->n_in == 2 ? ox_made_by(f, n, 0, "Slice") : NULL;
	ox_node    *b = n->n_in == 2 ? ox_made_by(f, n, 1, "Slice") : NULL;
	ox_node    *inner;
	int64_t		axis = ox_attr_int(n, "axis", 1);
	int			x;

	if (a == NULL || b == NULL || a == b || a->in[0] != b->in[0] || a->in[0] < 0 || !ox_single(f, a) || !ox_single(f, b) ||
		axis < -8 || axis > 8 || slice_axis(f, a) != axis || slice_axis(f, b) != axis)
		return PM_OK;
	/* the first part of the result is the end of the source */
	if (ox_number(f, b->n_in > 1 ? b->in[1] : -1) != 0 || ox_number(f, a->n_in > 1 ? a->in[1] : -1) == 0)
		return PM_OK;
	x = a->in[0];
	inner = ox_producer(f, x);
	n->folded.n = 1;
	n->folded.v[0] = axis;
	ox_kill(f, a);
	ox_kill(f, b);
	if (ox_is_op(inner, "Roll") && f->m->values[x].uses == 0 && !f->m->values[x].is_output && inner->folded.n < PM_MAX_RANK)
	{
		n->folded = inner->folded;
		n->folded.v[n->folded.n++] = axis;
		x = inner->in[0];
		ox_kill(f, inner);
	}
	return ox_become(f, n, "Roll", 1, &x);
}

/* ---------- chunks ---------- */

/* Whether a value is the size of x along an axis plus `more`, which a quotient rounds up. */
static bool
is_size(const ox_folder *f, const ox_node *quotient, int x, double axis, double more)
{
	int			rest;
	ox_node    *sum = ox_made_by(f, quotient, 0, "Add");
	ox_node    *size = sum != NULL ? ox_either_input(f, sum, "Gather", &rest) : NULL;
	ox_node    *shape = size != NULL ? ox_made_by(f, size, 0, "Shape") : NULL;

	return shape != NULL && shape->in[0] == x && size->n_in == 2 && ox_number(f, size->in[1]) == axis && ox_number(f, rest) == more;
}

/* Whether a value is `part` times a quotient. */
static bool
is_multiple(const ox_folder *f, int value, const ox_node *quotient, double part)
{
	const ox_node *product = ox_producer(f, value);
	int			factor;

	return ox_is_op(product, "Mul") && ox_either_input(f, product, "Div", &factor) == quotient && ox_number(f, factor) == part;
}

/*
 * torch.onnx writes each part of a chunk() as a Slice from k - 1 to k times a quotient, which is that of the size and the number
 * of parts; nothing that a program slices itself looks like that.  k of Slice n, and the quotient; 0: it is no such Slice.
 */
static int
chunk_part(const ox_folder *f, const ox_node *n, ox_node **quotient)
{
	ox_node    *end = n->n_in == 4 && n->in[0] >= 0 && n->n_out == 1 && n->out[0] >= 0 ? ox_made_by(f, n, 2, "Mul") : NULL;
	int			factor = -1;
	double		part;
	double		parts;

	*quotient = end != NULL ? ox_either_input(f, end, "Div", &factor) : NULL;
	if (*quotient == NULL || (*quotient)->n_in != 2 || f->m->values[n->in[0]].is_init)
		return 0;
	part = ox_number(f, factor);
	parts = ox_number(f, (*quotient)->in[1]);
	if (!(part >= 1 && part <= parts && parts <= MAX_PARTS) || part != floor(part) || slice_axis(f, n) == -100 ||
		!is_size(f, *quotient, n->in[0], slice_axis(f, n), parts - 1))
		return 0;
	if (part == 1 ? ox_number(f, n->in[1]) != 0 : !is_multiple(f, n->in[1], *quotient, part - 1))
		return 0;
	return (int) part;
}

/* The Slice of the next part: it starts where n ends. */
static ox_node *
next_part(const ox_folder *f, const ox_node *n, int part, const ox_node *quotient)
{
	int			from = f->reader_at[n->in[2]];

	for (int i = from; i < f->reader_at[n->in[2] + 1] && i < from + OX_MAX_CHAIN; i++)
	{
		ox_node    *next = &f->m->nodes[f->reader[i]];
		ox_node    *its;

		if (!next->dead && ox_is_op(next, "Slice") && next->in[0] == n->in[0] && chunk_part(f, next, &its) == part + 1 &&
			its == quotient && slice_axis(f, next) == slice_axis(f, n))
			return next;
	}
	return NULL;
}

/* All parts of one chunk(); some may not be used. n: the first of its Slices. */
pm_code
ox_fold_chunk(ox_folder *f, ox_node *n)
{
	ox_node    *quotient;
	int			part = chunk_part(f, n, &quotient);
	int			parts = part == 0 ? 0 : (int) ox_number(f, quotient->in[1]);
	int		   *out = part == 0 ? NULL : PM_NEW_PACKED(f->m->arena, int, (size_t) parts);
	int			x = n->in[0];
	ox_node    *last = n;
	ox_node    *next;

	if (part == 0)
		return PM_OK;
	if (out == NULL)
		return pm_no_memory(f->m->st, f->m->arena);
	for (int k = 0; k < parts; k++)
		out[k] = -1;
	out[part - 1] = n->out[0];
	for (; part < parts && (next = next_part(f, last, part, quotient)) != NULL; last = next)
	{
		out[part++] = next->out[0];
		f->m->values[next->out[0]].producer = (int) (n - f->m->nodes);
		ox_kill(f, next);
	}
	n->folded.axis = slice_axis(f, n);
	n->out = out;
	n->n_out = parts;
	return ox_become(f, n, "Chunk", 1, &x);
}

/* ---------- pools ---------- */

/* Pads of a Pad node: *count of them, from the file's constants. */
static const double *
pads_of(const ox_folder *f, const ox_node *n, int *count)
{
	const ox_node *c = n->n_in > 1 ? ox_producer(f, n->in[1]) : NULL;
	const PmOnnx__Attribute *a = ox_is_op(c, "Constant") ? ox_attr(c, "value") : NULL;
	const ox_value *v = n->n_in > 1 && n->in[1] >= 0 ? &f->m->values[n->in[1]] : NULL;
	double	   *data = v != NULL && v->is_init ? v->data : NULL;
	pm_shape	shape = data != NULL ? v->shape : (pm_shape) {0};
	int			dtype;

	if (a != NULL && a->t != NULL && !ox_tensor(f->m, a->t, &dtype, &shape, &data))
		data = NULL;
	*count = data == NULL || shape.rank != 1 ? 0 : (int) shape.dim[0];
	return data;
}

/* Zeros around an image ahead of an average over them: the pool's own pads. n: the AveragePool. */
pm_code
ox_fold_padded_pool(ox_folder *f, ox_node *n)
{
	ox_node    *p = ox_made_by(f, n, 0, "Pad");
	const double *pads;
	int			count;
	int			rank;
	char		mode[16];

	if (p == NULL || p->in[0] < 0 || !ox_single(f, p) || p->n_in > 3 || (p->n_in > 2 && p->in[2] >= 0 && !(ox_number(f, p->in[2]) == 0)))
		return PM_OK;
	pads = pads_of(f, p, &count);
	ox_attr_text(p, "mode", mode, sizeof(mode));
	rank = count / 2;
	if (pads == NULL || rank < 3 || rank > PM_MAX_RANK || count != 2 * rank || (mode[0] != '\0' && strcmp(mode, "constant") != 0))
		return PM_OK;
	for (int i = 0; i < count; i++)
		if (pads[i] < 0 || pads[i] > 1000000 || (i % rank < 2 && pads[i] != 0))
			return PM_OK;
	ox_become_same(f, n, p->in[0]);
	for (int i = 0; i < rank - 2; i++)
	{
		n->folded.v[i] = (int64_t) pads[i + 2];
		n->folded.v[rank - 2 + i] = (int64_t) pads[rank + i + 2];
	}
	n->folded.n = 2 * (rank - 2);
	ox_kill(f, p);
	return PM_OK;
}

/* ---------- recurrent layers ---------- */

/*
 * Exporters put the weights of a recurrent layer into ONNX's order by cutting
 * and joining them in the graph.  No framework does that at run time: marked,
 * such a Concat of parameters is a parameter.
 */
static void
mark_packing(ox_folder *f, int value, int left)
{
	ox_node    *n = ox_producer(f, value);

	if (left == 0 || n == NULL || f->m->values[value].is_output)
		return;
	/* a second visit finds something new only when it can go further */
	if (f->packing[n - f->m->nodes] >= left)
		return;
	f->packing[n - f->m->nodes] = (uint8_t) left;
	if (!ox_is_op(n, "Concat") && !ox_is_op(n, "Slice") && !ox_is_op(n, "Unsqueeze") && !ox_is_op(n, "Squeeze") && !ox_is_op(n, "Transpose"))
		return;
	if (ox_is_op(n, "Concat"))
		n->folded.n = OX_PACKED;
	for (int k = 0; k < (ox_is_op(n, "Concat") ? n->n_in : 1) && k < 16; k++)
		mark_packing(f, n->in[k], left - 1);
}

pm_code
ox_fold_packing(ox_folder *f, ox_node *n)
{
	for (int k = 1; k < 4 && k < n->n_in; k++)
		mark_packing(f, n->in[k], MAX_PACKING);
	return PM_OK;
}

/* From the data input of layer n back to the layer below: Squeeze of one direction, or Transpose and Reshape of two. */
static ox_node *
layer_below(const ox_folder *f, const ox_node *n, ox_node **a, ox_node **b)
{
	ox_node    *p = NULL;

	*b = NULL;
	if ((*a = ox_made_by(f, n, 0, "Squeeze")) != NULL && ox_single(f, *a))
		p = ox_made_by(f, *a, 0, n->op);
	else if ((*a = ox_made_by(f, n, 0, "Reshape")) != NULL && ox_single(f, *a) &&
			 (*b = ox_made_by(f, *a, 0, "Transpose")) != NULL && ox_single(f, *b))
		p = ox_made_by(f, *b, 0, n->op);
	return p != NULL && ox_single(f, p) ? p : NULL;
}

/* Layers of one recurrent network become one operator: inputs x, then W, R, B of each. n: a layer. */
pm_code
ox_fold_stack_layers(ox_folder *f, ox_node *n)
{
	ox_node    *a,
			   *b,
			   *p = layer_below(f, n, &a, &b);
	int			layers;
	int		   *in;
	const char *name = n->op;
	pm_code		code;

	if (p == NULL || n->n_in < 4 || p->n_in < 4)
		return PM_OK;
	for (int k = 1; k < p->n_out; k++)
		if (p->out[k] >= 0 && f->m->values[p->out[k]].uses > 0)
			return PM_OK;
	layers = p->folded.n > 0 ? p->folded.n : 1;
	in = PM_NEW(f->m->arena, int, (size_t) layers * 3 + 5);
	if (in == NULL)
		return pm_no_memory(f->m->st, f->m->arena);
	memcpy(in, p->in, sizeof(int) * (size_t) (layers * 3 + 1));
	memcpy(in + layers * 3 + 1, n->in + 1, sizeof(int) * 3);
	for (int k = 0; k < (layers + 1) * 3 + 1; k++)
		if (in[k] < 0)
			return PM_OK;
	ox_kill(f, a);
	ox_kill(f, b);
	ox_kill(f, p);
	code = ox_become(f, n, name, (layers + 1) * 3 + 1, in);
	n->folded.n = layers + 1;
	return code;
}
