/*
 * test_layouts.c - who sends to whom: sequences and experts that GPUs share, weights
 * that are divided beside layers, and weights that are divided by groups.
 */
#include "make_cluster.h"

#include "scaling/context.h"
#include "scaling/expert_parallel.h"
#include "scaling/groups.h"

/* 8 layers; 40 ms forward and 80 backward, a fifth of them attention; 8 for the update; 100 MB of gradients in one bucket. */
static pm_step_shape
transformer(void)
{
	return (pm_step_shape) {
		.n = 1, .message_bytes = 200e6, .layers = 8, .activation_bytes = 16e6, .kv_bytes = 4e6, .gradient_bytes = 100e6, .step_ms = 128,
		.forward_ms = 40, .backward_ms = 80, .update_ms = 8, .again_ms = 40, .attend_ms = 8, .attend_backward_ms = 16, .bytes = {100e6}, .bucket_ms = {80}
	};
}

static pm_scaled
step_of(pm_step_shape s, pm_parallel p, const pm_fabric *f)
{
	pm_status	st = {PM_OK};
	pm_scaled	to;

	p.bucket_mb = 25;
	p.interleave = p.interleave > 0 ? p.interleave : 1;
	CHECK_EQ(pm_parallel_check(&p, f, &st), PM_OK);
	CHECK_EQ(pm_layers_check(&p, &s, &st), PM_OK);
	pm_scaled_step(&s, &p, f, 1, &to);
	CHECK_NEAR(to.step_ms, to.compute_ms + to.exposed_ms, 1e-6);
	CHECK_NEAR(to.forward_ms + to.backward_ms + to.update_ms + to.contention_ms + to.bubble_ms, to.compute_ms, 1e-6);
	return to;
}

static double
ms(const pm_fabric *f, pm_collective op, double bytes, int n, int nodes)
{
	return pm_collective_us(op, bytes, n, nodes, f) / 1000;
}

/* Four GPUs a sequence: a fourth of the passes each, keys and values behind attention, and all sum their gradients. */
static void
test_context(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	double		sum = ms(&f, PM_ALL_REDUCE, 100e6, 4, 1);
	double		gather;
	double		scatter;
	pm_scaled	s = step_of(transformer(), (pm_parallel) {.world_size = 4,.accumulation = 1,.tp = 1,.pp = 1,.cp = 4}, &f);

	CHECK_NEAR(s.step_ms, 30 + sum + 8, 1e-6);
	/* a slow link: what is left behind 2 ms of attention forward and 4 backward */
	f.intra_factor = 0.01;
	sum = ms(&f, PM_ALL_REDUCE, 100e6, 4, 1);
	gather = 8 * ms(&f, PM_ALL_GATHER, 4e6, 4, 1);
	scatter = 8 * ms(&f, PM_REDUCE_SCATTER, 4e6, 4, 1);
	CHECK(gather > 2 && gather + scatter > 4);
	s = step_of(transformer(), (pm_parallel) {.world_size = 4,.accumulation = 1,.tp = 1,.pp = 1,.cp = 4}, &f);
	CHECK_NEAR(s.step_ms, 30 + gather - 2 + gather + scatter - 4 + sum + 8, 1e-6);
	CHECK_NEAR(s.comm_ms, 2 * gather + scatter + sum, 1e-6);
	CHECK_NEAR(s.compute_ms, 38, 1e-6);
	/* computed again, attention needs them again */
	s = step_of(transformer(), (pm_parallel) {.world_size = 4,.accumulation = 1,.tp = 1,.pp = 1,.cp = 4,.recompute = PM_RECOMPUTE_LAYERS}, &f);
	CHECK_NEAR(s.comm_ms, 3 * gather + scatter + sum, 1e-6);
	CHECK_NEAR(s.step_ms, 40 + 2 * (gather - 2) + gather + scatter - 4 + sum + 8, 1e-6);
	/* two GPUs a sequence and two a layer: each GPU of a layer has its heads */
	gather = 8 * ms(&f, PM_ALL_GATHER, 2e6, 2, 1);
	scatter = 8 * ms(&f, PM_REDUCE_SCATTER, 2e6, 2, 1);
	s = step_of(transformer(), (pm_parallel) {.world_size = 4,.accumulation = 1,.tp = 2,.pp = 1,.cp = 2}, &f);
	CHECK_NEAR(s.step_ms, 30 + 2 * 2 * 8 * ms(&f, PM_ALL_REDUCE, 8e6, 2, 1) + gather - 2 + gather + scatter - 4 + ms(&f, PM_ALL_REDUCE, 50e6, 2, 1) + 4, 1e-6);
	CHECK_NEAR(s.exposed_ms, s.step_ms - 34, 1e-6);
}

