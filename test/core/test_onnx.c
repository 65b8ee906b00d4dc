/*
 * test_onnx.c - the ONNX importer: shapes of every operator, folding, constants,
 * the batch, errors, and damage.
 */
#include "onnx_import.h"
#include "graph/op_work.h"

static const pm_node *
last(const imported *m)
{
	return &m->g.nodes[m->g.n_nodes - 1];
}

/* "Conv 1,4,8,8 b0" of the last node. */
static void
describe(const pm_node *n, char *text, size_t size)
{
	size_t		used = (size_t) snprintf(text, size, "%s ", n->op_name);

	for (int i = 0; i < n->shape.rank; i++)
		used += (size_t) snprintf(text + used, size - used, i ? ",%lld" : "%lld", (long long) n->shape.dim[i]);
	snprintf(text + used, size - used, " b%d", n->batch_dim);
}

/* ---------- one operator a line ---------- */

typedef struct one
{
	const char *op;
	const char *model;
	const char *want;
} one;

/* Convolutions and pooling. */
static const one windows[] = {
	{"Conv", IMAGE "init w 1 6,2,3,3;init b 1 6;node Conv x,w,b -> y strides=2,2 pads=1,1,1,1 group=2", "Conv 1,6,4,4 b0"},
	{"Conv", IMAGE "init w 1 6,4,3,3;node Conv x,w -> y auto_pad='SAME_UPPER' strides=3,3", "Conv 1,6,3,3 b0"},
	{"Conv", "input x 1 N,4,9;init w 1 6,4,3;node Conv x,w -> y dilations:=2 auto_pad='VALID'", "Conv 1,6,5 b0"},
	{"ConvTranspose", IMAGE "init w 1 4,3,2,2;node ConvTranspose x,w -> y strides=2,2 output_padding=1,1", "ConvTranspose 1,3,17,17 b0"},
	{"DeformConv", IMAGE "input o 1 N,18,6,6;init w 1 6,4,3,3;node DeformConv x,w,o -> y", "DeformConv 1,6,6,6 b0"},
	{"ConvInteger", "input x 2 N,4,8,8;init w 3 6,4,3,3;node ConvInteger x,w -> y", "Conv 1,6,6,6 b0"},
	{"QLinearConv", "input x 2 N,4,8,8;init w 3 6,4,3,3;scalar s 0.1;scalar z 0;node QLinearConv x,s,z,w,s,z,s,z -> y", "Conv 1,6,6,6 b0"},
	{"com.microsoft.FusedConv", IMAGE "init w 1 6,4,1,1;node FusedConv x,w -> y activation='Relu'" MS, "Conv 1,6,8,8 b0"},
	{"MaxPool", IMAGE "node MaxPool x -> y kernel_shape=3,3 strides=2,2 ceil_mode=1", "MaxPool 1,4,4,4 b0"},
	{"AveragePool", IMAGE "node AveragePool x -> y kernel_shape=3,3 strides=2,2", "AveragePool 1,4,3,3 b0"},
	{"AveragePool", IMAGE "node AveragePool x -> y kernel_shape=1,1", "aten::adaptive_avg_pool2d 1,4,8,8 b0"},
	{"LpPool", IMAGE "node LpPool x -> y kernel_shape=2,2 strides=2,2", "LpPool 1,4,4,4 b0"},
	{"GlobalAveragePool", IMAGE "node GlobalAveragePool x -> y", "GlobalAveragePool 1,4,1,1 b0"},
	{"GlobalMaxPool", IMAGE "node GlobalMaxPool x -> y", "GlobalMaxPool 1,4,1,1 b0"},
	{"GlobalLpPool", IMAGE "node GlobalLpPool x -> y", "ReduceL2 1,4,1,1 b0"},
};

/* Products, recurrent layers, attention. */
static const one products[] = {
	{"MatMul", SEQ "init w 1 8,5;node MatMul x,w -> y", "Reshape 1,6,5 b0"},
	{"MatMul", "input x 1 N,2,6,8;input z 1 N,2,8,3;node MatMul x,z -> y", "Reshape 1,2,6,3 b0"},
	{"MatMul", SEQ "input z 1 N,8,3;node MatMul x,z -> y", "MatMul 1,6,3 b0"},
	{"MatMul", SEQ "init w 1 8;node MatMul x,w -> y", "Reshape 1,6 b0"},
	{"MatMulInteger", "input x 2 N,8;init w 3 8,5;node MatMulInteger x,w -> y", "MatMul 1,5 b0"},
	{"QLinearMatMul", "input x 2 N,8;init w 3 8,5;scalar s 0.1;scalar z 0;node QLinearMatMul x,s,z,w,s,z,s,z -> y", "MatMul 1,5 b0"},
	{"com.microsoft.FusedMatMul", SEQ "node FusedMatMul x,x -> y transB=1" MS, "MatMul 1,6,6 b0"},
	{"com.microsoft.TransposeMatMul", SEQ "node TransposeMatMul x,x -> y transA=1" MS, "MatMul 1,8,8 b0"},
	{"Gemm", FLAT "init w 1 5,8;init b 1 5;node Gemm x,w,b -> y transB=1", "Gemm 1,5 b0"},
	{"Gemm", FLAT "init w 1 8,5;node Gemm x,w -> y", "MatMul 1,5 b0"},
	{"com.microsoft.FusedGemm", FLAT "init w 1 8,5;init b 1 5;node FusedGemm x,w,b -> y" MS, "Gemm 1,5 b0"},
	{"Einsum", "input x 1 N,2,6,8;input z 1 N,2,5,8;node Einsum x,z -> y equation='bhid,bhjd->bhij'", "Reshape 1,2,6,5 b0"},
	{"LSTM", "input x 1 5,N,8;init w 1 1,16,8;init r 1 1,16,4;init b 1 1,32;node LSTM x,w,r,b -> y hidden_size=4", "Transpose 5,1,1,4 b2"},
	{"LSTM", "input x 1 5,N,8;init w 1 2,16,8;init r 1 2,16,4;node LSTM x,w,r -> -,y hidden_size=4;node Relu y -> z", "Relu 2,1,4 b1"},
	{"GRU", "input x 1 5,N,8;init w 1 1,12,8;init r 1 1,12,4;init b 1 1,24;node GRU x,w,r,b -> y hidden_size=4", "Transpose 5,1,1,4 b2"},
	{"RNN", "input x 1 5,N,8;init w 1 1,4,8;init r 1 1,4,4;init b 1 1,8;node RNN x,w,r,b -> y hidden_size=4", "Transpose 5,1,1,4 b2"},
	{"com.microsoft.Attention", SEQ "init w 1 8,24;init b 1 24;node Attention x,w,b -> y num_heads=2" MS, "Reshape 1,6,8 b0"},
	{"com.microsoft.MultiHeadAttention", SEQ "node MultiHeadAttention x,x,x -> y num_heads=2" MS, "Reshape 1,6,8 b0"},
	{"com.microsoft.GroupQueryAttention", SEQ "input k 1 N,6,4;node GroupQueryAttention x,k,k -> y num_heads=4 kv_num_heads=2" MS, "Reshape 1,6,8 b0"},
	{"Attention", SEQ "node Attention x,x,x -> y q_num_heads=2 kv_num_heads=2", "Reshape 1,6,8 b0"},
};

