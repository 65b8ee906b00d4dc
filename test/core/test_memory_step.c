/*
 * test_memory_step.c - the simulated step against sums worked out by hand, the
 * allocator against the rules of PyTorch's, and estimates over the batch.
 */
#include "check.h"
#include "memory/allocator.h"
#include "memory/breakdown.h"
#include "memory/estimate.h"
#include "memory/walk.h"
#include "memory_graphs.h"

static const pm_gpu card = {.name = "RTX 3090", .memory_gb = 24, .mem_bw_gbs = 936, .fp32_tflops = 35.6};

/* ---------- a convolution, a normalisation, an activation, a classifier ---------- */

#define SMALL_NET \
	"{'id':0,'op':'Input','inputs':[],'shape':[1,3,8,8],'batch_dim':0}," \
	"{'id':1,'op':'Conv','inputs':[0],'shape':[1,16,8,8],'batch_dim':0," \
	"'attrs':{'kernel_shape':[3,3],'strides':[1,1],'pads':[1,1],'group':1},'weights':[[16,3,3,3]]}," \
	"{'id':2,'op':'BatchNormalization','inputs':[1],'shape':[1,16,8,8],'batch_dim':0,'weights':[[16],[16]]}," \
	"{'id':3,'op':'Relu','inputs':[2],'shape':[1,16,8,8],'batch_dim':0}," \
	"{'id':4,'op':'GlobalAveragePool','inputs':[3],'shape':[1,16,1,1],'batch_dim':0}," \
	"{'id':5,'op':'Reshape','inputs':[4],'shape':[1,16],'batch_dim':0,'view':true}," \
	"{'id':6,'op':'Gemm','inputs':[5],'shape':[1,10],'batch_dim':0,'weights':[[10,16],[10]]}"

static void
test_small_net(void)
{
	const double params = 16 * 3 * 9 + 16 + 16 + 10 * 16 + 10;
	const double map = 16 * 8 * 8;
	pm_step		s;

	load(SMALL_NET);
	s = simulate((pm_step_options) {.dtype = PM_FP32, .optimizer = PM_ADAM, .gradients_stay = true});
	CHECK_EQ(held_before(&s, PM_PHASE_FORWARD, PM_MEMORY_WEIGHTS, 4), 4 * params);
	CHECK_EQ(held_before(&s, PM_PHASE_FORWARD, PM_MEMORY_GRADIENTS, 4), 4 * params);
	CHECK_EQ(held_before(&s, PM_PHASE_FORWARD, PM_MEMORY_OPTIMIZER, 4), 8 * params);
	/* the image; input and statistics of the normalisation; output of the activation; what the pool gave; logits, log-softmax */
	CHECK_EQ(held_before(&s, PM_PHASE_BACKWARD, PM_MEMORY_ACTIVATIONS, 4), 4 * 4 * (3 * 64 + map + map + 16 + 10 + 10) + 2 * 16 * 4);
	/* nothing of the pass is left, the batch is */
	CHECK_EQ(held_before(&s, PM_PHASE_UPDATE, PM_MEMORY_ACTIVATIONS, 4), 4 * 4 * 3 * 64);
	CHECK_EQ(held_before(&s, PM_PHASE_UPDATE, PM_MEMORY_FLOW, 4), 0);
	CHECK_EQ(held_before(&s, PM_PHASE_UPDATE, PM_MEMORY_GRADIENTS, 4), 4 * params);
	/* an optimizer that nobody knows is taken for one with two states, as most have that are not SGD */
	s = simulate((pm_step_options) {.dtype = PM_FP32, .optimizer = PM_OPT_OTHER});
	CHECK_EQ(held_before(&s, PM_PHASE_FORWARD, PM_MEMORY_OPTIMIZER, 4), 8 * params);
	s = simulate((pm_step_options) {.dtype = PM_FP32, .optimizer = PM_SGD});
	CHECK_EQ(held_before(&s, PM_PHASE_BACKWARD, PM_MEMORY_GRADIENTS, 4), 0);
	CHECK_EQ(held_before(&s, PM_PHASE_UPDATE, PM_MEMORY_GRADIENTS, 4), 4 * params);
	CHECK_EQ(held_before(&s, PM_PHASE_UPDATE, PM_MEMORY_OPTIMIZER, 4), 0);
}

