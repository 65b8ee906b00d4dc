/*
 * test_frozen.c - weights that are not trained, and tables of which a step
 * trains a few rows: what is left of the backward pass, of the update, of the
 * memory and of the messages, and what a network sees of them.
 */
#include "check.h"
#include "graph_text.h"
#include "make_cluster.h"
#include "make_graph.h"

#include "graph/graph_write.h"
#include "graph/op_work.h"
#include "memory/peak.h"
#include "scaling/buckets.h"
#include "scaling/step.h"

#define LAYERS	5
#define WIDTH	64
#define ROWS	16

static pm_arena arena;

/* A chain of products, each with a bias, a norm and an activation; bit i of `frozen`: product i and its norm. */
static const pm_graph *
chain(unsigned frozen)
{
	graph_text	t;
	int			x;

	text_start(&t, "chain", "chain");
	x = text_node(&t, "'op':'Input','inputs':[],'shape':[1,%d,%d],'batch_dim':0", ROWS, WIDTH);
	for (int i = 0; i < LAYERS; i++)
	{
		const char *attrs = frozen & 1u << i ? ",'attrs':{'frozen':1}" : "";

		x = text_node(&t, "'op':'Gemm','inputs':[%d],'shape':[1,%d,%d],'batch_dim':0,'weights':[[%d,%d],[%d]]%s", x, ROWS, WIDTH, WIDTH, WIDTH, WIDTH, attrs);
		x = text_node(&t, "'op':'LayerNormalization','inputs':[%d],'shape':[1,%d,%d],'batch_dim':0,'weights':[[%d],[%d]]%s", x, ROWS, WIDTH, WIDTH, WIDTH, attrs);
		x = text_node(&t, "'op':'Relu','inputs':[%d],'shape':[1,%d,%d],'batch_dim':0", x, ROWS, WIDTH);
	}
	return text_finish(&t, &arena);
}

static const pm_node *
product(const pm_graph *g, int i)
{
	return &g->nodes[1 + 3 * i];
}

static pm_work
work_of(const pm_graph *g, int i, pm_dtype dtype)
{
	pm_work		w;

	pm_node_work(g, 1 + 3 * i, 8, dtype, PM_NCHW, PM_ADAM, &w);
	return w;
}

/* Before the first trained weight nothing goes back; behind it, a frozen product has one gradient instead of two. */
static void
test_work(void)
{
	const pm_graph *all = chain(0);
	const pm_graph *g = chain(1u << 0 | 1u << 1 | 1u << 3);
	const double own = WIDTH * WIDTH + WIDTH;

	CHECK_EQ(all->params, LAYERS * (own + 2 * WIDTH));
	CHECK_EQ(all->frozen, 0);
	CHECK_EQ(g->frozen, 3 * (own + 2 * WIDTH));
	CHECK_EQ(g->params + g->frozen, all->params);
	CHECK(all->structure != g->structure);
	for (int i = 0; i < LAYERS; i++)
	{
		CHECK_EQ(product(g, i)->grad, i >= 2);
		for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		{
			bool		frozen = product(g, i)->attrs.frozen;
			pm_work		w = work_of(g, i, (pm_dtype) dtype);
			pm_work		whole = work_of(all, i, (pm_dtype) dtype);
			double		bias = 8 * ROWS * WIDTH;	/* its gradient is a sum */

			CHECK_EQ(w.flops_forward, whole.flops_forward);
			CHECK_EQ(w.bytes_forward, whole.bytes_forward);
			CHECK_EQ(w.weight_elems, whole.weight_elems);
			CHECK_EQ(w.params, frozen ? 0 : own);
			CHECK_EQ(w.bytes_update, frozen ? 0 : whole.bytes_update);
			CHECK_EQ(whole.flops_backward, (i == 0 ? 1 : 2) * whole.flops_forward + bias);
			CHECK_EQ(w.flops_backward, i < 2 ? 0 : i == 2 ? w.flops_forward + bias : i == 3 ? w.flops_forward : whole.flops_backward);
			CHECK(w.bytes_backward <= whole.bytes_backward && w.kernels_backward <= whole.kernels_backward);
		}
	}
}

