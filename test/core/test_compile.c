/*
 * test_compile.c - operators that are fused, by hand.
 */
#include "check.h"
#include "make_graph.h"

#include "change/compile.h"

static pm_arena arena;
static pm_gpu card = {
	.name = "card", .memory_gb = 24, .mem_bw_gbs = 1000, .fp32_tflops = 10, .fp16_tensor_tflops = 100, .sm_count = 80,
	.cores_per_sm = 64, .clock_ghz = 1.5, .l2_mb = NAN, PM_GPU_REST_UNKNOWN
};

#define X	"'shape':[1,512,1024],'batch_dim':0"
#define W	"'weights':[[1024,1024]]"

typedef struct made
{
	pm_skeleton skeleton;
	pm_question question;
	pm_tokens	work;
	pm_part		parts[32];
	double		sum;
} made;

/* So slow that bytes take all of the time; else launches have the rest. */
#define SLOW	0.5

/* The graph of these nodes, whose parts each take 3 ms forward, 6 backward and 1 for the update, compiled. */
static void
compile(made *m, pm_dtype dtype, const char *const *nodes)
{
	graph_text	t;
	pm_graph   *g = PM_NEW(&arena, pm_graph, 1);
	pm_status	st;

	text_start(&t, "chain", "chain");
	text_node(&t, "'op':'Input','inputs':[]," X);
	for (; *nodes != NULL; nodes++)
		text_node(&t, "%s", *nodes);
	text_put(&t, "]}");
	memset(m, 0, sizeof(*m));
	if (pm_graph_from_json(t.text, t.len, &arena, g, &st) != PM_OK || pm_skeleton_build(g, false, &arena, &m->skeleton, &st) != PM_OK)
		make_failed("graph", &st);
	free(t.text);
	m->question = (pm_question) {.graph = g,.gpu = &card,.batch = 4,.dtype = dtype,.optimizer = PM_SGD};
	if (pm_tokens_build_work(&m->skeleton, &m->question, &arena, &m->work, &st) != PM_OK)
		make_failed("work", &st);
	for (int i = 0; i < m->work.n; i++)
		m->parts[i] = (pm_part) {i, 10, 3, 6, 1, 'm'};
	m->parts[m->work.n] = (pm_part) {-1, 2, NAN, NAN, NAN, '-'};
	if (pm_compile_parts(&m->work, &m->question, &arena, m->parts, m->work.n + 1, &m->sum, &st) != PM_OK)
		make_failed("parts", &st);
}

/* The part of node `id`. */
static const pm_part *
part_of(const made *m, int id)
{
	for (int i = 0; i < m->work.n; i++)
		if (m->skeleton.node[i] == id)
			return &m->parts[i];
	return NULL;
}

#define NODES(...) (const char *const[]) {__VA_ARGS__, NULL}

/* Two operators read and write twice forward, and six times backward: their kernel twice and three times. */
static void
test_chain(void)
{
	made		m;

	compile(&m, PM_FP32, NODES("'op':'MatMul','inputs':[0]," X "," W, "'op':'Relu','inputs':[1]," X, "'op':'Gelu','inputs':[2]," X, "'op':'MatMul','inputs':[3]," X "," W));
	CHECK_NEAR(part_of(&m, 2)->forward_ms, 1.5, 1e-9);
	CHECK_NEAR(part_of(&m, 2)->backward_ms, 3, 1e-9);
	CHECK_NEAR(part_of(&m, 2)->step_ms, 5.5, 1e-9);
	CHECK_NEAR(part_of(&m, 3)->step_ms, 5.5, 1e-9);
	CHECK_EQ(part_of(&m, 1)->step_ms, 10);
	CHECK_NEAR(m.sum, 2 * 10 + 2 * 5.5 + 2, 1e-9);
	/* alone, an operator stays what it is */
	compile(&m, PM_FP32, NODES("'op':'MatMul','inputs':[0]," X "," W, "'op':'Relu','inputs':[1]," X, "'op':'MatMul','inputs':[2]," X "," W));
	CHECK_EQ(m.sum, 32);
}

