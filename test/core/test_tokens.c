/*
 * test_tokens.c - skeletons (merging, positions, relations) against a
 * computation from the definitions, and the features of tokens.
 */
#include "check.h"
#include "make_graph.h"

static pm_arena arena;

/* ---------- graphs ---------- */

/* A fork into three branches, one of them empty, a join, and a long skip over all. */
static pm_graph *
fork_join(void)
{
	graph_text	t;
	int			x, left, right, skip;

	text_start(&t, "fork", "fork");
	x = net_input(&t, 3, 8);
	x = skip = net_conv(&t, x, 3, 8, 8, 3, 1);
	left = net_unary(&t, "Relu", x, 8, 8);
	left = net_conv(&t, left, 8, 8, 8, 1, 1);
	right = net_conv(&t, x, 8, 8, 8, 5, 8);
	right = net_unary(&t, "Sigmoid", right, 8, 8);
	x = net_add(&t, left, right, 8, 8);
	x = net_norm(&t, x, 8, 8);
	x = net_add(&t, x, skip, 8, 8);
	net_classifier(&t, x, 8, 10);
	return text_finish(&t, &arena);
}

/* Random edges, few different operators, views in between. */
static pm_graph *
random_graph(uint64_t seed, int nodes)
{
	static const char *const op[] = {"Relu", "Add", "Sigmoid", "Add"};
	graph_text	t;
	pm_rng		rng;

	pm_rng_seed(&rng, seed);
	text_start(&t, "random", "random");
	net_input(&t, 4, 4);
	for (int i = 1; i < nodes; i++)
	{
		bool		view = pm_rng_uniform(&rng) < 0.2;
		int			channels = pm_rng_uniform(&rng) < 0.5 ? 4 : 8;
		/* mostly near, sometimes far */
		int			reach = pm_rng_uniform(&rng) < 0.8 && i > 5 ? 5 : i;
		int			a = i - 1 - (int) (pm_rng_uniform(&rng) * reach);
		int			b = i - 1 - (int) (pm_rng_uniform(&rng) * reach);

		if (view)
			text_node(&t, "'op':'Reshape','view':true,'inputs':[%d],'shape':[1,%d,4,4],'batch_dim':0", a, channels);
		else
			text_node(&t, "'op':'%s','inputs':[%d,%d],'shape':[1,%d,4,4],'batch_dim':0",
					  op[(int) (pm_rng_uniform(&rng) * 4)], a, b, channels);
	}
	return text_finish(&t, &arena);
}

/* ---------- the definitions, on matrices over the nodes of a graph ---------- */

#define MAX_NODES 96

typedef struct truth
{
	int			n;
	bool		runs[MAX_NODES];
	bool		parent[MAX_NODES][MAX_NODES];	/* [i][j]: j is a parent of i */
	bool		ancestor[MAX_NODES][MAX_NODES];
	int			depth[MAX_NODES];
	int			height[MAX_NODES];
	int			max_depth;
} truth;

static void
read_parents(const pm_graph *g, int reader, int node, truth *t)
{
	for (int k = 0; k < g->nodes[node].n_inputs; k++)
	{
		int			from = g->nodes[node].inputs[k];

		if (t->runs[from])
			t->parent[reader][from] = true;
		else
			read_parents(g, reader, from, t);
	}
}

static void
truth_of(const pm_graph *g, truth *t)
{
	memset(t, 0, sizeof(*t));
	t->n = g->n_nodes;
	for (int i = 0; i < t->n; i++)
	{
		t->runs[i] = !g->nodes[i].view && strcmp(g->nodes[i].op_name, "Input") != 0;
		if (t->runs[i])
			read_parents(g, i, i, t);
	}
	memcpy(t->ancestor, t->parent, sizeof(t->parent));
	for (int k = 0; k < t->n; k++)
		for (int i = 0; i < t->n; i++)
			for (int j = 0; j < t->n; j++)
				t->ancestor[i][j] |= t->ancestor[i][k] && t->ancestor[k][j];
	/* relax until nothing changes: no use of any order */
	for (int round = 0; round < t->n; round++)
		for (int i = 0; i < t->n; i++)
			for (int j = 0; j < t->n; j++)
				if (t->parent[i][j])
				{
					t->depth[i] = t->depth[i] > t->depth[j] + 1 ? t->depth[i] : t->depth[j] + 1;
					t->height[j] = t->height[j] > t->height[i] + 1 ? t->height[j] : t->height[i] + 1;
				}
	for (int i = 0; i < t->n; i++)
		t->max_depth = t->depth[i] > t->max_depth ? t->depth[i] : t->max_depth;
}

/* What node j is to node i. */
static pm_relation
relation(const truth *t, int i, int j)
{
	if (i == j)
		return PM_REL_SELF;
	if (t->parent[i][j])
		return PM_REL_PARENT;
	if (t->parent[j][i])
		return PM_REL_CHILD;
	if (t->ancestor[i][j])
		return PM_REL_ANCESTOR;
	if (t->ancestor[j][i])
		return PM_REL_DESCENDANT;
	for (int k = 0; k < t->n; k++)
		if ((t->parent[i][k] && t->parent[j][k]) || (t->parent[k][i] && t->parent[k][j]))
			return PM_REL_SIBLING;
	return PM_REL_UNRELATED;
}

