/*
 * op_geometry.c - the sizes of one operator: channels, planes, windows, and the
 * matrix product that it is.
 */
#include "graph/op_geometry.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "graph/op_operands.h"

static_assert(PM_N_HAS <= 32, "pm_geometry.present has a bit for each");

static void
set(pm_geometry *geo, int bit, double *field, double value)
{
	*field = value;
	geo->present |= 1u << bit;
}

/* Height and width of t: the dimensions after the channel. A single one is the width; of three, the first two make the height. */
static void
plane(const pm_operand *t, double *h, double *w)
{
	*h = 1;
	*w = 1;
	for (int i = 2; t->shape != NULL && i < t->shape->rank; i++)
	{
		if (i == t->shape->rank - 1)
			*w = pm_dim_at(t, i, 1);
		else
			*h *= pm_dim_at(t, i, 1);
	}
}

/* The attributes of the last two kernel dimensions; of three, the first is part of the kernel's height. */
static void
set_window(const pm_attrs *a, pm_geometry *geo)
{
	int			w = a->spatial - 1;
	int			h = a->spatial - 2;

	if (a->spatial == 0)
		return;
	set(geo, PM_HAS_K_H, &geo->k_h, (h >= 0 ? (double) a->kernel[h] : 1) * (h > 0 ? (double) a->kernel[0] : 1));
	set(geo, PM_HAS_K_W, &geo->k_w, (double) a->kernel[w]);
	set(geo, PM_HAS_S_H, &geo->s_h, h >= 0 ? (double) a->stride[h] : 1);
	set(geo, PM_HAS_S_W, &geo->s_w, (double) a->stride[w]);
	set(geo, PM_HAS_PAD_H, &geo->pad_h, h >= 0 ? (double) a->pad[h] : 0);
	set(geo, PM_HAS_PAD_W, &geo->pad_w, (double) a->pad[w]);
	set(geo, PM_HAS_DILATION, &geo->dilation, (double) a->dilation[w]);
}

static void
set_in_plane(const pm_operand *t, pm_geometry *geo)
{
	double		h,
				w;

	plane(t, &h, &w);
	set(geo, PM_HAS_IN_CH, &geo->in_ch, pm_dim_at(t, 1, 1));
	set(geo, PM_HAS_IN_H, &geo->in_h, h);
	set(geo, PM_HAS_IN_W, &geo->in_w, w);
}

static void
set_out_plane(const pm_operand *t, pm_geometry *geo)
{
	double		h,
				w;

	plane(t, &h, &w);
	set(geo, PM_HAS_OUT_CH, &geo->out_ch, pm_dim_at(t, 1, 1));
	set(geo, PM_HAS_OUT_H, &geo->out_h, h);
	set(geo, PM_HAS_OUT_W, &geo->out_w, w);
}

static void
set_gemm(pm_geometry *geo, double m, double n, double k, double count)
{
	set(geo, PM_HAS_GEMM_M, &geo->gemm_m, m);
	set(geo, PM_HAS_GEMM_N, &geo->gemm_n, n);
	set(geo, PM_HAS_GEMM_K, &geo->gemm_k, k);
	set(geo, PM_HAS_GEMM_BATCH, &geo->gemm_batch, count);
}

static void
set_bias(const pm_node *n, const pm_operands *o, pm_geometry *geo)
{
	int			taken = (o->data.input >= 0 ? 1 : 0) + (o->kernel.input >= 0 ? 1 : 0);
	int			own = o->kernel.weight ? 1 : 0;

	geo->has_bias = n->n_weights > own || n->n_inputs > taken;
	geo->present |= 1u << PM_HAS_BIAS;
}

#define WIDEST_USUAL	7		/* side of a kernel, up to which libraries have special kernels */

/* Between 18 groups (slow) and 30 (fast), see groups_are_fast(). */
#define MANY_GROUPS		20

