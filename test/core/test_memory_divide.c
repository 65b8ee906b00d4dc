/*
 * test_memory_divide.c - the memory of one of several GPUs by hand, and what
 * another optimizer changes.
 */
#include "check.h"
#include "memory/divide.h"
#include "memory_graphs.h"

#define MB	1048576.0

#define BY(replicas_, zero_, tp_, pp_, micro_batches_, interleave_, recompute_, bucket_mb_, sequence_parallel_) \
	{ \
		.replicas = replicas_, .zero = zero_, .tp = tp_, .pp = pp_, .micro_batches = micro_batches_, .interleave = interleave_, \
		.recompute = recompute_, .bucket_mb = bucket_mb_, .sequence_parallel = sequence_parallel_ \
	}

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
		{BY(1, 0, 1, 1, 1, 1, false, 25, false), 1, 1, 2},
		{BY(1, 3, 1, 1, 1, 1, false, 25, false), 1, 1, 2},	/* nobody to share with */
		{BY(8, 0, 1, 1, 1, 1, false, 25, false), 1, 2, 2},
		{BY(8, 1, 1, 1, 1, 1, false, 25, false), 1, 2, 2.0 / 8},
		{BY(8, 2, 1, 1, 1, 1, false, 25, false), 1, 1.0 / 8 + 1, 2.0 / 8},	/* the model is smaller than two buckets */
		{BY(1, 0, 4, 1, 1, 1, false, 25, false), 1.0 / 4, 1.0 / 4, 2.0 / 4},
		{BY(2, 0, 4, 2, 1, 1, false, 25, false), 1.0 / 8, 2.0 / 8, 2.0 / 8}
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
		/* Adam's update of all at once is of all that the GPU has states of */
		CHECK_NEAR(of.scratch / plan.scratch, cases[i].optimizer / 2, 1e-12);
		for (int64_t batch = 1; batch < 100000; batch *= 3)
		{
			double		more = of.weights + of.gradients + of.optimizer - plan.weights - plan.gradients - plan.optimizer;
			bool		one_device = cases[i].by.tp * cases[i].by.pp == 1;

			CHECK(pm_memory_reserved(&of, batch) >= pm_memory_live(&of, batch));
			CHECK(pm_memory_reserved(&of, batch * 2) >= pm_memory_reserved(&of, batch));
			if (one_device && cases[i].by.zero <= 1)
				CHECK_NEAR(pm_memory_live_in_passes(&of, batch), pm_memory_live_in_passes(&plan, batch) + more, 1);
			if (one_device)
				CHECK_NEAR(of.update.fixed, plan.update.fixed - plan.scratch + more + of.scratch, 1);
		}
	}
	CHECK_EQ(plan.largest_weights, 4 * 4 * HIDDEN * HIDDEN);
	/* a bucket holds at least the gradients of one operator */
	pm_memory_divide(&plan, &(pm_memory_division) BY(8, 2, 1, 1, 1, 1, false, 1e-6, false), &of);
	CHECK_NEAR(of.gradients, plan.gradients / 8 + plan.largest_weights, 1);
	/* checkpoints are not divided, the rest is; no scores here */
	plan.asked.kept_per = plan.asked.lines[0].per / 4;
	plan.asked.kept_scores = plan.asked.lines[0].scores = 0;
	pm_memory_divide(&plan, &(pm_memory_division) BY(1, 0, 8, 1, 1, 1, true, 25, false), &of);
	CHECK_NEAR(of.asked.lines[0].per / plan.asked.lines[0].per, 0.25 + 0.75 * 13 / 34, 1e-12);
	/* and less is known */
	pm_memory_factors_divided(&f);
	CHECK(f.spread > 0.1 && f.fit_spread > 0.05 && f.context_mb == 1300);
}

