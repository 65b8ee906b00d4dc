/*
 * test_change.c - changes of a step that are computed from its parts, by hand.
 */
#include "check.h"
#include "make_graph.h"

#include "change/change.h"

static pm_arena arena;
static pm_gpu card = {
	.name = "card", .memory_gb = 24, .mem_bw_gbs = 1000, .fp32_tflops = 10, .fp16_tensor_tflops = 100, .sm_count = 80,
	.cores_per_sm = 64, .clock_ghz = 1.5, .l2_mb = NAN, PM_GPU_REST_UNKNOWN
};

/* A step of a graph whose operators take twice their roofline times, and 1 ms besides. */
typedef struct made
{
	pm_skeleton skeleton;
	pm_question question;
	pm_tokens	work;
	pm_part		parts[64];
	pm_change_of of;
} made;

/* One attention over 64 places of 32 numbers, its scores masked or not; behind it a product with weights, and another unless its attributes are NULL. */
static void
make_with(made *m, const char *between, pm_dtype dtype, pm_optimizer optimizer, const char *attrs, const char *other_attrs)
{
	graph_text	t;
	pm_graph   *g = PM_NEW(&arena, pm_graph, 1);
	pm_status	st;

	text_start(&t, "attention", "attention");
	text_node(&t, "'op':'Input','inputs':[],'shape':[1,64,32],'batch_dim':0");
	text_node(&t, "'op':'Transpose','inputs':[0],'shape':[1,32,64],'batch_dim':0,'attrs':{'perm':[0,2,1]},'view':true");
	text_node(&t, "'op':'MatMul','inputs':[0,1],'shape':[1,64,64],'batch_dim':0");
	text_node(&t, "'op':'%s','inputs':[2],'shape':[1,64,64],'batch_dim':0", between);
	text_node(&t, "'op':'Softmax','inputs':[3],'shape':[1,64,64],'batch_dim':0,'attrs':{'axis':2}");
	text_node(&t, "'op':'MatMul','inputs':[4,0],'shape':[1,64,32],'batch_dim':0");
	text_node(&t, "'op':'MatMul','inputs':[5],'shape':[1,64,1000],'batch_dim':0,'weights':[[32,1000]],'attrs':{%s}", attrs);
	if (other_attrs != NULL)
		text_node(&t, "'op':'MatMul','inputs':[6],'shape':[1,64,1],'batch_dim':0,'weights':[[1000,1]],'attrs':{%s}", other_attrs);
	text_put(&t, "]}");
	memset(m, 0, sizeof(*m));
	if (pm_graph_from_json(t.text, t.len, &arena, g, &st) != PM_OK || pm_skeleton_build(g, true, &arena, &m->skeleton, &st) != PM_OK)
		make_failed("graph", &st);
	free(t.text);
	m->question = (pm_question) {.graph = g,.gpu = &card,.batch = 256,.dtype = dtype,.optimizer = optimizer};
	if (pm_tokens_build_work(&m->skeleton, &m->question, &arena, &m->work, &st) != PM_OK)
		make_failed("work", &st);
	m->of = (pm_change_of) {&m->skeleton, &m->question, &m->work, 1, m->parts, m->work.n + 1};
	for (int i = 0; i < m->work.n; i++)
	{
		m->parts[i] = (pm_part) {i, 2 * m->work.roofline_us[i] * m->skeleton.copies[i] / 1000, NAN, NAN, NAN, m->work.bound[i]};
		m->of.step_ms += m->parts[i].step_ms;
	}
	m->parts[m->work.n] = (pm_part) {-1, 1, NAN, NAN, NAN, '-'};
}

static void
make(made *m, const char *between, pm_dtype dtype, pm_optimizer optimizer)
{
	make_with(m, between, dtype, optimizer, "", NULL);
}

static double
after(const made *m, pm_change change, const pm_gpu *other, double *touched)
{
	pm_status	st;
	double		ms;

	CHECK_EQ(pm_change_step(change, &m->of, other, &arena, &ms, touched, &st), PM_OK);
	return ms;
}

