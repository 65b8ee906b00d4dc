/*
 * op_geometry.h - the sizes of one operator, by name.
 */
#ifndef PM_OP_GEOMETRY_H
#define PM_OP_GEOMETRY_H

#include "graph/graph.h"
#include "graph/op_catalogue.h"

/*
 * A convolution or matrix product in canonical form, for features and reports.
 * gemm: out[m,n] += a[m,k] b[k,n], `gemm_batch` times; set for convolutions
 * too (one product a group).  Other operators have what applies of channels,
 * plane, window, heads, sequence.
 */
typedef struct pm_geometry
{
	pm_conv_kind conv;
	double		in_ch,
				out_ch,
				in_h,
				in_w,
				out_h,
				out_w;
	double		k_h,
				k_w,
				s_h,
				s_w,
				pad_h,
				pad_w,
				dilation;
	double		groups,
				ch_per_group;
	double		gemm_m,
				gemm_n,
				gemm_k,
				gemm_batch;
	double		heads,
				seq_len;
	double		out_per_group;	/* grouped convolutions: output channels of one group */
	double		group_alignment;	/* and the largest power of two, up to 64, that divides the number of groups, as log2 */
	double		width_alignment;	/* the same of the input channels of one group */
	double		group_narrow;	/* and 1 for many narrow groups, see groups_are_fast() */
	double		wide_window;	/* convolutions: 1 when a side of the kernel is over 7, for which there are no special kernels */
	double		alpha;			/* LeakyRelu */
	bool		has_bias;
	unsigned	present;		/* bit set of pm_slot (tokens.h order) that apply */
} pm_geometry;

/* Bits of pm_geometry.present, in the order of the fields above. */
enum
{
	PM_HAS_IN_CH, PM_HAS_OUT_CH, PM_HAS_IN_H, PM_HAS_IN_W, PM_HAS_OUT_H, PM_HAS_OUT_W,
	PM_HAS_K_H, PM_HAS_K_W, PM_HAS_S_H, PM_HAS_S_W, PM_HAS_PAD_H, PM_HAS_PAD_W, PM_HAS_DILATION,
	PM_HAS_GROUPS, PM_HAS_CH_PER_GROUP, PM_HAS_GEMM_M, PM_HAS_GEMM_N, PM_HAS_GEMM_K, PM_HAS_GEMM_BATCH,
	PM_HAS_HEADS, PM_HAS_SEQ_LEN, PM_HAS_OUT_PER_GROUP, PM_HAS_GROUP_ALIGNMENT, PM_HAS_WIDTH_ALIGNMENT, PM_HAS_GROUP_NARROW, PM_HAS_WIDE_WINDOW,
	PM_HAS_ALPHA, PM_HAS_BIAS, PM_N_HAS
};

/* log2 of the largest power of two that divides x, up to 64: what vector loads and matrix units like. */
double		pm_alignment(double x);

/* Canonical form of node i at the given batch; rows of M or gemm_batch grow with it. */
void		pm_node_geometry(const pm_graph *g, int i, int64_t batch, pm_geometry *geo);

#endif