/* The closest relation of any two copies of tokens a and b. */
static pm_relation
token_relation(const pm_skeleton *s, const truth *t, int a, int b)
{
	static const int order[] = {PM_REL_PARENT, PM_REL_CHILD, PM_REL_SIBLING};
	bool		seen[PM_N_RELATIONS] = {false};
	double		depth[2] = {0};

	if (a == b)
		return PM_REL_SELF;
	for (int x = 0; x < s->dag.n; x++)
	{
		if (s->token_of[x] == a)
			depth[0] += t->depth[s->dag.node[x]] * s->copies[b];
		if (s->token_of[x] == b)
			depth[1] += t->depth[s->dag.node[x]] * s->copies[a];
		for (int y = 0; y < s->dag.n; y++)
			if (s->token_of[x] == a && s->token_of[y] == b)
				seen[relation(t, s->dag.node[x], s->dag.node[y])] = true;
	}
	for (int k = 0; k < 3; k++)
		if (seen[order[k]])
			return (pm_relation) order[k];
	if (seen[PM_REL_ANCESTOR] && seen[PM_REL_DESCENDANT])
		return depth[1] <= depth[0] ? PM_REL_ANCESTOR : PM_REL_DESCENDANT;
	return seen[PM_REL_ANCESTOR] ? PM_REL_ANCESTOR : seen[PM_REL_DESCENDANT] ? PM_REL_DESCENDANT : PM_REL_UNRELATED;
}

static void
add_wave(double *out, double p, double scale)
{
	for (int k = 0; k < PM_SINUSOID / 2; k++)
	{
		out[2 * k] += scale * sin(p * pow(10000.0, -2.0 * k / PM_SINUSOID));
		out[2 * k + 1] += scale * cos(p * pow(10000.0, -2.0 * k / PM_SINUSOID));
	}
}

/* Position of one node, scaled, added to p[PM_POSITION_DIM]. */
static void
node_position(const truth *t, int i, double *p, double scale)
{
	int			n_in = 0;
	int			n_out = 0;

	for (int j = 0; j < t->n; j++)
	{
		n_in += t->parent[i][j];
		n_out += t->parent[j][i];
	}
	add_wave(p, t->depth[i], scale);
	add_wave(p + PM_SINUSOID, 64.0 * t->depth[i] / (t->max_depth > 0 ? t->max_depth : 1), scale);
	add_wave(p + 2 * PM_SINUSOID, t->height[i], scale);
	for (int j = 0; j < t->n; j++)
	{
		if (t->parent[i][j])
			add_wave(p + 3 * PM_SINUSOID, t->depth[j], scale / n_in);
		if (t->parent[j][i])
			add_wave(p + 4 * PM_SINUSOID, t->depth[j], scale / n_out);
	}
	p[5 * PM_SINUSOID + (n_in < 8 ? n_in : 8)] += scale;
	p[5 * PM_SINUSOID + PM_N_DEGREES + (n_out < 8 ? n_out : 8)] += scale;
}

/* ---------- skeletons ---------- */