/* Autocast: products in 2 bytes, their weights copied; the normalisation follows its input; the loss is in 4 bytes. */
static void
test_autocast(void)
{
	const double map = 16 * 8 * 8;
	const double classifier = 2 * (10 * 16 + 10);
	pm_step		s;

	load(SMALL_NET);
	s = simulate((pm_step_options) {.dtype = PM_AMP, .optimizer = PM_SGD, .gradients_stay = true});
	CHECK_EQ(held_before(&s, PM_PHASE_BACKWARD, PM_MEMORY_ACTIVATIONS, 1),
			 4 * 3 * 64 + 2 * 3 * 64 + 2 * map + 2 * map + 2 * 16 + 2 * 10 + 4 * 10 + 2 * 16 * 4 + classifier);
}

/* InPlaceABN overwrites the result of the convolution, and computes it again from its own in the backward pass. */
static void
test_in_place(void)
{
	const double map = 16 * 8 * 8;
	const double kept = 4 * 4 * (3 * 64 + map + 16 + 10 + 10) + 2 * 16 * 4;
	pm_step		s;
	double		most = 0;
	double		held = 0;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,3,8,8],'batch_dim':0},"
		 "{'id':1,'op':'Conv','inputs':[0],'shape':[1,16,8,8],'batch_dim':0,"
		 "'attrs':{'kernel_shape':[3,3],'strides':[1,1],'pads':[1,1],'group':1},'weights':[[16,3,3,3]]},"
		 "{'id':2,'op':'InPlaceABN','inputs':[1],'shape':[1,16,8,8],'batch_dim':0,'weights':[[16],[16]]},"
		 "{'id':3,'op':'GlobalAveragePool','inputs':[2],'shape':[1,16,1,1],'batch_dim':0},"
		 "{'id':4,'op':'Reshape','inputs':[3],'shape':[1,16],'batch_dim':0,'view':true},"
		 "{'id':5,'op':'Gemm','inputs':[4],'shape':[1,10],'batch_dim':0,'weights':[[10,16],[10]]}");
	for (int inference = 0; inference < 2; inference++)
	{
		int			made = 0;

		s = simulate((pm_step_options) {.dtype = PM_FP32, .optimizer = PM_OPT_NONE, .inference = inference == 0});
		for (int t = 0; t < s.n_tensors; t++)
			made += s.tensors[t].role == PM_MEMORY_ACTIVATIONS && s.tensors[t].per == 4 * map;
		CHECK_EQ(made, 1);
	}
	CHECK_EQ(held_before(&s, PM_PHASE_BACKWARD, PM_MEMORY_ACTIVATIONS, 4), kept);
	/* gradient of the output, what the output overwrote, gradient of the input */
	for (int e = s.phase_at[PM_PHASE_BACKWARD]; e < s.phase_at[PM_PHASE_UPDATE]; e++)
	{
		const pm_memory_tensor *t = &s.tensors[s.events[e] >= 0 ? s.events[e] : ~s.events[e]];

		held += t->role == PM_MEMORY_FLOW && t->per == 4 * map ? s.events[e] >= 0 ? 1 : -1 : 0;
		most = fmax(most, held);
	}
	CHECK_EQ(most, 3);
}

/* cuDNN has no algorithm that copies the data of a convolution of three dimensions, but where matrix units want them in another order. */
static void
test_scratch_of_volumes(void)
{
	static const struct
	{
		pm_dtype	dtype;
		bool		on_cpu;
		double		size;
	}			cases[] = {{PM_FP32, false, 0}, {PM_FP32, true, 4}, {PM_AMP, false, 2}};

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,16,8,8,8],'batch_dim':0},"
		 "{'id':1,'op':'Conv','inputs':[0],'shape':[1,16,8,8,8],'batch_dim':0,"
		 "'attrs':{'kernel_shape':[3,3,3],'strides':[1,1,1],'pads':[1,1,1],'group':1},'weights':[[16,16,3,3,3]]}");
	for (int i = 0; i < 3; i++)
	{
		pm_memory_plan plan;
		pm_step_options o = {.dtype = cases[i].dtype, .optimizer = PM_SGD, .on_cpu = cases[i].on_cpu};
		pm_status	st;

		CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
		CHECK_EQ(pm_memory_largest_conv(&plan, 4), 4 * 2 * 16 * 512 * cases[i].size);
	}
	load(SMALL_NET);
	for (int i = 0; i < 3; i++)
	{
		pm_memory_plan plan;
		pm_step_options o = {.dtype = cases[i].dtype, .optimizer = PM_SGD, .on_cpu = cases[i].on_cpu};
		pm_status	st;

		CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
		CHECK_EQ(pm_memory_largest_conv(&plan, 4), 4 * 19 * 64 * (cases[i].size > 0 ? cases[i].size : 4));
	}
}