static void
test_flash_attention(void)
{
	static const char *const between[] = {"Div", "aten::masked_fill", "Relu"};

	for (int k = 0; k < 3; k++)
	{
		made		m;
		double		touched;
		double		ms;
		double		written = 0;
		/* 2 products of 2 * 64 * 64 * 32 operations; backward twice, 5 of 4; at half of 100 TFLOP/s */
		double		compute = 256 * 2 * (2.0 * 64 * 64 * 32) * (1 + 2 * 1.25) / 50e9;
		/* query, key, value, output: three times, 2 bytes, at 0.8 of 1000 GB/s */
		double		traffic = 3 * 2 * 4 * (256 * 64 * 32.0) / 800e6;

		make(&m, between[k], PM_AMP, PM_SGD);
		ms = after(&m, PM_CHANGE_FLASH_ATTENTION, NULL, &touched);
		CHECK_EQ(touched, k < 2);
		for (int i = 0; i < m.skeleton.dag.n; i++)
			if (m.skeleton.dag.node[i] >= 2 && m.skeleton.dag.node[i] <= 5)
				written += m.parts[m.skeleton.token_of[i]].step_ms / m.skeleton.copies[m.skeleton.token_of[i]];
		/* the input needs no gradient: the products of the backward pass are those of the rest */
		if (k == 2)
			CHECK_EQ(ms, m.of.step_ms);
		else
			CHECK(ms - m.of.step_ms + written >= traffic && ms - m.of.step_ms + written <= fmax(compute, traffic) + 0.0121);
	}
}

static void
test_fused_optimizer(void)
{
	made		m;
	double		touched;
	pm_gpu		slow = card;

	make(&m, "Div", PM_FP32, PM_ADAM);
	/* 72 - 28 bytes of each of 32,000 parameters */
	CHECK_NEAR(m.of.step_ms - after(&m, PM_CHANGE_FUSED_OPTIMIZER, NULL, &touched), 32000 * 44 / 800e6, 1e-9);
	CHECK_EQ(touched, 32);
	make(&m, "Div", PM_BF16, PM_ADAMW);
	CHECK_NEAR(m.of.step_ms - after(&m, PM_CHANGE_FUSED_OPTIMIZER, NULL, &touched), 32000 * 26 / 800e6, 1e-9);
	make(&m, "Div", PM_FP32, PM_SGD);
	CHECK_EQ(after(&m, PM_CHANGE_FUSED_OPTIMIZER, NULL, &touched), m.of.step_ms);
	CHECK_EQ(touched, 0);
	/* frozen weights have no update */
	make_with(&m, "Div", PM_FP32, PM_ADAM, "'frozen':1", "");
	CHECK_NEAR(m.of.step_ms - after(&m, PM_CHANGE_FUSED_OPTIMIZER, NULL, &touched), 1000 * 44 / 800e6, 1e-9);
	CHECK_EQ(touched, 1);
	make_with(&m, "Div", PM_FP32, PM_ADAM, "'frozen':1", "'frozen':1");
	CHECK_EQ(after(&m, PM_CHANGE_FUSED_OPTIMIZER, NULL, &touched), m.of.step_ms);
	CHECK_EQ(touched, 0);
	/* never more than the update has of the step, however short that is predicted */
	make(&m, "Div", PM_FP32, PM_ADAM);
	for (m.of.step_ms = m.work.total_roofline_us * 10; m.of.step_ms > 1e-9; m.of.step_ms /= 1.3)
	{
		double		saved = m.of.step_ms - after(&m, PM_CHANGE_FUSED_OPTIMIZER, NULL, &touched);

		CHECK(saved >= 0 && saved <= m.of.step_ms * pm_update_share(&m.work) * (1 + 1e-12));
	}
	/* never below the roofline of what is left */
	make(&m, "Div", PM_FP32, PM_ADAM);
	m.of.step_ms = m.work.total_roofline_us / 1000;
	CHECK_NEAR(after(&m, PM_CHANGE_FUSED_OPTIMIZER, &slow, &touched), m.of.step_ms - 32000 * 44 / 1000e6, 1e-9);
}

