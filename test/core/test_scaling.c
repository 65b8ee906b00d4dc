/*
 * test_scaling.c - buckets of gradients, and the timeline of a step on several
 * GPUs.
 */
#include "make_cluster.h"
#include "scaling/small.h"

/* The update has its share of an operator's time, but no more than its traffic takes. */
static void
test_update_part(void)
{
	CHECK_NEAR(pm_update_part(30, 10, 0.02), 0.005, 1e-12);
	CHECK_NEAR(pm_update_part(30, 10, 100), 10 * 4 / 3.0 / 1000, 1e-12);
	CHECK_EQ(pm_update_part(0, 10, 100), 100);
	CHECK_EQ(pm_update_part(10, 0, 100), 0);
	CHECK_EQ(pm_update_part(0, 0, 100), 0);
}

static void
test_buckets(void)
{
	job			j;
	double		bytes = 0;
	double		ms = 0;
	pm_phases	p;
	double		copies = 0;
	double		all = 0;

	make_job(&j, 64, 8, 0.1);
	CHECK(j.buckets.n > 2 && j.buckets.n <= PM_MAX_BUCKETS + 1);
	p = pm_phases_of(&j.work, 100);
	CHECK_NEAR(p.forward_ms + p.backward_ms + p.update_ms, 100, 1e-9);
	/* where a step takes longer than its roofline, the update does not */
	CHECK(p.update_ms > 0);
	CHECK_NEAR(p.update_ms, pm_phases_of(&j.work, 50).update_ms, 1e-9);
	for (int k = 0; k < j.buckets.n; k++)
	{
		bytes += j.buckets.bytes[k];
		ms += pm_bucket_ms(&j.buckets, k, &j.work, &p);
		/* all but the last are full */
		CHECK(k == j.buckets.n - 1 || j.buckets.bytes[k] >= 0.1 * 1048576);
		for (int t = 0; t < j.buckets.tokens; t++)
			copies += j.buckets.done[k * j.buckets.tokens + t];
	}
	CHECK_NEAR(bytes, 4 * j.graph->params, 0.5);
	CHECK(ms <= p.backward_ms * (1 + 1e-6) && ms > 0.9 * p.backward_ms);
	for (int t = 0; t < j.skeleton.n; t++)
		all += j.skeleton.copies[t];
	CHECK(copies <= all);
	/* at most so many, whatever is asked for */
	make_job(&j, 64, 70, 0.001);
	CHECK(j.buckets.n <= PM_MAX_BUCKETS + 1);
	/* one message for all: the first of 1 MiB, if there is so much */
	make_job(&j, 8, 2, 25);
	CHECK_EQ(j.buckets.n, 1);
	CHECK_NEAR(j.buckets.bytes[0], 4 * j.graph->params, 0.5);
}

/*
 * Where launches decide how long a step takes, more samples take as long: then
 * on several GPUs, too.  By roofline time alone, one sample would have a longer
 * update and less to hide messages behind.
 */
static void
test_few_samples(void)
{
	const double ms = 10;
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	job			j;

	make_job(&j, 64, 8, 0.1);
	for (int i = 0; i < 12; i++)
	{
		pm_parallel p = {.world_size = 16, .nodes = 4, .accumulation = 1, .zero = i % 4, .bucket_mb = 0.1, .tp = 1, .pp = 1, .interleave = 1, .cp = 1};
		double		before = 0;

		/* links that hide all messages, some, and hardly any */
		f.inter_factor = i < 4 ? 1 : i < 8 ? 0.1 : 0.01;
		for (int64_t batch = 1; batch <= 4; batch *= 2)
		{
			pm_question q = {.graph = j.graph, .gpu = &gpu, .batch = batch, .dtype = PM_FP32, .optimizer = PM_ADAM};
			pm_step_shape shape;
			pm_scaled	s;
			pm_status	st = {PM_OK};

			CHECK_EQ(pm_tokens_rework(&j.work, &q, &st), PM_OK);
			pm_step_shape_of(&j.buckets, &j.work, batch, ms, &shape);
			CHECK_NEAR(shape.forward_ms + shape.backward_ms + shape.update_ms, ms, 1e-9);
			pm_scaled_step(&shape, &p, &f, 1, &s);
			CHECK(s.step_ms >= before * (1 - 1e-9));
			before = s.step_ms;
		}
	}
	/* however long the step, the update moves the same data */
	CHECK_NEAR(pm_phases_of(&j.work, 100).update_ms, pm_phases_of(&j.work, 50).update_ms, 1e-9);
}

