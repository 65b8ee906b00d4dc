/*
 * dag.c - the operators that run: a graph without its views and inputs.
 *
 * All passes run along the ids, which are a topological order, so nothing
 * recurses and a chain of 200,000 nodes costs no more stack than one of two.
 */
#include "graph/dag.h"

#include <string.h>

#include "graph/op_catalogue.h"

/* List entries that pm_dag_build may look at; a graph of 200,000 nodes with multi-input views could ask for 10^11. */
#define MAX_VISITS	((int64_t) 4 * PM_MAX_EDGES)

/* A row of pm_dag_reach reads a row of up to 25 kB for each edge. */
#define POLL_REACH	16

/* Parents that reading a node means: itself when it works, else what its inputs mean. */
typedef struct parents
{
	int			n;
	const int32_t *v;			/* [n] distinct dag indices */
} parents;

typedef struct builder
{
	const pm_graph *g;
	pm_arena   *arena;
	pm_status  *st;
	parents    *means;			/* [n_nodes] */
	int32_t    *index;			/* [n_nodes] dag index of working nodes */
	int32_t    *stamp;			/* [n_nodes] last collection that took a dag index */
	int32_t    *found;			/* [n_nodes] result of collect() */
	int32_t		round;
	int64_t		visits;
} builder;

static bool
works(const pm_node *n)
{
	return !n->view && pm_op_class(n->op) != PM_CLASS_OTHER;
}

/* Put the distinct dag parents of node i into b->found; their number, or -1 over the limit. */
static int
collect(builder *b, int i)
{
	const pm_node *n = &b->g->nodes[i];
	int			count = 0;

	b->round++;
	for (int k = 0; k < n->n_inputs; k++)
	{
		const parents *p = &b->means[n->inputs[k]];

		b->visits += p->n;
		if (b->visits > MAX_VISITS)
		{
			pm_fail(b->st, PM_ERR_LIMIT, "node %d: \"inputs\" makes too many dependencies through views", i);
			return -1;
		}
		for (int j = 0; j < p->n; j++)
			if (b->stamp[p->v[j]] != b->round)
			{
				b->stamp[p->v[j]] = b->round;
				b->found[count++] = p->v[j];
			}
	}
	return count;
}

/* What reading the dropped node i means. Views of one input share its list, so a chain of them costs nothing. */
static pm_code
pass_on(builder *b, int i)
{
	const pm_node *n = &b->g->nodes[i];
	int			count;
	int32_t    *copy;

	if (n->n_inputs == 1)
	{
		b->means[i] = b->means[n->inputs[0]];
		return PM_OK;
	}
	count = collect(b, i);
	if (count < 0)
		return PM_ERR_LIMIT;
	if (count == 0)
		return PM_OK;
	copy = PM_NEW(b->arena, int32_t, (size_t) count);
	if (copy == NULL)
		return pm_no_memory(b->st, b->arena);
	memcpy(copy, b->found, sizeof(int32_t) * (size_t) count);
	b->means[i].n = count;
	b->means[i].v = copy;
	return PM_OK;
}

/* First pass: number the working nodes, resolve the others, count edges. */
static pm_code
resolve(builder *b, pm_dag *dag, int64_t *edges)
{
	*edges = 0;
	for (int i = 0; i < b->g->n_nodes; i++)
	{
		int			count;

		if (i % PM_POLL_EVERY == 0 && pm_stopped(b->arena, b->st))
			return PM_CANCELLED;
		if (!works(&b->g->nodes[i]))
		{
			pm_code		code = pass_on(b, i);

			if (code != PM_OK)
				return code;
			continue;
		}
		count = collect(b, i);
		if (count < 0)
			return PM_ERR_LIMIT;
		*edges += count;
		if (*edges > PM_MAX_EDGES)
			return pm_fail(b->st, PM_ERR_LIMIT, "node %d: \"inputs\" makes more than %d dependencies in the whole graph",
						   i, PM_MAX_EDGES);
		b->index[i] = dag->n;
		dag->node[dag->n++] = i;
		b->means[i].n = 1;
		b->means[i].v = &b->index[i];
	}
	return PM_OK;
}

/* Turn counts at at[1..n] into offsets at[0..n]. */
static void
prefix_sum(int32_t *at, int n)
{
	for (int i = 0; i < n; i++)
		at[i + 1] += at[i];
}

/*
 * Second pass: edges by parent, then turned round.  Walking children in order
 * makes both sides ascending without sorting.  cursor: [n] scratch.
 */
static pm_code
connect(builder *b, pm_dag *dag, int32_t *cursor)
{
	for (int c = 0; c < dag->n; c++)
	{
		int			count = collect(b, dag->node[c]);

		if (count < 0)
			return PM_ERR_LIMIT;
		if (c % PM_POLL_EVERY == 0 && pm_stopped(b->arena, b->st))
			return PM_CANCELLED;
		dag->parent_at[c + 1] = count;
		for (int j = 0; j < count; j++)
			dag->child_at[b->found[j] + 1]++;
	}
	prefix_sum(dag->parent_at, dag->n);
	prefix_sum(dag->child_at, dag->n);
	memcpy(cursor, dag->child_at, sizeof(int32_t) * (size_t) dag->n);
	for (int c = 0; c < dag->n; c++)
	{
		int			count = collect(b, dag->node[c]);

		if (count < 0)
			return PM_ERR_LIMIT;
		if (c % PM_POLL_EVERY == 0 && pm_stopped(b->arena, b->st))
			return PM_CANCELLED;
		for (int j = 0; j < count; j++)
			dag->child[cursor[b->found[j]]++] = c;
	}
	memcpy(cursor, dag->parent_at, sizeof(int32_t) * (size_t) dag->n);
	for (int p = 0; p < dag->n; p++)
		for (int j = dag->child_at[p]; j < dag->child_at[p + 1]; j++)
			dag->parent[cursor[dag->child[j]]++] = p;
	return PM_OK;
}

