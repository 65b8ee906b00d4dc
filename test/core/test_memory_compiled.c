/*
 * test_memory_compiled.c - what a compiled step writes and keeps, by hand.
 */
#include "memory_graphs.h"

#include "memory/estimate.h"
#include "memory/min_cut.h"
#include "memory/peak.h"

#include <string.h>

#define X		"'shape':[1,1024],'batch_dim':0"
#define W		"'weights':[[1024,1024]]"
#define SIZE	4096.0			/* bytes of such an output in 4 bytes */
#define TUNING	256e6

#define INPUT	"{'id':0,'op':'Input','inputs':[]," X "}"

static pm_memory_plan
plan_of(pm_dtype dtype, bool compile, bool recomputes_less)
{
	const pm_step_options o = {.dtype = dtype, .optimizer = PM_SGD, .fused_update = true, .compile = compile, .recomputes_less = recomputes_less};
	pm_memory_plan plan;
	pm_status	st;

	CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
	return plan;
}

/* Bytes a sample that wait for the backward pass. */
static double
kept(pm_dtype dtype, bool compile, bool recomputes_less)
{
	return plan_of(dtype, compile, recomputes_less).asked.kept_per;
}

/* ---------- the cut ---------- */

static void
check_cut(const double *weight, const char *expected)
{
	/* 0 -> 1 -> 3, 0 -> 2 -> 3, 1 -> 4; sources 0 and 5, sinks 3 and 4; nothing leads from 5 */
	static const bool source[] = {true, false, false, false, false, true};
	static const bool sink[] = {false, false, false, true, true, false};
	static const int32_t from[] = {0, 0, 1, 2, 1};
	static const int32_t to[] = {1, 2, 3, 3, 4};
	const pm_cut_network net = {6, weight, source, sink, 5, from, to};
	bool		cut[6];
	pm_status	st;

	CHECK(pm_min_cut(&net, &arena, cut, &st) == PM_OK);
	for (int v = 0; v < 6; v++)
		CHECK(cut[v] == (expected[v] == 'x'));
}

static void
test_cut(void)
{
	check_cut((double[]) {10, 3, 3, 5, 4, 1}, " xx   ");
	check_cut((double[]) {5, 3, 3, 5, 4, 1}, "x     ");
	check_cut((double[]) {10, 9, 3, 2, 4, 1}, "   xx ");
	check_cut((double[]) {10, 4, 3, 9, 4, 1}, " xx   ");
	/* of the same weight: the nearest to the sinks */
	check_cut((double[]) {7, 7, 7, 4, 3, 1}, "   xx ");
	check_cut((double[]) {0, 0, 0, 0, 0, 0}, "   xx ");
}

/* ---------- operators between products ---------- */

static void
test_chain(void)
{
	load(INPUT ",{'id':1,'op':'Gemm','inputs':[0]," X "," W "},{'id':2,'op':'Silu','inputs':[1]," X "},{'id':3,'op':'Gelu','inputs':[2]," X "},"
		 "{'id':4,'op':'Gemm','inputs':[3]," X "," W "}");
	/* inputs of products, and of both activations; the first activation is computed again */
	CHECK_EQ(kept(PM_FP32, false, false), 4 * SIZE);
	CHECK_EQ(kept(PM_FP32, true, false), 3 * SIZE);
	CHECK_EQ(kept(PM_FP32, true, true), 3 * SIZE);
	/* of the batch, autocast makes a copy */
	CHECK_EQ(kept(PM_AMP, true, false), SIZE + 3 * SIZE / 2);
	/* nothing here is tried: kernels without sums have one form.  A sum over rows is. */
	CHECK(plan_of(PM_FP32, true, false).asked.lines[0].fixed < TUNING);
	load(INPUT ",{'id':1,'op':'Gemm','inputs':[0]," X "," W "},{'id':2,'op':'Softmax','inputs':[1]," X "},{'id':3,'op':'Gemm','inputs':[2]," X "," W "}");
	CHECK(plan_of(PM_FP32, true, false).asked.lines[0].fixed >= TUNING);
	CHECK(plan_of(PM_FP32, false, false).asked.lines[0].fixed < TUNING);
}