static pm_scaled
scaled(const job *j, pm_fabric *f, pm_parallel p)
{
	pm_status	st = {PM_OK};
	pm_scaled	s;

	pm_step_shape shape;

	CHECK_EQ(pm_parallel_check(&p, f, &st), PM_OK);
	pm_step_shape_of(&j->buckets, &j->work, 32, 100, &shape);
	pm_scaled_step(&shape, &p, f, 1, &s);
	return s;
}

static void
test_steps(void)
{
	job			j;
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	pm_parallel one = PM_PARALLEL_NONE;
	pm_parallel p = PM_PARALLEL_NONE;
	pm_phases	ms;
	pm_scaled	s;
	pm_scaled	slow;
	double		without_latency;

	make_job(&j, 64, 8, 0.1);
	ms = pm_phases_of(&j.work, 100);
	CHECK_NEAR(scaled(&j, &f, one).step_ms, 100, 1e-9);
	one.accumulation = 3;
	CHECK_NEAR(scaled(&j, &f, one).step_ms, 300 - 2 * ms.update_ms, 1e-9);

	p.world_size = 4;
	s = scaled(&j, &f, p);
	CHECK_NEAR(s.step_ms, s.compute_ms + s.exposed_ms, 1e-9);
	/* nothing hides the last bucket */
	CHECK(s.exposed_ms > 0 && s.exposed_ms < s.comm_ms);
	CHECK_NEAR(s.compute_ms, 100, 1e-9);

	/* a link a thousand times as narrow hides nothing: the sum of all, after the first bucket is ready */
	f.intra_factor = 1e-3;
	slow = scaled(&j, &f, p);
	CHECK_NEAR(slow.step_ms, ms.forward_ms + ms.update_ms + pm_bucket_ms(&j.buckets, 0, &j.work, &ms) + slow.comm_ms, 1e-6);
	p.compress = true;
	CHECK(scaled(&j, &f, p).comm_ms < 0.51 * slow.comm_ms);
	p.compress = false;
	/* gradients are sent once, however many batches there are */
	p.accumulation = 5;
	CHECK_NEAR(scaled(&j, &f, p).step_ms, slow.step_ms + 4 * (ms.forward_ms + ms.backward_ms), 1e-6);
	p.accumulation = 1;
	f.intra_factor = 1;

	/* stragglers and contention */
	f.straggler = 0.1;
	CHECK_NEAR(scaled(&j, &f, p).compute_ms, (100 - ms.update_ms) * (1 + 0.1 * sqrt(2 * log(4))) + ms.update_ms, 1e-6);
	f.straggler = 0;
	f.contention = 0.05;
	CHECK_NEAR(scaled(&j, &f, p).compute_ms, (100 - ms.update_ms) * (1 + 0.05 * sqrt(3)) + ms.update_ms, 1e-6);
	f.contention = 0;
	f.steal = 0.2;
	CHECK(scaled(&j, &f, p).compute_ms > 100);
	f.steal = 0;

	f.latency_factor = 0;
	without_latency = scaled(&j, &f, p).comm_ms;
	/* divided states: a fourth of the update each, and all weights once more on the way */
	p.zero = 1;
	f.latency_factor = 0;
	CHECK_NEAR(scaled(&j, &f, p).comm_ms, without_latency, 1e-6 * without_latency);
	f.latency_factor = 1;
	CHECK_NEAR(scaled(&j, &f, p).compute_ms, 100 - 0.75 * ms.update_ms, 1e-6);
	/* weights twice, gradients once: 3/2 of the bytes of an all-reduce */
	p.zero = 3;
	f.intra_factor = 1e-3;
	CHECK_NEAR(scaled(&j, &f, p).comm_ms, 1.5 * slow.comm_ms, 0.01 * slow.comm_ms);
	CHECK(scaled(&j, &f, p).step_ms >= scaled(&j, &f, p).comm_ms);
}

