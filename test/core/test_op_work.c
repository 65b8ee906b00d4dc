/*
 * test_op_work.c - the operator catalogue against numbers worked out by hand.
 *
 * JSON stands here with ' in place of ", for the reader's sake.  Products are
 * written out factor by factor so that a reader can check them.
 */
#include "check.h"
#include "op_nodes.h"

#include "graph/op_catalogue.h"

#define INPUT "{'id':0,'op':'Input','inputs':[],'shape':[1,3,224,224],'batch_dim':0}"
#define STEM "{'id':1,'op':'Conv','inputs':[0],'shape':[1,64,112,112],'batch_dim':0," \
	"'attrs':{'kernel_shape':[7,7],'strides':[2,2],'pads':[3,3],'group':1},'weights':[[64,3,7,7]]}"

/* The first convolution: its input needs no gradient, so it has one gradient product. */
static void
test_stem(void)
{
	double		flops = 2. * 8 * 64 * 112 * 112 * (3 * 7 * 7);
	double		weights = 64. * 3 * 7 * 7;
	double		bytes = 4 * (8. * 3 * 224 * 224 + weights + 8. * 64 * 112 * 112);
	pm_work		w;
	pm_geometry geo;

	load(INPUT "," STEM);
	w = work(1, 8, PM_FP32, PM_SGD_MOMENTUM);
	CHECK_EQ(w.flops_forward, flops);
	CHECK_EQ(w.bytes_forward, bytes);
	CHECK_EQ(w.flops_backward, flops);
	CHECK_EQ(w.bytes_backward, bytes);	/* the product for the kernel; the image needs no gradient */
	CHECK_EQ(w.params, 9408);
	CHECK_EQ(w.flops_update, 4 * 9408);
	CHECK_EQ(w.bytes_update, 32 * 9408);
	CHECK_EQ(w.in_elems, 8 * 150528);
	CHECK_EQ(w.out_elems, 8 * 802816);
	CHECK_EQ(w.weight_elems, 9408);
	CHECK_EQ(w.kernels_forward, 1);
	CHECK_EQ(w.kernels_backward, 1);
	CHECK(!w.tensor_core);

	w = work(1, 8, PM_AMP, PM_ADAMW);
	CHECK_EQ(w.bytes_forward, bytes / 2 + 6 * (8. * 3 * 224 * 224 + weights));	/* and the casts of image and weight */
	CHECK_EQ(w.flops_update, 13 * 9408);
	CHECK_EQ(w.bytes_update, 82 * 9408);
	CHECK_EQ(w.kernels_forward, 3);
	CHECK(w.tensor_core);
	CHECK_EQ(work(1, 8, PM_AMP, PM_SGD).bytes_update, 14 * 9408);
	CHECK_EQ(work(1, 8, PM_BF16, PM_SGD).bytes_update, 6 * 9408);
	CHECK_EQ(work(1, 8, PM_TF32, PM_SGD).bytes_forward, bytes);
	CHECK(work(1, 8, PM_TF32, PM_SGD).tensor_core);
	CHECK_EQ(graph.params, 9408);

	geo = geometry(1, 8);
	CHECK(geo.conv == PM_CONV_KXK && !geo.has_bias);
	CHECK(geo.in_ch == 3 && geo.out_ch == 64 && geo.in_h == 224 && geo.out_w == 112);
	CHECK(geo.k_h == 7 && geo.s_w == 2 && geo.pad_h == 3 && geo.dilation == 1);
	CHECK(geo.groups == 1 && geo.ch_per_group == 3);
	CHECK(geo.gemm_m == 8 * 112 * 112 && geo.gemm_n == 64 && geo.gemm_k == 147 && geo.gemm_batch == 1);
	CHECK(geo.present == (1u << (PM_HAS_GEMM_BATCH + 1)) - 1 + (1u << PM_HAS_WIDE_WINDOW) + (1u << PM_HAS_BIAS));
	CHECK(geo.wide_window == 0);
	CHECK(work(0, 8, PM_FP32, PM_SGD).bytes_forward == 0 && geometry(0, 8).present == 0);
}