/* With zero 2, gradients are whole until they are summed: at most two buckets, at most what is there. */
static void
test_gradients_on_their_way(void)
{
	pm_memory_plan plan = {
		.weights = 80 * MB, .gradients = 80 * MB, .optimizer = 160 * MB, .largest_weights = 5 * MB, .asked.n_lines = 3,
		.asked.lines = {{.fixed = 240 * MB, .per = 9}, {.fixed = 280 * MB, .per = 8, .gradients = 40 * MB},
		{.fixed = 330 * MB, .per = 7, .gradients = 80 * MB}}
	};
	pm_memory_plan of;

	pm_memory_divide(&plan, &(pm_memory_division) BY(8, 2, 1, 1, 1, 1, false, 25, false), &of);
	CHECK_NEAR(of.asked.lines[0].fixed, (80 + 20) * MB, 1);
	CHECK_NEAR(of.asked.lines[1].fixed, (80 + 20 + 40 / 8 + 40) * MB, 1);
	CHECK_NEAR(of.asked.lines[2].fixed, (80 + 20 + 80 / 8 + 50 + 10) * MB, 1);
	/* of the micro-batch before, none are whole any more */
	pm_memory_divide(&plan, &(pm_memory_division) BY(8, 2, 1, 2, 2, 1, false, 1, false), &of);
	CHECK_NEAR(of.asked.lines[0].fixed, (40 + 10 + 40 / 8) * MB, 1);
	CHECK_NEAR(of.asked.lines[1].fixed, (40 + 10 + 40 / 8 + 5) * MB, 1);
	/* one of an operator that is being added to what is there, 10 MB, stays whole where two GPUs share a layer; all else is halved */
	plan.asked.lines[0] = (pm_memory_line) {.fixed = 350 * MB, .gradients = 90 * MB};
	pm_memory_divide(&plan, &(pm_memory_division) {.replicas = 1, .tp = 2, .pp = 1, .cp = 1, .interleave = 1, .micro_batches = 1}, &of);
	CHECK_NEAR(of.asked.lines[0].gradients, (80 / 2 + 10) * MB, 1);
	CHECK_NEAR(of.asked.lines[0].fixed, (80 / 2 + 160 / 2 + 20 / 2 + 80 / 2 + 10) * MB, 1);
}

/* Four GPUs that divide the sequence have a fourth of all activations, and gather 1 MB and its gradient; a checkpoint of 17 MB is divided, too. */
static void
test_sequence_parallel(void)
{
	const struct
	{
		bool		recompute;
		bool		sequence_parallel;
		double		per;
		double		handed;
		double		mb;
	}			cases[] = {
		{false, false, 68, 1, 68 * 16.0 / 34}, {false, true, 68, 1, 17 + 2 * 0.75},
		{true, false, 68, 1, 17 + 51 * 16.0 / 34}, {true, true, 68, 1, 17 + 2 * 0.75},
		/* never more than without it */
		{false, true, 2, 4, 2 * 16.0 / 34}
	};
	pm_memory_plan of;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const pm_memory_plan plan = {
			.asked.kept_per = 17 * MB, .handed_per = cases[i].handed * MB, .asked.n_lines = 1, .asked.lines = {{.per = cases[i].per * MB}}, .conv_per = 68 * MB
		};
		const pm_memory_division by = BY(1, 0, 4, 1, 1, 1, cases[i].recompute, 25, cases[i].sequence_parallel);

		pm_memory_divide(&plan, &by, &of);
		CHECK_NEAR(of.asked.lines[0].per / MB, cases[i].mb, 1e-9);
		CHECK_NEAR(of.conv_per / MB, cases[i].sequence_parallel ? 17 : 32, 1e-9);
	}
}

