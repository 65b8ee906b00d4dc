/*
 * test_memory_split.c - the tensors of one of several GPUs: they hold what the plan of that GPU says, and the scores of
 * attention are divided as the paper has it.
 */
#include "check.h"
#include "memory/breakdown.h"
#include "memory_graphs.h"

#define MB	1048576.0

/* How the step is divided, and the plan of the GPU. */
typedef struct setting
{
	pm_memory_plan whole;
	pm_memory_plan of;
	pm_memory_split split;
	pm_step		step;
} setting;

static void
set_up(pm_step_options o, pm_memory_division by, int64_t batch, setting *x)
{
	pm_status	st;

	CHECK(pm_memory_plan_make(&graph, &o, &arena, &x->whole, &st) == PM_OK);
	by.recompute = x->whole.segments;
	pm_memory_divide(&x->whole, &by, &x->of);
	x->split = (pm_memory_split) {&x->whole, by, pm_memory_checkpoints_at(&x->of, batch)};
	o.checkpointing = o.checkpointing && x->split.checkpoints;
	o.attention_again = o.attention_again && x->split.checkpoints;
	x->step = simulate(o);
}

/* Bytes of tensors of a role that the GPU holds after an event. */
static double
held_by_role(const setting *x, int event, pm_memory_role role, int64_t batch)
{
	bool	   *held = PM_NEW(&arena, bool, x->step.n_tensors);
	pm_memory_shares shares;
	double		sum = 0;

	pm_memory_held_after(&x->step, event, held);
	pm_memory_shares_after(&x->step, &x->split, event, &shares);
	for (int t = 0; t < x->step.n_tensors; t++)
		if (held[t] && (role == PM_N_MEMORY_ROLES || x->step.tensors[t].role == role))
			sum += pm_tensor_share(&shares, &x->step.tensors[t], batch);
	return sum + (role == PM_N_MEMORY_ROLES || role == PM_MEMORY_GRADIENTS ? shares.added : 0);
}

static int
timeline(const pm_step *s, const pm_memory_split *split, int64_t batch, int n, pm_memory_point *points)
{
	double	   *held = PM_NEW(&arena, double, s->n_events);

	pm_memory_course(s, split, batch, held);
	return pm_memory_timeline(s, held, n, points);
}

/* most: what the highest event may have of the plan's peak. */
static void
check_setting(pm_step_options o, pm_memory_division by, int64_t batch, double most)
{
	setting		x;
	pm_memory_point top;
	int			peak;
	double		sum;
	double		live;

	set_up(o, by, batch, &x);
	peak = pm_memory_peak_event(&x.step, &x.split, batch);
	sum = held_by_role(&x, peak, PM_N_MEMORY_ROLES, batch);
	/* the plan knows a few events, so that the highest of all may be a little higher */
	live = pm_memory_live(&x.of, batch);
	CHECK(sum >= live * (1 - 1e-9) && sum <= live * most);
	CHECK_EQ(timeline(&x.step, &x.split, batch, 1, &top), 1);
	CHECK(top.event == peak && top.node == x.step.at[peak]);
	CHECK_NEAR(top.bytes, sum, 1e-9 * sum);
	CHECK_NEAR(held_by_role(&x, peak, PM_MEMORY_WEIGHTS, batch), x.of.weights, 1e-9 * x.of.weights);
	CHECK_NEAR(held_by_role(&x, peak, PM_MEMORY_OPTIMIZER, batch), x.of.optimizer, 1e-9 * x.of.optimizer);
	/* after the backward pass, all gradients are there; in a graph at random, some weights lead nowhere */
	if (most < INFINITY)
		CHECK_NEAR(held_by_role(&x, x.step.phase_at[PM_PHASE_UPDATE] - 1, PM_MEMORY_GRADIENTS, batch), x.of.gradients, 1e-9 * x.of.gradients);
}

static void
test_parts_of_one_gpu(void)
{
	static const pm_memory_division ways[] = {
		{.replicas = 1, .tp = 1, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 25},
		{.replicas = 8, .tp = 1, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 25},
		{.replicas = 8, .zero = 1, .tp = 1, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 25},
		{.replicas = 8, .zero = 2, .tp = 1, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 0.01},
		{.replicas = 8, .zero = 3, .tp = 1, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 0.01},
		{.replicas = 8, .zero = 3, .tp = 1, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 0.01, .shard = 2},
		{.replicas = 1, .tp = 4, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 25},
		{.replicas = 1, .tp = 4, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 25, .sequence_parallel = true},
		{.replicas = 2, .zero = 1, .tp = 2, .pp = 2, .micro_batches = 2, .interleave = 1, .bucket_mb = 25},
		{.replicas = 4, .tp = 1, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 25, .cp = 4}
	};

	for (int dtype = PM_FP32; dtype <= PM_AMP; dtype += PM_AMP - PM_FP32)
		for (int again = 0; again < 4; again++)
			for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
				for (int64_t batch = 1; batch <= 10000; batch *= 10)
				{
					load_transformer(4);
					check_setting((pm_step_options) {.dtype = dtype, .optimizer = PM_ADAM, .checkpointing = again == 1 || again == 3, .products_stay = again == 3,
												   .attention_again = again == 2}, ways[i], batch, 1.02);
				}
}