/* What cannot be: a tied weight that is trained in one place and frozen in the other. */
static void
test_tied(void)
{
	for (int mix = 0; mix < 4; mix++)
	{
		char		doc[600];
		pm_graph	g;
		pm_status	st;
		bool		same = mix == 0 || mix == 3;

		snprintf(doc, sizeof(doc), "{\"format\":\"perfmodel-graph/1\",\"nodes\":[{\"id\":0,\"op\":\"Input\",\"inputs\":[],\"shape\":[1,8],\"batch_dim\":0},"
				 "{\"id\":1,\"op\":\"Gather\",\"inputs\":[0],\"shape\":[1,8,4],\"batch_dim\":0,\"weights\":[[9,4]],\"attrs\":{\"frozen\":%s}},"
				 "{\"id\":2,\"op\":\"Gemm\",\"inputs\":[1],\"shape\":[1,8,9],\"batch_dim\":0,\"weights\":[[9,4]],\"attrs\":{\"tied\":1,\"frozen\":%s}}]}",
				 mix & 1 ? "true" : "false", mix & 2 ? "1" : "0");
		CHECK_EQ(pm_graph_from_json(doc, strlen(doc), &arena, &g, &st), same ? PM_OK : PM_ERR_INPUT);
		if (same)
			CHECK_EQ(mix == 0 ? g.params : g.frozen, 36);
		else
			CHECK_HAS(st.message, "only one of the two is frozen");
	}
}

/*
 * Product 3 reads product 1 through node 2, and node 4 adds up product 3 and, unless `only` that way is left, product 1.  `loss`: the
 * document says what the loss is computed from.
 */
static const pm_graph *
branches(const char *between, bool only, bool loss)
{
	static const char product[] = "{'id':%d,'op':'Gemm','inputs':[%d],'shape':[1,8],'batch_dim':0,'weights':[[8,8]]}";
	char		text[1024] = "{'format':'perfmodel-graph/1',";
	size_t		len = append(text, strlen(text), loss ? "'output':4,'nodes':[" : "'nodes':[");
	pm_graph   *g = PM_NEW(&arena, pm_graph, 1);
	pm_status	st;

	len = append(text, len, IN0 ",");
	len = append(text, len, product, 1, 0);
	len = append(text, len, ",{'id':2,'op':'%s','inputs':[1],'shape':[1,8],'batch_dim':0%s},", between,
				 strcmp(between, "Identity") == 0 ? ",'view':true" : "");
	len = append(text, len, product, 3, 2);
	append(text, len, ",{'id':4,'op':'Add','inputs':[3,%d],'shape':[1,8],'batch_dim':0}]}", only ? 3 : 1);
	for (char *c = text; *c != '\0'; c++)
		*c = *c == '\'' ? '"' : *c;
	CHECK_EQ(pm_graph_from_json(text, strlen(text), &arena, g, &st), PM_OK);
	return g;
}

/* Behind a detach() no data has a gradient, and before it only what the loss reads in another way as well. */
static void
test_detach(void)
{
	for (int way = 0; way < 4; way++)
	{
		bool		only = way & 1;
		const pm_graph *g = branches("aten::detach", only, way & 2);
		const pm_graph *whole = branches("Identity", only, way & 2);
		pm_work		w[5];
		pm_work		of_whole[5];

		for (int i = 1; i < 5; i++)
		{
			pm_node_work(g, i, 8, PM_FP32, PM_NCHW, PM_SGD, &w[i]);
			pm_node_work(whole, i, 8, PM_FP32, PM_NCHW, PM_SGD, &of_whole[i]);
			CHECK_EQ(w[i].bytes_forward, of_whole[i].bytes_forward);
		}
		CHECK_EQ(g->n_unknown, 0);
		CHECK(g->structure != whole->structure);
		CHECK_EQ(of_whole[3].flops_backward, 2 * w[3].flops_forward);
		CHECK_EQ(w[3].flops_backward, w[3].flops_forward);
		CHECK_EQ(w[1].flops_backward, only ? 0 : w[1].flops_forward);
		CHECK_EQ(of_whole[1].flops_backward, w[1].flops_forward);
		/* gradients of two readers are added, that of one is not */
		CHECK_EQ(of_whole[1].kernels_backward - w[1].kernels_backward, only ? of_whole[1].kernels_backward : 1);
		CHECK(g->nodes[2].view);	/* though the document does not say so */
		CHECK_EQ(w[2].kernels_forward + w[2].kernels_backward + w[2].bytes_forward + w[2].bytes_backward, 0);
	}
}

