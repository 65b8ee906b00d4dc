/*
 * test_skeleton.c - skeletons (merging, positions, relations) against a
 * computation from the definitions, and their limits.
 */
#include "check.h"
#include "make_graph.h"

static pm_arena arena;

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

/* The share of token b in what a copy of token a reads, or is read by, as a mean over the copies. */
static double
token_edge(const pm_skeleton *s, const truth *t, pm_edge_way way, int a, int b)
{
	double		sum = 0;

	for (int x = 0; x < s->dag.n; x++)
	{
		int			hits = 0;
		int			degree = 0;

		for (int y = 0; y < s->dag.n && s->token_of[x] == a; y++)
		{
			int			i = s->dag.node[way == PM_TO_PRODUCERS ? x : y];
			int			j = s->dag.node[way == PM_TO_PRODUCERS ? y : x];

			degree += t->parent[i][j];
			hits += t->parent[i][j] && s->token_of[y] == b;
		}
		sum += degree > 0 ? (double) hits / degree : 0;
	}
	return sum / s->copies[a];
}

/* Each edge once, with its weight, and no other. */
static void
check_edges(const pm_skeleton *s, const truth *t)
{
	double		weight[MAX_NODES];
	double		worst = 0;
	int			twice = 0;

	for (int way = 0; way < PM_N_EDGE_WAYS; way++)
		for (int i = 0; i < s->n; i++)
		{
			const pm_edges *e = &s->edges[way];

			memset(weight, 0, sizeof(weight));
			for (int k = e->at[i]; k < e->at[i + 1]; k++)
			{
				twice += weight[e->to[k]] != 0;
				weight[e->to[k]] = e->weight[k];
			}
			for (int j = 0; j < s->n; j++)
				worst = fmax(worst, fabs(weight[j] - token_edge(s, t, (pm_edge_way) way, i, j)));
		}
	CHECK_EQ(twice, 0);
	CHECK_NEAR(worst, 0, 1e-6);
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
	check_edges(s, t);
	free(position);
	free(t);
}

static void
test_against_definitions(void)
{
	pm_graph   *g = make_fork(&arena);

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
	pm_graph   *g = make_fork(&arena);
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
		check_renumbered(make_fork(&arena), true, seed);
		check_renumbered(make_net(&arena, "net", 8, 4, 8, 1), true, seed);
		check_renumbered(make_net(&arena, "net", 8, 2, 8, 1), false, seed);
		check_renumbered(random_graph(seed, 60), true, seed);
	}
}

/* ---------- slim ---------- */

/* A broadcasting view: what reads it touches the elements of the input before it, which is no operator. */
static pm_graph *
make_spread(void)
{
	graph_text	t;
	int			x;
	int			y;

	text_start(&t, "spread", "spread");
	x = net_conv(&t, net_input(&t, 3, 8), 3, 8, 8, 3, 1);
	y = net_input(&t, 8, 1);
	y = text_node(&t, "'op':'Expand','view':true,'inputs':[%d],'shape':[1,8,8,8],'batch_dim':0", y);
	text_node(&t, "'op':'Mul','inputs':[%d,%d],'shape':[1,8,8,8],'batch_dim':0", x, y);
	return text_finish(&t, &arena);
}

/* Work of the part that is kept, at another batch, is that of the whole. */
static void
check_slim(const pm_graph *g, bool merge)
{
	const pm_skeleton *s = make_skeleton(g, merge, &arena);
	pm_question q = make_sample(g, s, 7, 1).query;
	pm_graph	kept;
	pm_skeleton slim;
	pm_tokens	a,
				b;

	CHECK_EQ(pm_skeleton_slim(s, &arena, &kept, &slim, NULL), PM_OK);
	CHECK(slim.n == s->n && slim.dag.n == s->dag.n);
	CHECK_EQ(pm_tokens_build_work(s, &q, &arena, &a, NULL), PM_OK);
	q.graph = &kept;
	CHECK_EQ(pm_tokens_build_work(&slim, &q, &arena, &b, NULL), PM_OK);
	CHECK_EQ(memcmp(a.phase_us, b.phase_us, 3 * a.n * sizeof(double)), 0);
	CHECK_EQ(memcmp(a.bytes, b.bytes, a.n * sizeof(double)), 0);
	CHECK_EQ(memcmp(a.kernels, b.kernels, a.n * sizeof(double)), 0);
	CHECK(a.total_roofline_us == b.total_roofline_us && a.total_bytes == b.total_bytes && a.n_kernels == b.n_kernels && a.params == b.params);
	for (int i = 0; i < s->n; i++)
		CHECK(slim.copies[i] == s->copies[i] && strcmp(kept.nodes[slim.node[i]].op_name, g->nodes[s->node[i]].op_name) == 0);
}

static void
test_slim(void)
{
	for (int merge = 0; merge < 2; merge++)
	{
		check_slim(make_spread(), merge);
		check_slim(make_fork(&arena), merge);
		check_slim(make_net(&arena, "net", 8, 3, 8, 1), merge);
		for (int seed = 0; seed < 10; seed++)
			check_slim(random_graph(seed, 40), merge);
	}
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

/* n operators that read the same tensor. */
static pm_graph *
fan(int n, pm_arena *a)
{
	graph_text	t;

	text_start(&t, "fan", "fan");
	net_conv(&t, net_input(&t, 3, 4), 3, 4, 4, 1, 1);
	for (int i = 0; i < n; i++)
		net_unary(&t, "Relu", 1, 4, 4);
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
	/* as many as are allowed */
	CHECK_EQ(pm_skeleton_build(chain(PM_MAX_OPS, true, &a), true, &a, &s, &st), PM_OK);
	CHECK_EQ(pm_skeleton_build(chain(PM_MAX_TOKENS, false, &a), true, &a, &s, &st), PM_OK);
	/* of 14,200 readers of a tensor there are 100.8 million pairs, and 100 million are looked at */
	CHECK_EQ(pm_skeleton_build(fan(14200, &a), true, &a, &s, &st), PM_ERR_LIMIT);
	CHECK_HAS(st.message, "too many pairs of operators that read the same tensor");
	CHECK_EQ(pm_skeleton_build(fan(500, &a), true, &a, &s, &st), PM_OK);
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
	test_slim();
	test_limits();
	test_memory();
	test_cancel();
	pm_arena_release(&arena);
	return check_done("test_skeleton");
}
