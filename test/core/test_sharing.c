/*
 * test_sharing.c - weights that several operators use: which they are, and that
 * they are updated, sent and cast once.
 */
#include "check.h"
#include "make_graph.h"

#include "graph/op_work.h"
#include "memory/peak.h"
#include "scaling/buckets.h"

#define USES	6
#define WIDTH	64
#define CELL	(WIDTH * WIDTH + WIDTH)	/* parameters */

static pm_arena arena;

/* A cell that is called USES times, and a head of `classes`; the document says that there are so many parameters. */
static pm_graph *
steps(double params, int classes)
{
	graph_text	t;
	int			x;

	memset(&t, 0, sizeof(t));
	text_put(&t, "{'format':'perfmodel-graph/1','name':'steps','model':'steps','params':%.0f,'nodes':[", params);
	x = text_node(&t, "'op':'Input','inputs':[],'shape':[1,%d],'batch_dim':0", WIDTH);
	for (int i = 0; i < USES; i++)
	{
		x = text_node(&t, "'op':'Gemm','inputs':[%d],'shape':[1,%d],'batch_dim':0,'weights':[[%d,%d],[%d]]", x, WIDTH, WIDTH, WIDTH, WIDTH);
		x = text_node(&t, "'op':'Tanh','inputs':[%d],'shape':[1,%d],'batch_dim':0", x, WIDTH);
	}
	text_node(&t, "'op':'Gemm','inputs':[%d],'shape':[1,%d],'batch_dim':0,'weights':[[%d,%d]]", x, classes, classes, WIDTH);
	return text_finish(&t, &arena);
}

static int
count_shared(const pm_graph *g)
{
	int			n = 0;

	for (int i = 0; i < g->n_nodes; i++)
		for (int k = 0; k < g->nodes[i].n_weights; k++)
			n += !pm_node_owns(&g->nodes[i], k);
	return n;
}

/* Up and down, and up and down again: the document says that there is a weight less, and one of two products is used twice. */
static pm_graph *
turned(void)
{
	graph_text	t;
	int			x;

	memset(&t, 0, sizeof(t));
	text_put(&t, "{'format':'perfmodel-graph/1','name':'turned','model':'turned','params':%d,'nodes':[", 3 * WIDTH * 2 * WIDTH);
	x = text_node(&t, "'op':'Input','inputs':[],'shape':[1,%d],'batch_dim':0", WIDTH);
	for (int i = 0; i < 4; i++)
	{
		int			in = i % 2 ? 2 * WIDTH : WIDTH;
		int			out = i % 2 ? WIDTH : 2 * WIDTH;

		x = text_node(&t, "'op':'Gemm','inputs':[%d],'shape':[1,%d],'batch_dim':0,'weights':[[%d,%d]]", x, out, out, in);
	}
	return text_finish(&t, &arena);
}

/* As many as it takes, and no more; what a document rounds is not taken for sharing. */
static void
test_which(void)
{
	const int	classes = 10;
	const double head = 10 * WIDTH;
	pm_graph   *once = steps(CELL + head, classes);

	CHECK_EQ(count_shared(once), 2 * (USES - 1));
	CHECK(pm_node_owns(&once->nodes[1], 0) && pm_node_owns(&once->nodes[1], 1));
	CHECK(!pm_node_owns(&once->nodes[3], 0) && !pm_node_owns(&once->nodes[3], 1));
	CHECK_EQ(once->params, CELL + head);
	CHECK_EQ(count_shared(steps(USES * CELL + head, classes)), 0);
	CHECK_EQ(count_shared(steps(1e9, classes)), 0);
	CHECK_EQ(count_shared(steps(floor(0.999 * (USES * CELL + head)), classes)), 0);
	/* two cells, one of them called more often than the other */
	CHECK_EQ(steps(2 * CELL + head, classes)->params, 2 * CELL + head);
	/* fewer than can be explained: all that repeat */
	CHECK_EQ(count_shared(steps(1, classes)), 2 * (USES - 1));
	/* as many elements in another shape are no use of the same weight */
	CHECK(pm_node_owns(&turned()->nodes[2], 0));
	CHECK(pm_node_owns(&turned()->nodes[3], 0) != pm_node_owns(&turned()->nodes[4], 0));
	/* a head like the cell's product is taken for one more use of it */
	CHECK_EQ(steps(CELL, WIDTH)->params, CELL);
}

static pm_work
work_of(const pm_graph *g, int node)
{
	pm_work		w;

	pm_node_work(g, node, 8, PM_FP32, PM_NCHW, PM_ADAM, &w);
	return w;
}

/* Another use has the same passes, two launches more for adding up gradients, and nothing to update. */
static void
test_work(const pm_graph *once, const pm_graph *each)
{
	pm_work		first = work_of(once, 1);
	pm_work		other = work_of(once, 3);
	pm_work		alone = work_of(each, 3);

	CHECK_EQ(first.params, CELL);
	CHECK_EQ(other.params, 0);
	CHECK_EQ(other.bytes_update, 0);
	CHECK_EQ(alone.bytes_update, first.bytes_update);
	CHECK(first.bytes_update > 0);
	CHECK_EQ(other.bytes_forward, alone.bytes_forward);
	CHECK_EQ(other.flops_forward, alone.flops_forward);
	CHECK_EQ(other.kernels_backward, alone.kernels_backward + 2);
	CHECK_EQ(other.bytes_backward, alone.bytes_backward + 4.0 * 3 * CELL);
}

static double
sent(const pm_graph *g)
{
	pm_buckets	b;
	double		sum = 0;

	if (pm_buckets_build(make_skeleton(g, true, &arena), PM_FP32, PM_BUCKET_MB_USUAL, &arena, &b, NULL) != PM_OK)
		make_failed("buckets", NULL);
	for (int k = 0; k < b.n; k++)
		sum += b.bytes[k];
	return sum;
}

