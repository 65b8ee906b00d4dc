/*
 * test_fp8.c - linear layers in 8 bits, by hand.
 */
#include "check.h"
#include "make_graph.h"

#include "change/fp8.h"

static pm_arena arena;
static pm_gpu card = {
	.name = "card", .memory_gb = 24, .mem_bw_gbs = 1000, .fp32_tflops = 10, .fp16_tensor_tflops = 100, .sm_count = 80,
	.cores_per_sm = 64, .clock_ghz = 1.5, .l2_mb = NAN, PM_GPU_REST_UNKNOWN
};

/* Four products of 512 places: 1024 to 2048, back, to 1000 and to 64, the third and the last not in multiples of 16 or behind the layers. */
typedef struct made
{
	pm_skeleton skeleton;
	pm_question question;
	pm_tokens	work;
	pm_part		parts[8];
} made;

static void
make(made *m)
{
	graph_text	t;
	pm_graph   *g = PM_NEW(&arena, pm_graph, 1);
	pm_status	st;

	text_start(&t, "linear", "linear");
	text_node(&t, "'op':'Input','inputs':[],'shape':[1,512,1024],'batch_dim':0");
	text_node(&t, "'op':'MatMul','inputs':[0],'shape':[1,512,2048],'batch_dim':0,'weights':[[1024,2048]]");
	text_node(&t, "'op':'Relu','inputs':[1],'shape':[1,512,2048],'batch_dim':0");
	text_node(&t, "'op':'MatMul','inputs':[2],'shape':[1,512,1000],'batch_dim':0,'weights':[[2048,1000]]");
	text_node(&t, "'op':'MatMul','inputs':[3],'shape':[1,512,64],'batch_dim':0,'weights':[[1000,64]]");
	text_put(&t, "]}");
	memset(m, 0, sizeof(*m));
	if (pm_graph_from_json(t.text, t.len, &arena, g, &st) != PM_OK || pm_skeleton_build(g, true, &arena, &m->skeleton, &st) != PM_OK)
		make_failed("graph", &st);
	free(t.text);
	m->question = (pm_question) {.graph = g,.gpu = &card,.batch = 4,.dtype = PM_AMP,.optimizer = PM_SGD};
	if (pm_tokens_build_work(&m->skeleton, &m->question, &arena, &m->work, &st) != PM_OK)
		make_failed("work", &st);
	for (int i = 0; i < m->work.n; i++)
		m->parts[i] = (pm_part) {i, 10, 3, 6, 1, 'c'};
	m->parts[m->work.n] = (pm_part) {-1, 1, NAN, NAN, NAN, '-'};
}

/* The part of the product to so many columns. */
static pm_part *
part_of(made *m, int columns)
{
	const pm_graph *g = m->skeleton.graph;

	for (int i = 0; i < m->work.n; i++)
	{
		const pm_node *n = &g->nodes[m->skeleton.node[i]];

		if (n->n_weights > 0 && n->shape.dim[n->shape.rank - 1] == columns)
			return &m->parts[i];
	}
	return NULL;
}

/* Casts of 4 bytes an element at 0.8 TB/s; twice 0.95 of the speed. */
static void
test_parts(void)
{
	const double samples = 4 * 512;
	const double cast_ms = 4 * (samples * 1024 + 1024 * 2048 + samples * 2048) / 0.8e9;
	made		m;
	double		sum;

	make(&m);
	sum = pm_fp8_parts(&m.work, &m.question, NULL, 1, m.parts, m.work.n + 1);
	CHECK_NEAR(part_of(&m, 2048)->step_ms, 9 / 1.9 + cast_ms + 1, 1e-9);
	CHECK_NEAR(part_of(&m, 2048)->backward_ms, 2 * part_of(&m, 2048)->forward_ms, 1e-9);
	CHECK_EQ(part_of(&m, 2048)->update_ms, 1);
	/* not a multiple of 16 */
	CHECK_EQ(part_of(&m, 1000)->step_ms, 10);
	CHECK_EQ(part_of(&m, 64)->step_ms, 10);
	CHECK_NEAR(sum, 10 * (m.work.n - 1) + 1 + part_of(&m, 2048)->step_ms, 1e-9);
	/* of four batches, one casts the weights */
	make(&m);
	pm_fp8_parts(&m.work, &m.question, NULL, 4, m.parts, m.work.n + 1);
	CHECK_NEAR(part_of(&m, 2048)->step_ms, 9 / 1.9 + cast_ms - 0.75 * 4 * 1024 * 2048 / 0.8e9 + 1, 1e-9);
	/* a forward pass has cast its weights before, and has no gradients */
	make(&m);
	m.question.mode = PM_INFERENCE;
	*part_of(&m, 2048) = (pm_part) {part_of(&m, 2048)->token, 3, 3, 0, 0, 'c'};
	pm_fp8_parts(&m.work, &m.question, NULL, 1, m.parts, m.work.n + 1);
	CHECK_NEAR(part_of(&m, 2048)->step_ms, 3 / 1.9 + 4 * samples * 1024 / 0.8e9, 1e-9);
}

