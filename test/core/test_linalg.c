/*
 * test_linalg.c - the work of linear algebra, against the numbers that PyTorch 1.13's dispatcher was seen to read and write
 * (shared/accept/true_work.py's way of counting) for 3 matrices of 16 x 16 and 5 right sides, and for vectors of 50.
 */
#include "check.h"
#include "op_nodes.h"

#define B	3.					/* matrices */
#define N	16.					/* their side */
#define S	(B * N * N)			/* numbers in them */
#define X	(B * N * 5)			/* numbers of right sides */

/* One operator of square matrices with a gradient, and perhaps of a right side. */
static pm_work
of_matrix(const char *op, const char *inputs, const char *shape)
{
	char		nodes[1024];

	snprintf(nodes, sizeof(nodes),
			 "{'id':0,'op':'Input','inputs':[],'shape':[1,16,16],'batch_dim':0,'attrs':{'requires_grad':true}},"
			 "{'id':1,'op':'Input','inputs':[],'shape':[1,16,5],'batch_dim':0,'attrs':{'requires_grad':true}},"
			 "{'id':2,'op':'%s','inputs':[%s],'shape':[%s],'batch_dim':0}", op, inputs, shape);
	load(nodes);
	CHECK_EQ(graph.n_unknown, 0);
	return work(2, 3, PM_FP32, PM_SGD);
}

static void
test_factored(void)
{
	pm_work		w = of_matrix("aten::linalg_inv_ex", "0", "1,16,16");

	CHECK_EQ(w.flops_forward, B * 2 * N * N * N);
	CHECK_EQ(w.bytes_forward, 4 * 2 * S);
	CHECK_EQ(w.flops_backward, B * 4 * N * N * N);
	CHECK_EQ(w.bytes_backward, 4 * 6144.);	/* 2 bmm 4608, neg 1536 */
	CHECK_EQ(w.kernels_backward, 3);
	CHECK(!w.tensor_core);
	w = of_matrix("aten::linalg_cholesky_ex", "0", "1,16,16");
	CHECK_NEAR(w.flops_forward, B * N * N * N / 3, 1e-9);
	CHECK_EQ(w.bytes_forward, 4 * 2 * S);
	CHECK_EQ(w.bytes_backward, 4 * 13824.);	/* bmm 2304, tril 3072, add 2304, mul 1536, linalg_solve_triangular 4608 */
	CHECK_EQ(w.flops_backward, B * 4 * N * N * N);
	CHECK_EQ(w.kernels_backward, 7);
	w = of_matrix("aten::_linalg_det", "0", "1");
	CHECK_NEAR(w.flops_forward, B * 2 * N * N * N / 3, 1e-9);
	CHECK_EQ(w.bytes_forward, 4 * (2 * S + B));
	CHECK_EQ(w.flops_backward, B * 2 * N * N * N);
	CHECK_EQ(w.bytes_backward, 4 * 8 * S);	/* diag_embed 1632, add 2304, linalg_lu_solve 2352, and 120 of diagonals */
	w = of_matrix("aten::_linalg_slogdet", "0", "1");
	CHECK_EQ(w.bytes_backward, 4 * 4 * S);	/* diag_embed 816, linalg_lu_solve 2352 */
	CHECK_EQ(w.kernels_backward, 2);
}

static void
test_solved(void)
{
	pm_work		w = of_matrix("aten::_linalg_solve_ex", "0,1", "1,16,5");

	CHECK_NEAR(w.flops_forward, B * (2 * N * N * N / 3 + 2 * N * N * 5), 1e-9);
	CHECK_EQ(w.bytes_forward, 4 * (2 * S + 2 * X));
	CHECK_EQ(w.flops_backward, B * (2 * N * N * 5 + 2 * N * N * 5) + S);
	CHECK_EQ(w.bytes_backward, 4 * ((1296 - 48.) + 1248 + 1536));	/* linalg_lu_solve without its pivots, bmm, neg */
	CHECK_EQ(w.kernels_backward, 3);
	/* a vector for each matrix */
	load("{'id':0,'op':'Input','inputs':[],'shape':[1,16],'batch_dim':0,'attrs':{'requires_grad':true}},"
		 "{'id':1,'op':'aten::linalg_solve','inputs':[0],'shape':[1,16],'batch_dim':0,'consts':[[16,16]]}");
	w = work(1, 3, PM_FP32, PM_SGD);
	CHECK_NEAR(w.flops_forward, 2 * N * N * N / 3 + B * 2 * N * N, 1e-9);
	/* the matrix is a constant: only the transposed system is solved */
	CHECK_EQ(w.flops_backward, B * 2 * N * N);
	CHECK_EQ(w.bytes_backward, 4 * (N * N + 2 * B * N));
	CHECK_EQ(w.kernels_backward, 1);
	w = of_matrix("aten::linalg_solve_triangular", "0,1", "1,16,5");
	CHECK_EQ(w.flops_forward, B * N * N * 5);
	CHECK_EQ(w.bytes_forward, 4 * 1248.);
	CHECK_EQ(w.bytes_backward, 4 * (1248 + 1248 + 1536 + 1536.));	/* linalg_solve_triangular, bmm, neg, tril */
	CHECK_EQ(w.flops_backward, B * (N * N * 5 + 2 * N * N * 5) + S);
	CHECK_EQ(w.kernels_backward, 4);
}

