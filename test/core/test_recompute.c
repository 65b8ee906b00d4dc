/*
 * test_recompute.c - what checkpointed layers compute again.
 */
#include "make_cluster.h"

#include "graph/graph_json.h"
#include "graph/op_catalogue.h"

#define SIZE	64

/* A node of a sequence of 8 tokens of `width`, in JSON. */
static void
put(char *text, size_t size, int id, const char *op, const char *inputs, int width, const char *weights)
{
	size_t		used = strlen(text);

	snprintf(text + used, size - used, "%s{\"id\":%d,\"op\":\"%s\",\"inputs\":[%s],\"shape\":[1,8,%d],\"batch_dim\":0%s%s%s}", id > 0 ? "," : "", id, op, inputs, width,
			 weights[0] ? ",\"weights\":[" : "", weights, weights[0] ? "]" : "");
}

/* Layers of norm, product, attention, product, sum, norm, two products, sum; a norm and a product behind them. */
static pm_graph *
decoder(int layers)
{
	static char text[1 << 16];
	char		at[64];
	int			id = 2;
	pm_status	st = {PM_OK};
	pm_graph   *g = PM_NEW(&arena, pm_graph, 1);

	snprintf(text, sizeof(text), "{\"format\":\"perfmodel-graph/1\",\"name\":\"d\",\"nodes\":[");
	put(text, sizeof(text), 0, "Input", "", SIZE, "");
	put(text, sizeof(text), 1, "Gemm", "0", SIZE, "[64,64]");
	for (int l = 0; l < layers; l++, id += 9)
	{
		static const struct
		{
			const char *op;
			int			from,
						and;			/* 0: none; counted from the first node of the layer, -1: what it reads */
			int			width;
			const char *weights;
		}			nodes[] = {
			{"LayerNormalization", -1, 0, 64, "[64]"}, {"Gemm", 0, 0, 64, "[64,64]"}, {"Attention", 1, 1, 64, ""}, {"Gemm", 2, 0, 64, "[64,64]"}, {"Add", -1, 3, 64, ""},
			{"LayerNormalization", 4, 0, 64, "[64]"}, {"Gemm", 5, 0, 256, "[256,64]"}, {"Gemm", 6, 0, 64, "[64,256]"}, {"Add", 4, 7, 64, ""}
		};

		for (int i = 0; i < 9; i++)
		{
			snprintf(at, sizeof(at), nodes[i].and > 0 ? "%d,%d" : "%d", id + nodes[i].from, id + nodes[i].and);
			put(text, sizeof(text), id + i, nodes[i].op, at, nodes[i].width, nodes[i].weights);
		}
	}
	snprintf(at, sizeof(at), "%d", id - 1);
	put(text, sizeof(text), id, "LayerNormalization", at, SIZE, "[64]");
	snprintf(at, sizeof(at), "%d", id);
	put(text, sizeof(text), id + 1, "Gemm", at, 1024, "[1024,64]");
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "]}");
	CHECK_EQ(pm_graph_from_json(text, strlen(text), &arena, g, &st), PM_OK);
	CHECK_HAS(st.message, "");
	return g;
}

/* Copies, over all tokens, that are computed again. */
static double
copies_again(const pm_graph *g, int *all)
{
	pm_skeleton s;
	pm_buckets	b;
	pm_status	st = {PM_OK};
	double		again = 0;

	CHECK_EQ(pm_skeleton_build(g, true, &arena, &s, &st), PM_OK);
	CHECK_EQ(pm_buckets_build(&s, PM_AMP, 25, &arena, &b, &st), PM_OK);
	*all = 0;
	for (int i = 0; i < s.n; i++)
	{
		CHECK(b.again[i] >= 0 && b.again[i] <= s.copies[i]);
		again += b.again[i];
		*all += (int) s.copies[i];
	}
	return again;
}