/* What is added behind a product that reads it, is no part of the same kernel: it would have to wait for itself. */
static void
test_residual(void)
{
	made		m;

	compile(&m, PM_FP32, NODES("'op':'MatMul','inputs':[0]," X "," W, "'op':'Relu','inputs':[1]," X, "'op':'MatMul','inputs':[2]," X "," W, "'op':'Add','inputs':[3,2]," X,
			 "'op':'MatMul','inputs':[4]," X "," W));
	CHECK_EQ(part_of(&m, 2)->forward_ms, 3);
	CHECK_EQ(part_of(&m, 4)->forward_ms, 3);
	/* without the product between, it is, and the sum reads one tensor less: 2 of 5 */
	compile(&m, PM_FP32, NODES("'op':'MatMul','inputs':[0]," X "," W, "'op':'Relu','inputs':[1]," X, "'op':'Add','inputs':[1,2]," X, "'op':'MatMul','inputs':[3]," X "," W));
	CHECK_NEAR(part_of(&m, 3)->forward_ms, 3 * 2 / 5.0, 1e-9);
}

/* Who reads a mean waits for it, and reads again what the mean was of. */
static void
test_reduction(void)
{
	made		m;

	compile(&m, PM_FP32, NODES("'op':'MatMul','inputs':[0]," X "," W, "'op':'Relu','inputs':[1]," X, "'op':'ReduceMean','inputs':[2],'shape':[1,512,1],'batch_dim':0",
			 "'op':'Sigmoid','inputs':[3],'shape':[1,512,1],'batch_dim':0", "'op':'Mul','inputs':[2,4]," X, "'op':'MatMul','inputs':[5]," X "," W));
	/* one kernel reads a tensor and writes it and its mean, in place of three passes */
	CHECK_NEAR(part_of(&m, 2)->forward_ms, 3 * (2 + 1 / 1024.0) / (3 + 1 / 1024.0), 1e-9);
	CHECK_NEAR(part_of(&m, 3)->forward_ms, part_of(&m, 2)->forward_ms, 1e-9);
	/* the other reads the tensor and the mean: the sigmoid stays between */
	CHECK_NEAR(part_of(&m, 5)->forward_ms, 3 * (2 + 1 / 1024.0) / (2 + 3 / 1024.0), 1e-9);
}

/* Statistics over the batch are read a second time, but not in inference. */
static void
test_statistics(void)
{
	made		m;

	compile(&m, PM_FP32, NODES("'op':'Conv','inputs':[0]," X ",'weights':[[512,512,1]],'attrs':{'kernel_shape':[1]}", "'op':'BatchNormalization','inputs':[1]," X ",'weights':[[512],[512]]",
			 "'op':'Relu','inputs':[2]," X, "'op':'Conv','inputs':[3]," X ",'weights':[[512,512,1]],'attrs':{'kernel_shape':[1]}"));
	CHECK_NEAR(part_of(&m, 3)->forward_ms, 3 * 3 / 5.0, 1e-3);
	CHECK_NEAR(part_of(&m, 3)->backward_ms, 6 * 5 / 8.0, 1e-3);
}

/* With autocast, a norm writes for a product in 16 bits, and no copy is made beside the product. */
static void
test_casts(void)
{
	const double tensor_ms = 4 * 512 * 1024 * 4 / 0.8e9;
	made		m;
	made		whole;

	card.mem_bw_gbs = 1000;
	compile(&m, PM_AMP, NODES("'op':'MatMul','inputs':[0]," X "," W, "'op':'LayerNormalization','inputs':[1]," X ",'weights':[[1024],[1024]]", "'op':'MatMul','inputs':[2]," X "," W));
	CHECK_NEAR(part_of(&m, 3)->forward_ms, 3 - 1.5 * tensor_ms, 1e-9);
	CHECK_NEAR(part_of(&m, 3)->backward_ms, 6 - 1.5 * tensor_ms, 1e-9);
	compile(&whole, PM_BF16, NODES("'op':'MatMul','inputs':[0]," X "," W, "'op':'LayerNormalization','inputs':[1]," X ",'weights':[[1024],[1024]]", "'op':'MatMul','inputs':[2]," X "," W));
	CHECK_EQ(part_of(&whole, 3)->forward_ms, 3);
	/* the norm reads 2 bytes and writes 2 in place of 4, but copies take no more than half of a product's time */
	card.mem_bw_gbs = SLOW;
	compile(&m, PM_AMP, NODES("'op':'MatMul','inputs':[0]," X "," W, "'op':'LayerNormalization','inputs':[1]," X ",'weights':[[1024],[1024]]", "'op':'MatMul','inputs':[2]," X "," W));
	CHECK(part_of(&m, 2)->forward_ms < 3 * 0.7);
	CHECK_EQ(part_of(&m, 3)->forward_ms, 1.5);
}