/* Frozen weights stay in the memory of the weights; nothing else grows, and less is kept the more is frozen. */
static void
test_memory(void)
{
	for (unsigned frozen = 0; frozen < 1u << LAYERS; frozen++)
		for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		{
			const pm_step_options o = {.dtype = (pm_dtype) dtype, .optimizer = PM_ADAM};
			double		size = dtype == PM_BF16 || dtype == PM_FP16 ? 2 : 4;
			pm_memory_plan plan,
						more;
			pm_status	st;
			const pm_graph *g = chain(frozen);

			CHECK_EQ(pm_memory_plan_make(g, &o, &arena, &plan, &st), PM_OK);
			CHECK_EQ(plan.weights, (g->params + g->frozen) * size);
			CHECK_EQ(plan.gradients, g->params * size);
			CHECK_EQ(plan.optimizer, 2 * g->params * size);
			/* with the first of the frozen ones trained */
			CHECK_EQ(pm_memory_plan_make(chain(frozen & (frozen - 1)), &o, &arena, &more, &st), PM_OK);
			for (int64_t batch = 1; batch <= 4096 && frozen != 0; batch *= 8)
				CHECK(pm_memory_live(&plan, batch) <= pm_memory_live(&more, batch));
		}
}

/* Messages: gradients of what is trained, and with zero 3 weights of everything. */
static void
test_messages(void)
{
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 8);
	double		gathered[2];

	for (unsigned frozen = 0; frozen < 1u << LAYERS; frozen++)
	{
		const pm_graph *g = chain(frozen);
		const pm_skeleton *s = make_skeleton(g, true, &arena);
		pm_question	q = {.graph = g, .gpu = &test_gpu, .batch = 8, .dtype = PM_FP32, .optimizer = PM_ADAM};
		pm_tokens	work;
		pm_buckets	b;
		pm_step_shape shape;
		pm_scaled	to;
		pm_status	st = {PM_OK};
		double		again[2] = {0};

		CHECK_EQ(pm_tokens_build_work(s, &q, &arena, &work, &st), PM_OK);
		CHECK_EQ(pm_buckets_build(s, PM_FP32, 0.01, &arena, &b, &st), PM_OK);
		CHECK(b.n <= PM_MAX_BUCKETS);
		pm_step_shape_of(&b, &work, 8, 10, &shape);
		CHECK_EQ(shape.gradient_bytes, 4 * g->params);
		CHECK_EQ(shape.frozen_bytes, 4 * g->frozen);
		/* what a checkpoint computes again: nothing before the first trained weight */
		for (int i = 0, first = __builtin_ctz(~frozen); i < s->dag.n; i++)
			if (s->graph->nodes[s->dag.node[i]].op == product(g, 0)->op)
				again[s->dag.node[i] / 3 >= first] += b.again[s->token_of[i]] / s->copies[s->token_of[i]];
		CHECK_EQ(again[0], 0);
		CHECK_EQ(again[1], LAYERS - fmin(__builtin_ctz(~frozen), LAYERS));
		for (int zero = 0; zero <= 3; zero++)
		{
			pm_parallel p = {.world_size = 8, .nodes = 1, .accumulation = 1, .zero = zero, .bucket_mb = 0.01, .tp = 1, .pp = 1, .interleave = 1, .cp = 1};

			CHECK_EQ(pm_parallel_check(&p, &f, &st), PM_OK);
			pm_scaled_step(&shape, &p, &f, 1, &to);
			CHECK(isfinite(to.step_ms) && to.step_ms > 0);
			CHECK((to.comm_ms > 0) == (zero == 3 || g->params > 0));
			if (zero == 3 && (frozen == 0 || frozen == (1u << LAYERS) - 2))
				gathered[frozen == 0] = to.comm_ms;
		}
	}
	/* of three passes of all bytes, the two gathers are left, and a fifth of the sum */
	CHECK_NEAR(gathered[0] / gathered[1], (2 + 0.2) / 3, 0.1);
}

static bool
same(const pm_real *a, const pm_real *b, int n)
{
	return memcmp(a, b, n * sizeof(pm_real)) == 0;
}

