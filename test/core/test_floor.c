/*
 * test_floor.c - no operator on a GPU takes less time than the device can do with, whatever was measured.
 */
#include "kind_rules.h"

#include "features/rates.h"
#include "kinds/mdot/heads.h"
#include "kinds/mdot/mdot.h"
#include "kinds/opclass/opclass.h"
#include "predictor/parts.h"

#define TRIALS	200

/*
 * Three parts of a step, of 1, 4.5 and 3 ms.  The first is of two copies of an operator that take 1 ms each at least, the second of one
 * that takes half a millisecond; the third is the rest.  So the first lacks 1 ms, which the 4 and 3 ms that the others are above give.
 */
static void
test_parts(void)
{
	double		copies[] = {2, 1};
	double		floor_us[] = {1000, 500};
	pm_skeleton s = {.n = 2,.copies = copies};
	pm_tokens	work = {.n = 2,.skeleton = &s,.floor_us = floor_us};
	pm_part		parts[] = {{0, 1, 0.25, 0.5, 0.25, 'c'}, {1, 4.5, 1.5, 3, 0, 'c'}, {-1, 3, 1, 2, 0, '-'}};
	double		step_ms = 8.5;

	pm_parts_hold(&work, parts, 3);
	CHECK_NEAR(parts[0].step_ms, 2, 1e-12);
	CHECK_NEAR(parts[1].step_ms, 0.5 + 4 * 6 / 7.0, 1e-12);
	CHECK_NEAR(parts[2].step_ms, 3 * 6 / 7.0, 1e-12);
	/* each keeps the shares of its passes and of its update */
	CHECK_NEAR(parts[0].forward_ms, 0.5, 1e-12);
	CHECK_NEAR(parts[0].backward_ms, 1, 1e-12);
	CHECK_NEAR(parts[0].update_ms, 0.5, 1e-12);
	CHECK_NEAR(parts[2].forward_ms, 6 / 7.0, 1e-12);
	/* a step twice as long has all parts twice as long */
	pm_parts_become(17, &step_ms, parts, 3);
	CHECK_EQ(step_ms, 17);
	CHECK_NEAR(parts[0].step_ms, 4, 1e-12);
	CHECK_NEAR(parts[0].update_ms, 1, 1e-12);
	CHECK_NEAR(parts[2].backward_ms, 2 * 2 * 6 / 7.0, 1e-12);
	/* a sum that is too small for the least of all stays as it is */
	parts[0].step_ms = parts[1].step_ms = parts[2].step_ms = 0.1;
	pm_parts_hold(&work, parts, 3);
	CHECK_EQ(parts[0].step_ms, 0.1);
}

/* Steps that no card of these figures could have. */
static double
too_fast(const pm_tokens *t)
{
	return t->total_roofline_us / 1000 / 30;
}

static void
test_held_above(void)
{
	CHECK(pm_held_above(3, 0, NULL) == 3 && pm_held_above(0, 0, NULL) == 0);
	CHECK_NEAR(pm_held_above(0, 5, NULL), 5, 1e-12);
	CHECK_NEAR(pm_held_above(1, 1, NULL), pow(2, 0.125), 1e-12);
	for (double x = 0.25; x < 8; x *= 1.3)
		for (double least = 0; least < 8; least += 0.7)
		{
			double		slope;
			double		held = pm_held_above(x, least, &slope);
			double		step = 1e-6 * x;

			CHECK(held >= x && held >= least);
			CHECK_NEAR((pm_held_above(x + step, least, NULL) - pm_held_above(x - step, least, NULL)) / (2 * step), slope, 1e-7);
			CHECK(pm_held_above(x, least + 0.1, NULL) >= held);
		}
}

