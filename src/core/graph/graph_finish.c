/*
 * graph_finish.c - checks graphs, and computes their derived fields.
 *
 * Every importer ends in pm_graph_finish(), which trusts nothing: counts,
 * ranks, dimensions, ids.  All passes run along the ids, which are a
 * topological order, so nothing recurses.
 */
#include "graph/graph_finish.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/experts.h"
#include "graph/family.h"
#include "graph/flow.h"
#include "graph/op_catalogue.h"
#include "graph/sharing.h"
#include "graph/structure.h"

#define OP_CACHE	64

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
	if (n->attrs.frozen != c->g->nodes[owner].attrs.frozen)
		return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"attrs.tied\" names node %lld, and only one of the two is frozen", c->node, (long long) owner);
	return PM_OK;
}

/* Each dimension once. */
static pm_code
check_perm(const check *c, const pm_attrs *a)
{
	unsigned	seen = 0;

	for (int i = 0; i < a->n_perm; i++)
		seen |= 1u << (a->perm[i] % 32);
	if (a->n_perm >= 0 && a->n_perm <= PM_MAX_RANK && seen == (1u << a->n_perm) - 1)
		return PM_OK;
	return pm_fail(c->st, PM_ERR_INPUT, "node %d: \"attrs.perm\" does not name each dimension once", c->node);
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
		code = check_perm(c, a);
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
check_module(const check *c, const pm_node *n)
{
	if (n->module != NULL && strlen(n->module) > PM_MAX_NAME_LEN)
		return pm_fail(c->st, PM_ERR_LIMIT, "node %d: \"module\" is longer than %d bytes", c->node, PM_MAX_NAME_LEN);
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
		code = check_module(c, n);
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

/* The texts about the graph as a whole; "" and NULL are absent ones. */
static pm_code
check_names(const pm_graph *g, pm_status *st)
{
	const char *const names[] = {"name", "model", "family", "source"};
	const char *const texts[] = {g->name, g->model, g->family, g->source};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i] != NULL && strlen(texts[i]) > PM_MAX_NAME_LEN)
			return pm_fail(st, PM_ERR_LIMIT, "\"%s\" is longer than %d bytes", names[i], PM_MAX_NAME_LEN);
	return PM_OK;
}

static pm_code
check_graph(const pm_graph *g, const pm_arena *a, pm_status *st)
{
	int64_t		edges = 0;

	if (check_names(g, st) != PM_OK)
		return PM_ERR_LIMIT;
	if (g->n_nodes <= 0 || g->nodes == NULL)
		return pm_fail(st, PM_ERR_INPUT, "\"nodes\" is empty");
	if (g->n_nodes > PM_MAX_NODES)
		return pm_fail(st, PM_ERR_LIMIT, "\"nodes\" has %d nodes, but %d are the limit", g->n_nodes, PM_MAX_NODES);
	for (int i = 0; i < g->n_nodes; i++)
	{
		check		c = {g, i, st};
		pm_code		code = i % PM_POLL_EVERY == 0 && pm_stopped(a, st) ? PM_CANCELLED : check_node(&c, &g->nodes[i]);

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

static bool
has_grad(const pm_graph *g, const pm_node *n)
{
	if (n->attrs.requires_grad && n->n_inputs == 0)
		return true;
	if (pm_op_detaches(n->op))
		return false;
	if (!n->view && !pm_op_differentiable(n->op))
		return false;
	if (pm_node_trains(n))
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
	return pm_node_count(n, 1) < pm_node_count(source, 1) ? i : g->nodes[n->inputs[0]].memory;
}

static void
count_params(pm_graph *g, const pm_node *n)
{
	double		count = pm_node_params(n);

	*(n->attrs.frozen ? &g->frozen : &g->params) += count;
	if (pm_node_sparse(n))
		g->sparse += count;
}

/* A gradient is sparse if a trained table has it, and all that read the table have such: with a full one, the sum is full. */
static void
settle_sparse(pm_graph *g)
{
	for (int i = 0; i < g->n_nodes; i++)
	{
		pm_node    *n = &g->nodes[i];

		n->attrs.sparse = pm_node_sparse(n) && pm_op_row_of(n->op)->back == PM_BACK_TABLE;
	}
	for (int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i].attrs.tied >= 0 && !g->nodes[i].attrs.sparse)
			g->nodes[g->nodes[i].attrs.tied].attrs.sparse = false;
	for (int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i].attrs.tied >= 0 && !g->nodes[g->nodes[i].attrs.tied].attrs.sparse)
			g->nodes[i].attrs.sparse = false;
}