/* A network sees all weights trained, and the work is that of those that are. */
static void
test_features(void)
{
	const pm_skeleton *all = make_skeleton(chain(0), false, &arena);
	pm_question q = {.gpu = &test_gpu, .batch = 8, .dtype = PM_AMP, .optimizer = PM_ADAM};
	pm_tokens	whole;
	pm_status	st = {PM_OK};

	q.graph = all->graph;
	CHECK_EQ(pm_tokens_build(all, &q, &arena, &whole, &st), PM_OK);
	for (unsigned frozen = 1; frozen < 1u << LAYERS; frozen++)
	{
		const pm_skeleton *s = make_skeleton(chain(frozen), false, &arena);
		pm_tokens	t;
		pm_tokens	work;

		q.graph = s->graph;
		CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), PM_OK);
		CHECK_EQ(pm_tokens_build_work(s, &q, &arena, &work, &st), PM_OK);
		CHECK(same(t.slots, whole.slots, t.n * PM_N_SLOTS) && same(t.slot_mask, whole.slot_mask, t.n * PM_N_SLOTS));
		CHECK(same(t.loads, whole.loads, t.n * PM_N_LOADS) && same(t.job, whole.job, PM_N_JOB));
		CHECK(t.skeleton == s);
		CHECK_EQ(t.total_flops, work.total_flops);
		CHECK(t.total_flops < whole.total_flops);
		for (int i = 0; i < t.n; i++)
			CHECK(t.compute_us[i] == work.compute_us[i] && t.kernels[i] == work.kernels[i]);
	}
}

#define WORDS		100000
#define LOOKED_UP	8			/* rows of a sample */

/* A table with or without a sparse gradient, and a product. */
static const pm_graph *
table(bool bag, bool sparse)
{
	const char *attrs = sparse ? ",'attrs':{'sparse':1}" : "";
	graph_text	t;
	int			x;

	text_start(&t, "table", "table");
	x = text_node(&t, "'op':'Input','inputs':[],'shape':[1,%d],'batch_dim':0", LOOKED_UP);
	if (bag)
		x = text_node(&t, "'op':'aten::embedding_bag','inputs':[%d],'shape':[1,%d],'batch_dim':0,'weights':[[%d,%d]]%s", x, WIDTH, WORDS, WIDTH, attrs);
	else
		x = text_node(&t, "'op':'Gather','inputs':[%d],'shape':[1,%d,%d],'batch_dim':0,'weights':[[%d,%d]]%s", x, LOOKED_UP, WIDTH, WORDS, WIDTH, attrs);
	(void) text_node(&t, "'op':'Gemm','inputs':[%d],'shape':[1,%d],'batch_dim':0,'weights':[[%d,%d]]%s", x, WIDTH, WIDTH, WIDTH, attrs);
	return text_finish(&t, &arena);
}

