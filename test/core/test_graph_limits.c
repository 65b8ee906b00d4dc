/*
 * test_graph_limits.c - depth, size, memory and a caller who stops: the graph importer and the dag at their limits.
 */
#include "check.h"
#include "graph_text.h"
#include "graph/dag.h"

/* ---------- limits ---------- */

static void *
get_counted(void *ctx, size_t size)
{
	int		   *left = ctx;

	return (*left)-- > 0 ? malloc(size) : NULL;
}

static void
put_counted(void *ctx, void *block)
{
	(void) ctx;
	free(block);
}

/* Text of n nested arrays as an unknown key. */
static char *
nested(int n)
{
	char	   *text = buffer((size_t) n * 2 + 64);
	size_t		len = append(text, 0, "{\"x\":");

	memset(text + len, '[', (size_t) n);
	memset(text + len + n, ']', (size_t) n);
	strcpy(text + len + 2 * (size_t) n, "}");
	return text;
}

static void
test_depth_limit(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	char	   *text = nested(1000000);

	pm_arena_init_malloc(&a);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_ERR_LIMIT);
	CHECK_HAS(st.message, "nested more than 64 levels");
	free(text);
	text = nested(63);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_ERR_INPUT);
	CHECK_HAS(st.message, "\"format\" is missing");
	free(text);
	pm_arena_release(&a);
}

/* A chain of n nodes as text; every fifth is a view. */
static char *
chain(int n)
{
	char	   *text = buffer((size_t) n * 100 + 100);
	size_t		len = append(text, 0, "{\"format\":\"perfmodel-graph/1\",\"nodes\":[");

	for (int i = 0; i < n; i++)
	{
		len = append(text, len, "%s{\"id\":%d,\"op\":\"%s\",\"inputs\":[", i ? "," : "", i,
								i == 0 ? "Input" : i % 5 ? "Relu" : "Reshape");
		if (i > 0)
			len = append(text, len, "%d", i - 1);
		len = append(text, len, "],\"shape\":[1,8],\"batch_dim\":0%s}", i % 5 == 0 && i > 0 ? ",\"view\":true" : "");
	}
	strcpy(text + len, "]}");
	return text;
}

static void
test_big_chain(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;
	char	   *text = chain(PM_MAX_NODES);

	pm_arena_init_malloc(&a);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_OK);
	CHECK_EQ(dag.n, PM_MAX_NODES / 5 * 4);	/* a fifth are views, one of them the input */
	CHECK_EQ(dag.max_depth, dag.n - 1);
	CHECK_EQ(dag.height[0], dag.n - 1);
	pm_arena_release(&a);
	free(text);

	text = chain(PM_MAX_NODES + 1);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_ERR_LIMIT);
	CHECK_HAS(st.message, "\"nodes\" has 200001 nodes, but 200000 are the limit");
	pm_arena_release(&a);
	free(text);
}

/*
 * n sources, then n views that each read the view before and one source: the
 * views stand for lists of 1, 2, ... n sources, n * n / 2 in all.
 */
static void
test_view_blowup(void)
{
	int			n = 30000;
	char	   *text = buffer((size_t) n * 220);
	size_t		len = append(text, 0, "{\"format\":\"perfmodel-graph/1\",\"nodes\":[");
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;

	for (int i = 0; i < n; i++)
		len = append(text, len, "%s{\"id\":%d,\"op\":\"Range\",\"inputs\":[],\"shape\":[8],\"batch_dim\":null}",
								i ? "," : "", i);
	for (int i = n; i < 2 * n; i++)
		len = append(text, len, ",{\"id\":%d,\"op\":\"Concat\",\"inputs\":[%d,%d],\"shape\":[8],\"batch_dim\":null,\"view\":true}",
								i, i - n, i == n ? 0 : i - 1);
	strcpy(text + len, "]}");
	pm_arena_init_malloc(&a);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_ERR_LIMIT);
	CHECK_HAS(st.message, "too many dependencies through views");
	CHECK(a.used < (size_t) 400 * 1024 * 1024);
	pm_arena_release(&a);
	free(text);
}

static void
test_name_limit(void)
{
	char		text[2000];
	char		name[PM_MAX_NAME_LEN + 2];
	pm_arena	a;
	pm_graph	g;
	pm_status	st;

	for (int extra = 0; extra < 2; extra++)
	{
		memset(name, 'x', sizeof(name));
		name[PM_MAX_NAME_LEN + extra] = '\0';
		sprintf(text, DOC("{'id':0,'op':'%s','inputs':[],'shape':[1],'batch_dim':0}"), name);
		CHECK(parse(text, &a, &g, &st) == (extra ? PM_ERR_LIMIT : PM_OK));
		if (extra)
			CHECK_HAS(st.message, "node 0: \"op\" is longer than 512 bytes");
		else
			CHECK_EQ(g.n_unknown, 1);
		pm_arena_release(&a);
	}
}