/* What a kernel reads of the graph's input counts as any other tensor: an operator alone stays what it is. */
static void
test_input(void)
{
	made		m;

	compile(&m, PM_FP32, NODES("'op':'Relu','inputs':[0]," X));
	CHECK_EQ(part_of(&m, 1)->forward_ms, 3);
	compile(&m, PM_FP32, NODES("'op':'Relu','inputs':[0]," X, "'op':'Add','inputs':[0,1]," X));
	CHECK_NEAR(part_of(&m, 1)->forward_ms, 3 * 2 / 5.0, 1e-9);
}

/* Where bytes take no time, kernels do: two become one, whatever the batch. */
static void
test_launches(void)
{
	made		m;

	card.mem_bw_gbs = 1e7;
	compile(&m, PM_FP32, NODES("'op':'MatMul','inputs':[0]," X "," W, "'op':'Relu','inputs':[1]," X, "'op':'Gelu','inputs':[2]," X, "'op':'MatMul','inputs':[3]," X "," W));
	CHECK_NEAR(part_of(&m, 2)->forward_ms, 1.5, 1e-3);
	CHECK_NEAR(part_of(&m, 3)->backward_ms, 3, 1e-3);
	compile(&m, PM_FP32, NODES("'op':'Conv','inputs':[0]," X ",'weights':[[512,512,1]],'attrs':{'kernel_shape':[1]}", "'op':'BatchNormalization','inputs':[1]," X ",'weights':[[512],[512]]",
			 "'op':'Relu','inputs':[2]," X, "'op':'Conv','inputs':[3]," X ",'weights':[[512,512,1]],'attrs':{'kernel_shape':[1]}"));
	/* a kernel for the statistics, and one for the rest, in place of three; and as many backward as before */
	CHECK_NEAR(part_of(&m, 3)->forward_ms, 2, 1e-3);
	CHECK_NEAR(part_of(&m, 3)->backward_ms, 6, 1e-3);
	card.mem_bw_gbs = SLOW;
}

/* Parts without phases shrink as their work says, and never below 0. */
static void
test_phases(void)
{
	const char *const nodes[] = {"'op':'MatMul','inputs':[0]," X "," W, "'op':'Relu','inputs':[1]," X, "'op':'Gelu','inputs':[2]," X, "'op':'MatMul','inputs':[3]," X "," W, NULL};
	made		m;
	pm_part		part = {0, 10, NAN, NAN, NAN, 'm'};
	pm_status	st;
	double		sum;

	compile(&m, PM_FP32, nodes);
	part.token = part_of(&m, 2)->token;
	CHECK_EQ(pm_compile_parts(&m.work, &m.question, &arena, &part, 1, &sum, &st), PM_OK);
	CHECK_NEAR(part.step_ms, 5, 1e-3);
	CHECK_EQ(sum, part.step_ms);
	part = (pm_part) {part_of(&m, 1)->token, 0, 0, 0, 0, 'm'};
	CHECK_EQ(pm_compile_parts(&m.work, &m.question, &arena, &part, 1, &sum, &st), PM_OK);
	CHECK_EQ(sum, 0);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	card.mem_bw_gbs = SLOW;
	test_chain();
	test_residual();
	test_reduction();
	test_statistics();
	test_casts();
	test_input();
	test_launches();
	test_phases();
	pm_arena_release(&arena);
	return check_done("compile");
}