/* Many tokens at once have the times of one after the other, with and without a floor and factors, on GPUs and CPUs. */
static void
test_many_tokens(pm_rng *rng)
{
	enum {MOST = 130};
	double		time[MOST],
				launch_us[MOST],
				floor_us[MOST],
				factor[MOST],
				want[MOST];

	for (int trial = 0; trial < TRIALS; trial++)
	{
		int			n = trial % (MOST + 1);
		bool		floored = trial % 2 == 0,
					scaled = trial % 3 == 0,
					in_turn = trial % 4 == 1;

		for (int i = 0; i < n; i++)
		{
			time[i] = i % 7 == 0 ? 0 : exp(20 * pm_rng_uniform(rng) - 8);
			launch_us[i] = i % 5 == 0 ? 0 : 20 * pm_rng_uniform(rng);
			floor_us[i] = i % 3 == 0 ? 0 : time[i] * 2 * pm_rng_uniform(rng);
			factor[i] = exp(pm_rng_uniform(rng));
			want[i] = pm_mdot_token_us(pm_held_above(time[i], floored ? floor_us[i] : 0, NULL) * (scaled ? factor[i] : 1), launch_us[i],
									   in_turn);
		}
		pm_mdot_tokens_us(n, time, launch_us, floored ? floor_us : NULL, scaled ? factor : NULL, in_turn);
		for (int i = 0; i < n; i++)
			CHECK(time[i] == want[i]);
	}
}

/*
 * What a card computes is never below its peak, and no less in a format of fewer bits; of matrix products in 16 bits it is the peak,
 * unless the lanes for FP32 do more.
 */
static void
test_most(pm_rng *rng)
{
	for (int i = 0; i < TRIALS; i++)
	{
		pm_gpu		gpu = test_gpu;

		gpu.fp32_tflops = exp(6 * pm_rng_uniform(rng));
		gpu.fp16_tensor_tflops = i % 3 == 0 ? NAN : gpu.fp32_tflops * (1 + 9 * pm_rng_uniform(rng));
		gpu.compute_capability = i % 4 == 0 ? NAN : 5 + 5 * pm_rng_uniform(rng);
		for (int f = 0; f < PM_N_DTYPES; f++)
		{
			CHECK(pm_gpu_most(&gpu, f, true, true) > pm_gpu_peak(&gpu, f, true));
			CHECK(pm_gpu_most(&gpu, f, true, false) >= pm_gpu_peak(&gpu, f, true));
			CHECK(pm_gpu_most(&gpu, f, true, false) <= pm_gpu_most(&gpu, f, true, true));
		}
		for (int convolution = 0; convolution < 2; convolution++)
			CHECK(pm_gpu_most(&gpu, PM_TF32, true, convolution) >= pm_gpu_most(&gpu, PM_FP32, true, convolution) * (1 - 1e-12));
		if (gpu.fp16_tensor_tflops > 3 * gpu.fp32_tflops && gpu.compute_capability >= 8)
			CHECK_EQ(pm_gpu_most(&gpu, PM_BF16, true, false), 1e12 * gpu.fp16_tensor_tflops);
	}
}

/* By hand, of a card with 36 TFLOPS in FP32 and 80 on matrix units in 16 bits, 40 in TF32: a cool one is 1.15 times as fast. */
static void
test_most_by_hand(void)
{
	pm_gpu		gpu = {.fp32_tflops = 36, .fp16_tensor_tflops = 80, .fp16_tflops = 36, .compute_capability = 8.6};

	CHECK_NEAR(pm_gpu_most(&gpu, PM_FP32, true, false) / 1e12, 36 * 1.15, 1e-9);
	CHECK_NEAR(pm_gpu_most(&gpu, PM_FP16, true, true) / 1e12, 80 * 1.15, 1e-9);
	CHECK_NEAR(pm_gpu_most(&gpu, PM_TF32, true, true) / 1e12, 40 * 1.15, 1e-9);
	/* no product is surely faster than matrix units by their sheet, unless the lanes are */
	CHECK_NEAR(pm_gpu_most(&gpu, PM_FP16, true, false) / 1e12, 80, 1e-9);
	CHECK_NEAR(pm_gpu_most(&gpu, PM_TF32, true, false) / 1e12, 36 * 1.15, 1e-9);
	/* of cards by others, lanes may do two operations at once */
	gpu.compute_capability = NAN;
	CHECK_NEAR(pm_gpu_most(&gpu, PM_FP32, true, false) / 1e12, 36 * 2 * 1.15, 1e-9);
	CHECK_NEAR(pm_gpu_most(&gpu, PM_TF32, true, false) / 1e12, 36 * 2 * 1.15, 1e-9);
}

