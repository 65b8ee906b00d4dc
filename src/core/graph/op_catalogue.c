/*
 * op_catalogue.c - the tables of operators.
 *
 * A new operator is one row of `catalogue`, another spelling of a known one is
 * one row of `aliases`.  What the rules mean is in op_work.c, which knows no
 * operator by name.
 *
 * Where a count is not given by the definition of an operator, it is the least
 * that a device has to do.  Special functions (exp, tanh, erf ...) count as 8
 * operations, a normalisation as 8 an element (statistics, then scaling), a
 * comparison or an addition as 1.
 */
#include "graph/op_catalogue.h"

#include <string.h>

const char *const pm_class_name[PM_N_CLASSES] = {
	"conv", "gemm", "norm", "elementwise", "pool", "attention", "embedding", "move", "recurrent", "other"
};
const char *const pm_conv_kind_name[PM_N_CONV_KINDS] = {
	"none", "1x1", "kxk", "grouped", "depthwise", "transpose"
};

/* ---------- the catalogue ---------- */

/* Short names keep a row on a line. */
#define F_NONE	PM_FLOPS_NONE
#define F_OUT	PM_FLOPS_OUT
#define F_IN	PM_FLOPS_IN
#define F_WINDOW	PM_FLOPS_WINDOW
#define F_CONVT	PM_FLOPS_CONV_TRANSPOSE
#define F_CONV	PM_FLOPS_CONV
#define F_GEMM	PM_FLOPS_GEMM
#define F_RNN	PM_FLOPS_RNN
#define F_ATTN	PM_FLOPS_ATTENTION
#define F_BILIN	PM_FLOPS_BILINEAR
#define F_BAG	PM_FLOPS_BAG
#define F_LARGEST	PM_FLOPS_LARGEST
#define F_ROWS	PM_FLOPS_ROWS
#define F_SPARSE	PM_FLOPS_SPARSE
#define F_CUBES	PM_FLOPS_CUBES
#define F_SOLVE	PM_FLOPS_SOLVE
#define B_NONE	PM_BYTES_NONE
#define B_IO	PM_BYTES_IO
#define B_WRITE	PM_BYTES_WRITE
#define B_NORM	PM_BYTES_NORM
#define B_GATHER	PM_BYTES_GATHER
#define B_BAG	PM_BYTES_BAG
#define B_SPARSE	PM_BYTES_SPARSE
#define B_DIST	PM_BYTES_DISTANCE
#define B_BILIN	PM_BYTES_BILINEAR
#define B_RNN	PM_BYTES_RNN
#define B_FACTORS	PM_BYTES_FACTORS
#define B_AFFINE	PM_BYTES_AFFINE
#define G_NONE	PM_BACK_NONE
#define G_PROD	PM_BACK_PRODUCTS
#define G_PASS	PM_BACK_PASS
#define G_GRAD	PM_BACK_GRAD
#define G_SAVED	PM_BACK_SAVED
#define G_MUL	PM_BACK_MUL
#define G_DIV	PM_BACK_DIV
#define G_STAT	PM_BACK_STAT
#define G_ABN	PM_BACK_ABN
#define G_SPREAD	PM_BACK_SPREAD
#define G_INDEX	PM_BACK_INDEX
#define G_MASK	PM_BACK_MASK
#define G_MOVE	PM_BACK_MOVE
#define G_ZEROS	PM_BACK_ZEROS
#define G_TABLE	PM_BACK_TABLE
#define G_DIST	PM_BACK_DISTANCE
#define G_PAIRS	PM_BACK_PAIRS
#define G_AGAIN	PM_BACK_AGAIN
#define G_VECTORS	PM_BACK_VECTORS
#define G_INVERSE	PM_BACK_INVERSE
#define G_CHOLESKY	PM_BACK_CHOLESKY
#define G_SOLVE	PM_BACK_SOLVE
#define G_DET	PM_BACK_DET
#define B_INDEX	PM_BYTES_INDEX
#define B_MASK	PM_BYTES_MASK
#define CONV	PM_CLASS_CONV
#define GEMM	PM_CLASS_GEMM
#define NORM	PM_CLASS_NORM
#define ELEM	PM_CLASS_ELEMENTWISE
#define POOL	PM_CLASS_POOL
#define ATTN	PM_CLASS_ATTENTION
#define EMBED	PM_CLASS_EMBEDDING
#define MOVE	PM_CLASS_MOVE
#define RECUR	PM_CLASS_RECURRENT
#define OTHER	PM_CLASS_OTHER
#define C_FIRST	PM_CAST_FIRST
#define C_WIDEST	PM_CAST_WIDEST
#define C_HALF	PM_CAST_HALF
#define C_FLOAT	PM_CAST_FLOAT
#define C_FUSED	PM_CAST_FLOAT_FUSED
#define C_PROMOTE	PM_CAST_PROMOTE
#define L_PLAIN	PM_LAY_PLAIN
#define L_COPY	PM_LAY_PLAIN_COPY
#define L_LIKE	PM_LAY_LIKE
#define L_FORMAT	PM_LAY_FORMAT
#define L_CONCAT	PM_LAY_CONCAT
#define L_CONV	PM_LAY_CONV
#define L_RESHAPE	PM_LAY_RESHAPE
#define L_TRANSPOSE	PM_LAY_TRANSPOSE
#define L_EXPAND	PM_LAY_EXPAND
#define L_SLICE	PM_LAY_SLICE
#define L_SPLIT	PM_LAY_SPLIT
#define N	0
#define S	PM_OP_SLOPE

