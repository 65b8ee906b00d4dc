/*
 * graph.c - validation of graphs and what is derived from them.
 *
 * Every importer ends in pm_graph_finish(), which trusts nothing: counts,
 * ranks, dimensions, ids.  All passes run along the ids, which are a
 * topological order, so nothing recurses and a chain of 200,000 nodes costs no
 * more stack than one of two.
 *
 * What a view is.  A view moves no data, so it is no work and does not appear
 * in the dag or in the structure hash: its readers become readers of what it
 * looks at.  The shape a reader sees is part of the reader's hash, so two
 * graphs that differ in a way that changes work differ in their hash, while
 * exporters that only spell the same reinterpretation in other steps agree.
 */
#include "graph/graph.h"
#include "graph/family.h"
#include "graph/oplib.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define OP_CACHE	64

/* List entries that pm_dag_build may look at; a graph of 200,000 nodes with multi-input views could ask for 10^11. */
#define MAX_VISITS	((int64_t) 4 * PM_MAX_EDGES)

/* ---------- counts ---------- */

void
pm_node_init(pm_node *n)
{
	memset(n, 0, sizeof(*n));
	n->batch_dim = -1;
	n->flops = NAN;
	n->flops0 = NAN;
	for (int i = 0; i < PM_MAX_SPATIAL; i++)
	{
		n->attrs.stride[i] = 1;
		n->attrs.dilation[i] = 1;
	}
	n->attrs.group = 1;
	n->attrs.axis = INT64_MIN;
	n->attrs.num_layers = 1;
	n->attrs.tied = -1;
	n->attrs.alpha = NAN;
}

double
pm_shape_count(const pm_shape *s)
{
	double		count = 1;

	for (int i = 0; i < s->rank; i++)
		count *= (double) s->dim[i];
	return count;
}

double
pm_node_count(const pm_node *n, int64_t batch)
{
	double		count = pm_shape_count(&n->shape);

	return n->batch_dim < 0 ? count : count * (double) batch;
}

double
pm_node_count_all(const pm_node *n, int64_t batch)
{
	double		count = 0;

	if (n->n_shapes == 0)
		return pm_node_count(n, batch);
	for (int i = 0; i < n->n_shapes; i++)
		count += pm_shape_count(&n->shapes[i]);
	return n->batch_dim < 0 ? count : count * (double) batch;
}

/* ---------- validation ---------- */

/* Where an error is: set before the checks of each node. */
typedef struct check
{
	const pm_graph *g;
	int			node;
	pm_status  *st;
} check;

static pm_code
check_shape(const check *c, const char *key, int index, const pm_shape *s)
{
	char		name[16] = "";

	if (s->rank >= 0 && s->rank <= PM_MAX_RANK)
	{
		int			i = 0;

		while (i < s->rank && s->dim[i] >= 0 && s->dim[i] <= PM_MAX_DIM)
			i++;
		if (i == s->rank)
			return PM_OK;
	}
	if (index >= 0)
		snprintf(name, sizeof(name), "[%d]", index);
	if (s->rank < 0 || s->rank > PM_MAX_RANK)
		return pm_fail(c->st, PM_ERR_LIMIT, "node %d: \"%s%s\" has %d dimensions, but %d are the limit",
					   c->node, key, name, s->rank, PM_MAX_RANK);
	return pm_fail(c->st, PM_ERR_LIMIT, "node %d: \"%s%s\" has a dimension below 0 or above 2^40", c->node, key, name);
}

static pm_code
check_shapes(const check *c, const char *key, int n, const pm_shape *shapes)
{
	if (n < 0 || (n > 0 && shapes == NULL))
		return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"%s\" has no shape", c->node, key);
	for (int i = 0; i < n; i++)
	{
		pm_code		code = check_shape(c, key, i, &shapes[i]);

		if (code != PM_OK)
			return code;
	}
	return PM_OK;
}