/* Normalisations. */
static const one norms[] = {
	{"BatchNormalization", IMAGE "init s 1 4;node BatchNormalization x,s,s,s,s -> y", "BatchNormalization 1,4,8,8 b0"},
	{"InstanceNormalization", IMAGE "init s 1 4;node InstanceNormalization x,s,s -> y", "InstanceNormalization 1,4,8,8 b0"},
	{"GroupNormalization", IMAGE "init s 1 4;opset 21;node GroupNormalization x,s,s -> y num_groups=2", "GroupNormalization 1,4,8,8 b0"},
	{"com.microsoft.GroupNorm", IMAGE "init s 1 4;node GroupNorm x,s,s -> y groups=2" MS, "GroupNormalization 1,4,8,8 b0"},
	{"LayerNormalization", SEQ "init s 1 8;opset 17;node LayerNormalization x,s,s -> y", "LayerNormalization 1,6,8 b0"},
	{"RMSNormalization", SEQ "init s 1 8;node RMSNormalization x,s -> y", "RMSNormalization 1,6,8 b0"},
	{"SimplifiedLayerNormalization", SEQ "init s 1 8;node SimplifiedLayerNormalization x,s -> y", "RMSNormalization 1,6,8 b0"},
	{"com.microsoft.SkipLayerNormalization", SEQ "init s 1 8;node SkipLayerNormalization x,x,s,s -> y" MS, "LayerNormalization 1,6,8 b0"},
	{"com.microsoft.SkipSimplifiedLayerNormalization", SEQ "init s 1 8;node SkipSimplifiedLayerNormalization x,x,s -> y" MS, "RMSNormalization 1,6,8 b0"},
	{"com.microsoft.EmbedLayerNormalization", IDS "init w 1 50,8;init s 1 8;node EmbedLayerNormalization x,-,w,w,-,s,s -> y" MS, "LayerNormalization 1,6,8 b0"},
	{"LRN", IMAGE "node LRN x -> y size=3", "LRN 1,4,8,8 b0"},
	{"LpNormalization", FLAT "node LpNormalization x -> y", "LpNormalization 1,8 b0"},
	{"MeanVarianceNormalization", IMAGE "node MeanVarianceNormalization x -> y", "MeanVarianceNormalization 1,4,8,8 b0"},
};

/* Element by element. */
static const one elements[] = {
	{"Softmax", FLAT "node Softmax x -> y axis=1", "Softmax 1,8 b0"},
	{"LogSoftmax", FLAT "node LogSoftmax x -> y", "LogSoftmax 1,8 b0"},
	{"PRelu", IMAGE "init s 1 4,1,1;node PRelu x,s -> y", "PRelu 1,4,8,8 b0"},
	{"Cast", FLAT "node Cast x -> y to=10", "Cast 1,8 b0"},
	{"CastLike", FLAT "input z 10 N,8;node CastLike x,z -> y", "Cast 1,8 b0"},
	{"Identity", FLAT "node Identity x -> z;node Relu z -> y", "Relu 1,8 b0"},
	{"Dropout", FLAT "scalar p 0.5;scalar t 1;node Dropout x,p,t -> y", "Dropout 1,8 b0"},
	{"Dropout", FLAT "scalar p 0.5;node Dropout x,p -> z;node Relu z -> y", "Relu 1,8 b0"},
	{"Clip", FLAT "scalar l 0;scalar h 6;node Clip x,l,h -> y", "Clip 1,8 b0"},
	{"Where", FLAT "input c 9 N,1;node Where c,x,x -> y", "Where 1,8 b0"},
	{"Sum", FLAT "node Sum x,x,x -> y", "Add 1,8 b0"}, {"Mean", FLAT "node Mean x,x -> y", "Mean 1,8 b0"},
	{"Max", FLAT "node Max x,x,x -> y", "Max 1,8 b0"}, {"Min", FLAT "node Min x,x -> y", "Min 1,8 b0"},
	{"CumSum", FLAT "scalar a 1;node CumSum x,a -> y", "CumSum 1,8 b0"},
	{"Trilu", SEQ "node Trilu x -> y", "Trilu 1,6,8 b0"},
	{"ReverseSequence", SEQ "ints l 1;node ReverseSequence x,l -> y", "ReverseSequence 1,6,8 b0"},
	{"EyeLike", FLAT "node EyeLike x -> y", "EyeLike 1,8 b0"}, {"Hardmax", FLAT "node Hardmax x -> y", "OneHot 1,8 b0"},
	{"com.microsoft.BiasGelu", FLAT "init b 1 8;node BiasGelu x,b -> y" MS, "Gelu 1,8 b0"},
	{"com.microsoft.FastGelu", FLAT "node FastGelu x -> y" MS, "Gelu 1,8 b0"},
	{"com.microsoft.QuickGelu", FLAT "node QuickGelu x -> y" MS, "Gelu 1,8 b0"},
	{"com.microsoft.Gelu", FLAT "node Gelu x -> y" MS, "Gelu 1,8 b0"},
	{"com.microsoft.BiasAdd", SEQ "init b 1 8;node BiasAdd x,b,x -> y" MS, "Add 1,6,8 b0"},
	{"com.microsoft.BiasDropout", SEQ "init b 1 8;node BiasDropout x,b -> y" MS, "Dropout 1,6,8 b0"},
	{"LeakyRelu", FLAT "node LeakyRelu x -> y alpha=0.2", "LeakyRelu 1,8 b0"}, {"Elu", FLAT "node Elu x -> y", "Elu 1,8 b0"},
	{"Pow", FLAT "scalar e 2;node Pow x,e -> y", "Pow 1,8 b0"},
};

