/*
 * op_geometry.h - the sizes of one operator, by name.
 */
#ifndef PM_OP_GEOMETRY_H
#define PM_OP_GEOMETRY_H

#include "graph/graph.h"
#include "graph/op_catalogue.h"

/*
 * The sizes of a convolution or matrix product, for features and reports.
 * gemm: out[m,n] += a[m,k] b[k,n], `gemm_batch` times; also set for convolutions
 * (one product for each group).  Other operators have those of channels, plane,
 * window, heads and sequence that they know.  Fields that are not in `present`
 * are 0.
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
	double		group_alignment;	/* grouped convolutions: pm_alignment() of the number of groups */
	double		width_alignment;	/* grouped convolutions: pm_alignment() of the input channels of one group */
	double		group_narrow;	/* grouped convolutions: 1: many narrow groups, which libraries have fast kernels for */
	double		wide_window;	/* convolutions: 1: a side of the kernel is over 7, which libraries have no special kernels for */
	double		alpha;			/* LeakyRelu: slope of the negative side, without its sign */
	bool		has_bias;
	unsigned	present;		/* bits 1 << PM_HAS_... of the fields that the operator has */
} pm_geometry;

/* A usual block of a product's result, rows and columns, which one multiprocessor computes at a time. */
#define PM_TILE_M	128
#define PM_TILE_N	64

/* Bits of pm_geometry.present, in the order of the fields above. */
enum
{
	PM_HAS_IN_CH, PM_HAS_OUT_CH, PM_HAS_IN_H, PM_HAS_IN_W, PM_HAS_OUT_H, PM_HAS_OUT_W,
	PM_HAS_K_H, PM_HAS_K_W, PM_HAS_S_H, PM_HAS_S_W, PM_HAS_PAD_H, PM_HAS_PAD_W, PM_HAS_DILATION,
	PM_HAS_GROUPS, PM_HAS_CH_PER_GROUP, PM_HAS_GEMM_M, PM_HAS_GEMM_N, PM_HAS_GEMM_K, PM_HAS_GEMM_BATCH,
	PM_HAS_HEADS, PM_HAS_SEQ_LEN, PM_HAS_OUT_PER_GROUP, PM_HAS_GROUP_ALIGNMENT, PM_HAS_WIDTH_ALIGNMENT, PM_HAS_GROUP_NARROW, PM_HAS_WIDE_WINDOW,
	PM_HAS_ALPHA, PM_HAS_BIAS, PM_N_HAS
};

/*
 * log2 of the largest power of two, up to 64, that divides x: 0 to 6; 0 for x < 1.  Vector loads and matrix units are
 * faster if sizes are multiples of such powers.
 */
double		pm_alignment(double x);

/* *geo: the sizes of node i of a finished graph at this batch; with the batch, gemm_m or gemm_batch grows. */
void		pm_node_geometry(const pm_graph *g, int i, int64_t batch, pm_geometry *geo);

#endif