static void
test_vectors(void)
{
	pm_work		w;

	load("{'id':0,'op':'Relu','inputs':[],'shape':[50],'batch_dim':null,'weights':[[50]]},"
		 "{'id':1,'op':'Relu','inputs':[],'shape':[50],'batch_dim':null,'weights':[[50]]},"
		 "{'id':2,'op':'aten::dot','inputs':[0,1],'shape':[],'batch_dim':null},"
		 "{'id':3,'op':'aten::mv','inputs':[0],'shape':[30],'batch_dim':null,'weights':[[30,50]]},"
		 "{'id':4,'op':'aten::mv','inputs':[],'shape':[30],'batch_dim':null,'weights':[[30,2,25]],'consts':[[50]]},"
		 "{'id':5,'op':'aten::outer','inputs':[3,0],'shape':[30,50],'batch_dim':null},"
		 "{'id':6,'op':'Mul','inputs':[5,2],'shape':[30,50],'batch_dim':null},"
		 "{'id':7,'op':'Mul','inputs':[6,4],'shape':[30,50],'batch_dim':null}");
	CHECK_EQ(graph.n_unknown, 0);
	w = work(2, 1, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2 * 50);
	CHECK_EQ(w.bytes_forward, 4 * 101);
	CHECK_EQ(w.flops_backward, 2 * 50);
	CHECK_EQ(w.bytes_backward, 4 * 202);
	CHECK_EQ(w.kernels_backward, 2);
	w = work(3, 1, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2 * 30 * 50);
	CHECK_EQ(w.bytes_forward, 4 * 1580);
	CHECK_EQ(w.flops_backward, 3 * 30 * 50);	/* a product with additions, and one without */
	CHECK_EQ(w.bytes_backward, 4 * 2 * 1580);
	CHECK_EQ(w.params, 1500);
	CHECK(!w.tensor_core && !work(3, 1, PM_AMP, PM_SGD).tensor_core);
	/* a convolution's kernel seen as a matrix, with a vector that is not trained */
	w = work(4, 1, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 2 * 30 * 50);
	CHECK_EQ(w.bytes_backward, 4 * 1580);
	/* as PyTorch runs it: a product of elements, and of its gradient two products that are summed */
	w = work(5, 1, PM_FP32, PM_SGD);
	CHECK_EQ(w.bytes_forward, 4 * 1580);
	CHECK_EQ(w.bytes_backward, 4 * (6080 + 3080));
}

/* theta of 3 samples, for grids of 10 x 12 positions and of 5 x 10 x 12. */
static void
test_affine_grid(void)
{
	pm_work		w;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,2,3],'batch_dim':0,'attrs':{'requires_grad':true}},"
		 "{'id':1,'op':'aten::affine_grid_generator','inputs':[0],'shape':[1,10,12,2],'batch_dim':0}");
	CHECK_EQ(graph.n_unknown, 0);
	w = work(1, 3, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 3. * 120 * 2 * 2 * 3);
	CHECK_EQ(w.bytes_forward, 4 * (1080 + 1818.));	/* positions, and bmm */
	CHECK_EQ(w.bytes_backward, w.bytes_forward);
	CHECK_EQ(w.flops_backward, w.flops_forward);
	CHECK_EQ(w.kernels_backward, 10);
	CHECK(!work(1, 3, PM_TF32, PM_SGD).tensor_core);
	load("{'id':0,'op':'Input','inputs':[],'shape':[1,3,4],'batch_dim':0},"
		 "{'id':1,'op':'aten::affine_grid_generator','inputs':[0],'shape':[1,5,10,12,3],'batch_dim':0}");
	w = work(1, 3, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 3. * 600 * 3 * 2 * 4);
	CHECK_EQ(w.bytes_forward, 4 * (7200 + 12636.));
	CHECK_EQ(w.bytes_backward, 0);
}

/* A sparse matrix of 500 numbers by a dense one: the rows of a graph are nodes, or its columns are features of all samples. */
static void
test_sparse_product(void)
{
	const double numbers = 500;
	const double columns = 16;
	pm_work		w;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,100,16],'batch_dim':0},"
		 "{'id':1,'op':'Transpose','inputs':[0],'shape':[100,1,16],'batch_dim':1,'view':true},"
		 "{'id':2,'op':'Gemm','inputs':[1],'shape':[100,16],'batch_dim':1,'weights':[[16,16]]},"
		 "{'id':3,'op':'aten::_sparse_mm','inputs':[2],'shape':[100,16],'batch_dim':1,'consts':[[500]]},"
		 "{'id':4,'op':'aten::_sparse_addmm','inputs':[3,3],'shape':[100,16],'batch_dim':1,'weights':[[500]]},"
		 "{'id':5,'op':'aten::_sparse_mm','inputs':[4],'shape':[100],'batch_dim':null,'consts':[[500]]}");
	w = work(3, 8, PM_FP32, PM_SGD);
	CHECK_EQ(w.flops_forward, 8 * 2 * numbers * columns);
	CHECK_EQ(w.bytes_forward, 20 * numbers + 4 * 8 * (numbers * columns + 100 * columns));
	/* the transposed matrix by the gradient; gradients of two readers added */
	CHECK_EQ(w.flops_backward, w.flops_forward);
	CHECK_EQ(w.params, 0);
	CHECK(!w.tensor_core);
	/* with its own numbers trained */
	w = work(4, 8, PM_FP32, PM_SGD);
	CHECK_EQ(w.params, numbers);
	CHECK_EQ(w.flops_backward, 3 * w.flops_forward);
	/* by a vector */
	CHECK_EQ(work(5, 8, PM_FP32, PM_SGD).flops_forward, 2 * numbers);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_factored();
	test_solved();
	test_vectors();
	test_affine_grid();
	test_sparse_product();
	pm_arena_release(&arena);
	return check_done("test_linalg");
}