/* On a CPU a convolution works on copies in a format of its own; the three channels of the image are read as they are. */
static void
test_cpu(void)
{
	const double kernel = 16 * 3 * 9;
	const double map = 16 * 8 * 8;
	double		scratch[2] = {0};
	pm_step		s;

	for (int on_cpu = 0; on_cpu < 2; on_cpu++)
	{
		load(SMALL_NET);
		s = simulate((pm_step_options) {.dtype = PM_FP32, .optimizer = PM_OPT_NONE, .on_cpu = on_cpu != 0});
		for (int t = 0; t < s.n_tensors; t++)
			if (s.tensors[t].role == PM_MEMORY_WORKSPACE)
				scratch[on_cpu] += pm_memory_tensor_bytes(&s.tensors[t], 4);
	}
	/* forward: kernel and result; backward: gradients of the result and of the kernel */
	CHECK_EQ(scratch[0], 0);
	CHECK_EQ(scratch[1], 2 * 4 * kernel + 2 * 4 * 4 * map);
}

/* Every output lives until its gradient is done; the peak is where the gradient of the first convolution's output is there. */
static void
test_walk(void)
{
	const double params = 16 * 3 * 9 + 16 + 16 + 10 * 16 + 10;
	const double map = 16 * 8 * 8;
	double		fixed;
	double		per;
	pm_status	st;

	load(SMALL_NET);
	CHECK(pm_walk(&graph, 4, &arena, &fixed, &per, &st) == PM_OK);
	/* the image, outputs of convolution and normalisation, which the activation overwrites, and the gradients of both */
	CHECK_EQ(per, 4 * (3 * 64 + 4 * map));
	CHECK_EQ(fixed, 4 * (params - 16 * 3 * 9));
}

#define GEMM_256	"'shape':[1,16],'batch_dim':0,'weights':[[16,16],[16]]}"

/* A layer that is called three times: the document says that the network has its parameters once. */
static void
test_shared(void)
{
	const char *nodes = "{'id':0,'op':'Input','inputs':[],'shape':[1,16],'batch_dim':0},"
		"{'id':1,'op':'Gemm','inputs':[0]," GEMM_256 ",{'id':2,'op':'Gemm','inputs':[1]," GEMM_256 ",{'id':3,'op':'Gemm','inputs':[2]," GEMM_256 ","
		"{'id':4,'op':'Gemm','inputs':[3],'shape':[1,8],'batch_dim':0,'weights':[[8,16]]}";
	const struct
	{
		const char *declared;
		double		params;
	}			cases[] = {{"", 3 * 272 + 128}, {"'params':400,", 400}, {"'params':672,", 672}, {"'params':944,", 944}, {"'params':2000,", 944}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		pm_step		s;
		pm_memory_plan plan;
		pm_status	st;
		const pm_step_options o = {.dtype = PM_FP32, .optimizer = PM_ADAM};

		more_of_document = cases[i].declared;
		load(nodes);
		s = simulate(o);
		CHECK_EQ(held_before(&s, PM_PHASE_FORWARD, PM_MEMORY_WEIGHTS, 1), 4 * cases[i].params);
		CHECK_EQ(held_before(&s, PM_PHASE_UPDATE, PM_MEMORY_GRADIENTS, 1), 4 * cases[i].params);
		CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
		CHECK_EQ(plan.gradients, 4 * cases[i].params);
		CHECK_EQ(plan.optimizer, 8 * cases[i].params);
	}
	more_of_document = "";
}

/* ---------- a layer of a Transformer: Korthikanti et al., arXiv 2205.05198 ---------- */

/* Bytes that one more layer keeps of a batch of b samples. */
static double
of_a_layer(pm_step_options o, int64_t b)
{
	double		bytes[2];

	for (int i = 0; i < 2; i++)
	{
		pm_step		s;

		load_transformer(3 + i);
		s = simulate(o);
		bytes[i] = held_before(&s, PM_PHASE_BACKWARD, PM_MEMORY_ACTIVATIONS, b);
	}
	return bytes[1] - bytes[0];
}