/* Eight GPUs of which each four divide the experts: two have the same 60 of 80 MB, and divide their states. */
static void
test_expert_parallel(void)
{
	const pm_memory_plan plan = {
		.weights = 80 * MB, .gradients = 80 * MB, .optimizer = 160 * MB, .expert_weights = 60 * MB, .expert_gradients = 60 * MB,
		.asked = {.n_lines = 1, .lines = {{.fixed = 240 * MB, .per = 51 * MB}}}
	};
	pm_memory_division by = BY(8, 1, 1, 1, 1, 1, false, 25, false);
	pm_memory_plan of;

	by.ep = 4;
	pm_memory_divide(&plan, &by, &of);
	CHECK_NEAR(of.optimizer, (40 / 8.0 + 120 / 2.0) * MB, 1e-3);
	CHECK_NEAR(of.asked.lines[0].per, 51 * MB, 1e-3);
	by.zero = 3;
	by.bucket_mb = 1;
	pm_memory_divide(&plan, &by, &of);
	CHECK_NEAR(of.weights, (20 / 8.0 + 60 / 2.0) * MB, 1e-3);
	CHECK_NEAR(of.optimizer, (40 / 8.0 + 120 / 2.0) * MB, 1e-3);
}

/* Eight GPUs of which each two share a sequence: half of all activations, and all eight divide the optimizer's states. */
static void
test_context_parallel(void)
{
	const pm_memory_plan plan = {
		.weights = 80 * MB, .gradients = 80 * MB, .optimizer = 160 * MB, .conv_per = 68 * MB,
		.asked = {.kept_per = 17 * MB, .n_lines = 1, .lines = {{.fixed = 240 * MB, .per = 51 * MB}}}
	};
	pm_memory_division by = BY(8, 1, 1, 1, 1, 1, false, 25, false);
	pm_memory_plan of;

	by.cp = 2;
	pm_memory_divide(&plan, &by, &of);
	CHECK_NEAR(of.asked.lines[0].per, 25.5 * MB, 1e-3);
	CHECK_NEAR(of.conv_per, 34 * MB, 1e-3);
	CHECK_NEAR(of.optimizer, 20 * MB, 1e-3);
	by.recompute = by.sequence_parallel = true;
	by.tp = 4;
	pm_memory_divide(&plan, &by, &of);
	CHECK_NEAR(of.asked.lines[0].per, 51 * MB / 8, 1e-3);
	/* only each four of the eight divide, all alike */
	by = (pm_memory_division) BY(8, 3, 1, 1, 1, 1, false, 1, false);
	by.shard = 4;
	pm_memory_divide(&plan, &by, &of);
	CHECK_NEAR(of.weights, 20 * MB, 1e-3);
	CHECK_NEAR(of.optimizer, 40 * MB, 1e-3);
	/* a group of one divides nothing: gradients are those of copies */
	for (by.zero = 1; by.zero <= 3; by.zero++)
	{
		by.shard = 1;
		pm_memory_divide(&plan, &by, &of);
		CHECK_NEAR(of.gradients, 160 * MB, 1e-3);
		CHECK_NEAR(of.weights, 80 * MB, 1e-3);
	}
}

/*
 * 20 million weights with Adam.  Megatron-Core's distributed optimizer: 2 bytes of a weight, 4 of its gradient, 12 / d of the
 * rest, d GPUs (docs/source/api-guide/dist_optimizer.md).  From 16 bits: 2, 2 and 12 / d.
 */
static void
test_master_weights(void)
{
	for (int narrow = 0; narrow <= 1; narrow++)
		for (int d = 1; d <= 8; d *= 2)
		{
			double		n = 20 * MB;
			double		bytes = narrow ? 2 : 4;
			const pm_memory_plan plan = {
				.weights = bytes * n, .gradients = bytes * n, .optimizer = 2 * bytes * n,
				.asked = {.n_lines = 1, .lines = {{.fixed = 4 * bytes * n + 5 * MB, .gradients = bytes * n, .copies = narrow ? 0 : 5 * MB}}}
			};
			pm_memory_division by = BY(d, 1, 1, 1, 1, 1, false, 25, false);
			pm_memory_plan of;

			by.master_bytes = (int) bytes;
			pm_memory_divide(&plan, &by, &of);
			CHECK_NEAR(of.weights, 2 * n, 1);
			CHECK_NEAR(of.gradients, bytes * n, 1);
			CHECK_NEAR(of.optimizer, 12 * n / d, 1);
			CHECK_NEAR(of.asked.lines[0].fixed, (2 + bytes + 12.0 / d) * n + (narrow ? 5 * MB : 0), 1);
		}
}

