/*
 * rules_products.c - matrix products.
 */
#include "import/onnx/rules_products.h"

#include <string.h>

#include "import/onnx/attributes.h"
#include "import/onnx/emit.h"
#include "import/onnx/operands.h"
#include "import/onnx/rules.h"
#include "import/onnx/shapes.h"
#include "import/onnx/views.h"

/* ---------- matrix products ---------- */

/* One product of matrices or of two stacks of them, in the manner of aten::mm and aten::bmm. */
static bool
plain_product(ox_run *r, const ox_t *a, const ox_t *b, ox_t *out)
{
	const ox_t *in[2] = {a, b};
	int			rank = a->shape.rank;

	if (a->shape.dim[rank - 1] != b->shape.dim[rank - 2])
		return ox_error(r, "a matrix with %lld columns meets one with %lld rows", (long long) a->shape.dim[rank - 1],
						(long long) b->shape.dim[rank - 2]);
	out->shape = a->shape;
	out->shape.dim[rank - 1] = b->shape.dim[rank - 1];
	out->dtype = a->dtype;
	return ox_emit(r, "MatMul", 2, in, out, false);
}

/* a with the leading dimensions of `lead`, folded into one. */
static bool
stack(ox_run *r, const ox_t *a, const pm_shape *lead, ox_t *out)
{
	pm_shape	full = *lead;
	pm_shape	flat = {.rank = 3, .dim = {1}};
	ox_t		wide;

	full.dim[lead->rank - 2] = a->shape.dim[a->shape.rank - 2];
	full.dim[lead->rank - 1] = a->shape.dim[a->shape.rank - 1];
	for (int i = 0; i < lead->rank - 2; i++)
		flat.dim[0] *= lead->dim[i];
	flat.dim[1] = full.dim[lead->rank - 2];
	flat.dim[2] = full.dim[lead->rank - 1];
	return ox_expand(r, a, &full, &wide) && (lead->rank == 3 ? (ox_alias(&wide, out), true) : ox_reshape(r, &wide, &flat, out));
}

/* Leading dimensions that both operands have after broadcasting; the last two are free. */
static bool
common_lead(ox_run *r, const ox_t *a, const ox_t *b, pm_shape *lead)
{
	ox_t		x = {.shape = {.rank = a->shape.rank}};
	ox_t		y = {.shape = {.rank = b->shape.rank}};
	const ox_t *in[2] = {&x, &y};

	for (int i = 0; i < x.shape.rank; i++)
		x.shape.dim[i] = i < x.shape.rank - 2 ? a->shape.dim[i] : 1;
	for (int i = 0; i < y.shape.rank; i++)
		y.shape.dim[i] = i < y.shape.rank - 2 ? b->shape.dim[i] : 1;
	return ox_broadcast(r, 2, in, lead);
}

static bool
stacked_product(ox_run *r, const ox_t *a, const ox_t *b, ox_t *out)
{
	pm_shape	lead;
	ox_t		x,
				y,
				z;

	if (!common_lead(r, a, b, &lead) || !ox_check_shape(r, &lead))
		return false;
	memset(&z, 0, sizeof(z));
	if (!stack(r, a, &lead, &x) || !stack(r, b, &lead, &y) || !plain_product(r, &x, &y, &z))
		return false;
	lead.dim[lead.rank - 2] = a->shape.dim[a->shape.rank - 2];
	lead.dim[lead.rank - 1] = b->shape.dim[b->shape.rank - 1];
	if (lead.rank == 3)
	{
		ox_alias(&z, out);
		return true;
	}
	return ox_reshape(r, &z, &lead, out);
}

/* Data of three and more dimensions times one matrix: one tall product. */
static bool
tall_product(ox_run *r, const ox_t *a, const ox_t *b, ox_t *out)
{
	pm_shape	flat = {.rank = 2, .dim = {1, a->shape.dim[a->shape.rank - 1]}};
	pm_shape	shape = a->shape;
	ox_t		x,
				z;

	for (int i = 0; i < a->shape.rank - 1; i++)
		flat.dim[0] *= a->shape.dim[i];
	memset(&z, 0, sizeof(z));
	if (!ox_reshape(r, a, &flat, &x) || !plain_product(r, &x, b, &z))
		return false;
	shape.dim[shape.rank - 1] = b->shape.dim[1];
	return ox_reshape(r, &z, &shape, out);
}

