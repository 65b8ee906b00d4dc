/*
 * test_products.c - the work of products that are not a plain matrix or kernel, against numbers worked out by hand.
 */
#include "check.h"
#include "op_nodes.h"

#include "graph/op_operands.h"

/* Parameters that einsum permutes and flattens to a stack of matrices: the node lists them as they are stored. */
static void
test_stacks(void)
{
	pm_work		w;
	pm_geometry geo;

	/* bixy,ioxy->boxy with i = 8, o = 16, x = 3, y = 5; bci,ioc->bco with c = 6; its result, and the parameter left of the data */
	load("{'id':0,'op':'Input','inputs':[],'shape':[15,1,8],'batch_dim':1},"
		 "{'id':1,'op':'MatMul','inputs':[0],'shape':[15,1,16],'batch_dim':1,'weights':[[8,16,3,5]]},"
		 "{'id':2,'op':'Input','inputs':[],'shape':[6,1,10],'batch_dim':1},"
		 "{'id':3,'op':'MatMul','inputs':[2],'shape':[6,1,12],'batch_dim':1,'weights':[[10,12,6]]},"
		 "{'id':4,'op':'Input','inputs':[],'shape':[6,10,1],'batch_dim':2},"
		 "{'id':5,'op':'MatMul','inputs':[4],'shape':[6,12,1],'batch_dim':2,'weights':[[12,10,6]]},"
		 "{'id':6,'op':'MatMul','inputs':[1],'shape':[15,1,4],'batch_dim':1,'weights':[[4,2,8]]},"
		 "{'id':7,'op':'MatMul','inputs':[1],'shape':[15,1,4],'batch_dim':1,'weights':[[4,16,3,5]]}");
	w = work(1, 7, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 7 * 15 * 8 * 16);
	CHECK_EQ(w.flops_backward, w.flops_forward);
	CHECK_EQ(w.bytes_forward, 4 * (7. * 15 * 8 + 15 * 8 * 16 + 7. * 15 * 16));
	geo = geometry(1, 7);
	CHECK(geo.gemm_m == 7 && geo.gemm_n == 16 && geo.gemm_k == 8 && geo.gemm_batch == 15);
	CHECK_EQ(work(3, 7, PM_FP32, PM_SGD).flops_forward, 2. * 7 * 6 * 10 * 12);
	CHECK_EQ(work(5, 7, PM_FP32, PM_SGD).flops_forward, 2. * 7 * 6 * 10 * 12);
	geo = geometry(3, 1);
	CHECK(geo.gemm_m == 1 && geo.gemm_n == 12 && geo.gemm_k == 10 && geo.gemm_batch == 6);
	/* a parameter cut into dimensions, that is one matrix */
	CHECK_EQ(work(6, 7, PM_FP32, PM_SGD).flops_forward, 2. * 7 * 15 * 16 * 4);
	CHECK(geometry(6, 7).gemm_batch == 1);
	w = work(7, 2, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_backward, 2 * w.flops_forward);
}

/* A bag of embeddings whose indices are not known has a row for each of its results; a dimension that a shape lacks is 1. */
static void
test_unknown_shapes(void)
{
	pm_operand	out;

	load("{'id':0,'op':'EmbeddingBag','inputs':[],'shape':[1,6,16],'batch_dim':0,'weights':[[100,16]]},"
		 "{'id':1,'op':'Input','inputs':[],'shape':[1,24],'batch_dim':0},"
		 "{'id':2,'op':'EmbeddingBag','inputs':[1],'shape':[1,6,16],'batch_dim':0,'weights':[[100,16]]}");
	CHECK_EQ(pm_bag_rows(&graph, &graph.nodes[0], 5), 5 * 6);
	CHECK_EQ(pm_bag_rows(&graph, &graph.nodes[2], 5), 5 * 24);
	/* a convolution whose kernel is not in sight: 3 x 3 of the half of 8 channels; stored matrices without data: what is left beside the columns */
	load("{'id':0,'op':'Input','inputs':[],'shape':[1,8,6,6],'batch_dim':0},"
		 "{'id':1,'op':'Conv','inputs':[0],'shape':[1,4,6,6],'batch_dim':0,'attrs':{'kernel_shape':[3,3],'strides':[1,1],'pads':[1,1],'group':2}},"
		 "{'id':2,'op':'Gemm','inputs':[],'shape':[1,10],'batch_dim':0,'weights':[[10,16]]},"
		 "{'id':3,'op':'Gemm','inputs':[],'shape':[1,10],'batch_dim':0,'weights':[[4,10,16]]}");
	CHECK_EQ(work(1, 3, PM_FP32, PM_SGD).flops_forward, 2. * 3 * 4 * 36 * 9 * 8 / 2);
	CHECK_EQ(work(2, 3, PM_FP32, PM_SGD).flops_forward, 2. * 3 * 10 * 16);
	CHECK_EQ(work(3, 3, PM_FP32, PM_SGD).flops_forward, 2. * 3 * 10 * 64);
	load("{'id':0,'op':'EmbeddingBag','inputs':[],'shape':[1,6,16],'batch_dim':0,'weights':[[100,16]]}");
	out = pm_output_operand(&graph.nodes[0]);
	CHECK(pm_dim_at(&out, 1, 5) == 6 && pm_dim_at(&out, -1, 5) == 16 && pm_dim_at(&out, 0, 5) == 5);
	CHECK(pm_dim_at(&out, 3, 5) == 1 && pm_dim_at(&out, -4, 5) == 1);
	out.shape = NULL;
	CHECK(pm_dim_at(&out, 0, 5) == 1 && pm_count_at(&out, 5) == 0);
}