static void
test_transformer(void)
{
	const double s = SEQ;
	const double h = HIDDEN;
	const double a = HEADS;
	const double b = 8;
	const double statistics = 2 * 2 * 4 * s * b;	/* mean and deviation of two normalisations, which the paper leaves out */
	pm_step_options o = {.dtype = PM_FP16, .optimizer = PM_ADAM};

	CHECK_EQ(of_a_layer(o, 8), s * b * h * (34 + 5 * a * s / h) + statistics);
	/* a fused kernel keeps its output, which the next product needs anyway, and a number a row and head */
	o.fused_attention = true;
	CHECK_NEAR(of_a_layer(o, 8), s * b * h * 34 + statistics, 4 * a * s * b);
	/* not if the graph says that the program does not call it, unless the question is what it would save */
	plain_attention = true;
	CHECK_EQ(of_a_layer(o, 8), s * b * h * (34 + 5 * a * s / h) + statistics);
	o.masked_attention = true;
	CHECK_NEAR(of_a_layer(o, 8), s * b * h * 34 + statistics, 4 * a * s * b);
	plain_attention = false;
	/* attention that runs again keeps query, key and value, whether a program could call the library for it or not (selective recomputation of the paper) */
	o = (pm_step_options) {.dtype = PM_FP16, .optimizer = PM_ADAM, .attention_again = true};
	CHECK_EQ(of_a_layer(o, 8), s * b * h * 34 + statistics);
	plain_attention = true;
	CHECK_EQ(of_a_layer(o, 8), s * b * h * 34 + statistics);
	plain_attention = false;
	/* one kernel keeps no scores and does not run again */
	o.fused_attention = true;
	CHECK_NEAR(of_a_layer(o, 8), s * b * h * 34 + statistics, 4 * a * s * b);
	/* recomputation keeps the input of a layer, or of each half of it */
	o = (pm_step_options) {.dtype = PM_FP16, .optimizer = PM_ADAM, .checkpointing = true};
	CHECK(of_a_layer(o, 8) >= 0);
	CHECK(of_a_layer(o, 8) <= 2 * 2 * s * b * h);
}

/* ---------- the allocator ---------- */

/* Reserved bytes of tensors of these sizes, in MiB, taken one after the other; a negative one is given back. */
static double
reserved(const double *mib, int n)
{
	pm_memory_tensor tensors[16];
	int32_t		events[16];
	int32_t		at[16] = {0};
	pm_step		s = {.tensors = tensors, .events = events, .at = at, .n_events = n, .phase_at = {[PM_PHASE_UPDATE] = n}};
	const double batch = 1;
	double		bytes;
	pm_status	st;

	for (int i = 0; i < n; i++)
	{
		if (mib[i] < 0)
		{
			events[i] = ~((int32_t) -mib[i] - 1);	/* -k: tensor number k, from 1 */
			continue;
		}
		tensors[s.n_tensors] = (pm_memory_tensor) {.fixed = mib[i] * 1048576, .node = -1};
		events[i] = s.n_tensors++;
	}
	CHECK(pm_allocator_replay(&s, &batch, 1, &arena, &bytes, &st) == PM_OK);
	return bytes / 1048576;
}

#define RESERVED(...) reserved((const double[]) {__VA_ARGS__}, (int) (sizeof((const double[]) {__VA_ARGS__}) / sizeof(double)))

static void
test_allocator(void)
{
	CHECK_EQ(RESERVED(0.001), 2);	/* small: a segment of 2 MiB */
	CHECK_EQ(RESERVED(1, 1), 2);
	CHECK_EQ(RESERVED(1, 1, 0.1), 4);
	CHECK_EQ(RESERVED(1.5), 20);	/* middle: 20 MiB */
	CHECK_EQ(RESERVED(1.5, 9, 9), 20);
	CHECK_EQ(RESERVED(9, 9, 9), 40);
	CHECK_EQ(RESERVED(10), 10);	/* large: rounded to 2 MiB */
	CHECK_EQ(RESERVED(11), 12);
	CHECK_EQ(RESERVED(30, -1, 30), 30);	/* used again */
	CHECK_EQ(RESERVED(30, -1, 31), 62);	/* too small, and stays */
	CHECK_EQ(RESERVED(30, -1, 10, 20), 30);	/* split */
	CHECK_EQ(RESERVED(30, -1, 10, 20, -2, -3, 30), 30);	/* and merged */
	CHECK_EQ(RESERVED(30, -1, 29.5, 2), 50);	/* a rest up to 1 MiB is not split off */
	CHECK_EQ(RESERVED(40, 20, -1, -2, 19, 39), 60);	/* the best fit */
}