/* A sparse gradient and its update have the rows of the batch; the states and the weights are those of the whole table. */
static void
test_sparse(void)
{
	const double words = (double) WORDS * WIDTH;
	const double rows = 16. * LOOKED_UP * WIDTH;

	for (int way = 0; way < 4; way++)
	{
		bool		bag = way & 1;
		pm_optimizer opt = way & 2 ? PM_ADAM : PM_SGD;
		const pm_graph *g = table(bag, true);
		const pm_graph *dense = table(bag, false);
		pm_step_options o = {.dtype = PM_FP32, .optimizer = opt};
		pm_question q = {.gpu = &test_gpu, .batch = 16, .dtype = PM_FP32, .optimizer = opt};
		pm_tokens	work;
		pm_buckets	b;
		pm_step_shape shape;
		pm_memory_plan plan,
					whole;
		pm_work		w[2];
		pm_status	st = {PM_OK};

		CHECK(g->structure != dense->structure);
		CHECK(!g->nodes[2].attrs.sparse);	/* is no table */
		CHECK_EQ(g->params, words + WIDTH * WIDTH);
		CHECK_EQ(g->sparse, words);
		CHECK_EQ(dense->sparse, 0);
		pm_node_work(g, 1, 16, PM_FP32, PM_NCHW, opt, &w[0]);
		pm_node_work(dense, 1, 16, PM_FP32, PM_NCHW, opt, &w[1]);
		CHECK_EQ(w[0].params, words);
		CHECK_EQ(w[0].bytes_forward, w[1].bytes_forward);
		/* rows that were looked up have the gradient of the output; of those that were added up each has a copy of it */
		CHECK_EQ(w[0].bytes_backward, bag ? 4 * 2 * rows : 0);
		CHECK_EQ(w[0].kernels_backward, bag ? 1 : 0);
		CHECK_EQ(w[1].bytes_update / w[1].params + 8, w[0].bytes_update / rows);
		CHECK_EQ(w[1].flops_update / w[1].params, w[0].flops_update / rows);

		CHECK_EQ(pm_memory_plan_make(g, &o, &arena, &plan, &st), PM_OK);
		CHECK_EQ(pm_memory_plan_make(dense, &o, &arena, &whole, &st), PM_OK);
		CHECK_EQ(plan.weights, whole.weights);
		CHECK_EQ(plan.optimizer, whole.optimizer);
		CHECK_EQ(plan.gradients, 4 * WIDTH * WIDTH);
		CHECK_EQ(whole.gradients, 4 * (words + WIDTH * WIDTH));
		/* rows that are looked up stay until the update */
		CHECK(pm_memory_live(&whole, 16) - pm_memory_live(&plan, 16) <= 4 * 2 * words);	/* the gradient, and scratch memory of the update */
		CHECK(pm_memory_live(&whole, 16) - pm_memory_live(&plan, 16) >= 4 * (words - rows));
		o.gradients_stay = true;
		CHECK_EQ(pm_memory_plan_make(g, &o, &arena, &plan, &st), PM_OK);
		CHECK_EQ(plan.standing, 4 * WIDTH * WIDTH);

		q.graph = g;
		CHECK_EQ(pm_tokens_build_work(make_skeleton(g, true, &arena), &q, &arena, &work, &st), PM_OK);
		CHECK_EQ(pm_buckets_build(work.skeleton, PM_FP32, 0.01, &arena, &b, &st), PM_OK);
		pm_step_shape_of(&b, &work, 16, 10, &shape);
		CHECK_EQ(shape.gradient_bytes, 4 * WIDTH * WIDTH);
	}
}

/* A table that two nodes read, each with attributes of its own; head: the second is a product. */
static const pm_graph *
read_twice(const char *first, const char *second, bool head)
{
	graph_text	t;
	int			x,
				y;

	text_start(&t, "twice", "table");
	x = text_node(&t, "'op':'Input','inputs':[],'shape':[1,%d],'batch_dim':0", LOOKED_UP);
	y = text_node(&t, "'op':'Gather','inputs':[%d],'shape':[1,%d,%d],'batch_dim':0,'weights':[[%d,%d]],'attrs':{%s}", x, LOOKED_UP, WIDTH, WORDS, WIDTH, first);
	if (head)
		(void) text_node(&t, "'op':'Gemm','inputs':[%d],'shape':[1,%d,%d],'batch_dim':0,'weights':[[%d,%d]],'attrs':{'tied':1%s}", y, LOOKED_UP, WORDS, WORDS, WIDTH, second);
	else
		(void) text_node(&t, "'op':'Gather','inputs':[%d],'shape':[1,%d,%d],'batch_dim':0,'weights':[[%d,%d]],'attrs':{'tied':1%s}", x, LOOKED_UP, WIDTH, WORDS, WIDTH, second);
	return text_finish(&t, &arena);
}

/* A table has a full gradient if one of its readers has, and none if it is frozen. */
static void
test_sparse_for_all(void)
{
	const uint64_t dense = read_twice("", "", false)->structure;
	const pm_graph *g = read_twice("'sparse':1", ",'sparse':1", false);

	CHECK_EQ(g->sparse, (double) WORDS * WIDTH);
	CHECK(g->structure != dense);
	CHECK(read_twice("'sparse':1", "", false)->structure == dense);
	CHECK(read_twice("", ",'sparse':1", false)->structure == dense);
	g = read_twice("'sparse':1", ",'sparse':1", true);
	CHECK_EQ(g->sparse, 0);
	CHECK(!g->nodes[1].attrs.sparse && g->structure == read_twice("", "", true)->structure);
	g = read_twice("'sparse':1,'frozen':1", ",'sparse':1,'frozen':1", false);
	CHECK_EQ(g->sparse, 0);
	CHECK(g->structure == read_twice("'frozen':1", ",'frozen':1", false)->structure);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_features();
	test_work();
	test_tied();
	test_detach();
	test_memory();
	test_messages();
	test_sparse();
	test_sparse_for_all();
	pm_arena_release(&arena);
	return check_done("frozen");
}