/* ---------- experts ---------- */

/* Bytes of weights, gradients and states of a dense layer and of experts that the GPU holds before the update. */
typedef struct divided
{
	double		dense[3];
	double		experts[3];
} divided;

/* A dense layer of 65,536 weights and sixteen experts with 1,048,576, as one of ep GPUs has them. */
static void
divide_experts(int ep, pm_memory_division by, pm_step_options o, divided *d)
{
	bool	   *held;
	pm_memory_shares shares;
	setting		x;

	snprintf(text, sizeof(text), "{'id':0,'op':'Input','inputs':[],'shape':[1,16,4,256],'batch_dim':0},"
			 "{'id':1,'op':'Gemm','inputs':[0],'shape':[1,16,4,256],'batch_dim':0,'weights':[[256,256]]},"
			 "{'id':2,'op':'Reshape','inputs':[1],'shape':[1,%d,%d,256],'batch_dim':0,'view':true},"
			 "{'id':3,'op':'MatMul','inputs':[2],'shape':[1,%d,%d,256],'batch_dim':0,'weights':[[%d,256,256]]}",
			 16 / ep, 4 * ep, 16 / ep, 4 * ep, 16 / ep);
	load(text);
	by.ep = ep;
	set_up(o, by, 1, &x);
	held = PM_NEW(&arena, bool, x.step.n_tensors);
	pm_memory_held_after(&x.step, x.step.phase_at[PM_PHASE_UPDATE] - 1, held);
	pm_memory_shares_after(&x.step, &x.split, x.step.phase_at[PM_PHASE_UPDATE] - 1, &shares);
	*d = (divided) {0};
	for (int t = 0; t < x.step.n_tensors; t++)
		if (held[t] && x.step.tensors[t].role <= PM_MEMORY_OPTIMIZER)
			(x.step.tensors[t].node == 1 ? d->dense : d->experts)[x.step.tensors[t].role] += pm_tensor_share(&shares, &x.step.tensors[t], 1);
}

/* Whatever ep is, all eight GPUs divide what is dense, and what is of experts is divided by eight in two steps, ep and zero. */
static void
test_experts(void)
{
	const double dense = 4 * 65536.0;
	const double experts = 16 * dense;

	for (int ep = 1; ep <= 8; ep *= 2)
		for (int zero = 1; zero <= 3; zero++)
		{
			const pm_step_options o = {.dtype = PM_FP32, .optimizer = PM_ADAM};
			const pm_memory_division by = {.replicas = 8, .zero = zero, .tp = 1, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 1e-4};
			pm_memory_division of_ep = by;
			divided		d;

			divide_experts(ep, by, o, &d);
			CHECK_NEAR(d.dense[PM_MEMORY_OPTIMIZER], 2 * dense / 8, 1e-6);
			CHECK_NEAR(d.experts[PM_MEMORY_OPTIMIZER], 2 * experts / 8, 1e-6);
			if (zero < 3)
				CHECK_NEAR(d.dense[PM_MEMORY_WEIGHTS], dense, 1e-6);
			/* a GPU has no more of an expert than there is */
			CHECK(d.experts[PM_MEMORY_WEIGHTS] <= experts / ep * (1 + 1e-9) && d.experts[PM_MEMORY_GRADIENTS] <= experts / ep * (1 + 1e-9));
			of_ep.ep = ep;
			check_setting(o, of_ep, 64, INFINITY);
		}
}

/* With masters, zero 1 has no copies of gradients, and where few GPUs have the same experts, zero 2 has no more than it. */
static void
test_few_sharers(void)
{
	const pm_memory_plan plan = {
		.weights = 80 * MB, .gradients = 80 * MB, .optimizer = 160 * MB, .expert_weights = 70 * MB, .expert_gradients = 70 * MB, .largest_weights = 40 * MB,
		.asked = {.n_lines = 1, .lines = {{.fixed = 320 * MB, .gradients = 80 * MB}}}
	};
	pm_memory_division by = {.replicas = 8, .tp = 1, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 25, .master_bytes = 4};
	pm_memory_plan of[2];

	for (by.ep = 1; by.ep <= 8; by.ep *= 2)
	{
		for (by.zero = 1; by.zero <= 2; by.zero++)
			pm_memory_divide(&plan, &by, &of[by.zero - 1]);
		CHECK(of[1].gradients <= of[0].gradients && of[1].asked.lines[0].fixed <= of[0].asked.lines[0].fixed);
	}
	CHECK_NEAR(of[1].gradients, 80 * MB, 1);
}