/* ---------- graphs at the ends of what is allowed ---------- */

static void
check_whole(const char *nodes)
{
	const pm_question q = {.graph = &graph, .gpu = &card, .batch = 16777216, .dtype = PM_AMP};

	load(nodes);
	for (int checkpointing = 0; checkpointing < 2; checkpointing++)
	{
		pm_step_options o;
		pm_memory_plan plan;
		pm_memory_factors f;
		pm_memory_estimate e;
		pm_status	st;

		pm_memory_step_options(&q, checkpointing, &o);
		CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
		pm_memory_shipped_factors(&q, &f);
		pm_memory_estimate_at(&plan, &q, &f, 0.9, &e);
		CHECK(isfinite(e.peak_mb) && isfinite(e.low_mb) && isfinite(e.high_mb) && e.p_fits >= 0 && e.p_fits <= 1);
	}
}

static void
test_extremes(void)
{
	char	   *at = text;

	/* no output has an element, or every one has more than any device */
	check_whole("{'id':0,'op':'Input','inputs':[],'shape':[1,0],'batch_dim':0},{'id':1,'op':'Relu','inputs':[0],'shape':[1,0],'batch_dim':0}");
	check_whole("{'id':0,'op':'Input','inputs':[],'shape':[1,1099511627776,1099511627776],'batch_dim':0},"
				"{'id':1,'op':'Mul','inputs':[0],'shape':[1,1099511627776,1099511627776],'batch_dim':0,'weights':[[1099511627776,1099511627776]]},"
				"{'id':2,'op':'NobodyKnowsThis','inputs':[1,0],'shape':[1,1099511627776,1099511627776],'batch_dim':0}");
	/* one node; nothing that depends on the batch; nothing but a view */
	check_whole("{'id':0,'op':'Input','inputs':[],'shape':[3],'batch_dim':null}");
	check_whole("{'id':0,'op':'Gemm','inputs':[],'shape':[3,4],'batch_dim':null,'weights':[[3,5],[5,4]]}");
	check_whole("{'id':0,'op':'Reshape','inputs':[],'shape':[4],'batch_dim':null,'view':true,'weights':[[2,2]]}");
	/* a node that reads a hundred */
	for (int i = 0; i < 100; i++)
		at += snprintf(at, 200, "{'id':%d,'op':'Conv','inputs':[],'shape':[1,4,2,2],'batch_dim':0,'weights':[[4,4,1,1]]},", i);
	at += snprintf(at, 100, "{'id':100,'op':'Concat','inputs':[");
	for (int i = 0; i < 100; i++)
		at += snprintf(at, 10, "%s%d", i ? "," : "", i);
	snprintf(at, 100, "],'shape':[1,400,2,2],'batch_dim':0}");
	check_whole(text);
}

/* ---------- any graph, run in any way ---------- */

/* Every tensor is given back once, but weights, gradients, states and the batch. */
static void
test_random(void)
{
	pm_rng		r;
	int			twice = 0;
	int			left = 0;

	pm_rng_seed(&r, 15);
	for (int round = 0; round < 400; round++)
		for (int i = 0; i < 12; i++)
		{
			pm_step_options o = {
				.dtype = i & 1 ? PM_AMP : PM_FP32, .optimizer = PM_ADAM, .checkpointing = (i & 10) == 2, .attention_again = i >= 8,
				.gradients_stay = (i & 4) != 0 || (i & 10) == 10, .fused_attention = (i & 4) == 0 && (i & 10) != 10, .on_cpu = (i & 1) == 0
			};
			pm_step		s;
			bool	   *held;

			if (i == 0 && round % 40 == 0)
				load_transformer(1 + round / 40);
			else if (i == 0)
				load_random(&r);
			s = simulate(o);
			held = PM_NEW(&arena, bool, s.n_tensors + 1);
			for (int e = 0; e < s.n_events; e++)
			{
				int			t = s.events[e] >= 0 ? s.events[e] : ~s.events[e];

				twice += held[t] == (s.events[e] >= 0);
				held[t] = s.events[e] >= 0;
			}
			for (int t = 0; t < s.n_tensors; t++)
				left += held[t] && s.tensors[t].role >= PM_MEMORY_ACTIVATIONS &&
					!(s.tensors[t].role == PM_MEMORY_ACTIVATIONS && strcmp(graph.nodes[s.tensors[t].node].op_name, "Input") == 0);
		}
	CHECK_EQ(twice, 0);
	CHECK_EQ(left, 0);
}