static const pm_op_row catalogue[] =
{
	/* name, class, flops, factor, bytes, backward, autocast, layout, traits, kernels forward, backward */
	{"(unknown)", MOVE, F_NONE, 0, B_IO, G_SAVED, C_FIRST, L_PLAIN, N, 1, 1},	/* PM_OP_UNKNOWN */

	/* no work */
	{"Input", OTHER, F_NONE, 0, B_NONE, G_NONE, C_FIRST, L_PLAIN, N, 0, 0},
	{"Constant", OTHER, F_NONE, 0, B_NONE, G_NONE, C_FIRST, L_PLAIN, N, 0, 0},
	{"Shape", OTHER, F_NONE, 0, B_NONE, G_NONE, C_FIRST, L_PLAIN, N, 0, 0},
	{"Size", OTHER, F_NONE, 0, B_NONE, G_NONE, C_FIRST, L_PLAIN, N, 0, 0},
	{"aten::empty", OTHER, F_NONE, 0, B_NONE, G_NONE, C_FIRST, L_PLAIN, N, 0, 0},
	{"aten::new_empty", OTHER, F_NONE, 0, B_NONE, G_NONE, C_FIRST, L_PLAIN, N, 0, 0},
	{"aten::detach", OTHER, F_NONE, 0, B_NONE, G_NONE, C_FIRST, L_RESHAPE, PM_OP_DETACHES, 0, 0},

	/* matrix products */
	{"Conv", CONV, F_CONV, 2, B_IO, G_PROD, C_HALF, L_CONV, N, 1, 0},
	{"ConvTranspose", CONV, F_CONVT, 2, B_IO, G_PROD, C_HALF, L_CONV, N, 1, 0},
	{"DeformConv", CONV, F_CONV, 2, B_IO, G_PROD, C_FLOAT, L_COPY, N, 2, 1},
	{"Gemm", GEMM, F_GEMM, 2, B_IO, G_PROD, C_HALF, L_PLAIN, N, 1, 0},
	/* directly below Gemm, as its trait says (test/core/test_op_work.c) */
	{"MatMul", GEMM, F_GEMM, 2, B_IO, G_PROD, C_HALF, L_PLAIN, PM_OP_OWN_AS_ABOVE, 1, 0},
	/* cdist: as Distance.cpp does it, a product of both operands with their squares beside them */
	{"aten::_euclidean_dist", GEMM, F_GEMM, 2, B_DIST, G_DIST, C_FLOAT, L_PLAIN, N, 12, 11},
	/* cdist of few rows, or of another norm: a difference, its norm and a sum for each pair of numbers */
	{"aten::_cdist_forward", GEMM, F_GEMM, 3, B_IO, G_PAIRS, C_FLOAT, L_PLAIN, N, 1, 2},
	/* nn.Bilinear: a loop over the units of its output, each a product with its matrix, one with the other operand, and an addition */
	{"aten::_trilinear", GEMM, F_BILIN, 2, B_BILIN, G_AGAIN, C_PROMOTE, L_PLAIN, N, 3, 3},
	/* fused: two products, whose scores never reach memory, and not a softmax */
	{"Attention", GEMM, F_ATTN, 4, B_IO, G_PROD, C_HALF, L_PLAIN, N, 1, 0},
	{"LSTM", RECUR, F_RNN, 4, B_RNN, G_PROD, C_HALF, L_COPY, N, 1, 0},
	{"GRU", RECUR, F_RNN, 3, B_RNN, G_PROD, C_HALF, L_COPY, N, 1, 0},
	{"RNN", RECUR, F_RNN, 1, B_RNN, G_PROD, C_HALF, L_COPY, N, 1, 0},

	/* normalisations */
	{"BatchNormalization", NORM, F_OUT, 8, B_NORM, G_STAT, C_FIRST, L_FORMAT, N, 2, 1},
	{"InPlaceABN", NORM, F_OUT, 9, B_NORM, G_ABN, C_FIRST, L_FORMAT, N, 3, 2},
	{"LayerNormalization", NORM, F_OUT, 8, B_IO, G_STAT, C_FLOAT, L_COPY, N, 1, 2},
	{"GroupNormalization", NORM, F_OUT, 8, B_NORM, G_STAT, C_FLOAT, L_COPY, N, 3, 4},
	{"InstanceNormalization", NORM, F_OUT, 8, B_NORM, G_STAT, C_FIRST, L_FORMAT, N, 1, 1},
	{"RMSNormalization", NORM, F_OUT, 4, B_IO, G_STAT, C_FLOAT, L_COPY, N, 1, 2},
	{"SkipLayerNormalization", NORM, F_OUT, 9, B_IO, G_STAT, C_FLOAT, L_COPY, N, 1, 2},
	{"LpNormalization", NORM, F_OUT, 4, B_NORM, G_STAT, C_FLOAT, L_PLAIN, N, 3, 4},
	{"MeanVarianceNormalization", NORM, F_OUT, 8, B_NORM, G_STAT, C_FLOAT, L_PLAIN, N, 3, 4},
	{"LRN", NORM, F_OUT, 8, B_NORM, G_SAVED, C_FIRST, L_FORMAT, N, 4, 6},
	{"aten::_weight_norm", NORM, F_OUT, 4, B_NORM, G_SAVED, C_FIRST, L_PLAIN, N, 1, 1},

	/* activations */
	{"Relu", ELEM, F_OUT, 1, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"LeakyRelu", ELEM, F_OUT, 1, B_IO, G_SAVED, C_WIDEST, L_LIKE, S, 1, 1},
	{"PRelu", ELEM, F_OUT, 1, B_IO, G_SAVED, C_HALF, L_LIKE, N, 1, 2},
	{"ThresholdedRelu", ELEM, F_OUT, 1, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"Clip", ELEM, F_OUT, 1, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"Elu", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"Selu", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"Celu", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"Gelu", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"Silu", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"Sigmoid", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"LogSigmoid", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"Tanh", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"Mish", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"Softplus", ELEM, F_OUT, 8, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 1},
	{"Softsign", ELEM, F_OUT, 3, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 3, 4},
	{"Shrink", ELEM, F_OUT, 1, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"HardSigmoid", ELEM, F_OUT, 3, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"HardSwish", ELEM, F_OUT, 4, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"HardTanh", ELEM, F_OUT, 1, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"aten::glu", ELEM, F_OUT, 9, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 1},
	{"Dropout", ELEM, F_OUT, 2, B_MASK, G_MASK, C_FIRST, L_LIKE, N, 1, 1},

	/* arithmetic */
	{"Add", ELEM, F_OUT, 1, B_IO, G_PASS, C_WIDEST, L_LIKE, N, 1, 0},
	{"Sub", ELEM, F_OUT, 1, B_IO, G_PASS, C_WIDEST, L_LIKE, N, 1, 1},
	{"Mul", ELEM, F_OUT, 1, B_IO, G_MUL, C_WIDEST, L_LIKE, N, 1, 1},
	{"Div", ELEM, F_OUT, 1, B_IO, G_DIV, C_WIDEST, L_LIKE, N, 1, 1},
	{"Mod", ELEM, F_OUT, 1, B_IO, G_PASS, C_WIDEST, L_LIKE, N, 1, 0},
	{"Neg", ELEM, F_OUT, 1, B_IO, G_GRAD, C_WIDEST, L_LIKE, N, 1, 1},
	{"Abs", ELEM, F_OUT, 1, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 2},
	{"Max", ELEM, F_OUT, 1, B_IO, G_MUL, C_WIDEST, L_LIKE, N, 1, 3},
	{"Min", ELEM, F_OUT, 1, B_IO, G_MUL, C_WIDEST, L_LIKE, N, 1, 3},
	{"Sum", ELEM, F_OUT, 1, B_IO, G_PASS, C_WIDEST, L_LIKE, N, 1, 0},
	{"Mean", ELEM, F_OUT, 1, B_IO, G_GRAD, C_WIDEST, L_LIKE, N, 1, 1},
	{"Where", ELEM, F_OUT, 1, B_IO, G_MUL, C_WIDEST, L_LIKE, N, 1, 1},
	{"Sqrt", ELEM, F_OUT, 1, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 2},
	{"Reciprocal", ELEM, F_OUT, 1, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 2},
	{"aten::rsqrt", ELEM, F_OUT, 1, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 2},
	{"aten::addcmul", ELEM, F_OUT, 2, B_IO, G_MUL, C_PROMOTE, L_LIKE, N, 1, 1},
	{"aten::addcdiv", ELEM, F_OUT, 2, B_IO, G_MUL, C_PROMOTE, L_LIKE, N, 1, 1},
	{"aten::lerp", ELEM, F_OUT, 3, B_IO, G_MUL, C_WIDEST, L_LIKE, N, 1, 1},
	{"aten::masked_fill", ELEM, F_OUT, 1, B_IO, G_GRAD, C_FIRST, L_LIKE, N, 1, 1},
	{"Pow", ELEM, F_OUT, 8, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 3},
	{"Exp", ELEM, F_OUT, 8, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 1},
	{"Log", ELEM, F_OUT, 8, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 1},
	{"aten::complex", ELEM, F_NONE, 0, B_IO, G_GRAD, C_WIDEST, L_LIKE, N, 1, 1},
	{"aten::polar", ELEM, F_OUT, 16, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 4},
	{"aten::log1p", ELEM, F_OUT, 8, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 1},
	{"aten::expm1", ELEM, F_OUT, 8, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 1},
	{"Erf", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 4},
	{"Sin", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 2},
	{"Cos", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 2},
	{"Tan", ELEM, F_OUT, 8, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 4},
	{"Asin", ELEM, F_OUT, 8, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 4},
	{"Acos", ELEM, F_OUT, 8, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 4},
	{"Atan", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 4},
	{"Sinh", ELEM, F_OUT, 8, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 2},
	{"Cosh", ELEM, F_OUT, 8, B_IO, G_SAVED, C_FLOAT, L_LIKE, N, 1, 2},
	{"Asinh", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 4},
	{"Acosh", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 4},
	{"Atanh", ELEM, F_OUT, 8, B_IO, G_SAVED, C_WIDEST, L_LIKE, N, 1, 4},
	{"CumSum", ELEM, F_OUT, 1, B_IO, G_GRAD, C_FUSED, L_LIKE, N, 1, 3},
	{"aten::cumprod", ELEM, F_OUT, 1, B_IO, G_SAVED, C_FUSED, L_LIKE, N, 1, 4},

	/* comparisons, logic, rounding: no gradient */
	{"Equal", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"aten::ne", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"Less", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"LessOrEqual", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"Greater", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"GreaterOrEqual", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"And", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"Or", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"Xor", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"Not", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"BitShift", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"IsNaN", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"IsInf", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"Sign", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"Round", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"Floor", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"Ceil", ELEM, F_OUT, 1, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},
	{"aten::bucketize", ELEM, F_OUT, 8, B_IO, G_NONE, C_WIDEST, L_LIKE, N, 1, 0},

	/* random numbers and generated tensors: written, not read */
	{"Bernoulli", ELEM, F_OUT, 1, B_WRITE, G_NONE, C_WIDEST, L_PLAIN, N, 1, 0},
	{"RandomUniform", ELEM, F_OUT, 1, B_WRITE, G_NONE, C_WIDEST, L_PLAIN, N, 1, 0},
	{"RandomNormal", ELEM, F_OUT, 8, B_WRITE, G_NONE, C_WIDEST, L_PLAIN, N, 1, 0},
	{"ConstantOfShape", MOVE, F_NONE, 0, B_WRITE, G_NONE, C_FIRST, L_PLAIN, N, 1, 0},
	{"Range", MOVE, F_NONE, 0, B_WRITE, G_NONE, C_FIRST, L_PLAIN, N, 1, 0},
	{"EyeLike", MOVE, F_NONE, 0, B_WRITE, G_NONE, C_FIRST, L_PLAIN, N, 2, 0},
	{"OneHot", MOVE, F_OUT, 1, B_IO, G_NONE, C_FIRST, L_PLAIN, N, 2, 0},

	/* pooling and reductions */
	{"MaxPool", POOL, F_WINDOW, 1, B_INDEX, G_INDEX, C_FIRST, L_FORMAT, N, 1, 1},
	{"AveragePool", POOL, F_WINDOW, 1, B_IO, G_SPREAD, C_FIRST, L_FORMAT, N, 1, 1},
	{"LpPool", POOL, F_WINDOW, 2, B_IO, G_SPREAD, C_FIRST, L_FORMAT, N, 2, 1},
	{"GlobalAveragePool", POOL, F_IN, 1, B_IO, G_SPREAD, C_FIRST, L_PLAIN, N, 1, 1},
	{"GlobalMaxPool", POOL, F_IN, 1, B_INDEX, G_INDEX, C_FIRST, L_PLAIN, N, 1, 1},
	{"aten::adaptive_avg_pool2d", POOL, F_IN, 1, B_IO, G_SPREAD, C_FIRST, L_FORMAT, N, 1, 1},
	{"aten::adaptive_max_pool2d", POOL, F_IN, 1, B_INDEX, G_INDEX, C_FIRST, L_FORMAT, N, 1, 1},
	{"ReduceSum", POOL, F_IN, 1, B_IO, G_PASS, C_FUSED, L_PLAIN, N, 1, 0},
	{"ReduceMean", POOL, F_IN, 1, B_IO, G_SPREAD, C_FIRST, L_PLAIN, N, 1, 1},
	{"ReduceMax", POOL, F_IN, 1, B_IO, G_SAVED, C_FIRST, L_PLAIN, N, 1, 2},
	{"ReduceMin", POOL, F_IN, 1, B_IO, G_SAVED, C_FIRST, L_PLAIN, N, 1, 2},
	{"ReduceProd", POOL, F_IN, 1, B_IO, G_SAVED, C_FUSED, L_PLAIN, N, 1, 2},
	{"ReduceL1", POOL, F_IN, 2, B_IO, G_SAVED, C_FUSED, L_PLAIN, N, 1, 3},
	{"ReduceL2", POOL, F_IN, 2, B_IO, G_SAVED, C_FUSED, L_PLAIN, N, 1, 2},
	{"ReduceSumSquare", POOL, F_IN, 2, B_IO, G_SAVED, C_FUSED, L_PLAIN, N, 1, 2},
	{"ReduceLogSum", POOL, F_IN, 1, B_IO, G_SAVED, C_FLOAT, L_PLAIN, N, 2, 2},
	{"ReduceLogSumExp", POOL, F_IN, 8, B_IO, G_SAVED, C_FLOAT, L_PLAIN, N, 1, 2},
	{"aten::max", POOL, F_IN, 1, B_IO, G_SPREAD, C_FIRST, L_PLAIN, N, 1, 2},
	{"aten::min", POOL, F_IN, 1, B_IO, G_SPREAD, C_FIRST, L_PLAIN, N, 1, 2},
	{"aten::var", POOL, F_IN, 3, B_IO, G_SAVED, C_FIRST, L_PLAIN, N, 1, 2},
	{"aten::var_mean", POOL, F_IN, 3, B_IO, G_SAVED, C_FIRST, L_PLAIN, N, 1, 2},
	{"aten::std", POOL, F_IN, 3, B_IO, G_SAVED, C_FIRST, L_PLAIN, N, 1, 3},
	{"ArgMax", POOL, F_IN, 1, B_IO, G_NONE, C_FIRST, L_PLAIN, N, 1, 0},
	{"ArgMin", POOL, F_IN, 1, B_IO, G_NONE, C_FIRST, L_PLAIN, N, 1, 0},
	{"aten::any", POOL, F_IN, 1, B_IO, G_NONE, C_FIRST, L_PLAIN, N, 1, 0},
	{"aten::all", POOL, F_IN, 1, B_IO, G_NONE, C_FIRST, L_PLAIN, N, 1, 0},
	{"aten::count_nonzero", POOL, F_IN, 1, B_IO, G_NONE, C_FIRST, L_PLAIN, N, 1, 0},
	{"NonZero", POOL, F_IN, 1, B_IO, G_NONE, C_FIRST, L_PLAIN, N, 4, 0},
	{"Unique", POOL, F_IN, 8, B_IO, G_NONE, C_FIRST, L_PLAIN, N, 8, 0},
	{"TopK", POOL, F_IN, 8, B_IO, G_SPREAD, C_FIRST, L_PLAIN, N, 2, 2},
	{"aten::sort", POOL, F_IN, 16, B_IO, G_SPREAD, C_FIRST, L_PLAIN, N, 4, 2},
	{"NonMaxSuppression", POOL, F_IN, 8, B_IO, G_NONE, C_FIRST, L_PLAIN, N, 4, 0},
	{"CrossEntropyLoss", POOL, F_IN, 6, B_IO, G_SAVED, C_FUSED, L_PLAIN, N, 2, 2},
	{"NllLoss", POOL, F_IN, 1, B_IO, G_SPREAD, C_FUSED, L_PLAIN, N, 1, 2},
	{"aten::mse_loss", POOL, F_IN, 3, B_IO, G_SAVED, C_FLOAT, L_PLAIN, N, 1, 1},
	{"aten::binary_cross_entropy", POOL, F_IN, 16, B_IO, G_SAVED, C_FLOAT, L_PLAIN, N, 1, 1},
	{"aten::_ctc_loss", POOL, F_IN, 8, B_IO, G_SAVED, C_FLOAT, L_PLAIN, N, 1, 3},
	{"aten::binary_cross_entropy_with_logits", POOL, F_IN, 16, B_IO, G_SAVED, C_FLOAT, L_PLAIN, N, 2, 1},

	/* softmax */
	{"Softmax", ATTN, F_OUT, 5, B_IO, G_SAVED, C_FUSED, L_COPY, N, 1, 1},
	{"LogSoftmax", ATTN, F_OUT, 5, B_IO, G_SAVED, C_FUSED, L_COPY, N, 1, 1},

	/* look-ups */
	{"Gather", EMBED, F_NONE, 0, B_GATHER, G_TABLE, C_FIRST, L_PLAIN, N, 1, 3},
	{"GatherElements", EMBED, F_NONE, 0, B_GATHER, G_TABLE, C_FIRST, L_PLAIN, N, 1, 2},
	{"GatherND", EMBED, F_NONE, 0, B_GATHER, G_TABLE, C_FIRST, L_PLAIN, N, 1, 3},
	{"aten::index", EMBED, F_NONE, 0, B_GATHER, G_TABLE, C_FIRST, L_PLAIN, N, 1, 3},
	{"aten::embedding_bag", EMBED, F_BAG, 1, B_BAG, G_TABLE, C_FIRST, L_PLAIN, N, 1, 3},
	{"ScatterElements", EMBED, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_PLAIN, N, 2, 2},
	{"ScatterND", EMBED, F_NONE, 0, B_IO, G_MOVE, C_PROMOTE, L_PLAIN, N, 2, 2},
	/* a sparse matrix of numbers and their places */
	{"aten::_sparse_coo_tensor_with_dims_and_tensors", MOVE, F_NONE, 0, B_WRITE, G_PASS, C_FIRST, L_PLAIN, N, 1, 0},
	/* a sparse matrix by a dense one: it looks up a row of the other for each of its numbers. Zeros, three launches for the places, a product */
	{"aten::_sparse_mm", EMBED, F_SPARSE, 2, B_SPARSE, G_AGAIN, C_WIDEST, L_PLAIN, N, 5, 0},
	{"aten::scatter_add", EMBED, F_OUT, 1, B_IO, G_PASS, C_PROMOTE, L_PLAIN, N, 2, 0},

	/* moves */
	{"Cast", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_LIKE, N, 1, 1},
	{"Concat", MOVE, F_NONE, 0, B_IO, G_PASS, C_PROMOTE, L_CONCAT, N, 1, 0},
	{"Pad", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_FORMAT, N, 1, 1},
	{"Tile", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_PLAIN, N, 1, 1},
	{"Expand", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_EXPAND, N, 1, 1},
	{"Transpose", MOVE, F_NONE, 0, B_IO, G_PASS, C_FIRST, L_TRANSPOSE, N, 1, 0},
	{"Slice", MOVE, F_NONE, 0, B_IO, G_ZEROS, C_FIRST, L_SLICE, N, 1, 2},
	{"Split", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_SPLIT, N, 1, 1},
	{"Reshape", MOVE, F_NONE, 0, B_IO, G_PASS, C_FIRST, L_RESHAPE, N, 1, 0},
	{"Flatten", MOVE, F_NONE, 0, B_IO, G_PASS, C_FIRST, L_RESHAPE, N, 1, 0},
	{"Squeeze", MOVE, F_NONE, 0, B_IO, G_PASS, C_FIRST, L_RESHAPE, N, 1, 0},
	{"Unsqueeze", MOVE, F_NONE, 0, B_IO, G_PASS, C_FIRST, L_RESHAPE, N, 1, 0},
	{"Identity", MOVE, F_NONE, 0, B_IO, G_PASS, C_FIRST, L_RESHAPE, N, 1, 0},
	{"DepthToSpace", MOVE, F_NONE, 0, B_IO, G_PASS, C_FIRST, L_PLAIN, N, 1, 0},
	{"SpaceToDepth", MOVE, F_NONE, 0, B_IO, G_PASS, C_FIRST, L_PLAIN, N, 1, 0},
	{"ReverseSequence", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_PLAIN, N, 1, 1},
	{"Trilu", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_PLAIN, N, 1, 1},
	{"Compress", MOVE, F_NONE, 0, B_IO, G_ZEROS, C_FIRST, L_PLAIN, N, 4, 2},
	{"Resize", MOVE, F_OUT, 4, B_IO, G_MOVE, C_FIRST, L_FORMAT, N, 1, 1},
	{"GridSample", MOVE, F_OUT, 8, B_IO, G_MOVE, C_PROMOTE, L_PLAIN, N, 1, 1},
	{"RoiAlign", MOVE, F_OUT, 8, B_IO, G_MOVE, C_FIRST, L_PLAIN, N, 1, 1},
	{"aten::clone", MOVE, F_NONE, 0, B_IO, G_PASS, C_FIRST, L_PLAIN, N, 1, 0},
	{"aten::roll", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_COPY, N, 1, 1},
	{"aten::flip", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_LIKE, N, 1, 1},
	{"aten::unfold", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_PLAIN, N, 1, 1},
	{"aten::im2col", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_COPY, N, 1, 1},
	/* transforms: 5/2 log2(1024) operations for each number; of real ones, half of the spectrum is written, which the backward pass completes */
	{"DFT", MOVE, F_OUT, 25, B_IO, G_MOVE, C_FIRST, L_PLAIN, N, 2, 2},
	{"aten::_fft_r2c", MOVE, F_IN, 25, B_IO, G_SPREAD, C_FIRST, L_PLAIN, N, 2, 4},
	{"aten::_fft_c2r", MOVE, F_OUT, 25, B_IO, G_SPREAD, C_FIRST, L_PLAIN, N, 2, 2},
	{"aten::col2im", MOVE, F_IN, 1, B_IO, G_MOVE, C_FIRST, L_COPY, N, 1, 1},
	{"fx::setitem", MOVE, F_NONE, 0, B_IO, G_MOVE, C_FIRST, L_PLAIN, N, 1, 2},
	/* for each axis the positions on it, scaled and copied; ones; a product */
	{"aten::affine_grid_generator", MOVE, F_ROWS, 2, B_AFFINE, G_AGAIN, C_FIRST, L_PLAIN, N, 10, 0},

	/* linear algebra beside matrix products; launches forward are copies, the factors, solutions and what is read off them */
	{"aten::mv", GEMM, F_LARGEST, 2, B_IO, G_VECTORS, C_HALF, L_PLAIN, N, 1, 1},
	{"aten::dot", POOL, F_LARGEST, 2, B_IO, G_VECTORS, C_PROMOTE, L_PLAIN, N, 1, 1},
	{"aten::linalg_inv_ex", GEMM, F_CUBES, 6, B_IO, G_INVERSE, C_FIRST, L_PLAIN, N, 5, 3},
	{"aten::linalg_cholesky_ex", GEMM, F_CUBES, 1, B_IO, G_CHOLESKY, C_FIRST, L_PLAIN, N, 3, 7},
	{"aten::_linalg_solve_ex", GEMM, F_SOLVE, 2, B_FACTORS, G_SOLVE, C_FIRST, L_PLAIN, N, 4, 3},
	{"aten::linalg_solve_triangular", GEMM, F_SOLVE, 0, B_IO, G_SOLVE, C_FIRST, L_PLAIN, N, 1, 4},
	{"aten::_linalg_det", GEMM, F_CUBES, 2, B_FACTORS, G_DET, C_FIRST, L_PLAIN, N, 10, 4},
	{"aten::_linalg_slogdet", GEMM, F_CUBES, 2, B_FACTORS, G_DET, C_FIRST, L_PLAIN, N, 10, 2},
};