/* What is reserved for a smaller ep bounds it, but what tensors hold is there in any case. */
static void
test_reserved_at_most(void)
{
	pm_memory_plan of = {.asked = {.n_lines = 1, .lines = {{.fixed = 100}}}};
	pm_memory_plan than = of;

	for (int i = 0; i < PM_N_MEMORY_ANCHORS; i++)
	{
		of.asked.reserved[i] = 150 + i;
		than.asked.reserved[i] = i == 0 ? 90 : i == 1 ? 120 : 200;
	}
	pm_memory_reserve_at_most(&of, &than);
	CHECK(of.asked.reserved[0] == 100 && of.asked.reserved[1] == 120 && of.asked.reserved[2] == 152);
}

/* Masters in 4 bytes beside weights in 2, of a single GPU. */
static void
test_masters(void)
{
	load_transformer(2);
	check_setting((pm_step_options) {.dtype = PM_FP32, .optimizer = PM_ADAM},
				  (pm_memory_division) {.replicas = 1, .tp = 1, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 25, .master_bytes = 4}, 64, 1.02);
}

/* Any graph; its highest event may be one that the plan does not know. */
static void
test_random(void)
{
	pm_rng		r;

	pm_rng_seed(&r, 46);
	for (int i = 0; i < 300; i++)
	{
		pm_memory_division by = {
			.replicas = 1 + (int) (pm_rng_next(&r) % 4), .zero = (int) (pm_rng_next(&r) % 4), .tp = 1 << pm_rng_next(&r) % 3,
			.pp = 1 + (int) (pm_rng_next(&r) % 2), .micro_batches = 1 + (int) (pm_rng_next(&r) % 3), .interleave = 1, .bucket_mb = 1e-4,
			.sequence_parallel = pm_rng_next(&r) % 2 == 0
		};

		load_random(&r);
		check_setting((pm_step_options) {.dtype = PM_AMP, .optimizer = PM_ADAM, .checkpointing = i % 3 == 0, .products_stay = i % 6 == 0}, by, 1 + i % 7 * 40, INFINITY);
	}
}

/* With one GPU that has all, the shares are all: the two ways of looking agree. */
static void
test_all(void)
{
	static const pm_memory_division alone = {.replicas = 1, .tp = 1, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 25};
	pm_memory_point one[50];
	pm_memory_point all[50];
	setting		x;

	load_transformer(2);
	set_up((pm_step_options) {.dtype = PM_AMP, .optimizer = PM_SGD}, alone, 8, &x);
	CHECK_EQ(pm_memory_peak_event(&x.step, NULL, 8), pm_memory_peak_event(&x.step, &x.split, 8));
	CHECK_EQ(timeline(&x.step, NULL, 8, 50, all), timeline(&x.step, &x.split, 8, 50, one));
	for (int i = 0; i < 50; i++)
		CHECK_NEAR(one[i].bytes, all[i].bytes, 1e-6);
}

/* Bytes a sample that one more layer of a transformer takes of one of so many GPUs that share it. */
static double
of_a_layer(pm_memory_division by, bool again)
{
	const int64_t huge = 1 << 20;
	double		per[2];
	pm_status	st;

	for (int i = 0; i < 2; i++)
	{
		const pm_step_options o = {.dtype = PM_FP16, .optimizer = PM_ADAM, .attention_again = again};
		pm_memory_plan plan;
		pm_memory_plan of;

		load_transformer(3 + i);
		CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
		pm_memory_divide(&plan, &by, &of);
		per[i] = pm_memory_live_in_passes(&of, huge + 1) - pm_memory_live_in_passes(&of, huge);
	}
	return per[1] - per[0];
}

/* Korthikanti et al., arXiv 2205.05198: s b h (10 + 24 / t + 5 a s / (h t)). */
static void
test_scores(void)
{
	const double s = SEQ;
	const double h = HIDDEN;
	const double a = HEADS;

	for (int t = 1; t <= HEADS; t *= 2)
	{
		pm_memory_division by = {.replicas = 1, .tp = t, .pp = 1, .micro_batches = 1, .interleave = 1, .bucket_mb = 25};
		double		share = (10 + 24.0 / t) / 34;

		/* with 2 statistics of 4 bytes for each of two norms */
		CHECK_NEAR(of_a_layer(by, false), s * h * (10 + 24.0 / t + 5 * a * s / (h * t)) + share * 16 * s, 1e-3);
		CHECK_NEAR(of_a_layer(by, true), s * h * (10 + 24.0 / t) + share * 16 * s, 1e-3);
		by.sequence_parallel = true;
		CHECK_NEAR(of_a_layer(by, false), s * h / t * (34 + 5 * a * s / h) + 16 * s / t, 1e-3);
		/* of a pipeline of two, a GPU keeps half of the layers for each of two micro-batches */
		by = (pm_memory_division) {.replicas = 1, .tp = t, .pp = 2, .micro_batches = 2, .interleave = 1, .bucket_mb = 25};
		CHECK_NEAR(of_a_layer(by, false), s * h * (10 + 24.0 / t + 5 * a * s / (h * t)) + share * 16 * s, 1e-3);
	}
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_parts_of_one_gpu();
	test_experts();
	test_few_sharers();
	test_reserved_at_most();
	test_masters();
	test_all();
	test_random();
	test_scores();
	pm_arena_release(&arena);
	return check_done("test_memory_split");
}