static void
test_figures(void)
{
	made		m;
	double		touched;
	double		ms;
	pm_gpu		other = card;
	pm_status	st;

	make(&m, "Div", PM_FP32, PM_SGD);
	CHECK_NEAR(after(&m, PM_CHANGE_FIGURES, &card, &touched), m.of.step_ms, 1e-9);
	CHECK_EQ(touched, m.skeleton.dag.n);
	other.mem_bw_gbs *= 2;
	ms = after(&m, PM_CHANGE_FIGURES, &other, &touched);
	CHECK(ms < m.of.step_ms && ms >= 1 + (m.of.step_ms - 1) / 2 - 1e-9);
	/* a thousand times as good: what is left are launches and what belongs to no operator */
	other.mem_bw_gbs *= 500;
	other.fp32_tflops *= 1000;
	ms = after(&m, PM_CHANGE_FIGURES, &other, &touched);
	CHECK(ms >= 1 && ms <= 1 + m.work.n_kernels * 0.004 + (m.of.step_ms - 1) / 1000 + 1e-9);
	other.mem_bw_gbs = card.mem_bw_gbs / 2;
	other.fp32_tflops = card.fp32_tflops / 2;
	CHECK_NEAR(after(&m, PM_CHANGE_FIGURES, &other, &touched), 1 + 2 * (m.of.step_ms - 1), 1e-6);
	other.mem_bw_gbs = NAN;
	CHECK_EQ(pm_change_step(PM_CHANGE_FIGURES, &m.of, &other, &arena, &ms, &touched, &st), PM_ERR_INPUT);
}

/* The parts of a step on one device after a change, for a step on several. */
static void
test_shape(void)
{
	const pm_step_shape before = {
		.n = 2, .step_ms = 100, .forward_ms = 30, .backward_ms = 60, .update_ms = 10, .head_ms = 8, .undivided_ms = 4, .again_ms = 20, .core_ms = 6, .core_launch_ms = 1,
		.bucket_ms = {20, 40}
	};

	for (int c = 0; c < PM_N_CHANGES; c++)
		for (int ms = 5; ms <= 200; ms += 15)
		{
			pm_step_shape s = before;

			pm_change_shape((pm_change) c, ms, &s);
			CHECK_EQ(s.step_ms, ms);
			CHECK_NEAR(s.forward_ms + s.backward_ms + s.update_ms, ms, 1e-9);
			CHECK_NEAR(s.bucket_ms[0] + s.bucket_ms[1], s.backward_ms, 1e-9);
			CHECK(s.update_ms >= 0 && s.forward_ms >= 0);
			if (c == PM_CHANGE_FUSED_OPTIMIZER && ms >= 90)
				CHECK_NEAR(s.backward_ms, 60, 1e-9);
			if (c == PM_CHANGE_FLASH_ATTENTION && ms >= 10)
				CHECK_EQ(s.update_ms, 10);
			/* what is computed again is of the layers, 82 ms before: the head has 8 of both passes */
			if (c == PM_CHANGE_FLASH_ATTENTION && ms >= 20)
				CHECK_NEAR(s.again_ms, 20 * (ms - 18) / 82.0, 1e-9);
			if (c == PM_CHANGE_FUSED_OPTIMIZER && ms >= 90)
				CHECK_EQ(s.again_ms, 20);
			CHECK(s.again_ms >= 0);
			/* one kernel computes no scores again */
			if (c == PM_CHANGE_FLASH_ATTENTION)
				CHECK(s.core_ms == 0 && s.core_launch_ms == 0);
			if (c == PM_CHANGE_FUSED_OPTIMIZER && ms >= 90)
				CHECK_EQ(s.core_ms, 6);
			if (c == PM_CHANGE_FIGURES)
			{
				CHECK_NEAR(s.head_ms / s.update_ms, 0.8, 1e-9);
				CHECK_NEAR(s.again_ms / s.update_ms, 2, 1e-9);
				CHECK_NEAR(s.core_ms / s.update_ms, 0.6, 1e-9);
			}
		}
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_flash_attention();
	test_fused_optimizer();
	test_figures();
	test_shape();
	pm_arena_release(&arena);
	return check_done("change");
}
