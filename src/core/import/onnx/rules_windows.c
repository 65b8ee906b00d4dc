/*
 * rules_windows.c - convolutions and pools.
 */
#include "import/onnx/rules.h"

#include <string.h>

#include "import/onnx/attributes.h"
#include "import/onnx/emit.h"
#include "import/onnx/operands.h"
#include "import/onnx/shapes.h"
#include "import/onnx/views.h"

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

const ox_rule ox_rules_windows[] =
{
	{"Conv", conv, 2, 3, NULL}, {"ConvTranspose", conv_transpose, 2, 3, NULL}, {"DeformConv", deform_conv, 2, 5, NULL},
	{"ConvInteger", conv_quantized, 2, 4, "Conv"}, {"QLinearConv", conv_quantized, 8, 9, "Conv"},
	{"com.microsoft.FusedConv", conv, 2, 4, "Conv"},
	{"MaxPool", pool, 1, 1, NULL}, {"AveragePool", pool, 1, 1, NULL}, {"LpPool", pool, 1, 1, NULL},
	{NULL, NULL, 0, 0, NULL}
};