static void
check_skeleton(const pm_graph *g, const pm_skeleton *s)
{
	truth	   *t = malloc(sizeof(truth));
	double	   *position = calloc((size_t) s->n * PM_POSITION_DIM, sizeof(double));
	double		copies = 0;
	double		worst = 0;
	int			wrong = 0;

	truth_of(g, t);
	for (int i = 0; i < s->dag.n; i++)
		node_position(t, s->dag.node[i], position + (size_t) s->token_of[i] * PM_POSITION_DIM,
					  1 / s->copies[s->token_of[i]]);
	for (int i = 0; i < s->n * PM_POSITION_DIM; i++)
		worst = fmax(worst, fabs(position[i] - s->position[i]));
	CHECK_NEAR(worst, 0, 2e-6);
	for (int i = 0; i < s->n; i++)
	{
		copies += s->copies[i];
		for (int j = 0; j < s->n; j++)
			wrong += s->relation[(i + 1) * (s->n + 1) + j + 1] != token_relation(s, t, i, j);
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(copies, s->dag.n);
	for (int i = 0; i <= s->n; i++)
		CHECK(s->relation[i] == PM_REL_JOB && s->relation[i * (s->n + 1)] == PM_REL_JOB);
	free(position);
	free(t);
}

static void
test_against_definitions(void)
{
	pm_graph   *g = fork_join();

	check_skeleton(g, make_skeleton(g, false, &arena));
	check_skeleton(g, make_skeleton(g, true, &arena));
	g = make_net(&arena, "net", 8, 3, 8, 1);
	check_skeleton(g, make_skeleton(g, false, &arena));
	check_skeleton(g, make_skeleton(g, true, &arena));
	for (int seed = 0; seed < 25; seed++)
	{
		g = random_graph(seed, 10 + 3 * seed);
		check_skeleton(g, make_skeleton(g, false, &arena));
		check_skeleton(g, make_skeleton(g, true, &arena));
	}
}

static void
test_relations_by_hand(void)
{
	/* nodes: 1 conv, 2 relu, 3 conv1x1, 4 depthwise, 5 sigmoid, 6 add, 7 norm, 8 add; dag index = node - 1 */
	pm_graph   *g = fork_join();
	pm_skeleton *s = make_skeleton(g, false, &arena);
	const struct
	{
		int			of,
					what;
		pm_relation rel;
	}			cases[] = {
		{2, 1, PM_REL_PARENT}, {1, 2, PM_REL_CHILD}, {2, 4, PM_REL_SIBLING}, {3, 5, PM_REL_SIBLING},
		{2, 5, PM_REL_UNRELATED}, {3, 4, PM_REL_UNRELATED}, {8, 1, PM_REL_PARENT}, {7, 1, PM_REL_ANCESTOR},
		{1, 7, PM_REL_DESCENDANT}, {8, 4, PM_REL_ANCESTOR}, {6, 6, PM_REL_SELF}, {4, 6, PM_REL_DESCENDANT},
		/* a shared child does not make a parent's ancestor a sibling */
		{7, 1, PM_REL_ANCESTOR}, {2, 8, PM_REL_DESCENDANT}
	};

	CHECK_EQ(s->n, 10);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(s->relation[cases[i].of * (s->n + 1) + cases[i].what], cases[i].rel);
}

/* Copies of a node's token. */
static double
copies_of(const pm_skeleton *s, int node)
{
	for (int i = 0; i < s->dag.n; i++)
		if (s->dag.node[i] == node)
			return s->copies[s->token_of[i]];
	return 0;
}

static void
test_merging(void)
{
	pm_graph   *g = make_net(&arena, "net", 8, 3, 8, 1);
	pm_skeleton *s = make_skeleton(g, true, &arena);
	pm_skeleton *plain = make_skeleton(g, false, &arena);

	/* stem conv, norm, relu, 1x1, 3x3, add, pool, gemm; and apart those whose gradients come from two readers */
	CHECK_EQ(s->n, 11);
	CHECK_EQ(copies_of(s, 1), 1);
	CHECK_EQ(copies_of(s, 2), 4);
	CHECK_EQ(copies_of(s, 3), 1);
	CHECK_EQ(copies_of(s, 4), 3);
	CHECK_EQ(copies_of(s, 7), 3);
	CHECK_EQ(copies_of(s, 9), 2);
	CHECK_EQ(plain->n, plain->dag.n);
	for (int i = 0; i < plain->n; i++)
		CHECK(plain->copies[i] == 1 && plain->token_of[i] == i && plain->node[i] == plain->dag.node[i]);
	for (int i = 0; i < s->dag.n; i++)
		CHECK_EQ(g->nodes[s->dag.node[i]].op, g->nodes[s->node[s->token_of[i]]].op);
}

/* Operators that differ in one number must not be merged. */
static void
test_not_merged(void)
{
	graph_text	t;
	pm_graph   *g;
	int			x;

	text_start(&t, "differ", "differ");
	x = net_input(&t, 8, 8);
	x = net_conv(&t, x, 8, 8, 8, 3, 1);
	net_conv(&t, x, 8, 8, 8, 3, 1);		/* the one of which another is a copy; the first needs no input gradient */
	net_conv(&t, x, 8, 8, 8, 3, 1);
	net_conv(&t, x, 8, 8, 8, 3, 2);
	net_conv(&t, x, 8, 8, 8, 1, 1);
	net_conv(&t, x, 8, 8, 8, 5, 1);
	net_conv(&t, x, 8, 4, 8, 3, 1);
	text_node(&t, "'op':'Conv','inputs':[%d],'shape':[1,8,8,8],'batch_dim':0,'weights':[[8,8,3,3]],"
			  "'attrs':{'kernel_shape':[3,3],'strides':[1,1],'pads':[2,2],'dilations':[2,2],'group':1}", x);
	text_node(&t, "'op':'Conv','inputs':[%d],'shape':[1,8,8,8],'batch_dim':0,'weights':[[8,8,3,3],[8]],"
			  "'attrs':{'kernel_shape':[3,3],'strides':[1,1],'pads':[1,1],'group':1}", x);
	net_unary(&t, "Relu", x, 8, 8);
	net_unary(&t, "Sigmoid", x, 8, 8);
	/* alike at batch 1 but not beyond */
	text_node(&t, "'op':'Relu','inputs':[%d],'shape':[1,8,8,8],'batch_dim':null", x);
	g = text_finish(&t, &arena);
	CHECK_EQ(make_skeleton(g, true, &arena)->n, make_skeleton(g, false, &arena)->n - 1);
}

/* The tokens of the same graph with other numbers are the same tokens. */
static void
check_renumbered(const pm_graph *g, bool merge, uint64_t seed)
{
	int32_t    *place = PM_NEW(&arena, int32_t, g->n_nodes);
	pm_graph   *r = make_renumbered(g, seed, place, &arena);
	pm_skeleton *s = make_skeleton(g, merge, &arena);
	pm_skeleton *u = make_skeleton(r, merge, &arena);
	int		   *twin = PM_NEW(&arena, int, s->n);
	pm_question	q = make_sample(g, s, 4, 1).query;
	pm_tokens	a, b;
	double		worst = 0;
	int			wrong = 0;

	CHECK(g->structure == r->structure);
	CHECK_EQ(u->n, s->n);
	for (int i = 0; i < s->dag.n; i++)
		for (int j = 0; j < u->dag.n; j++)
			if (u->dag.node[j] == place[s->dag.node[i]])
			{
				int			token = s->token_of[i];

				wrong += s->node[token] == s->dag.node[i] ? 0 : twin[token] != u->token_of[j];
				twin[token] = u->token_of[j];
			}
	CHECK_EQ(wrong, 0);
	CHECK(pm_tokens_build(s, &q, &arena, &a, NULL) == PM_OK);
	q.graph = r;
	CHECK(pm_tokens_build(u, &q, &arena, &b, NULL) == PM_OK);
	for (int i = 0; i < s->n; i++)
	{
		int			k = twin[i];

		wrong += s->copies[i] != u->copies[k] || a.type[i] != b.type[k] || a.op_class[i] != b.op_class[k] ||
			memcmp(a.slots + i * PM_N_SLOTS, b.slots + k * PM_N_SLOTS, PM_N_SLOTS * sizeof(pm_real)) != 0 ||
			memcmp(a.slot_mask + i * PM_N_SLOTS, b.slot_mask + k * PM_N_SLOTS, PM_N_SLOTS * sizeof(pm_real)) != 0 ||
			memcmp(a.loads + i * PM_N_LOADS, b.loads + k * PM_N_LOADS, PM_N_LOADS * sizeof(pm_real)) != 0;	/* NaN too */
		for (int p = 0; p < PM_POSITION_DIM; p++)
			worst = fmax(worst, fabs(s->position[i * PM_POSITION_DIM + p] - u->position[k * PM_POSITION_DIM + p]));
		for (int j = 0; j < s->n; j++)
			wrong += s->relation[(i + 1) * (s->n + 1) + j + 1] != u->relation[(k + 1) * (s->n + 1) + twin[j] + 1];
	}
	CHECK_EQ(wrong, 0);
	CHECK_NEAR(worst, 0, 2e-6);
	for (int k = 0; k < PM_N_JOB; k++)
		CHECK_NEAR(a.job[k], b.job[k], 1e-5);
}

static void
test_renumbered(void)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
	{
		check_renumbered(fork_join(), true, seed);
		check_renumbered(make_net(&arena, "net", 8, 4, 8, 1), true, seed);
		check_renumbered(make_net(&arena, "net", 8, 2, 8, 1), false, seed);
		check_renumbered(random_graph(seed, 60), true, seed);
	}
}

