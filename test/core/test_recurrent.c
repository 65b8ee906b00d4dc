/*
 * test_recurrent.c - the work of recurrent layers against numbers worked out by hand.
 */
#include "check.h"
#include "op_nodes.h"

#include "graph/unrolled.h"

static void
test_recurrent(void)
{
	double		matrices = 2. * (192 * 192 + 192 * 48);
	pm_work		w;

	/* 32 sequences a sample, 32 steps, two directions of width 48 */
	load("{'id':0,'op':'Input','inputs':[],'shape':[32,32,192],'batch_dim':0},"
		 "{'id':1,'op':'LSTM','inputs':[0],'shape':[32,32,96],'batch_dim':0,"
		 "'attrs':{'hidden_size':48,'num_layers':1,'direction':'bidirectional'},"
		 "'weights':[[192,192],[192,48],[192],[192],[192,192],[192,48],[192],[192]]},"
		 "{'id':2,'op':'LSTM','inputs':[0],'shape':[32,32,96],'batch_dim':0,"
		 "'attrs':{'hidden_size':48,'direction':'bidirectional'}},"
		 "{'id':3,'op':'GRU','inputs':[0],'shape':[32,32,50],'batch_dim':0,'attrs':{'num_layers':2}}");
	w = work(1, 2, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 2 * 32 * 32 * matrices);
	/* the input is an image: of the products with its gradient those of the hidden state remain */
	CHECK_EQ(w.flops_backward, w.flops_forward + 2. * 2 * 1024 * 2 * 192 * 48);
	CHECK_EQ(w.params, matrices + 4 * 192);
	CHECK_EQ(w.bytes_forward, 4 * (2. * 1024 * 192 + matrices + 768 + 2. * 1024 * 96 + 2. * 1024 * 4 * 96));
	CHECK_EQ(w.kernels_forward, 64);
	CHECK_EQ(work(2, 2, PM_FP32, PM_SGD).flops_forward, w.flops_forward);	/* sizes tell the same */
	CHECK_EQ(work(3, 1, PM_FP32, PM_SGD).flops_forward, 2. * 1024 * 3 * 50 * ((50 + 192) + (50 + 50)));
}

/* On a CPU positions run one after the other, and the gradients of the matrices are added up. */
static void
test_unrolled(void)
{
	pm_work		fused,
				w,
				v;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,16,32],'batch_dim':0},"
		 "{'id':1,'op':'Gemm','inputs':[0],'shape':[1,16,32],'batch_dim':0,'weights':[[32,32]]},"
		 "{'id':2,'op':'LSTM','inputs':[1],'shape':[1,16,64],'batch_dim':0,'attrs':{'hidden_size':64}},"
		 "{'id':3,'op':'GRU','inputs':[1],'shape':[1,16,128],'batch_dim':0,"
		 "'attrs':{'hidden_size':64,'num_layers':2,'direction':'bidirectional'}},"
		 "{'id':4,'op':'RNN','inputs':[1],'shape':[1,16,64],'batch_dim':0,'attrs':{'hidden_size':64}}");
	w = fused = work(2, 3, PM_FP32, PM_SGD);
	pm_rnn_unroll(&graph, 2, 3, PM_FP32, &w);
	CHECK_EQ(w.flops_forward + w.flops_backward, fused.flops_forward + fused.flops_backward);
	CHECK(w.kernels_forward == 16 * 11 && w.kernels_backward == 16 * 19);
	CHECK_EQ(w.bytes_forward - fused.bytes_forward, 4 * (15. * 4 * 64 * 64 + 34. * 3 * 16 * 64));
	CHECK_EQ(w.bytes_backward - fused.bytes_backward, 4 * (5. * 15 * 4 * 64 * 64 + 41. * 3 * 16 * 64));
	CHECK_EQ(w.bytes_update, fused.bytes_update);
	w = work(3, 3, PM_FP32, PM_SGD);
	pm_rnn_unroll(&graph, 3, 3, PM_FP32, &w);
	CHECK(w.kernels_forward == 4 * 16 * 13 && w.kernels_backward == 4 * 16 * 18);
	w = fused = work(4, 3, PM_BF16, PM_SGD);
	pm_rnn_unroll(&graph, 4, 3, PM_BF16, &w);
	CHECK(w.kernels_forward == 16 * 3 && w.kernels_backward == 16 * 7);
	CHECK_EQ(w.bytes_forward - fused.bytes_forward, 2 * (15. * 64 * 64 + 5. * 3 * 16 * 64));
	/* nothing else changes */
	v = w = work(1, 3, PM_FP32, PM_SGD);
	pm_rnn_unroll(&graph, 1, 3, PM_FP32, &w);
	CHECK(memcmp(&v, &w, sizeof(w)) == 0);
}

