/*
 * oplib.h - the operator catalogue: name -> class, FLOP and byte rules.
 *
 * A new operator type is one row in oplib.c.  FLOPs count 2 per
 * multiply-accumulate.  Bytes are what has to move through memory at least
 * once.  Formulas: docs/mdot.md.
 */
#ifndef PM_OPLIB_H
#define PM_OPLIB_H

#include "graph/graph.h"

#define PM_OP_UNKNOWN	0

typedef enum pm_class
{
	PM_CLASS_CONV,
	PM_CLASS_GEMM,
	PM_CLASS_NORM,
	PM_CLASS_ELEMENTWISE,
	PM_CLASS_POOL,				/* pooling and reductions */
	PM_CLASS_ATTENTION,			/* softmax, fused attention */
	PM_CLASS_EMBEDDING,
	PM_CLASS_MOVE,				/* copies, and every operator that is not known */
	PM_CLASS_RECURRENT,
	PM_CLASS_OTHER,				/* inputs, constants: no work */
	PM_N_CLASSES
} pm_class;

/* Convolutions behave so differently that every method needs them told apart. */
typedef enum pm_conv_kind
{
	PM_CONV_NONE,				/* not a convolution */
	PM_CONV_1X1,
	PM_CONV_KXK,
	PM_CONV_GROUPED,
	PM_CONV_DEPTHWISE,
	PM_CONV_TRANSPOSE,
	PM_N_CONV_KINDS
} pm_conv_kind;

typedef enum pm_dtype
{
	PM_FP32, PM_TF32, PM_AMP, PM_BF16, PM_FP16, PM_N_DTYPES
} pm_dtype;

typedef enum pm_layout
{
	PM_NCHW, PM_NHWC, PM_N_LAYOUTS
} pm_layout;

typedef enum pm_optimizer
{
	PM_SGD, PM_SGD_MOMENTUM, PM_ADAM, PM_ADAMW, PM_OPT_OTHER,
	PM_OPT_NONE,				/* a step that updates nothing */
	PM_N_OPTIMIZERS
} pm_optimizer;

extern const char *const pm_class_name[PM_N_CLASSES];
extern const char *const pm_conv_kind_name[PM_N_CONV_KINDS];

/* Catalogue look-ups. op is pm_node.op; PM_OP_UNKNOWN has a row of its own (class move). */
int			pm_op_find(const char *name);	/* PM_OP_UNKNOWN when not known */
int			pm_op_count(void);
const char *pm_op_name(int op);
const char *pm_op_alias(int i);			/* i-th other spelling, NULL behind the last */
pm_class	pm_op_class(int op);
/* Whether a gradient passes: not through comparisons, ArgMax, random numbers, ... */
bool		pm_op_differentiable(int op);

/* Work of one node, once. Doubles: exact to 2^53. All >= 0. */
typedef struct pm_work
{
	double		flops_forward,
				flops_backward,
				flops_update;	/* optimizer */
	double		bytes_forward,
				bytes_backward,
				bytes_update;
	double		params;			/* trainable parameters owned by this node */
	double		in_elems;		/* elements of all data inputs */
	double		out_elems;		/* elements of all outputs */
	double		weight_elems;	/* elements of weights, computed weights included */
	double		kernels_forward;	/* estimated kernel launches; 0 for views and inputs */
	double		kernels_backward;
	bool		tensor_core;	/* matrix product that the device's matrix units can take */
} pm_work;

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
	double		group_fast;		/* 1: groups that vendors' matrix-unit kernels take, see group_is_fast() */
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
	PM_HAS_HEADS, PM_HAS_SEQ_LEN, PM_HAS_OUT_PER_GROUP, PM_HAS_GROUP_ALIGNMENT, PM_HAS_GROUP_FAST, PM_HAS_WIDE_WINDOW,
	PM_HAS_ALPHA, PM_HAS_BIAS
};

/*
 * Work of node i of a finished g at the given batch, element types and optimizer.
 * PM_AMP: 2 bytes an element, but 4 for what autocast runs in FP32 (softmax,
 * layer and group norm, sums, exp, pow, losses); optimizer states in 4.
 * PM_BF16, PM_FP16: the whole model in 2 bytes, optimizer states included.
 * The backward pass covers only what needs a gradient: a product of an input
 * and a weight has one gradient product, not two.
 * Views and inputs: all zero. Unknown operators: a memory move of inputs and outputs.
 */
void		pm_node_work(const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_optimizer opt, pm_work *w);

/* log2 of the largest power of two that divides x, up to 64: what vector loads and matrix units like. */
double		pm_alignment(double x);

/* Canonical form of node i at the given batch; rows of M or gemm_batch grow with it. */
void		pm_node_geometry(const pm_graph *g, int i, int64_t batch, pm_geometry *geo);

#endif
