/*
 * test_sharded.c - steps on several GPUs that divide gradients, states and
 * weights, and the messages that these travel in.
 */
#include "make_cluster.h"

/*
 * Two buckets on four GPUs by hand: 30 ms forward, of which a third is the first bucket's; 20 and 40 ms backward; 10 ms
 * for the update, a fourth of them on each GPU.
 */
static void
test_timeline(void)
{
	const pm_step_shape s = {.n = 2,.message_bytes = 1e12,.gradient_bytes = 3e9,.step_ms = 100,.forward_ms = 30,.backward_ms = 60,.update_ms = 10,
	.bytes = {1e9, 2e9},.bucket_ms = {20, 40}};
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_parallel p = {.world_size = 4,.nodes = 1,.accumulation = 1,.zero = 1,.bucket_mb = 1e6,.tp = 1,.pp = 1,.interleave = 1,.cp = 1};
	double		gather[2];
	double		sum[2];
	double		all;
	pm_scaled	to;

	for (int slow = 0; slow <= 1; slow++)
	{
		f.intra_factor = slow ? 0.01 : 1;
		for (int k = 0; k < 2; k++)
		{
			gather[k] = pm_collective_us(PM_ALL_GATHER, s.bytes[k], 4, 1, &f) / 1000;
			sum[k] = pm_collective_us(PM_REDUCE_SCATTER, s.bytes[k], 4, 1, &f) / 1000;
		}
		/* divided gradients are summed behind the backward pass or while it lasts, and the new weights sent after it, all in one message */
		p.zero = 2;
		p.accumulation = 1;
		all = pm_collective_us(PM_REDUCE_SCATTER, 3e9, 4, 1, &f) / 1000;
		pm_scaled_step(&s, &p, &f, 1, &to);
		CHECK_NEAR(to.step_ms, 30 + (slow ? 20 + all / 3 : 60) + all * 2 / 3 + 2.5 + pm_collective_us(PM_ALL_GATHER, 3e9, 4, 1, &f) / 1000, 1e-9);
		/* divided weights: a bucket is computed when it has been gathered, in the forward pass the last one first */
		p.zero = 3;
		p.accumulation = 3;
		pm_scaled_step(&s, &p, &f, 1, &to);
		if (slow)				/* the link never rests until the last sum but for the first bucket's part of the forward pass */
			CHECK_NEAR(to.step_ms, 3 * (gather[1] + gather[0] + 10 + gather[0] + gather[1] + sum[0] + sum[1]) + 2.5, 1e-9);
		else					/* only the first gathering of each pass and the last sum keep the GPUs waiting */
			CHECK_NEAR(to.step_ms, 3 * (gather[1] + 30 + gather[0] + 60 + sum[1]) + 2.5, 1e-9);
		CHECK_NEAR(to.comm_ms, 3 * (2 * (gather[0] + gather[1]) + sum[0] + sum[1]), 1e-9);
	}
}

/* Two buckets of 1 GB on 8 GPUs: an all-gather or reduce-scatter takes 0.875 / 230 s, all sums of gradients twice that. */
static pm_scaled
two_buckets(int zero, double overlap, int world_size)
{
	pm_step_shape s = {.n = 2,.message_bytes = 1e9,.gradient_bytes = 2e9,.step_ms = 96,.forward_ms = 30,.backward_ms = 60,.update_ms = 6,
	.bytes = {1e9, 1e9},.bucket_ms = {20, 40}};
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_parallel p = {.world_size = world_size,.accumulation = 1,.zero = zero,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1};
	pm_status	st;
	pm_scaled	to;

	f.latency_factor = 0;
	f.overlap = overlap;
	CHECK_EQ(pm_parallel_check(&p, &f, &st), PM_OK);
	pm_scaled_step(&s, &p, &f, 1, &to);
	return to;
}

/* What travels while GPUs compute is slower by `overlap`, whatever is divided among them. */
static void
test_sharded_overlap(void)
{
	double		one = 0.875e3 / 230;	/* ms of a bucket, 3.8 */

	/* gathers but the first of each pass, and the first sum, hide behind computing; the last sum follows it */
	CHECK_NEAR(two_buckets(3, 1, 8).step_ms, one + 30 + one + 60 + one + 6 / 8.0, 1e-6);
	/* half as fast, the second gather of the forward pass takes 7.6 of the 20 ms, and so on */
	CHECK_NEAR(two_buckets(3, 0.5, 8).step_ms, one + 30 + one + 60 + one + 6 / 8.0, 1e-6);
	/* a tenth as fast, 20 ms of the forward pass carry 2 of 3.8 ms, 20 of the backward pass as much; the sum still hides behind 40 */
	CHECK_NEAR(two_buckets(3, 0.1, 8).step_ms, one + 30 + (one - 2) + one + 60 + (one - 2) + one + 6 / 8.0, 1e-6);
	for (int zero = 0; zero <= 3; zero++)
		CHECK(two_buckets(zero, 0.05, 8).step_ms > two_buckets(zero, 1, 8).step_ms);
}