/* Checkpoints, of layers or of attention alone, never take more than none, however small the batch. */
static void
test_checkpoints_take_less(void)
{
	pm_rng		r;

	pm_rng_seed(&r, 3);
	for (int round = 0; round < 120; round++)
	{
		if (round % 10 == 0)
			load_transformer(1 + round / 10);
		else
			load_random(&r);
		for (int i = 0; i < 8; i++)
		{
			pm_step_options o = {
				.dtype = i & 1 ? PM_AMP : PM_FP32, .optimizer = PM_SGD_MOMENTUM, .gradients_stay = (i & 2) != 0,
				.fused_attention = (i & 2) == 0, .on_cpu = (i & 4) != 0
			};
			pm_memory_plan none;
			pm_memory_plan again[2];
			pm_status	st;

			CHECK(pm_memory_plan_make(&graph, &o, &arena, &none, &st) == PM_OK);
			for (int attention = 0; attention < 2; attention++)
			{
				o.checkpointing = !attention;
				o.attention_again = attention;
				CHECK(pm_memory_plan_make(&graph, &o, &arena, &again[attention], &st) == PM_OK);
				for (int64_t batch = 1; batch < 100000; batch *= 2)
				{
					CHECK(pm_memory_live(&again[attention], batch) <= pm_memory_live(&none, batch) * (1 + 1e-12));
					CHECK(pm_memory_reserved(&again[attention], batch) <= pm_memory_reserved(&none, batch) * (1 + 1e-12));
				}
			}
			/* a Transformer of several layers saves something, where its attention is not one kernel */
			if (round >= 20 && round % 10 == 0 && (i & 2) != 0)
				CHECK(pm_memory_live(&again[1], 4096) < 0.9 * pm_memory_live(&none, 4096));
		}
	}
}

/* PyTorch 2 updates all parameters at once on a GPU (foreach), one after the other on a CPU. */
static void
test_scratch_of_update(void)
{
	pm_step_options o = {.dtype = PM_FP32, .optimizer = PM_ADAM};
	pm_memory_plan plan;
	pm_status	st;

	load_transformer(2);
	CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
	CHECK_EQ(plan.scratch, plan.weights);
	o.on_cpu = true;
	CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
	CHECK_EQ(plan.scratch, plan.largest_weights);
}

/* ---------- estimates ---------- */

static void
test_estimates(void)
{
	pm_question q = {.graph = &graph, .gpu = &card, .batch = 1, .dtype = PM_AMP, .framework = "pytorch 1.12 cu113"};
	pm_step_options o;
	pm_memory_plan plan;
	pm_memory_factors f;
	pm_memory_estimate last = {0};
	pm_status	st;
	int64_t		most;

	load_transformer(6);
	pm_memory_step_options(&q, false, &o);
	CHECK(o.gradients_stay && !o.fused_attention);
	CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
	pm_memory_shipped_factors(&q, &f);
	CHECK(f.measured);
	last.p_fits = 1;
	for (q.batch = 1; q.batch < 10000000; q.batch += 1 + q.batch / 7)
	{
		pm_memory_estimate e;

		pm_memory_estimate_at(&plan, &q, &f, 0.9, &e);
		CHECK(e.peak_mb >= last.peak_mb && e.need_mb >= last.need_mb && e.p_fits <= last.p_fits);
		CHECK(e.low_mb < e.peak_mb && e.peak_mb < e.high_mb);
		CHECK(pm_memory_live(&plan, q.batch) <= pm_memory_reserved(&plan, q.batch));
		last = e;
	}
	most = pm_memory_max_batch(&plan, &q, &f, 0.95, 16777216);
	q.batch = most;
	pm_memory_estimate_at(&plan, &q, &f, 0.9, &last);
	CHECK(most > 100 && last.p_fits >= 0.95);
	q.batch = most + 1;
	pm_memory_estimate_at(&plan, &q, &f, 0.9, &last);
	CHECK(last.p_fits < 0.95);
}