/* Grouped, depthwise, 1x1 and transposed convolutions behind the stem: two gradient products. */
static void
test_convolutions(void)
{
	pm_work		w;
	pm_geometry geo;

	load(INPUT "," STEM ","
		 "{'id':2,'op':'Conv','inputs':[1],'shape':[1,64,112,112],'batch_dim':0,"
		 "'attrs':{'kernel_shape':[3,3],'pads':[1,1],'group':4},'weights':[[64,16,3,3],[64]]},"
		 "{'id':3,'op':'Conv','inputs':[2],'shape':[1,64,56,56],'batch_dim':0,"
		 "'attrs':{'kernel_shape':[3,3],'strides':[2,2],'pads':[1,1],'group':64},'weights':[[64,1,3,3]]},"
		 "{'id':4,'op':'Conv','inputs':[3],'shape':[1,128,56,56],'batch_dim':0,"
		 "'attrs':{'kernel_shape':[1,1]},'weights':[[128,64,1,1]]},"
		 "{'id':5,'op':'ConvTranspose','inputs':[4],'shape':[1,16,112,112],'batch_dim':0,"
		 "'attrs':{'kernel_shape':[2,2],'strides':[2,2]},'weights':[[128,16,2,2]]},"
		 "{'id':6,'op':'Reshape','inputs':[5],'shape':[1,16,12544],'batch_dim':0,'view':true},"
		 "{'id':7,'op':'Conv','inputs':[6],'shape':[1,8,12544],'batch_dim':0,"
		 "'attrs':{'kernel_shape':[5],'pads':[2]},'weights':[[8,16,5]]}");
	w = work(2, 2, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 2 * 64 * 112 * 112 * (16 * 9));
	/* two products, and a sum for the bias, which is added by a kernel of its own */
	CHECK_EQ(w.flops_backward, 2 * w.flops_forward + w.out_elems);
	CHECK_EQ(w.bytes_backward, 2 * (w.bytes_forward - 4 * 2 * w.out_elems) + 4 * w.out_elems);
	CHECK(w.kernels_forward == 2 && w.kernels_backward == 3);
	CHECK_EQ(w.params, 64 * 16 * 9 + 64);
	CHECK_EQ(w.kernels_forward, 2);	/* the bias apart */
	geo = geometry(2, 2);
	CHECK(geo.conv == PM_CONV_GROUPED && geo.groups == 4 && geo.ch_per_group == 16 && geo.has_bias);
	CHECK(geo.gemm_m == 2 * 112 * 112 && geo.gemm_n == 16 && geo.gemm_k == 144 && geo.gemm_batch == 4);

	w = work(3, 1, PM_AMP, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 64 * 56 * 56 * 9);
	CHECK(!w.tensor_core);		/* depthwise */
	geo = geometry(3, 1);
	CHECK(geo.conv == PM_CONV_DEPTHWISE && geo.ch_per_group == 1 && geo.gemm_n == 1 && geo.gemm_batch == 64);

	CHECK_EQ(work(4, 1, PM_FP32, PM_SGD).flops_forward, 2. * 128 * 56 * 56 * 64);
	CHECK(geometry(4, 1).conv == PM_CONV_1X1);

	w = work(5, 3, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 3 * 128 * 56 * 56 * 16 * 4);
	geo = geometry(5, 3);
	CHECK(geo.conv == PM_CONV_TRANSPOSE && geo.in_ch == 128 && geo.out_ch == 16);
	CHECK_EQ(2 * geo.gemm_m * geo.gemm_n * geo.gemm_k * geo.gemm_batch, w.flops_forward);

	CHECK_EQ(work(6, 3, PM_FP32, PM_SGD).bytes_forward, 0);
	CHECK_EQ(work(7, 1, PM_FP32, PM_SGD).flops_forward, 2. * 8 * 12544 * 16 * 5);
	geo = geometry(7, 1);
	CHECK(geo.in_h == 1 && geo.in_w == 12544 && geo.k_h == 1 && geo.k_w == 5 && geo.pad_w == 2);
}

/* A kernel that is itself computed (standardised weights), with a bias of its own; and a constant one. */
static void
test_computed_kernel(void)
{
	double		kernel = 64. * 3 * 49;
	pm_work		w;

	load(INPUT ","
		 "{'id':1,'op':'BatchNormalization','inputs':[],'shape':[1,64,147],'batch_dim':null,'weights':[[64,3,7,7]]},"
		 "{'id':2,'op':'Reshape','inputs':[1],'shape':[64,3,7,7],'batch_dim':null,'view':true},"
		 "{'id':3,'op':'Conv','inputs':[0,2],'shape':[1,64,112,112],'batch_dim':0,"
		 "'attrs':{'kernel_shape':[7,7],'strides':[2,2]},'weights':[[64]]},"
		 "{'id':4,'op':'Conv','inputs':[3],'shape':[1,64,56,56],'batch_dim':0,"
		 "'attrs':{'kernel_shape':[3,3],'strides':[2,2],'group':64},'consts':[[64,1,3,3]]}");
	w = work(1, 8, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 8 * kernel);	/* whatever the batch */
	CHECK_EQ(w.params, kernel);
	w = work(3, 8, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 8 * 64 * 112 * 112 * 147);
	CHECK_EQ(w.flops_backward, w.flops_forward + w.out_elems);	/* of the kernel, not of the image; and the bias */
	CHECK_EQ(w.in_elems, 8 * 150528);
	CHECK_EQ(w.weight_elems, kernel + 64);
	CHECK_EQ(w.params, 64);
	CHECK(geometry(3, 8).has_bias);
	w = work(4, 1, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 64 * 56 * 56 * 9);
	CHECK_EQ(w.flops_backward, w.flops_forward);	/* of the data, not of the constant */
	CHECK_EQ(w.bytes_backward, w.bytes_forward);
	CHECK_EQ(w.params, 0);
	CHECK(!geometry(4, 1).has_bias);
}

/* Conditional convolution: a kernel for each sample, samples folded into the channels. */
static void
test_cond_conv(void)
{
	pm_work		w;
	pm_geometry geo;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,80,14,14],'batch_dim':1},"
		 "{'id':1,'op':'Gemm','inputs':[0],'shape':[1,38400],'batch_dim':0,'weights':[[38400,4]]},"
		 "{'id':2,'op':'Reshape','inputs':[1],'shape':[480,80,1,1],'batch_dim':0,'view':true},"
		 "{'id':3,'op':'Conv','inputs':[0,2],'shape':[1,480,14,14],'batch_dim':1,"
		 "'attrs':{'kernel_shape':[1,1],'group':1}}");
	w = work(3, 4, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 4 * (2. * 480 * 14 * 14 * 80));
	CHECK_EQ(w.weight_elems, 4. * 480 * 80);
	CHECK_EQ(w.in_elems, 4. * 80 * 14 * 14);
	geo = geometry(3, 4);
	CHECK(geo.conv == PM_CONV_GROUPED && geo.groups == 4 && geo.ch_per_group == 80);
	CHECK(geo.gemm_m == 196 && geo.gemm_n == 480 && geo.gemm_k == 80 && geo.gemm_batch == 4);
	CHECK(geometry(3, 1).conv == PM_CONV_GROUPED);	/* the kind does not follow the batch */
}