/*
 * Whether vendors' libraries are known to have fast channels-last kernels on
 * matrix units for so many groups of this many channels in and out.  On an RTX 3090
 * (cuDNN 8, half precision, timm's benchmarks) a network of grouped convolutions
 * takes 0.66 to 0.92 times as long in nhwc as in nchw where 24 or more groups
 * have 4, 8, 16 or 32 channels, 1.2 to 1.4 where they have 24 to 32 but no power
 * of two, 2.0 with 64, and 3 with 96 and more.  Few groups are slow, however narrow:
 * what the other operators leave of a step in nhwc is 9 to 20 TFLOP a second for
 * 32 and more narrow groups (resnext50_32x4d, dpn68), and 0.7 to 4 for 2 to 16 of
 * them (eca_botnext26ts, res2next50, resnext26ts, resnet61q).  Other features are the
 * number of groups, their width and alignments.
 */
static bool
groups_are_fast(double groups, double in, double out)
{
	return groups >= MANY_GROUPS && in == out && (in == 4 || in == 8 || in == 16 || in == 32);
}

static void
set_groups(pm_geometry *geo, double groups)
{
	double		out = geo->out_ch / groups;

	if (geo->conv == PM_CONV_GROUPED)
	{
		set(geo, PM_HAS_OUT_PER_GROUP, &geo->out_per_group, out);
		set(geo, PM_HAS_GROUP_ALIGNMENT, &geo->group_alignment, pm_alignment(groups));
		set(geo, PM_HAS_WIDTH_ALIGNMENT, &geo->width_alignment, pm_alignment(geo->ch_per_group));
		set(geo, PM_HAS_GROUP_NARROW, &geo->group_narrow, groups_are_fast(groups, geo->ch_per_group, out));
	}
	set(geo, PM_HAS_WIDE_WINDOW, &geo->wide_window, fmax(geo->k_h, geo->k_w) > WIDEST_USUAL);
}

/*
 * A convolution, also as a matrix product: rows are output positions (of a transposed
 * one, input positions); there is one product for each group.
 */
static void
conv_geometry(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch, pm_geometry *geo)
{
	pm_operands	o = pm_conv_operands(g, n);
	pm_operand		out = pm_output_operand(n);
	double		depth = pm_kernel_depth(n, &o);
	double		groups = (double) n->attrs.group;
	const pm_operand *rows = row->flops == PM_FLOPS_CONV_TRANSPOSE ? &o.data : &out;
	double		positions;

	geo->conv = pm_conv_kind_of(n, row, &o);
	set_in_plane(&o.data, geo);
	set_out_plane(&out, geo);
	set_window(&n->attrs, geo);
	if (o.data.batch_dim == 1)
		groups *= (double) batch;
	set(geo, PM_HAS_GROUPS, &geo->groups, groups);
	set(geo, PM_HAS_CH_PER_GROUP, &geo->ch_per_group, geo->in_ch / (double) n->attrs.group);
	set_groups(geo, (double) n->attrs.group);
	positions = geo->in_ch * geo->out_ch == 0 || pm_dim_at(rows, 1, batch) == 0 ? 0 :
		pm_count_at(rows, batch) / pm_dim_at(rows, 1, batch);
	if (row->flops == PM_FLOPS_CONV_TRANSPOSE)
		set_gemm(geo, positions, depth, geo->ch_per_group, groups);
	else
		set_gemm(geo, positions, geo->out_ch / (double) n->attrs.group, depth, groups);
	set_bias(n, &o, geo);
}