#define N_OPS ((int) (sizeof(catalogue) / sizeof(catalogue[0])))

/* Other spellings, each of a name above. */
static const struct op_alias
{
	const char *name;
	const char *of;
}			aliases[] =
{
	{"Linear", "Gemm"},
	{"FusedMatMul", "MatMul"},
	{"BatchMatMul", "MatMul"},
	{"Swish", "Silu"},
	{"QuickGelu", "Gelu"},
	{"FastGelu", "Gelu"},
	{"BiasGelu", "Gelu"},
	{"Upsample", "Resize"},
	{"Embedding", "Gather"},
	{"Copy", "aten::clone"},
	{"Repeat", "Tile"},
	{"GlobalLpPool", "ReduceL2"},
	{"SoftmaxCrossEntropyLoss", "CrossEntropyLoss"},
	{"NegativeLogLikelihoodLoss", "NllLoss"},
	{"SyncBatchNormalization", "BatchNormalization"},
	{"SimplifiedLayerNormalization", "RMSNormalization"},
	{"MultiHeadAttention", "Attention"},
	{"RandomUniformLike", "RandomUniform"},
	{"RandomNormalLike", "RandomNormal"},
	{"MaxUnpool", "ScatterElements"},
	{"Scatter", "ScatterElements"},
	{"CenterCropPad", "Pad"},
	{"Einsum", "MatMul"},
	{"BitwiseAnd", "And"},
	{"BitwiseOr", "Or"},
	{"BitwiseXor", "Xor"},
	{"BitwiseNot", "Not"},
	{"aten::convolution", "Conv"},
	{"aten::conv2d", "Conv"},
	{"aten::addmm", "Gemm"},
	{"aten::linear", "Gemm"},
	{"aten::mm", "MatMul"},
	{"aten::bmm", "MatMul"},
	{"aten::matmul", "MatMul"},
	{"aten::baddbmm", "MatMul"},
	{"aten::scaled_dot_product_attention", "Attention"},
	{"aten::_scaled_dot_product_flash_attention", "Attention"},
	{"aten::_scaled_dot_product_efficient_attention", "Attention"},
	{"aten::_flash_attention_forward", "Attention"},
	{"aten::lstm", "LSTM"},
	{"aten::gru", "GRU"},
	{"aten::native_batch_norm", "BatchNormalization"},
	{"aten::_native_batch_norm_legit", "BatchNormalization"},
	{"aten::cudnn_batch_norm", "BatchNormalization"},
	{"aten::native_layer_norm", "LayerNormalization"},
	{"aten::native_group_norm", "GroupNormalization"},
	{"aten::_weight_norm_interface", "aten::_weight_norm"},
	{"aten::relu", "Relu"},
	{"aten::relu6", "Clip"},
	{"aten::hardtanh", "HardTanh"},
	{"aten::gelu", "Gelu"},
	{"aten::silu", "Silu"},
	{"aten::mish", "Mish"},
	{"aten::sigmoid", "Sigmoid"},
	{"aten::tanh", "Tanh"},
	{"aten::native_dropout", "Dropout"},
	{"aten::add", "Add"},
	{"aten::sub", "Sub"},
	{"aten::rsub", "Sub"},
	{"aten::mul", "Mul"},
	{"aten::div", "Div"},
	{"aten::floor_divide", "Div"},
	{"aten::remainder", "Mod"},
	{"aten::square", "Mul"},
	{"aten::maximum", "Max"},
	{"aten::minimum", "Min"},
	{"aten::where", "Where"},
	{"aten::exp2", "Exp"},
	{"aten::log2", "Log"},
	{"aten::log10", "Log"},
	{"aten::atan2", "Atan"},
	{"aten::cumsum", "CumSum"},
	{"aten::trunc", "Round"},
	{"aten::bitwise_not", "Not"},
	{"aten::bitwise_and", "And"},
	{"aten::bitwise_or", "Or"},
	{"aten::bitwise_xor", "Xor"},
	{"aten::logical_not", "Not"},
	{"aten::logical_and", "And"},
	{"aten::logical_or", "Or"},
	{"aten::logical_xor", "Xor"},
	{"aten::uniform_", "RandomUniform"},
	{"aten::uniform", "RandomUniform"},
	{"aten::rand", "RandomUniform"},
	{"aten::rand_like", "RandomUniform"},
	{"aten::randn_like", "RandomNormal"},
	{"aten::normal_", "RandomNormal"},
	{"aten::randn", "RandomNormal"},
	{"aten::bernoulli", "Bernoulli"},
	{"aten::arange", "Range"},
	{"aten::linspace", "Range"},
	{"aten::eye", "EyeLike"},
	{"aten::full", "ConstantOfShape"},
	{"aten::zeros", "ConstantOfShape"},
	{"aten::ones", "ConstantOfShape"},
	{"aten::zeros_like", "ConstantOfShape"},
	{"aten::ones_like", "ConstantOfShape"},
	{"aten::new_zeros", "ConstantOfShape"},
	{"aten::new_ones", "ConstantOfShape"},
	{"aten::fill", "ConstantOfShape"},
	{"aten::zero", "ConstantOfShape"},
	{"aten::scalar_tensor", "ConstantOfShape"},
	{"aten::empty_like", "aten::empty"},
	{"aten::new_empty_strided", "aten::new_empty"},
	{"aten::mean", "ReduceMean"},
	{"aten::sum", "ReduceSum"},
	{"aten::amax", "ReduceMax"},
	{"aten::amin", "ReduceMin"},
	{"aten::logsumexp", "ReduceLogSumExp"},
	{"aten::linalg_vector_norm", "ReduceL2"},
	{"aten::norm", "ReduceL2"},
	{"aten::argmax", "ArgMax"},
	{"aten::argmin", "ArgMin"},
	{"aten::topk", "TopK"},
	{"aten::argsort", "aten::sort"},
	{"aten::nonzero", "NonZero"},
	{"aten::_adaptive_avg_pool2d", "aten::adaptive_avg_pool2d"},
	{"aten::_softmax", "Softmax"},
	{"aten::_log_softmax", "LogSoftmax"},
	{"aten::embedding", "Gather"},
	{"aten::_embedding_bag", "aten::embedding_bag"},
	{"aten::_sparse_addmm", "aten::_sparse_mm"},
	{"aten::_sparse_coo_tensor_unsafe", "aten::_sparse_coo_tensor_with_dims_and_tensors"},
	{"aten::_embedding_bag_forward_only", "aten::embedding_bag"},
	{"aten::index_select", "Gather"},
	{"aten::gather", "GatherElements"},
	{"aten::take_along_dim", "GatherElements"},
	{"aten::index_put", "ScatterND"},
	{"aten::scatter", "ScatterElements"},
	{"aten::index_add", "aten::scatter_add"},
	{"aten::cat", "Concat"},
	{"aten::stack", "Concat"},
	{"aten::repeat", "Tile"},
	{"aten::tile", "Tile"},
	{"aten::repeat_interleave", "Tile"},
	{"aten::constant_pad_nd", "Pad"},
	{"aten::reflection_pad2d", "Pad"},
	{"aten::replication_pad2d", "Pad"},
	{"aten::copy", "aten::clone"},
	{"aten::contiguous", "aten::clone"},
	{"aten::_to_copy", "Cast"},
	{"aten::to", "Cast"},
	{"aten::tril", "Trilu"},
	{"aten::triu", "Trilu"},
	{"aten::pixel_shuffle", "DepthToSpace"},
	{"aten::pixel_unshuffle", "SpaceToDepth"},
	{"aten::grid_sampler_2d", "GridSample"},
	{"aten::upsample_nearest2d", "Resize"},
	{"aten::upsample_bilinear2d", "Resize"},
	{"aten::upsample_bicubic2d", "Resize"},
	{"aten::nll_loss_forward", "NllLoss"},
	{"aten::nll_loss2d_forward", "NllLoss"},
	{"aten::smooth_l1_loss", "aten::mse_loss"},
	{"aten::huber_loss", "aten::mse_loss"},
	{"aten::soft_margin_loss", "aten::mse_loss"},
	{"aten::multi_margin_loss", "aten::mse_loss"},
	{"aten::log_sigmoid_forward", "LogSigmoid"},
	{"aten::softshrink", "Shrink"},
	{"aten::hardshrink", "Shrink"},
	{"aten::threshold", "ThresholdedRelu"},
	{"aten::rrelu_with_noise", "LeakyRelu"},
	{"aten::celu", "Celu"},
	{"aten::tan", "Tan"},
	{"aten::atan", "Atan"},
	{"aten::asin", "Asin"},
	{"aten::acos", "Acos"},
	{"aten::sinh", "Sinh"},
	{"aten::cosh", "Cosh"},
	{"aten::asinh", "Asinh"},
	{"aten::acosh", "Acosh"},
	{"aten::atanh", "Atanh"},
	{"aten::hypot", "Atan"},
	{"aten::xlogy", "Atan"},
	{"aten::logaddexp", "Atan"},
	{"aten::erfc", "Erf"},
	{"aten::erfinv", "Erf"},
	{"aten::lgamma", "Sin"},
	{"aten::digamma", "Sin"},
	{"aten::sinc", "Sin"},
	{"aten::logit", "Log"},
	{"aten::angle", "Abs"},
	{"aten::nan_to_num", "Clip"},
	{"aten::linalg_cross", "Mul"},
	{"aten::fmod", "Mod"},
	{"aten::frac", "Mod"},
	{"aten::logcumsumexp", "aten::cumprod"},
	{"aten::cummax", "aten::cumprod"},
	{"aten::cummin", "aten::cumprod"},
	{"aten::le", "LessOrEqual"},
	{"aten::isnan", "IsNaN"},
	{"aten::isinf", "IsInf"},
	{"aten::sign", "Sign"},
	{"aten::sgn", "Sign"},
	{"aten::heaviside", "Sign"},
	{"aten::round", "Round"},
	{"aten::ceil", "Ceil"},
	{"aten::searchsorted", "aten::bucketize"},
	{"aten::normal", "RandomNormal"},
	{"aten::exponential", "RandomNormal"},
	{"aten::randint", "RandomUniform"},
	{"aten::randperm", "RandomUniform"},
	{"aten::multinomial", "NonZero"},
	{"aten::prod", "ReduceProd"},
	{"aten::nansum", "ReduceSum"},
	{"aten::aminmax", "aten::max"},
	{"aten::kthvalue", "TopK"},
	{"aten::median", "TopK"},
	{"aten::mode", "aten::sort"},
	{"aten::adaptive_avg_pool3d", "aten::adaptive_avg_pool2d"},
	{"aten::adaptive_max_pool3d", "aten::adaptive_max_pool2d"},
	{"aten::fractional_max_pool2d", "MaxPool"},
	{"aten::upsample_linear1d", "Resize"},
	{"aten::upsample_trilinear3d", "Resize"},
	{"aten::upsample_nearest3d", "Resize"},
	{"aten::_upsample_bilinear2d_aa", "Resize"},
	{"aten::_upsample_bicubic2d_aa", "Resize"},
	{"aten::grid_sampler_3d", "GridSample"},
	{"aten::replication_pad3d", "Pad"},
	{"aten::reflection_pad3d", "Pad"},
	{"aten::diag_embed", "Pad"},
	{"aten::rot90", "aten::flip"},
	{"aten::channel_shuffle", "aten::clone"},
	{"aten::index_copy", "ScatterElements"},
	{"aten::index_fill", "aten::masked_fill"},
	{"aten::max_unpool2d", "ScatterElements"},
	{"aten::max_unpool3d", "ScatterElements"},
	{"aten::scatter_reduce", "ScatterElements"},
	{"torchvision::deform_conv2d", "DeformConv"},
	{"aten::index_reduce", "ScatterElements"},
	{"torchvision::roi_align", "RoiAlign"},
	{"torchvision::roi_pool", "RoiAlign"},
	{"torchvision::ps_roi_align", "RoiAlign"},
	{"torchvision::ps_roi_pool", "RoiAlign"},
	{"aten::_upsample_nearest_exact1d", "Resize"},
	{"aten::_upsample_nearest_exact2d", "Resize"},
	{"aten::_upsample_nearest_exact3d", "Resize"},
	{"aten::std_mean", "aten::std"},
	{"aten::hann_window", "Range"},
	{"aten::hamming_window", "Range"},
	{"torchvision::nms", "NonMaxSuppression"},
	{"aten::outer", "Mul"},
	{"aten::ger", "Mul"},
	{"aten::addmv", "aten::mv"},
	{"aten::vdot", "aten::dot"},
	{"aten::inverse", "aten::linalg_inv_ex"},
	{"aten::linalg_inv", "aten::linalg_inv_ex"},
	{"aten::cholesky", "aten::linalg_cholesky_ex"},
	{"aten::linalg_cholesky", "aten::linalg_cholesky_ex"},
	{"aten::linalg_solve", "aten::_linalg_solve_ex"},
	{"aten::linalg_solve_ex", "aten::_linalg_solve_ex"},
	{"aten::linalg_det", "aten::_linalg_det"},
	{"aten::linalg_slogdet", "aten::_linalg_slogdet"},
};