static pm_code
check_inputs(const check *c, const pm_node *n)
{
	if (n->n_inputs < 0 || (n->n_inputs > 0 && n->inputs == NULL))
		return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"inputs\" is missing", c->node);
	for (int i = 0; i < n->n_inputs; i++)
	{
		int32_t		id = n->inputs[i];

		if (id < 0 || id >= c->g->n_nodes)
			return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"inputs\" names node %d, which does not exist",
						   c->node, id);
		if (id >= c->node)
			return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"inputs\" names node %d, which does not come before it",
						   c->node, id);
	}
	return PM_OK;
}

/* One number of an attribute: least <= v <= most. */
static pm_code
check_attr(const check *c, const char *key, int64_t v, int64_t least, int64_t most)
{
	if (v >= least && v <= most)
		return PM_OK;
	return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"attrs.%s\" is %lld, but must lie between %lld and %lld",
				   c->node, key, (long long) v, (long long) least, (long long) most);
}

static pm_code
check_kernel(const check *c, const pm_attrs *a)
{
	pm_code		code = check_attr(c, "kernel_shape", a->spatial, 0, PM_MAX_SPATIAL);

	for (int i = 0; code == PM_OK && i < a->spatial; i++)
	{
		code = check_attr(c, "kernel_shape", a->kernel[i], 1, PM_MAX_DIM);
		if (code == PM_OK)
			code = check_attr(c, "strides", a->stride[i], 1, PM_MAX_DIM);
		if (code == PM_OK)
			code = check_attr(c, "pads", a->pad[i], 0, PM_MAX_DIM);
		if (code == PM_OK)
			code = check_attr(c, "dilations", a->dilation[i], 1, PM_MAX_DIM);
	}
	return code;
}

static pm_code
check_tied(const check *c, const pm_node *n)
{
	int64_t		owner = n->attrs.tied;

	if (owner == -1)
		return PM_OK;
	if (owner < 0 || owner >= c->g->n_nodes || owner == c->node)
		return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"attrs.tied\" names node %lld, which %s", c->node,
					   (long long) owner, owner == c->node ? "is itself" : "does not exist");
	if (n->n_weights == 0)
		return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"attrs.tied\" is given, but \"weights\" is empty", c->node);
	if (c->g->nodes[owner].n_weights <= 0)
		return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"attrs.tied\" names node %lld, which has no weights",
					   c->node, (long long) owner);
	return PM_OK;
}

static pm_code
check_attrs(const check *c, const pm_node *n)
{
	const pm_attrs *a = &n->attrs;
	pm_code		code = check_kernel(c, a);

	if (code == PM_OK)
		code = check_attr(c, "group", a->group, 1, PM_MAX_DIM);
	if (code == PM_OK && a->axis != INT64_MIN)
		code = check_attr(c, "axis", a->axis, -PM_MAX_RANK, PM_MAX_RANK);
	if (code == PM_OK)
		code = check_attr(c, "hidden_size", a->hidden_size, 0, PM_MAX_DIM);
	if (code == PM_OK)
		code = check_attr(c, "num_layers", a->num_layers, 1, PM_MAX_NODES);
	if (code == PM_OK)
		code = check_attr(c, "num_heads", a->num_heads, 0, PM_MAX_DIM);
	if (code == PM_OK)
		code = check_tied(c, n);
	return code;
}

static pm_code
check_op_name(const check *c, const pm_node *n)
{
	if (n->op_name == NULL || n->op_name[0] == '\0')
		return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"op\" is empty", c->node);
	if (strlen(n->op_name) > PM_MAX_NAME_LEN)
		return pm_fail(c->st, PM_ERR_LIMIT, "node %d: \"op\" is longer than %d bytes", c->node, PM_MAX_NAME_LEN);
	return PM_OK;
}

static pm_code
check_batch_dim(const check *c, const pm_node *n)
{
	if (n->batch_dim < -1 || n->batch_dim >= n->shape.rank)
		return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"batch_dim\" is %d, but \"shape\" has %d dimensions",
					   c->node, n->batch_dim, n->shape.rank);
	for (int i = 0; i < n->n_shapes; i++)
		if (n->batch_dim >= n->shapes[i].rank)
			return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"batch_dim\" is %d, but \"shapes[%d]\" has %d dimensions",
						   c->node, n->batch_dim, i, n->shapes[i].rank);
	return PM_OK;
}