/* Sums and choices over an axis, random numbers, quantisation, losses. */
static const one sums[] = {
	{"ReduceMean", IMAGE "node ReduceMean x -> y axes=2,3", "GlobalAveragePool 1,4,1,1 b0"},
	{"ReduceMean", SEQ "node ReduceMean x -> y axes:=1 keepdims=0", "ReduceMean 1,8 b0"},
	{"ReduceSum", SEQ "ints a -1;node ReduceSum x,a -> y keepdims=0", "ReduceSum 1,6 b0"},
	{"ReduceMax", "opset 18;" SEQ "ints a 1;node ReduceMax x,a -> y", "ReduceMax 1,1,8 b0"},
	{"ArgMax", SEQ "node ArgMax x -> y axis=-1 keepdims=0", "ArgMax 1,6 b0"},
	{"ArgMin", SEQ "node ArgMin x -> y axis=1", "ArgMin 1,1,8 b0"},
	{"TopK", FLAT "ints k 3;node TopK x,k -> y,i", "TopK 1,3 b0"},
	{"RandomNormalLike", FLAT "node RandomNormalLike x -> y", "RandomNormal 1,8 b0"},
	{"RandomUniformLike", FLAT "node RandomUniformLike x -> y", "RandomUniform 1,8 b0"},
	{"RandomNormal", FLAT "node RandomNormal -> z shape:=8;node Add x,z -> y", "Add 1,8 b0"},
	{"RandomUniform", FLAT "node RandomUniform -> z shape:=8;node Add x,z -> y", "Add 1,8 b0"},
	{"OneHot", IDS "ints d 9;floats v 0,1;node OneHot x,d,v -> y", "OneHot 1,6,9 b0"},
	{"QuantizeLinear", FLAT "scalar s 0.1;node QuantizeLinear x,s -> y", "Cast 1,8 b0"},
	{"DequantizeLinear", "input x 2 N,8;scalar s 0.1;node DequantizeLinear x,s -> y", "Cast 1,8 b0"},
	{"DynamicQuantizeLinear", FLAT "node DynamicQuantizeLinear x -> y,s,z;output y", "Cast 1,8 b0"},
	{"SoftmaxCrossEntropyLoss", FLAT "input t 7 N;node SoftmaxCrossEntropyLoss x,t -> y reduction='none'", "CrossEntropyLoss 1 b0"},
	{"NegativeLogLikelihoodLoss", FLAT "input t 7 N;node NegativeLogLikelihoodLoss x,t -> y", "NllLoss  b-1"},
};

/* Shapes, and which elements there are. */
static const one shapes[] = {
	{"Shape", SEQ "node Shape x -> s;node Reshape x,s -> z;node Relu z -> y", "Relu 1,6,8 b0"},
	{"Size", SEQ "node Size x -> s;ints o 1;node Reshape s,o -> t;node Reshape x,t -> y", "Reshape 48 b0"},
	{"Constant", FLAT "node Constant -> s value=@0,2,4;node Reshape x,s -> y", "Reshape 1,2,4 b0"},
	{"Constant", FLAT "node Constant -> s value_ints=-1,2;node Reshape x,s -> y", "Reshape 4,2 b0"},
	{"ConstantOfShape", FLAT "node Shape x -> s;node ConstantOfShape s -> z;node Add x,z -> y", "Add 1,8 b0"},
	{"Range", SEQ "ints a 0;ints l 6;ints d 1;ints e -1;node Squeeze a -> a0;node Squeeze l -> l0;node Squeeze d -> d0;"
	"node Range a0,l0,d0 -> r;init w 1 6,8;node Gather w,r -> z;node Add x,z -> y", "Add 1,6,8 b0"},
	{"Reshape", SEQ "ints s 0,-1;node Reshape x,s -> y", "Reshape 1,48 b0"},
	{"Flatten", IMAGE "node Flatten x -> y", "Reshape 1,256 b0"},
	{"Squeeze", "input x 1 N,1,8;ints a 1;node Squeeze x,a -> y", "Squeeze 1,8 b0"},
	{"Squeeze", "opset 11;input x 1 N,1,8;node Squeeze x -> y axes:=1", "Squeeze 1,8 b0"},
	{"Unsqueeze", FLAT "ints a 0,-1;node Unsqueeze x,a -> y", "Unsqueeze 1,1,8,1 b1"},
	{"Transpose", SEQ "node Transpose x -> y perm=1,0,2", "Transpose 6,1,8 b1"},
	{"Transpose", SEQ "node Transpose x -> y", "Transpose 8,6,1 b2"},
	{"Expand", "input x 1 N,1,8;ints s 1,6,1;node Expand x,s -> y", "Expand 1,6,8 b0"},
	{"Tile", FLAT "ints s 1,3;node Tile x,s -> y", "Tile 1,24 b0"},
	{"Concat", FLAT "node Concat x,x,x -> y axis=-1", "Concat 1,24 b0"},
	{"Split", FLAT "ints s 3,5;node Split x,s -> a,b axis=1;node Relu b -> y", "Relu 1,5 b0"},
	{"Split", "opset 18;" FLAT "node Split x -> a,b,c axis=1 num_outputs=3;node Relu c -> y", "Relu 1,2 b0"},
	{"Slice", SEQ "ints s 1;ints e 9223372036854775807;ints a 1;ints t 2;node Slice x,s,e,a,t -> y", "Slice 1,3,8 b0"},
	{"Slice", SEQ "ints s -1;ints e -9223372036854775807;ints a 1;ints t -1;node Slice x,s,e,a,t -> y", "aten::flip 1,6,8 b0"},
	{"Slice", "opset 9;" SEQ "node Slice x -> y starts:=2 ends:=4 axes:=1", "Slice 1,2,8 b0"},
	{"Gather", SEQ "scalar i 0;node Cast i -> j to=7;node Gather x,j -> y axis=1", "Slice 1,8 b0"},
	{"Gather", IDS "init w 1 50,8;node Gather w,x -> y", "Gather 1,6,8 b0"},
	{"GatherElements", FLAT "input i 7 N,3;node GatherElements x,i -> y axis=1", "GatherElements 1,3 b0"},
	{"GatherND", SEQ "input i 7 N,4,1;node GatherND x,i -> y batch_dims=1", "GatherND 1,4,8 b0"},
	{"ScatterElements", FLAT "input i 7 N,3;input u 1 N,3;node ScatterElements x,i,u -> y axis=1", "ScatterElements 1,8 b0"},
	{"Scatter", FLAT "input i 7 N,3;input u 1 N,3;node Scatter x,i,u -> y axis=1", "ScatterElements 1,8 b0"},
	{"ScatterND", SEQ "input i 7 N,1;input u 1 N,6,8;node ScatterND x,i,u -> y", "ScatterND 1,6,8 b0"},
	{"Pad", IMAGE "ints p 0,0,1,2,0,0,1,2;node Pad x,p -> y", "Pad 1,4,10,12 b0"},
	{"Pad", "opset 9;" FLAT "node Pad x -> y pads=0,1,0,1", "Pad 1,10 b0"},
	{"Resize", IMAGE "floats s 1,1,2,2;node Resize x,-,s -> y mode='linear'", "Resize 1,4,16,16 b0"},
	{"Resize", IMAGE "node Shape x -> s;ints z 0;ints t 2;node Slice s,z,t -> nc;ints hw 5,7;node Concat nc,hw -> to axis=0;"
	"node Resize x,-,-,to -> y", "Resize 1,4,5,7 b0"},
	{"Upsample", "opset 9;" IMAGE "floats s 1,1,2,2;node Upsample x,s -> y", "Resize 1,4,16,16 b0"},
	{"DepthToSpace", IMAGE "node DepthToSpace x -> y blocksize=2", "Reshape 1,1,16,16 b0"},
	{"SpaceToDepth", IMAGE "node SpaceToDepth x -> y blocksize=2", "Reshape 1,16,4,4 b0"},
	{"GridSample", IMAGE "input g 1 N,5,6,2;node GridSample x,g -> y", "GridSample 1,4,5,6 b0"},
	{"RoiAlign", IMAGE "input q 1 N,4;input i 7 N;node RoiAlign x,q,i -> y output_height=7 output_width=7", "RoiAlign 1,4,7,7 b0"},
	{"CenterCropPad", IMAGE "ints s 4,4;node CenterCropPad x,s -> y axes=2,3", "Pad 1,4,4,4 b0"},
	{"Col2Im", "opset 18;input x 1 N,36,16;ints i 5,5;ints b 3,3;node Col2Im x,i,b -> y", "aten::col2im 1,4,5,5 b0"},
};