/* However short the sequence of each, kernels are launched. */
static void
test_context_launches(void)
{
	pm_step_shape s = transformer();
	pm_step_shape part;

	s.launch_ms = 60;
	pm_context_shape(&s, 4, &part);
	CHECK_NEAR(part.forward_ms, 20, 1e-9);
	CHECK_NEAR(part.backward_ms, 40, 1e-9);
	CHECK_NEAR(part.bucket_ms[0], 40, 1e-9);
	CHECK_NEAR(part.step_ms, 68, 1e-9);
	CHECK_NEAR(part.activation_bytes, 4e6, 1e-3);
	pm_context_shape(&s, 2, &part);
	CHECK_NEAR(part.step_ms, 68, 1e-9);
	pm_context_shape(&s, 1, &part);
	CHECK_NEAR(part.step_ms, s.step_ms, 1e-9);
}

/* Two machines of four GPUs: each machine divides the weights, and its sums of gradients are summed over both, a part on each GPU. */
static void
test_shard(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 4);
	pm_fabric	shared = f;
	double		gather = ms(&f, PM_ALL_GATHER, 100e6, 4, 1);
	double		scatter = ms(&f, PM_REDUCE_SCATTER, 100e6, 4, 1);
	double		across;
	pm_scaled	s;
	pm_scaled	whole;

	/* the four GPUs of a machine send over its one adapter at the same time */
	shared.inter_factor = 0.25;
	across = ms(&shared, PM_ALL_REDUCE, 25e6, 2, 2);
	s = step_of(transformer(), (pm_parallel) {.world_size = 8,.accumulation = 1,.zero = 3,.tp = 1,.pp = 1,.cp = 1,.shard = 4}, &f);
	CHECK_NEAR(s.step_ms, gather + 40 + gather + 80 + scatter + across + 2, 1e-6);
	/* new weights come from the machine's own GPUs */
	s = step_of(transformer(), (pm_parallel) {.world_size = 8,.accumulation = 1,.zero = 1,.tp = 1,.pp = 1,.cp = 1,.shard = 4}, &f);
	CHECK_NEAR(s.step_ms, 120 + scatter + across + 2 + gather, 1e-6);
	/* a group of all is no group */
	for (int zero = 1; zero <= 3; zero++)
	{
		s = step_of(transformer(), (pm_parallel) {.world_size = 8,.accumulation = 2,.zero = zero,.tp = 1,.pp = 1,.cp = 1,.shard = 8}, &f);
		whole = step_of(transformer(), (pm_parallel) {.world_size = 8,.accumulation = 2,.zero = zero,.tp = 1,.pp = 1,.cp = 1}, &f);
		CHECK_EQ(s.step_ms, whole.step_ms);
	}
}

/* Weights divided among four copies of two GPUs a layer, which send half of them: passes, sums of the layers and messages one by one. */
static void
test_zero_3_with_tp(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	double		sums = 2 * 2 * 8 * ms(&f, PM_ALL_REDUCE, 16e6, 2, 1);
	double		gather = ms(&f, PM_ALL_GATHER, 50e6, 4, 1);
	double		scatter = ms(&f, PM_REDUCE_SCATTER, 50e6, 4, 1);
	pm_parallel p = {.world_size = 8,.accumulation = 1,.zero = 3,.tp = 2,.pp = 1,.cp = 1};
	pm_scaled	s = step_of(transformer(), p, &f);

	CHECK_NEAR(s.step_ms, 60 + sums + 2 * gather + scatter + 1, 1e-6);
	CHECK_NEAR(s.comm_ms, sums + 2 * gather + scatter, 1e-6);
	CHECK_NEAR(s.compute_ms, 61, 1e-6);
	p.accumulation = 3;
	s = step_of(transformer(), p, &f);
	CHECK_NEAR(s.step_ms, 3 * (60 + sums + 2 * gather + scatter) + 1, 1e-6);
	/* a third pass, with its sums */
	p.recompute = PM_RECOMPUTE_LAYERS;
	s = step_of(transformer(), p, &f);
	CHECK_NEAR(s.step_ms, 3 * (80 + 1.5 * sums + 2 * gather + scatter) + 1, 1e-6);
	CHECK_NEAR(s.comm_ms, 3 * (1.5 * sums + 2 * gather + scatter), 1e-6);
}