/* NaN (absent) or a finite number that is not negative. */
static pm_code
check_flops(const check *c, const char *key, double v)
{
	if (isnan(v) || (v >= 0 && v <= 1e300))
		return PM_OK;
	return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"%s\" is %g, but must be finite and not negative", c->node, key, v);
}

static pm_code
check_node(const check *c, const pm_node *n)
{
	pm_code		code = check_op_name(c, n);

	if (code == PM_OK)
		code = check_inputs(c, n);
	if (code == PM_OK)
		code = check_shape(c, "shape", -1, &n->shape);
	if (code == PM_OK)
		code = check_shapes(c, "shapes", n->n_shapes, n->shapes);
	if (code == PM_OK)
		code = check_batch_dim(c, n);
	if (code == PM_OK)
		code = check_shapes(c, "weights", n->n_weights, n->weights);
	if (code == PM_OK)
		code = check_shapes(c, "consts", n->n_consts, n->consts);
	if (code == PM_OK)
		code = check_attrs(c, n);
	if (code == PM_OK)
		code = check_flops(c, "flops", n->flops);
	if (code == PM_OK)
		code = check_flops(c, "flops0", n->flops0);
	return code;
}

static pm_code
check_graph(const pm_graph *g, pm_status *st)
{
	int64_t		edges = 0;

	if (g->n_nodes <= 0 || g->nodes == NULL)
		return pm_fail(st, PM_ERR_INPUT, "\"nodes\" is empty");
	if (g->n_nodes > PM_MAX_NODES)
		return pm_fail(st, PM_ERR_LIMIT, "\"nodes\" has %d nodes, but %d are the limit", g->n_nodes, PM_MAX_NODES);
	for (int i = 0; i < g->n_nodes; i++)
	{
		check		c = {g, i, st};
		pm_code		code = check_node(&c, &g->nodes[i]);

		if (code != PM_OK)
			return code;
		edges += g->nodes[i].n_inputs;
		if (edges > PM_MAX_EDGES)
			return pm_fail(st, PM_ERR_LIMIT, "node %d: \"inputs\" makes more than %d inputs in the whole graph",
						   i, PM_MAX_EDGES);
	}
	return PM_OK;
}

/* ---------- derived fields ---------- */

/* Recent look-ups: operator names repeat, the catalogue is searched line by line. */
typedef struct op_cache
{
	const char *name[OP_CACHE];
	int			op[OP_CACHE];
} op_cache;

static int
find_op(op_cache *cache, const char *name)
{
	int			slot = (int) (pm_mix(pm_hash(PM_HASH_INIT, name, strlen(name))) % OP_CACHE);

	if (cache->name[slot] == NULL || strcmp(cache->name[slot], name) != 0)
	{
		cache->name[slot] = name;
		cache->op[slot] = pm_op_find(name);
	}
	return cache->op[slot];
}

/* Trainable parameters that node n owns; a tied weights[0] belongs to another node. */
static double
own_params(const pm_node *n)
{
	double		params = 0;

	for (int i = n->attrs.tied >= 0 ? 1 : 0; i < n->n_weights; i++)
		params += pm_shape_count(&n->weights[i]);
	return params;
}

static bool
has_grad(const pm_graph *g, const pm_node *n)
{
	if (n->attrs.requires_grad && n->n_inputs == 0)
		return true;
	if (!n->view && !pm_op_differentiable(n->op))
		return false;
	if (n->n_weights > 0)
		return true;
	for (int i = 0; i < n->n_inputs; i++)
		if (g->nodes[n->inputs[i]].grad)
			return true;
	return false;
}

/*
 * The node whose elements a reader of node i touches.  A view with fewer or as
 * many elements as its source touches its own; one with more (a broadcast,
 * overlapping windows) no more than the source has.  Views of one output of
 * several are left alone: which output is not known.
 */