/* The same where attention alone is. */
static double
core_copies(const pm_graph *g)
{
	pm_skeleton s;
	pm_buckets	b;
	pm_status	st = {PM_OK};
	double		core = 0;

	CHECK_EQ(pm_skeleton_build(g, true, &arena, &s, &st), PM_OK);
	CHECK_EQ(pm_buckets_build(&s, PM_AMP, 25, &arena, &b, &st), PM_OK);
	for (int i = 0; i < s.n; i++)
		core += b.core[i];
	return core;
}

/* Not the product behind the layers, and not the last product of a layer. */
static void
test_layers(void)
{
	for (int layers = 1; layers <= 5; layers++)
	{
		int			all;
		double		again = copies_again(decoder(layers), &all);

		CHECK_EQ(all - again, layers + 1);
	}
}

/* A network without layers is computed again as a whole. */
static void
test_no_layers(void)
{
	int			all;

	double		again = copies_again(make_net(&arena, "net", 16, 4, 28, 4), &all);

	CHECK_EQ(again, all);
}

/* Attention alone: the product of query and key, dropout, softmax and the product with the value; none of one kernel. */
static void
test_attention(void)
{
	static const struct
	{
		const char *op;
		const char *inputs;
		int			width;
		const char *weights;
	}			nodes[] = {
		{"Input", "", SIZE, ""}, {"Gemm", "0", SIZE, "[64,64]"}, {"MatMul", "1,1", 8, ""}, {"Dropout", "2", 8, ""}, {"Softmax", "3", 8, ""},
		{"MatMul", "4,1", SIZE, ""}, {"Gemm", "5", SIZE, "[64,64]"}, {"LayerNormalization", "6", SIZE, "[64]"}, {"Softmax", "7", SIZE, ""}
	};
	char		text[2000] = "{\"format\":\"perfmodel-graph/1\",\"name\":\"a\",\"nodes\":[";
	pm_graph   *g = PM_NEW(&arena, pm_graph, 1);
	pm_status	st = {PM_OK};

	for (int i = 0; i < 9; i++)
		put(text, sizeof(text), i, nodes[i].op, nodes[i].inputs, nodes[i].width, nodes[i].weights);
	strcat(text, "]}");
	CHECK_EQ(pm_graph_from_json(text, strlen(text), &arena, g, &st), PM_OK);
	CHECK_EQ(core_copies(g), 4);
	CHECK_EQ(core_copies(decoder(2)), 0);
}

static void
test_step(void)
{
	pm_step_shape s = {.step_ms = 100,.forward_ms = 30,.backward_ms = 60,.update_ms = 10,.again_ms = 20};
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	pm_parallel p = {.world_size = 1,.nodes = 1,.accumulation = 2,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1,.recompute = true};
	pm_scaled	to;

	pm_scaled_step(&s, &p, &f, 1, &to);
	CHECK_NEAR(to.step_ms, 2 * (30 + 60 + 20) + 10, 1e-9);
	p.world_size = 8;
	for (p.zero = 0; p.zero <= 3; p.zero += 3)
	{
		pm_scaled_step(&s, &p, &f, 1, &to);
		CHECK_NEAR(to.step_ms, 2 * (30 + 60 + 20) + (p.zero == 0 ? 10 : 10.0 / 8), 1e-9);
		CHECK_NEAR(to.compute_ms, to.step_ms, 1e-9);
	}
}