/* The same model, of which 60 MB of gradients are of experts in 4 of the layers. */
static pm_step_shape
mixture(void)
{
	pm_step_shape s = transformer();

	s.expert_layers = 4;
	s.sent_bytes = s.returned_bytes = 4 * 32e6;
	s.expert_bytes = s.expert[0] = 60e6;
	return s;
}

/* Eight copies of which each four divide the experts: two have the same. Tokens go there and back in both passes, and nothing is computed meanwhile. */
static void
test_experts(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	double		messages = 2 * 4 * 2 * ms(&f, PM_ALL_TO_ALL, 32e6, 4, 1);
	double		sum = ms(&f, PM_ALL_REDUCE, 40e6, 8, 1) + ms(&f, PM_ALL_REDUCE, 60e6, 2, 1);
	double		parts = 8 / (1 + 0.6 * 3);
	pm_parallel p = {.world_size = 8,.accumulation = 1,.tp = 1,.pp = 1,.cp = 1,.ep = 4};
	pm_scaled	s = step_of(mixture(), p, &f);

	CHECK_NEAR(s.step_ms, 128 + messages + sum, 1e-6);
	CHECK_NEAR(s.comm_ms, messages + sum, 1e-6);
	CHECK_NEAR(s.exposed_ms, messages + sum, 1e-6);
	p.recompute = PM_RECOMPUTE_LAYERS;
	CHECK_NEAR(step_of(mixture(), p, &f).comm_ms, 1.5 * messages + sum, 1e-6);
	p.recompute = PM_RECOMPUTE_NOTHING;
	p.accumulation = 3;
	CHECK_NEAR(step_of(mixture(), p, &f).comm_ms, 3 * messages + sum, 1e-6);
	/* states are divided among the copies of each weight */
	p.accumulation = 1;
	p.zero = 1;
	s = step_of(mixture(), p, &f);
	CHECK_NEAR(s.update_ms, 8 / parts, 1e-9);
	CHECK_NEAR(pm_updaters(&p, 100e6, 60e6), 1 / (0.4 / 8 + 0.6 / 2), 1e-9);
	p.zero = 3;
	s = step_of(mixture(), p, &f);
	CHECK_NEAR(s.comm_ms, messages + 2 * (ms(&f, PM_ALL_GATHER, 40e6, 8, 1) + ms(&f, PM_ALL_GATHER, 60e6, 2, 1)) + ms(&f, PM_REDUCE_SCATTER, 40e6, 8, 1) +
			   ms(&f, PM_REDUCE_SCATTER, 60e6, 2, 1), 1e-6);
	/* two GPUs a sequence send half of the tokens; one copy of each expert */
	p = (pm_parallel) {.world_size = 8,.accumulation = 1,.tp = 1,.pp = 1,.cp = 2,.ep = 8};
	s = step_of(mixture(), p, &f);
	CHECK_NEAR(s.exposed_ms, 2 * 4 * 2 * ms(&f, PM_ALL_TO_ALL, 16e6, 8, 1) + ms(&f, PM_ALL_REDUCE, 40e6, 8, 1), 1e-6);
	CHECK_EQ(pm_least_gpus(&p), 8);
	p = (pm_parallel) {.tp = 2,.pp = 3,.cp = 4,.ep = 6};
	CHECK_EQ(pm_least_gpus(&p), 2 * 3 * 12);
}