/* ---------- tokens ---------- */

static void
test_peaks(void)
{
	pm_gpu		gpu = test_gpu;

	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		CHECK_EQ(pm_gpu_peak(&gpu, (pm_dtype) dtype, false), 10e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_FP32, true), 10e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_TF32, true), 40e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_AMP, true), 80e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_BF16, true), 80e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_FP16, true), 80e12);
	gpu.fp16_tensor_tflops = 12;
	CHECK_EQ(pm_gpu_peak(&gpu, PM_TF32, true), 10e12);
	/* bf16 is computed in FP32 by cards of NVIDIA that are older than it */
	gpu = test_gpu;
	gpu.compute_capability = 7.5;
	CHECK_EQ(pm_gpu_peak(&gpu, PM_BF16, true), 10e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_AMP, true), 80e12);
	/* without matrix units 16 bits may be faster on the others, and are not slower; libraries of NVIDIA add up in FP32 */
	gpu.fp16_tensor_tflops = NAN;
	CHECK_EQ(pm_gpu_peak(&gpu, PM_FP16, true), 10e12);
	gpu.compute_capability = NAN;
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		CHECK_EQ(pm_gpu_peak(&gpu, (pm_dtype) dtype, true), dtype == PM_FP32 || dtype == PM_TF32 ? 10e12 : 20e12);
	gpu.fp16_tflops = 0.2;
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		CHECK_EQ(pm_gpu_peak(&gpu, (pm_dtype) dtype, true), 10e12);
	gpu.fp16_tflops = NAN;
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		CHECK_EQ(pm_gpu_peak(&gpu, (pm_dtype) dtype, true), 10e12);
}

/* What power leaves of the peaks: known cards as they were measured, and no better figure ever lowers a rate. */
static void
test_rates(void)
{
	const pm_gpu t4 = {.name = "T4", .memory_gb = 16, .mem_bw_gbs = 320, .sm_count = 40, .cores_per_sm = 64, .clock_ghz = 1.59, .fp32_tflops = 8.1,
		.fp16_tensor_tflops = 65, .l2_mb = 4, .tdp_w = 70, .base_clock_ghz = 0.585, .compute_capability = 7.5, .l1_kb = 96, .register_kb = 256,
	.fp16_tflops = 16.2};
	pm_gpu		gpu = t4;
	pm_rng		rng;

	CHECK_NEAR(pm_gpu_rate(&t4, PM_FP32, true, false), 4.6e12, 0.2e12);
	CHECK_NEAR(pm_gpu_rate(&t4, PM_AMP, true, false), 42e12, 2e12);
	CHECK(pm_gpu_rate(&t4, PM_FP32, true, true) > pm_gpu_rate(&t4, PM_FP32, true, false));
	gpu.tdp_w = 300;
	CHECK_EQ(pm_gpu_rate(&gpu, PM_FP32, true, false), 8.1e12);
	gpu.tdp_w = NAN;
	CHECK_EQ(pm_gpu_rate(&gpu, PM_AMP, true, false), 65e12);
	gpu = t4;
	gpu.compute_capability = NAN;
	CHECK_EQ(pm_gpu_rate(&gpu, PM_FP32, true, false), 8.1e12);
	gpu = t4;
	gpu.sm_count = NAN;
	CHECK_EQ(pm_gpu_rate(&gpu, PM_FP32, true, false), 8.1e12);
	pm_rng_seed(&rng, 5);
	for (int round = 0; round < 2000; round++)
	{
		pm_gpu		worse = t4;
		pm_gpu		better;
		pm_dtype	dtype = (pm_dtype) (pm_rng_uniform(&rng) * PM_N_DTYPES);
		bool		convolution = pm_rng_uniform(&rng) < 0.5;

		worse.compute_capability = (double[]) {6.1, 7.5, 8.0, 8.6, 8.9, 9.0}[(int) (6 * pm_rng_uniform(&rng))];
		for (int i = 0; i < PM_N_GPU_FIGURES; i++)
			if (pm_gpu_figures[i].offset != offsetof(pm_gpu, compute_capability))
				*(double *) ((char *) &worse + pm_gpu_figures[i].offset) *= exp2(4 * pm_rng_uniform(&rng) - 2);
		better = worse;
		for (int i = 0; i < PM_N_GPU_FIGURES; i++)
			if (pm_gpu_figures[i].offset != offsetof(pm_gpu, compute_capability) && pm_rng_uniform(&rng) < 0.3)
				*(double *) ((char *) &better + pm_gpu_figures[i].offset) *= 1 + pm_rng_uniform(&rng);
		CHECK(pm_gpu_rate(&better, dtype, true, convolution) >= pm_gpu_rate(&worse, dtype, true, convolution));
	}
}