/* ---------- weights that are divided ---------- */

/* A Transformer between an embedding and a product with as many words. */
static void
load_language_model(int layers, int words)
{
	char	   *at = text;
	int			id = 2;

	at += snprintf(at, 512, "{'id':0,'op':'Input','inputs':[],'shape':[1,%d],'batch_dim':0},"
				   "{'id':1,'op':'Gather','inputs':[0],'shape':[1,%d,%d],'batch_dim':0,'weights':[[%d,%d]]}", SEQ, SEQ, HIDDEN, words, HIDDEN);
	for (int i = 0; i < layers; i++)
		id = layer(&at, id, id - 1);
	snprintf(at, 512, ",{'id':%d,'op':'LayerNormalization','inputs':[%d],'shape':[1,%d,%d],'batch_dim':0,'weights':[[%d],[%d]]},"
			 "{'id':%d,'op':'Gemm','inputs':[%d],'shape':[1,%d,%d],'batch_dim':0,'weights':[[%d,%d]]}", id, id - 1, SEQ, HIDDEN, HIDDEN, HIDDEN,
			 id + 1, id, SEQ, words, words, HIDDEN);
	load(text);
}

/* Embedding and head are the root unit, which is whole all along; of the layers two are, and the gradients of one. */
static void
test_units(void)
{
	const double in_layer = 4 * HIDDEN + 12 * HIDDEN * HIDDEN;
	const pm_memory_division by = BY(8, 3, 1, 1, 1, 1, false, 1e-5, false);
	const pm_step_options o = {.dtype = PM_FP32, .optimizer = PM_ADAM};
	pm_memory_plan plan;
	pm_memory_plan of;
	pm_status	st;

	for (int words = 100; words <= 10000; words *= 10)
	{
		double		root = 2.0 * words * HIDDEN + 2 * HIDDEN;
		double		all = root + 6 * in_layer;
		bool		large = words == 10000;	/* the root: to gather it would need more than zero 2 */

		load_language_model(6, words);
		CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
		CHECK_EQ(plan.weights, 4 * all);
		CHECK_EQ(plan.root_weights, 4 * root);
		CHECK_EQ(plan.unit_weights, 4 * in_layer);
		CHECK_EQ(plan.pair_weights, 8 * in_layer);
		pm_memory_divide(&plan, &by, &of);
		CHECK_NEAR(of.optimizer, plan.optimizer / 8, 1e-9);
		CHECK_NEAR(of.weights, large ? 4 * all : 4 * (all / 8 + root + 2 * in_layer), 1);
		CHECK_NEAR(of.gradients, 4 * (all / 8 + (large ? words * HIDDEN : root + in_layer)), 1);
	}
	/* of other networks each operator is a unit, with the norm behind it: 64 + 16 and 200 numbers follow each other */
	load("{'id':0,'op':'Input','inputs':[],'shape':[1,8],'batch_dim':0},"
		 "{'id':1,'op':'Gemm','inputs':[0],'shape':[1,8],'batch_dim':0,'weights':[[8,8]]},"
		 "{'id':2,'op':'BatchNormalization','inputs':[1],'shape':[1,8],'batch_dim':0,'weights':[[8],[8]]},"
		 "{'id':3,'op':'Gemm','inputs':[2],'shape':[1,25],'batch_dim':0,'weights':[[25,8]]},"
		 "{'id':4,'op':'Gemm','inputs':[3],'shape':[1,1],'batch_dim':0,'weights':[[1,25]]}");
	CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
	CHECK(plan.root_weights == 0 && plan.unit_weights == 4 * 200 && plan.pair_weights == 4 * 280);
}

