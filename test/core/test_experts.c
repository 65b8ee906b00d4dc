/*
 * test_experts.c - finds the experts of a network, and the part of them that one of
 * several GPUs has.
 */
#include "check.h"
#include "graph_text.h"

#include "graph/expert_part.h"
#include "graph/experts.h"
#include "graph/graph_finish.h"
#include "graph/layers.h"
#include "graph/op_work.h"

/* A layer that reads node b - 1: a norm, a router over e experts, and those, each with t tokens; the last of its nodes is b + 12. */
#define LAYER(b, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, e, t) \
	"{'id':" n1 ",'op':'RMSNormalization','inputs':[" b "],'shape':[1,16,64],'batch_dim':0,'weights':[[64]]}," \
	"{'id':" n2 ",'op':'Gemm','inputs':[" n1 "],'shape':[1,16," e "],'batch_dim':0,'weights':[[" e ",64]]}," \
	"{'id':" n3 ",'op':'Softmax','inputs':[" n2 "],'shape':[1,16," e "],'batch_dim':0,'attrs':{'axis':-1}}," \
	"{'id':" n4 ",'op':'TopK','inputs':[" n3 "],'shape':[1,16,2],'batch_dim':0}," \
	"{'id':" n5 ",'op':'Slice','inputs':[" n4 "],'shape':[1," e "," t ",1],'batch_dim':0,'view':true}," \
	"{'id':" n6 ",'op':'Gather','inputs':[" n1 "," n4 "],'shape':[1," e "," t ",64],'batch_dim':0}," \
	"{'id':" n7 ",'op':'MatMul','inputs':[" n6 "],'shape':[1," e "," t ",96],'batch_dim':0,'weights':[[" e ",96,64],[" e ",96]]}," \
	"{'id':" n8 ",'op':'MatMul','inputs':[" n6 "],'shape':[1," e "," t ",96],'batch_dim':0,'weights':[[" e ",96,64]]}," \
	"{'id':" n9 ",'op':'Mul','inputs':[" n7 "," n8 "],'shape':[1," e "," t ",96],'batch_dim':0}," \
	"{'id':" n10 ",'op':'MatMul','inputs':[" n9 "],'shape':[1," e "," t ",64],'batch_dim':0,'weights':[[" e ",64,96]]}," \
	"{'id':" n11 ",'op':'Mul','inputs':[" n10 "," n5 "],'shape':[1," e "," t ",64],'batch_dim':0}," \
	"{'id':" n12 ",'op':'aten::scatter_add','inputs':[" n11 "],'shape':[1,16,64],'batch_dim':0}"

#define TWO_LAYERS(e, t) \
	HEAD "{'id':0,'op':'Input','inputs':[],'shape':[1,16,64],'batch_dim':0,'attrs':{'requires_grad':true}}," \
	LAYER("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "8", "4") "," \
	LAYER("12", "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24", e, t) "]}"

static double
step_flops(const pm_graph *g)
{
	double		sum = 0;

	for (int i = 0; i < g->n_nodes; i++)
	{
		pm_work		w;

		pm_node_work(g, i, 3, PM_FP32, PM_NCHW, PM_SGD, &w);
		sum += w.flops_forward + w.flops_backward;
	}
	return sum;
}

static void
test_found(const pm_graph *g)
{
	CHECK_EQ(g->experts.layers, 2);
	CHECK(g->experts.common == 4 && g->experts.least == 4 && g->experts.most == 8);
	/* 2 of 8 experts for each of 16 tokens; and 2 of 4 */
	CHECK_EQ(g->experts.sent, 2 * 32 * 64);
	CHECK_EQ(g->experts.returned, 2 * 32 * 64);
	CHECK(g->nodes[7].expert && g->nodes[8].expert && g->nodes[10].expert && !g->nodes[2].expert && !g->nodes[9].expert);
	/* the softmax of a router is no attention */
	CHECK(!pm_node_attends(&g->nodes[3]));
	CHECK_EQ(pm_layers_of(g), 0);
}

/* Fewer experts with more tokens each: the same work, and the same messages. */
static void
test_divided(const pm_graph *g, pm_arena *a)
{
	double		expert_params = (8 + 4) * (3 * 96 * 64 + 96);

	for (int ep = 1; ep <= 4; ep *= 2)
	{
		pm_graph	part;
		pm_status	st = {PM_OK};

		CHECK_EQ(pm_experts_divide(g, ep, a, &part, &st), PM_OK);
		CHECK_EQ(part.params, g->params - expert_params + expert_params / ep);
		CHECK_NEAR(step_flops(&part), step_flops(g), 1e-6 * step_flops(g));
		CHECK_EQ(part.experts.sent, g->experts.sent);
		CHECK_EQ(part.experts.layers, 2);
		CHECK(part.nodes[22].expert && part.nodes[22].weights[0].dim[0] == 4 / ep && part.nodes[22].weights[0].dim[2] == 96);
		for (int i = 5; i <= 11; i++)
			CHECK(part.nodes[i].shape.dim[1] == 8 / ep && part.nodes[i].shape.dim[2] == 4 * ep);
		CHECK(part.nodes[12].shape.dim[1] == 16 && part.nodes[1].shape.dim[2] == 64);
		CHECK(part.nodes[7].weights[1].dim[0] == 8 / ep && part.nodes[7].grad);
		CHECK(ep == 1 || part.structure != g->structure);
	}
	/* the whole one is as it was */
	CHECK(g->nodes[7].shape.dim[1] == 8 && g->nodes[7].weights[0].dim[0] == 8);
}