/* Longest paths from sources and to sinks, in edges. */
static void
measure(pm_dag *dag)
{
	dag->max_depth = 0;
	for (int i = 0; i < dag->n; i++)
	{
		for (int j = dag->parent_at[i]; j < dag->parent_at[i + 1]; j++)
			if (dag->depth[i] < dag->depth[dag->parent[j]] + 1)
				dag->depth[i] = dag->depth[dag->parent[j]] + 1;
		if (dag->max_depth < dag->depth[i])
			dag->max_depth = dag->depth[i];
	}
	for (int i = dag->n - 1; i >= 0; i--)
		for (int j = dag->child_at[i]; j < dag->child_at[i + 1]; j++)
			if (dag->height[i] < dag->height[dag->child[j]] + 1)
				dag->height[i] = dag->height[dag->child[j]] + 1;
}

static bool
allocate_builder(builder *b, int n)
{
	b->means = PM_NEW(b->arena, parents, (size_t) n);
	b->index = PM_NEW(b->arena, int32_t, (size_t) n);
	b->stamp = PM_NEW(b->arena, int32_t, (size_t) n);
	b->found = PM_NEW(b->arena, int32_t, (size_t) n);
	return b->means != NULL && b->index != NULL && b->stamp != NULL && b->found != NULL;
}

static bool
allocate_dag(pm_dag *dag, pm_arena *a, int64_t edges)
{
	size_t		n = (size_t) dag->n;

	dag->parent_at = PM_NEW(a, int32_t, n + 1);
	dag->child_at = PM_NEW(a, int32_t, n + 1);
	dag->parent = PM_NEW(a, int32_t, (size_t) edges);
	dag->child = PM_NEW(a, int32_t, (size_t) edges);
	dag->depth = PM_NEW(a, int32_t, n);
	dag->height = PM_NEW(a, int32_t, n);
	return dag->parent_at != NULL && dag->child_at != NULL && dag->parent != NULL && dag->child != NULL &&
		dag->depth != NULL && dag->height != NULL;
}

/* scratch: for what the dag does not keep. */
static pm_code
build_dag(const pm_graph *g, pm_arena *a, pm_arena *scratch, pm_dag *dag, pm_status *st)
{
	builder		b = {.g = g, .arena = scratch, .st = st};
	int64_t		edges;
	int32_t    *cursor;
	pm_code		code;

	memset(dag, 0, sizeof(*dag));
	dag->node = PM_NEW(a, int32_t, (size_t) g->n_nodes);
	if (dag->node == NULL || !allocate_builder(&b, g->n_nodes))
		return pm_no_memory(st, a);
	code = resolve(&b, dag, &edges);
	if (code != PM_OK)
		return code;
	cursor = PM_NEW(scratch, int32_t, (size_t) dag->n);
	if (cursor == NULL || !allocate_dag(dag, a, edges))
		return pm_no_memory(st, a);
	code = connect(&b, dag, cursor);
	if (code == PM_OK)
		measure(dag);
	return code;
}

/*
 * Views and nodes without work (inputs, constants) are dropped; who read them
 * reads what they read.  A finished graph only.  PM_ERR_LIMIT when views of
 * several inputs multiply the edges beyond reason; PM_ERR_MEMORY.
 */
pm_code
pm_dag_build(const pm_graph *g, pm_arena *a, pm_dag *dag, pm_status *st)
{
	pm_arena	scratch;
	pm_code		code;

	pm_arena_init_within(&scratch, a);
	code = build_dag(g, a, &scratch, dag, st);
	pm_arena_release(&scratch);
	return code;
}

/* ---------- reachability ---------- */

/* 64-bit words of one row for a dag of n nodes. */
size_t
pm_reach_words(int n)
{
	return ((size_t) n + 63) / 64;
}

pm_code
pm_dag_reach(const pm_dag *dag, const pm_arena *a, uint64_t *rows, pm_status *st)
{
	size_t		words = pm_reach_words(dag->n);

	for (int i = dag->n - 1; i >= 0; i--)
	{
		uint64_t   *row = rows + (size_t) i * words;

		if (i % POLL_REACH == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		for (int j = dag->child_at[i]; j < dag->child_at[i + 1]; j++)
		{
			int			c = dag->child[j];
			const uint64_t *below = rows + (size_t) c * words;

			row[c / 64] |= UINT64_C(1) << (c % 64);
			/* everything below c has a higher index than c */
			for (size_t w = (size_t) c / 64; w < words; w++)
				row[w] |= below[w];
		}
	}
	return PM_OK;
}