/* The more is divided, the less a GPU needs, at every batch. */
static void
check_zero(const pm_memory_plan *plan, int replicas, double bucket_mb)
{
	pm_memory_plan of[4];

	for (int zero = 0; zero < 4; zero++)
	{
		pm_memory_divide(plan, &(pm_memory_division) BY(replicas, zero, 1, 1, 1, 1, plan->segments, bucket_mb, false), &of[zero]);
		for (double b = 1; zero > 0 && b <= 16777216; b *= 2.7)
		{
			double		tiny = 1e-12 * pm_memory_reserved(&of[0], (int64_t) b);

			CHECK(pm_memory_live(&of[zero], (int64_t) b) <= pm_memory_live(&of[zero - 1], (int64_t) b) + tiny);
			CHECK(pm_memory_reserved(&of[zero], (int64_t) b) <= pm_memory_reserved(&of[zero - 1], (int64_t) b) + tiny);
		}
	}
}

static void
test_zero(void)
{
	pm_rng		r;

	pm_rng_seed(&r, 17);
	for (int round = 0; round < 60; round++)
	{
		if (round % 5 == 0)
			load_language_model(1 + round / 10, 10 + 40 * round);
		else
			load_random(&r);
		for (int i = 0; i < 8; i++)
		{
			const pm_step_options o = {
				.dtype = i & 1 ? PM_AMP : PM_FP32, .optimizer = PM_ADAM, .checkpointing = (i & 2) != 0, .gradients_stay = (i & 4) != 0,
				.fused_attention = (i & 4) == 0
			};
			pm_memory_plan plan;
			pm_status	st;

			CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
			check_zero(&plan, 2 + 31 * (i % 3), i & 4 ? 25 : 1e-5);
		}
	}
}

/* ---------- pipelines ---------- */

#define STAGES	4

/* The first of several stages by hand: a sample keeps 80 bytes, and 20 are there in passing. */
static void
test_pipeline(void)
{
	const struct
	{
		int			pp,
					micro_batches,
					interleave;
		double		per,
					fixed;
	}			cases[] = {
		/* one micro-batch: a quarter of the layers, and nothing else is on its way */
		{4, 1, 1, 80 / 4.0 + 20, 28 / 4.0},
		/* gradients of the micro-batch before */
		{4, 2, 1, 80 * 2 / 4.0 + 20, (28 + 8) / 4.0},
		{4, 3, 1, 80 * 3 / 4.0 + 20, (28 + 8) / 4.0},
		/* never more of them than stages */
		{4, 4, 1, 100, (28 + 8) / 4.0},
		{4, 64, 1, 100, (28 + 8) / 4.0},
		{2, 1, 1, 80 / 2.0 + 20, 28 / 2.0},
		/* of two pieces each, three pieces more: as many as there are */
		{4, 4, 2, 100, (28 + 8) / 4.0},
		{4, 5, 2, 80 * 5 / 4.0 + 20, (28 + 8) / 4.0},
		{4, 64, 2, 80 * (1 + 3 / 8.0) + 20, (28 + 8) / 4.0},
		/* no pipeline */
		{1, 64, 1, 100, 28}
	};
	pm_memory_plan plan = {
		.weights = 8, .gradients = 8, .optimizer = 16, .asked.n_lines = 1, .asked.lines = {{.fixed = 28, .per = 100}}, .asked.kept_per = 80,
		.update = {.fixed = 40, .per = 10, .gradients = 8}, .scratch = 8
	};
	pm_memory_plan of;

	for (int i = 0; i < PM_N_MEMORY_ANCHORS; i++)
		plan.asked.reserved[i] = 28 + 100 * pm_memory_anchors[i] + 40;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const pm_memory_division by = BY(1, 0, 1, cases[i].pp, cases[i].micro_batches, cases[i].interleave, false, 25, false);
		/* of 40 bytes in segments, but in no tensor, the share of what is not there before: 4 bytes, and 100 for each of 16 samples */
		double		gaps = 40 * (4.0 / cases[i].pp + 16 * fmin(100, cases[i].per)) / (4 + 16 * 100);

		pm_memory_divide(&plan, &by, &of);
		CHECK_NEAR(of.asked.lines[0].per, cases[i].per, 1e-9);
		CHECK_NEAR(of.asked.lines[0].fixed, cases[i].fixed, 1e-9);
		CHECK_NEAR(of.asked.reserved[2], cases[i].fixed + 16 * cases[i].per + gaps, 1e-9);
		CHECK_NEAR(of.update.fixed, 40.0 / cases[i].pp, 1e-9);
	}
	/* checkpoints wait as activations do; the layer that runs again is there once */
	pm_memory_divide(&plan, &(pm_memory_division) BY(1, 0, 1, 4, 2, 1, true, 25, false), &of);
	CHECK_NEAR(of.asked.lines[0].per, 80 * 2 / 4.0 + 20, 1e-9);
}