/* Slot "own_kernel" of one convolution; -1 where it does not apply. */
static int
own_kernel(const char *shapes, const char *attrs, pm_dtype dtype, pm_layout layout, bool is_cpu)
{
	graph_text	t;
	pm_gpu		gpu = test_gpu;
	pm_graph   *g;
	pm_skeleton *s;
	pm_question	q;
	pm_tokens	tokens;
	int			channels, group, kernel, in, out;

	CHECK_EQ(sscanf(shapes, "%d/%d k%d %d>%d", &channels, &group, &kernel, &in, &out), 5);
	text_start(&t, "one", "one");
	net_input(&t, channels, in);
	text_node(&t, "'op':'Conv','inputs':[0],'shape':[1,%d,%d,%d],'batch_dim':0,'weights':[[%d,%d,%d,%d]],'attrs':{'kernel_shape':[%d,%d],'group':%d,%s}",
			  channels, out, out, channels, channels / group, kernel, kernel, kernel, kernel, group, attrs);
	g = text_finish(&t, &arena);
	s = make_skeleton(g, true, &arena);
	gpu.is_cpu = is_cpu;
	q = make_sample(g, s, 4, 1).query;
	q.gpu = &gpu;
	q.dtype = dtype;
	q.layout = layout;
	CHECK(pm_tokens_build(s, &q, &arena, &tokens, NULL) == PM_OK);
	return tokens.slot_mask[PM_SLOT_OWN_KERNEL] == 0 ? -1 : (int) tokens.slots[PM_SLOT_OWN_KERNEL];
}