/* What launches take, what follows the layers, and parts without phases. */
static void
test_rest(void)
{
	made		m;
	float		head[8] = {0};
	double		launches;
	const double *us;

	make(&m);
	launches = 0.005 * m.work.kernels[part_of(&m, 2048)->token];
	*part_of(&m, 2048) = (pm_part) {part_of(&m, 2048)->token, launches, launches / 3, launches * 2 / 3, 0, 'l'};
	card.mem_bw_gbs = 1e7;
	pm_fp8_parts(&m.work, &m.question, NULL, 1, m.parts, m.work.n + 1);
	CHECK_NEAR(part_of(&m, 2048)->step_ms, launches, 1e-12);
	/* what takes a little longer takes no less than its launches */
	make(&m);
	*part_of(&m, 2048) = (pm_part) {part_of(&m, 2048)->token, launches * 1.2, launches * 0.4, launches * 0.8, 0, 'c'};
	pm_fp8_parts(&m.work, &m.question, NULL, 1, m.parts, m.work.n + 1);
	CHECK_NEAR(part_of(&m, 2048)->step_ms, launches, 1e-12);
	card.mem_bw_gbs = 1000;
	make(&m);
	head[part_of(&m, 2048)->token] = 1;
	CHECK_EQ(pm_fp8_parts(&m.work, &m.question, head, 1, m.parts, m.work.n + 1), 10 * m.work.n + 1);
	/* the update has its roofline time */
	make(&m);
	us = m.work.phase_us + 3 * part_of(&m, 2048)->token;
	part_of(&m, 2048)->forward_ms = part_of(&m, 2048)->backward_ms = part_of(&m, 2048)->update_ms = NAN;
	pm_fp8_parts(&m.work, &m.question, NULL, 1000000, m.parts, m.work.n + 1);
	CHECK_NEAR(part_of(&m, 2048)->step_ms, 10 - (10 - us[2] / 1000) * (1 - 1 / 1.9) + 4 * (4 * 512) * (1024 + 2048) / 0.8e9, 1e-6);
	/* small products take longer than before: casts are not free */
	make(&m);
	*part_of(&m, 2048) = (pm_part) {part_of(&m, 2048)->token, 0.03, 0.01, 0.02, 0, 'm'};
	pm_fp8_parts(&m.work, &m.question, NULL, 1, m.parts, m.work.n + 1);
	CHECK(part_of(&m, 2048)->step_ms > 0.03);
}

static void
test_units(void)
{
	pm_gpu		g = card;

	CHECK_EQ(pm_gpu_fp8_units(&g), PM_FP8_UNKNOWN);
	g.compute_capability = 8.6;
	CHECK_EQ(pm_gpu_fp8_units(&g), PM_FP8_NO);
	g.compute_capability = 8.9;
	CHECK_EQ(pm_gpu_fp8_units(&g), PM_FP8_YES);
	g.is_cpu = true;
	CHECK_EQ(pm_gpu_fp8_units(&g), PM_FP8_NO);
	CHECK(pm_is_fp8("FP8") && pm_is_fp8("float8") && pm_is_fp8("transformer-engine") && pm_is_fp8("amp_fp8") && !pm_is_fp8("fp16") && !pm_is_fp8(""));
	CHECK_EQ(pm_dtype_parse("fp8"), -1);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_parts();
	test_rest();
	test_units();
	pm_arena_release(&arena);
	return check_done("fp8");
}