/* Arithmetic and traffic of a token by hand, on a card without a cache and at a batch that no cache matters for. */
static void
test_floor_of_tokens(void)
{
	pm_dataset	d = make_dataset(3, 1, true, too_fast, &arena);
	pm_gpu		gpu = test_gpu;

	gpu.l2_mb = NAN;
	for (int s = 0; s < d.n; s++)
	{
		pm_question q = d.samples[s].query;
		pm_tokens	t;

		q.gpu = &gpu;
		q.batch = 64;
		CHECK(pm_tokens_build(d.samples[s].skeleton, &q, &arena, &t, NULL) == PM_OK);
		for (int i = 0; i < t.n; i++)
			CHECK(t.floor_us[i] <= (t.phase_us[3 * i] + t.phase_us[3 * i + 1]) * (1 + 1e-12) && t.floor_us[i] > 0);
		q.framework = "tensorflow xla";
		CHECK(pm_tokens_rework(&t, &q, NULL) == PM_OK);
		for (int i = 0; i < t.n; i++)
			CHECK(t.op_class[i] != PM_CLASS_ELEMENTWISE || t.floor_us[i] < 0.1 * t.memory_us[i]);
		gpu.is_cpu = true;
		CHECK(pm_tokens_rework(&t, &q, NULL) == PM_OK);
		for (int i = 0; i < t.n; i++)
			CHECK(t.floor_us[i] == 0);
		gpu.is_cpu = false;
	}
}

/* The arithmetic of a convolution over what its floor leaves time for on a card, at a batch that hides its traffic. */
static double
speedup_of(const char *op, const char *weights, const char *attrs, const char *shape)
{
	graph_text	t;
	pm_graph   *g;
	pm_sample	s;
	pm_tokens	tokens;

	text_start(&t, "conv", "conv");
	text_node(&t, "'op':'Input','inputs':[],'shape':%s,'batch_dim':0", shape);
	text_node(&t, "'op':'%s','inputs':[0],'shape':%s,'batch_dim':0,'weights':[%s],'attrs':{%s}", op, shape, weights, attrs);
	g = text_finish(&t, &arena);
	s = make_sample(g, make_skeleton(g, true, &arena), 64, 1);
	s.query.optimizer = PM_OPT_NONE;
	CHECK(pm_tokens_build(s.skeleton, &s.query, &arena, &tokens, NULL) == PM_OK);
	CHECK_EQ(tokens.n, 1);
	return 1e6 * tokens.flops[0] / pm_gpu_most(&test_gpu, s.query.dtype, true, true) / tokens.floor_us[0];
}