static void
gemm_geometry(const pm_graph *g, const pm_node *n, int64_t batch, pm_geometry *geo)
{
	pm_operands	o = pm_gemm_operands(g, n);
	pm_operand		out = pm_output_operand(n);
	double		cols = pm_dim_at(&out, -1, batch);
	double		count = pm_stacked(n, &o);
	double		rows = cols > 0 ? pm_count_at(&out, batch) / cols / count : 0;

	/* a product of two stacks is one product for each matrix; a stack times one matrix is one tall product */
	if (o.kernel.input >= 0 && o.kernel.shape->rank >= 3 && n->shape.rank >= 3)
	{
		rows = pm_dim_at(&out, -2, batch);
		for (int i = 0; i < n->shape.rank - 2; i++)
			count *= pm_dim_at(&out, i, batch);
		if (n->shape.rank == 4)
			set(geo, PM_HAS_HEADS, &geo->heads, pm_dim_at(&out, 1, 1));
	}
	set_gemm(geo, rows, cols, pm_inner_dim(n, &o, batch), count);
	if (n->shape.rank == 3 && n->batch_dim == 0)
		set(geo, PM_HAS_SEQ_LEN, &geo->seq_len, pm_dim_at(&out, 1, 1));
	set_bias(n, &o, geo);
}

/* Softmax and fused attention: heads and the length of the key sequence. */
static void
attention_geometry(const pm_graph *g, const pm_node *n, const pm_op_row *row, pm_geometry *geo)
{
	pm_operand		out = pm_output_operand(n);

	if (n->attrs.num_heads > 0)
		set(geo, PM_HAS_HEADS, &geo->heads, (double) n->attrs.num_heads);
	else if (n->shape.rank == 4)
		set(geo, PM_HAS_HEADS, &geo->heads, pm_dim_at(&out, 1, 1));
	set(geo, PM_HAS_SEQ_LEN, &geo->seq_len,
		row->flops == PM_FLOPS_ATTENTION ? pm_attention_keys(g, n, 1) : pm_dim_at(&out, -1, 1));
}

/* Everything else: channels and plane of rank 4, sequence and width of rank 3, width of rank 2. */
static void
plain_geometry(const pm_graph *g, const pm_node *n, pm_geometry *geo)
{
	pm_operand		out = pm_output_operand(n);
	pm_operand		in = {NULL, -1, -1, false, false};

	if (n->n_inputs > 0)
		in = pm_input_operand(g, n, 0);
	set_window(&n->attrs, geo);
	if (in.shape != NULL && in.shape->rank == 4)
		set_in_plane(&in, geo);
	if (n->shape.rank == 4)
		set_out_plane(&out, geo);
	else if (n->shape.rank == 3)
		set(geo, PM_HAS_SEQ_LEN, &geo->seq_len, pm_dim_at(&out, 1, 1));
	if (n->shape.rank == 3 || n->shape.rank == 2)
		set(geo, PM_HAS_OUT_CH, &geo->out_ch, pm_dim_at(&out, -1, 1));
	if (pm_op_row_of(n->op)->traits & PM_OP_SLOPE)
		set(geo, PM_HAS_ALPHA, &geo->alpha, isnan(n->attrs.alpha) ? 0.01 : fabs(n->attrs.alpha));
}

double
pm_alignment(double x)
{
	int			log = 0;

	while (log < 6 && x >= 1 && fmod(x, 2) == 0)
	{
		x /= 2;
		log++;
	}
	return log;
}

void
pm_node_geometry(const pm_graph *g, int i, int64_t batch, pm_geometry *geo)
{
	const pm_node *n = &g->nodes[i];
	const pm_op_row *row = pm_op_row_of(n->op);

	memset(geo, 0, sizeof(*geo));
	if (n->view || row->class == PM_CLASS_OTHER)
		return;
	if (row->flops == PM_FLOPS_CONV || row->flops == PM_FLOPS_CONV_TRANSPOSE)
		conv_geometry(g, n, row, batch, geo);
	else if (row->flops == PM_FLOPS_GEMM)
		gemm_geometry(g, n, batch, geo);
	else if (row->class == PM_CLASS_ATTENTION || row->flops == PM_FLOPS_ATTENTION)
		attention_geometry(g, n, row, geo);
	else
		plain_geometry(g, n, geo);
}