/* Which depthwise convolutions PyTorch runs itself: each condition of its rule on both sides. */
static void
test_own_kernel(void)
{
	static const char one[] = "'strides':[1,1]", two[] = "'strides':[2,2]";

	CHECK_EQ(own_kernel("64/1 k3 14>14", one, PM_AMP, PM_NCHW, false), -1);
	CHECK_EQ(own_kernel("64/64 k3 14>14", one, PM_AMP, PM_NCHW, false), 0);
	CHECK_EQ(own_kernel("32/32 k5 14>14", one, PM_FP16, PM_NCHW, false), 0);
	CHECK_EQ(own_kernel("31/31 k3 14>14", one, PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("64/64 k3 14>14", one, PM_FP32, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("64/64 k3 14>14", one, PM_BF16, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("64/64 k7 14>14", one, PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("64/64 k3 7>7", one, PM_AMP, PM_NCHW, false), 0);
	CHECK_EQ(own_kernel("64/64 k3 6>6", one, PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("64/64 k3 14>14", "'strides':[1,1],'dilations':[2,2]", PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("511/511 k3 14>7", two, PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("512/512 k3 14>7", two, PM_AMP, PM_NCHW, false), 0);
	CHECK_EQ(own_kernel("256/256 k5 28>14", two, PM_AMP, PM_NCHW, false), 0);
	CHECK_EQ(own_kernel("256/256 k5 27>14", two, PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("512/512 k3 14>5", "'strides':[3,3]", PM_AMP, PM_NCHW, false), 1);
	/* channels-last ones are the vendor's, and a CPU has neither */
	CHECK_EQ(own_kernel("16/16 k7 14>14", one, PM_AMP, PM_NHWC, false), 0);
	CHECK_EQ(own_kernel("16/16 k7 14>14", one, PM_FP32, PM_NCHW, true), 0);
}

/* As many bytes as the cache holds come three times as fast. */
static double
moved(double bytes, const pm_gpu *gpu)
{
	double		cache = gpu->l2_mb * 1e6;

	return bytes > cache ? bytes - cache * 2 / 3 : bytes / 3;
}

/* Roofline of a node by its definition, us, all phases. */
static double
node_roofline(const pm_graph *g, int node, const pm_question *q, double *phase)
{
	bool		matrix = g->nodes[node].n_weights > 0 && strcmp(g->nodes[node].op_name, "BatchNormalization") != 0;
	double		fast = pm_gpu_rate(q->gpu, q->dtype, matrix, strcmp(g->nodes[node].op_name, "Conv") == 0);
	double		bandwidth = q->gpu->mem_bw_gbs * 1e9;
	pm_work		w;

	pm_node_work(g, node, q->batch, q->dtype, q->layout, q->optimizer, &w);
	phase[0] = 1e6 * fmax(w.flops_forward / fast, moved(w.bytes_forward, q->gpu) / bandwidth);
	phase[1] = 1e6 * fmax(w.flops_backward / fast, moved(w.bytes_backward, q->gpu) / bandwidth);
	phase[2] = 1e6 * fmax(w.flops_update / pm_gpu_rate(q->gpu, q->dtype, false, false), w.bytes_update / bandwidth);
	return phase[0] + phase[1] + phase[2];
}

static void
check_roofline(const pm_graph *g, const pm_skeleton *s, const pm_question *q)
{
	pm_tokens	t;
	double		total = 0;
	double		counted = 0;

	CHECK(pm_tokens_build(s, q, &arena, &t, NULL) == PM_OK);
	for (int i = 0; i < s->n; i++)
	{
		double		phase[3];
		double		us = node_roofline(g, s->node[i], q, phase);

		CHECK_NEAR(t.roofline_us[i], us, 1e-9 * us);
		for (int p = 0; p < 3; p++)
			CHECK_NEAR(t.phase_us[3 * i + p], phase[p], 1e-9 * us);
		CHECK(t.bound[i] == 'c' || t.bound[i] == 'm');
		counted += s->copies[i] * t.flops[i];
	}
	for (int i = 0; i < s->dag.n; i++)
	{
		double		phase[3];

		total += node_roofline(g, s->dag.node[i], q, phase);
	}
	CHECK_NEAR(t.total_roofline_us, total, 1e-9 * total);
	CHECK_NEAR(t.total_flops, counted, 1e-9 * counted);
	CHECK_EQ(t.params, g->params);
}

static void
test_roofline(void)
{
	pm_graph   *g = make_net(&arena, "net", 32, 2, 28, 4);
	pm_skeleton *merged = make_skeleton(g, true, &arena);
	pm_skeleton *plain = make_skeleton(g, false, &arena);
	pm_gpu		wide = test_gpu;

	wide.mem_bw_gbs = 1e7;		/* so that arithmetic decides everywhere */
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		for (int64_t batch = 1; batch <= 512; batch *= 8)
		{
			pm_question	q = make_sample(g, merged, batch, 1).query;

			q.dtype = (pm_dtype) dtype;
			q.optimizer = dtype % 2 ? PM_ADAM : PM_SGD;
			check_roofline(g, merged, &q);
			check_roofline(g, plain, &q);
			q.gpu = &wide;
			check_roofline(g, merged, &q);
		}
}

/* Longest path and other job features that can be known without the code. */
static void
test_job(void)
{
	pm_graph   *g = fork_join();
	pm_skeleton *s = make_skeleton(g, false, &arena);
	pm_question	q = make_sample(g, s, 16, 1).query;
	double		us[16];
	double		phase[3];
	double		left, right, path;
	pm_tokens	t;

	for (int i = 1; i < g->n_nodes; i++)
		us[i] = g->nodes[i].view ? 0 : node_roofline(g, i, &q, phase);
	left = us[2] + us[3];
	right = us[4] + us[5];
	path = us[1] + fmax(left, right) + us[6] + us[7] + us[8] + us[9] + us[11];
	CHECK(pm_tokens_build(s, &q, &arena, &t, NULL) == PM_OK);
	CHECK_NEAR(t.job[0], log2(17), 1e-6);
	CHECK_NEAR(t.job[5], log2(11), 1e-6);		/* operators */
	CHECK_NEAR(t.job[6], log2(1 + 7), 1e-6);	/* depth */
	CHECK_NEAR(t.job[9], log2(path + 0x1p-10), 1e-5);
	CHECK(t.job[9] < t.job[8]);
	for (int k = 0; k < PM_N_JOB; k++)
		CHECK(isfinite(t.job[k]));
	for (int k = 0; k < t.n * PM_N_LOADS; k++)
		CHECK(k % PM_N_LOADS >= 20 ? !isinf(t.loads[k]) : isfinite(t.loads[k]));
}

static void
test_slots(void)
{
	pm_graph   *g = make_net(&arena, "net", 32, 1, 28, 4);
	pm_skeleton *s = make_skeleton(g, false, &arena);
	pm_question	q = make_sample(g, s, 8, 1).query;
	pm_tokens	t;
	const pm_real *v, *m;

	q.dtype = PM_AMP;
	CHECK(pm_tokens_build(s, &q, &arena, &t, NULL) == PM_OK);
	/* token 6 is the grouped 3x3 convolution */
	v = t.slots + 6 * PM_N_SLOTS;
	m = t.slot_mask + 6 * PM_N_SLOTS;
	CHECK_EQ(t.type[6], pm_type_id(0, PM_CONV_GROUPED));
	CHECK_NEAR(v[PM_HAS_IN_CH], log2(33), 1e-6);
	CHECK_NEAR(v[PM_HAS_K_H], log2(4), 1e-6);
	CHECK_NEAR(v[PM_HAS_GROUPS], log2(5), 1e-6);
	CHECK_NEAR(v[PM_HAS_CH_PER_GROUP], log2(9), 1e-6);
	CHECK(m[PM_HAS_IN_CH] == 1 && m[PM_HAS_GROUPS] == 1 && m[PM_HAS_HEADS] == 0 && v[PM_HAS_HEADS] == 0);
	CHECK_NEAR(v[PM_HAS_BIAS + 1], log2(9), 1e-6);	/* batch */
	CHECK_EQ(v[PM_HAS_BIAS + 2], 2);	/* bytes */
	/* token 2 is a Relu: no kernel */
	CHECK(t.slot_mask[2 * PM_N_SLOTS + PM_HAS_K_H] == 0 && t.slots[2 * PM_N_SLOTS + PM_HAS_K_H] == 0);
	for (int i = 0; i < t.n * PM_N_SLOTS; i++)
		CHECK((t.slot_mask[i] == 1 && isfinite(t.slots[i])) || (t.slot_mask[i] == 0 && t.slots[i] == 0));
}

/*
 * A gap in the data sheet makes NaN in the features that `loads` (a bit set)
 * and `job` say and in no other; some do not apply to some operators anyway.
 */
static void
check_gap(const pm_gpu *gpu, unsigned loads, int job)
{
	pm_graph   *g = fork_join();
	pm_skeleton *s = make_skeleton(g, true, &arena);
	pm_question	q = make_sample(g, s, 4, 1).query;
	pm_tokens	full, t;

	CHECK(pm_tokens_build(s, &q, &arena, &full, NULL) == PM_OK);
	q.gpu = gpu;
	CHECK(pm_tokens_build(s, &q, &arena, &t, NULL) == PM_OK);
	for (int i = 0; i < t.n * PM_N_LOADS; i++)
		CHECK(isnan(t.loads[i]) == (isnan(full.loads[i]) || ((loads >> i % PM_N_LOADS) & 1)));
	for (int k = 0; k < PM_N_JOB; k++)
		CHECK(k == job ? isnan(t.job[k]) : isfinite(t.job[k]));
	CHECK(isnan(gpu->l2_mb) ? t.total_roofline_us > full.total_roofline_us : t.total_roofline_us <= full.total_roofline_us);
}

#define LOAD_BLOCKS 16			/* blocks a multiprocessor */
#define LOAD_L2		19
#define LOAD_FIT	20			/* five features of matrix products, the last two of rounds */

static void
test_gaps(void)
{
	pm_gpu		gpu = test_gpu;

	check_gap(&gpu, 0, -1);
	gpu.l2_mb = NAN;
	check_gap(&gpu, 1u << LOAD_L2, 26);
	gpu = test_gpu;
	gpu.sm_count = NAN;
	check_gap(&gpu, 1u << LOAD_BLOCKS | 1u << (LOAD_FIT + 3) | 1u << (LOAD_FIT + 4), 27);
	gpu = test_gpu;
	gpu.memory_gb = NAN;
	check_gap(&gpu, 0, 25);
	gpu = test_gpu;
	gpu.clock_ghz = NAN;
	check_gap(&gpu, 0, 28);
	gpu = test_gpu;
	gpu.fp16_tensor_tflops = NAN;
	check_gap(&gpu, 0, -1);
	gpu = test_gpu;
	gpu.cores_per_sm = NAN;
	check_gap(&gpu, 0, -1);
}

/* What tiles of 128 x 64 on 40 multiprocessors make of two products; NaN where there is no product. */
static void
test_fit(void)
{
	graph_text	text;
	pm_graph   *g;
	pm_skeleton *s;
	pm_question	q;
	pm_tokens	t;
	const pm_real *fit;

	text_start(&text, "fit", "fit");
	net_input(&text, 24, 32);
	net_conv(&text, 0, 24, 96, 32, 1, 1);
	net_unary(&text, "Relu", 1, 96, 32);
	net_conv(&text, 2, 96, 96, 32, 3, 96);
	g = text_finish(&text, &arena);
	s = make_skeleton(g, false, &arena);
	q = make_sample(g, s, 16, 1).query;
	CHECK(pm_tokens_build(s, &q, &arena, &t, NULL) == PM_OK);
	/* 16384 x 96 x 24: 128 * 2 tiles */
	fit = t.loads + LOAD_FIT;
	CHECK_EQ(fit[0], 5);
	CHECK_EQ(fit[1], 3);
	CHECK_NEAR(fit[2], log2(0.75), 1e-6);
	CHECK_NEAR(fit[3], log2(6.4), 1e-6);
	CHECK_NEAR(fit[4], log2(6.4 / 7), 1e-6);
	for (int k = 0; k < 5; k++)
		CHECK(isnan(t.loads[PM_N_LOADS + LOAD_FIT + k]));
	/* depthwise: one channel a group, 96 products of one column */
	fit = t.loads + 2 * PM_N_LOADS + LOAD_FIT;
	CHECK_EQ(fit[0], 0);
	CHECK_EQ(fit[1], 0);
	CHECK_NEAR(fit[2], log2(1.0 / 64), 1e-6);
	CHECK_NEAR(fit[3], log2(96 * 128 / 40.0), 1e-5);
}

static void
test_refused(void)
{
	static const double no_rate[] = {NAN, 0, -1, INFINITY};
	static const int64_t no_batch[] = {0, -1, PM_MAX_BATCH + 1, INT64_MIN, INT64_MAX};
	pm_graph   *g = fork_join();
	pm_skeleton *s = make_skeleton(g, true, &arena);
	pm_question	q = make_sample(g, s, 1, 1).query;
	pm_gpu		gpu = test_gpu;
	pm_tokens	t;
	pm_status	st;

	q.gpu = &gpu;
	for (int i = 0; i < 4; i++)
	{
		gpu = test_gpu;
		gpu.fp32_tflops = no_rate[i];
		CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), PM_ERR_INPUT);
		CHECK_HAS(st.message, "\"Test 1000\" has no fp32_tflops");
		CHECK_HAS(st.hint, "fp32_tflops");
		gpu = test_gpu;
		gpu.mem_bw_gbs = no_rate[i];
		CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), PM_ERR_INPUT);
		CHECK_HAS(st.message, "mem_bw_gbs");
	}
	gpu = test_gpu;
	for (int i = 0; i < 5; i++)
	{
		q.batch = no_batch[i];
		CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), PM_ERR_INPUT);
		CHECK_HAS(st.message, "batch must be between 1 and 16777216");
	}
	q.batch = PM_MAX_BATCH;
	CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), PM_OK);
	CHECK(isfinite(t.total_roofline_us) && t.total_roofline_us > 0);
}