/* torch.cdist of 40 rows a sample with a code book of 96, width 32. */
static void
test_distance(void)
{
	double		in = 5. * 40 * 32;
	double		table = 96. * 32;
	double		out = 5. * 40 * 96;
	pm_work		w;
	pm_geometry geo;

	load("{'id':0,'op':'Input','inputs':[],'shape':[40,32],'batch_dim':0},"
		 "{'id':1,'op':'aten::_euclidean_dist','inputs':[0],'shape':[40,96],'batch_dim':0,'weights':[[96,32]]},"
		 "{'id':2,'op':'aten::argmin','inputs':[1],'shape':[40],'batch_dim':0},"
		 "{'id':3,'op':'Gemm','inputs':[0],'shape':[40,96],'batch_dim':0,'weights':[[96,32]]}");
	CHECK_EQ(graph.n_unknown, 0);
	w = work(1, 5, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2 * out * 32);
	CHECK_EQ(w.bytes_forward, 4 * (7 * (in + table) + 5 * out));
	CHECK_EQ(w.flops_backward, 2 * w.flops_forward + 5 * out);
	CHECK_EQ(w.bytes_backward, 4 * (7 * (in + table) + 10 * out) + 2 * out);
	CHECK(w.kernels_forward == 12 && w.kernels_backward == 11);
	CHECK_EQ(w.params, table);
	geo = geometry(1, 5);
	CHECK(geo.gemm_m == 5 * 40 && geo.gemm_n == 96 && geo.gemm_k == 32 && geo.gemm_batch == 1);
	/* in 4 bytes where a matrix product is in 2, and not on matrix units */
	CHECK(graph.nodes[1].flow.wide && !work(1, 5, PM_AMP, PM_SGD).tensor_core && work(3, 5, PM_AMP, PM_SGD).tensor_core);
	CHECK_EQ(work(1, 5, PM_AMP, PM_SGD).bytes_forward, w.bytes_forward);
	CHECK(work(1, 5, PM_TF32, PM_SGD).tensor_core);
	w = work(2, 5, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, out);
	CHECK(w.kernels_backward == 0 && w.bytes_backward == 0);
}

/* Distances of which only the nearest is asked have no backward pass, nor have their operands by way of them. */
static void
test_unreached(void)
{
	static const char *const ends[] = {"", "'output':4,", "'output':2,"};
	static char text[2048];
	pm_status	st;

	for (int i = 0; i < 3; i++)
	{
		int			len = snprintf(text, sizeof(text),
								   "{'format':'perfmodel-graph/1',%s'nodes':[{'id':0,'op':'Input','inputs':[],'shape':[40,32],'batch_dim':0},"
								   "{'id':1,'op':'Gemm','inputs':[0],'shape':[40,32],'batch_dim':0,'weights':[[32,32]]},"
								   "{'id':2,'op':'aten::_euclidean_dist','inputs':[1],'shape':[40,96],'batch_dim':0,'weights':[[96,32]]},"
								   "{'id':3,'op':'ArgMin','inputs':[2],'shape':[40],'batch_dim':0},"
								   "{'id':4,'op':'Gather','inputs':[3],'shape':[40,32],'batch_dim':0,'weights':[[96,32]]}]}", ends[i]);

		for (int k = 0; k < len; k++)
			if (text[k] == '\'')
				text[k] = '"';
		pm_arena_release(&arena);
		CHECK_EQ(pm_graph_from_json(text, (size_t) len, &arena, &graph, &st), PM_OK);
		CHECK(work(4, 1, PM_FP32, PM_SGD).kernels_backward > 0);
		CHECK((work(2, 1, PM_FP32, PM_SGD).kernels_backward > 0) == (i != 1));
		CHECK((work(1, 1, PM_FP32, PM_SGD).flops_backward > 0) == (i != 1));
	}
}