static int32_t
touched(const pm_graph *g, int i)
{
	const pm_node *n = &g->nodes[i];
	const pm_node *source;

	if (!n->view || n->n_inputs != 1 || g->nodes[n->inputs[0]].n_shapes > 1)
		return i;
	source = &g->nodes[g->nodes[n->inputs[0]].memory];
	return pm_shape_count(&n->shape) < pm_shape_count(&source->shape) ? i : g->nodes[n->inputs[0]].memory;
}

static void
derive(pm_graph *g)
{
	op_cache	cache;

	memset(&cache, 0, sizeof(cache));
	g->n_unknown = 0;
	g->params = 0;
	for (int i = 0; i < g->n_nodes; i++)
	{
		pm_node    *n = &g->nodes[i];

		n->op = find_op(&cache, n->op_name);
		n->grad = has_grad(g, n);
		n->memory = touched(g, i);
		if (n->op == PM_OP_UNKNOWN && !n->view)
			g->n_unknown++;
		g->params += own_params(n);
	}
}

/* ---------- structure hash ---------- */

static uint64_t
fold(uint64_t h, uint64_t v)
{
	return pm_mix(h * UINT64_C(0x9e3779b97f4a7c15) + (v ^ UINT64_C(0x2545f4914f6cdd1d)));
}

static uint64_t
fold_shape(uint64_t h, const pm_shape *s)
{
	h = fold(h, (uint64_t) s->rank);
	for (int i = 0; i < s->rank; i++)
		h = fold(h, (uint64_t) s->dim[i]);
	return h;
}

static uint64_t
fold_shapes(uint64_t h, int n, const pm_shape *shapes)
{
	h = fold(h, (uint64_t) n);
	for (int i = 0; i < n; i++)
		h = fold_shape(h, &shapes[i]);
	return h;
}

static uint64_t
fold_attrs(uint64_t h, const pm_attrs *a)
{
	h = fold(h, (uint64_t) a->spatial);
	for (int i = 0; i < a->spatial; i++)
	{
		h = fold(h, (uint64_t) a->kernel[i]);
		h = fold(h, (uint64_t) a->stride[i]);
		h = fold(h, (uint64_t) a->pad[i]);
		h = fold(h, (uint64_t) a->dilation[i]);
	}
	h = fold(h, (uint64_t) a->group);
	h = fold(h, (uint64_t) a->axis);
	h = fold(h, (uint64_t) a->hidden_size);
	h = fold(h, (uint64_t) a->num_layers);
	h = fold(h, (uint64_t) a->num_heads);
	if (!isnan(a->alpha))
		h = pm_hash(h, &a->alpha, sizeof(a->alpha));
	return fold(h, (a->bidirectional ? 1u : 0u) | (a->tied >= 0 ? 2u : 0u) | (a->requires_grad ? 4u : 0u));
}

/* What a node is, its inputs aside.  Aliases of an operator hash alike. */
static uint64_t
own_hash(const pm_node *n)
{
	const char *name = n->op == PM_OP_UNKNOWN ? n->op_name : pm_op_name(n->op);
	uint64_t	h = pm_hash(PM_HASH_INIT, name, strlen(name));

	h = fold_shape(h, &n->shape);
	h = fold_shapes(h, n->n_shapes, n->shapes);
	h = fold(h, (uint64_t) (n->batch_dim + 1));
	h = fold_attrs(h, &n->attrs);
	h = fold_shapes(h, n->n_weights, n->weights);
	return fold_shapes(h, n->n_consts, n->consts);
}

/* What a reader sees of producer p: the shape read and the memory behind it. */
static uint64_t
fold_read(uint64_t h, const pm_graph *g, const pm_node *p)
{
	const pm_node *m = &g->nodes[p->memory];

	h = fold_shape(h, &p->shape);
	h = fold(h, (uint64_t) (p->batch_dim + 1));
	h = fold(h, (uint64_t) (int64_t) fmin(pm_shape_count(&m->shape), 0x1p62));
	return fold(h, (uint64_t) (m->batch_dim >= 0));
}