static void
test_gemm(void)
{
	pm_work		w;
	pm_geometry geo;

	load("{'id':0,'op':'Input','inputs':[],'shape':[197,768],'batch_dim':0},"
		 "{'id':1,'op':'Gemm','inputs':[0],'shape':[197,3072],'batch_dim':0,'weights':[[3072,768],[3072]]},"
		 "{'id':2,'op':'Concat','inputs':[],'shape':[2304],'batch_dim':null,'weights':[[768],[768]],'consts':[[768]]},"
		 "{'id':3,'op':'Gemm','inputs':[2,1],'shape':[197,2304],'batch_dim':0,'weights':[[2304,3072]]},"
		 "{'id':4,'op':'Gemm','inputs':[],'shape':[729,128],'batch_dim':null,'weights':[[128,2],[128]],'consts':[[27,27,2]]},"
		 "{'id':5,'op':'Gemm','inputs':[3],'shape':[197,768],'batch_dim':0,'weights':[[768,2304],[768]],'attrs':{'tied':1}},"
		 "{'id':6,'op':'MatMul','inputs':[3],'shape':[5,2304],'batch_dim':null,'weights':[[5,197]]}");
	w = work(1, 16, PM_FP32, PM_ADAM);
	CHECK_EQ(w.flops_forward, 2. * (16 * 197) * 3072 * 768);
	CHECK_EQ(w.flops_backward, w.flops_forward + w.out_elems);
	CHECK_EQ(w.bytes_forward, 4 * (16. * 197 * 768 + 3072. * 768 + 3072 + 16. * 197 * 3072));
	CHECK_EQ(w.params, 3072. * 768 + 3072);
	CHECK_EQ(w.flops_update, 12 * w.params);
	CHECK_EQ(w.bytes_update, 72 * w.params);
	geo = geometry(1, 16);
	CHECK(geo.gemm_m == 16 * 197 && geo.gemm_n == 3072 && geo.gemm_k == 768 && geo.gemm_batch == 1 && geo.has_bias);
	CHECK(geo.conv == PM_CONV_NONE);

	/* the bias comes ahead of the data */
	w = work(3, 1, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 197 * 2304 * 3072);
	CHECK_EQ(w.flops_backward, 2 * w.flops_forward);
	CHECK_EQ(w.in_elems, 197 * 3072);
	CHECK_EQ(w.weight_elems, 2304. * 3072 + 2304);
	CHECK(geometry(3, 1).has_bias);

	/* constants times weights: the same at every batch, no data gradient */
	w = work(4, 64, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 729 * 128 * 2);
	CHECK_EQ(w.flops_backward, w.flops_forward + w.out_elems);

	/* a tied matrix is read, not owned; the bias is its own */
	w = work(5, 1, PM_FP32, PM_SGD);
	CHECK_EQ(w.params, 768);
	CHECK_EQ(w.weight_elems, 768. * 2304 + 768);

	/* a stored matrix left of the data */
	CHECK_EQ(work(6, 1, PM_FP32, PM_SGD).flops_forward, 2. * 5 * 2304 * 197);
}

static void
test_matmul(void)
{
	pm_work		w;
	pm_geometry geo;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,12,197,64],'batch_dim':0},"
		 "{'id':1,'op':'Relu','inputs':[0],'shape':[1,12,197,64],'batch_dim':0,'weights':[[1]]},"
		 "{'id':2,'op':'Transpose','inputs':[1],'shape':[1,12,64,197],'batch_dim':0,'view':true},"
		 "{'id':3,'op':'MatMul','inputs':[1,2],'shape':[1,12,197,197],'batch_dim':0},"
		 "{'id':4,'op':'Reshape','inputs':[3],'shape':[12,197,197],'batch_dim':0,'view':true},"
		 "{'id':5,'op':'Reshape','inputs':[1],'shape':[12,197,64],'batch_dim':0,'view':true},"
		 "{'id':6,'op':'MatMul','inputs':[4,5],'shape':[12,197,64],'batch_dim':0},"
		 "{'id':7,'op':'MatMul','inputs':[0,5],'shape':[12,197,64],'batch_dim':0},"
		 "{'id':8,'op':'Range','inputs':[],'shape':[64,10],'batch_dim':null},"
		 "{'id':9,'op':'MatMul','inputs':[6,8],'shape':[12,197,10],'batch_dim':0},"
		 "{'id':10,'op':'Range','inputs':[],'shape':[197],'batch_dim':null},"
		 "{'id':11,'op':'aten::baddbmm','inputs':[10,1,2],'shape':[1,12,197,197],'batch_dim':0}");
	w = work(3, 5, PM_AMP, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 5 * 12 * 197 * 197 * 64);
	CHECK_EQ(w.flops_backward, 2 * w.flops_forward);
	/* its inputs have 4 bytes, since they were made with a parameter: casts */
	CHECK_EQ(w.bytes_forward, 2 * 5. * 12 * (197 * 64 + 64 * 197 + 197 * 197) + 6 * 2 * 5. * 12 * 197 * 64);
	CHECK(w.tensor_core && w.params == 0 && w.bytes_update == 0);
	geo = geometry(3, 5);
	CHECK(geo.gemm_batch == 60 && geo.gemm_m == 197 && geo.gemm_n == 197 && geo.gemm_k == 64 && geo.heads == 12);
	CHECK_EQ(work(6, 5, PM_FP32, PM_SGD).flops_forward, 2. * 5 * 12 * 197 * 64 * 197);
	geo = geometry(6, 5);
	CHECK(geo.gemm_batch == 60 && geo.gemm_k == 197 && !geo.has_bias && geo.seq_len == 197);
	CHECK(!(geometry(3, 5).present & (1u << PM_HAS_SEQ_LEN)));
	/* only one of the factors needs a gradient */
	w = work(7, 1, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_backward, w.flops_forward);
	/* a bias ahead of both factors */
	w = work(11, 5, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 5 * 12 * 197 * 197 * 64);
	CHECK_EQ(w.flops_backward, 2 * w.flops_forward);
	CHECK(w.weight_elems == 197 && geometry(11, 1).has_bias);
	/* a matrix that does not follow the batch is a weight: one tall product */
	w = work(9, 5, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 5 * 12 * 197 * 10 * 64);
	CHECK_EQ(w.flops_backward, w.flops_forward);
	CHECK_EQ(w.weight_elems, 640);
	geo = geometry(9, 5);
	CHECK(geo.gemm_batch == 1 && geo.gemm_m == 5 * 12 * 197 && geo.gemm_n == 10);
}