/* Three layers of width 8 over 5 positions of width 6, behind a product or on the data themselves. */
static void
test_input_gradient(void)
{
	static const char *const layers =
		"'attrs':{'hidden_size':8,'num_layers':3},'weights':[[32,6],[32,8],[32],[32],[32,8],[32,8],[32],[32],[32,8],[32,8],[32],[32]]";
	static const char *const kept =
		"'attrs':{'hidden_size':8,'num_layers':3,'frozen':true},'weights':[[32,6],[32,8],[32],[32],[32,8],[32,8],[32],[32],[32,8],[32,8],[32],[32]]";
	double		first = 32. * 6;
	double		matrices = first + 5 * 32. * 8;
	double		bytes = 4 * (3. * 5 * 6 + matrices + 6 * 32 + 3. * 5 * 8);
	char		nodes[2048];
	pm_work		raw,
				behind,
				frozen;

	snprintf(nodes, sizeof(nodes),
			 "{'id':0,'op':'Input','inputs':[],'shape':[1,5,6],'batch_dim':0},"
			 "{'id':1,'op':'Gemm','inputs':[0],'shape':[1,5,6],'batch_dim':0,'weights':[[6,6]]},"
			 "{'id':2,'op':'LSTM','inputs':[0],'shape':[1,5,8],'batch_dim':0,%s},"
			 "{'id':3,'op':'LSTM','inputs':[1],'shape':[1,5,8],'batch_dim':0,%s},"
			 "{'id':4,'op':'LSTM','inputs':[1],'shape':[1,5,8],'batch_dim':0,%s}", layers, layers, kept);
	load(nodes);
	raw = work(2, 3, PM_FP32, PM_SGD);
	behind = work(3, 3, PM_FP32, PM_SGD);
	frozen = work(4, 3, PM_FP32, PM_SGD);
	CHECK_EQ(behind.flops_forward, 2. * 3 * 5 * matrices);
	CHECK_EQ(behind.flops_backward, 2 * behind.flops_forward);
	CHECK_EQ(behind.bytes_backward, 2 * bytes);
	/* back through positions and layers as before; nothing for the input */
	CHECK_EQ(raw.flops_backward, 2 * raw.flops_forward - 2. * 3 * 5 * first);
	CHECK_EQ(raw.bytes_backward, 2 * bytes - 4 * (3. * 5 * 6 + first));
	CHECK_EQ(raw.kernels_backward, behind.kernels_backward);
	CHECK(raw.kernels_backward == 2 * raw.kernels_forward);
	/* frozen, the gradient of what went in before */
	CHECK_EQ(frozen.flops_backward, frozen.flops_forward);
}

/* Projected outputs: the height of the first matrix is the number of gates times a hidden state wider than the output. */
static void
test_projected(void)
{
	pm_work		w;
	double		matrices = 64. * 6 + 64 * 4 + 4 * 16;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,5,6],'batch_dim':0},"
		 "{'id':1,'op':'LSTM','inputs':[0],'shape':[1,5,4],'batch_dim':0,'attrs':{'hidden_size':4},"
		 "'weights':[[64,6],[64,4],[64],[64],[4,16]]}");
	w = work(1, 1, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2. * 5 * matrices);
	CHECK_EQ(w.flops_backward, 2 * w.flops_forward - 2. * 5 * 64 * 6);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_recurrent();
	test_input_gradient();
	test_projected();
	test_unrolled();
	pm_arena_release(&arena);
	return check_done("test_recurrent");
}