static void
refused(const char *text, int ep, const char *message, const char *detail, const char *hint)
{
	pm_arena	a;
	pm_graph	g;
	pm_graph	part;
	pm_status	st;

	CHECK_EQ(parse(text, &a, &g, &st), PM_OK);
	CHECK_EQ(pm_experts_divide(&g, ep, &a, &part, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, message);
	CHECK_HAS(st.detail, detail);
	CHECK_HAS(st.hint, hint);
	pm_arena_release(&a);
}

/* A single layer of as many experts as the tokens have: each expert has all tokens, as the residual stream has. */
static void
test_many_tokens(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_graph	part;
	pm_status	st;

	CHECK_EQ(parse(TWO_LAYERS("2", "16"), &a, &g, &st), PM_OK);
	CHECK(g.experts.layers == 2 && g.experts.common == 2);
	CHECK_EQ(pm_experts_divide(&g, 2, &a, &part, &st), PM_OK);
	CHECK(part.nodes[19].shape.dim[1] == 1 && part.nodes[19].shape.dim[2] == 32 && part.nodes[13].shape.dim[1] == 16);
	pm_arena_release(&a);
}

/* ---------- a long chain ---------- */

#define CHAIN		100000
#define CHAIN_BYTES 120

static bool
stop(void *ctx)
{
	int		   *left = ctx;

	return (*left)-- == 0;
}

/* A long chain of nodes behind an expert: one look at each edge, and the loop can be stopped. */
static void
test_chain(void)
{
	int			left = -1;		/* questions until the answer is yes */
	int			asked;
	const pm_hooks hooks = {.stop = stop, .ctx = &left};
	char	   *text = malloc(CHAIN * CHAIN_BYTES + 1000);
	char	   *at = text + sprintf(text, HEAD "{'id':0,'op':'Input','inputs':[],'shape':[1,8,32,16],'batch_dim':0},"
									"{'id':1,'op':'MatMul','inputs':[0],'shape':[1,8,32,16],'batch_dim':0,'weights':[[8,16,16]]}");
	double		before_s;
	pm_arena	a;
	pm_graph	g;
	pm_graph	part;
	pm_status	st;

	for (int i = 2; i < CHAIN; i++)
		at += snprintf(at, CHAIN_BYTES, ",{'id':%d,'op':'Relu','inputs':[%d],'shape':[1,8,32,16],'batch_dim':0}", i, i - 1);
	strcpy(at, "]}");
	CHECK_EQ(parse(text, &a, &g, &st), PM_OK);
	free(text);
	a.hooks = &hooks;
	before_s = pm_thread_cpu_s();
	CHECK_EQ(pm_experts_divide(&g, 8, &a, &part, &st), PM_OK);
	CHECK(pm_thread_cpu_s() - before_s < 5);
	CHECK(part.nodes[0].shape.dim[1] == 1 && part.nodes[CHAIN - 1].shape.dim[1] == 1 && part.nodes[CHAIN - 1].shape.dim[2] == 256);
	asked = -1 - left;
	left = -1;
	CHECK_EQ(pm_graph_resized(&part, &a, &st), PM_OK);
	/* beside the questions of what follows, one every so many nodes */
	CHECK(asked - (-1 - left) > CHAIN / PM_POLL_EVERY);
	left = 0;
	CHECK_EQ(pm_experts_divide(&g, 8, &a, &part, &st), PM_CANCELLED);
	pm_arena_release(&a);
}

int
main(void)
{
	pm_arena	arena;
	pm_graph	g;
	pm_status	st;

	CHECK_EQ(parse(TWO_LAYERS("4", "8"), &arena, &g, &st), PM_OK);
	test_found(&g);
	test_divided(&g, &arena);
	test_many_tokens();
	test_chain();
	refused(TWO_LAYERS("8", "4"), 3, "3 does not divide 8", "has 8", "1, 2, 4, 8");
	refused(TWO_LAYERS("4", "8"), 8, "8 does not divide 4", "4 to 8 experts", "1, 2, 4.");
	/* one matrix for all, and a stack with a matrix for each sample */
	refused(HEAD IN0 ",{'id':1,'op':'Gemm','inputs':[0],'shape':[1,4],'batch_dim':0,'weights':[[4,8]]}]}", 2, "the graph has none", "stack", "decoder_graph");
	refused(HEAD "{'id':0,'op':'Input','inputs':[],'shape':[8,64,512],'batch_dim':0},"
			"{'id':1,'op':'MatMul','inputs':[0],'shape':[8,64,100],'batch_dim':0,'weights':[[8,512,100]]}]}", 2, "the graph has none", "stack", "decoder_graph");
	pm_arena_release(&arena);
	return check_done("experts");
}