static double
held(const pm_graph *g, pm_dtype dtype)
{
	pm_step_options o = {.dtype = dtype,.inference = true};
	pm_memory_plan plan;

	if (pm_memory_plan_make(g, &o, &arena, &plan, NULL) != PM_OK)
		make_failed("plan", NULL);
	return pm_memory_live(&plan, 1);
}

/* Products with frozen weights, each in a module: "name" of WIDTH x WIDTH, "name!" of half the height, "+name" trained. */
static const pm_graph *
modules(const char *const *names, int n)
{
	graph_text	t;
	int			x;

	text_start(&t, "modules", "modules");
	x = text_node(&t, "'op':'Input','inputs':[],'shape':[1,%d],'batch_dim':0", WIDTH);
	for (int i = 0; i < n; i++)
	{
		bool		trained = names[i][0] == '+';
		int			len = (int) strcspn(names[i] + trained, "!");
		int			half = names[i][trained + len] == '!' ? 2 : 1;

		text_node(&t, "'op':'Gemm','inputs':[%d],'shape':[1,%d],'batch_dim':0,'module':'%.*s','weights':[[%d,%d],[%d]],'attrs':{%s}",
				  x, WIDTH / half, len, names[i] + trained, WIDTH / half, WIDTH, WIDTH / half, trained ? "" : "'frozen':true");
	}
	return text_finish(&t, &arena);
}

#define FROZEN(...) modules((const char *const[]) {__VA_ARGS__}, (int) (sizeof((const char *const[]) {__VA_ARGS__}) / sizeof(char *)))->frozen / CELL

/* The document does not say how many parameters are frozen; but a module between whose nodes others run is called again. */
static void
test_frozen(void)
{
	const pm_graph *twice = modules((const char *const[]) {"v.0", "v.1", "v.0", "v.1"}, 4);

	CHECK_EQ(twice->frozen, 2 * CELL);
	CHECK(pm_node_owns(&twice->nodes[1], 0) && pm_node_owns(&twice->nodes[2], 0));
	CHECK(!pm_node_owns(&twice->nodes[3], 0) && !pm_node_owns(&twice->nodes[4], 1));
	CHECK_NEAR(held(twice, PM_FP32), held(modules((const char *const[]) {"v.0", "v.1", "v.2", "v.3"}, 4), PM_FP32) - 4.0 * 2 * CELL, 1e-9);
	CHECK_EQ(FROZEN("a", "b", "a", "b", "a"), 2);
	CHECK_EQ(FROZEN("a", "a", "b", "a", "a"), 3);
	/* two weights of one call; modules inside, with calls of their own; others of a like name */
	CHECK_EQ(FROZEN("a", "a", "b"), 3);
	CHECK_EQ(FROZEN("a", "a.b", "a"), 3);
	CHECK_EQ(FROZEN("a", "a.b", "a", "a-b"), 4);
	CHECK_EQ(FROZEN("a", "ab", "a", "a-b", "a/b"), 4);
	/* calls that do not read the same */
	CHECK_EQ(FROZEN("a", "b", "a!"), 2.5);
	CHECK_EQ(FROZEN("a", "b", "a", "a"), 4);
	CHECK_EQ(FROZEN("", "b", ""), 3);
	/* what is trained is counted by the document */
	CHECK_EQ(FROZEN("+a", "b", "+a"), 1);
	CHECK_EQ(modules((const char *const[]) {"+a", "b", "+a"}, 3)->params, 2 * CELL);
}

/* In AMP, autocast keeps one copy in 2 bytes of a weight, however often it is used. */
static void
test_memory(const pm_graph *once, const pm_graph *each)
{
	CHECK_NEAR(held(each, PM_FP32) - held(once, PM_FP32), 4.0 * CELL * (USES - 1), 1e-9);
	CHECK_NEAR(held(each, PM_AMP) - held(once, PM_AMP), (4.0 + 2) * CELL * (USES - 1), 1e-9);
}

/* A head that is tied to an embedding has a copy, for the embedding has none. */
static void
test_tied(bool tied)
{
	enum { WORDS = 512 };
	graph_text	t;
	const pm_graph *g;

	text_start(&t, "words", "words");
	text_node(&t, "'op':'Input','inputs':[],'shape':[1,4],'batch_dim':0");
	text_node(&t, "'op':'Embedding','inputs':[0],'shape':[1,4,%d],'batch_dim':0,'weights':[[%d,%d]]", WIDTH, WORDS, WIDTH);
	text_node(&t, "'op':'Gemm','inputs':[1],'shape':[1,4,%d],'batch_dim':0,'weights':[[%d,%d]]%s", WORDS, WORDS, WIDTH, tied ? ",'attrs':{'tied':1}" : "");
	g = text_finish(&t, &arena);
	CHECK_EQ(g->params, (tied ? 1 : 2) * WORDS * WIDTH);
	CHECK(held(g, PM_AMP) - held(g, PM_FP32) > 1.5 * WORDS * WIDTH);
}

int
main(void)
{
	const pm_graph *once;
	const pm_graph *each;

	pm_arena_init_malloc(&arena);
	once = steps(CELL + 10 * WIDTH, 10);
	each = steps(USES * CELL + 10 * WIDTH, 10);
	test_which();
	test_work(once, each);
	CHECK_EQ(sent(once), 4.0 * (CELL + 10 * WIDTH));
	CHECK_EQ(sent(each), 4.0 * (USES * CELL + 10 * WIDTH));
	test_memory(once, each);
	test_tied(true);
	test_tied(false);
	test_frozen();
	pm_arena_release(&arena);
	return check_done("sharing");
}