static void
test_attention(void)
{
	pm_work		w;
	pm_geometry geo;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,8,128,64],'batch_dim':0},"
		 "{'id':1,'op':'Tile','inputs':[0],'shape':[1,8,256,64],'batch_dim':0,'weights':[[1]]},"
		 "{'id':2,'op':'Attention','inputs':[0,1,1],'shape':[1,8,128,64],'batch_dim':0},"
		 "{'id':3,'op':'Softmax','inputs':[1],'shape':[1,8,256,64],'batch_dim':0,'attrs':{'axis':-1}}");
	w = work(2, 3, PM_AMP, PM_SGD);
	CHECK_EQ(w.flops_forward, 4. * 3 * 8 * 128 * 256 * 64);
	/* scores are computed again: five products instead of two */
	CHECK_EQ(w.flops_backward, 2.5 * w.flops_forward);
	/* keys and values are one tensor here; both inputs are cast */
	CHECK_EQ(w.bytes_forward, 2 * 3. * 8 * 64 * (128 + 256 + 128) + 6 * 3. * 8 * 64 * (128 + 256));
	geo = geometry(2, 3);
	CHECK(geo.heads == 8 && geo.seq_len == 256);
	w = work(3, 3, PM_AMP, PM_SGD);
	CHECK_EQ(w.flops_forward, 5. * 3 * 8 * 256 * 64);
	CHECK_EQ(w.bytes_forward, 4 * 2 * 3. * 8 * 256 * 64);	/* softmax stays in FP32 */
	geo = geometry(3, 3);
	CHECK(geo.heads == 8 && geo.seq_len == 64);
}

/* Query i of a causal attention sees keys 1 to i. */
static void
test_causal_attention(void)
{
	static const char *const attrs[] = {"'is_causal':1", "'is_causal':true", "'is_causal':0", "'is_causal':false", "'ratio':0.1"};
	double		square[5];
	pm_work		w;

	for (int i = 0; i < 5; i++)
	{
		char		nodes[512];

		snprintf(nodes, sizeof(nodes), "{'id':0,'op':'Input','inputs':[],'shape':[1,8,128,64],'batch_dim':0},"
				 "{'id':1,'op':'Attention','inputs':[0,0,0],'shape':[1,8,128,64],'batch_dim':0,'attrs':{%s}}", attrs[i]);
		load(nodes);
		square[i] = work(1, 3, PM_AMP, PM_SGD).flops_forward;
	}
	CHECK_EQ(square[0], 4. * 3 * 8 * 64 * (128 * 129 / 2));
	CHECK_EQ(square[1], square[0]);
	CHECK_EQ(square[2], 4. * 3 * 8 * 64 * 128 * 128);
	CHECK(square[3] == square[2] && square[4] == square[2]);
	/* more keys than queries, and fewer */
	load("{'id':0,'op':'Input','inputs':[],'shape':[1,8,128,64],'batch_dim':0},"
		 "{'id':1,'op':'Tile','inputs':[0],'shape':[1,8,256,64],'batch_dim':0,'weights':[[1]]},"
		 "{'id':2,'op':'Attention','inputs':[0,1,1],'shape':[1,8,128,64],'batch_dim':0,'attrs':{'is_causal':1}},"
		 "{'id':3,'op':'Attention','inputs':[1,0,0],'shape':[1,8,256,64],'batch_dim':0,'attrs':{'is_causal':1}}");
	w = work(2, 1, PM_AMP, PM_SGD);
	CHECK_EQ(w.flops_forward, 4. * 8 * 64 * (128 * 129 / 2));
	w = work(3, 1, PM_AMP, PM_SGD);
	CHECK_EQ(w.flops_forward, 4. * 8 * 64 * (128 * 129 / 2 + 128 * 128));
}

#define X 1605632.0					/* 2 * 64 * 112 * 112 */

