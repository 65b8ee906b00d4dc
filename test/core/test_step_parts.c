/*
 * test_step_parts.c - what a step on several GPUs is composed of, how the parts of
 * the step on one GPU are divided by that, and what each GPU has to do.
 */
#include "make_cluster.h"

#include "scaling/gpu_work.h"
#include "scaling/parts.h"

/* 8 layers; 40 ms forward, 80 backward, 8 for the update; 30 ms of the forward pass are computed again. */
static pm_step_shape
transformer(void)
{
	return (pm_step_shape) {
		.n = 1, .message_bytes = 25e6, .layers = 8, .activation_bytes = 1e6, .gradient_bytes = 100e6, .step_ms = 128,
		.forward_ms = 40, .backward_ms = 80, .update_ms = 8, .again_ms = 30, .bytes = {100e6}, .bucket_ms = {80}
	};
}

static pm_scaled
step_of(pm_parallel p, const pm_fabric *f)
{
	pm_step_shape s = transformer();
	pm_status	st = {PM_OK};
	pm_scaled	to;

	p.bucket_mb = 25;
	CHECK_EQ(pm_parallel_check(&p, f, &st), PM_OK);
	pm_scaled_step(&s, &p, f, 1, &to);
	CHECK(to.forward_ms >= 0 && to.backward_ms >= 0 && to.update_ms >= 0 && to.bubble_ms >= 0 && to.contention_ms >= 0);
	CHECK_NEAR(to.forward_ms + to.backward_ms + to.update_ms + to.contention_ms + to.bubble_ms, to.compute_ms, 1e-9);
	return to;
}

static void
check_step(const pm_scaled *s, double forward_ms, double backward_ms, double update_ms, double bubble_ms)
{
	CHECK_NEAR(s->forward_ms, forward_ms, 1e-9);
	CHECK_NEAR(s->backward_ms, backward_ms, 1e-9);
	CHECK_NEAR(s->update_ms, update_ms, 1e-9);
	CHECK_NEAR(s->bubble_ms, bubble_ms, 1e-9);
}

