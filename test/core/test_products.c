/*
 * test_products.c - the work of products that are not a plain matrix or kernel, against numbers worked out by hand.
 */
#include "check.h"
#include "op_nodes.h"

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

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_stacks();
	pm_arena_release(&arena);
	return check_done("test_products");
}