/* ---------- graphs that cannot have a skeleton, and limits ---------- */

/* n operators in a row; all alike, or each of its own size. */
static pm_graph *
chain(int n, bool alike, pm_arena *a)
{
	graph_text	t;

	text_start(&t, "chain", "chain");
	net_input(&t, 4, 4);
	for (int i = 0; i < n; i++)
		net_unary(&t, "Relu", i, alike ? 4 : 4 + i, 4);
	return text_finish(&t, a);
}

static void
test_limits(void)
{
	graph_text	t;
	pm_skeleton s;
	pm_status	st;
	pm_arena	a;

	text_start(&t, "empty", "empty");
	net_input(&t, 4, 4);
	text_node(&t, "'op':'Flatten','view':true,'inputs':[0],'shape':[1,64],'batch_dim':0");
	CHECK_EQ(pm_skeleton_build(text_finish(&t, &arena), true, &arena, &s, &st), PM_ERR_INPUT);
	CHECK_HAS(st.message, "\"empty\" has no operator");
	pm_arena_init_malloc(&a);
	CHECK_EQ(pm_skeleton_build(chain(PM_MAX_OPS + 1, true, &a), true, &a, &s, &st), PM_ERR_LIMIT);
	CHECK_HAS(st.message, "20001 operators, and at most 20000");
	CHECK_EQ(pm_skeleton_build(chain(PM_MAX_TOKENS + 1, false, &a), true, &a, &s, &st), PM_ERR_LIMIT);
	CHECK_HAS(st.message, "4097 distinct operators, and at most 4096");
	CHECK_EQ(pm_skeleton_build(chain(PM_MAX_TOKENS + 1, true, &a), false, &a, &s, &st), PM_ERR_LIMIT);
	CHECK_EQ(pm_skeleton_build(chain(PM_MAX_TOKENS + 1, true, &a), true, &a, &s, &st), PM_OK);
	CHECK_EQ(s.n, 1);
	CHECK_EQ(s.copies[0], PM_MAX_TOKENS + 1);
	CHECK_EQ(pm_skeleton_build(chain(1, true, &a), true, &a, &s, &st), PM_OK);
	CHECK_EQ(s.n, 1);
	CHECK_EQ(s.dag.max_depth, 0);
	pm_arena_release(&a);
}

