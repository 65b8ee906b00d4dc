/*
 * oplib.c - the operator catalogue and what it says about a node.
 *
 * A new operator is one row of `catalogue`, another spelling of a known one is
 * one row of `aliases`.  Everything below the tables is generic: it finds out
 * which shapes take part (operands), applies the row's rules, and knows no
 * operator by name.
 *
 * Where a number is a choice and not a fact, the choice is: count what the
 * device does at least.  Special functions (exp, tanh, erf ...) count as 8
 * operations, a normalisation as 8 an element (statistics, then scaling), a
 * comparison or an addition as 1.
 */
#include "graph/oplib.h"

#include <math.h>
#include <string.h>

const char *const pm_class_name[PM_N_CLASSES] = {
	"conv", "gemm", "norm", "elementwise", "pool", "attention", "embedding", "move", "recurrent", "other"
};
const char *const pm_conv_kind_name[PM_N_CONV_KINDS] = {
	"none", "1x1", "kxk", "grouped", "depthwise", "transpose"
};

/* ---------- the catalogue ---------- */

/* Forward FLOPs: the row's factor times ... */
typedef enum flop_rule
{
	F_NONE,						/* nothing */
	F_OUT,						/* elements of the output */
	F_IN,						/* elements of the first input */
	F_WINDOW,					/* elements of the output times the kernel's */
	F_CONV,						/* 2 output elements times kernel elements of one output channel */
	F_CONVT,					/* 2 input elements times kernel elements of one input channel */
	F_GEMM,						/* 2 M N K */
	F_RNN,						/* 2 steps times elements of the matrices; the factor is the number of gates */
	F_ATTN						/* 4 b h S S dh: scores and their product with the values */
} flop_rule;

/* Forward elements moved. */
typedef enum byte_rule
{
	B_NONE,						/* nothing runs */
	B_IO,						/* inputs, weights and constants once, outputs once */
	B_WRITE,					/* outputs only */
	B_NORM,						/* input twice, output once */
	B_GATHER,					/* rows in and out, 8 bytes of index a row */
	B_RNN						/* as B_IO, and the gates kept for the backward pass */
} byte_rule;

typedef enum back_rule
{
	G_NONE,						/* no gradient passes */
	G_HALF,						/* 1.5 times the forward pass */
	G_PROD						/* once the forward pass for each operand that needs a gradient */
} back_rule;

/* Mixed precision: N follows its input in 2 bytes, W is on autocast's list of what runs in 4. */
enum
{
	N, W
};

typedef struct op_row
{
	const char *name;
	uint8_t		class;
	uint8_t		flops;			/* flop_rule */
	uint8_t		factor;
	uint8_t		bytes;			/* byte_rule */
	uint8_t		back;			/* back_rule */
	uint8_t		wide;
	uint8_t		kernels;		/* launches forward */
	uint8_t		kernels_back;
} op_row;

/* Short names keep a row on a line. */
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