#define SUBJECT(table) {table, sizeof(table) / sizeof(table[0])}
static const struct
{
	const one  *ones;
	size_t		n;
}			subjects[] = {
	SUBJECT(windows), SUBJECT(products), SUBJECT(norms), SUBJECT(elements), SUBJECT(sums), SUBJECT(shapes)
};
#define N_SUBJECTS ((int) (sizeof(subjects) / sizeof(subjects[0])))

/* Operators with one input or two alike, all of one form; the name that is written is another one here and there. */
static const char *const plain[] = {"Relu", "Gelu", "Silu", "Swish=Silu", "Sigmoid", "Tanh", "Mish", "Softplus", "Softsign", "Selu", "Celu",
	"Shrink", "ThresholdedRelu", "HardSigmoid", "HardSwish", "Neg", "Abs", "Sqrt", "Reciprocal", "Exp", "Log", "Erf", "Sin", "Cos",
	"Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Sign", "Round", "Floor", "Ceil", "Not",
	"BitwiseNot=Not", "IsNaN", "IsInf", "Bernoulli", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
"ReduceSumSquare", "ReduceMin", NULL};
static const char *const pairs[] = {"Add", "Sub", "Mul", "Div", "Mod", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And",
"Or", "Xor", "BitShift", "BitwiseAnd=And", "BitwiseOr=Or", "BitwiseXor=Xor", NULL};

static void
check_one(const char *op, const char *model, const char *want)
{
	imported	m;
	char		got[1000];

	import(model, -1, &m);
	if (m.code != PM_OK)
		snprintf(got, sizeof(got), "%s: %s", op, m.st.message);
	else
		describe(last(&m), got, sizeof(got));
	check_text(got, want, __FILE__, __LINE__, op);
	if (m.code == PM_OK)
		CHECK_EQ(m.g.n_unknown, 0);
	pm_arena_release(&m.arena);
}

static void
check_plain(const char *spec, bool two)
{
	char		op[64];
	char		model[200];
	char		want[100];
	char	   *as = strchr(strcpy(op, spec), '=');
	bool		reduce = strncmp(op, "Reduce", 6) == 0;

	if (as != NULL)
		*as++ = '\0';
	snprintf(model, sizeof(model), two ? FLAT "input z 1 N,1;node %s z,x -> y" : FLAT "node %s x -> y", op);
	snprintf(want, sizeof(want), "%s %s", as != NULL ? as : op, reduce ? "1,1 b-1" : "1,8 b0");
	check_one(op, model, want);
}

static bool
tested(const char *op)
{
	for (int k = 0; k < N_SUBJECTS; k++)
		for (size_t i = 0; i < subjects[k].n; i++)
			if (strcmp(subjects[k].ones[i].op, op) == 0)
				return true;
	for (int i = 0; plain[i] != NULL; i++)
		if (strcspn(plain[i], "=") == strlen(op) && strncmp(plain[i], op, strlen(op)) == 0)
			return true;
	for (int i = 0; pairs[i] != NULL; i++)
		if (strcspn(pairs[i], "=") == strlen(op) && strncmp(pairs[i], op, strlen(op)) == 0)
			return true;
	return false;
}

static void
test_operators(void)
{
	int			count = 0;

	for (int k = 0; k < N_SUBJECTS; k++)
		for (size_t i = 0; i < subjects[k].n; i++)
			check_one(subjects[k].ones[i].op, subjects[k].ones[i].model, subjects[k].ones[i].want);
	for (int i = 0; plain[i] != NULL; i++)
		check_plain(plain[i], false);
	for (int i = 0; pairs[i] != NULL; i++)
		check_plain(pairs[i], true);
	for (; pm_onnx_operator(count) != NULL; count++)
		check_report(tested(pm_onnx_operator(count)), __FILE__, __LINE__, pm_onnx_operator(count));
	CHECK(count >= 120);
}