/* The step as the operators say it: what several GPUs divide or send is what the sums over them give. */
static void
test_shape(void)
{
	job			j;
	pm_step_shape shape;
	pm_phases	p;
	double		update_us = 0;
	double		forward_us = 0;
	double		again_us = 0;

	make_job(&j, 64, 8, 0.1);
	p = pm_phases_of(&j.work, 100);
	for (int i = 0; i < j.work.n; i++)
	{
		update_us += j.work.phase_us[3 * i + 2] * j.skeleton.copies[i];
		forward_us += pm_forward_us(&j.work, i) * j.skeleton.copies[i];
		again_us += pm_forward_us(&j.work, i) * j.buckets.again[i];
	}
	/* so long a step waits for launches, but the update takes no longer than its traffic at three quarters of the bandwidth */
	CHECK_NEAR(p.update_ms, update_us * 4 / 3 / 1000, 1e-9);
	pm_step_shape_of(&j.buckets, &j.work, 32, 100, &shape);
	CHECK(again_us > 0);
	CHECK_NEAR(shape.again_ms, p.forward_ms * again_us / forward_us, 1e-9);
	/* elements that layers hand on, of a batch of 32, in 4 bytes, or 2 where they are computed in 16 bits */
	j.buckets.activation = 1000;
	pm_step_shape_of(&j.buckets, &j.work, 32, 100, &shape);
	CHECK_EQ(shape.activation_bytes, 32 * 4000);
	j.work.dtype = PM_TF32;
	pm_step_shape_of(&j.buckets, &j.work, 32, 100, &shape);
	CHECK_EQ(shape.activation_bytes, 32 * 4000);
	j.work.dtype = PM_AMP;
	pm_step_shape_of(&j.buckets, &j.work, 32, 100, &shape);
	CHECK_EQ(shape.activation_bytes, 32 * 2000);
	/* of operators that do nothing, a third of the step is the forward pass; of those that only have an update, nothing */
	for (int i = 0; i < j.work.n; i++)
		j.skeleton.copies[i] = 0;
	p = pm_phases_of(&j.work, 90);
	CHECK_NEAR(p.forward_ms, 30, 1e-9);
	CHECK_NEAR(p.backward_ms, 60, 1e-9);
	CHECK_EQ(p.update_ms + p.passes_us_ms, 0);
}

/* More GPUs never make a step of equal batches shorter; a wider link never longer. */
static void
test_order(void)
{
	job			j;

	make_job(&j, 32, 6, 0.05);
	for (int zero = 0; zero <= 3; zero += 3)
	{
		double		before = 0;

		for (int n = 1; n <= 256; n *= 2)
		{
			pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
			pm_parallel p = {.world_size = n,.accumulation = 1,.zero = zero,.bucket_mb = 0.05,.tp = 1,.pp = 1,.interleave = 1,.cp = 1};
			pm_scaled	s = scaled(&j, &f, p);
			pm_scaled	wider;

			CHECK(zero == 3 || s.step_ms >= before * 0.999);
			before = s.step_ms;
			f.intra_factor = f.inter_factor = 3;
			wider = scaled(&j, &f, p);
			CHECK(wider.step_ms <= s.step_ms * (1 + 1e-12));
		}
	}
}

static void
refused(pm_parallel p, pm_fabric f, const char *part)
{
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_parallel_check(&p, &f, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, part);
}