static pm_code
derive(pm_graph *g, const pm_arena *a, pm_status *st)
{
	op_cache	cache;

	memset(&cache, 0, sizeof(cache));
	g->n_unknown = 0;
	g->params = g->sparse = g->frozen = 0;
	for (int i = 0; i < g->n_nodes; i++)
	{
		pm_node    *n = &g->nodes[i];

		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		n->op = find_op(&cache, n->op_name);
		n->view |= pm_op_detaches(n->op);
		n->grad = has_grad(g, n);
		n->memory = touched(g, i);
		if (n->op == PM_OP_UNKNOWN && !n->view)
			g->n_unknown++;
	}
	settle_sparse(g);
	for (int i = 0; i < g->n_nodes; i++)
		count_params(g, &g->nodes[i]);
	return PM_OK;
}

/*
 * Autograd starts at the loss.  What only operators read that pass no gradient (distances whose argmin is taken) gets none, though
 * its producers have weights.  Where the document does not say what the loss is computed from, only that is dropped whose every way
 * ends at a detach().
 */
static pm_code
drop_unreached(pm_graph *g, pm_arena *a, pm_status *st)
{
	pm_arena	scratch;
	bool	   *read;				/* by any node, and then by one that passes a gradient on */
	bool	   *reached;
	bool		from_loss = g->output >= 0 && g->nodes[g->output].grad;

	pm_arena_init_within(&scratch, a);
	read = PM_NEW(&scratch, bool, g->n_nodes);
	reached = PM_NEW(&scratch, bool, g->n_nodes);
	if (read == NULL || reached == NULL)
	{
		pm_code		rc = pm_no_memory(st, &scratch);

		pm_arena_release(&scratch);
		return rc;
	}
	for (int i = g->n_nodes - 1; i >= 0; i--)
	{
		pm_node    *n = &g->nodes[i];

		bool		ends = reached[i] || !read[i] || i == g->output;

		n->grad &= ends;
		for (int k = 0; k < n->n_inputs; k++)
		{
			read[n->inputs[k]] = true;
			reached[n->inputs[k]] |= from_loss ? n->grad : ends && !pm_op_detaches(n->op);
		}
	}
	pm_arena_release(&scratch);
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

static pm_code
derive_flow(pm_graph *g, const pm_arena *a, pm_status *st)
{
	pm_arena	scratch;
	pm_code		code;

	pm_arena_init_within(&scratch, a);
	code = pm_flow_derive(g, &scratch, st);
	pm_arena_release(&scratch);
	return code;
}

pm_code
pm_graph_finish(pm_graph *g, pm_arena *a, pm_status *st)
{
	pm_code		code = check_graph(g, a, st);

	if (code == PM_OK && (g->family == NULL || g->family[0] == '\0'))
		code = derive_family(g, a, st);
	if (code == PM_OK)
		code = pm_graph_find_shared(g, a, st);
	if (code == PM_OK)
		code = derive(g, a, st);
	if (code == PM_OK)
		code = pm_experts_find(g, a, st);
	if (code == PM_OK)
		code = drop_unreached(g, a, st);
	if (code == PM_OK)
		code = derive_flow(g, a, st);
	return code == PM_OK ? pm_structure_hash(g, a, &g->structure, st) : code;
}

pm_code
pm_graph_train_all(const pm_graph *g, pm_arena *a, const pm_graph **trained, pm_status *st)
{
	pm_graph   *t = PM_NEW(a, pm_graph, 1);
	pm_code		code;

	if (t == NULL)
		return pm_no_memory(st, a);
	*trained = t;
	*t = *g;
	if ((t->nodes = PM_NEW(a, pm_node, g->n_nodes)) == NULL)
		return pm_no_memory(st, a);
	memcpy(t->nodes, g->nodes, g->n_nodes * sizeof(pm_node));
	for (int i = 0; i < t->n_nodes; i++)
		t->nodes[i].attrs.frozen = false;
	code = derive(t, a, st);
	return code == PM_OK ? derive_flow(t, a, st) : code;
}

pm_code
pm_graph_resized(pm_graph *g, pm_arena *a, pm_status *st)
{
	pm_code		code;

	g->params = g->sparse = g->frozen = 0;
	for (int i = 0; i < g->n_nodes; i++)
		count_params(g, &g->nodes[i]);
	code = derive_flow(g, a, st);
	return code == PM_OK ? pm_structure_hash(g, a, &g->structure, st) : code;
}
