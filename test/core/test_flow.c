/*
 * test_flow.c - how tensors lie, how wide they are, and where gradients meet.
 */
#include "check.h"
#include "features/question.h"
#include "graph/flow.h"
#include "graph/graph_json.h"
#include "graph/op_catalogue.h"
#include "graph/op_work.h"

#include <stdio.h>
#include <string.h>

static pm_arena arena;
static pm_graph graph;

#define INPUT "{'id':0,'op':'Input','inputs':[],'shape':[1,8,16,16],'batch_dim':0}"
#define CONV(id, of) "{'id':" #id ",'op':'Conv','inputs':[" #of "],'shape':[1,8,16,16],'batch_dim':0," \
	"'attrs':{'kernel_shape':[3,3],'pads':[1,1]},'weights':[[8,8,3,3]]}"

/* nodes with ' for " */
static void
load(const char *nodes)
{
	char		text[8192];
	pm_status	st;

	snprintf(text, sizeof(text), "{\"format\":\"perfmodel-graph/1\",\"name\":\"t\",\"nodes\":[%s]}", nodes);
	for (char *c = text; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	pm_arena_release(&arena);
	pm_arena_init_malloc(&arena);
	CHECK_EQ(pm_graph_from_json(text, strlen(text), &arena, &graph, &st), PM_OK);
}

static const pm_flow *
flow(int node)
{
	return &graph.nodes[node].flow;
}

/* A block of ConvNeXt: after its permute back the tensor lies channels-last, whatever was asked for. */
static void
test_permuted(void)
{
	load(INPUT "," CONV(1, 0) ","
		 "{'id':2,'op':'Transpose','inputs':[1],'shape':[1,16,16,8],'batch_dim':0,'view':true,'attrs':{'perm':[0,2,3,1]}},"
		 "{'id':3,'op':'LayerNormalization','inputs':[2],'shape':[1,16,16,8],'batch_dim':0,'weights':[[8],[8]]},"
		 "{'id':4,'op':'Transpose','inputs':[3],'shape':[1,8,16,16],'batch_dim':0,'view':true,'attrs':{'perm':[0,3,1,2]}},"
		 CONV(5, 4) "," CONV(6, 5));
	CHECK(flow(1)->runs[PM_NCHW] == PM_NCHW && flow(1)->runs[PM_NHWC] == PM_NHWC);
	CHECK(flow(5)->runs[PM_NCHW] == PM_NHWC && flow(6)->runs[PM_NCHW] == PM_NHWC && flow(6)->runs[PM_NHWC] == PM_NHWC);
	CHECK(graph.has_layout && pm_layout_run(graph.has_layout, PM_NHWC) == PM_NHWC && pm_layout_run(graph.has_layout, PM_NCHW) == PM_NCHW);
	/* layer norm copies what does not lie plainly: after a plain convolution, not after a channels-last one */
	CHECK(flow(3)->copied[PM_NCHW].launches == 1 && flow(3)->copied[PM_NHWC].launches == 0);
	CHECK_EQ(flow(3)->copied[PM_NCHW].each, 2 * 8 * 16 * 16);
}

/* Channels-last means nothing to a network without images, even where attention makes tensors of four dimensions. */
static void
test_no_layout(void)
{
	load("{'id':0,'op':'Input','inputs':[],'shape':[1,16,8],'batch_dim':0},"
		 "{'id':1,'op':'MatMul','inputs':[0],'shape':[1,16,8],'batch_dim':0,'weights':[[8,8]]},"
		 "{'id':2,'op':'Reshape','inputs':[1],'shape':[1,16,2,4],'batch_dim':0,'view':true},"
		 "{'id':3,'op':'Transpose','inputs':[2],'shape':[1,2,16,4],'batch_dim':0,'view':true,'attrs':{'perm':[0,2,1,3]}},"
		 "{'id':4,'op':'MatMul','inputs':[3,3],'shape':[1,2,16,16],'batch_dim':0},"
		 "{'id':5,'op':'Softmax','inputs':[4],'shape':[1,2,16,16],'batch_dim':0,'attrs':{'axis':3}}");
	CHECK(!graph.has_layout && pm_layout_run(graph.has_layout, PM_NHWC) == PM_NCHW && pm_layout_run(graph.has_layout, PM_NCHW) == PM_NCHW);
}

/* What a pool leaves lies as what it was given, though it has other sizes; the convolution behind it copies nothing. */
static void
test_pooled(void)
{
	load(INPUT "," CONV(1, 0) ","
		 "{'id':2,'op':'MaxPool','inputs':[1],'shape':[1,8,8,8],'batch_dim':0,'attrs':{'kernel_shape':[2,2],'strides':[2,2]}},"
		 "{'id':3,'op':'Conv','inputs':[2],'shape':[1,8,8,8],'batch_dim':0,'attrs':{'kernel_shape':[3,3],'pads':[1,1]},'weights':[[8,8,3,3]]}");
	CHECK(flow(2)->runs[PM_NHWC] == PM_NHWC && flow(2)->runs[PM_NCHW] == PM_NCHW);
	CHECK(flow(3)->runs[PM_NHWC] == PM_NHWC && flow(3)->copied[PM_NHWC].launches == 0 && flow(2)->copied[PM_NHWC].launches == 0);
}

/*
 * A plane of one element is plain and channels-last at once; what is made of it larger lies as a convolution left it
 * (the pooled branch of DeepLab), so that nothing copies it.
 */
static void
test_enlarged(void)
{
	load(INPUT "," CONV(1, 0) ","
		 "{'id':2,'op':'GlobalAveragePool','inputs':[1],'shape':[1,8,1,1],'batch_dim':0},"
		 "{'id':3,'op':'Conv','inputs':[2],'shape':[1,8,1,1],'batch_dim':0,'attrs':{'kernel_shape':[1,1]},'weights':[[8,8,1,1]]},"
		 "{'id':4,'op':'Resize','inputs':[3],'shape':[1,8,16,16],'batch_dim':0}," CONV(5, 4));
	CHECK(flow(4)->runs[PM_NHWC] == PM_NHWC && flow(5)->copied[PM_NHWC].launches == 0);
	CHECK(flow(4)->runs[PM_NCHW] == PM_NCHW && flow(5)->copied[PM_NCHW].launches == 0);
}

/* A channel shuffle lays its tensor plainly, and the convolution after it copies it back. */
static void
test_shuffled(void)
{
	load(INPUT "," CONV(1, 0) ","
		 "{'id':2,'op':'Reshape','inputs':[1],'shape':[1,2,4,16,16],'batch_dim':0,'view':true},"
		 "{'id':3,'op':'Transpose','inputs':[2],'shape':[1,4,2,16,16],'batch_dim':0,'view':true,'attrs':{'perm':[0,2,1,3,4]}},"
		 "{'id':4,'op':'aten::clone','inputs':[3],'shape':[1,4,2,16,16],'batch_dim':0},"
		 "{'id':5,'op':'Reshape','inputs':[4],'shape':[1,8,16,16],'batch_dim':0,'view':true}," CONV(6, 5));
	CHECK(flow(6)->runs[PM_NHWC] == PM_NHWC && flow(6)->copied[PM_NHWC].launches == 1);
	CHECK(flow(6)->runs[PM_NCHW] == PM_NCHW && flow(6)->copied[PM_NCHW].launches == 0);
}

/* A kernel that was computed lies plainly whatever was asked for; then the data decides (weight standardisation). */
static void
test_computed_kernel(void)
{
#define NORMED_KERNEL "{'id':2,'op':'BatchNormalization','inputs':[],'shape':[1,8,72],'batch_dim':null,'weights':[[8,8,3,3]]}," \
	"{'id':3,'op':'Reshape','inputs':[2],'shape':[8,8,3,3],'batch_dim':null,'view':true},"
#define CONV_WITH(id, of, kernel) "{'id':" #id ",'op':'Conv','inputs':[" #of "," #kernel "],'shape':[1,8,16,16],'batch_dim':0," \
	"'attrs':{'kernel_shape':[3,3],'pads':[1,1]}}"
	load(INPUT "," CONV(1, 0) "," NORMED_KERNEL CONV_WITH(4, 1, 3));
	CHECK(flow(4)->runs[PM_NHWC] == PM_NHWC && flow(4)->copied[PM_NHWC].launches == 1);	/* of the kernel */
	CHECK(flow(4)->runs[PM_NCHW] == PM_NCHW && flow(4)->copied[PM_NCHW].launches == 0);
	load(INPUT "," CONV(1, 0) "," NORMED_KERNEL
		 "{'id':4,'op':'GroupNormalization','inputs':[1],'shape':[1,8,16,16],'batch_dim':0,'weights':[[8],[8]]},"
		 CONV_WITH(5, 4, 3));
	CHECK(flow(5)->runs[PM_NHWC] == PM_NCHW && flow(5)->copied[PM_NHWC].launches == 0);
}

/* k readers that hand back a gradient: k - 1 additions; a view that nobody reads is none. */
static void
test_forks(void)
{
	load(INPUT "," CONV(1, 0) "," CONV(2, 1) "," CONV(3, 1) ","
		 "{'id':4,'op':'Reshape','inputs':[1],'shape':[1,2048],'batch_dim':0,'view':true},"
		 "{'id':5,'op':'Add','inputs':[2,3],'shape':[1,8,16,16],'batch_dim':0},"
		 "{'id':6,'op':'Add','inputs':[5,1],'shape':[1,8,16,16],'batch_dim':0}");
	CHECK_EQ(flow(1)->merged[PM_NCHW].launches, 2);
	CHECK_EQ(flow(1)->merged[PM_NCHW].each, 2 * 3 * 2048);
	CHECK(flow(2)->merged[PM_NCHW].launches == 0 && flow(5)->merged[PM_NCHW].launches == 0);
	/* outputs of a Split are put together once */
	load(INPUT "," CONV(1, 0) ","
		 "{'id':2,'op':'Split','inputs':[1],'shape':[1,4,16,16],'shapes':[[1,4,16,16],[1,4,16,16]],'batch_dim':0,'view':true,"
		 "'attrs':{'axis':1}},"
		 "{'id':3,'op':'Relu','inputs':[2],'shape':[1,4,16,16],'batch_dim':0},"
		 "{'id':4,'op':'Sigmoid','inputs':[2],'shape':[1,4,16,16],'batch_dim':0},"
		 "{'id':5,'op':'Mul','inputs':[3,4],'shape':[1,4,16,16],'batch_dim':0}");
	CHECK(flow(1)->merged[PM_NCHW].launches == 1 && flow(1)->merged[PM_NCHW].each == 2 * 2048);
}

/* Which part of a Split an operator reads, nobody says: one with as many elements as it puts out, else as many as they have in the mean. */
static void
test_part(void)
{
	pm_work		w;

	load(INPUT "," CONV(1, 0) ","
		 "{'id':2,'op':'Split','inputs':[1],'shape':[1,6,16,16],'shapes':[[1,6,16,16],[1,2,16,16]],'batch_dim':0,'view':true,"
		 "'attrs':{'axis':1}},"
		 "{'id':3,'op':'ReduceMean','inputs':[2],'shape':[1,1,16,16],'batch_dim':0},"
		 "{'id':4,'op':'Relu','inputs':[2],'shape':[1,2,16,16],'batch_dim':0}");
	pm_node_work(&graph, 3, 5, PM_FP32, PM_NCHW, PM_SGD, &w);
	CHECK_EQ(w.flops_forward, 5 * (6 + 2) / 2 * 256);
	pm_node_work(&graph, 4, 5, PM_FP32, PM_NCHW, PM_SGD, &w);
	CHECK_EQ(w.bytes_forward, 4 * 5 * (2 + 2) * 256);
}

/* Autocast: a product has 2 bytes, a parameter of 4 widens what it is added to, and an addition keeps that. */
static void
test_widths(void)
{
	pm_work		w;

	load(INPUT "," CONV(1, 0) ","
		 "{'id':2,'op':'Mul','inputs':[1],'shape':[1,8,16,16],'batch_dim':0,'weights':[[8,1,1]]},"
		 "{'id':3,'op':'Add','inputs':[1,2],'shape':[1,8,16,16],'batch_dim':0}," CONV(4, 3));
	CHECK(graph.nodes[0].flow.wide && !flow(1)->wide && flow(2)->wide && flow(3)->wide && !flow(4)->wide);
	pm_node_work(&graph, 3, 1, PM_AMP, PM_NCHW, PM_SGD, &w);
	CHECK_EQ(w.bytes_forward, 2048 * (2 + 4 + 4));
	CHECK_EQ(w.bytes_backward, 2048 * 6);	/* the gradient of the narrow operand is cast, the other passes */
	CHECK(w.kernels_forward == 1 && w.kernels_backward == 1);
	pm_node_work(&graph, 3, 1, PM_FP32, PM_NCHW, PM_SGD, &w);
	CHECK(w.bytes_backward == 0 && w.kernels_backward == 0);
}

/* The bias of a Linear of rank 4 is an addition of its own, but autocast has cast it with the rest of the Linear. */
static void
test_bias_width(void)
{
	load("{'id':0,'op':'Input','inputs':[],'shape':[1,4,6,8],'batch_dim':0},"
		 "{'id':1,'op':'MatMul','inputs':[0],'shape':[24,16],'batch_dim':0,'weights':[[8,16]]},"
		 "{'id':2,'op':'Reshape','inputs':[1],'shape':[1,4,6,16],'batch_dim':0,'view':true},"
		 "{'id':3,'op':'Add','inputs':[2],'shape':[1,4,6,16],'batch_dim':0,'weights':[[16]]},"
		 "{'id':4,'op':'Mul','inputs':[2],'shape':[1,4,6,16],'batch_dim':0,'weights':[[16]]},"
		 "{'id':5,'op':'Add','inputs':[2],'shape':[1,4,6,16],'batch_dim':0,'weights':[[1,4,6,16]]},"
		 "{'id':6,'op':'Relu','inputs':[3],'shape':[1,4,6,16],'batch_dim':0},"
		 "{'id':7,'op':'Add','inputs':[6],'shape':[1,4,6,16],'batch_dim':0,'weights':[[16]]},"
		 "{'id':8,'op':'Add','inputs':[3,7],'shape':[1,4,6,16],'batch_dim':0}");
	CHECK(!flow(3)->wide && !flow(6)->wide);
	/* a scale, a position and a parameter elsewhere are none */
	CHECK(flow(4)->wide && flow(5)->wide && flow(7)->wide && flow(8)->wide);
}

/* A transposed operand is read across the order of the others, and so is its copy; in neither is a byte more moved. */
static void
test_across(void)
{
	pm_work		w;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,6,8],'batch_dim':0},"
		 "{'id':1,'op':'Relu','inputs':[0],'shape':[1,6,8],'batch_dim':0},"
		 "{'id':2,'op':'Transpose','inputs':[1],'shape':[1,8,6],'batch_dim':0,'view':true,'attrs':{'perm':[0,2,1]}},"
		 "{'id':3,'op':'Reshape','inputs':[0],'shape':[1,8,6],'batch_dim':0,'view':true},"
		 "{'id':4,'op':'Add','inputs':[3,2],'shape':[1,8,6],'batch_dim':0},"
		 "{'id':5,'op':'aten::clone','inputs':[2],'shape':[1,8,6],'batch_dim':0},"
		 "{'id':6,'op':'Relu','inputs':[2],'shape':[1,8,6],'batch_dim':0},"
		 "{'id':7,'op':'Add','inputs':[4,5],'shape':[1,8,6],'batch_dim':0},"
		 "{'id':8,'op':'Reshape','inputs':[6],'shape':[1,48],'batch_dim':0,'view':true}");
	CHECK(flow(4)->across[PM_NCHW].each == 6 * 48 && flow(5)->across[PM_NCHW].each == 6 * 48);
	CHECK(flow(4)->copied[PM_NCHW].each == 0 && flow(4)->across[PM_NCHW].launches == 0);
	CHECK(flow(6)->across[PM_NCHW].each == 6 * 48 && flow(6)->copied[PM_NCHW].each == 2 * 48);	/* the copy behind it */
	CHECK(flow(1)->across[PM_NCHW].each == 0 && flow(7)->across[PM_NCHW].each == 0);
	pm_node_work(&graph, 4, 3, PM_FP32, PM_NCHW, PM_SGD, &w);
	CHECK(w.bytes_across == 4 * 3 * 6 * 48 && w.bytes_forward == 4 * 3 * 3 * 48);
}

