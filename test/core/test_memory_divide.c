/*
 * test_memory_divide.c - the memory of one of several GPUs by hand, and what
 * another optimizer changes.
 */
#include "check.h"
#include "memory/divide.h"
#include "memory_graphs.h"

/* ---------- shares ---------- */

/* What one of several GPUs holds, by hand: a model of P bytes in fp32 with Adam. */
static void
test_division(void)
{
	const struct
	{
		pm_memory_division by;
		double		weights,	/* times P */
					gradients,
					optimizer;
	}			cases[] = {
		{{1, 0, 1, 1, 1, false, 25}, 1, 1, 2},
		{{1, 3, 1, 1, 1, false, 25}, 1, 1, 2},	/* nobody to share with */
		{{8, 0, 1, 1, 1, false, 25}, 1, 2, 2},
		{{8, 1, 1, 1, 1, false, 25}, 1, 2, 2.0 / 8},
		{{8, 2, 1, 1, 1, false, 25}, 1, 1.0 / 8 + 1, 2.0 / 8},	/* the model is smaller than two buckets */
		{{1, 0, 4, 1, 1, false, 25}, 1.0 / 4, 1.0 / 4, 2.0 / 4},
		{{2, 0, 4, 2, 1, false, 25}, 1.0 / 8, 2.0 / 8, 2.0 / 8}
	};
	const pm_step_options o = {.dtype = PM_FP32, .optimizer = PM_ADAM};
	pm_memory_factors f = {.context_mb = 1300, .spread = 0.04, .fit_spread = 0.02};
	pm_memory_plan plan;
	pm_memory_plan of;
	pm_status	st;

	load_transformer(4);
	CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		pm_memory_divide(&plan, &cases[i].by, &of);
		CHECK_NEAR(of.weights / plan.weights, cases[i].weights, 1e-12);
		CHECK_NEAR(of.gradients / plan.weights, cases[i].gradients, 1e-12);
		CHECK_NEAR(of.optimizer / plan.weights, cases[i].optimizer, 1e-12);
		for (int64_t batch = 1; batch < 100000; batch *= 3)
		{
			double		more = of.weights + of.gradients + of.optimizer - plan.weights - plan.gradients - plan.optimizer;
			double		share = (10 + 24.0 / cases[i].by.tp) / 34;

			CHECK(pm_memory_reserved(&of, batch) >= pm_memory_live(&of, batch));
			CHECK(pm_memory_reserved(&of, batch * 2) >= pm_memory_reserved(&of, batch));
			if (share == 1)
				CHECK_NEAR(pm_memory_live(&of, batch), fmax(pm_memory_live(&plan, batch) + more, of.weights + of.optimizer), 1);
		}
	}
	/* an eighth of everything, and two blocks that are gathered */
	pm_memory_divide(&plan, &(pm_memory_division) {8, 3, 1, 1, 1, false, 25}, &of);
	CHECK_NEAR(of.weights, fmin(plan.weights, 6 * plan.largest_weights) + plan.weights / 8, 1);
	CHECK_NEAR(of.optimizer, plan.optimizer / 8, 1e-9);
	CHECK_EQ(plan.largest_weights, 4 * 4 * HIDDEN * HIDDEN);
	/* a bucket holds at least the gradients of one operator */
	pm_memory_divide(&plan, &(pm_memory_division) {8, 2, 1, 1, 1, false, 1e-6}, &of);
	CHECK_NEAR(of.gradients, plan.gradients / 8 + plan.largest_weights, 1);
	/* checkpoints are not divided, the rest is */
	plan.kept_per = plan.lines[0].per / 4;
	pm_memory_divide(&plan, &(pm_memory_division) {1, 0, 8, 1, 1, true, 25}, &of);
	CHECK_NEAR(of.lines[0].per / plan.lines[0].per, 0.25 + 0.75 * 13 / 34, 1e-12);
	/* and less is known */
	pm_memory_factors_divided(&f);
	CHECK(f.spread > 0.1 && f.fit_spread > 0.05 && f.context_mb == 1300);
	/* an interleaved pipeline holds more activations */
	pm_memory_divide(&plan, &(pm_memory_division) {1, 0, 1, 4, 2, false, 25}, &of);
	CHECK_NEAR(of.lines[0].per / plan.lines[0].per, 1 + 3.0 / 8, 1e-12);
}

/* ---------- optimizers ---------- */

/* Of two steps that differ in the optimizer, the one that keeps more takes more, and no more than that. */
static void
check_heavier(const pm_memory_plan *light, const pm_memory_plan *heavy)
{
	double		states = heavy->optimizer - light->optimizer;
	double		scratch = heavy->scratch - light->scratch;

	CHECK(states >= 0 && scratch >= 0);
	for (double b = 1; b <= 16777216; b *= 2.7)
	{
		int64_t		batch = (int64_t) b;
		double		live = pm_memory_live(heavy, batch) - pm_memory_live(light, batch);
		double		reserved = pm_memory_reserved(heavy, batch) - pm_memory_reserved(light, batch);
		double		tiny = 1e-12 * pm_memory_reserved(heavy, batch);

		CHECK(live >= -tiny && live <= states + scratch + tiny);
		CHECK(reserved >= -tiny && reserved <= states + scratch + tiny);
	}
}

static void
check_optimizers(pm_step_options o)
{
	static const pm_optimizer heavier[] = {PM_OPT_NONE, PM_SGD, PM_SGD_MOMENTUM, PM_ADAM};
	static const pm_memory_division ways[] = {{8, 1, 1, 1, 1, false, 25}, {8, 3, 1, 1, 1, false, 25}, {2, 0, 2, 4, 1, false, 25}};
	pm_memory_plan plans[2] = {{0}};
	pm_memory_plan of[2];
	pm_status	st;

	for (size_t i = 0; i < sizeof(heavier) / sizeof(heavier[0]); i++)
	{
		plans[0] = plans[1];
		o.optimizer = heavier[i];
		CHECK(pm_memory_plan_make(&graph, &o, &arena, &plans[1], &st) == PM_OK);
		if (i == 0)
			continue;
		check_heavier(&plans[0], &plans[1]);
		for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++)
		{
			for (int j = 0; j < 2; j++)
				pm_memory_divide(&plans[j], &ways[w], &of[j]);
			check_heavier(&of[0], &of[1]);
		}
	}
}

static void
test_optimizers(void)
{
	pm_rng		r;

	pm_rng_seed(&r, 16);
	for (int round = 0; round < 100; round++)
	{
		if (round % 10 == 0)
			load_transformer(1 + round / 10);
		else
			load_random(&r);
		for (int i = 0; i < 8; i++)
			check_optimizers((pm_step_options) {
				.dtype = i & 1 ? PM_AMP : PM_FP32, .checkpointing = (i & 2) != 0, .gradients_stay = (i & 4) != 0,
				.fused_attention = (i & 4) == 0, .on_cpu = round % 7 == 0
			});
	}
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_division();
	test_optimizers();
	pm_arena_release(&arena);
	return check_done("memory_divide");
}