/* Beside layers and stages that GPUs share: each GPU of a layer sends its part, and what the layer's GPUs sum is as long as what the experts read. */
static void
test_experts_divided(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_parallel p = {.world_size = 8,.accumulation = 2,.zero = 1,.tp = 2,.pp = 1,.cp = 1,.ep = 4};
	double		sums = 2 * 8 * 2 * ms(&f, PM_ALL_REDUCE, 16e6, 2, 1) + 2 * 4 * (ms(&f, PM_ALL_REDUCE, 32e6, 2, 1) - ms(&f, PM_ALL_REDUCE, 16e6, 2, 1));
	double		messages = 2 * 4 * 2 * ms(&f, PM_ALL_TO_ALL, 16e6, 4, 1);
	pm_scaled	s = step_of(mixture(), p, &f);
	pm_scaled	before;

	CHECK_NEAR(s.step_ms, 2 * (60 + sums + messages) + ms(&f, PM_ALL_REDUCE, 20e6, 4, 1) + 8.0 / 2 * (0.4 / 4 + 0.6), 1e-6);
	p.zero = 3;
	CHECK_NEAR(step_of(mixture(), p, &f).update_ms, 8.0 / 2 * (0.4 / 4 + 0.6), 1e-6);
	/* experts that are whole, among the GPUs of two layers: nothing is summed behind them, and of each there are two copies */
	p = (pm_parallel) {.world_size = 8,.accumulation = 1,.zero = 1,.tp = 2,.pp = 1,.cp = 1,.ep = 4,.etp = 1};
	sums = 2 * (8 * 2 - 4) * ms(&f, PM_ALL_REDUCE, 16e6, 2, 1) + 2 * 4 * ms(&f, PM_ALL_GATHER, 16e6, 2, 1);
	s = step_of(mixture(), p, &f);
	CHECK_NEAR(s.step_ms, 60 + sums + messages + ms(&f, PM_ALL_REDUCE, 20e6, 4, 1) + ms(&f, PM_ALL_REDUCE, 30e6, 2, 1) + 8.0 / 2 * (0.4 / 4 + 0.6 / 2), 1e-6);
	CHECK_NEAR(s.exposed_ms, s.comm_ms, 1e-6);
	CHECK_EQ(pm_least_gpus(&p), 4);
	p.sequence_parallel = true;
	before = step_of(mixture(), (pm_parallel) {.world_size = 8,.accumulation = 1,.zero = 1,.tp = 2,.pp = 1,.cp = 1,.sequence_parallel = true}, &f);
	CHECK_NEAR(step_of(mixture(), p, &f).comm_ms - before.comm_ms, messages - 2 * 4 * (ms(&f, PM_ALL_GATHER, 16e6, 2, 1) + ms(&f, PM_REDUCE_SCATTER, 16e6, 2, 1)) +
			   ms(&f, PM_ALL_REDUCE, 20e6, 4, 1) + ms(&f, PM_ALL_REDUCE, 30e6, 2, 1) - ms(&f, PM_ALL_REDUCE, 50e6, 4, 1), 1e-6);
	/* etp that is tp says nothing */
	p.etp = 2;
	before = step_of(mixture(), p, &f);
	p.etp = 0;
	CHECK_EQ(step_of(mixture(), p, &f).step_ms, before.step_ms);
	/* half of the layers, half of their messages */
	p = (pm_parallel) {.world_size = 8,.accumulation = 1,.tp = 1,.pp = 2,.cp = 1,.ep = 4};
	before = step_of(mixture(), (pm_parallel) {.world_size = 8,.accumulation = 1,.tp = 1,.pp = 2,.cp = 1}, &f);
	s = step_of(mixture(), p, &f);
	CHECK_NEAR(s.comm_ms - before.comm_ms, 2 * 2 * 2 * ms(&f, PM_ALL_TO_ALL, 32e6, 4, 1) + ms(&f, PM_ALL_REDUCE, 20e6, 4, 1) - ms(&f, PM_ALL_REDUCE, 50e6, 4, 1), 1e-6);
	/* a single GPU for them is none */
	p.ep = 1;
	CHECK_EQ(step_of(mixture(), p, &f).step_ms, before.step_ms);
}