/* ---------- what exporters take apart ---------- */

#define NORM "node ReduceMean x -> m axes:=-1;node Sub x,m -> d;scalar two 2;node Pow d,two -> q;node ReduceMean q -> v axes:=-1;" \
	"scalar e 0.00001;node Add v,e -> ve;node Sqrt ve -> r;node Div d,r -> n;"

static void
test_folding(void)
{
	check_folded(SEQ NORM "init g 1 8;init b 1 8;node Mul n,g -> s;node Add s,b -> y;output y", "LayerNormalization");
	check_folded(SEQ NORM "node Relu n -> y;output y", "LayerNormalization Relu");
	/* a result that somebody else reads keeps the pieces */
	check_folded(SEQ NORM "node Add n,q -> y;output y", "ReduceMean Sub Pow ReduceMean Add Sqrt Div Add");
	check_folded(FLAT "scalar s 1.41421356;node Div x,s -> a;node Erf a -> b;scalar one 1;node Add b,one -> c;node Mul x,c -> d;"
				 "scalar h 0.5;node Mul d,h -> y;output y", "Gelu");
	check_folded(FLAT "scalar s 1.41421356;scalar h 0.5;node Mul x,h -> z;node Div x,s -> a;node Erf a -> b;scalar one 1;"
				 "node Add b,one -> c;node Mul z,c -> y;output y", "Gelu");
	check_folded(FLAT "scalar s 1.5;node Div x,s -> a;node Erf a -> b;scalar one 1;node Add b,one -> c;node Mul x,c -> d;"
				 "scalar h 0.5;node Mul d,h -> y;output y", "Div Erf Add Mul Mul");
	check_folded(FLAT "scalar k 0.044715;scalar c 0.7978846;scalar one 1;scalar h 0.5;node Mul x,x -> a;node Mul x,a -> b;"
				 "node Mul k,b -> d;node Add x,d -> e;node Mul c,e -> f;node Tanh f -> g;node Add one,g -> i;node Mul x,i -> j;"
				 "node Mul h,j -> y;output y", "Gelu");
	check_folded(FLAT "node Sigmoid x -> s;node Mul x,s -> y;output y", "Silu");
	check_folded(FLAT "node Sigmoid x -> s;node Relu x -> r;node Mul r,s -> y;output y", "Sigmoid Relu Mul");
	check_folded(FLAT "node HardSigmoid x -> s;node Mul x,s -> y;output y", "HardSwish");
	check_folded(FLAT "scalar t 3;scalar z 0;scalar s 6;node Add x,t -> a;node Clip a,z,s -> c;node Div c,s -> d;node Mul x,d -> y;output y",
				 "HardSwish");
	check_folded(FLAT "scalar t 3;scalar z 0;scalar s 6;node Add x,t -> a;node Clip a,z,s -> c;node Mul x,c -> d;node Div d,s -> y;output y",
				 "HardSwish");
	check_folded(FLAT "scalar t 3;scalar z 0;scalar s 6;node Add x,t -> a;node Clip a,z,s -> c;node Div c,s -> y;output y", "HardSigmoid");
	check_folded(FLAT "node Softplus x -> s;node Tanh s -> t;node Mul x,t -> y;output y", "Mish");
	check_folded(FLAT "node Sigmoid x -> s;node Log s -> y;output y", "LogSigmoid");
	check_folded(FLAT "scalar one 1;node Sqrt x -> s;node Div one,s -> y;output y", "aten::rsqrt");
	check_folded(FLAT "node Split x -> a,b axis=-1;node Sigmoid b -> s;node Mul a,s -> y;output y", "aten::glu");
	check_folded(SEQ "init w 1 5,8;init b 1 5;node Transpose w -> t perm=1,0;node MatMul x,t -> m;node Add b,m -> y;output y", "Gemm");
	/* not contiguous: PyTorch copies, multiplies and adds */
	check_folded("input x 1 6,N,8;init w 1 5,8;init b 1 5;node Transpose x -> p perm=1,0,2;node Transpose w -> t perm=1,0;"
				 "node MatMul p,t -> m;node Add b,m -> y;output y", "aten::clone MatMul Add");
	check_folded(SEQ "node Transpose x -> k perm=0,2,1;scalar c 0.6;node Mul x,c -> q;node Mul k,c -> z;node MatMul q,z -> s;"
				 "node Softmax s -> a axis=-1;node MatMul a,x -> y;output y", "Attention");
	check_folded(SEQ "ints s 2;ints e 99;ints a 1;ints z 0;node Slice x,s,e,a -> p;node Slice x,z,s,a -> q;node Concat p,q -> y axis=1;output y",
				 "aten::roll");
	check_folded(IMAGE "ints s 0,2,-1;floats one 1,1;node Reshape x,s -> a;node InstanceNormalization a,one,one -> b;node Shape x -> t;"
				 "node Reshape b,t -> c;init g 1 4,1,1;node Mul c,g -> d;node Add d,g -> y;output y", "GroupNormalization");
	check_folded(IMAGE "ints p 0,0,1,1,0,0,1,1;node Pad x,p -> a;node AveragePool a -> y kernel_shape=3,3;output y", "AveragePool");
	check_folded("input x 1 5,N,8;init w 1 1,16,8;init r 1 1,16,4;init b 1 1,32;init w2 1 1,16,4;ints a 1;node LSTM x,w,r,b -> p hidden_size=4;"
				 "node Squeeze p,a -> q;node LSTM q,w2,r,b -> y hidden_size=4;output y", "LSTM");
	check_folded(FLAT "input m 9 N,8;scalar v -1;node Where m,v,x -> y;output y", "aten::masked_fill");
}

#define CHUNK SEQ "scalar b 0.5;node Add x,b -> h;ints a -1;ints z 0;ints m 2;ints n 3;ints k 1;node Shape h -> s;node Gather s,a -> g axis=0;node Add g,m -> t;" \
	"node Div t,n -> q;node Mul q,k -> e1;node Mul q,m -> e2;node Mul q,n -> e3;"