/* The larger one of two steps is, the less surely both fit; whichever is named first. */
static void
test_two_steps(void)
{
	pm_question q = {.graph = &graph, .gpu = &card, .batch = 8, .dtype = PM_AMP, .framework = "pytorch 1.12 cu113"};
	pm_step_options o;
	pm_memory_plan plan;
	pm_memory_share a;
	pm_memory_share b;
	pm_memory_share none = {.e = {0}};
	pm_status	st;
	double		last = 1;

	load_transformer(6);
	pm_memory_step_options(&q, false, &o);
	CHECK(pm_memory_plan_make(&graph, &o, &arena, &plan, &st) == PM_OK);
	pm_memory_shipped_factors(&q, &a.f);
	pm_memory_estimate_at(&plan, &q, &a.f, 0.9, &a.e);
	b.f = none.f = a.f;
	none.f.context_mb = 0;
	for (q.batch = 1; q.batch < 10000000; q.batch += 1 + q.batch / 7)
	{
		double		capacity = pm_memory_capacity_mb(&card);
		double		p;

		pm_memory_estimate_at(&plan, &q, &b.f, 0.9, &b.e);
		p = pm_memory_fit_together(&a, &b, capacity);
		CHECK(p >= 0 && p <= last && p == pm_memory_fit_together(&b, &a, capacity));
		CHECK(p < b.e.p_fits || b.e.p_fits == 0);
		/* peaks that take a tenth more than there is are too much, and half of what there is leaves enough */
		if (a.e.peak_mb + b.e.peak_mb > 1.1 * capacity)
			CHECK(p < 0.95);
		CHECK(pm_memory_fit_together(&a, &b, 2 * (a.e.peak_mb + b.e.peak_mb)) > 0.95);
		last = p;
	}
	CHECK(last < 1e-9);
	CHECK(pm_memory_fit_together(&none, &none, 1) > 0.95 && pm_memory_fit_together(&a, &none, 2 * a.e.peak_mb) > 0.95);
	CHECK(pm_memory_fit_together(&a, &a, a.f.context_mb) == 0 && isnan(pm_memory_fit_together(&a, &a, NAN)));
}

/*
 * Whoever chooses what takes least memory makes no checkpoints where they save
 * nothing: here the output has nearly all of it, and would be there twice.
 */
static void
test_useless_checkpoints(void)
{
	const pm_question q = {.graph = &graph, .gpu = &card, .batch = 1, .dtype = PM_AMP};
	pm_memory_plan plans[2];
	pm_status	st;

	load("{'id':0,'op':'Input','inputs':[],'shape':[1,64],'batch_dim':0}," \
		 "{'id':1,'op':'Gemm','inputs':[0],'shape':[1,64],'batch_dim':0,'weights':[[64,64]]}," \
		 "{'id':2,'op':'Relu','inputs':[1],'shape':[1,64],'batch_dim':0}," \
		 "{'id':3,'op':'Gemm','inputs':[2],'shape':[1,50000],'batch_dim':0,'weights':[[50000,64]]}");
	for (int checkpointing = 0; checkpointing < 2; checkpointing++)
	{
		pm_step_options o;

		pm_memory_step_options(&q, checkpointing, &o);
		CHECK(pm_memory_plan_make(&graph, &o, &arena, &plans[checkpointing], &st) == PM_OK);
	}
	CHECK(!plans[0].checkpoints && !plans[1].checkpoints);
	for (int64_t batch = 1; batch < 100000; batch *= 3)
	{
		CHECK(pm_memory_live(&plans[1], batch) <= pm_memory_live(&plans[0], batch));
		CHECK(pm_memory_reserved(&plans[1], batch) <= pm_memory_reserved(&plans[0], batch));
	}
}

static void
test_words(void)
{
	const struct
	{
		const char *framework;
		bool		stay,
					fused,
					measured;
	}			cases[] = {
		{NULL, false, true, false}, {"pytorch", false, true, false}, {"pytorch 1.13.1 cpu", true, false, true},
		{"PyTorch 2.1", false, true, false}, {"torch 2.10", false, true, false}, {"tensorflow 2.4", false, true, false}
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		pm_question q = {.gpu = &card, .framework = cases[i].framework};
		pm_step_options o;
		pm_memory_factors f;
		char		note[256];

		pm_memory_step_options(&q, false, &o);
		pm_memory_shipped_factors(&q, &f);
		pm_memory_note(&q, &f, note, sizeof(note));
		CHECK(o.gradients_stay == cases[i].stay && o.fused_attention == cases[i].fused);
		CHECK(f.measured == cases[i].measured);
		CHECK((note[0] == '\0') == cases[i].measured);
	}
}