static void
test_simple(void)
{
	pm_work		w;
	pm_geometry geo;

	load(INPUT "," STEM ","
		 "{'id':2,'op':'BatchNormalization','inputs':[1],'shape':[1,64,112,112],'batch_dim':0,'weights':[[64],[64]]},"
		 "{'id':3,'op':'MaxPool','inputs':[2],'shape':[1,64,56,56],'batch_dim':0,"
		 "'attrs':{'kernel_shape':[3,3],'strides':[2,2],'pads':[1,1]}},"
		 "{'id':4,'op':'GlobalAveragePool','inputs':[3],'shape':[1,64,1,1],'batch_dim':0},"
		 "{'id':5,'op':'LayerNormalization','inputs':[2],'shape':[1,64,112,112],'batch_dim':0,'weights':[[112],[112]]},"
		 "{'id':6,'op':'Dropout','inputs':[2],'shape':[1,64,112,112],'batch_dim':0},"
		 "{'id':7,'op':'Gelu','inputs':[2],'shape':[1,64,112,112],'batch_dim':0},"
		 "{'id':8,'op':'Mul','inputs':[2,2],'shape':[1,64,112,112],'batch_dim':0},"
		 "{'id':9,'op':'Concat','inputs':[2,1],'shape':[1,128,112,112],'batch_dim':0},"
		 "{'id':10,'op':'ArgMax','inputs':[2],'shape':[1,64,112,1],'batch_dim':0},"
		 "{'id':11,'op':'CrossEntropyLoss','inputs':[2],'shape':[],'batch_dim':null},"
		 "{'id':12,'op':'com.acme::Magic','inputs':[2],'shape':[1,64,112,112],'batch_dim':0},"
		 "{'id':13,'op':'Bernoulli','inputs':[2],'shape':[1,64,112,112],'batch_dim':0},"
		 "{'id':14,'op':'Pad','inputs':[0],'shape':[1,3,230,230],'batch_dim':0,'attrs':{'pads':[3,3,3,3]}}");
	w = work(2, 2, PM_AMP, PM_SGD);
	CHECK(w.flops_forward == 8 * X && w.flops_backward == 12 * X && w.params == 128);
	CHECK_EQ(w.bytes_forward, 2 * 3 * X + 4 * 128);
	/* layer norm runs in 4 bytes, after a cast */
	CHECK_EQ(work(5, 2, PM_AMP, PM_SGD).bytes_forward, 6 * X + 4 * (2 * X + 2 * 112));
	w = work(3, 2, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, X / 4 * 9);
	CHECK_EQ(w.bytes_forward, 4 * (X + X / 4) + 8 * X / 4);	/* and the indices */
	geo = geometry(3, 2);
	CHECK(geo.k_h == 3 && geo.in_h == 112 && geo.out_h == 56 && geo.out_ch == 64 && !(geo.present & 1u << PM_HAS_GEMM_M));
	CHECK_EQ(work(4, 2, PM_FP32, PM_SGD).flops_forward, X / 4);
	CHECK_EQ(work(6, 2, PM_FP32, PM_SGD).flops_forward, 2 * X);
	w = work(7, 2, PM_FP32, PM_SGD);
	CHECK(w.flops_forward == 8 * X && w.bytes_forward == 4 * 2 * X);
	CHECK(w.flops_backward == 8 * X && w.bytes_backward == 12 * X);
	CHECK_EQ(work(8, 2, PM_FP32, PM_SGD).bytes_forward, 4 * 2 * X);	/* one tensor, read once */
	w = work(9, 2, PM_FP32, PM_SGD);
	CHECK(w.flops_forward == 0 && w.bytes_forward == 4 * 4 * X);
	w = work(10, 2, PM_FP32, PM_SGD);
	CHECK(w.flops_forward == X && w.flops_backward == 0 && w.bytes_backward == 0 && w.kernels_backward == 0);
	w = work(11, 2, PM_AMP, PM_SGD);
	CHECK(w.flops_forward == 6 * X && w.bytes_forward == 2 * X + 4);
	w = work(12, 2, PM_FP32, PM_SGD);
	CHECK(w.flops_forward == 0 && w.bytes_forward == 4 * 2 * X && w.bytes_backward == 12 * X && w.kernels_forward == 1);
	CHECK(graph.n_unknown == 1 && pm_op_class(graph.nodes[12].op) == PM_CLASS_MOVE);
	w = work(13, 2, PM_FP32, PM_SGD);
	CHECK(w.bytes_forward == 4 * X && w.bytes_backward == 0);
	w = work(14, 2, PM_FP32, PM_SGD);	/* the image needs no gradient */
	CHECK(w.bytes_forward == 4 * 2 * (3. * 224 * 224 + 3. * 230 * 230) && w.bytes_backward == 0);
}

/* A sum hands the gradient on to both operands; a difference changes its sign for the second, a launch of two passes. */
static void
test_difference(void)
{
#define TWO "{'id':2,'op':'Relu','inputs':[1],'shape':[1,64,112,112],'batch_dim':0},"
	load(INPUT "," STEM "," TWO "{'id':3,'op':'Add','inputs':[1,2],'shape':[1,64,112,112],'batch_dim':0}");
	CHECK(work(3, 2, PM_FP32, PM_SGD).bytes_backward == 0 && work(3, 2, PM_FP32, PM_SGD).kernels_backward == 0);
	load(INPUT "," STEM "," TWO "{'id':3,'op':'Sub','inputs':[1,2],'shape':[1,64,112,112],'batch_dim':0}");
	CHECK_EQ(work(3, 2, PM_FP32, PM_SGD).bytes_backward, 2. * 4 * 2 * 802816);
	CHECK_EQ(work(3, 2, PM_FP32, PM_SGD).kernels_backward, 1);
}

/* Views of views, broadcasts, one output of several, tables. */
static void
test_reading(void)
{
	pm_work		w;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,512],'batch_dim':0},"
		 "{'id':1,'op':'Gather','inputs':[0],'shape':[1,512,1024],'batch_dim':0,'weights':[[30522,1024]]},"
		 "{'id':2,'op':'Split','inputs':[1],'shape':[1,512,1],'shapes':[[1,512,1],[1,512,1023]],'batch_dim':0,'view':true},"
		 "{'id':3,'op':'Relu','inputs':[2],'shape':[1,512,1023],'batch_dim':0},"
		 "{'id':4,'op':'Range','inputs':[],'shape':[1024],'batch_dim':null},"
		 "{'id':5,'op':'Expand','inputs':[4],'shape':[1,512,1024],'batch_dim':0,'view':true},"
		 "{'id':6,'op':'Add','inputs':[1,5],'shape':[1,512,1024],'batch_dim':0}");
	w = work(1, 4, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 0);
	CHECK_EQ(w.bytes_forward, 4 * 2 * 4. * 512 * 1024 + 8 * 4. * 512);
	/* the gradient is dense; a concatenation for the Split; an addition, since Add reads it, too */
	CHECK_EQ(w.bytes_backward, 4 * 3 * w.out_elems + 4. * 30522 * 1024 + 4 * 2 * w.out_elems + 4 * 3 * w.out_elems);
	CHECK_EQ(w.params, 30522 * 1024);
	CHECK_EQ(work(3, 4, PM_FP32, PM_SGD).bytes_forward, 4 * 2 * 4. * 512 * 1023);
	w = work(6, 4, PM_FP32, PM_SGD);
	CHECK_EQ(w.bytes_forward, 4 * (2 * 4. * 512 * 1024 + 1024));	/* the broadcast row is read, not its copies */
	CHECK_EQ(w.flops_forward, 4. * 512 * 1024);
}