static const op_row catalogue[] =
{
	/* name, class, flops, factor, bytes, backward, wide, kernels forward, backward */
	{"(unknown)", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},	/* PM_OP_UNKNOWN */

	/* no work */
	{"Input", OTHER, F_NONE, 0, B_NONE, G_NONE, N, 0, 0},
	{"Constant", OTHER, F_NONE, 0, B_NONE, G_NONE, N, 0, 0},
	{"Shape", OTHER, F_NONE, 0, B_NONE, G_NONE, N, 0, 0},
	{"Size", OTHER, F_NONE, 0, B_NONE, G_NONE, N, 0, 0},
	{"aten::empty", OTHER, F_NONE, 0, B_NONE, G_NONE, N, 0, 0},
	{"aten::new_empty", OTHER, F_NONE, 0, B_NONE, G_NONE, N, 0, 0},

	/* matrix products */
	{"Conv", CONV, F_CONV, 2, B_IO, G_PROD, N, 1, 0},
	{"ConvTranspose", CONV, F_CONVT, 2, B_IO, G_PROD, N, 1, 0},
	{"DeformConv", CONV, F_CONV, 2, B_IO, G_PROD, W, 2, 1},
	{"Gemm", GEMM, F_GEMM, 2, B_IO, G_PROD, N, 1, 0},
	{"MatMul", GEMM, F_GEMM, 2, B_IO, G_PROD, N, 1, 0},
	{"Attention", ATTN, F_ATTN, 4, B_IO, G_PROD, N, 1, 0},
	{"LSTM", RECUR, F_RNN, 4, B_RNN, G_PROD, N, 1, 0},
	{"GRU", RECUR, F_RNN, 3, B_RNN, G_PROD, N, 1, 0},
	{"RNN", RECUR, F_RNN, 1, B_RNN, G_PROD, N, 1, 0},

	/* normalisations */
	{"BatchNormalization", NORM, F_OUT, 8, B_NORM, G_HALF, N, 1, 1},
	{"LayerNormalization", NORM, F_OUT, 8, B_NORM, G_HALF, W, 1, 2},
	{"GroupNormalization", NORM, F_OUT, 8, B_NORM, G_HALF, W, 3, 4},
	{"InstanceNormalization", NORM, F_OUT, 8, B_NORM, G_HALF, N, 1, 1},
	{"RMSNormalization", NORM, F_OUT, 4, B_NORM, G_HALF, W, 1, 2},
	{"SkipLayerNormalization", NORM, F_OUT, 9, B_NORM, G_HALF, W, 1, 2},
	{"LpNormalization", NORM, F_OUT, 4, B_NORM, G_HALF, W, 3, 4},
	{"MeanVarianceNormalization", NORM, F_OUT, 8, B_NORM, G_HALF, W, 3, 4},
	{"LRN", NORM, F_OUT, 8, B_NORM, G_HALF, N, 4, 6},
	{"aten::_weight_norm", NORM, F_OUT, 4, B_NORM, G_HALF, N, 1, 1},

	/* activations */
	{"Relu", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"LeakyRelu", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"PRelu", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 2},
	{"ThresholdedRelu", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"Clip", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"Elu", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 1},
	{"Selu", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 1},
	{"Celu", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 1},
	{"Gelu", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 1},
	{"Silu", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 1},
	{"Sigmoid", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 1},
	{"LogSigmoid", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 1},
	{"Tanh", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 1},
	{"Mish", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 1},
	{"Softplus", ELEM, F_OUT, 8, B_IO, G_HALF, W, 1, 1},
	{"Softsign", ELEM, F_OUT, 3, B_IO, G_HALF, N, 3, 4},
	{"Shrink", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"HardSigmoid", ELEM, F_OUT, 3, B_IO, G_HALF, N, 1, 1},
	{"HardSwish", ELEM, F_OUT, 4, B_IO, G_HALF, N, 1, 1},
	{"HardTanh", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"aten::glu", ELEM, F_OUT, 9, B_IO, G_HALF, N, 1, 1},
	{"Dropout", ELEM, F_OUT, 2, B_IO, G_HALF, N, 1, 1},

	/* arithmetic */
	{"Add", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"Sub", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"Mul", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 2},
	{"Div", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 2},
	{"Mod", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"Neg", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"Abs", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 2},
	{"Max", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 2},
	{"Min", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 2},
	{"Sum", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"Mean", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"Where", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 2},
	{"Sqrt", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 2},
	{"Reciprocal", ELEM, F_OUT, 1, B_IO, G_HALF, W, 1, 2},
	{"aten::rsqrt", ELEM, F_OUT, 1, B_IO, G_HALF, W, 1, 2},
	{"aten::addcmul", ELEM, F_OUT, 2, B_IO, G_HALF, N, 1, 3},
	{"aten::addcdiv", ELEM, F_OUT, 2, B_IO, G_HALF, N, 1, 4},
	{"aten::lerp", ELEM, F_OUT, 3, B_IO, G_HALF, N, 1, 2},
	{"aten::masked_fill", ELEM, F_OUT, 1, B_IO, G_HALF, N, 1, 1},
	{"Pow", ELEM, F_OUT, 8, B_IO, G_HALF, W, 1, 2},
	{"Exp", ELEM, F_OUT, 8, B_IO, G_HALF, W, 1, 1},
	{"Log", ELEM, F_OUT, 8, B_IO, G_HALF, W, 1, 1},
	{"aten::log1p", ELEM, F_OUT, 8, B_IO, G_HALF, W, 1, 1},
	{"aten::expm1", ELEM, F_OUT, 8, B_IO, G_HALF, W, 1, 1},
	{"Erf", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 2},
	{"Sin", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 2},
	{"Cos", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 2},
	{"Tan", ELEM, F_OUT, 8, B_IO, G_HALF, W, 1, 2},
	{"Asin", ELEM, F_OUT, 8, B_IO, G_HALF, W, 1, 2},
	{"Acos", ELEM, F_OUT, 8, B_IO, G_HALF, W, 1, 2},
	{"Atan", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 2},
	{"Sinh", ELEM, F_OUT, 8, B_IO, G_HALF, W, 1, 2},
	{"Cosh", ELEM, F_OUT, 8, B_IO, G_HALF, W, 1, 2},
	{"Asinh", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 2},
	{"Acosh", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 2},
	{"Atanh", ELEM, F_OUT, 8, B_IO, G_HALF, N, 1, 2},
	{"CumSum", ELEM, F_OUT, 1, B_IO, G_HALF, W, 1, 3},
	{"aten::cumprod", ELEM, F_OUT, 1, B_IO, G_HALF, W, 1, 4},

	/* comparisons, logic, rounding: no gradient */
	{"Equal", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"aten::ne", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"Less", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"LessOrEqual", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"Greater", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"GreaterOrEqual", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"And", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"Or", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"Xor", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"Not", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"BitShift", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"IsNaN", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"IsInf", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"Sign", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"Round", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"Floor", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"Ceil", ELEM, F_OUT, 1, B_IO, G_NONE, N, 1, 0},
	{"aten::bucketize", ELEM, F_OUT, 8, B_IO, G_NONE, N, 1, 0},

	/* random numbers and generated tensors: written, not read */
	{"Bernoulli", ELEM, F_OUT, 1, B_WRITE, G_NONE, N, 1, 0},
	{"RandomUniform", ELEM, F_OUT, 1, B_WRITE, G_NONE, N, 1, 0},
	{"RandomNormal", ELEM, F_OUT, 8, B_WRITE, G_NONE, N, 1, 0},
	{"ConstantOfShape", MOVE, F_NONE, 0, B_WRITE, G_NONE, N, 1, 0},
	{"Range", MOVE, F_NONE, 0, B_WRITE, G_NONE, N, 1, 0},
	{"EyeLike", MOVE, F_NONE, 0, B_WRITE, G_NONE, N, 2, 0},
	{"OneHot", MOVE, F_OUT, 1, B_IO, G_NONE, N, 2, 0},

	/* pooling and reductions */
	{"MaxPool", POOL, F_WINDOW, 1, B_IO, G_HALF, N, 1, 1},
	{"AveragePool", POOL, F_WINDOW, 1, B_IO, G_HALF, N, 1, 1},
	{"LpPool", POOL, F_WINDOW, 2, B_IO, G_HALF, N, 2, 2},
	{"GlobalAveragePool", POOL, F_IN, 1, B_IO, G_HALF, N, 1, 1},
	{"GlobalMaxPool", POOL, F_IN, 1, B_IO, G_HALF, N, 1, 1},
	{"aten::adaptive_avg_pool2d", POOL, F_IN, 1, B_IO, G_HALF, N, 1, 1},
	{"aten::adaptive_max_pool2d", POOL, F_IN, 1, B_IO, G_HALF, N, 1, 1},
	{"ReduceSum", POOL, F_IN, 1, B_IO, G_HALF, W, 1, 1},
	{"ReduceMean", POOL, F_IN, 1, B_IO, G_HALF, N, 1, 1},
	{"ReduceMax", POOL, F_IN, 1, B_IO, G_HALF, N, 1, 1},
	{"ReduceMin", POOL, F_IN, 1, B_IO, G_HALF, N, 1, 1},
	{"ReduceProd", POOL, F_IN, 1, B_IO, G_HALF, W, 1, 2},
	{"ReduceL1", POOL, F_IN, 2, B_IO, G_HALF, W, 1, 1},
	{"ReduceL2", POOL, F_IN, 2, B_IO, G_HALF, W, 1, 2},
	{"ReduceSumSquare", POOL, F_IN, 2, B_IO, G_HALF, W, 1, 1},
	{"ReduceLogSum", POOL, F_IN, 1, B_IO, G_HALF, W, 2, 2},
	{"ReduceLogSumExp", POOL, F_IN, 8, B_IO, G_HALF, W, 1, 2},
	{"aten::max", POOL, F_IN, 1, B_IO, G_HALF, N, 1, 1},
	{"aten::min", POOL, F_IN, 1, B_IO, G_HALF, N, 1, 1},
	{"aten::var", POOL, F_IN, 3, B_IO, G_HALF, N, 1, 2},
	{"aten::var_mean", POOL, F_IN, 3, B_IO, G_HALF, N, 1, 2},
	{"aten::std", POOL, F_IN, 3, B_IO, G_HALF, N, 1, 3},
	{"ArgMax", POOL, F_IN, 1, B_IO, G_NONE, N, 1, 0},
	{"ArgMin", POOL, F_IN, 1, B_IO, G_NONE, N, 1, 0},
	{"aten::any", POOL, F_IN, 1, B_IO, G_NONE, N, 1, 0},
	{"aten::all", POOL, F_IN, 1, B_IO, G_NONE, N, 1, 0},
	{"aten::count_nonzero", POOL, F_IN, 1, B_IO, G_NONE, N, 1, 0},
	{"NonZero", POOL, F_IN, 1, B_IO, G_NONE, N, 4, 0},
	{"Unique", POOL, F_IN, 8, B_IO, G_NONE, N, 8, 0},
	{"TopK", POOL, F_IN, 8, B_IO, G_HALF, N, 2, 2},
	{"aten::sort", POOL, F_IN, 16, B_IO, G_HALF, N, 4, 2},
	{"NonMaxSuppression", POOL, F_IN, 8, B_IO, G_NONE, N, 4, 0},
	{"CrossEntropyLoss", POOL, F_IN, 6, B_IO, G_HALF, W, 2, 2},
	{"NllLoss", POOL, F_IN, 1, B_IO, G_HALF, W, 1, 1},
	{"aten::mse_loss", POOL, F_IN, 3, B_IO, G_HALF, W, 1, 1},
	{"aten::binary_cross_entropy_with_logits", POOL, F_IN, 16, B_IO, G_HALF, W, 2, 2},

	/* softmax */
	{"Softmax", ATTN, F_OUT, 5, B_IO, G_HALF, W, 1, 1},
	{"LogSoftmax", ATTN, F_OUT, 5, B_IO, G_HALF, W, 1, 1},

	/* look-ups */
	{"Gather", EMBED, F_NONE, 0, B_GATHER, G_HALF, N, 1, 3},
	{"GatherElements", EMBED, F_NONE, 0, B_GATHER, G_HALF, N, 1, 2},
	{"GatherND", EMBED, F_NONE, 0, B_GATHER, G_HALF, N, 1, 3},
	{"aten::index", EMBED, F_NONE, 0, B_GATHER, G_HALF, N, 1, 3},
	{"aten::embedding_bag", EMBED, F_OUT, 1, B_GATHER, G_HALF, N, 1, 3},
	{"ScatterElements", EMBED, F_NONE, 0, B_IO, G_HALF, N, 2, 2},
	{"ScatterND", EMBED, F_NONE, 0, B_IO, G_HALF, N, 2, 2},
	{"aten::scatter_add", EMBED, F_OUT, 1, B_IO, G_HALF, N, 2, 1},

	/* moves */
	{"Cast", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Concat", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Pad", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Tile", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Expand", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Transpose", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Slice", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Split", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Reshape", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Flatten", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Squeeze", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Unsqueeze", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Identity", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"DepthToSpace", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"SpaceToDepth", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"ReverseSequence", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Trilu", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"Compress", MOVE, F_NONE, 0, B_IO, G_HALF, N, 4, 2},
	{"Resize", MOVE, F_OUT, 4, B_IO, G_HALF, N, 1, 1},
	{"GridSample", MOVE, F_OUT, 8, B_IO, G_HALF, N, 1, 1},
	{"RoiAlign", MOVE, F_OUT, 8, B_IO, G_HALF, N, 1, 1},
	{"aten::clone", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"aten::roll", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"aten::flip", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"aten::unfold", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"aten::im2col", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
	{"aten::col2im", MOVE, F_IN, 1, B_IO, G_HALF, N, 1, 1},
	{"fx::setitem", MOVE, F_NONE, 0, B_IO, G_HALF, N, 1, 1},
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
	{"aten::topk", "TopK"},
	{"aten::argsort", "aten::sort"},
	{"aten::nonzero", "NonZero"},
	{"aten::_adaptive_avg_pool2d", "aten::adaptive_avg_pool2d"},
	{"aten::_softmax", "Softmax"},
	{"aten::_log_softmax", "LogSoftmax"},
	{"aten::embedding", "Gather"},
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
	{"torchvision::deform_conv2d", "DeformConv"},
	{"torchvision::roi_align", "RoiAlign"},
	{"torchvision::nms", "NonMaxSuppression"},
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
 * Row of an operator name or of what it is an alias of.  A line-by-line
 * search: callers with many nodes keep the answers (graph.c does).
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

static const op_row *
row_of(int op)
{
	return &catalogue[op > 0 && op < N_OPS ? op : PM_OP_UNKNOWN];
}

const char *
pm_op_name(int op)
{
	return row_of(op)->name;
}

const char *
pm_op_alias(int i)
{
	return i >= 0 && i < N_ALIASES ? aliases[i].name : NULL;
}

pm_class
pm_op_class(int op)
{
	return (pm_class) row_of(op)->class;
}

bool
pm_op_differentiable(int op)
{
	return row_of(op)->back != G_NONE;
}

/* ---------- operands ---------- */

/* A tensor that takes part: a producer's output, a weight or a constant. */
typedef struct tensor
{
	const pm_shape *shape;		/* NULL: there is none */
	int			batch_dim;		/* -1: does not follow the batch */
	int			input;			/* position in inputs, -1: weight or constant */
	bool		grad;			/* needs a gradient */
} tensor;

static tensor
input_tensor(const pm_graph *g, const pm_node *n, int k)
{
	const pm_node *p = &g->nodes[n->inputs[k]];
	tensor		t = {&p->shape, p->batch_dim, k, p->grad};

	return t;
}

/* The first shape of a list with a rank in [least, most], or none. */
static tensor
stored_tensor(int n, const pm_shape *shapes, int least, int most, bool grad)
{
	tensor		t = {NULL, -1, -1, grad};

	for (int i = 0; i < n && t.shape == NULL; i++)
		if (shapes[i].rank >= least && shapes[i].rank <= most)
			t.shape = &shapes[i];
	return t;
}

/* Dimension d of t at the given batch; d < 0 counts from the end; 1 when there is none. */
static double
dim_at(const tensor *t, int d, int64_t batch)
{
	if (t->shape == NULL)
		return 1;
	if (d < 0)
		d += t->shape->rank;
	if (d < 0 || d >= t->shape->rank)
		return 1;
	return (double) t->shape->dim[d] * (d == t->batch_dim ? (double) batch : 1);
}

static double
count_at(const tensor *t, int64_t batch)
{
	if (t->shape == NULL)
		return 0;
	return pm_shape_count(t->shape) * (t->batch_dim >= 0 ? (double) batch : 1);
}

/* The two factors of a product. kernel: what stands for the weight. */
typedef struct operands
{
	tensor		data;
	tensor		kernel;
} operands;

/*
 * The first two inputs of a rank in [least, most]; n_found of them.  A bias
 * computed ahead of the data (rank 1) is passed over.
 */
static int
matrix_inputs(const pm_graph *g, const pm_node *n, int least, int most, tensor found[2])
{
	int			count = 0;

	for (int k = 0; k < n->n_inputs && count < 2; k++)
	{
		tensor		t = input_tensor(g, n, k);

		if (t.shape->rank >= least && t.shape->rank <= most)
			found[count++] = t;
	}
	return count;
}

/*
 * Who is the kernel and who the data, in the order of docs/graph_format.md: the
 * node's own weights; else a producer that does not follow the batch; else the
 * second input (a kernel made per sample, or a product of two activations);
 * else a constant.  least, most: ranks a kernel can have.
 */
static operands
find_operands(const pm_graph *g, const pm_node *n, int least, int most)
{
	tensor		in[2];
	int			n_in = matrix_inputs(g, n, least, most, in);
	tensor		constant = stored_tensor(n->n_consts, n->consts, least, most, false);
	operands	o;

	memset(&o, 0, sizeof(o));
	o.data.input = o.kernel.input = -1;
	o.kernel = stored_tensor(n->n_weights, n->weights, least, most, true);
	if (o.kernel.shape != NULL)
	{
		bool		second = n_in == 2 && in[0].batch_dim < 0 && in[1].batch_dim >= 0;

		o.data = n_in > 0 ? in[second ? 1 : 0] : constant;
		return o;
	}
	if (n_in == 2)
	{
		bool		first = in[0].batch_dim < 0 && in[1].batch_dim >= 0;

		o.kernel = in[first ? 0 : 1];
		o.data = in[first ? 1 : 0];
		return o;
	}
	o.kernel = constant;
	if (n_in > 0)
		o.data = in[0];
	else if (n->n_consts > 1)	/* a product of two constants */
		o.data = stored_tensor(n->n_consts - 1, n->consts + 1, least, most, false);
	return o;
}

static operands
conv_operands(const pm_graph *g, const pm_node *n)
{
	return find_operands(g, n, n->shape.rank, n->shape.rank);
}

static operands
gemm_operands(const pm_graph *g, const pm_node *n)
{
	return find_operands(g, n, 2, PM_MAX_RANK);
}

static tensor
output_tensor(const pm_node *n)
{
	tensor		t = {&n->shape, n->batch_dim, -1, n->grad};

	return t;
}

/* ---------- products ---------- */

/* Kernel elements behind one channel of its first dimension: (Ci/group) kh kw. */
static double
kernel_depth(const pm_node *n, const operands *o)
{
	double		depth = 1;

	if (o->kernel.shape == NULL)
	{
		/* no kernel in sight: the attributes know its window */
		for (int i = 0; i < n->attrs.spatial; i++)
			depth *= (double) n->attrs.kernel[i];
		return depth * dim_at(&o->data, 1, 1) / (double) n->attrs.group;
	}
	for (int i = 1; i < o->kernel.shape->rank; i++)
		depth *= dim_at(&o->kernel, i, 1);
	return depth;
}

/*
 * The inner dimension K of a matrix product, at the given batch.  Both
 * operands may be stored transposed, and attributes do not always say so; the
 * shapes do: K is the dimension that the output does not have.
 */
static double
inner_dim(const pm_node *n, const operands *o, int64_t batch)
{
	tensor		out = output_tensor(n);
	double		rows = dim_at(&out, -2, 1);
	double		cols = dim_at(&out, -1, 1);
	double		kernel = count_at(&o->kernel, 1);
	const tensor *left;

	if (o->kernel.shape != NULL && o->kernel.input < 0)
	{
		/* a stored matrix, right or left of the data */
		if (o->data.shape != NULL && dim_at(&o->data, -1, 1) * cols == kernel)
			return dim_at(&o->data, -1, batch);
		if (o->data.shape != NULL && dim_at(&o->data, -1, 1) == cols && dim_at(&o->data, -2, 1) * rows == kernel)
			return dim_at(&o->data, -2, batch);
		return cols > 0 ? kernel / cols : 0;
	}
	left = o->kernel.input >= 0 && o->kernel.input < o->data.input ? &o->kernel : &o->data;
	if (left->shape == NULL)
		return 0;
	if (left->shape->rank >= 2 && dim_at(left, -1, 1) == rows && dim_at(left, -2, 1) != rows)
		return dim_at(left, -2, batch);
	return dim_at(left, -1, batch);
}

static double
rnn_directions(const pm_node *n)
{
	return n->attrs.bidirectional ? 2 : 1;
}

/* Steps over all sequences: output elements over the width of one output. */
static double
rnn_tokens(const pm_node *n, int64_t batch)
{
	tensor		out = output_tensor(n);
	double		width = dim_at(&out, -1, 1);

	return width > 0 ? count_at(&out, batch) / width : 0;
}

static double
rnn_hidden(const pm_node *n)
{
	tensor		out = output_tensor(n);

	if (n->attrs.hidden_size > 0)
		return (double) n->attrs.hidden_size;
	return dim_at(&out, -1, 1) / rnn_directions(n);
}

/* Elements of the matrices of all layers and directions; from the sizes when the node shows no weights. */
static double
rnn_matrices(const pm_graph *g, const pm_node *n, double gates)
{
	double		count = 0;
	double		h = rnn_hidden(n);
	double		dirs = rnn_directions(n);
	tensor		in = {NULL, -1, -1, false};

	for (int i = 0; i < n->n_weights; i++)
		if (n->weights[i].rank >= 2)
			count += pm_shape_count(&n->weights[i]);
	if (count > 0)
		return count;
	if (n->n_inputs > 0)
		in = input_tensor(g, n, 0);
	count = dirs * gates * h * (h + dim_at(&in, -1, 1));
	return count + ((double) n->attrs.num_layers - 1) * dirs * gates * h * (h + dirs * h);
}

/* Length of the key sequence of a fused attention: of the second input, else of the output. */
static double
attention_keys(const pm_graph *g, const pm_node *n, int64_t batch)
{
	tensor		keys = n->n_inputs > 1 ? input_tensor(g, n, 1) : output_tensor(n);

	return dim_at(&keys, -2, batch);
}

/* ---------- elements moved ---------- */

/*
 * Elements that node n touches of its producer p.  Of several outputs the one
 * with as many elements as n's own is taken, else their mean: readers name the
 * node as a whole.
 */
static double
touched_count(const pm_graph *g, const pm_node *n, const pm_node *p, int64_t batch)
{
	double		want = pm_shape_count(&n->shape);

	if (p->n_shapes <= 1)
		return pm_node_count(&g->nodes[p->memory], batch);
	for (int i = 0; i < p->n_shapes; i++)
		if (pm_shape_count(&p->shapes[i]) == want)
			return want * (p->batch_dim >= 0 ? (double) batch : 1);
	return pm_node_count_all(p, batch) / p->n_shapes;
}

/* Whether input k repeats an earlier one (x * x reads x once). Lists beyond a handful are not compared. */
static bool
repeats(const pm_graph *g, const pm_node *n, int k)
{
	if (n->n_inputs > 4 || g->nodes[n->inputs[k]].n_shapes > 1)
		return false;
	for (int j = 0; j < k; j++)
		if (n->inputs[j] == n->inputs[k])
			return true;
	return false;
}

static bool
is_product(const op_row *row)
{
	return row->flops == F_CONV || row->flops == F_CONVT || row->flops == F_GEMM;
}

static operands
product_operands(const pm_graph *g, const pm_node *n, const op_row *row)
{
	return row->flops == F_GEMM ? gemm_operands(g, n) : conv_operands(g, n);
}

/* Whether input k of a product counts as weight: a convolution's kernel, and all that does not follow the batch. */
static bool
weight_input(const pm_graph *g, const pm_node *n, const op_row *row, const operands *o, int k)
{
	if (!is_product(row) || k == o->data.input)
		return false;
	if (row->flops != F_GEMM && k == o->kernel.input)
		return true;
	return g->nodes[n->inputs[k]].batch_dim < 0;
}

/* Fill in_elems, out_elems, weight_elems and params. */
static void
count_elements(const pm_graph *g, const pm_node *n, const op_row *row, const operands *o, int64_t batch, pm_work *w)
{
	for (int k = 0; k < n->n_inputs; k++)
	{
		double		count = touched_count(g, n, &g->nodes[n->inputs[k]], batch);

		if (repeats(g, n, k))
			continue;
		if (weight_input(g, n, row, o, k))
			w->weight_elems += count;
		else
			w->in_elems += count;
	}
	for (int i = 0; i < n->n_weights; i++)
	{
		double		count = pm_shape_count(&n->weights[i]);

		w->weight_elems += count;
		if (i > 0 || n->attrs.tied < 0)
			w->params += count;
	}
	for (int i = 0; i < n->n_consts; i++)
		w->weight_elems += pm_shape_count(&n->consts[i]);
	w->out_elems = pm_node_count_all(n, batch);
}

/* ---------- work ---------- */

static double
first_input_count(const pm_graph *g, const pm_node *n, int64_t batch)
{
	const pm_node *p;

	if (n->n_inputs == 0)
		return n->n_weights > 0 ? pm_shape_count(&n->weights[0]) :
			n->n_consts > 0 ? pm_shape_count(&n->consts[0]) : 0;
	p = &g->nodes[n->inputs[0]];
	return p->n_shapes > 1 ? touched_count(g, n, p, batch) : pm_node_count(p, batch);
}

static double
window(const pm_node *n)
{
	double		count = 1;

	for (int i = 0; i < n->attrs.spatial; i++)
		count *= (double) n->attrs.kernel[i];
	return count;
}

static double
forward_flops(const pm_graph *g, const pm_node *n, const op_row *row, const operands *o, int64_t batch)
{
	double		f = row->factor;

	switch ((flop_rule) row->flops)
	{
		case F_NONE:
			return 0;
		case F_OUT:
			return f * pm_node_count_all(n, batch);
		case F_IN:
			return f * first_input_count(g, n, batch);
		case F_WINDOW:
			return f * pm_node_count(n, batch) * window(n);
		case F_CONV:
			return f * pm_node_count(n, batch) * kernel_depth(n, o);
		case F_CONVT:
			return f * count_at(&o->data, batch) * kernel_depth(n, o);
		case F_GEMM:
			return f * pm_node_count(n, batch) * inner_dim(n, o, batch);
		case F_RNN:
			return 2 * rnn_tokens(n, batch) * rnn_matrices(g, n, f);
		case F_ATTN:
			return f * pm_node_count(n, batch) * attention_keys(g, n, batch);
	}
	return 0;
}

static double
element_bytes(const op_row *row, pm_dtype dtype)
{
	if (dtype == PM_FP32 || dtype == PM_TF32)
		return 4;
	return dtype == PM_AMP && row->wide == W ? 4 : 2;
}

static double
forward_bytes(const pm_node *n, const op_row *row, const pm_work *w, int64_t batch, double e)
{
	tensor		out = output_tensor(n);
	double		width;

	switch ((byte_rule) row->bytes)
	{
		case B_NONE:
			return 0;
		case B_IO:
			return e * (w->in_elems + w->weight_elems + w->out_elems);
		case B_WRITE:
			return e * w->out_elems;
		case B_NORM:
			return e * 3 * w->out_elems;
		case B_GATHER:
			width = dim_at(&out, -1, 1);
			return e * 2 * w->out_elems + (width > 0 ? 8 * w->out_elems / width : 0);
		case B_RNN:
			return e * (w->in_elems + w->weight_elems + w->out_elems +
						rnn_tokens(n, batch) * row->factor * rnn_hidden(n) * rnn_directions(n) *
						(double) n->attrs.num_layers);
	}
	return 0;
}

static bool
input_grad(const pm_graph *g, const pm_node *n)
{
	for (int k = 0; k < n->n_inputs; k++)
		if (g->nodes[n->inputs[k]].grad)
			return true;
	return false;
}

/* Backward products: one for each factor that needs a gradient (the data, the kernel), 0 to 2. */
static double
gradients(const pm_graph *g, const pm_node *n, const op_row *row, const operands *o)
{
	if (is_product(row))
		return (o->data.shape != NULL && o->data.grad ? 1 : 0) + (o->kernel.shape != NULL && o->kernel.grad ? 1 : 0);
	if (row->flops == F_ATTN)
		return input_grad(g, n) ? 2 : 0;
	return (input_grad(g, n) ? 1 : 0) + (n->n_weights > 0 ? 1 : 0);
}

static void
backward(const pm_graph *g, const pm_node *n, const op_row *row, const operands *o, double e, pm_work *w)
{
	double		times;

	if (!n->grad || row->back == G_NONE)
		return;
	if (row->back == G_HALF)
	{
		w->flops_backward = 1.5 * w->flops_forward;
		w->bytes_backward = 1.5 * w->bytes_forward;
		/* the gradient of a table is as large as the table, however few rows were read */
		if (row->bytes == B_GATHER)
			for (int i = 0; i < n->n_weights; i++)
				w->bytes_backward += e * pm_shape_count(&n->weights[i]);
		w->kernels_backward = row->kernels_back;
		return;
	}
	times = gradients(g, n, row, o);
	w->flops_backward = times * w->flops_forward;
	w->bytes_backward = times * w->bytes_forward;
	if (!is_product(row) || o->kernel.grad)
		w->bytes_backward += e * w->weight_elems;
	w->kernels_backward = row->kernels_back + times * w->kernels_forward;
}

/* Sequence length of a recurrent node: of rank-3 outputs the dimension that is neither batch nor width. */
static double
rnn_steps(const pm_node *n)
{
	tensor		out = output_tensor(n);

	return out.shape->rank < 3 ? dim_at(&out, 0, 1) : dim_at(&out, n->batch_dim == 0 ? 1 : 0, 1);
}

/*
 * Launches forward: a recurrent node steps through its sequence, a
 * convolution adds its bias apart, mixed precision casts each weight once.
 */
static double
forward_kernels(const pm_node *n, const op_row *row, pm_dtype dtype)
{
	double		kernels = row->kernels;

	if (row->flops == F_RNN)
		kernels = rnn_steps(n) * rnn_directions(n) * (double) n->attrs.num_layers;
	if (row->class == PM_CLASS_CONV && n->n_weights > 1)
		kernels += 1;
	if (dtype == PM_AMP && row->back == G_PROD)
		kernels += n->n_weights;
	return kernels;
}

/* Optimizer work a parameter: operations and bytes, states in 4 bytes. */
static const struct update_cost
{
	double		flops;
	double		bytes;
}			update_costs[PM_N_OPTIMIZERS] =
{
	[PM_SGD] = {2, 12},
	[PM_SGD_MOMENTUM] = {4, 20},
	[PM_ADAM] = {12, 28},
	[PM_ADAMW] = {12, 28},
	[PM_OPT_OTHER] = {4, 20},
	[PM_OPT_NONE] = {0, 0},
};

/* Mixed precision keeps a 2-byte copy next to it; a model held in 2 bytes moves half. */
static void
update(pm_dtype dtype, pm_optimizer opt, pm_work *w)
{
	const struct update_cost *c = &update_costs[opt];
	double		bytes = c->bytes;

	if (opt == PM_OPT_NONE)
		return;
	if (dtype == PM_AMP)
		bytes += 2;
	else if (dtype == PM_BF16 || dtype == PM_FP16)
		bytes /= 2;
	w->flops_update = c->flops * w->params;
	w->bytes_update = bytes * w->params;
}

static pm_conv_kind
conv_kind(const pm_node *n, const op_row *row, const operands *o)
{
	double		depth = 1;

	if (row->class != PM_CLASS_CONV)
		return PM_CONV_NONE;
	if (row->flops == F_CONVT)
		return PM_CONV_TRANSPOSE;
	for (int i = 2; i < n->shape.rank; i++)
		depth *= o->kernel.shape != NULL ? dim_at(&o->kernel, i, 1) : 1;
	/* samples folded into the channels: a group for each sample */
	if (n->attrs.group > 1 || o->data.batch_dim == 1)
		return o->kernel.shape != NULL && dim_at(&o->kernel, 1, 1) == 1 ? PM_CONV_DEPTHWISE : PM_CONV_GROUPED;
	return depth == 1 && window(n) == 1 ? PM_CONV_1X1 : PM_CONV_KXK;
}

void
pm_node_work(const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_optimizer opt, pm_work *w)
{
	const pm_node *n = &g->nodes[i];
	const op_row *row = row_of(n->op);
	operands	o = {{NULL, -1, -1, false}, {NULL, -1, -1, false}};
	double		e = element_bytes(row, dtype);

	memset(w, 0, sizeof(*w));
	if (n->view || row->class == PM_CLASS_OTHER)
		return;
	if (is_product(row))
		o = product_operands(g, n, row);
	count_elements(g, n, row, &o, batch, w);
	w->flops_forward = forward_flops(g, n, row, &o, batch);
	w->bytes_forward = forward_bytes(n, row, w, batch, e);
	w->kernels_forward = forward_kernels(n, row, dtype);
	w->tensor_core = row->back == G_PROD && dtype != PM_FP32 && conv_kind(n, row, &o) != PM_CONV_DEPTHWISE;
	backward(g, n, row, &o, e, w);
	update(dtype, opt, w);
}

/* ---------- geometry ---------- */

static void
set(pm_geometry *geo, int bit, double *field, double value)
{
	*field = value;
	geo->present |= 1u << bit;
}

/* Height and width of t behind the channel; one dimension is a width, of three the first two fold into the height. */
static void
plane(const tensor *t, double *h, double *w)
{
	*h = 1;
	*w = 1;
	for (int i = 2; t->shape != NULL && i < t->shape->rank; i++)
	{
		if (i == t->shape->rank - 1)
			*w = dim_at(t, i, 1);
		else
			*h *= dim_at(t, i, 1);
	}
}

/* The attributes of the last two kernel dimensions; of three the first is folded into the kernel's height. */
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
set_in_plane(const tensor *t, pm_geometry *geo)
{
	double		h,
				w;

	plane(t, &h, &w);
	set(geo, PM_HAS_IN_CH, &geo->in_ch, dim_at(t, 1, 1));
	set(geo, PM_HAS_IN_H, &geo->in_h, h);
	set(geo, PM_HAS_IN_W, &geo->in_w, w);
}

static void
set_out_plane(const tensor *t, pm_geometry *geo)
{
	double		h,
				w;

	plane(t, &h, &w);
	set(geo, PM_HAS_OUT_CH, &geo->out_ch, dim_at(t, 1, 1));
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
set_bias(const pm_node *n, const operands *o, pm_geometry *geo)
{
	int			taken = (o->data.input >= 0 ? 1 : 0) + (o->kernel.input >= 0 ? 1 : 0);
	int			own = o->kernel.shape != NULL && o->kernel.input < 0 && o->kernel.grad ? 1 : 0;

	geo->has_bias = n->n_weights > own || n->n_inputs > taken;
	geo->present |= 1u << PM_HAS_BIAS;
}

/*
 * cuDNN runs grouped convolutions in channels-last on matrix units only when
 * groups come in multiples of 32 and have as many input as output channels:
 * 4, 8, 16 or 32.  All others fall back to a loop several times slower.
 */
static bool
group_is_fast(double groups, double in, double out)
{
	return fmod(groups, 32) == 0 && in == out && (in == 4 || in == 8 || in == 16 || in == 32);
}

static void
set_groups(pm_geometry *geo, double groups)
{
	double		out = geo->out_ch / groups;

	if (geo->conv == PM_CONV_GROUPED)
	{
		set(geo, PM_HAS_OUT_PER_GROUP, &geo->out_per_group, out);
		set(geo, PM_HAS_GROUP_ALIGNMENT, &geo->group_alignment, pm_alignment(groups));
		set(geo, PM_HAS_GROUP_FAST, &geo->group_fast, group_is_fast(groups, geo->ch_per_group, out));
	}
	set(geo, PM_HAS_WIDE_WINDOW, &geo->wide_window, fmax(geo->k_h, geo->k_w) > 7);
}

/*
 * A convolution, also as the product it is: rows are output positions (input
 * positions when transposed), one product a group.
 */
static void
conv_geometry(const pm_graph *g, const pm_node *n, const op_row *row, int64_t batch, pm_geometry *geo)
{
	operands	o = conv_operands(g, n);
	tensor		out = output_tensor(n);
	double		depth = kernel_depth(n, &o);
	double		groups = (double) n->attrs.group;
	const tensor *rows = row->flops == F_CONVT ? &o.data : &out;
	double		positions;

	geo->conv = conv_kind(n, row, &o);
	set_in_plane(&o.data, geo);
	set_out_plane(&out, geo);
	set_window(&n->attrs, geo);
	if (o.data.batch_dim == 1)
		groups *= (double) batch;
	set(geo, PM_HAS_GROUPS, &geo->groups, groups);
	set(geo, PM_HAS_CH_PER_GROUP, &geo->ch_per_group, geo->in_ch / (double) n->attrs.group);
	set_groups(geo, (double) n->attrs.group);
	positions = geo->in_ch * geo->out_ch == 0 || dim_at(rows, 1, batch) == 0 ? 0 :
		count_at(rows, batch) / dim_at(rows, 1, batch);
	if (row->flops == F_CONVT)
		set_gemm(geo, positions, depth, geo->ch_per_group, groups);
	else
		set_gemm(geo, positions, geo->out_ch / (double) n->attrs.group, depth, groups);
	set_bias(n, &o, geo);
}

static void
gemm_geometry(const pm_graph *g, const pm_node *n, int64_t batch, pm_geometry *geo)
{
	operands	o = gemm_operands(g, n);
	tensor		out = output_tensor(n);
	double		cols = dim_at(&out, -1, batch);
	double		rows = cols > 0 ? count_at(&out, batch) / cols : 0;
	double		count = 1;

	/* a product of two stacks is one product for each matrix; a stack times one matrix is one tall product */
	if (o.kernel.input >= 0 && o.kernel.shape->rank >= 3 && n->shape.rank >= 3)
	{
		rows = dim_at(&out, -2, batch);
		for (int i = 0; i < n->shape.rank - 2; i++)
			count *= dim_at(&out, i, batch);
		if (n->shape.rank == 4)
			set(geo, PM_HAS_HEADS, &geo->heads, dim_at(&out, 1, 1));
	}
	set_gemm(geo, rows, cols, inner_dim(n, &o, batch), count);
	if (n->shape.rank == 3 && n->batch_dim == 0)
		set(geo, PM_HAS_SEQ_LEN, &geo->seq_len, dim_at(&out, 1, 1));
	set_bias(n, &o, geo);
}

/* Softmax and fused attention: heads and the length of the key sequence. */
static void
attention_geometry(const pm_graph *g, const pm_node *n, const op_row *row, pm_geometry *geo)
{
	tensor		out = output_tensor(n);

	if (n->attrs.num_heads > 0)
		set(geo, PM_HAS_HEADS, &geo->heads, (double) n->attrs.num_heads);
	else if (n->shape.rank == 4)
		set(geo, PM_HAS_HEADS, &geo->heads, dim_at(&out, 1, 1));
	set(geo, PM_HAS_SEQ_LEN, &geo->seq_len,
		row->flops == F_ATTN ? attention_keys(g, n, 1) : dim_at(&out, -1, 1));
}

/* Everything else: channels and plane of rank 4, sequence and width of rank 3, width of rank 2. */
static void
plain_geometry(const pm_graph *g, const pm_node *n, pm_geometry *geo)
{
	tensor		out = output_tensor(n);
	tensor		in = {NULL, -1, -1, false};

	if (n->n_inputs > 0)
		in = input_tensor(g, n, 0);
	set_window(&n->attrs, geo);
	if (in.shape != NULL && in.shape->rank == 4)
		set_in_plane(&in, geo);
	if (n->shape.rank == 4)
		set_out_plane(&out, geo);
	else if (n->shape.rank == 3)
		set(geo, PM_HAS_SEQ_LEN, &geo->seq_len, dim_at(&out, 1, 1));
	if (n->shape.rank == 3 || n->shape.rank == 2)
		set(geo, PM_HAS_OUT_CH, &geo->out_ch, dim_at(&out, -1, 1));
	if (strcmp(row_of(n->op)->name, "LeakyRelu") == 0)
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
	const op_row *row = row_of(n->op);

	memset(geo, 0, sizeof(*geo));
	if (n->view || row->class == PM_CLASS_OTHER)
		return;
	if (row->flops == F_CONV || row->flops == F_CONVT)
		conv_geometry(g, n, row, batch, geo);
	else if (row->flops == F_GEMM)
		gemm_geometry(g, n, batch, geo);
	else if (row->class == PM_CLASS_ATTENTION)
		attention_geometry(g, n, row, geo);
	else
		plain_geometry(g, n, geo);
}