/* Wherever memory ends, the importer and the dag say so. */
static void
test_no_memory(void)
{
	char	   *text = chain(20000);
	size_t		limit;

	for (limit = 4096; limit < (size_t) 64 << 20; limit += 300 * 1024)
	{
		int			left = 1000000;
		pm_arena	a;
		pm_graph	g;
		pm_status	st;
		pm_dag		dag;
		pm_code		code;

		pm_arena_init(&a, get_counted, put_counted, &left, limit);
		code = pm_graph_from_json(text, strlen(text), &a, &g, &st);
		if (code == PM_OK)
			code = pm_dag_build(&g, &a, &dag, &st);
		if (code != PM_OK)
			CHECK_HAS(st.message, "out of memory");
		CHECK(code == PM_OK || code == PM_ERR_MEMORY);
		CHECK(a.used <= limit);
		pm_arena_release(&a);
		if (code == PM_OK)
			break;
	}
	CHECK(limit > ((size_t) 5 << 20) && limit < ((size_t) 64 << 20));
	free(text);
}

/* Stops what asks for the *left-th time. */
static bool
stop_counted(void *ctx)
{
	int		   *left = ctx;

	return (*left)-- <= 0;
}

/* The importer, the dag and its reachability, with hooks that let `asks` questions pass. */
static pm_code
until_stopped(const char *text, int *asks, pm_status *st)
{
	const pm_hooks hooks = {.stop = stop_counted,.ctx = asks};
	pm_arena	a;
	pm_graph	g;
	pm_dag		dag;
	uint64_t   *rows;
	pm_code		code;

	pm_arena_init_malloc(&a);
	a.hooks = &hooks;
	code = pm_graph_from_json(text, strlen(text), &a, &g, st);
	if (code == PM_OK)
		code = pm_dag_build(&g, &a, &dag, st);
	if (code == PM_OK)
	{
		rows = PM_NEW(&a, uint64_t, pm_reach_words(dag.n) * (size_t) dag.n);
		code = rows == NULL ? pm_no_memory(st, &a) : pm_dag_reach(&dag, &a, rows, st);
	}
	pm_arena_release(&a);
	return code;
}

/* Whoever waits is asked in every pass, often, and a stop at any of these points ends the work. */
static void
test_stop(void)
{
	char	   *text = chain(5000);
	int			asks = 1000000;
	int			asked;
	pm_status	st;

	CHECK(until_stopped(text, &asks, &st) == PM_OK);
	asked = 1000000 - asks;
	CHECK(asked > 5000 / 16 + 6 * 5000 / PM_POLL_EVERY);
	for (int i = 0; i < asked; i++)
	{
		int			left = i;

		if (until_stopped(text, &left, &st) != PM_CANCELLED || strcmp(st.message, "cancelled") != 0)
			check_report(0, __FILE__, __LINE__, "a stop has no effect");
	}
	free(text);
}

static void
test_budget(void)
{
	char	   *text = chain(20000);
	pm_arena	a,
				part,
				inner;
	pm_graph	g;
	pm_status	st;
	int			left = 1000000;

	pm_arena_init(&a, get_counted, put_counted, &left, 1024 * 1024);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_ERR_MEMORY);
	CHECK_HAS(st.message, "budget of 1024 kB");
	pm_arena_release(&a);
	/* what another arena took of the same budget counts */
	pm_arena_init(&a, get_counted, put_counted, &left, 1024 * 1024);
	CHECK(pm_alloc(&a, 900 * 1024, 1) != NULL);
	pm_arena_init_within(&part, &a);
	CHECK(pm_alloc(&part, 200 * 1024, 1) == NULL && pm_no_memory(&st, &part) == PM_ERR_MEMORY);
	CHECK_HAS(st.message, "budget of 1024 kB");
	CHECK(pm_alloc(&part, 50 * 1024, 1) != NULL);
	pm_arena_init_within(&inner, &part);
	CHECK(pm_alloc(&inner, 90 * 1024, 1) == NULL && pm_alloc(&inner, 30 * 1024, 1) != NULL);
	pm_arena_release(&inner);
	pm_arena_release(&part);
	CHECK(pm_alloc(&a, 100 * 1024, 1) != NULL);
	pm_arena_release(&a);
	/* no budget, but an allocator that has no more */
	left = 1;
	pm_arena_init(&a, get_counted, put_counted, &left, 0);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_ERR_MEMORY);
	CHECK(strcmp(st.message, "out of memory") == 0);
	pm_arena_release(&a);
	free(text);
}

int
main(void)
{
	test_depth_limit();
	test_big_chain();
	test_view_blowup();
	test_name_limit();
	test_no_memory();
	test_stop();
	test_budget();
	return check_done("test_graph_limits");
}