/* What is no permutation does no harm. */
static void
test_bad_permutations(void)
{
	static const char *const perms[] = {"[0,0,1,2]", "[0,1,2,9]", "[0,1]", "[0,3,1,2,4]", "'x'", "[0.5,1,2,3]"};
	char		nodes[2048];

	for (size_t i = 0; i < sizeof(perms) / sizeof(perms[0]); i++)
	{
		snprintf(nodes, sizeof(nodes), INPUT "," CONV(1, 0) ","
				 "{'id':2,'op':'Transpose','inputs':[1],'shape':[1,16,16,8],'batch_dim':0,'view':true,'attrs':{'perm':%s}},"
				 "{'id':3,'op':'Relu','inputs':[2],'shape':[1,16,16,8],'batch_dim':0}", perms[i]);
		load(nodes);
		CHECK_EQ(flow(3)->copied[PM_NHWC].launches, 0);
	}
}

/* A part of zeros that a product is written into: CopySlices copies the gradient, and its part, which it clears. */
static void
test_written(void)
{
	load("{'id':0,'op':'Input','inputs':[],'shape':[1,8],'batch_dim':0},"
		 "{'id':1,'op':'Gemm','inputs':[0],'shape':[1,4],'batch_dim':0,'weights':[[4,8]]},"
		 "{'id':2,'op':'aten::zeros','inputs':[],'shape':[1,16],'batch_dim':0},"
		 "{'id':3,'op':'aten::copy','inputs':[1],'shape':[1,4],'batch_dim':0},"
		 "{'id':4,'op':'Identity','inputs':[2,3],'shape':[1,16],'batch_dim':0,'view':true},"
		 "{'id':5,'op':'Relu','inputs':[4],'shape':[1,16],'batch_dim':0}");
	CHECK(graph.nodes[5].grad && graph.nodes[4].grad && graph.nodes[3].grad && !graph.nodes[2].grad);
	CHECK_EQ(flow(2)->merged[PM_NCHW].each, 2 * 16 + 5 * 4);
	CHECK_EQ(flow(2)->merged[PM_NCHW].launches, 4);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_permuted();
	test_no_layout();
	test_pooled();
	test_enlarged();
	test_shuffled();
	test_computed_kernel();
	test_forks();
	test_part();
	test_widths();
	test_bias_width();
	test_across();
	test_bad_permutations();
	test_written();
	pm_arena_release(&arena);
	return check_done("test_flow");
}