/* What was updated in parts is sent in 16 bits. */
static void
test_master_weights(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_parallel p = {.world_size = 8,.accumulation = 1,.zero = 1,.tp = 1,.pp = 1,.cp = 1,.master_weights = true};
	pm_step_shape narrow = transformer();

	CHECK_NEAR(step_of(transformer(), p, &f).step_ms, 120 + ms(&f, PM_REDUCE_SCATTER, 100e6, 8, 1) + 1 + ms(&f, PM_ALL_GATHER, 50e6, 8, 1), 1e-6);
	/* divided weights, too; and with gradients of 16 bits, the update moves twice as much as one of 16 bits */
	p.zero = 3;
	CHECK_NEAR(step_of(transformer(), p, &f).step_ms, 120 + 2 * ms(&f, PM_ALL_GATHER, 50e6, 8, 1) + ms(&f, PM_REDUCE_SCATTER, 100e6, 8, 1) + 1, 1e-6);
	narrow.narrow = true;
	p.zero = 0;
	CHECK_NEAR(step_of(narrow, p, &f).step_ms, 120 + ms(&f, PM_ALL_REDUCE, 100e6, 8, 1) + 16, 1e-6);
	CHECK_NEAR(step_of(narrow, (pm_parallel) {.world_size = 1,.accumulation = 1,.tp = 1,.pp = 1,.cp = 1,.master_weights = true}, &f).step_ms, 136, 1e-6);
	p.zero = 1;
	p.tp = 2;
	CHECK_NEAR(step_of(transformer(), p, &f).step_ms, 60 + 2 * 2 * 8 * ms(&f, PM_ALL_REDUCE, 16e6, 2, 1) + ms(&f, PM_ALL_REDUCE, 37.5e6, 4, 1) + 1, 1e-6);
}

static void
refused(pm_parallel p, const char *message)
{
	pm_status	st = {PM_OK};

	p.accumulation = p.interleave = 1;
	p.bucket_mb = 25;
	CHECK_EQ(pm_parallel_check_numbers(&p, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, message);
}

static void
test_refused(void)
{
	pm_step_shape s = {.layers = 0};
	pm_parallel p = {.world_size = 8,.tp = 1,.pp = 1,.cp = 2};
	pm_status	st = {PM_OK};

	refused((pm_parallel) {.world_size = 8,.tp = 2,.pp = 1,.cp = 3}, "2 times 1 times 3 does not divide 8");
	refused((pm_parallel) {.world_size = 8,.tp = 1,.pp = 1,.cp = 0}, "must divide world_size");
	refused((pm_parallel) {.world_size = 8,.tp = 1024,.pp = 1024,.cp = 1024}, "must divide world_size");
	refused((pm_parallel) {.world_size = 8,.zero = 3,.tp = 2,.pp = 1,.cp = 1,.shard = 3}, "3 does not divide 4");
	refused((pm_parallel) {.world_size = 8,.zero = 3,.tp = 1,.pp = 1,.cp = 1,.shard = -4}, "shard must divide");
	refused((pm_parallel) {.world_size = 8,.tp = 1,.pp = 1,.cp = 1,.shard = 4}, "shard needs zero");
	refused((pm_parallel) {.world_size = 8,.tp = 2,.pp = 1,.cp = 1,.ep = 8}, "8 does not divide 4");
	refused((pm_parallel) {.world_size = 8,.tp = 1,.pp = 1,.cp = 1,.ep = -2}, "ep must divide");
	refused((pm_parallel) {.world_size = 8,.zero = 3,.tp = 1,.pp = 1,.cp = 1,.ep = 2,.shard = 4}, "ep together with shard");
	refused((pm_parallel) {.world_size = 8,.tp = 4,.pp = 1,.cp = 1,.ep = 16,.etp = 1}, "16 does not divide 8");
	refused((pm_parallel) {.world_size = 8,.tp = 4,.pp = 1,.cp = 1,.ep = 2,.etp = 1}, "2 is none of 4");
	refused((pm_parallel) {.world_size = 8,.tp = 4,.pp = 1,.cp = 1,.ep = 2,.etp = 2}, "etp must be 1 or tp (4), not 2");
	refused((pm_parallel) {.world_size = 8,.tp = 4,.pp = 1,.cp = 1,.etp = 1}, "etp needs ep");
	CHECK_EQ(pm_layers_check(&p, &s, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, "tp, pp and cp");
	p.master_weights = true;
	CHECK_EQ(pm_masters_check(&p, PM_TF32, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, "master_weights");
	CHECK_EQ(pm_masters_check(&p, PM_AMP, &st), PM_OK);
}

int
main(void)
{
	test_context();
	test_context_launches();
	test_shard();
	test_zero_3_with_tp();
	test_experts();
	test_experts_divided();
	test_master_weights();
	test_refused();
	return check_done("layouts");
}