/* A vector becomes a matrix of one row or column for the product. */
static bool
vector_product(ox_run *r, const ox_t *a, const ox_t *b, ox_t *out)
{
	ox_t		x = *a,
				y = *b,
				z = {0};
	pm_shape	row = {.rank = 2, .dim = {1, a->shape.dim[0]}};
	pm_shape	column = {.rank = 2, .dim = {b->shape.dim[0], 1}};
	pm_shape	shape = {0};

	if (a->shape.rank == 0 || b->shape.rank == 0)
		return ox_error(r, "it multiplies a scalar");
	if ((a->shape.rank == 1 && !ox_reshape(r, a, &row, &x)) || (b->shape.rank == 1 && !ox_reshape(r, b, &column, &y)) ||
		!ox_matmul(r, &x, &y, &z))
		return false;
	for (int i = 0; i < z.shape.rank; i++)
		if (!(a->shape.rank == 1 && i == z.shape.rank - 2) && !(b->shape.rank == 1 && i == z.shape.rank - 1))
			shape.dim[shape.rank++] = z.shape.dim[i];
	return ox_reshape(r, &z, &shape, out);
}

/* A stack of matrices that are all transposed: PyTorch multiplies them one by one rather than copying them. */
static bool
transposed_stack(const ox_t *a)
{
	return a->shape.rank == 3 && a->stride[2] != 1 && a->stride[0] == a->shape.dim[1] * a->shape.dim[2];
}

bool
ox_matmul(ox_run *r, const ox_t *a, const ox_t *b, ox_t *out)
{
	if (a->shape.rank < 2 || b->shape.rank < 2)
		return vector_product(r, a, b, out);
	if (a->shape.rank == 2 && b->shape.rank == 2)
		return plain_product(r, a, b, out);
	if (b->shape.rank == 2 && !transposed_stack(a))
		return tall_product(r, a, b, out);
	return stacked_product(r, a, b, out);
}

static bool
matmul(ox_run *r, const ox_node *n)
{
	bool		q = strcmp(n->op, "QLinearMatMul") == 0;
	const ox_t *b = ox_in(r, n, q ? 3 : 1);

	if (b == NULL)
		return ox_error(r, "its second matrix is missing");
	return ox_matmul(r, ox_in(r, n, 0), b, ox_out(r, n, 0));
}

/* com.microsoft.FusedMatMul: transposes are free. */
static bool
fused_matmul(ox_run *r, const ox_node *n)
{
	ox_t		in[2] = {*ox_in(r, n, 0), *ox_in(r, n, 1)};

	for (int k = 0; k < 2; k++)
	{
		int			rank = in[k].shape.rank;
		int			perm[PM_MAX_RANK];
		ox_t		swapped;

		if (ox_attr_int(n, k == 0 ? "transA" : "transB", 0) == 0 || rank < 2)
			continue;
		for (int i = 0; i < rank; i++)
			perm[i] = i;
		perm[rank - 1] = rank - 2;
		perm[rank - 2] = rank - 1;
		if (!ox_permute(r, &in[k], perm, &swapped))
			return false;
		in[k] = swapped;
	}
	return ox_matmul(r, &in[0], &in[1], ox_out(r, n, 0));
}

static bool
transpose_2d(ox_run *r, const ox_t *in, ox_t *out)
{
	static const int perm[2] = {1, 0};

	return ox_permute(r, in, perm, out);
}

static bool
gemm(ox_run *r, const ox_node *n)
{
	ox_t		a = *ox_in(r, n, 0);
	ox_t		b = *ox_in(r, n, 1);
	ox_t		t;
	const ox_t *in[3] = {&a, &b, ox_in(r, n, 2)};
	ox_t	   *out = ox_out(r, n, 0);

	if (a.shape.rank != 2 || b.shape.rank != 2)
		return ox_error(r, "it multiplies tensors of %d and %d dimensions", a.shape.rank, b.shape.rank);
	if (ox_attr_int(n, "transA", 0) != 0)
	{
		if (!transpose_2d(r, &a, &t))
			return false;
		a = t;
	}
	if (ox_attr_int(n, "transB", 0) != 0)
	{
		if (!transpose_2d(r, &b, &t))
			return false;
		b = t;
	}
	if (in[2] == NULL)
		return plain_product(r, &a, &b, out);
	if (a.shape.dim[1] != b.shape.dim[0])
		return ox_error(r, "a matrix with %lld columns meets one with %lld rows", (long long) a.shape.dim[1],
						(long long) b.shape.dim[0]);
	out->shape = ox_shape(2, (int64_t[]){a.shape.dim[0], b.shape.dim[1]});
	out->dtype = a.dtype;
	return ox_emit(r, "Gemm", 3, in, out, false);
}