/* ---------- the catalogue itself ---------- */

static const char *const wanted[] = {
	/* image models */
	"Reshape", "Conv", "BatchNormalization", "Mul", "Add", "Relu", "Transpose", "Expand", "aten::clone", "Gemm",
	"Silu", "MatMul", "Gelu", "LayerNormalization", "GlobalAveragePool", "Sigmoid", "Slice", "Softmax", "Split",
	"Div", "Clip", "Concat", "ReduceL2", "GroupNormalization", "Unsqueeze", "LeakyRelu", "HardSwish", "Pad",
	"aten::new_empty", "Bernoulli", "AveragePool", "Input", "Dropout", "ReduceSum", "Gather", "aten::roll",
	"aten::var", "Sqrt", "Exp", "MaxPool", "aten::addcmul", "HardSigmoid", "Resize", "Sub", "LSTM", "aten::arange",
	"aten::repeat", "Max", "Sin", "Cos", "Pow", "aten::unfold", "aten::im2col", "aten::col2im", "ReduceMean",
	"aten::copy", "aten::rsqrt", "aten::adaptive_max_pool2d", "Squeeze", "aten::eye", "aten::max", "aten::cumsum",
	"Elu", "aten::bitwise_not",
	/* language models */
	"Cast", "fx::setitem", "aten::contiguous", "aten::count_nonzero", "aten::index", "ConstantOfShape", "Identity",
	"ArgMax", "OneHot", "ReduceMax", "LessOrEqual", "CumSum", "Where", "Constant", "Tanh", "aten::uniform_", "Range",
	"Min", "Less", "Log", "ReduceLogSumExp", "Greater", "Abs", "Tile", "Neg",
	/* what exporters emit besides */
	"ConvTranspose", "InstanceNormalization", "Attention", "GRU", "RNN", "LogSoftmax", "Erf", "Softplus", "Mish",
	"PRelu", "Embedding", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "TopK", "Equal",
	"GreaterOrEqual", "And", "Or", "Xor", "Not", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "CrossEntropyLoss",
	"NllLoss", "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", "GlobalMaxPool", "LRN", "DepthToSpace",
	"SpaceToDepth", "RMSNormalization", "Flatten", "Floor", "Ceil", "Sign", "Round", "Reciprocal", "Shape", "Mod",
	"ReduceMin", "ReduceProd", "ArgMin", "NonZero", "Trilu", "GridSample", "Upsample",
	"aten::_euclidean_dist", "aten::argmin", "aten::_trilinear", "aten::embedding_bag", "aten::_embedding_bag",
	"aten::_sparse_mm", "aten::_sparse_addmm", "aten::_sparse_coo_tensor_with_dims_and_tensors", "aten::_upsample_nearest_exact2d", "aten::std_mean", "aten::var_mean",
	"aten::index_reduce", "torchvision::roi_pool", "torchvision::ps_roi_align", "torchvision::ps_roi_pool", "aten::hann_window",
};

static void
test_names(void)
{
	CHECK(strcmp(pm_op_name(PM_OP_UNKNOWN), "(unknown)") == 0);
	CHECK(pm_op_class(PM_OP_UNKNOWN) == PM_CLASS_MOVE);
	CHECK(pm_op_find("no such operator") == PM_OP_UNKNOWN && pm_op_find("") == PM_OP_UNKNOWN);
	CHECK(pm_op_find("(unknown)") == PM_OP_UNKNOWN && pm_op_find("conv") == PM_OP_UNKNOWN);
	for (int op = 1; op < pm_op_count(); op++)
		CHECK(pm_op_find(pm_op_name(op)) == op);	/* no name twice */
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
	{
		if (pm_op_find(wanted[i]) == PM_OP_UNKNOWN)
			fprintf(stderr, "%s is not in the catalogue\n", wanted[i]);
		CHECK(pm_op_find(wanted[i]) != PM_OP_UNKNOWN);
	}
	for (int i = 0; pm_op_alias(i) != NULL; i++)
	{
		int			op = pm_op_find(pm_op_alias(i));

		/* it leads to a row, and is not a row itself */
		CHECK(op != PM_OP_UNKNOWN && strcmp(pm_op_name(op), pm_op_alias(i)) != 0);
	}
	CHECK(pm_op_find("aten::relu") == pm_op_find("Relu"));
	/* the trait is about the row above, so a row that is put between the two must be seen: both do the same work */
	for (int op = 0; op < pm_op_count(); op++)
	{
		const pm_op_row *row = pm_op_row_of(op);
		const pm_op_row *above = pm_op_row_of(op - 1);

		if (!(row->traits & PM_OP_OWN_AS_ABOVE))
			continue;
		CHECK(op > 0 && strcmp(row->name, "MatMul") == 0 && strcmp(above->name, "Gemm") == 0);
		CHECK(row->class == above->class && row->flops == above->flops && row->factor == above->factor && row->bytes == above->bytes &&
			  row->back == above->back && row->cast == above->cast && row->lay == above->lay &&
			  row->kernels == above->kernels && row->kernels_back == above->kernels_back);
	}
	CHECK(pm_op_runs_as(pm_op_find("MatMul"), true) == pm_op_find("Gemm"));
	for (int op = 0; op < pm_op_count(); op++)
		CHECK(pm_op_runs_as(op, false) == op && (pm_op_runs_as(op, true) == op || op == pm_op_find("MatMul")));
	CHECK(pm_op_find("Embedding") == pm_op_find("Gather"));
	CHECK(!pm_op_differentiable(pm_op_find("ArgMax")) && pm_op_differentiable(PM_OP_UNKNOWN));
	CHECK(pm_op_class(-5) == PM_CLASS_MOVE && pm_op_class(1 << 20) == PM_CLASS_MOVE);
	for (int i = 0; i < PM_N_CLASSES; i++)
		CHECK(pm_class_name[i] != NULL);
}

