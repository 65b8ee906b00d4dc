/*
 * rules_products.c - convolutions, matrix products, pools, recurrent layers,
 * attention.
 */
#include "import/onnx/run.h"

#include <math.h>
#include <string.h>

/* ---------- windows ---------- */

#define MAX_WINDOW	(INT64_C(1) << 24)	/* kernel, stride, dilation, pad: products stay far from overflow */

typedef struct window
{
	int			spatial;
	int64_t		kernel[PM_MAX_RANK];
	int64_t		stride[PM_MAX_RANK];
	int64_t		dilation[PM_MAX_RANK];
	int64_t		pad[2 * PM_MAX_RANK];
	bool		same;			/* auto_pad SAME_*: the result follows from the strides */
} window;

static bool
window_list(ox_run *r, const ox_node *n, const char *name, int want, int64_t least, int64_t *v)
{
	int			count;
	const int64_t *list = ox_attr_ints(n, name, &count);

	if (count == 0)
		return true;			/* the default stays */
	if (count != want)
		return ox_error(r, "attribute \"%s\" has %d values, but %d are needed", name, count, want);
	for (int i = 0; i < count; i++)
	{
		if (list[i] < least || list[i] > MAX_WINDOW)
			return ox_error(r, "attribute \"%s\" has the value %lld", name, (long long) list[i]);
		v[i] = list[i];
	}
	return true;
}

/* kernel: spatial sizes of the weight, NULL when the attribute must have them. */
static bool
read_window(ox_run *r, const ox_node *n, int spatial, const int64_t *kernel, window *w)
{
	char		pad[16];

	memset(w, 0, sizeof(*w));
	if (spatial < 1 || spatial > PM_MAX_SPATIAL)
		return ox_error(r, "it works on %d spatial dimensions, but 1 to %d are supported", spatial, PM_MAX_SPATIAL);
	w->spatial = spatial;
	for (int i = 0; i < spatial; i++)
	{
		w->kernel[i] = kernel != NULL ? kernel[i] : 0;
		w->stride[i] = w->dilation[i] = 1;
	}
	if (!window_list(r, n, "kernel_shape", spatial, 1, w->kernel) || !window_list(r, n, "strides", spatial, 1, w->stride) ||
		!window_list(r, n, "dilations", spatial, 1, w->dilation) || !window_list(r, n, "pads", 2 * spatial, 0, w->pad))
		return false;
	for (int i = 0; i < spatial; i++)
	{
		if (w->kernel[i] < 1 || w->kernel[i] > MAX_WINDOW)
			return ox_error(r, "attribute \"kernel_shape\" is missing or too large");
		if (kernel != NULL && w->kernel[i] != kernel[i])
			return ox_error(r, "attribute \"kernel_shape\" says %lld where the weight has %lld",
							(long long) w->kernel[i], (long long) kernel[i]);
	}
	ox_attr_text(n, "auto_pad", pad, sizeof(pad));
	w->same = strncmp(pad, "SAME", 4) == 0;
	if (strcmp(pad, "VALID") == 0)
		memset(w->pad, 0, sizeof(w->pad));
	return true;
}