/* Sizes of the parts of the only node that makes several, and how many nodes `Slice` there are. */
static void
check_parts(const char *model, int parts, int slices)
{
	static const int sizes[] = {3, 3, 2};
	imported	m;
	int			found = 0;

	import(model, -1, &m);
	CHECK_EQ(m.code, PM_OK);
	for (int i = 0; m.code == PM_OK && i < m.g.n_nodes; i++)
	{
		const pm_node *n = &m.g.nodes[i];

		slices -= strcmp(n->op_name, "Slice") == 0;
		if (n->n_shapes == 0)
			continue;
		found = n->n_shapes;
		CHECK(strcmp(n->op_name, "Split") == 0 && n->view && n->shape.dim[2] == sizes[0]);
		for (int k = 0; k < n->n_shapes && k < 3; k++)
			CHECK(n->shapes[k].rank == 3 && n->shapes[k].dim[1] == 6 && n->shapes[k].dim[2] == sizes[k]);
	}
	CHECK_EQ(found, parts);
	CHECK_EQ(slices, 0);
	pm_arena_release(&m.arena);
}

/* torch.onnx writes the parts of a chunk() as Slices, whose bounds are multiples of a quotient; a program's own slices have numbers. */
static void
test_chunk(void)
{
	check_parts(CHUNK "node Slice h,z,e1,a -> u;node Slice h,e1,e2,a -> v;node Slice h,e2,e3,a -> w;node Mul u,v -> p;node Relu w -> r;"
				"output p;output r", 3, 0);
	/* parts that nothing reads are left out of the file */
	check_parts(CHUNK "node Slice h,z,e1,a -> u;node Slice h,e1,e2,a -> v;node Mul u,v -> y;output y", 3, 0);
	check_parts(CHUNK "node Slice h,e1,e2,a -> u;node Relu u -> y;output y", 3, 0);
	/* another value's size, other bounds, and numbers */
	check_parts(CHUNK "node Slice x,z,e1,a -> u;node Relu u -> y;output y", 0, 1);
	check_parts(CHUNK "node Slice h,z,e2,a -> u;node Slice h,k,e1,a -> v;node Concat u,v -> y axis=2;output y", 0, 2);
	check_parts(CHUNK "ints three 3;ints six 6;node Slice h,z,three,a -> u;node Slice h,three,six,a -> v;node Mul u,v -> y;output y", 0, 2);
	/* the rest of a quotient that another axis gave */
	check_parts(CHUNK "ints one 1;node Slice h,z,e1,one -> u;node Relu u -> y;output y", 0, 1);
}

/* Parts of a parameter are parameters of their own sizes, and together they are the parameter: cross-attention's projections. */
static void
test_parts_of_weights(void)
{
	imported	m;

	import(SEQ "input z 1 N,6,8;init w 1 12,8;ints s 4,8;node Split w,s -> a,b axis=0;node Transpose a -> p perm=1,0;node Transpose b -> q perm=1,0;"
		   "node MatMul x,p -> c;node MatMul z,q -> d;ints k 0,1;ints e 2,3;ints i 0,1;init t 1 6,8;node Slice t,k,e,i -> g;"
		   "node ReduceSum g -> h keepdims=0;node Add c,h -> y;output y;output d", -1, &m);
	CHECK_EQ(m.code, PM_OK);
	CHECK_EQ(m.g.params, 12 * 8 + 2 * 2);
	CHECK_EQ(m.g.declared_params, 12 * 8 + 6 * 8);
	for (int i = 0; m.code == PM_OK && i < m.g.n_nodes; i++)
		if (strcmp(m.g.nodes[i].op_name, "MatMul") == 0)
		{
			pm_work		w;

			pm_node_work(&m.g, i, 2, PM_FP32, PM_NCHW, PM_SGD, &w);
			CHECK_EQ(w.flops_forward, 2. * 2 * 6 * 8 * (double) m.g.nodes[i].shape.dim[m.g.nodes[i].shape.rank - 1]);
			CHECK_EQ(pm_shape_count(&m.g.nodes[i].weights[0]), w.flops_forward / (2 * 2 * 6));
		}
	pm_arena_release(&m.arena);
}

/* Whether a query of the model's attention sees earlier keys only. */
static void
check_causal(const char *model, bool want)
{
	imported	m;
	bool		seen = false;

	import(model, -1, &m);
	CHECK_EQ(m.code, PM_OK);
	for (int i = 0; m.code == PM_OK && i < m.g.n_nodes; i++)
		if (strcmp(m.g.nodes[i].op_name, "Attention") == 0)
		{
			seen = true;
			CHECK_EQ(m.g.nodes[i].attrs.is_causal, want);
		}
	CHECK(seen);
	pm_arena_release(&m.arena);
}

static void
test_causal(void)
{
	check_causal(SEQ "node Attention x,x,x -> y q_num_heads=2 kv_num_heads=2 is_causal=1;output y", true);
	check_causal(SEQ "node Attention x,x,x -> y q_num_heads=2 kv_num_heads=2;output y", false);
	check_causal(SEQ "init w 1 8,24;init b 1 24;node Attention x,w,b -> y num_heads=2 unidirectional=1" MS ";output y", true);
	check_causal(SEQ "node MultiHeadAttention x,x,x -> y num_heads=2" MS ";output y", false);
	check_causal(SEQ "input k 1 N,6,4;node GroupQueryAttention x,k,k -> y num_heads=4 kv_num_heads=2" MS ";output y", true);
}

/* ---------- the batch ---------- */

static void
check_batch(const char *model, int batch_dim, const char *want)
{
	imported	m;
	char		got[1000];

	import(model, batch_dim, &m);
	if (m.code == PM_OK)
		describe(last(&m), got, sizeof(got));
	else
		snprintf(got, sizeof(got), "%s / %s", m.st.message, m.st.hint);
	check_text(got, want, __FILE__, __LINE__, "batch");
	pm_arena_release(&m.arena);
}

