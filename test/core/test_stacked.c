/*
 * test_stacked.c - products with a stack of weights, a matrix for each matrix
 * of the output, such as the experts of a layer.
 */
#include "check.h"
#include "graph_text.h"

#include "graph/op_geometry.h"
#include "graph/op_work.h"

#define EXPERTS	8
#define TOKENS	64
#define NARROW	512
#define WIDE	2048
#define BATCH	3

static const char *const text =
	HEAD "{'id':0,'op':'Input','inputs':[],'shape':[1,8,64,512],'batch_dim':0,'attrs':{'requires_grad':true}},"
	"{'id':1,'op':'MatMul','inputs':[0],'shape':[1,8,64,2048],'batch_dim':0,'weights':[[8,2048,512]]},"
	"{'id':2,'op':'MatMul','inputs':[1],'shape':[1,8,64,2048],'batch_dim':0,'weights':[[8,2048,2048],[8,2048]]},"
	"{'id':3,'op':'MatMul','inputs':[2],'shape':[1,8,64,512],'batch_dim':0,'weights':[[8,2048,512]]},"
	"{'id':4,'op':'MatMul','inputs':[3],'shape':[1,8,64,100],'batch_dim':0,'weights':[[512,100]]},"
	"{'id':5,'op':'MatMul','inputs':[0],'shape':[8,64,100],'batch_dim':0,'weights':[[8,512,100]]}]}";

static pm_work
work(const pm_graph *g, int node)
{
	pm_work		w;

	pm_node_work(g, node, BATCH, PM_FP32, PM_NCHW, PM_SGD, &w);
	return w;
}

static pm_geometry
geometry(const pm_graph *g, int node)
{
	pm_geometry geo;

	pm_node_geometry(g, node, BATCH, &geo);
	return geo;
}

/* Each matrix is multiplied by its own tokens, which is as much work as one matrix for all tokens. */
static void
test_work(const pm_graph *g)
{
	pm_work		w = work(g, 1);

	CHECK_EQ(w.flops_forward, 2. * BATCH * EXPERTS * TOKENS * WIDE * NARROW);
	CHECK_EQ(w.flops_backward, 2 * w.flops_forward);
	CHECK_EQ(w.params, 1. * EXPERTS * WIDE * NARROW);
	CHECK_EQ(w.bytes_forward, 4. * (BATCH * EXPERTS * TOKENS * (NARROW + WIDE) + EXPERTS * WIDE * NARROW));
	CHECK_EQ(work(g, 2).flops_forward, 2. * BATCH * EXPERTS * TOKENS * WIDE * WIDE);
}

static void
test_geometry(const pm_graph *g)
{
	pm_geometry geo = geometry(g, 1);

	CHECK(geo.gemm_batch == EXPERTS && geo.gemm_m == BATCH * TOKENS && geo.gemm_n == WIDE && geo.gemm_k == NARROW && !geo.has_bias);
	geo = geometry(g, 2);
	CHECK(geo.gemm_batch == EXPERTS && geo.gemm_k == WIDE && geo.has_bias);
	/* stored the other way round */
	CHECK_EQ(geometry(g, 3).gemm_k, WIDE);
	/* one matrix for all is no stack, nor is one whose matrices are as many as the samples */
	geo = geometry(g, 4);
	CHECK(geo.gemm_batch == 1 && geo.gemm_m == BATCH * EXPERTS * TOKENS && geo.gemm_k == NARROW);
	CHECK_EQ(geometry(g, 5).gemm_batch, 1);
}

int
main(void)
{
	pm_arena	arena;
	pm_graph	g;
	pm_status	st;

	CHECK_EQ(parse(text, &arena, &g, &st), PM_OK);
	test_work(&g);
	test_geometry(&g);
	pm_arena_release(&arena);
	return check_done("stacked");
}