static void
test_refused(void)
{
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	pm_fabric	alone = f;
	pm_fabric	small = f;
	pm_parallel p = {.world_size = 8,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1};
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_parallel_check(&p, &f, &st), PM_OK);
	CHECK_EQ(p.nodes, 2);
	refused((pm_parallel) {.world_size = 8,.nodes = 1,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, f, "do not fit");
	refused((pm_parallel) {.world_size = 0,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, f, "world_size");
	refused((pm_parallel) {.world_size = 4,.nodes = 5,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, f, "nodes");
	refused((pm_parallel) {.world_size = 4,.accumulation = 0,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, f, "accumulation");
	refused((pm_parallel) {.world_size = 4,.accumulation = 1,.zero = 4,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, f, "zero");
	refused((pm_parallel) {.world_size = 4,.accumulation = 1,.bucket_mb = NAN,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, f, "bucket_mb");
	alone.inter.n_rows = 0;
	refused((pm_parallel) {.world_size = 8,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, alone, "not connected");
	small.max_nodes = 2;
	refused((pm_parallel) {.world_size = 16,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, small, "has 2 nodes");
}

/* ---- transformers, divided ---- */

/* 8 layers; 40 ms forward, 80 backward, 8 for the update; 1 MB from layer to layer, 100 MB of gradients. */
static pm_step_shape
transformer(void)
{
	return (pm_step_shape) {
		.n = 1, .message_bytes = 25e6, .layers = 8, .activation_bytes = 1e6, .gradient_bytes = 100e6, .step_ms = 128,
		.forward_ms = 40, .backward_ms = 80, .update_ms = 8, .undivided_ms = 12, .bytes = {100e6}, .bucket_ms = {80}
	};
}

static pm_scaled
divided_shape(pm_step_shape s, pm_parallel p, const pm_fabric *f)
{
	pm_status	st = {PM_OK};
	pm_scaled	to;

	p.bucket_mb = 25;
	CHECK_EQ(pm_parallel_check(&p, f, &st), PM_OK);
	CHECK_EQ(pm_layers_check(&p, &s, &st), PM_OK);
	pm_scaled_step(&s, &p, f, 1, &to);
	CHECK_NEAR(to.step_ms, to.compute_ms + to.exposed_ms, 1e-9);
	return to;
}

static pm_scaled
divided(pm_parallel p, const pm_fabric *f)
{
	return divided_shape(transformer(), p, f);
}

static void
test_divided(void)
{
	pm_step_shape shape = transformer();
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	double		hand_over = pm_collective_us(PM_SEND_RECV, 1e6, 2, 1, &f) / 1000;
	double		sum4 = pm_collective_us(PM_ALL_REDUCE, 1e6, 4, 1, &f) / 1000;
	double		gradients = pm_collective_us(PM_ALL_REDUCE, 25e6, 2, 1, &f) / 1000;
	double		micro;

	/* two stages and 4 micro-batches: the time of 5, half of the layers each */
	micro = 60 + 2 * hand_over;
	CHECK_NEAR(divided((pm_parallel) {.world_size = 2,.accumulation = 4,.tp = 1,.pp = 2,.interleave = 1,.cp = 1}, &f).step_ms, 5 * micro + 4, 1e-6);
	/* two pieces a GPU: half of the bubble, twice as much to hand over */
	micro = 60 + 4 * hand_over;
	CHECK_NEAR(divided((pm_parallel) {.world_size = 2,.accumulation = 4,.tp = 1,.pp = 2,.interleave = 2,.cp = 1}, &f).step_ms, 4.5 * micro + 4, 1e-6);
	/* of too few micro-batches, GPUs wait for each to come round: one passes all layers in series; from as many as stages on, they do not */
	for (int m = 1; m <= 8; m++)
		for (int v = 1; v <= 2; v++)
		{
			double		piece = 30.0 / v + 2 * hand_over;	/* of 4 stages; rounds of m on them, one begun after the other */
			int			pieces = (v - 1) * (m < 4 ? 4 : m) + m + 3;

			CHECK_NEAR(divided((pm_parallel) {.world_size = 4,.accumulation = m,.tp = 1,.pp = 4,.interleave = v,.cp = 1}, &f).step_ms, pieces * piece + 2, 1e-6);
		}
	/* 8 layers on 3 stages: the largest has 3 */
	micro = 120 * 3.0 / 8 + 2 * hand_over;
	CHECK_NEAR(divided((pm_parallel) {.world_size = 3,.accumulation = 1,.tp = 1,.pp = 3,.interleave = 1,.cp = 1}, &f).step_ms, 3 * micro + 3, 1e-6);
	/* four GPUs a layer: two sums a layer and pass; with recomputing three passes */
	CHECK_NEAR(divided((pm_parallel) {.world_size = 4,.accumulation = 1,.tp = 4,.pp = 1,.interleave = 1,.cp = 1}, &f).step_ms,
			   120 * (0.9 / 4 + 0.1) + 2 * 2 * 8 * sum4 + 2, 1e-6);
	CHECK_NEAR(divided((pm_parallel) {.world_size = 4,.accumulation = 1,.tp = 4,.pp = 1,.interleave = 1,.cp = 1,.recompute = true}, &f).step_ms,
			   160 * (0.9 / 4 + 0.1) + 3 * 2 * 8 * sum4 + 2, 1e-6);
	/* what follows the layers is on the last stage, which the others wait for; launches are not divided, and hide the sums */
	shape.head_ms = 12;
	CHECK_NEAR(divided_shape(shape, (pm_parallel) {.world_size = 2,.accumulation = 1,.tp = 1,.pp = 2,.interleave = 1,.cp = 1}, &f).step_ms,
			   2 * (108.0 / 2 + 12 + 2 * hand_over) + 4, 1e-6);
	shape = transformer();
	shape.launch_ms = 100;
	CHECK_NEAR(divided_shape(shape, (pm_parallel) {.world_size = 4,.accumulation = 1,.tp = 4,.pp = 1,.interleave = 1,.cp = 1}, &f).step_ms,
			   100 + 2 * 2 * 8 * 0.03 + 2, 1e-6);
	/* two copies of it sum their gradients, a fourth of them on each GPU, and share the update of 8 ms */
	CHECK_NEAR(divided((pm_parallel) {.world_size = 8,.accumulation = 1,.zero = 1,.tp = 4,.pp = 1,.interleave = 1,.cp = 1}, &f).step_ms,
			   120 * (0.9 / 4 + 0.1) + 2 * 2 * 8 * sum4 + gradients + 4.0 / 4, 1e-6);
	/* while those sums travel, nothing is computed; of four batches, gradients are summed once */
	CHECK_NEAR(divided((pm_parallel) {.world_size = 8,.accumulation = 4,.tp = 4,.pp = 1,.interleave = 1,.cp = 1}, &f).exposed_ms, 4 * 2 * 2 * 8 * sum4 + gradients, 1e-6);
	CHECK_NEAR(divided((pm_parallel) {.world_size = 8,.accumulation = 4,.tp = 4,.pp = 1,.interleave = 1,.cp = 1}, &f).comm_ms, 4 * 2 * 2 * 8 * sum4 + gradients, 1e-6);
}

/* What a predictor says of launches counts if it is more than the least; a part of the work may take more than its part of the time. */
static void
test_small_work(void)
{
	pm_step_shape shape = transformer();
	double		passes_ms = shape.forward_ms + shape.backward_ms;
	double		whole_ms = shape.undivided_ms;
	pm_small_work w = {.cp = 4,.part_share = passes_ms / 3 + shape.update_ms / 4};

	shape.launch_ms = 30;
	pm_small_passes(20, 1, &shape);
	CHECK(shape.launch_ms == 30);
	pm_small_passes(50, 1, &shape);
	CHECK(shape.launch_ms == 50);
	pm_small_passes(500, 1, &shape);
	CHECK(shape.launch_ms == passes_ms && shape.forward_ms + shape.backward_ms == passes_ms);
	/* of a fourth of the samples, passes take a third of the time, and the update a fourth */
	shape.head_ms = 9;
	shape.cheap_whole_ms = 3;
	pm_small_passes(0, pm_small_stretch(&w, 1, &shape), &shape);
	CHECK_NEAR(shape.forward_ms + shape.backward_ms, 4 * passes_ms / 3, 1e-9);
	CHECK_NEAR(shape.head_ms, 12, 1e-9);
	CHECK_NEAR(shape.undivided_ms, 4 * whole_ms / 3, 1e-9);
	CHECK_NEAR(shape.cheap_whole_ms, 4, 1e-9);
	w.part_share = 0;
	CHECK(pm_small_stretch(&w, 1, &shape) == 1);
}

/* An update that adds less to the step than its traffic is less of it; what it had more is in the passes.  Of one that is not known, nothing changes. */
static void
test_small_update(void)
{
	pm_step_shape shape = transformer();
	double		step_ms = shape.step_ms;
	double		update_ms = shape.update_ms;

	shape.head_ms = 9;
	pm_small_update(NAN, &shape);
	pm_small_update(2 * update_ms, &shape);
	CHECK(shape.update_ms == update_ms && shape.head_ms == 9 && shape.step_ms == step_ms);
	pm_small_update(update_ms / 4, &shape);
	CHECK(shape.update_ms == update_ms / 4);
	CHECK_NEAR(shape.step_ms, step_ms, 1e-9);
	CHECK_NEAR(shape.forward_ms + shape.backward_ms, step_ms - update_ms / 4, 1e-9);
	CHECK_NEAR(shape.head_ms, 9 * (step_ms - update_ms / 4) / (step_ms - update_ms), 1e-9);
}

/* Four GPUs a layer that divide the sequence, too: 12 ms of norms and sums are theirs by parts, and each sum is two collectives. */
static void
test_sequence_parallel(void)
{
	pm_step_shape shape = transformer();
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_parallel p = {.world_size = 4,.accumulation = 1,.tp = 4,.pp = 1,.interleave = 1,.cp = 1,.sequence_parallel = true};
	double		gather4 = pm_collective_us(PM_ALL_GATHER, 1e6, 4, 1, &f) / 1000;
	double		both4 = pm_collective_us(PM_REDUCE_SCATTER, 1e6, 4, 1, &f) / 1000 + gather4;

	/* the inputs of two products of each of 8 layers are gathered again, behind a quarter of the 20 ms of the backward pass, at half of the speed */
	f.overlap = 0.5;
	CHECK(16 * gather4 < 2.5);
	CHECK_NEAR(divided(p, &f).step_ms, 120.0 / 4 + 2 * 2 * 8 * both4 + 2, 1e-6);
	CHECK_NEAR(divided(p, &f).exposed_ms, 2 * 2 * 8 * both4, 1e-6);
	CHECK_NEAR(divided(p, &f).comm_ms, 2 * 2 * 8 * both4 + 16 * gather4, 1e-6);
	p.recompute = PM_RECOMPUTE_LAYERS;
	CHECK_NEAR(divided(p, &f).step_ms, 160.0 / 4 + 3 * 2 * 8 * both4 + 2, 1e-6);
	p.recompute = PM_RECOMPUTE_NOTHING;
	/* of large messages, the rest waits */
	shape.activation_bytes = 1e9;
	gather4 = pm_collective_us(PM_ALL_GATHER, 1e9, 4, 1, &f) / 1000;
	both4 = pm_collective_us(PM_REDUCE_SCATTER, 1e9, 4, 1, &f) / 1000 + gather4;
	CHECK(16 * gather4 > 2.5);
	CHECK_NEAR(divided_shape(shape, p, &f).step_ms, 120.0 / 4 + 2 * 2 * 8 * both4 + 16 * gather4 - 2.5 + 2, 1e-6);
	/* five calls in place of two for each of two sums, where the processor is the limit */
	shape = transformer();
	shape.launch_ms = 100;
	CHECK_NEAR(divided_shape(shape, p, &f).step_ms, 100 + 2 * 5 * 8 * 0.03 + 2, 1e-6);
}

/* 6 ms of attention, which launches 3 ms of kernels, are computed again; nothing is summed for them. */
static void
test_attention_again(void)
{
	pm_step_shape shape = transformer();
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_parallel p = {.world_size = 4,.accumulation = 1,.tp = 4,.pp = 1,.interleave = 1,.cp = 1,.recompute = PM_RECOMPUTE_ATTENTION};
	double		sum4 = pm_collective_us(PM_ALL_REDUCE, 1e6, 4, 1, &f) / 1000;
	pm_scaled	s;

	shape.core_ms = 6;
	shape.core_launch_ms = 3;
	s = divided_shape(shape, p, &f);
	CHECK_NEAR(s.step_ms, 114.0 / 4 + 12 + 2 * 2 * 8 * sum4 + 2, 1e-6);
	CHECK_NEAR(s.forward_ms + s.backward_ms + s.update_ms + s.exposed_ms, s.step_ms, 1e-9);
	CHECK_NEAR(s.forward_ms / s.backward_ms, 40.0 / 86, 1e-9);
	shape.launch_ms = 100;
	CHECK_NEAR(divided_shape(shape, p, &f).step_ms, 103 + 2 * 2 * 8 * 0.03 + 2, 1e-6);
	/* one GPU, and copies that train on different samples */
	p.tp = p.world_size = 1;
	CHECK_NEAR(divided_shape(shape, p, &f).step_ms, 134, 1e-9);
	p.world_size = 8;
	f.contention = f.straggler = f.steal = 0;
	CHECK_NEAR(divided_shape(shape, p, &f).compute_ms, 134, 1e-9);
}

/* 16 GPUs on two machines of 8: what the groups of a machine send at the same time shares its adapters. */
static void
test_groups_share_adapters(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	double		sum8 = pm_collective_us(PM_ALL_REDUCE, 1e6, 8, 1, &f) / 1000;
	double		layers = 120 * (0.9 / 8 + 0.1) + 2 * 2 * 8 * sum8;
	double		steps[3];
	const int	adapters[3] = {1, 8, 16};

	for (int i = 0; i < 3; i++)
	{
		pm_fabric	group = f;

		f.adapters = adapters[i];
		/* each of 8 groups has one GPU of a machine: it never uses more than one adapter, and an eighth of a single one */
		group.inter_factor = adapters[i] == 1 ? 1.0 / 8 : 1;
		steps[i] = divided((pm_parallel) {.world_size = 16,.accumulation = 1,.tp = 8,.pp = 1,.interleave = 1,.cp = 1}, &f).step_ms;
		CHECK_NEAR(steps[i], layers + pm_collective_us(PM_ALL_REDUCE, 100e6 / 8, 2, 2, &group) / 1000 + 1, 1e-6);
	}
	CHECK(steps[0] > steps[1] && steps[1] == steps[2]);
	/* four copies of each half of a layer on a machine: both halves send at the same time, and one adapter has half for each */
	{
		pm_fabric	group = f;

		f.adapters = 1;
		group.adapters = 1;
		group.inter_factor = 0.5;
		CHECK_NEAR(divided((pm_parallel) {.world_size = 16,.accumulation = 1,.tp = 2,.pp = 1,.interleave = 1,.cp = 1}, &f).step_ms,
				   120 * (0.9 / 2 + 0.1) + 2 * 2 * 8 * pm_collective_us(PM_ALL_REDUCE, 1e6, 2, 1, &f) / 1000 +
				   pm_collective_us(PM_ALL_REDUCE, 50e6, 8, 2, &group) / 1000 + 4, 1e-6);
	}
	/* all 8 GPUs of a stage send to the next machine at once; of stages of 2 GPUs, only the 2 of the last one */
	for (int wide = 0; wide < 2; wide++)
	{
		pm_parallel p = {.world_size = 16,.accumulation = 4,.tp = wide ? 8 : 2,.pp = wide ? 2 : 8,.interleave = 1,.cp = 1};
		pm_fabric	many = f;
		double		extra[2];

		f.adapters = 1;
		many.adapters = 8;
		for (int k = 0; k < 2; k++)
		{
			pm_fabric	group = k ? many : f;

			group.inter_factor = k ? 1 : 1.0 / p.tp;
			extra[k] = 2 * pm_collective_us(PM_SEND_RECV, 1e6 / p.tp, 2, 2, &group) / 1000 * (4 + p.pp - 1);
		}
		CHECK_NEAR(divided(p, &f).step_ms - divided(p, &many).step_ms, extra[0] - extra[1], 1e-6);
	}
}

/* On more machines than the GPUs need, groups that would be within one send over the network. */
static void
test_divided_spread_out(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_parallel p = {.world_size = 8,.accumulation = 1,.tp = 4,.pp = 1,.interleave = 1,.cp = 1};
	double		sum4 = pm_collective_us(PM_ALL_REDUCE, 1e6, 4, 2, &f) / 1000;
	double		one_machine = divided(p, &f).step_ms;
	double		gradients;

	p.nodes = 1;
	CHECK_EQ(divided(p, &f).step_ms, one_machine);
	/* two GPUs on each: a layer is on two machines, as are the copies of a quarter of it, for which a second group competes */
	p.nodes = 4;
	f.inter_factor = 0.5;
	gradients = pm_collective_us(PM_ALL_REDUCE, 25e6, 2, 2, &f) / 1000;
	f.inter_factor = 1;
	CHECK_NEAR(divided(p, &f).step_ms, 120 * (0.9 / 4 + 0.1) + 2 * 2 * 8 * sum4 + gradients + 2, 1e-6);
	CHECK(divided(p, &f).step_ms > one_machine);
	/* a machine for each GPU: stages hand over by the network */
	p = (pm_parallel) {.world_size = 2,.nodes = 2,.accumulation = 4,.tp = 1,.pp = 2,.interleave = 1,.cp = 1};
	CHECK_NEAR(divided(p, &f).step_ms, 5 * (60 + 2 * pm_collective_us(PM_SEND_RECV, 1e6, 2, 2, &f) / 1000) + 4, 1e-6);
}

/* Of two layers: norms, and what is added to what a layer hands on, are not divided; behind the last norm is the head. */
static void
test_undivided(void)
{
	graph_text	t;
	pm_graph   *g = PM_NEW(&arena, pm_graph, 1);
	pm_skeleton s;
	pm_buckets	b;
	pm_status	st;
	double		whole = 0;
	double		head = 0;
	int			x;

	text_start(&t, "two layers", "two layers");
	x = text_node(&t, "'op':'Input','inputs':[],'shape':[1,16,32],'batch_dim':0");
	for (int l = 0; l < 2; l++)
	{
		int			norm = text_node(&t, "'op':'LayerNormalization','inputs':[%d],'shape':[1,16,32],'batch_dim':0,'weights':[[32],[32]]", x);
		int			scores = text_node(&t, "'op':'MatMul','inputs':[%d],'shape':[1,16,16],'batch_dim':0,'weights':[[32,16]]", norm);
		int			wide = text_node(&t, "'op':'Add','inputs':[%d],'shape':[1,16,16],'batch_dim':0,'weights':[[16]]", scores);
		int			softmax = text_node(&t, "'op':'Softmax','inputs':[%d],'shape':[1,16,16],'batch_dim':0,'attrs':{'axis':2}", wide);
		int			out = text_node(&t, "'op':'MatMul','inputs':[%d],'shape':[1,16,32],'batch_dim':0,'weights':[[16,32]]", softmax);

		x = text_node(&t, "'op':'Add','inputs':[%d,%d],'shape':[1,16,32],'batch_dim':0", x, out);
	}
	x = text_node(&t, "'op':'LayerNormalization','inputs':[%d],'shape':[1,16,32],'batch_dim':0,'weights':[[32],[32]]", x);
	text_node(&t, "'op':'MatMul','inputs':[%d],'shape':[1,16,100],'batch_dim':0,'weights':[[32,100]]", x);
	text_put(&t, "]}");
	if (pm_graph_from_json(t.text, t.len, &arena, g, &st) != PM_OK || pm_skeleton_build(g, true, &arena, &s, &st) != PM_OK ||
		pm_buckets_build(&s, PM_FP32, 25, &arena, &b, &st) != PM_OK)
		make_failed("graph", &st);
	free(t.text);
	for (int i = 0; i < s.n; i++)
	{
		whole += b.whole[i];
		head += b.head[i];
	}
	CHECK_EQ(b.layers, 2);
	CHECK_EQ(whole, 5);
	CHECK_EQ(head, 1);
}

static void
test_divided_refused(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_step_shape s = transformer();
	pm_parallel p = {.world_size = 8,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 8,.interleave = 2,.cp = 1};
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_layers_check(&p, &s, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, "8 layers");
	s.layers = 0;
	CHECK_EQ(pm_layers_check(&p, &s, &st), PM_ERR_OPTION);
	p = (pm_parallel) {.world_size = 8,.accumulation = 1,.bucket_mb = 25,.tp = 3,.pp = 1,.interleave = 1,.cp = 1};
	refused(p, f, "must divide world_size");
	p.tp = 0;
	refused(p, f, "must divide world_size");
	p = (pm_parallel) {.world_size = 8,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 2,.cp = 1};
	refused(p, f, "interleave");
	p = (pm_parallel) {.world_size = 8,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 8,.interleave = 1,.cp = 1,.sequence_parallel = true};
	refused(p, f, "sequence_parallel");
	p = (pm_parallel) {.world_size = 8,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 2,.interleave = 1,.cp = 1,.zero = 3};
	refused(p, f, "zero");
}

/* Messages that are slower while the GPUs compute, and GPUs that share a way out of their machine. */
static void
test_overlap(void)
{
	job			j;
	pm_step_shape shape;
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	pm_parallel p = {.world_size = 4,.accumulation = 1,.bucket_mb = 0.1,.tp = 1,.pp = 1,.interleave = 1,.cp = 1};
	pm_status	st;
	pm_scaled	free,
				slow,
				none;

	make_job(&j, 128, 8, 0.1);
	pm_step_shape_of(&j.buckets, &j.work, 32, 3, &shape);
	CHECK_EQ(pm_parallel_check(&p, &f, &st), PM_OK);
	f.intra_factor = 0.5 * shape.gradient_bytes / shape.backward_ms / 12e6;
	pm_scaled_step(&shape, &p, &f, 1, &free);
	f.overlap = 0.5;
	pm_scaled_step(&shape, &p, &f, 1, &slow);
	f.overlap = 0.01;
	pm_scaled_step(&shape, &p, &f, 1, &none);
	CHECK(free.step_ms < slow.step_ms && slow.step_ms < none.step_ms);
	CHECK_NEAR(free.comm_ms, none.comm_ms, 1e-9);
	/* next to nothing of it is hidden */
	CHECK(none.exposed_ms > 0.9 * none.comm_ms);
	/* 12 GB/s and a tenth of a second a GB for each of four GPUs */
	f.intra_factor = 1;
	f.host_s_per_gb = 0.1;
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, 1e9, 4, 1, &f) - pm_collective_us(PM_ALL_REDUCE, 0.5e9, 4, 1, &f), 1.5 * 0.5e6 * (1 / 12.0 + 0.4), 1);
	/* eight GPUs on PCIe hang on two processors, four on each; over NVLink, all share what they share */
	f.gpus_per_node = 8;
	CHECK_EQ(pm_gpus_of_a_host(&f, 3), 3);
	CHECK_EQ(pm_gpus_of_a_host(&f, 6), 4);
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, 1e9, 8, 1, &f) - pm_collective_us(PM_ALL_REDUCE, 0.5e9, 8, 1, &f), 1.75 * 0.5e6 * (1 / 12.0 + 0.4), 1);
	f.intra.kind = PM_LINK_NVLINK;
	CHECK_EQ(pm_gpus_of_a_host(&f, 6), 6);
	f.gpus_per_node = 4;
	CHECK_EQ(pm_gpus_of_a_host(&f, 4), 4);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_update_part();
	test_buckets();
	test_few_samples();
	test_steps();
	test_order();
	test_shape();
	test_refused();
	test_divided();
	test_small_work();
	test_small_update();
	test_sequence_parallel();
	test_attention_again();
	test_groups_share_adapters();
	test_divided_spread_out();
	test_undivided();
	test_divided_refused();
	test_overlap();
	pm_arena_release(&arena);
	return check_done("scaling");
}