/* Winograd's algorithm needs fewer multiplications; libraries have it for some convolutions only. */
static void
test_fast_algorithms(void)
{
	static const char plane[] = "[1,512,16,16]";
	static const char kernel[] = "'kernel_shape':[3,3],'pads':[1,1]";
	char		attrs[128];

	CHECK_NEAR(speedup_of("Conv", "[512,512,3,3]", kernel, plane), 2.25, 0.01);
	CHECK_NEAR(speedup_of("ConvTranspose", "[512,512,3,3]", kernel, plane), 2.25, 0.01);
	CHECK_NEAR(speedup_of("Conv", "[512,512,5,5]", "'kernel_shape':[5,5],'pads':[2,2]", plane), 2.25, 0.01);
	CHECK_NEAR(speedup_of("Conv", "[512,512,1,1]", "'kernel_shape':[1,1]", plane), 1, 0.01);
	CHECK_NEAR(speedup_of("Conv", "[512,512,1,7]", "'kernel_shape':[1,7],'pads':[0,3]", plane), 1, 0.01);
	CHECK_NEAR(speedup_of("Conv", "[512,512,3,3]", "'kernel_shape':[3,3],'pads':[12,12],'dilations':[12,12]", plane), 1, 0.01);
	CHECK_NEAR(speedup_of("Conv", "[512,512,3,3]", "'kernel_shape':[3,3],'pads':[9,9],'strides':[2,2]", plane), 1, 0.01);
	snprintf(attrs, sizeof(attrs), "%s,'group':2", kernel);
	CHECK_NEAR(speedup_of("Conv", "[512,256,3,3]", attrs, plane), 1, 0.01);
	CHECK_NEAR(speedup_of("Conv", "[512,512,3,3,3]", "'kernel_shape':[3,3,3],'pads':[1,1,1]", "[1,512,8,8,8]"), 1, 0.01);
}

/* Operators that p predicts to be faster than their floors, over random cards, batches and formats. */
static int
operators_below(const pm_predictor *p, const pm_dataset *d, pm_rng *rng)
{
	int			below = 0;

	for (int k = 0; k < TRIALS; k++)
	{
		pm_sample	s = d->samples[k % d->n];
		pm_gpu		gpu = test_gpu;
		pm_arena	scratch;
		pm_part    *parts;
		pm_tokens	t;
		double		ms;
		int			n = 0;

		gpu.name = k % 2 == 0 ? test_gpu.name : "Test 2000";
		gpu.fp32_tflops *= exp(2 * pm_rng_uniform(rng) - 1);
		gpu.mem_bw_gbs *= exp(2 * pm_rng_uniform(rng) - 1);
		s.query.gpu = &gpu;
		s.query.batch = (int64_t) exp(8 * pm_rng_uniform(rng));
		s.query.dtype = (pm_dtype) (k % 3);
		pm_arena_init_malloc(&scratch);
		parts = PM_NEW(&scratch, pm_part, s.skeleton->n + 1);
		CHECK(pm_predictor_predict(p, &s, &scratch, &ms, parts, &n, NULL) == PM_OK);
		CHECK(pm_tokens_build(s.skeleton, &s.query, &scratch, &t, NULL) == PM_OK);
		for (int i = 0; i < n; i++)
			below += parts[i].token >= 0 &&
				parts[i].step_ms < t.skeleton->copies[parts[i].token] * t.floor_us[parts[i].token] / 1000 * (1 - 1e-9);
		pm_arena_release(&scratch);
	}
	return below;
}

static void
test_mdot_floor(pm_rng *rng)
{
	const pm_setting quick[] = {NUMBER("epochs", 20), NUMBER("d_model", 16), NUMBER("d_operator", 8), NUMBER("calibration_folds", 0),
		NUMBER("base_share", 0), {.name = "floor", .number = 1, .is_bool = true}};
	pm_dataset	d = make_dataset(12, 2, true, too_fast, &arena);
	pm_setting	without[6];
	pm_predictor p = make_predictor("mdot", quick, 6, &d, &arena);

	CHECK_EQ(operators_below(&p, &d, rng), 0);
	memcpy(without, quick, sizeof(quick));
	without[4].number = 0.5;
	p = make_predictor("mdot", without, 6, &d, &arena);
	CHECK_EQ(operators_below(&p, &d, rng), 0);
	without[4].number = 0;
	without[5].number = 0;
	p = make_predictor("mdot", without, 6, &d, &arena);
	CHECK(operators_below(&p, &d, rng) > 100);
}