/* Batches are added up before an update; what is computed again belongs to the backward pass. */
static void
test_replicas(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_scaled	s;

	for (int n = 1; n <= 8; n *= 8)
		for (int k = 1; k <= 4; k += 3)
		{
			s = step_of((pm_parallel) {.world_size = n,.accumulation = k,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, &f);
			check_step(&s, 40 * k, 80 * k, 8, 0);
			s = step_of((pm_parallel) {.world_size = n,.accumulation = k,.tp = 1,.pp = 1,.interleave = 1,.cp = 1,.recompute = true}, &f);
			check_step(&s, 40 * k, 110 * k, 8, 0);
		}
	/* what slower GPUs add is no work of the phases */
	f.straggler = 0.1;
	f.contention = 0.05;
	s = step_of((pm_parallel) {.world_size = 8,.accumulation = 2,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, &f);
	check_step(&s, 80, 160, 8, 0);
	CHECK_NEAR(s.contention_ms, 240 * (0.1 * sqrt(2 * log(8)) + 0.05 * sqrt(7)), 1e-9);
	for (int zero = 1; zero <= 3; zero++)
	{
		s = step_of((pm_parallel) {.world_size = 8,.accumulation = 2,.zero = zero,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, &f);
		check_step(&s, 80, 160, s.update_ms, 0);
		CHECK(s.update_ms <= 8);
	}
}

/* A stage has its layers, and waits while others fill and empty the pipeline. */
static void
test_divided_model(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	double		hand_over = pm_collective_us(PM_SEND_RECV, 1e6, 2, 1, &f) / 1000;
	pm_scaled	s;

	/* four stages of two layers, 30 ms each: 2 waits of 3 micro-batches */
	for (int m = 1; m <= 8; m++)
	{
		s = step_of((pm_parallel) {.world_size = 4,.accumulation = m,.tp = 1,.pp = 4,.interleave = 1,.cp = 1}, &f);
		check_step(&s, 10 * m, 20 * m, 2, 3 * (30 + 2 * hand_over));
		CHECK_NEAR(s.exposed_ms, 2 * hand_over * m, 1e-9);
	}
	/* two pieces a GPU halve the bubble, but for what is handed over twice */
	s = step_of((pm_parallel) {.world_size = 4,.accumulation = 8,.tp = 1,.pp = 4,.interleave = 2,.cp = 1}, &f);
	check_step(&s, 80, 160, 2, 1.5 * (30 + 4 * hand_over));
	/* whole layers are computed again */
	s = step_of((pm_parallel) {.world_size = 4,.accumulation = 2,.tp = 1,.pp = 4,.interleave = 1,.cp = 1,.recompute = true}, &f);
	check_step(&s, 20, 60, 2, 3 * (40 + 2 * hand_over));
	/* four GPUs a layer: nobody waits for micro-batches */
	s = step_of((pm_parallel) {.world_size = 4,.accumulation = 3,.tp = 4,.pp = 1,.interleave = 1,.cp = 1}, &f);
	check_step(&s, 30, 60, 2, 0);
}

/* Three tokens: 4 copies that are divided, 2 norms, and a head; a copy has 10 us forward, 20 backward, 6 for the update. */
static const double three_copies[] = {4, 2, 1};
static double three_us[] = {10, 20, 6, 10, 20, 6, 10, 20, 6};
static double three_kernels[] = {0, 0, 0};
static const pm_skeleton three = {.n = 3,.copies = (double *) three_copies};

static pm_tokens
three_tokens(void)
{
	return (pm_tokens) {.skeleton = &three,.n = 3,.phase_us = three_us,.kernels = three_kernels,.backward_kernels = three_kernels};
}

static double
work_of(pm_parallel p)
{
	float		whole[] = {0, 2, 0};
	float		head[] = {0, 0, 1};
	float		again[] = {3, 2, 0};
	float		core[] = {2, 0, 0};
	pm_buckets	b = {.tokens = 3,.whole = whole,.head = head,.again = again,.core = core};
	pm_tokens	work = three_tokens();

	return 1000 * pm_gpu_roofline_ms(&b, &work, &p);
}

static void
test_work(void)
{
	pm_parallel p = PM_PARALLEL_NONE;
	pm_tokens	work = three_tokens();
	job			j;

	CHECK_NEAR(work_of(p), 7 * 36, 1e-9);
	p.accumulation = 5;
	CHECK_NEAR(work_of(p), 5 * 7 * 30 + 7 * 6, 1e-9);
	p.recompute = true;
	CHECK_NEAR(work_of(p), 5 * (7 * 30 + 5 * 10) + 7 * 6, 1e-9);
	/* each of 8 GPUs has all of it; with divided states an eighth of the update */
	p.world_size = 8;
	CHECK_NEAR(work_of(p), 5 * (7 * 30 + 5 * 10) + 7 * 6, 1e-9);
	p.zero = 1;
	CHECK_NEAR(work_of(p), 5 * (7 * 30 + 5 * 10) + 7 * 6 / 8.0, 1e-9);
	/* 4 stages, two copies of the model: whole layers are computed again */
	p.pp = 4;
	CHECK_NEAR(work_of(p), (5 * (7 * 30 + 6 * 10) + 7 * 6 / 2.0) / 4, 1e-9);
	/* each GPU of a layer does the norms in full */
	p = (pm_parallel) PM_PARALLEL_NONE;
	p.world_size = p.tp = 4;
	CHECK_NEAR(work_of(p), 5 * 30 / 4.0 + 2 * 30 + 7 * 6 / 4.0, 1e-9);
	/* but for those that divide the sequence; of attention, two copies are computed again */
	p.sequence_parallel = true;
	CHECK_NEAR(work_of(p), 7 * 36 / 4.0, 1e-9);
	p.recompute = PM_RECOMPUTE_ATTENTION;
	CHECK_NEAR(work_of(p), (7 * 36 + 2 * 10) / 4.0, 1e-9);
	/* of a network, all of its work */
	make_job(&j, 32, 4, 25);
	p = (pm_parallel) PM_PARALLEL_NONE;
	CHECK_NEAR(pm_gpu_roofline_ms(&j.buckets, &j.work, &p), j.work.total_roofline_us / 1000, 1e-9);
	CHECK_EQ(work.n, 3);
}

/* The parts of a step of 128 ms; the last knows no phases, and has no operator. */
static void
make_parts(bool known, pm_part parts[4])
{
	pm_part		of[4] = {{0, 60, 20, 36, 4, 'c'}, {1, 30, 10, 18, 2, 'm'}, {2, 26, 8, 16, 2, 'm'}, {-1, 12, NAN, NAN, NAN, '-'}};

	for (int i = 0; i < 4; i++)
	{
		parts[i] = of[i];
		if (!known)
			parts[i].forward_ms = parts[i].backward_ms = parts[i].update_ms = NAN;
	}
}

/* Divide the parts as s; returns their sum. */
static double
divide(const pm_scaled *s, bool known, pm_part parts[4])
{
	pm_step_shape shape = transformer();
	pm_tokens	work = three_tokens();
	double		sum = 0;

	make_parts(known, parts);
	pm_scale_parts(&work, 1, &shape, s, parts, 4);
	for (int i = 0; i < 4; i++)
	{
		CHECK(parts[i].step_ms >= 0);
		CHECK_EQ(isnan(parts[i].update_ms), !known || i == 3);
		if (!isnan(parts[i].update_ms))
			CHECK_NEAR(parts[i].forward_ms + parts[i].backward_ms + parts[i].update_ms, parts[i].step_ms, 1e-9);
		sum += parts[i].step_ms;
	}
	CHECK_NEAR(sum, s->forward_ms + s->backward_ms + s->update_ms, 1e-9);
	return sum;
}

/* 12 ms that belong to no operator are 3.75 forward, 7.5 backward, 0.75 of the update. */
static void
test_parts(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_scaled	s = step_of((pm_parallel) {.world_size = 8,.accumulation = 1,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, &f);
	pm_part		before[4];
	pm_part		parts[4];

	make_parts(true, before);
	/* replicas: as on one GPU */
	divide(&s, true, parts);
	for (int i = 0; i < 4; i++)
		CHECK_NEAR(parts[i].step_ms, before[i].step_ms, 1e-9);
	/* five batches, one update; 119.25 ms of the parts are passes, and 120 of the shape */
	s = step_of((pm_parallel) {.world_size = 1,.accumulation = 5,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, &f);
	divide(&s, true, parts);
	for (int i = 0; i < 3; i++)
	{
		CHECK_NEAR(parts[i].update_ms, before[i].update_ms, 1e-9);
		CHECK_NEAR(parts[i].forward_ms, before[i].forward_ms * (608 - 8.75) / 119.25, 1e-9);
	}
	/* what is computed again is in the backward pass */
	s = step_of((pm_parallel) {.world_size = 1,.accumulation = 1,.tp = 1,.pp = 1,.interleave = 1,.cp = 1,.recompute = true}, &f);
	divide(&s, true, parts);
	CHECK_NEAR(parts[0].forward_ms, 20, 0.2);
	CHECK_NEAR(parts[0].backward_ms, 36 * 110 / 80.0, 0.4);
	CHECK_NEAR(parts[0].update_ms, 4, 1e-9);
	/* a stage of four has a fourth of each, of all micro-batches; so has a kind that knows no phases */
	s = step_of((pm_parallel) {.world_size = 4,.accumulation = 8,.tp = 1,.pp = 4,.interleave = 1,.cp = 1}, &f);
	divide(&s, true, parts);
	CHECK_NEAR(parts[0].update_ms, 1, 1e-9);
	CHECK_NEAR(parts[0].forward_ms, 20 * 2, 0.3);
	divide(&s, false, parts);
	s = step_of((pm_parallel) {.world_size = 1,.accumulation = 5,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, &f);
	divide(&s, false, parts);
	CHECK(parts[0].step_ms < 5 * before[0].step_ms && parts[0].step_ms > 4.5 * before[0].step_ms);
}

/* Parts with more update than a step takes are divided all alike. */
static void
test_strange_parts(void)
{
	pm_scaled	s = {.step_ms = 10,.compute_ms = 10,.forward_ms = 1,.backward_ms = 1,.update_ms = 8};
	pm_step_shape shape = transformer();
	pm_tokens	work = three_tokens();
	pm_part		part = {0, 128, 1, 2, 125, 'm'};

	pm_scale_parts(&work, 1, &shape, &s, &part, 1);
	CHECK_NEAR(part.step_ms, 10, 1e-9);
	CHECK_NEAR(part.update_ms, 125 * 10 / 128.0, 1e-9);
}

/*
 * Of eight GPUs, each ep have the experts of the first token: the update of the others is divided by eight whatever ep is,
 * and theirs by eight / ep, of 1 / ep of them.
 */
static void
test_experts(void)
{
	pm_step_shape shape = transformer();
	pm_node		nodes[3] = {{.expert = true}};
	const pm_graph g = {.n_nodes = 3,.nodes = nodes};
	int32_t		node[] = {0, 1, 2};
	const pm_skeleton k = {.n = 3,.copies = (double *) three_copies,.node = node,.graph = &g};

	for (int ep = 1; ep <= 8; ep *= 2)
	{
		pm_tokens	work = three_tokens();
		pm_part		parts[4];
		pm_scaled	s = {.forward_ms = shape.forward_ms,.backward_ms = shape.backward_ms};
		double		others;		/* with the part that belongs to no operator */
		double		sum = 0;

		work.skeleton = &k;
		shape.update_ms = 4.0 / ep + 4;
		shape.step_ms = shape.forward_ms + shape.backward_ms + shape.update_ms;
		others = 4 + 12 * shape.update_ms / shape.step_ms;
		s.update_ms = shape.update_ms * (4 + others) / 8 / (4.0 / ep + others);
		make_parts(true, parts);
		parts[0].step_ms -= 4 - 4.0 / ep;
		parts[0].update_ms = 4.0 / ep;
		pm_scale_parts(&work, ep, &shape, &s, parts, 4);
		for (int i = 0; i < 4; i++)
			sum += parts[i].step_ms;
		CHECK_NEAR(parts[0].update_ms, 4 / 8.0, 1e-9);
		CHECK_NEAR(parts[1].update_ms, 2 / 8.0, 1e-9);
		CHECK_NEAR(sum, s.forward_ms + s.backward_ms + s.update_ms, 1e-9);
	}
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_replicas();
	test_divided_model();
	test_work();
	test_parts();
	test_experts();
	test_strange_parts();
	pm_arena_release(&arena);
	return check_done("step_parts");
}
