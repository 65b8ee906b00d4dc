/*
 * test_memory_passes.c - what the passes of a step make and keep, operator by
 * operator, and the simpler methods that estimates are compared with.
 */
#include "check.h"
#include "memory/calibrate.h"
#include "memory/keeps.h"
#include "memory/peak.h"
#include "memory/rivals.h"
#include "memory/breakdown.h"
#include "memory/step.h"
#include "graph/op_catalogue.h"
#include "memory_graphs.h"

/* Bytes of all tensors of a role that a step of these nodes makes, in FP32 with one sample. */
static double
made(const char *nodes, pm_memory_role role, bool on_cpu)
{
	double		bytes = 0;
	pm_step		s;

	load(nodes);
	s = simulate((pm_step_options) {.dtype = PM_FP32, .optimizer = PM_OPT_NONE, .on_cpu = on_cpu});
	for (int t = 0; t < s.n_tensors; t++)
		if (s.tensors[t].role == role)
			bytes += pm_memory_tensor_bytes(&s.tensors[t], 1);
	return bytes;
}

#define SECOND_CONV \
	"{'id':0,'op':'Input','inputs':[],'shape':[1,3,8,8],'batch_dim':0}," \
	"{'id':1,'op':'Conv','inputs':[0],'shape':[1,16,8,8],'batch_dim':0,'attrs':{'kernel_shape':[3,3],'pads':[1,1]},'weights':[[16,3,3,3]]}," \
	"{'id':2,'op':'Conv','inputs':[1],'shape':[1,16,8,8],'batch_dim':0,'attrs':{'kernel_shape':[3,3],'pads':[1,1]},'weights':[[16,16,3,3]]}"
#define POOLED ",{'id':3,'op':'GlobalAveragePool','inputs':[2],'shape':[1,16,1,1],'batch_dim':0},"

/* A convolution whose data have a gradient, on a CPU: copies of data, kernel and result forward, and of three of them for each gradient. */
static void
test_cpu_data(void)
{
	const double map = 4 * 16 * 8 * 8;
	const double first = 4 * 16 * 3 * 9;
	const double second = 4 * 16 * 16 * 9;

	CHECK_EQ(made(SECOND_CONV, PM_MEMORY_WORKSPACE, true), 2 * first + 2 * map + 3 * second + 6 * map);
}

/* An addition hands its gradient on, summed where an operand is smaller; a product makes one for each factor, as large as itself before it is summed. */
static void
test_gradients_of_operands(void)
{
	const double map = 4 * 16 * 8 * 8;
	double		sum = made(SECOND_CONV POOLED "{'id':4,'op':'Add','inputs':[2,3],'shape':[1,16,8,8],'batch_dim':0}", PM_MEMORY_FLOW, false);
	double		product = made(SECOND_CONV POOLED "{'id':4,'op':'Mul','inputs':[2,3],'shape':[1,16,8,8],'batch_dim':0}", PM_MEMORY_FLOW, false);
	double		alike = made(SECOND_CONV ",{'id':3,'op':'Add','inputs':[2,1],'shape':[1,16,8,8],'batch_dim':0}", PM_MEMORY_FLOW, false);
	double		none = made(SECOND_CONV, PM_MEMORY_FLOW, false);

	CHECK_EQ(product - sum, 2 * map);
	/* two gradients of the first output meet: a tensor for their sum, since one is still that of the addition */
	CHECK_EQ(alike - none, map);
}

/* Activations before the backward pass of one sample, in FP32. */
static double
kept(const char *nodes, bool fused_attention)
{
	pm_step		s;

	load(nodes);
	s = simulate((pm_step_options) {.dtype = PM_FP32, .optimizer = PM_SGD, .fused_attention = fused_attention});
	return held_before(&s, PM_PHASE_BACKWARD, PM_MEMORY_ACTIVATIONS, 1);
}

/* What layers keep besides tensors of the graph: states of recurrent ones, and a number a row and head of attention. */
static void
test_reserve(void)
{
#define TOKENS "{'id':0,'op':'Input','inputs':[],'shape':[1,16,32],'batch_dim':0}," \
	"{'id':1,'op':'Gemm','inputs':[0],'shape':[1,16,64],'batch_dim':0,'weights':[[64,32]]},"
	double		one = kept(TOKENS "{'id':2,'op':'LSTM','inputs':[1],'shape':[1,16,64],'batch_dim':0,'attrs':{'hidden_size':64,'num_layers':1}}", true);
	double		three = kept(TOKENS "{'id':2,'op':'LSTM','inputs':[1],'shape':[1,16,64],'batch_dim':0,'attrs':{'hidden_size':64,'num_layers':3}}", true);
	double		both = kept(TOKENS "{'id':2,'op':'LSTM','inputs':[1],'shape':[1,16,64],'batch_dim':0,"
							"'attrs':{'hidden_size':32,'num_layers':1,'direction':'bidirectional'}}", true);
	double		apart = kept(TOKENS "{'id':2,'op':'Reshape','inputs':[1],'shape':[1,8,16,8],'batch_dim':0,'view':true},"
							 "{'id':3,'op':'Attention','inputs':[2,2,2],'shape':[1,8,16,8],'batch_dim':0}", true);
	double		eight = kept(TOKENS "{'id':2,'op':'Attention','inputs':[1,1,1],'shape':[1,16,64],'batch_dim':0,'attrs':{'num_heads':8}}", true);
	double		two = kept(TOKENS "{'id':2,'op':'Attention','inputs':[1,1,1],'shape':[1,16,64],'batch_dim':0,'attrs':{'num_heads':2}}", true);

	/* four gates, cell and hidden state of each of 16 steps and 64 units; half as many units in two directions are as many */
	CHECK_EQ(three - one, 2 * 4 * 6 * 16 * 64);
	CHECK_EQ(both, one);
	/* heads count wherever they are told */
	CHECK_EQ(eight - two, 4 * 16 * (8 - 2));
	CHECK_EQ(apart, eight);
}