/* On many GPUs, dividing the states sends as much as not, in messages large enough that a ring of them all does not matter. */
static void
test_joined_buckets(void)
{
	pm_step_shape s = {.n = 40,.message_bytes = 25e6,.gradient_bytes = 1e9,.step_ms = 300,.forward_ms = 100,.backward_ms = 200};
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_scaled	plain,
				divided;
	pm_parallel p = {.world_size = 1024,.accumulation = 1,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1};
	pm_status	st;

	for (int k = 0; k < s.n; k++)
	{
		s.bytes[k] = 25e6;
		s.bucket_ms[k] = 5;
	}
	CHECK_EQ(pm_parallel_check(&p, &f, &st), PM_OK);
	pm_scaled_step(&s, &p, &f, 1, &plain);
	for (p.zero = 1; p.zero <= 2; p.zero++)
	{
		pm_scaled_step(&s, &p, &f, 1, &divided);
		CHECK(divided.comm_ms < 1.1 * plain.comm_ms);
	}
	/* 40 buckets of a 40th of one message */
	CHECK_NEAR(divided.comm_ms, (pm_collective_us(PM_REDUCE_SCATTER, 1e9, 1024, 128, &f) + pm_collective_us(PM_ALL_GATHER, 1e9, 1024, 128, &f)) / 1000,
			   1e-6 * divided.comm_ms);
}

/* In 16 bits, gradients take half of the time, with zero 3 weights, too; what has 16 bits already takes no less. */
static void
test_16_bits(void)
{
	pm_step_shape s = {.n = 2,.message_bytes = 1e6,.gradient_bytes = 2e9,.step_ms = 90,.forward_ms = 30,.backward_ms = 60,.bytes = {1e9, 1e9},.bucket_ms = {30, 30}};
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);

	f.latency_factor = 0;
	for (int zero = 0; zero <= 3; zero += 3)
	{
		pm_parallel p = {.world_size = 8,.nodes = 1,.accumulation = 1,.zero = zero,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1};
		pm_scaled	wide;
		pm_scaled	half;
		pm_scaled	narrow;

		s.narrow = false;
		pm_scaled_step(&s, &p, &f, 1, &wide);
		p.compress = true;
		pm_scaled_step(&s, &p, &f, 1, &half);
		CHECK_NEAR(half.comm_ms, wide.comm_ms / 2, 1e-9 * wide.comm_ms);
		s.narrow = true;
		pm_scaled_step(&s, &p, &f, 1, &narrow);
		CHECK_NEAR(narrow.comm_ms, wide.comm_ms, 1e-9 * wide.comm_ms);
	}
}

/* With zero 3, a message has the weights of a layer of a transformer. */
static void
test_messages_of_layers(void)
{
	pm_step_shape s = {.n = 1,.message_bytes = 1e6,.gradient_bytes = 1e9,.step_ms = 90,.forward_ms = 30,.backward_ms = 60,.bytes = {1e9},.bucket_ms = {60}};
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_parallel p = {.world_size = 8,.nodes = 1,.accumulation = 1,.zero = 3,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1};
	pm_scaled	by_size;
	pm_scaled	by_layer;

	pm_scaled_step(&s, &p, &f, 1, &by_size);
	s.layers = 10;
	pm_scaled_step(&s, &p, &f, 1, &by_layer);
	/* 1,000 messages of 1 MB become 10: gathered twice, scattered once, with half of the fixed time of an all-reduce each */
	CHECK_NEAR(by_size.comm_ms - by_layer.comm_ms, 3 * 990 * (80 + 8.4) / 2 / 1000, 1e-6);
	/* gradients of replicas travel in buckets all the same */
	p.zero = 0;
	pm_scaled_step(&s, &p, &f, 1, &by_layer);
	s.layers = 0;
	pm_scaled_step(&s, &p, &f, 1, &by_size);
	CHECK_EQ(by_size.comm_ms, by_layer.comm_ms);
}

int
main(void)
{
	test_timeline();
	test_sharded_overlap();
	test_joined_buckets();
	test_16_bits();
	test_messages_of_layers();
	return check_done("sharded");
}