/* One micro-batch on the first of four stages of three layers each takes what three layers take. */
static void
test_stage(void)
{
	const pm_step_options o = {.dtype = PM_AMP, .optimizer = PM_ADAM, .fused_attention = true};
	pm_memory_plan whole;
	pm_memory_plan stage;
	pm_memory_plan of;
	pm_status	st;

	load_transformer(3 * STAGES);
	CHECK(pm_memory_plan_make(&graph, &o, &arena, &whole, &st) == PM_OK);
	load_transformer(3);
	CHECK(pm_memory_plan_make(&graph, &o, &arena, &stage, &st) == PM_OK);
	for (int m = 1; m <= 2 * STAGES; m *= 2)
	{
		const pm_memory_division by = BY(1, 0, 1, STAGES, m, 1, false, 25, false);
		double		waiting = (m < STAGES ? m : STAGES) - 1;

		pm_memory_divide(&whole, &by, &of);
		for (int64_t batch = 16; batch <= 4096; batch *= 16)
		{
			double		live = pm_memory_live(&stage, batch) + waiting * stage.asked.kept_per * (double) batch;

			CHECK_NEAR(pm_memory_live(&of, batch) / live, 1, 0.05);
		}
	}
}

/* ---------- what the allocator holds besides ---------- */

/* Gaps that gradients and copies of weights leave are those of the GPU's own. */
static void
test_gaps(void)
{
	const struct
	{
		pm_memory_division by;
		bool		standing;	/* gradients are there before the step */
		double		share;
	}			cases[] = {
		{BY(8, 0, 1, 1, 1, 1, false, 1, false), false, 1},
		{BY(8, 1, 1, 1, 1, 1, false, 1, false), false, 1},
		/* of 80 MB of gradients an eighth, and those on their way; 20 of copies; 4 of activations */
		{BY(8, 2, 1, 1, 1, 1, false, 1, false), false, (10.0 + 5 + 20 + 4) / 104},
		{BY(8, 2, 1, 1, 1, 1, false, 1, false), true, 24.0 / 24},
		/* copies are made of weights that have been gathered: an eighth, and 10 MB */
		{BY(8, 3, 1, 1, 1, 1, false, 1, false), false, (10.0 + 5 + 20 * (1 / 8.0 + 10 / 80.0) + 4) / 104},
		{BY(1, 0, 4, 2, 1, 1, false, 1, false), false, (10 + 20.0 / 8 + 4 * (0.75 / 2 + 0.25) * 16 / 34) / 104},
		{BY(1, 0, 4, 2, 1, 1, false, 1, false), true, (20.0 / 8 + 4 * (0.75 / 2 + 0.25) * 16 / 34) / 24},
		/* between checkpoints */
		{BY(1, 0, 4, 2, 1, 1, true, 1, false), true, (20.0 / 8 + 4 * (0.75 / 2 + 0.25)) / 24}
	};
	pm_memory_plan of;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		pm_memory_plan plan = {
			.weights = 80 * MB, .gradients = 80 * MB, .optimizer = 160 * MB, .largest_weights = 5 * MB, .unit_weights = 5 * MB,
			.pair_weights = 10 * MB, .asked.n_lines = 1, .asked.kept_per = 3 * MB, .standing = cases[i].standing ? 80 * MB : 0,
			.asked.lines = {{.fixed = 340 * MB, .per = 4 * MB, .gradients = 80 * MB, .copies = 20 * MB}}
		};

		for (int a = 0; a < PM_N_MEMORY_ANCHORS; a++)
			plan.asked.reserved[a] = (340 + 4 * pm_memory_anchors[a] + 52) * MB;
		pm_memory_divide(&plan, &cases[i].by, &of);
		CHECK_NEAR((of.asked.reserved[0] - pm_memory_live_in_passes(&of, 1)) / MB, 52 * cases[i].share, 1e-6);
		/* and whatever there is more of, it is never more than on one GPU */
		CHECK(of.asked.reserved[6] - pm_memory_live_in_passes(&of, 1048576) <= 52 * MB + 1);
	}
}