/* Autocast computes a LayerNorm in 4 bytes: eager mode keeps its input so, and casts its result once for each product. */
static void
test_casts(void)
{
	double		rows = 8;		/* mean and deviation */

	load(INPUT ",{'id':1,'op':'Gemm','inputs':[0]," X "," W "},{'id':2,'op':'LayerNormalization','inputs':[1]," X ",'weights':[[1024],[1024]]},"
		 "{'id':3,'op':'Gemm','inputs':[2]," X "," W "},{'id':4,'op':'Gemm','inputs':[2]," X "," W "},{'id':5,'op':'Mul','inputs':[3,4]," X "},"
		 "{'id':6,'op':'Gemm','inputs':[5]," X "," W "}");
	CHECK_EQ(kept(PM_AMP, false, false), SIZE + SIZE / 2 + SIZE + rows + 2 * SIZE / 2 + 2 * SIZE / 2 + SIZE / 2);
	CHECK_EQ(kept(PM_AMP, true, false), SIZE + SIZE / 2 + SIZE / 2 + rows + SIZE / 2 + 2 * SIZE / 2 + SIZE / 2);
}

#define MAP		"'shape':[1,64,16,16],'batch_dim':0"
#define KERNEL	"'weights':[[64,64,3,3]],'attrs':{'kernel_shape':[3,3],'pads':[1,1,1,1]}"
#define MAPS	(64 * 16 * 16 * 4.0)

/* Before PyTorch 2.4, norms were not computed again; of an activation between two bounds, a mask says enough. */
static void
test_norms(void)
{
	load("{'id':0,'op':'Input','inputs':[]," MAP "},{'id':1,'op':'Conv','inputs':[0]," MAP "," KERNEL "},"
		 "{'id':2,'op':'BatchNormalization','inputs':[1]," MAP ",'weights':[[64],[64]]},{'id':3,'op':'Clip','inputs':[2]," MAP "},"
		 "{'id':4,'op':'Conv','inputs':[3]," MAP "," KERNEL "}");
	CHECK_EQ(kept(PM_FP32, false, false), 4 * MAPS);
	CHECK_EQ(kept(PM_FP32, true, false), 3 * MAPS);
	CHECK_EQ(kept(PM_FP32, true, true), 3 * MAPS + MAPS / 4);
}

/* A sum with what was read long before is not computed again: else all of them would be, to the first. */
static void
test_residual(void)
{
	load(INPUT ",{'id':1,'op':'Gemm','inputs':[0]," X "," W "},{'id':2,'op':'LayerNormalization','inputs':[1]," X ",'weights':[[1024],[1024]]},"
		 "{'id':3,'op':'Gemm','inputs':[2]," X "," W "},{'id':4,'op':'Add','inputs':[1,3]," X "},"
		 "{'id':5,'op':'LayerNormalization','inputs':[4]," X ",'weights':[[1024],[1024]]},{'id':6,'op':'Gemm','inputs':[5]," X "," W "},"
		 "{'id':7,'op':'Gemm','inputs':[3]," X "," W "},{'id':8,'op':'Mul','inputs':[6,7]," X "}");
	/* outputs of all but the last: the sum too, though both of its operands are kept */
	CHECK_EQ(kept(PM_FP32, true, false), 8 * SIZE + 16);
	CHECK_EQ(kept(PM_BF16, true, false), 8 * SIZE / 2 + 16);
}

/* On a CPU, and where segments run again, a step takes what it takes without. */
static void
test_where_not(void)
{
	pm_step_options o = {.dtype = PM_FP32, .optimizer = PM_SGD, .on_cpu = true};
	pm_memory_plan plans[2];
	pm_status	st;

	load_transformer(4);
	for (int how = 0; how < 2; how++)
	{
		o = (pm_step_options) {.dtype = PM_FP32, .optimizer = PM_SGD, .on_cpu = how == 0, .attention_again = how == 1};
		CHECK(pm_step_simulate(&graph, &o, &arena, &(pm_step) {0}, &st) == PM_OK);
		CHECK(pm_memory_plan_make(&graph, &o, &arena, &plans[0], &st) == PM_OK);
		o.compile = true;
		CHECK(pm_memory_plan_make(&graph, &o, &arena, &plans[1], &st) == PM_OK);
		CHECK_EQ(pm_memory_live(&plans[0], 64), pm_memory_live(&plans[1], 64));
	}
	/* and the interval is wider */
	{
		pm_memory_factors f = {.spread = 0.05, .fit_spread = 0.02};

		pm_memory_factors_compiled(&f);
		CHECK(f.spread > 0.09 && f.spread < 0.1);
		CHECK(f.fit_spread > 0.045 && f.fit_spread < 0.05);
		CHECK(f.context_spread_mb > 100);
	}
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_cut();
	test_chain();
	test_casts();
	test_norms();
	test_residual();
	test_where_not();
	pm_arena_release(&arena);
	return check_done("memory_compiled");
}