/* Sums of bytes that rivals of the simulation know, in MiB: of weights, of states and gradients, of all outputs. */
static void
test_sums(void)
{
	const double weights = 4 * (16 * 3 * 9 + 16 * 16 * 9);
	const double map = 4 * 16 * 8 * 8;
	const double image = 4 * 3 * 8 * 8;
	pm_step_options o = {.dtype = PM_FP32, .optimizer = PM_ADAM};
	pm_memory_factors shipped = {.context_mb = 500};
	pm_memory_rival_row row;
	pm_question q = {.batch = 7};
	pm_memory_sample sample;
	pm_memory_plan plan;
	pm_status	st;

	load(SECOND_CONV);
	CHECK_EQ(pm_memory_plan_make(&graph, &o, &arena, &plan, &st), PM_OK);
	pm_memory_rival_row_at(&plan, 7, &row);
	/* data and result of the second convolution */
	pm_memory_sample_at(&plan, &q, &sample);
	CHECK_NEAR(sample.conv, 7 * 2 * map / 1048576, 1e-9);
	CHECK_NEAR(row.weights, weights / 1048576, 1e-9);
	CHECK_NEAR(row.states, 3 * weights / 1048576, 1e-9);
	/* the image counts as the output of its node */
	CHECK_NEAR(row.outputs, 7 * (image + 2 * map) / 1048576, 1e-9);
	CHECK_NEAR(pm_memory_static_at(&row, &shipped), 500 + (4 * weights + 7 * (image + 2 * map)) / 1048576, 1e-9);
}

/* The most that all tensors hold before the update, event after event. */
static double
held_at_most(const pm_step *s, int64_t batch)
{
	double		held = 0;
	double		most = 0;

	for (int e = 0; e < s->phase_at[PM_PHASE_UPDATE]; e++)
	{
		int			t = s->events[e] >= 0 ? s->events[e] : ~s->events[e];

		held += (s->events[e] >= 0 ? 1 : -1) * pm_memory_tensor_bytes(&s->tensors[t], batch);
		most = fmax(most, held);
	}
	return most;
}

/* A plan knows the peak at any batch, also where it is neither where that of one sample is nor where that of many is. */
static void
test_peak_at_any_batch(void)
{
	pm_rng		r;
	int			between = 0;

	pm_rng_seed(&r, 5);
	for (int round = 0; round < 200; round++)
	{
		pm_step_options o = {.dtype = round % 2 ? PM_AMP : PM_FP32, .optimizer = PM_SGD_MOMENTUM, .gradients_stay = round % 3 == 0};
		pm_memory_plan plan;
		pm_status	st;
		pm_step		s;

		if (round % 50 == 0)
			load_transformer(1 + round / 50);
		else
			load_random(&r);
		CHECK_EQ(pm_memory_plan_make(&graph, &o, &arena, &plan, &st), PM_OK);
		s = simulate(o);
		for (int64_t batch = 1; batch <= 4096; batch *= 2)
			CHECK_NEAR(pm_memory_live_in_passes(&plan, batch) / held_at_most(&s, batch), 1, 1e-6);
		between += plan.asked.n_lines > 2;
	}
	CHECK(between > 0);
}

/*
 * Where results of products stay, a step takes no less than where nothing does, and no more than where all does. Where a share of the layers is
 * run again, what it takes lies between, and the more the less; all of them are as if nothing was said of a share.
 */