/* The H200 was measured with PyTorch 2, in both modes and in 2 bytes; the H100 is the same chip, but nobody looked. */
static void
test_measured_with_2(void)
{
	const struct
	{
		const char *gpu;
		const char *framework;
		double		context_mb;
		bool		measured;
	}			cases[] = {
		{"H200", NULL, 925, true}, {"H200", "pytorch 2.11.0 cu130", 925, true}, {"H200", "pytorch 1.13", 1000 + 3.5 * 132, false},
		{"H200", "tensorflow 2.4", 1000 + 3.5 * 132, false}, {"H100-SXM5-80GB", NULL, 925, false}, {"A100-SXM4-80GB", NULL, 1000 + 3.5 * 132, false}
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		pm_gpu		gpu = card;
		pm_question q = {.gpu = &gpu, .framework = cases[i].framework};
		pm_memory_factors f;
		char		note[256];

		gpu.name = cases[i].gpu;
		gpu.sm_count = 132;
		for (int k = 0; k < 4; k++)
		{
			q.mode = k % 2 == 0 ? PM_TRAIN : PM_INFERENCE;
			q.dtype = k < 2 ? PM_FP32 : PM_BF16;
			pm_memory_shipped_factors(&q, &f);
			pm_memory_note(&q, &f, note, sizeof(note));
			CHECK_EQ(f.context_mb, cases[i].context_mb);
			CHECK(f.measured == cases[i].measured && (note[0] == '\0') == cases[i].measured);
		}
	}
}

/* What a tensor that rounds all others away has left behind when it is given back: the others, whatever the stretches. */
static void
test_huge_and_back(void)
{
	pm_memory_tensor tensors[] = {{.fixed = 1000, .node = -1}, {.per = 1e9, .node = 0}, {.per = 4.8e24, .node = 1}, {.per = 3, .node = 2}, {.per = 7e23, .node = 3}};
	int32_t		events[] = {0, 1, 2, 3, 4, ~2, ~4, ~1, ~3, ~0};
	int32_t		at[] = {-1, 0, 1, 2, 3, 3, 3, 3, 3, -1};
	double		course[10];
	double		held[] = {1000, 1e9 + 1000, 4.8e24, 4.8e24, 5.5e24, 7e23, 1e9 + 1003, 1003, 1000, 0};
	pm_step		s = {.n_tensors = 5, .tensors = tensors, .n_events = 10, .events = events, .at = at, .phase_at = {0, 1, 5, 9, 10}};
	pm_memory_point points[10];

	for (int n = 1; n <= 10; n++)
	{
		memset(points, 0x7f, sizeof(points));
		pm_memory_course(&s, NULL, 1, course);
		CHECK_EQ(pm_memory_timeline(&s, course, n, points), n);
		for (int i = 0; i < n; i++)
		{
			int			e = points[i].event;

			CHECK(e >= i * 10 / n && e < (i + 1) * 10 / n);
			CHECK(e >= 0 && e < 10 && points[i].phase == (e < 1 ? PM_PHASE_START : e < 5 ? PM_PHASE_FORWARD : e < 9 ? PM_PHASE_BACKWARD : PM_PHASE_UPDATE) &&
				  points[i].node == at[e]);
			CHECK(fabs(points[i].bytes - held[e]) <= 1e-12 * held[e]);
		}
	}
	CHECK_EQ(pm_memory_peak_event(&s, NULL, 1), 4);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_huge_and_back();
	test_small_net();
	test_autocast();
	test_in_place();
	test_scratch_of_volumes();
	test_cpu();
	test_shared();
	test_walk();
	test_transformer();
	test_allocator();
	test_extremes();
	test_random();
	test_checkpoints_take_less();
	test_scratch_of_update();
	test_estimates();
	test_two_steps();
	test_useless_checkpoints();
	test_words();
	test_measured_with_2();
	pm_arena_release(&arena);
	return check_done("memory_step");
}