static void
test_batch(void)
{
	check_batch("input x 1 ?,8;node Relu x -> y", -1, "Relu 1,8 b0");
	check_batch("input x 1 -1,8;node Relu x -> y", -1, "Relu 1,8 b0");
	check_batch("input x 1 5,batch;node Relu x -> y", -1, "Relu 5,1 b1");
	check_batch("input x 1 T,batch;node Relu x -> y", -1, "dynamic dimension 0, \"T\", beside the batch / Give its size");
	check_batch("input x 1 batch,S;node Relu x -> y", -1, "Relu 1,16 b0");
	check_batch("input x 1 3,8;node Relu x -> y", -1, "batch_dim => 0");
	check_batch("input x 1 3,8;node Relu x -> y", 0, "Relu 1,8 b0");
	check_batch("input x 1 3,8;node Relu x -> y", 2, "no dimension 2");
	/* a fixed batch in constants of reshapes */
	check_batch("input x 1 1,6,8;ints s 1,6,2,4;node Reshape x,s -> a;node Transpose a -> y perm=0,2,1,3", 0, "Transpose 1,2,6,4 b0");
	check_batch("input x 1 1,6,8;ints s 1,-1,2,4;node Reshape x,s -> y", 0, "Reshape 1,6,2,4 b0");
	check_batch("input x 1 6,1,8;ints s 6,2,4;node Reshape x,s -> y", 1, "Reshape 6,2,4 b1");
	check_batch("input x 1 6,1,8;ints s 6,8;node Reshape x,s -> y", 1, "Reshape 6,8 b0");
	check_batch("input x 1 4,6,8;ints s 24,8;node Reshape x,s -> y", 0, "Reshape 6,8 b0");
	check_batch("input x 1 1,6,8;init c 1 1,1,8;node Concat c,x -> y axis=1", 0, "Concat 1,7,8 b0");
	/* a constant of the fixed batch, seen at a larger one, has values that nobody knows: nothing is read behind them */
	check_batch("input x 1 2,3;ints c0 0,0,0,2,3,1;ints s 2,3;ints p -1;ints q 9;ints z 0;node Reshape c0,s -> c;node Shape x -> t;"
				"node Expand c,t -> e;node Slice e,p,q,z -> f;node Squeeze f,z -> g;node Reshape x,g -> y", 0, "\"g\", must be a constant");
	/* joined with one that is empty at another batch */
	check_batch("input x 1 1,3;ints c 1,3,5,7;ints z 0;ints i 1;ints p 2;node Shape x -> t;node Slice t,z,i,z -> b;node Sub b,i -> s;"
				"node Unsqueeze c,i -> d;node Slice d,s,i,i -> e;node Concat e,d -> j axis=0;node Slice j,z,p,z -> k;"
				"node Squeeze k,i -> g;node Reshape x,g -> y", 0, "\"g\", must be a constant");
	/* what does not scale with the batch is refused */
	check_batch("input x 1 N,8;ints p 1,0,0,0;node Pad x,p -> y;output y", -1, "dimension 0 of its result is 3 at batch 2");
	check_batch("input x 1 N,8;node Transpose x -> t;node MatMul x,t -> y;output y", -1, "both follow the batch");
}

/* ---------- errors ---------- */

static void
test_errors(void)
{
	check_error("opset 8;" FLAT "node Relu x -> y", PM_ERR_INPUT, "opset 8, but opsets 9 to 21");
	check_error("opset 22;" FLAT "node Relu x -> y", PM_ERR_INPUT, "opset 22, but opsets 9 to 21");
	check_error(FLAT "node Relu z -> y", PM_ERR_INPUT, "input 0, \"z\", comes from no earlier node");
	check_error(FLAT "node Relu y -> z;node Relu z -> y", PM_ERR_INPUT, "comes from no earlier node");
	check_error(FLAT "node Relu x -> y;node Tanh x -> y", PM_ERR_INPUT, "made twice");
	check_error(FLAT "node Loop x -> y", PM_ERR_INPUT, "node \"y\" (Loop): loops and branches");
	check_error(FLAT "node If x -> y", PM_ERR_INPUT, "(If): loops and branches");
	check_error(FLAT "node NonZero x -> y", PM_ERR_INPUT, "(NonZero): the size of its result depends on data");
	check_error(FLAT "node SequenceEmpty x -> y", PM_ERR_INPUT, "sequences");
	check_error(FLAT "node Frobnicate x -> y", PM_ERR_INPUT, "(Frobnicate): the operator is not known");
	check_error(FLAT "init w 1 9,5;node MatMul x,w -> y", PM_ERR_INPUT, "(MatMul): a matrix with 8 columns meets one with 9 rows");
	check_error(IMAGE "init w 1 6,3,3,3;node Conv x,w -> y", PM_ERR_INPUT, "(Conv): 4 channels in 1 groups");
	check_error(IMAGE "init w 1 6,4,9,9;node Conv x,w -> y", PM_ERR_INPUT, "window of 9 is larger");
	check_error(FLAT "input z 1 N,7;node Add x,z -> y", PM_ERR_INPUT, "dimension 1 is 8 in one input and 7");
	check_error(FLAT "ints s 0,7;node Reshape x,s -> y", PM_ERR_INPUT, "cannot take a shape");
	check_error(FLAT "ints s 0,-1,3;node Reshape x,s -> y", PM_ERR_INPUT, "do not divide");
	check_error(FLAT "node Relu -> y", PM_ERR_INPUT, "it has 0 inputs, but needs 1");
	check_error(FLAT "node Transpose x -> y perm=0,0", PM_ERR_INPUT, "permutation is none");
	check_error(FLAT "node Reshape x,x -> y", PM_ERR_INPUT, "must be a constant");
	check_error(FLAT "node Relu x -> y;info y 1 N,9", PM_ERR_INPUT, "the file says that dimension 1 of \"y\" is 9, but it is 8");
	check_error("input x 1 N,1099511627777;node Relu x -> y", PM_ERR_LIMIT, "2^40");
	check_error("input x 1 N,1,1,1,1,1,1,1,1;node Relu x -> y", PM_ERR_LIMIT, "9 dimensions");
	check_error("input x 1 N,1099511627776,1099511627776;node Relu x -> y", PM_ERR_INPUT, "2^60");
	check_error(FLAT "", PM_ERR_INPUT, "no nodes");
	check_error(FLAT "ints n 4096;ints s 0,4000;ints e 1,4096;ints a 0,0;node ConstantOfShape n -> c;node Slice c,s,e,a -> y",
				PM_ERR_INPUT, "axis 0 comes twice");
	check_error(FLAT "ints s 0,1;ints e 1,2;ints a 1,-1;node Slice x,s,e,a -> y", PM_ERR_INPUT, "axis 1 comes twice");
	check_error(FLAT "ints p 1,1,1,1;ints a 1,1;node Pad x,p,-,a -> y", PM_ERR_INPUT, "axis 1 comes twice");
	check_error(IMAGE "ints s 4,4;node CenterCropPad x,s -> y axes=2,-2", PM_ERR_INPUT, "axis 2 comes twice");
	check_error(FLAT "ints a 0,-4;node Unsqueeze x,a -> y", PM_ERR_INPUT, "axis 0 comes twice");
	check_error(IDS "init d 7 0;floats v 0,1;node OneHot x,d,v -> y", PM_ERR_INPUT, "its depth must be one number");
	check_error(FLAT "init k 7 0;node TopK x,k -> y", PM_ERR_INPUT, "its k must be one number");
}