/* At twice the batch the batch's share of the work doubles, for every operator and rule. */
static void
test_linear_in_batch(void)
{
	for (int op = 1; op < pm_op_count(); op++)
	{
		char		nodes[512];
		pm_work		one,
					two;

		snprintf(nodes, sizeof(nodes),
				 "{'id':0,'op':'Range','inputs':[],'shape':[1,4,8,16],'batch_dim':0},"
				 "{'id':1,'op':'%s','inputs':[0],'shape':[1,4,8,16],'batch_dim':0,"
				 "'attrs':{'kernel_shape':[3,3],'hidden_size':16}}", pm_op_name(op));
		load(nodes);
		CHECK(graph.nodes[1].op == op);
		one = work(1, 1, PM_FP32, PM_SGD);
		two = work(1, 2, PM_FP32, PM_SGD);
		CHECK_EQ(two.flops_forward, 2 * one.flops_forward);
		CHECK_EQ(two.bytes_forward, 2 * one.bytes_forward);
		CHECK(pm_op_class(op) == PM_CLASS_OTHER ? one.kernels_forward == 0 : one.kernels_forward > 0);
		CHECK_EQ(one.flops_backward + one.bytes_backward, 0);	/* nothing here has weights */
	}
}

/* Complex numbers are two real ones: a spectral convolution of 4 channels and 5 modes, by a product of complex numbers or of real ones. */
static void
test_complex(void)
{
	static const char format[] = "{'id':0,'op':'Input','inputs':[],'shape':[1,4,8],'batch_dim':0,'attrs':{'requires_grad':true}},"
		"{'id':1,'op':'aten::_fft_r2c','inputs':[0],'shape':[1,4,5],'batch_dim':0,'attrs':{'complex':1}},"
		"{'id':2,'op':'Transpose','inputs':[1],'shape':[5,1,4],'batch_dim':1,'view':true,'attrs':{'perm':[2,0,1],'complex':1}},"
		"{'id':3,'op':'MatMul','inputs':[2],'shape':[5,1,4],'batch_dim':1,'weights':[[%s]]%s},"
		"{'id':4,'op':'Transpose','inputs':[3],'shape':[1,4,5],'batch_dim':0,'view':true,'attrs':{'perm':[1,2,0],'complex':1}},"
		"{'id':5,'op':'aten::_fft_c2r','inputs':[4],'shape':[1,4,8],'batch_dim':0},"
		"{'id':6,'op':'aten::view_as_real','inputs':[3],'shape':[5,1,4,2],'batch_dim':1,'view':true},"
		"{'id':7,'op':'Relu','inputs':[6],'shape':[5,1,4,2],'batch_dim':1}";
	char		nodes[2048];
	pm_work		real;
	uint64_t	structure;
	pm_work		w;

	snprintf(nodes, sizeof(nodes), format, "4,4,5", "");
	load(nodes);
	structure = graph.structure;
	real = work(3, 3, PM_FP32, PM_SGD);
	CHECK_EQ(real.flops_forward, 2. * 3 * 5 * 4 * 4);
	CHECK_EQ(graph.n_unknown, 0);
	snprintf(nodes, sizeof(nodes), format, "4,4,5,2", ",'attrs':{'complex':1}");
	load(nodes);
	CHECK(graph.structure != structure);
	w = work(3, 3, PM_FP32, PM_SGD);
	CHECK_EQ(w.params, 2 * real.params);
	CHECK_EQ(w.bytes_forward, 2 * 4. * (3 * 20 + 80 + 3 * 20));
	CHECK_EQ(w.flops_forward, 4 * real.flops_forward);
	CHECK_EQ(w.flops_backward, 2 * w.flops_forward);
	/* mixed precision leaves it alone: no cast, no matrix units */
	CHECK_EQ(work(3, 3, PM_AMP, PM_SGD).bytes_forward, w.bytes_forward);
	CHECK_EQ(work(3, 3, PM_AMP, PM_SGD).bytes_backward, w.bytes_backward);
	CHECK(!work(3, 3, PM_AMP, PM_SGD).tensor_core && work(3, 3, PM_TF32, PM_SGD).tensor_core);
	/* half of the spectrum and one more: 5 of 8 */
	CHECK_EQ(work(1, 3, PM_FP32, PM_SGD).bytes_forward, 4. * 3 * 4 * (8 + 10));
	CHECK_EQ(work(5, 3, PM_FP32, PM_SGD).bytes_forward, 4. * 3 * 4 * (8 + 10));
	/* seen as pairs: the same memory, whose gradient is a view as well */
	CHECK_EQ(work(7, 3, PM_FP32, PM_SGD).bytes_forward, 2 * 4. * 3 * 40);
	CHECK_EQ(graph.nodes[3].flow.merged[PM_NCHW].each, 3 * 40);	/* of two readers, added */
}