/* x w + bias as PyTorch runs a linear layer: fused when x is a contiguous batch of sequences, apart otherwise. */
bool
ox_linear(ox_run *r, const ox_t *x, const ox_t *w, const ox_t *bias, ox_t *out)
{
	ox_t		product = {0};
	const ox_t *sum[2] = {&product, bias};
	const ox_t *in[3] = {x, w, bias};
	pm_shape	shape = x->shape;
	pm_shape	flat = {.rank = 2, .dim = {1, x->shape.dim[x->shape.rank > 0 ? x->shape.rank - 1 : 0]}};
	ox_t		tall;

	if (x->shape.rank == 2 || (x->shape.rank == 3 && ox_is_contiguous(x)))
	{
		if (flat.dim[1] != w->shape.dim[0])
			return ox_error(r, "a matrix with %lld columns meets one with %lld rows", (long long) flat.dim[1],
							(long long) w->shape.dim[0]);
		for (int i = 0; i < x->shape.rank - 1; i++)
			flat.dim[0] *= x->shape.dim[i];
		if (x->shape.rank == 3 && !ox_reshape(r, x, &flat, &tall))
			return false;
		in[0] = x->shape.rank == 3 ? &tall : x;
		product.shape = ox_shape(2, (int64_t[]){flat.dim[0], w->shape.dim[1]});
		product.dtype = x->dtype;
		if (!ox_emit(r, "Gemm", 3, in, &product, false))
			return false;
		shape.dim[shape.rank - 1] = w->shape.dim[1];
		return ox_reshape(r, &product, &shape, out);
	}
	if (!ox_matmul(r, x, w, &product) || !ox_broadcast(r, 2, sum, &out->shape))
		return false;
	out->dtype = x->dtype;
	if (!ox_emit(r, "Add", 2, sum, out, false))
		return false;
	ox_elementwise_strides(2, sum, out);
	return true;
}

/* ---------- Einsum ---------- */

typedef struct einsum_term
{
	int			n;
	char		letter[PM_MAX_RANK];
} einsum_term;

static bool
has_letter(const einsum_term *t, char c)
{
	return memchr(t->letter, c, (size_t) t->n) != NULL;
}