static void
test_unknown(void)
{
	imported	m;

	/* an operator of somebody's own passes when the file has its shape */
	import(FLAT "node Frobnicate x -> z domain=own;info z 1 N,9;node Relu z -> y", -1, &m);
	CHECK_EQ(m.code, PM_OK);
	CHECK_EQ(m.g.n_unknown, 1);
	CHECK_EQ(last(&m)->shape.dim[1], 9);
	pm_arena_release(&m.arena);
}

/* ---------- weights ---------- */

static void
test_weights(void)
{
	imported	m;

	import(IMAGE "init w 1 6,4,3,3;init b 1 6;node Conv x,w,b -> y", -1, &m);
	CHECK_EQ(m.code, PM_OK);
	CHECK_EQ(m.g.params, 6 * 4 * 9 + 6);
	CHECK_EQ(last(&m)->n_weights, 2);
	pm_arena_release(&m.arena);

	/* parameters as inputs: what is dynamic is data */
	import(IMAGE "input conv.weight 1 6,4,3,3;node Conv x,conv.weight -> y", -1, &m);
	CHECK_EQ(m.code, PM_OK);
	CHECK_EQ(m.g.params, 6 * 4 * 9);
	pm_arena_release(&m.arena);

	/* whole numbers are no parameters, and what is only compared is none either */
	import(FLAT "init mask 1 8;scalar z 0;node Equal mask,z -> e;scalar v -9;node Where e,v,x -> y;output y", -1, &m);
	CHECK_EQ(m.code, PM_OK);
	CHECK_EQ(m.g.params, 0);
	pm_arena_release(&m.arena);
}

/* A weight of 40 MB costs nothing beyond the file. */
static void
test_large(void)
{
	enum
	{
		BIG = 40 << 20
	};
	uint8_t    *model = calloc(1, BIG + 4096);
	bytes	   *b = calloc(1, sizeof(bytes));
	bytes	   *t = calloc(1, sizeof(bytes));
	bytes	   *n = calloc(1, sizeof(bytes));
	size_t		at;
	imported	m;

	/* the tensor: 1 x 8 x 1310720 floats as raw data, written by hand because of its size */
	put_number(t, 1, 8);
	put_number(t, 1, BIG / 32);
	put_number(t, 2, 1);
	put_string(t, 8, "w");
	put_varint(t, 9 << 3 | 2);
	put_varint(t, BIG);
	put_varint(b, 5 << 3 | 2);
	put_varint(b, t->n + BIG);
	memcpy(b->v + b->n, t->v, t->n);
	b->n += t->n;
	put_varint(n, 7 << 3 | 2);
	build_onnx(FLAT "node MatMul x,w -> y", &file);
	/* into the graph of a model that has all but the weight: its length grows */
	for (at = 0; !(file.v[at] == (7 << 3 | 2) && at > 6); at++)
		;
	{
		size_t		key = at++;
		size_t		len = 0;

		for (int shift = 0;; shift += 7)
		{
			len |= (size_t) (file.v[at] & 127) << shift;
			if (file.v[at++] < 128)
				break;
		}
		put_varint(n, len + b->n + BIG);
		memcpy(model, file.v, key);
		memcpy(model + key, n->v, n->n);
		memcpy(model + key + n->n, file.v + at, len);
		memcpy(model + key + n->n + len, b->v, b->n);
		memcpy(model + key + n->n + len + b->n + BIG, file.v + at + len, file.n - at - len);
		import_bytes(model, key + n->n + len + b->n + BIG + file.n - at - len, -1, &m);
	}
	CHECK_EQ(m.code, PM_OK);
	CHECK_HAS(m.st.message, "");
	CHECK(m.code == PM_OK && m.g.params == BIG / 4);
	CHECK(m.arena.used < (4 << 20));
	pm_arena_release(&m.arena);
	free(model);
	free(b);
	free(t);
	free(n);
}

/* The name of a node tells the module that runs it, as PyTorch's exporter writes names. */
static void
check_module(const char *called, const char *module)
{
	char		model[2000];
	imported	m;
	const char *got;

	snprintf(model, sizeof(model), FLAT "node Relu x -> y called=%s; output y;", called);
	import(model, -1, &m);
	got = m.code == PM_OK && last(&m)->module != NULL ? last(&m)->module : "";
	check_report(m.code == PM_OK && strcmp(got, module) == 0, __FILE__, __LINE__, got);
	pm_arena_release(&m.arena);
}

static void
test_modules(void)
{
	char		deep[700] = "";

	check_module("/layer1/layer1.0/conv1/Conv", "layer1.0.conv1");
	check_module("/encoder/layers/encoder_layer_0/mlp/mlp.0/Gemm", "encoder.layers.encoder_layer_0.mlp.0");
	check_module("/a/a/a.1/Relu", "a.a.1");
	check_module("/layer1/layer10.0/Relu", "layer1.layer10.0");
	check_module("model/conv1/Conv2D", "model.conv1");
	check_module("/Relu", "");
	check_module("Relu_12", "");
	check_module("//x//Relu", "x");
	check_module("/quo\"te\\/Relu", "quo\"te\\");
	memset(deep, 'd', 600);
	strcpy(deep + 600, "/Relu");
	check_module(deep, "");		/* too long to be a path */
}

int
main(void)
{
	test_causal();
	test_operators();
	test_folding();
	test_chunk();
	test_parts_of_weights();
	test_batch();
	test_errors();
	test_unknown();
	test_weights();
	test_large();
	test_modules();
	return check_done("test_onnx");
}