/* Distances of 3 rows and 6 by another norm: a gradient for each pair and column, of the operands that want one. */
static void
test_pairs(void)
{
	pm_work		w;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,3,8],'batch_dim':0},"
		 "{'id':1,'op':'Relu','inputs':[0],'shape':[1,3,8],'batch_dim':0,'weights':[[1]]},"
		 "{'id':2,'op':'Input','inputs':[],'shape':[1,6,8],'batch_dim':0},"
		 "{'id':3,'op':'aten::_cdist_forward','inputs':[1,2],'shape':[1,3,6],'batch_dim':0},"
		 "{'id':4,'op':'aten::_cdist_forward','inputs':[2,1],'shape':[1,6,3],'batch_dim':0}");
	CHECK_EQ(graph.n_unknown, 0);
	w = work(3, 2, PM_AMP, PM_SGD);
	CHECK(!w.tensor_core);
	CHECK_EQ(w.flops_forward, 3. * 2 * 3 * 6 * 8);
	CHECK_EQ(w.bytes_forward, 4. * 2 * (3 * 8 + 6 * 8 + 3 * 6));
	CHECK_EQ(w.bytes_backward, 4. * 2 * (1.5 * 72 + 2 * 18 * 8 + 2 * 18));
	CHECK_EQ(w.kernels_backward, 2);
	CHECK_EQ(work(4, 2, PM_FP32, PM_SGD).kernels_backward, 4);
	CHECK_EQ(work(4, 2, PM_FP32, PM_SGD).bytes_backward, 4. * 2 * (1.5 * 72 + 2 * 18 * 8 + 6 * 18));
}

/* Losses and other operators, by the names that PyTorch gives them. */
static void
test_names_of_pytorch(void)
{
	static const char *const names[] = {"aten::nll_loss_forward", "NllLoss", "aten::smooth_l1_loss", "aten::mse_loss",
		"aten::log_sigmoid_forward", "LogSigmoid", "aten::upsample_trilinear3d", "Resize", "aten::softshrink", "Shrink",
		"aten::adaptive_avg_pool3d", "aten::adaptive_avg_pool2d", "aten::logical_and", "And", "aten::randint", "RandomUniform"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i += 2)
		CHECK(pm_op_find(names[i]) == pm_op_find(names[i + 1]) && pm_op_find(names[i]) != PM_OP_UNKNOWN);
	CHECK(pm_op_find("aten::_ctc_loss") != PM_OP_UNKNOWN && pm_op_find("aten::binary_cross_entropy") != PM_OP_UNKNOWN);
}

/* A grouped convolution of that many groups and channels of one group in and out, kernel k x k. */
static pm_geometry
grouped(int groups, int in, int out, int k)
{
	char		nodes[1024];

	snprintf(nodes, sizeof(nodes),
			 "{'id':0,'op':'Input','inputs':[],'shape':[1,%d,16,16],'batch_dim':0},"
			 "{'id':1,'op':'Conv','inputs':[0],'shape':[1,%d,16,16],'batch_dim':0,"
			 "'attrs':{'kernel_shape':[%d,%d],'group':%d},'weights':[[%d,%d,%d,%d]]}",
			 groups * in, groups * out, k, k, groups, groups * out, in, k, k);
	load(nodes);
	return geometry(1, 2);
}

/* What decides which kernels a library has for a convolution. */
static void
test_groups(void)
{
	const int	fast[][3] = {{32, 4, 4}, {32, 8, 8}, {64, 16, 16}, {96, 32, 32}, {20, 32, 32}, {50, 4, 4}};
	const int	slow[][3] = {{32, 64, 64}, {32, 2, 2}, {64, 8, 16}, {32, 12, 12}, {19, 32, 32}, {4, 16, 16}};
	pm_geometry geo;

	for (int i = 0; i < 6; i++)
		CHECK_EQ(grouped(fast[i][0], fast[i][1], fast[i][2], 3).group_narrow, 1);
	for (int i = 0; i < 6; i++)
		CHECK_EQ(grouped(slow[i][0], slow[i][1], slow[i][2], 3).group_narrow, 0);
	geo = grouped(48, 2, 6, 9);
	CHECK(geo.out_per_group == 6 && geo.group_alignment == 4 && geo.wide_window == 1);
	CHECK(geo.present & (1u << PM_HAS_OUT_PER_GROUP) && geo.present & (1u << PM_HAS_GROUP_NARROW));
	geo = grouped(48, 1, 1, 7);
	CHECK(geo.conv == PM_CONV_DEPTHWISE && geo.wide_window == 0 && !(geo.present & (1u << PM_HAS_GROUP_NARROW)));
}

/* The slope of a LeakyRelu: as ONNX writes it, as the exporter does, and by default. */
static void
test_slope(void)
{
	const char *attrs[] = {"'alpha':0.2", "'values':[0.001,7]", "'axis':1", "'alpha':null", "'values':['x']", "'values':[]"};
	const double alpha[] = {0.2, 0.001, 0.01, 0.01, 0.01, 0.01};
	uint64_t	structure[6];

	for (int i = 0; i < 6; i++)
	{
		char		nodes[512];

		snprintf(nodes, sizeof(nodes),
				 "{'id':0,'op':'Input','inputs':[],'shape':[1,4],'batch_dim':0},"
				 "{'id':1,'op':'LeakyRelu','inputs':[0],'shape':[1,4],'batch_dim':0,'attrs':{%s}},"
				 "{'id':2,'op':'Relu','inputs':[1],'shape':[1,4],'batch_dim':0,'attrs':{%s}}", attrs[i], attrs[i]);
		load(nodes);
		CHECK_EQ(geometry(1, 1).alpha, alpha[i]);
		CHECK(geometry(1, 1).present & (1u << PM_HAS_ALPHA));
		CHECK(!(geometry(2, 1).present & (1u << PM_HAS_ALPHA)));
		structure[i] = graph.structure;
	}
	CHECK(structure[0] != structure[1] && structure[1] != structure[3] && structure[3] == structure[4]);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_groups();
	test_slope();
	test_stem();
	test_convolutions();
	test_computed_kernel();
	test_cond_conv();
	test_gemm();
	test_matmul();
	test_attention();
	test_causal_attention();
	test_simple();
	test_difference();
	test_reading();
	test_names();
	test_linear_in_batch();
	test_complex();
	test_pairs();
	test_names_of_pytorch();
	pm_arena_release(&arena);
	return check_done("test_op_work");
}