/* Coefficients, with the factors of the card, of matrix products and of operators that only move memory. */
static void
test_opclass_bounds(bool floor)
{
	const pm_setting settings[] = {NUMBER("calibration_folds", 0), {.name = "floor", .number = floor, .is_bool = true}};
	pm_dataset	d = make_dataset(24, 3, true, too_fast, &arena);
	pm_predictor p = make_predictor("opclass", settings, 2, &d, &arena);
	int			below = 0;

	for (int s = 0; s < d.n; s++)
	{
		const pm_question *q = &d.samples[s].query;
		pm_opclass_rates r = pm_opclass_rates_of(&p, q);
		pm_tokens	t;

		CHECK(pm_tokens_build(d.samples[s].skeleton, q, &arena, &t, NULL) == PM_OK);
		for (int i = 0; i < t.n; i++)
		{
			double		coef[PM_N_TERMS];

			pm_opclass_coefs_of(&r, &t, i, coef);
			if (t.op_class[i] == PM_CLASS_GEMM)
				below += coef[PM_TERM_COMPUTE] * r.cards.compute[PM_CARD_REST] < 0.74;
			if (t.op_class[i] == PM_CLASS_NORM || t.op_class[i] == PM_CLASS_ELEMENTWISE)
				below += coef[PM_TERM_MEMORY] * r.cards.memory[PM_CARD_REST] < 0.99;
		}
	}
	CHECK(floor ? below == 0 : below > 100);
}

/* Steps that take less than the floors of their operators by p, a predictor of kind opclass: over cards of other figures, at large batches. */
static int
steps_below(const pm_predictor *p, const pm_dataset *d)
{
	int			below = 0;

	for (int s = 0; s < d->n; s++)
		for (double peak = 0.3; peak < 4; peak *= 1.5)
		{
			pm_sample	q = d->samples[s];
			pm_gpu		gpu = test_gpu;
			pm_part    *parts = PM_NEW(&arena, pm_part, q.skeleton->n + 1);
			pm_tokens	t;
			double		ms;
			double		sum = 0;
			double		least = 0;
			int			n;

			gpu.fp32_tflops *= peak;
			q.query.gpu = &gpu;
			q.query.batch *= 64;
			CHECK(pm_predictor_predict(p, &q, &arena, &ms, parts, &n, NULL) == PM_OK);
			CHECK(pm_tokens_build(q.skeleton, &q.query, &arena, &t, NULL) == PM_OK);
			for (int i = 0; i < t.n; i++)
				least += t.skeleton->copies[i] * t.floor_us[i] / 1000;
			for (int i = 0; i < n; i++)
				sum += parts[i].step_ms;
			CHECK_NEAR(sum / ms, 1, 1e-9);
			below += ms < least * (1 - 1e-9);
		}
	return below;
}

static void
test_opclass_floor(void)
{
	pm_dataset	d = make_dataset(24, 3, true, too_fast, &arena);

	for (int floor = 0; floor < 2; floor++)
	{
		const pm_setting settings[] = {NUMBER("calibration_folds", 0), {.name = "floor", .number = floor, .is_bool = true}};
		pm_predictor p = make_predictor("opclass", settings, 2, &d, &arena);

		CHECK_EQ(steps_below(&p, &d) == 0, floor);
	}
}

/* A small tensor's update is launches, a large one's traffic. */
static void
test_bounded_update(void)
{
	CHECK_NEAR(pm_opclass_bounded_update(0.003, 1), 0.009, 1e-9);
	CHECK_NEAR(pm_opclass_bounded_update(3, 100), 4.06, 1e-9);
	CHECK_NEAR(pm_opclass_bounded_update(3, 1), 4, 1e-9);
	CHECK_NEAR(pm_opclass_bounded_update(3, 4.02), 4.02, 1e-9);
	for (double traffic_ms = 1e-4; traffic_ms < 100; traffic_ms *= 1.1)
		CHECK(pm_opclass_bounded_update(1.1 * traffic_ms, INFINITY) > pm_opclass_bounded_update(traffic_ms, INFINITY));
}