/* Upward hash of node i: itself and all that leads to it. up: of all nodes before it. */
static uint64_t
upward(const pm_graph *g, int i, const uint64_t *up)
{
	const pm_node *n = &g->nodes[i];
	uint64_t	h;

	if (n->view && n->n_inputs == 1)
		return up[n->inputs[0]];
	h = n->view && n->n_inputs > 0 ? PM_HASH_INIT : own_hash(n);
	for (int k = 0; k < n->n_inputs; k++)
	{
		if (!n->view)
			h = fold_read(h, g, &g->nodes[n->inputs[k]]);
		h = fold(h, up[n->inputs[k]]);
	}
	return h;
}

/*
 * The downward pass adds to each node a sum over its readers, so that one node
 * read twice differs from two equal nodes.  Sums do not depend on the order of
 * ids.  below: zeroed, one word a node.
 */
static uint64_t
downward(const pm_graph *g, const uint64_t *up, uint64_t *below)
{
	uint64_t	total = 0;

	for (int i = g->n_nodes - 1; i >= 0; i--)
	{
		const pm_node *n = &g->nodes[i];
		uint64_t	h = n->view ? below[i] : fold(up[i], below[i]);

		if (!n->view)
			total += pm_mix(h);
		if (!n->view && n->attrs.tied >= 0)
			total += fold(h, up[n->attrs.tied]);
		if (n->view && below[i] == 0)
			continue;			/* nobody reads it */
		for (int k = 0; k < n->n_inputs; k++)
			below[n->inputs[k]] += n->view && n->n_inputs == 1 ? h : fold(h, (uint64_t) k);
	}
	return pm_mix(total);
}

static pm_code
hash_structure(pm_graph *g, pm_arena *a, pm_status *st)
{
	uint64_t   *up = PM_NEW(a, uint64_t, (size_t) g->n_nodes);
	uint64_t   *below = PM_NEW(a, uint64_t, (size_t) g->n_nodes);

	if (up == NULL || below == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < g->n_nodes; i++)
		up[i] = upward(g, i, up);
	g->structure = downward(g, up, below);
	return PM_OK;
}

/* The family by the name of the model, or by what stands before the "@" of the graph's name. */
static pm_code
derive_family(pm_graph *g, pm_arena *a, pm_status *st)
{
	char		family[PM_FAMILY_SIZE];
	char		model[PM_MAX_NAME_LEN + 1] = "";

	g->family_derived = true;
	if (g->name != NULL)
		snprintf(model, sizeof(model), "%.*s", (int) strcspn(g->name, "@"), g->name);
	pm_family(g->model != NULL && g->model[0] != '\0' ? g->model : model, family, sizeof(family));
	g->family = pm_strdup(a, family, strlen(family));
	return g->family == NULL ? pm_no_memory(st, a) : PM_OK;
}

pm_code
pm_graph_rename(pm_graph *g, const char *name, pm_arena *a, pm_status *st)
{
	g->name = pm_strdup(a, name, strlen(name));
	if (g->name == NULL)
		return pm_no_memory(st, a);
	return g->family_derived ? derive_family(g, a, st) : PM_OK;
}

pm_code
pm_graph_finish(pm_graph *g, pm_arena *a, pm_status *st)
{
	pm_code		code = check_graph(g, st);

	if (code == PM_OK && (g->family == NULL || g->family[0] == '\0'))
		code = derive_family(g, a, st);
	if (code != PM_OK)
		return code;
	derive(g);
	return hash_structure(g, a, st);
}

/* ---------- dag ---------- */

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

void
pm_dag_reach(const pm_dag *dag, uint64_t *rows)
{
	size_t		words = pm_reach_words(dag->n);

	for (int i = dag->n - 1; i >= 0; i--)
	{
		uint64_t   *row = rows + (size_t) i * words;

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
}