/* Result of sliding the window over one dimension; fills the pads of SAME_*. */
static int64_t
slide(window *w, int i, int64_t in, bool ceil_mode)
{
	int64_t		reach = w->dilation[i] * (w->kernel[i] - 1) + 1;
	int64_t		out;
	int64_t		room;

	if (w->same)
	{
		int64_t		pad;

		out = (in + w->stride[i] - 1) / w->stride[i];
		pad = (out - 1) * w->stride[i] + reach - in;
		pad = pad > 0 ? pad : 0;
		w->pad[i] = pad / 2;
		w->pad[w->spatial + i] = pad - pad / 2;
		return out;
	}
	room = in + w->pad[i] + w->pad[w->spatial + i] - reach;
	if (room < 0)
		return -1;
	out = (room + (ceil_mode ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
	/* the last window must start inside the input or its left padding */
	if (ceil_mode && (out - 1) * w->stride[i] >= in + w->pad[i])
		out--;
	return out;
}

static void
put_window(ox_run *r, const window *w, bool dilations, ox_t *out)
{
	ox_op	   *op = ox_last(r, out);
	bool		even = true;

	for (int i = 0; i < w->spatial; i++)
		even = even && w->pad[i] == w->pad[w->spatial + i];
	ox_key_ints(r, op, "kernel_shape", w->spatial, w->kernel);
	ox_key_ints(r, op, "strides", w->spatial, w->stride);
	ox_key_ints(r, op, "pads", even ? w->spatial : 2 * w->spatial, w->pad);
	if (dilations)
		ox_key_ints(r, op, "dilations", w->spatial, w->dilation);
}

/* Images with channels innermost stay so through convolutions and pools. */
static bool
channels_last(const ox_t *t)
{
	const pm_shape *s = &t->shape;

	return s->rank == 4 && s->dim[1] > 1 && t->stride[1] == 1 && t->stride[3] == s->dim[1] &&
		t->stride[2] == s->dim[3] * s->dim[1] && !ox_is_contiguous(t);
}

static void
set_channels_last(ox_t *t)
{
	const int64_t *d = t->shape.dim;

	t->stride[1] = 1;
	t->stride[3] = d[1];
	t->stride[2] = d[1] * d[3];
	t->stride[0] = d[1] * d[3] * d[2];
}

/* ---------- convolutions ---------- */

static bool
check_conv(ox_run *r, const ox_t *x, const ox_t *w)
{
	if (x->shape.rank < 3 || w->shape.rank != x->shape.rank)
		return ox_error(r, "its data has %d dimensions and its weight %d", x->shape.rank, w->shape.rank);
	return true;
}

static bool
convolve(ox_run *r, const ox_node *n, const char *as, const ox_t *x, const ox_t *w, const ox_t *bias)
{
	const ox_t *in[3] = {x, w, bias};
	ox_t	   *out = ox_out(r, n, 0);
	int64_t		group = ox_attr_int(n, "group", 1);
	window		win;

	if (!check_conv(r, x, w) || !read_window(r, n, x->shape.rank - 2, w->shape.dim + 2, &win))
		return false;
	if (group < 1 || group > PM_MAX_DIM || w->shape.dim[0] % group != 0 || x->shape.dim[1] % group != 0 ||
		w->shape.dim[1] != x->shape.dim[1] / group)
		return ox_error(r, "%lld channels in %lld groups do not fit a weight for %lld channels a group",
						(long long) x->shape.dim[1], (long long) group, (long long) w->shape.dim[1]);
	out->shape = x->shape;
	out->shape.dim[1] = w->shape.dim[0];
	out->dtype = x->dtype;
	for (int i = 0; i < win.spatial; i++)
		if ((out->shape.dim[2 + i] = slide(&win, i, x->shape.dim[2 + i], false)) < 0)
			return ox_error(r, "its window of %lld is larger than its input of %lld", (long long) win.kernel[i],
							(long long) x->shape.dim[2 + i]);
	if (!ox_emit(r, as, 3, in, out, false))
		return false;
	put_window(r, &win, true, out);
	ox_key_int(r, ox_last(r, out), "group", group);
	if (channels_last(x))
		set_channels_last(out);
	return !r->failed;
}

static bool
conv(ox_run *r, const ox_node *n)
{
	return convolve(r, n, "Conv", ox_in(r, n, 0), ox_in(r, n, 1), ox_in(r, n, 2));
}

/* x, zero points ... in another order. */
static bool
conv_quantized(ox_run *r, const ox_node *n)
{
	bool		q = strcmp(n->op, "QLinearConv") == 0;
	const ox_t *w = ox_in(r, n, q ? 3 : 1);

	if (w == NULL)
		return ox_error(r, "its weight is missing");
	return convolve(r, n, "Conv", ox_in(r, n, 0), w, q ? ox_in(r, n, 8) : NULL);
}

static bool
deform_conv(ox_run *r, const ox_node *n)
{
	return convolve(r, n, "DeformConv", ox_in(r, n, 0), ox_in(r, n, 1), ox_in(r, n, 3));
}

static bool
conv_transpose(ox_run *r, const ox_node *n)
{
	const ox_t *in[3] = {ox_in(r, n, 0), ox_in(r, n, 1), ox_in(r, n, 2)};
	ox_t	   *out = ox_out(r, n, 0);
	int64_t		group = ox_attr_int(n, "group", 1);
	int64_t		extra[PM_MAX_RANK] = {0};
	int64_t		wanted[PM_MAX_RANK] = {0};
	window		w;

	if (!check_conv(r, in[0], in[1]) || !read_window(r, n, in[0]->shape.rank - 2, in[1]->shape.dim + 2, &w) ||
		!window_list(r, n, "output_padding", w.spatial, 0, extra) || !window_list(r, n, "output_shape", w.spatial, 1, wanted))
		return false;
	if (group < 1 || group > PM_MAX_DIM || in[1]->shape.dim[0] != in[0]->shape.dim[1] || in[0]->shape.dim[1] % group != 0)
		return ox_error(r, "%lld channels do not fit a weight for %lld", (long long) in[0]->shape.dim[1],
						(long long) in[1]->shape.dim[0]);
	out->shape = in[0]->shape;
	out->shape.dim[1] = in[1]->shape.dim[1] > PM_MAX_DIM / group ? PM_MAX_DIM + 1 : in[1]->shape.dim[1] * group;
	out->dtype = in[0]->dtype;
	for (int i = 0; i < w.spatial; i++)
	{
		double		size = (double) (in[0]->shape.dim[2 + i] - 1) * (double) w.stride[i] + (double) extra[i] +
			(double) (w.kernel[i] - 1) * (double) w.dilation[i] + 1 - (double) w.pad[i] - (double) w.pad[w.spatial + i];

		if (w.same)
			size = (double) in[0]->shape.dim[2 + i] * (double) w.stride[i];
		if (wanted[i] > 0)
			size = (double) wanted[i];
		if (size < 0 || size > (double) PM_MAX_DIM)
			return ox_error(r, "dimension %d of its result would be %.0f", 2 + i, size);
		out->shape.dim[2 + i] = (int64_t) size;
	}
	if (!ox_emit(r, "ConvTranspose", 3, in, out, false))
		return false;
	put_window(r, &w, true, out);
	ox_key_int(r, ox_last(r, out), "group", group);
	ox_key_ints(r, ox_last(r, out), "output_padding", w.spatial, extra);
	return !r->failed;
}

/* ---------- pools ---------- */

static bool
pool(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t	   *out = ox_out(r, n, 0);
	bool		ceil_mode = ox_attr_int(n, "ceil_mode", 0) != 0;
	bool		max = strcmp(n->op, "MaxPool") == 0;
	bool		adaptive;
	window		w;

	if (!read_window(r, n, in->shape.rank - 2, NULL, &w))
		return false;
	for (int i = 0; i < n->folded.n; i++)
		w.pad[i] += n->folded.v[i];	/* of a Pad before it */
	out->shape = in->shape;
	out->dtype = in->dtype;
	for (int i = 0; i < w.spatial; i++)
		if ((out->shape.dim[2 + i] = slide(&w, i, in->shape.dim[2 + i], ceil_mode)) < 0)
			return ox_error(r, "its window of %lld is larger than its input of %lld", (long long) w.kernel[i],
							(long long) in->shape.dim[2 + i]);
	/* windows of one element: what exporters make of an adaptive pool to the size that is there */
	adaptive = strcmp(n->op, "AveragePool") == 0 && w.spatial == 2 && w.kernel[0] * w.kernel[1] == 1;
	if (!ox_emit(r, adaptive ? "aten::adaptive_avg_pool2d" : n->op, 1, &in, out, false))
		return false;
	if (adaptive)
	{
		ox_key_ints(r, ox_last(r, out), "output_size", 2, out->shape.dim + 2);
		return !r->failed;
	}
	put_window(r, &w, max, out);
	ox_key_int(r, ox_last(r, out), "ceil_mode", ceil_mode);
	if (!max)
		ox_key_int(r, ox_last(r, out), "count_include_pad", ox_attr_int(n, "count_include_pad", 0) != 0 || n->folded.n > 0);
	if (channels_last(in))
		set_channels_last(out);
	if (n->n_out > 1 && n->out[1] >= 0 && n->out[0] >= 0)
	{
		ox_alias(out, ox_out(r, n, 1));
		ox_out(r, n, 1)->dtype = OX_INT64;
	}
	return !r->failed;
}

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
attend(ox_run *r, const ox_t *q, const ox_t *k, const ox_t *v, const ox_t *mask, ox_t *out)
{
	const ox_t *in[4] = {q, k, v, mask};

	out->shape = q->shape;
	out->shape.dim[q->shape.rank - 1] = v->shape.dim[v->shape.rank - 1];
	out->dtype = q->dtype;
	return ox_emit(r, "Attention", 4, in, out, false);
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
	return ox_permute(r, k, perm, &keys) && attend(r, q, &keys, v, ox_in(r, n, 3), ox_out(r, n, 0));
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
	return attend(r, &head[0], &head[1], &head[2], NULL, &out) && join_heads(r, &out, ox_out(r, n, 0));
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
	if (!attend(r, &head[0], &head[1], &head[2], NULL, &out))
		return false;
	if (in[0]->shape.rank == 3)
		return join_heads(r, &out, ox_out(r, n, 0));
	ox_alias(&out, ox_out(r, n, 0));
	return true;
}

const ox_rule ox_rules_products[] =
{
	{"Conv", conv, 2, 3, NULL}, {"ConvTranspose", conv_transpose, 2, 3, NULL}, {"DeformConv", deform_conv, 2, 5, NULL},
	{"ConvInteger", conv_quantized, 2, 4, "Conv"}, {"QLinearConv", conv_quantized, 8, 9, "Conv"},
	{"com.microsoft.FusedConv", conv, 2, 4, "Conv"},
	{"MaxPool", pool, 1, 1, NULL}, {"AveragePool", pool, 1, 1, NULL}, {"LpPool", pool, 1, 1, NULL},
	{"MatMul", matmul, 2, 2, NULL}, {"MatMulInteger", matmul, 2, 4, "MatMul"}, {"QLinearMatMul", matmul, 8, 8, "MatMul"},
	{"com.microsoft.FusedMatMul", fused_matmul, 2, 2, "MatMul"}, {"Gemm", gemm, 2, 3, NULL},
	{"com.microsoft.FusedGemm", gemm, 2, 3, "Gemm"}, {"com.microsoft.TransposeMatMul", fused_matmul, 2, 2, "MatMul"},
	{"Einsum", einsum, 2, 2, "MatMul"}, {"LSTM", ox_recurrent, 3, 8, NULL}, {"GRU", ox_recurrent, 3, 6, NULL},
	{"RNN", ox_recurrent, 3, 6, NULL}, {"com.microsoft.Attention", contrib_attention, 2, 7, NULL},
	{"com.microsoft.MultiHeadAttention", query_attention, 3, 8, "Attention"},
	{"com.microsoft.GroupQueryAttention", query_attention, 3, 11, "Attention"},
	{"Attention", query_attention, 3, 6, NULL},
	{NULL, NULL, 0, 0, NULL}
};