/* Copies of weights, which gradients replace, count where the gradients are elsewhere. */
static void
test_light_lines(void)
{
	const struct
	{
		pm_memory_division by;
		double		mb;
	}			cases[] = {
		{BY(8, 0, 1, 1, 1, 1, false, 1, false), 80 + 80 + 80},
		{BY(8, 2, 1, 1, 1, 1, false, 1, false), 80 + 40},
		{BY(1, 0, 1, 2, 1, 1, false, 1, false), 40 + 40},
		/* with the gradients of the micro-batch before */
		{BY(1, 0, 1, 2, 2, 1, false, 1, false), 40 + 20 + 40}
	};
	const pm_memory_plan by_hand = {
		.weights = 80 * MB, .gradients = 80 * MB, .largest_weights = 5 * MB, .asked.n_lines = 1, .asked.n_light = 1,
		.asked.lines = {{.fixed = 160 * MB, .gradients = 80 * MB}, {.fixed = 120 * MB, .copies = 40 * MB}}
	};
	const pm_step_options o = {.dtype = PM_AMP, .optimizer = PM_SGD, .fused_attention = true};
	pm_memory_plan plan;
	pm_memory_plan of;
	pm_status	st;

	load_transformer(12);
	CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
	CHECK(plan.asked.n_light > 0 && plan.asked.lines[plan.asked.n_lines].copies > 0.49 * plan.weights);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		pm_memory_divide(&by_hand, &cases[i].by, &of);
		CHECK_NEAR(pm_memory_live_in_passes(&of, 1) / MB, cases[i].mb, 1e-6);
	}
}

/* ---------- what may only shrink ---------- */

typedef struct grid
{
	pm_memory_plan plans[2];	/* [recompute] */
	pm_memory_plan of[2][3][3][4][3];	/* [recompute][tp][pp][zero][micro-batches] */
} grid;

static void
check_less(const pm_memory_plan *less, const pm_memory_plan *more)
{
	for (int64_t batch = 1; batch < 10000; batch *= 3)
	{
		double		tiny = 1e-12 * pm_memory_reserved(more, batch);

		CHECK(pm_memory_live(less, batch) <= pm_memory_live(more, batch) + tiny);
		CHECK(pm_memory_reserved(less, batch) <= pm_memory_reserved(more, batch) + tiny);
	}
}