#define N_ALIASES ((int) (sizeof(aliases) / sizeof(aliases[0])))

/* ---------- look-ups ---------- */

static int
find_row(const char *name)
{
	for (int i = 1; i < N_OPS; i++)
		if (catalogue[i].name[0] == name[0] && strcmp(catalogue[i].name, name) == 0)
			return i;
	return PM_OP_UNKNOWN;
}

/*
 * Compares row by row, so callers with many nodes should keep the answers, as
 * graph_finish.c does.
 */
int
pm_op_find(const char *name)
{
	int			op = find_row(name);

	for (int i = 0; op == PM_OP_UNKNOWN && i < N_ALIASES; i++)
		if (strcmp(aliases[i].name, name) == 0)
			op = find_row(aliases[i].of);
	return op;
}

int
pm_op_count(void)
{
	return N_OPS;
}

const pm_op_row *
pm_op_row_of(int op)
{
	return &catalogue[op > 0 && op < N_OPS ? op : PM_OP_UNKNOWN];
}

const char *
pm_op_name(int op)
{
	return pm_op_row_of(op)->name;
}

const char *
pm_op_alias(int i)
{
	return i >= 0 && i < N_ALIASES ? aliases[i].name : NULL;
}

int
pm_op_runs_as(int op, bool own_weight)
{
	return own_weight && (pm_op_row_of(op)->traits & PM_OP_OWN_AS_ABOVE) ? op - 1 : op;
}

pm_class
pm_op_class(int op)
{
	return (pm_class) pm_op_row_of(op)->class;
}

bool
pm_op_draws(int op)
{
	return pm_op_row_of(op)->bytes == PM_BYTES_MASK;
}

bool
pm_op_differentiable(int op)
{
	return pm_op_row_of(op)->back != PM_BACK_NONE;
}

bool
pm_op_detaches(int op)
{
	return (pm_op_row_of(op)->traits & PM_OP_DETACHES) != 0;
}