/* However the GPUs share the work: none of the layers is as if nothing was computed again, all of them as without a number, and each more takes longer. */
static void
test_some_layers(void)
{
	static const pm_parallel ways[] = {
		{.world_size = 1,.accumulation = 2,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, {.world_size = 8,.accumulation = 1,.zero = 3,.tp = 1,.pp = 1,.interleave = 1,.cp = 1},
		{.world_size = 8,.accumulation = 1,.tp = 8,.pp = 1,.interleave = 1,.cp = 1}, {.world_size = 8,.accumulation = 1,.tp = 4,.pp = 1,.interleave = 1,.cp = 2,.sequence_parallel = true},
		{.world_size = 8,.accumulation = 4,.tp = 1,.pp = 8,.interleave = 1,.cp = 1}, {.world_size = 8,.accumulation = 4,.tp = 2,.pp = 4,.interleave = 2,.cp = 1},
		{.world_size = 8,.accumulation = 1,.tp = 1,.pp = 1,.interleave = 1,.cp = 8,.zero = 1}, {.world_size = 8,.accumulation = 1,.tp = 1,.pp = 1,.interleave = 1,.cp = 1,.ep = 8,.zero = 1}
	};
	pm_step_shape s = {
		.step_ms = 100,.forward_ms = 30,.backward_ms = 60,.update_ms = 10,.again_ms = 20,.cheap_ms = 6,.cheap_whole_ms = 2,.cheap_launch_ms = 1,.head_ms = 2,.undivided_ms = 9,.launch_ms = 3,.layers = 32,
		.activation_bytes = 1e7,.kv_bytes = 1e6,.attend_ms = 5,.attend_backward_ms = 10,.gradient_bytes = 1e9,.expert_layers = 32,.sent_bytes = 1e8,.returned_bytes = 1e8,.n = 2,.bytes = {5e8, 5e8},
		.message_bytes = 1e8,.bucket_ms = {30, 30}
	};
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
	{
		pm_parallel p = ways[i];
		int			stage = pm_stage_layers(&p, s.layers);
		pm_scaled	none;
		pm_scaled	all;
		pm_scaled	to;
		double		before;

		p.nodes = 1;
		p.bucket_mb = 25;
		pm_scaled_step(&s, &p, &f, 1, &none);
		p.recompute = PM_RECOMPUTE_CHEAP;
		pm_scaled_step(&s, &p, &f, 1, &to);
		p.recompute = PM_RECOMPUTE_LAYERS;
		pm_scaled_step(&s, &p, &f, 1, &all);
		CHECK(none.step_ms < to.step_ms && to.step_ms < all.step_ms);
		/* what experts are sent is sent again with the layers, and not where their products stay */
		if (p.ep > 1)
			CHECK(all.comm_ms > none.comm_ms * 1.1 && fabs(to.comm_ms - none.comm_ms) < 1e-9);
		CHECK_EQ(stage, 32 / ways[i].pp);
		before = none.step_ms;
		for (p.again_layers = 1; p.again_layers <= stage; p.again_layers++)
		{
			pm_scaled_step(&s, &p, &f, 1, &to);
			CHECK(to.step_ms > before);
			CHECK_NEAR(to.step_ms, none.step_ms + (all.step_ms - none.step_ms) * p.again_layers / stage, 0.02 * none.step_ms);
			before = to.step_ms;
		}
		CHECK(to.step_ms == all.step_ms && to.backward_ms == all.backward_ms && to.exposed_ms == all.exposed_ms);
	}
}

/* Of a decoder, what is cheap: all that is computed again but products and attention. */
static void
test_cheap(void)
{
	pm_skeleton *s = make_skeleton(decoder(3), true, &arena);
	pm_buckets	b;
	pm_status	st = {PM_OK};
	double		cheap = 0;

	CHECK_EQ(pm_buckets_build(s, PM_FP32, 25, &arena, &b, &st), PM_OK);
	for (int i = 0; i < s->n; i++)
	{
		const char *name = pm_op_name(s->graph->nodes[s->node[i]].op);
		bool		dear = strcmp(name, "Gemm") == 0 || strcmp(name, "MatMul") == 0 || strcmp(name, "Attention") == 0;

		CHECK_EQ(b.cheap[i], dear ? 0 : b.again[i]);
		cheap += b.cheap[i];
	}
	CHECK(cheap > 0);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_layers();
	test_no_layers();
	test_attention();
	test_step();
	test_some_layers();
	test_cheap();
	pm_arena_release(&arena);
	return check_done("recompute");
}
