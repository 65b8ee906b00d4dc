/*
 * test_dag.c - who reads whom behind views, depth, height and reachability.
 */
#include "check.h"
#include "graph_text.h"
#include "graph/dag.h"
#include "graph/op_catalogue.h"
#include "graph/sequence.h"

static void
check_list(const int32_t *at, const int32_t *list, int i, int n, const int32_t *want)
{
	CHECK_EQ(at[i + 1] - at[i], n);
	for (int k = 0; k < n && at[i + 1] - at[i] == n; k++)
		CHECK_EQ(list[at[i] + k], want[k]);
}

static void
test_fork(void)
{
	/* dag: 0 Conv, 1 Relu3, 2 Relu4, 3 Add5, 4 Sum7 */
	static const int32_t node[] = {1, 3, 4, 5, 7};
	static const int32_t depth[] = {0, 1, 1, 2, 3};
	static const int32_t height[] = {3, 2, 2, 1, 0};
	static const uint64_t reach[] = {0x1e, 0x18, 0x18, 0x10, 0};
	uint64_t	rows[5] = {0};
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;

	CHECK(parse(DOC(FORK), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_OK);
	CHECK_EQ(dag.n, 5);
	CHECK_EQ(dag.max_depth, 3);
	CHECK_EQ(pm_reach_words(dag.n), 1);
	CHECK(pm_dag_reach(&dag, &a, rows, &st) == PM_OK);
	for (int i = 0; i < 5; i++)
	{
		CHECK_EQ(dag.node[i], node[i]);
		CHECK_EQ(dag.depth[i], depth[i]);
		CHECK_EQ(dag.height[i], height[i]);
		CHECK_EQ(rows[i], reach[i]);
	}
	check_list(dag.parent_at, dag.parent, 0, 0, NULL);
	check_list(dag.parent_at, dag.parent, 1, 1, (const int32_t[]) {0});
	check_list(dag.parent_at, dag.parent, 3, 2, (const int32_t[]) {1, 2});
	check_list(dag.parent_at, dag.parent, 4, 2, (const int32_t[]) {0, 3});
	check_list(dag.child_at, dag.child, 0, 3, (const int32_t[]) {1, 2, 4});
	check_list(dag.child_at, dag.child, 4, 0, NULL);
	pm_arena_release(&a);
}

/* Each branch runs to its join before the next begins, the one with the longest way to the end first, however nodes are numbered. */
static void
test_sequence(void)
{
#define TRUNK(to) "{'id':0,'op':'Input','inputs':[],'shape':[1,8],'batch_dim':0},{'id':1,'op':'Tanh','inputs':[0],'shape':[1,8],'batch_dim':0}," to
#define UNARY(id, op, of) "{'id':" #id ",'op':'" op "','inputs':[" #of "],'shape':[1,8],'batch_dim':0}"
#define JOIN(a, b) ",{'id':5,'op':'Add','inputs':[" #a "," #b "],'shape':[1,8],'batch_dim':0}"
	static const char *const texts[] = {
		DOC(TRUNK(UNARY(2, "Relu", 1) "," UNARY(3, "Exp", 1) "," UNARY(4, "Abs", 3) JOIN(2, 4))),
		DOC(TRUNK(UNARY(2, "Exp", 1) "," UNARY(3, "Abs", 2) "," UNARY(4, "Relu", 1) JOIN(4, 3)))
	};
	static const char *const ops[] = {"Tanh", "Exp", "Abs", "Relu", "Add"};

	for (int i = 0; i < 2; i++)
	{
		pm_arena	a;
		pm_graph	g;
		pm_status	st;
		pm_dag		dag;
		int32_t    *order;

		CHECK(parse(texts[i], &a, &g, &st) == PM_OK);
		CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_OK);
		CHECK(pm_sequence(&g, &dag, &a, &order, &st) == PM_OK);
		CHECK_EQ(dag.n, 5);
		for (int k = 0; k < 5 && dag.n == 5; k++)
			CHECK_HAS(pm_op_name(g.nodes[dag.node[order[k]]].op), ops[k]);
		pm_arena_release(&a);
	}
}

/* A view of several inputs stands for all of them. */
static void
test_wide_view(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;

	CHECK(parse(DOC("{'id':0,'op':'Range','inputs':[],'shape':[8],'batch_dim':null},"
					"{'id':1,'op':'Range','inputs':[],'shape':[8],'batch_dim':null},"
					"{'id':2,'op':'Slice','inputs':[1,0,1],'shape':[4],'batch_dim':null,'view':true},"
					"{'id':3,'op':'Reshape','inputs':[2],'shape':[4],'batch_dim':null,'view':true},"
					"{'id':4,'op':'Add','inputs':[3,1],'shape':[4],'batch_dim':null}"), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_OK);
	CHECK_EQ(dag.n, 3);
	check_list(dag.parent_at, dag.parent, 2, 2, (const int32_t[]) {0, 1});
	pm_arena_release(&a);
}

/* Nothing but views and inputs: an empty dag, not an error. */
static void
test_empty_dag(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;

	CHECK(parse(TWO("{'id':1,'op':'Reshape','inputs':[0],'shape':[8],'batch_dim':0,'view':true}"), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_OK);
	CHECK_EQ(dag.n, 0);
	CHECK_EQ(pm_reach_words(0), 0);
	pm_arena_release(&a);
}

/* Rows of more than one word: random edges against a closure computed the slow way. */
static void
test_reach_random(void)
{
	enum
	{
		N = 150
	};
	static char text[N * 300];
	static bool closure[N][N];
	size_t		len = append(text, 0, "{\"format\":\"perfmodel-graph/1\",\"nodes\":[");
	pm_rng		rng;
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;
	uint64_t   *rows;
	size_t		words;

	pm_rng_seed(&rng, 1);
	for (int i = 0; i < N; i++)
	{
		len = append(text, len, "%s{\"id\":%d,\"op\":\"Sum\",\"shape\":[8],\"batch_dim\":null,\"inputs\":[", i ? "," : "", i);
		for (int k = 0; k < 2 && i > 0; k++)
		{
			int			p = (int) (pm_rng_next(&rng) % (uint64_t) i);

			len = append(text, len, "%s%d", k ? "," : "", p);
			closure[p][i] = true;
			for (int j = 0; j < p; j++)
				closure[j][i] |= closure[j][p];
		}
		len = append(text, len, "]}");
	}
	strcpy(text + len, "]}");
	pm_arena_init_malloc(&a);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_OK);
	words = pm_reach_words(dag.n);
	CHECK_EQ(words, 3);
	rows = PM_NEW(&a, uint64_t, words * (size_t) dag.n);
	CHECK(pm_dag_reach(&dag, &a, rows, &st) == PM_OK);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			CHECK((rows[(size_t) i * words + (size_t) j / 64] >> (j % 64) & 1) == closure[i][j]);
	pm_arena_release(&a);
}

int
main(void)
{
	test_fork();
	test_sequence();
	test_wide_view();
	test_empty_dag();
	test_reach_random();
	return check_done("test_dag");
}