static void
test_some_again(void)
{
	for (int layers = 2; layers <= 12; layers += 5)
	{
		pm_step_options o = {.dtype = PM_AMP, .optimizer = PM_ADAM, .checkpointing = true};
		pm_memory_plan all;
		pm_memory_plan cheap;
		pm_status	st;

		load_transformer(layers);
		CHECK_EQ(pm_memory_plan_make(&graph, &o, &arena, &all, &st), PM_OK);
		o.products_stay = true;
		CHECK_EQ(pm_memory_plan_make(&graph, &o, &arena, &cheap, &st), PM_OK);
		CHECK(all.checkpoints && all.segments && cheap.checkpoints && !cheap.segments && all.again_share == 1);
		for (int64_t batch = 64; batch <= 65536; batch *= 4)
		{
			double		plain = pm_memory_highest(&all.plain, batch, NULL);
			double		before = plain;

			CHECK(pm_memory_live(&cheap, batch) < plain && pm_memory_live(&cheap, batch) > pm_memory_live(&all, batch));
			for (int i = 1; i <= layers; i++)
			{
				pm_memory_plan some = all;

				some.again_share = (double) i / layers;
				CHECK(pm_memory_live_in_passes(&some, batch) < before && pm_memory_reserved(&some, batch) >= pm_memory_live(&some, batch));
				before = pm_memory_live_in_passes(&some, batch);
				if (i == layers)
					CHECK(before == pm_memory_live_in_passes(&all, batch) && pm_memory_reserved(&some, batch) == pm_memory_reserved(&all, batch));
			}
		}
	}
}

/* A tensor stays until its segment runs again, and no longer: at the end, weights, states and gradients are left. */
static void
test_stays_no_longer(void)
{
	pm_rng		r;

	pm_rng_seed(&r, 11);
	for (int round = 0; round < 400; round++)
	{
		pm_step_options o = {.dtype = round % 2 ? PM_AMP : PM_FP32, .optimizer = PM_SGD_MOMENTUM, .checkpointing = true, .products_stay = true};
		pm_step		s;
		double		left = 0;

		if (round % 100 == 0)
			load_transformer(1 + round / 100);
		else
			load_random(&r);
		s = simulate(o);
		for (int e = 0; e < s.n_events; e++)
		{
			const pm_memory_tensor *t = &s.tensors[s.events[e] >= 0 ? s.events[e] : ~s.events[e]];

			left += t->role == PM_MEMORY_ACTIVATIONS && t->per > 0 ? (s.events[e] >= 0 ? 1 : -1) : 0;
		}
		o.products_stay = false;
		s = simulate(o);
		for (int e = 0; e < s.n_events; e++)
		{
			const pm_memory_tensor *t = &s.tensors[s.events[e] >= 0 ? s.events[e] : ~s.events[e]];

			left -= t->role == PM_MEMORY_ACTIVATIONS && t->per > 0 ? (s.events[e] >= 0 ? 1 : -1) : 0;
		}
		CHECK_EQ(left, 0);
	}
}

/* Checkpoints are used at a batch where they take less, and as much is held as the better of both takes. */
static void
test_checkpoints_where_better(void)
{
	pm_rng		r;
	int			used = 0;
	int			not_used = 0;

	pm_rng_seed(&r, 3);
	for (int round = 0; round < 600; round++)
	{
		pm_step_options o = {.dtype = round % 2 ? PM_AMP : PM_FP32, .optimizer = PM_SGD_MOMENTUM, .checkpointing = true};
		pm_memory_plan plan;
		pm_status	st;

		if (round % 100 == 0)
			load_transformer(1 + round / 100);
		else
			load_random(&r);
		CHECK_EQ(pm_memory_plan_make(&graph, &o, &arena, &plan, &st), PM_OK);
		for (int64_t batch = 1; plan.checkpoints && batch <= 512; batch *= 8)
		{
			double		with = 0;
			double		without = 0;

			for (int i = 0; i < plan.asked.n_lines; i++)
				with = fmax(with, plan.asked.lines[i].fixed + plan.asked.lines[i].per * (double) batch);
			for (int i = 0; i < plan.plain.n_lines; i++)
				without = fmax(without, plan.plain.lines[i].fixed + plan.plain.lines[i].per * (double) batch);
			CHECK_EQ(pm_memory_checkpoints_at(&plan, batch), with <= without);
			CHECK_EQ(pm_memory_live_in_passes(&plan, batch), fmin(with, without));
			used += with <= without;
			not_used += with > without;
		}
	}
	CHECK(used > 0 && not_used > 0);
}

/* What lets no gradient pass keeps nothing; of an operator that nobody described, all that it reads may be kept. */
static void
test_keeps(void)
{
	pm_keeps   *rows = PM_NEW(&arena, pm_keeps, pm_op_count());
	int			blocked = 0;

	pm_keeps_of_all(rows);
	for (int op = 0; op < pm_op_count(); op++)
		if (op != PM_OP_UNKNOWN && !pm_op_differentiable(op))
		{
			CHECK_EQ(rows[op].keep, 0);
			blocked++;
		}
	CHECK(blocked > 0);
	CHECK_EQ(rows[PM_OP_UNKNOWN].keep, PM_KEEP_ALL);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_cpu_data();
	test_gradients_of_operands();
	test_reserve();
	test_sums();
	test_peak_at_any_batch();
	test_checkpoints_where_better();
	test_some_again();
	test_stays_no_longer();
	test_keeps();
	pm_arena_release(&arena);
	return check_done("memory_passes");
}
