/*
 * keeps.c - the table of the tensors that operators keep.
 */
#include "memory/keeps.h"

#include <string.h>

#define NONE	0
#define IN		PM_KEEP_INPUT
#define OUT		PM_KEEP_OUTPUT
#define FACTORS	PM_KEEP_FACTORS
#define INDEX	PM_KEEP_INDEX
#define MASK	PM_KEEP_MASK
#define STATS	PM_KEEP_STATISTICS
#define ALL		PM_KEEP_ALL
#define DIVISOR	PM_KEEP_DIVISOR
#define SHAPE	PM_KEEP_SHAPE
#define TYPE	PM_KEEP_TYPE
#define NORMED	PM_KEEP_NORMED
#define NEW		PM_PASS_NEW
#define SAME	PM_PASS_SAME
#define ADD		PM_PASS_ADD
#define IN_PLACE	PM_PASS_IN_PLACE

static const struct keeps_row
{
	const char *name;			/* of the catalogue */
	uint16_t	keep;
	uint8_t		pass;
}			table[] =
{
	/* products */
	{"Conv", FACTORS, NEW},
	{"ConvTranspose", FACTORS, NEW},
	{"DeformConv", ALL, NEW},
	{"Gemm", FACTORS, NEW},
	{"MatMul", FACTORS, NEW},
	{"Attention", ALL | OUT, NEW},
	{"aten::_euclidean_dist", ALL | OUT, NEW},
	{"aten::_cdist_forward", ALL | OUT, NEW},
	{"aten::mv", FACTORS, NEW},
	{"aten::dot", FACTORS, NEW},
	{"aten::linalg_inv_ex", OUT, NEW},
	{"aten::linalg_cholesky_ex", OUT, NEW},
	{"aten::_linalg_solve_ex", ALL | OUT, NEW},
	{"aten::linalg_solve_triangular", IN | OUT, NEW},
	{"aten::_linalg_det", IN | OUT, NEW},
	{"aten::_linalg_slogdet", IN | OUT, NEW},
	{"LSTM", IN | OUT, NEW},
	{"GRU", IN | OUT, NEW},
	{"RNN", IN | OUT, NEW},

	/* normalisations */
	{"BatchNormalization", IN | STATS, NEW},
	{"InPlaceABN", OUT | STATS, IN_PLACE},
	{"LayerNormalization", IN | STATS, NEW},
	{"GroupNormalization", IN | STATS, NEW},
	{"InstanceNormalization", IN | STATS, NEW},
	{"RMSNormalization", NORMED | STATS, NEW},	/* as programs of Llama write it: single operators, in 4 bytes */
	{"SkipLayerNormalization", IN | STATS, NEW},
	{"LpNormalization", IN | OUT, NEW},
	{"MeanVarianceNormalization", IN | STATS, NEW},
	{"LRN", IN | OUT, NEW},

	/* activations that need their output, and those that need their input */
	{"Relu", OUT, NEW},
	{"Sigmoid", OUT, NEW},
	{"Tanh", OUT, NEW},
	{"Softmax", OUT | TYPE, NEW},
	{"LogSoftmax", OUT | TYPE, NEW},
	{"Exp", OUT, NEW},
	{"aten::expm1", OUT, NEW},
	{"Sqrt", OUT, NEW},
	{"aten::rsqrt", OUT, NEW},
	{"Reciprocal", OUT, NEW},
	{"Tan", OUT, NEW},
	{"LeakyRelu", OUT, NEW},	/* libraries run it in place, where it needs its output */
	{"PRelu", IN, NEW},
	{"ThresholdedRelu", IN, NEW},
	{"Clip", IN, NEW},
	{"Elu", IN, NEW},
	{"Selu", IN, NEW},
	{"Celu", IN, NEW},
	{"Gelu", IN, NEW},
	{"Silu", IN, NEW},
	{"LogSigmoid", IN, NEW},
	{"Mish", IN, NEW},
	{"Softplus", IN, NEW},
	{"Softsign", IN, NEW},
	{"Shrink", IN, NEW},
	{"HardSigmoid", IN, NEW},
	{"HardSwish", IN, NEW},
	{"HardTanh", IN, NEW},
	{"aten::glu", IN, NEW},
	{"Dropout", MASK, NEW},
	{"Abs", IN, NEW},
	{"Erf", IN, NEW},
	{"Sin", IN, NEW},
	{"Cos", IN, NEW},
	{"Pow", IN, NEW},
	{"Log", IN, NEW},
	{"aten::log1p", IN, NEW},

	/* arithmetic */
	{"Add", NONE, ADD},
	{"Sub", NONE, ADD},
	{"Sum", NONE, ADD},
	{"Mean", NONE, NEW},
	{"Neg", NONE, NEW},
	{"Mul", FACTORS, NEW},
	{"aten::addcmul", FACTORS, NEW},
	{"Div", DIVISOR, NEW},
	{"Max", ALL, NEW},
	{"Min", ALL, NEW},
	{"Where", MASK, NEW},
	{"aten::masked_fill", MASK, NEW},
	{"Mod", NONE, NEW},
	{"CumSum", NONE, NEW},

	/* pooling and reductions */
	{"MaxPool", IN | INDEX, NEW},
	{"aten::adaptive_max_pool2d", IN | INDEX, NEW},
	{"GlobalMaxPool", IN | INDEX, NEW},
	{"AveragePool", IN, NEW},
	{"aten::adaptive_avg_pool2d", IN, NEW},
	{"GlobalAveragePool", SHAPE, NEW},
	{"ReduceMean", SHAPE, NEW},
	{"ReduceSum", NONE, NEW},
	{"ReduceMax", IN | OUT, NEW},
	{"ReduceMin", IN | OUT, NEW},
	{"ReduceL1", IN, NEW},
	{"ReduceL2", IN | OUT, NEW},
	{"ReduceSumSquare", IN, NEW},
	{"ReduceLogSumExp", IN | OUT, NEW},
	{"ReduceProd", IN | OUT, NEW},
	{"aten::max", INDEX, NEW},
	{"aten::min", INDEX, NEW},
	{"aten::var", IN, NEW},
	{"aten::var_mean", IN, NEW},
	{"aten::std", IN | OUT, NEW},
	{"TopK", INDEX, NEW},
	{"aten::sort", INDEX, NEW},
	{"CrossEntropyLoss", IN | OUT, NEW},
	{"NllLoss", IN, NEW},

	/* look-ups keep indices, which the graph has as an input without a gradient */
	{"Gather", NONE, NEW},
	{"GatherElements", NONE, NEW},
	{"GatherND", NONE, NEW},
	{"aten::index", NONE, NEW},
	{"aten::embedding_bag", NONE, NEW},
	{"ScatterElements", NONE, NEW},
	{"ScatterND", NONE, NEW},
	{"aten::scatter_add", NONE, NEW},
	{"aten::_sparse_coo_tensor_with_dims_and_tensors", NONE, SAME},
	{"aten::_sparse_mm", FACTORS, NEW},

	/* moves */
	{"Cast", NONE, NEW},
	{"Concat", NONE, SAME},
	{"Pad", NONE, NEW},
	{"Tile", NONE, NEW},
	{"Expand", NONE, NEW},
	{"Transpose", NONE, SAME},
	{"Slice", NONE, NEW},
	{"Split", NONE, NEW},
	{"Reshape", NONE, SAME},
	{"Flatten", NONE, SAME},
	{"Squeeze", NONE, SAME},
	{"Unsqueeze", NONE, SAME},
	{"Identity", NONE, SAME},
	{"aten::clone", NONE, SAME},
	{"DepthToSpace", NONE, NEW},
	{"SpaceToDepth", NONE, NEW},
	{"ReverseSequence", NONE, NEW},
	{"Trilu", NONE, NEW},
	{"Resize", NONE, NEW},
	{"GridSample", ALL, NEW},
	{"aten::affine_grid_generator", NONE, NEW},
	{"aten::roll", NONE, NEW},
	{"aten::flip", NONE, NEW},
	{"aten::unfold", NONE, NEW},
	{"aten::im2col", NONE, NEW},
	{"aten::col2im", NONE, NEW},
	{"DFT", NONE, NEW},
	{"aten::_fft_r2c", NONE, NEW},
	{"aten::_fft_c2r", NONE, NEW},
	{"aten::complex", NONE, NEW},
	{"fx::setitem", NONE, NEW},
};

#define N_ROWS ((int) (sizeof(table) / sizeof(table[0])))

static pm_keeps
keeps_of(int op)
{
	const char *name = pm_op_name(op);
	pm_keeps	k = {PM_KEEP_ALL, PM_PASS_NEW};

	/* what lets no gradient pass keeps nothing */
	if (op != PM_OP_UNKNOWN && !pm_op_differentiable(op))
		k.keep = 0;
	for (int i = 0; i < N_ROWS; i++)
		if (table[i].name[0] == name[0] && strcmp(table[i].name, name) == 0)
			return (pm_keeps) {table[i].keep, table[i].pass};
	return k;
}

void
pm_keeps_of_all(pm_keeps *rows)
{
	for (int op = 0; op < pm_op_count(); op++)
		rows[op] = keeps_of(op);
}