/* The same with the sequence divided: it never takes more than without, and less where more GPUs share a layer. */
static void
check_sequence_parallel(const pm_memory_plan *plan, pm_memory_division by, const pm_memory_plan *without)
{
	pm_memory_plan of;
	pm_memory_plan wider;

	by.sequence_parallel = true;
	pm_memory_divide(plan, &by, &of);
	check_less(&of, without);
	CHECK(pm_memory_live(&of, 9000) < pm_memory_live(without, 9000));
	by.tp *= 2;
	by.replicas /= 2;
	pm_memory_divide(plan, &by, &wider);
	if (by.zero == 0)
		check_less(&wider, &of);
}

static void
check_neighbours(grid *x, int tp, int pp, int zero, int m)
{
	for (int r = 0; r < 2; r++)
	{
		const pm_memory_plan *here = &x->of[r][tp][pp][zero][m];

		if (r > 0)
			check_less(here, &x->of[0][tp][pp][zero][m]);
		if (tp > 0 && zero < 3)
			check_less(here, &x->of[r][tp - 1][pp][zero][m]);
		if (pp > 0 && zero < 3)
			check_less(here, &x->of[r][tp][pp - 1][zero][m]);
		if (zero > 0 && (zero < 3 || tp + pp == 0))
			check_less(here, &x->of[r][tp][pp][zero - 1][m]);
		if (m > 0)
			check_less(&x->of[r][tp][pp][zero][m - 1], here);
	}
}

/* 64 GPUs: more zero, checkpoints, more tp or pp, or fewer micro-batches never take more. */
static void
check_grid(grid *x, bool check)
{
	static const int parts[] = {1, 2, 8};
	static const int micro_batches[] = {1, 2, 64};

	for (int i = 0; i < 3 * 3 * 4 * 3; i++)
	{
		int			tp = i % 3;
		int			pp = i / 3 % 3;
		int			zero = i / 9 % 4;
		int			m = i / 36;

		if (check)
			check_neighbours(x, tp, pp, zero, m);
		for (int r = 0; r < 2; r++)
		{
			pm_memory_plan *of = &x->of[r][tp][pp][zero][m];
			const pm_memory_division by = BY(64 / (parts[tp] * parts[pp]), zero, parts[tp], parts[pp], micro_batches[m], 1, x->plans[r].segments, 1e-3, false);

			if (!check)
				pm_memory_divide(&x->plans[r], &by, of);
			else if (tp > 0 && by.replicas > 1)
				check_sequence_parallel(&x->plans[r], by, of);
		}
	}
}

static void
test_grid(void)
{
	static grid x;
	pm_status	st;

	for (int i = 0; i < 24; i++)
	{
		const pm_step_options o = {
			.dtype = i & 1 ? PM_AMP : PM_BF16, .optimizer = i & 2 ? PM_ADAM : PM_SGD, .gradients_stay = (i & 4) != 0, .fused_attention = true
		};

		load_language_model(8 + i, i < 8 ? 50 : 2000);
		for (int r = 0; r < 2; r++)
		{
			pm_step_options as = o;

			as.checkpointing = r > 0;
			CHECK(pm_memory_plan_make(&graph, &as, &arena, &x.plans[r], &st) == PM_OK);
		}
		check_grid(&x, false);
		check_grid(&x, true);
	}
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
	static const pm_memory_division ways[] = {BY(8, 1, 1, 1, 1, 1, false, 25, false), BY(8, 3, 1, 1, 1, 1, false, 25, false), BY(2, 0, 2, 4, 2, 1, false, 25, false)};
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
	test_context_parallel();
	test_expert_parallel();
	test_master_weights();
	test_sequence_parallel();
	test_gradients_on_their_way();
	test_units();
	test_zero();
	test_pipeline();
	test_stage();
	test_gaps();
	test_light_lines();
	test_grid();
	test_optimizers();
	pm_arena_release(&arena);
	return check_done("memory_divide");
}