/* nn.Bilinear(8, 6, 10): ten matrices, each a product with the first operand and one with the second. */
static void
test_bilinear(void)
{
	double		out = 3. * 10;
	double		bytes = 4 * (3. * 8 + 3. * 6 + 10. * 8 * 6 + out + 2 * out * 6);
	pm_work		w;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,8],'batch_dim':0},"
		 "{'id':1,'op':'Gemm','inputs':[0],'shape':[1,6],'batch_dim':0,'weights':[[6,8]]},"
		 "{'id':2,'op':'aten::_trilinear','inputs':[0,1],'shape':[1,10],'batch_dim':0,'weights':[[10,8,6]]}");
	CHECK_EQ(graph.n_unknown, 0);
	w = work(2, 3, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2 * out * (8 * 6 + 6));
	CHECK_EQ(w.bytes_forward, bytes);
	CHECK_EQ(w.flops_backward, 2 * w.flops_forward);	/* of the weight and of the second operand */
	CHECK_EQ(w.bytes_backward, 2 * bytes);
	CHECK(w.kernels_forward == 30 && w.kernels_backward == 60);
	CHECK_EQ(w.params, 480);
	CHECK(!work(2, 3, PM_AMP, PM_SGD).tensor_core);
}

/* nn.EmbeddingBag: four rows of width 16 become one; and one row of one. */
static void
test_bag(void)
{
	static const char *const names[] = {"aten::embedding_bag", "aten::_embedding_bag"};
	double		table = 1000. * 16;
	char		nodes[1024];
	pm_work		w;

	for (int i = 0; i < 2; i++)
	{
		snprintf(nodes, sizeof(nodes),
				 "{'id':0,'op':'Input','inputs':[],'shape':[4],'batch_dim':0},"
				 "{'id':1,'op':'aten::arange','inputs':[],'shape':[1],'batch_dim':0},"
				 "{'id':2,'op':'%s','inputs':[0,1],'shape':[1,16],'batch_dim':0,'weights':[[1000,16]]},"
				 "{'id':3,'op':'%s','inputs':[1],'shape':[1,16],'batch_dim':0,'weights':[[1000,16]]},"
				 "{'id':4,'op':'Gather','inputs':[1],'shape':[1,16],'batch_dim':0,'weights':[[1000,16]]}", names[i], names[i]);
		load(nodes);
		CHECK_EQ(graph.n_unknown, 0);
		w = work(2, 3, PM_FP32, PM_SGD);
		CHECK_EQ(w.flops_forward, 3. * 4 * 16);
		CHECK_EQ(w.bytes_forward, 4 * (3. * 4 * 16 + 3. * 16) + 8 * 3. * 4);
		/* zeros of the size of the table; of each row the gradient is read and written */
		CHECK_EQ(w.bytes_backward, 4 * (table + 3. * 16 + 2 * 3. * 4 * 16));
		CHECK_EQ(w.flops_backward, 3 * 3. * 4 * 16);
		CHECK_EQ(w.params, table);
		CHECK_EQ(work(3, 3, PM_FP32, PM_SGD).bytes_forward, work(4, 3, PM_FP32, PM_SGD).bytes_forward);
		CHECK_EQ(work(3, 3, PM_FP32, PM_SGD).bytes_backward, work(4, 3, PM_FP32, PM_SGD).bytes_backward);
	}
	/* a table that is computed comes first */
	load("{'id':0,'op':'Input','inputs':[],'shape':[4],'batch_dim':0},"
		 "{'id':1,'op':'Relu','inputs':[],'shape':[1000,16],'batch_dim':null,'weights':[[1000,16]]},"
		 "{'id':2,'op':'aten::embedding_bag','inputs':[1,0],'shape':[1,16],'batch_dim':0}");
	CHECK_EQ(work(2, 3, PM_FP32, PM_SGD).flops_forward, 3. * 4 * 16);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_unknown_shapes();
	test_stacks();
	test_distance();
	test_unreached();
	test_bilinear();
	test_bag();
	pm_arena_release(&arena);
	return check_done("test_products");
}