/* What the update of s takes by p, over its traffic at the bandwidth. */
static double
update_over_traffic(const pm_predictor *p, pm_sample s, pm_optimizer optimizer)
{
	pm_tokens	t;
	double		ms[2];
	double		traffic_ms = 0;

	s.query.optimizer = optimizer;
	CHECK(pm_tokens_build(s.skeleton, &s.query, &arena, &t, NULL) == PM_OK);
	for (int i = 0; i < t.n; i++)
		traffic_ms += t.skeleton->copies[i] * t.phase_us[3 * i + 2] / 1000;
	for (int k = 0; k < 2; k++)
	{
		s.query.optimizer = k == 0 ? PM_OPT_NONE : optimizer;
		CHECK(pm_predictor_predict(p, &s, &arena, &ms[k], NULL, NULL, NULL) == PM_OK);
	}
	return (ms[1] - ms[0]) / traffic_ms;
}

/* Let the coefficient of the update be that. */
static void
set_update(const pm_predictor *p, double coef)
{
	const pm_opclass *m = p->impl;

	for (int i = 0; i < m->n; i++)
		m->strata[i].by_class[PM_TERM_UPDATE(PM_N_OPCLASSES)] = m->strata[i].by_type[PM_TERM_UPDATE(m->n_types)] = coef;
}

/*
 * Rows without an update say nothing of one, which takes its traffic all the same; but not where it is fused, or cached.
 * Its arithmetic counts besides.
 */
static void
test_opclass_update(void)
{
	const pm_setting settings[] = {NUMBER("calibration_folds", 0)};
	pm_dataset	d = make_dataset(24, 3, true, too_fast, &arena);
	pm_predictor p;
	pm_gpu		cpu = test_gpu;

	for (int i = 0; i < d.n; i++)
		d.samples[i].query.optimizer = PM_OPT_NONE;
	p = make_predictor("opclass", settings, 1, &d, &arena);
	/* as few rows with an update and without leave it */
	set_update(&p, 100);
	CHECK_NEAR(update_over_traffic(&p, d.samples[0], PM_ADAMW), 3, 5e-3);
	CHECK(update_over_traffic(&p, d.samples[0], PM_OPT_OTHER) > 50);
	/* as rows of fast steps leave it: an update is free */
	set_update(&p, 0);
	cpu.is_cpu = true;
	for (int i = 0; i < d.n; i++)
	{
		pm_sample	s = d.samples[i];

		for (pm_optimizer optimizer = PM_SGD; optimizer <= PM_ADAMW; optimizer++)
			CHECK_NEAR(update_over_traffic(&p, s, optimizer), 4.0 / 3, 5e-3);
		CHECK_NEAR(update_over_traffic(&p, s, PM_OPT_OTHER), 0, 5e-3);
		s.query.framework = "tensorflow xla";
		CHECK_NEAR(update_over_traffic(&p, s, PM_ADAMW), 0, 5e-3);
		s = d.samples[i];
		s.query.gpu = &cpu;
		CHECK_NEAR(update_over_traffic(&p, s, PM_ADAMW), 0, 5e-3);
	}
}

int
main(void)
{
	pm_rng		rng;

	pm_arena_init_malloc(&arena);
	pm_rng_seed(&rng, 5);
	test_opclass_floor();
	test_bounded_update();
	test_held_above();
	test_many_tokens(&rng);
	test_most(&rng);
	test_parts();
	test_most_by_hand();
	test_floor_of_tokens();
	test_fast_algorithms();
	test_mdot_floor(&rng);
	test_opclass_update();
	test_opclass_bounds(true);
	test_opclass_bounds(false);
	pm_arena_release(&arena);
	return check_done("floor");
}