static bool
parse_term(ox_run *r, const char **at, einsum_term *t)
{
	t->n = 0;
	for (; **at != '\0' && **at != ',' && **at != '-'; (*at)++)
	{
		if (**at == ' ')
			continue;
		if (t->n == PM_MAX_RANK || !((**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z')))
			return ox_error(r, "its equation is not supported");
		if (has_letter(t, **at))
			return ox_error(r, "its equation takes a diagonal, which is not supported");
		t->letter[t->n++] = **at;
	}
	return true;
}

/* Move the letters of `wanted` that t has into their order, as a permutation. */
static bool
arrange(ox_run *r, const ox_t *in, const einsum_term *t, const einsum_term *wanted, ox_t *out)
{
	int			perm[PM_MAX_RANK];
	int			n = 0;

	for (int i = 0; i < wanted->n; i++)
		for (int k = 0; k < t->n; k++)
			if (t->letter[k] == wanted->letter[i] && n < t->n)
				perm[n++] = k;
	if (n != t->n)
		return ox_error(r, "its equation is not supported");
	return ox_permute(r, in, perm, out);
}

static int64_t
letter_dim(const ox_t *a, const einsum_term *ta, const ox_t *b, const einsum_term *tb, char c)
{
	int64_t		dim = 1;

	for (int i = 0; i < ta->n; i++)
		if (ta->letter[i] == c && a->shape.dim[i] > dim)
			dim = a->shape.dim[i];
	for (int i = 0; i < tb->n; i++)
		if (tb->letter[i] == c && b->shape.dim[i] > dim)
			dim = b->shape.dim[i];
	return dim;
}

static void
add_letters(einsum_term *to, const einsum_term *from, const einsum_term *in, const einsum_term *out, bool want_in, bool want_out)
{
	for (int i = 0; i < from->n; i++)
		if (to->n < PM_MAX_RANK && has_letter(in, from->letter[i]) == want_in && has_letter(out, from->letter[i]) == want_out)
			to->letter[to->n++] = from->letter[i];
}

/* The operand as [batch, rows, columns]: letters in groups, each folded into one dimension. */
static bool
fold_groups(ox_run *r, const ox_t *in, const einsum_term *t, const einsum_term *group[3], ox_t *out)
{
	einsum_term order = {0};
	pm_shape	flat = {.rank = 3, .dim = {1, 1, 1}};
	ox_t		moved;

	for (int g = 0; g < 3; g++)
		for (int i = 0; i < group[g]->n; i++)
		{
			const char *at = memchr(t->letter, group[g]->letter[i], (size_t) t->n);

			if (at == NULL || order.n == PM_MAX_RANK)
				return ox_error(r, "its equation is not supported");
			order.letter[order.n++] = group[g]->letter[i];
			flat.dim[g] *= in->shape.dim[at - t->letter];
		}
	return arrange(r, in, t, &order, &moved) && ox_reshape(r, &moved, &flat, out);
}

/* Two operands: a stack of matrix products between permutations, as PyTorch runs it. */
static bool
einsum(ox_run *r, const ox_node *n)
{
	char		equation[128];
	const char *at = equation;
	einsum_term a,
				b,
				o;
	einsum_term batch = {0},
				rows = {0},
				cols = {0},
				inner = {0},
				order = {0};
	const einsum_term *left[3] = {&batch, &rows, &inner};
	const einsum_term *right[3] = {&batch, &inner, &cols};
	const ox_t *x = ox_in(r, n, 0);
	const ox_t *y = ox_in(r, n, 1);
	ox_t		fa,
				fb,
				product = {0},
				wide;
	pm_shape	shape = {0};

	ox_attr_text(n, "equation", equation, sizeof(equation));
	if (!parse_term(r, &at, &a) || *at++ != ',' || !parse_term(r, &at, &b) || strncmp(at, "->", 2) != 0 || y == NULL)
		return ox_error(r, "its equation is not supported: two operands and an explicit result are");
	at += 2;
	if (!parse_term(r, &at, &o) || a.n != x->shape.rank || b.n != y->shape.rank)
		return ox_error(r, "its equation does not fit its operands");
	add_letters(&batch, &a, &b, &o, true, true);
	add_letters(&rows, &a, &b, &o, false, true);
	add_letters(&cols, &b, &a, &o, false, true);
	add_letters(&inner, &a, &b, &o, true, false);
	if (!fold_groups(r, x, &a, left, &fa) || !fold_groups(r, y, &b, right, &fb) || !plain_product(r, &fa, &fb, &product))
		return false;
	add_letters(&order, &batch, &o, &o, true, true);
	add_letters(&order, &rows, &o, &o, true, true);
	add_letters(&order, &cols, &o, &o, true, true);
	for (int i = 0; i < order.n; i++)
		shape.dim[shape.rank++] = letter_dim(x, &a, y, &b, order.letter[i]);
	return ox_reshape(r, &product, &shape, &wide) && arrange(r, &wide, &order, &o, ox_out(r, n, 0));
}

const ox_rule ox_rules_products[] =
{
	{"MatMul", matmul, 2, 2, NULL}, {"MatMulInteger", matmul, 2, 4, "MatMul"}, {"QLinearMatMul", matmul, 8, 8, "MatMul"},
	{"com.microsoft.FusedMatMul", fused_matmul, 2, 2, "MatMul"}, {"Gemm", gemm, 2, 3, NULL},
	{"com.microsoft.FusedGemm", gemm, 2, 3, "Gemm"}, {"com.microsoft.TransposeMatMul", fused_matmul, 2, 2, "MatMul"},
	{"Einsum", einsum, 2, 2, "MatMul"},
	{NULL, NULL, 0, 0, NULL}
};