/* Whatever an arena refuses, the answer is PM_ERR_MEMORY. */
static void
test_memory(void)
{
	pm_graph   *g = make_net(&arena, "net", 8, 4, 8, 1);
	pm_code		rc = PM_ERR_MEMORY;
	int			refused = 0;

	for (size_t limit = 512; rc == PM_ERR_MEMORY; limit += 512)
	{
		pm_arena	small;
		pm_skeleton s;
		pm_tokens	t;
		pm_status	st;

		pm_arena_init_malloc(&small);
		small.limit = limit;
		rc = pm_skeleton_build(g, true, &small, &s, &st);
		if (rc == PM_OK)
		{
			pm_question	q = make_sample(g, &s, 4, 1).query;

			rc = pm_tokens_build(&s, &q, &small, &t, &st);
		}
		refused += rc != PM_OK;
		pm_arena_release(&small);
	}
	CHECK_EQ(rc, PM_OK);
	CHECK(refused > 5);
}

static void
test_types(void)
{
	char		buf[64];

	for (int type = 0; type < pm_type_count(); type++)
		if (type != pm_type_id(0, PM_CONV_NONE) + pm_op_count())
			CHECK_EQ(pm_type_find(pm_type_name(type, buf)), type);
	CHECK_EQ(strcmp(pm_type_name(pm_type_id(0, PM_CONV_DEPTHWISE), buf), "Conv/depthwise"), 0);
	CHECK_EQ(pm_type_id(pm_op_find("Relu"), PM_CONV_NONE), pm_op_find("Relu"));
	CHECK_EQ(pm_type_find("Conv/of another library"), -1);
	CHECK_EQ(pm_type_find("Conv/"), -1);
	CHECK_EQ(pm_type_find("of another library"), -1);
	CHECK_EQ(pm_type_find(""), -1);
}

/* ---- cancelled ---- */

static int	polls_left;
static int	polls;

static bool
stop_later(void *ctx)
{
	(void) ctx;
	polls++;
	return polls_left-- <= 0;
}

/* A chain of n operators, all of them different. */
static pm_graph *
make_chain(int n)
{
	graph_text	t;
	int			x;

	text_start(&t, "chain", "chain");
	x = net_input(&t, 3, 8);
	x = net_conv(&t, x, 3, 8, 8, 1, 1);
	for (int i = 0; i < n; i++)
		x = text_node(&t, "'op':'Mul','inputs':[%d],'shape':[1,8,8,8],'batch_dim':0,'weights':[[%d]]", x, i + 1);
	return text_finish(&t, &arena);
}

/* Skeleton and tokens of g with a hook that says stop when it is asked after `asks` times. */
static pm_code
build_until(const pm_graph *g, int asks)
{
	const pm_hooks hooks = {.stop = stop_later};
	pm_skeleton s;
	pm_tokens	t;
	pm_arena	a;
	pm_status	st = {PM_OK};
	pm_code		rc;

	polls = 0;
	polls_left = asks;
	pm_arena_init_malloc(&a);
	a.hooks = &hooks;
	rc = pm_skeleton_build(g, true, &a, &s, &st);
	if (rc == PM_OK)
	{
		pm_question q = make_sample(g, &s, 4, 1).query;

		rc = pm_tokens_build(&s, &q, &a, &t, &st);
	}
	CHECK_EQ(st.code, rc);
	pm_arena_release(&a);
	return rc;
}

/* They ask often, and end with PM_CANCELLED wherever they are stopped. */
static void
test_cancel(void)
{
	pm_graph   *g = make_chain(3000);
	int			asked;

	CHECK_EQ(build_until(g, 1 << 30), PM_OK);
	asked = polls;
	CHECK(asked > 100);
	for (int i = 0; i < asked; i += 1 + asked / 40)
		CHECK_EQ(build_until(g, i), PM_CANCELLED);
	CHECK_EQ(build_until(g, asked - 1), PM_CANCELLED);
	CHECK_EQ(build_until(g, asked), PM_OK);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_against_definitions();
	test_relations_by_hand();
	test_merging();
	test_not_merged();
	test_renumbered();
	test_peaks();
	test_rates();
	test_own_kernel();
	test_roofline();
	test_job();
	test_slots();
	test_gaps();
	test_fit();
	test_refused();
	test_limits();
	test_memory();
	test_types();
	test_cancel();
	pm_arena_release(&arena);
	return check_done("tokens");
}
