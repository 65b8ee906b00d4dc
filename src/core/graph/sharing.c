/*
 * sharing.c - which weights another node owns.
 */
#include "graph/sharing.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDING	0.002		/* of the sum, that documents may be off by */

typedef struct weight
{
	int32_t		node;
	int32_t		k;				/* of its weights */
	double		count;
	uint64_t	shape;
} weight;

static uint64_t
hash_of(const pm_shape *s)
{
	uint64_t	h = (uint64_t) s->rank;

	for (int d = 0; d < s->rank; d++)
		h = pm_mix(h ^ (uint64_t) s->dim[d]);
	return h;
}

/* The largest first; of one shape, in the order of the nodes. */
static int
by_size(const void *a, const void *b)
{
	const weight *x = a;
	const weight *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->shape != y->shape)
		return x->shape < y->shape ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->k > y->k) - (x->k < y->k);
}

/* Trained weights, and what they add up to, before anything is shared but what the graph ties. */
static double
sum_trained(const pm_graph *g, int *n)
{
	double		sum = 0;

	*n = 0;
	for (int i = 0; i < g->n_nodes; i++)
	{
		const pm_node *node = &g->nodes[i];

		if (node->attrs.frozen)
			continue;
		sum += pm_node_params(node);
		*n += node->n_weights;
	}
	return sum;
}

static pm_code
say_shared(pm_graph *g, int node, int k, pm_arena *a, pm_status *st)
{
	pm_node    *n = &g->nodes[node];

	if (n->shared == NULL && (n->shared = PM_NEW(a, bool, n->n_weights)) == NULL)
		return pm_no_memory(st, a);
	n->shared[k] = true;
	return PM_OK;
}

/* Share `excess` parameters, give or take `slack`, among weights of the same shapes. w[]: room for all weights. */
static pm_code
share(pm_graph *g, weight *w, double excess, double slack, pm_arena *a, pm_status *st)
{
	int			n = 0;
	pm_code		rc = PM_OK;

	for (int i = 0; i < g->n_nodes; i++)
		for (int k = 0; k < g->nodes[i].n_weights; k++)
			if (pm_node_owns(&g->nodes[i], k) && !g->nodes[i].attrs.frozen)
				w[n++] = (weight) {i, k, pm_shape_count(&g->nodes[i].weights[k]), hash_of(&g->nodes[i].weights[k])};
	qsort(w, (size_t) n, sizeof(weight), by_size);
	for (int i = 1; i < n && excess > slack && rc == PM_OK; i++)
		if (w[i].shape == w[i - 1].shape && w[i].count == w[i - 1].count && w[i].count <= excess)
		{
			rc = say_shared(g, w[i].node, w[i].k, a, st);
			excess -= w[i].count;
		}
	return rc;
}

/* ---------- frozen weights ---------- */

/* The document does not say how many parameters are frozen; but modules that run again use their weights again. */
typedef struct place
{
	const char *module;
	int32_t		node;
} place;

static int
by_module(const void *a, const void *b)
{
	const place *x = a;
	const place *y = b;
	int			order = strcmp(x->module, y->module);

	return order != 0 ? order : (x->node > y->node) - (x->node < y->node);
}

static bool
has_frozen(const pm_node *n)
{
	return n->n_weights > 0 && n->attrs.frozen && n->module != NULL && n->module[0] != '\0';
}

/* Whether no node is of a module inside of this one.  rest[]: what comes behind it by name. */
static bool
is_innermost(const char *module, const place *rest, int n)
{
	size_t		len = strlen(module);

	for (int i = 0; i < n && strncmp(rest[i].module, module, len) == 0 && rest[i].module[len] <= '.'; i++)
		if (rest[i].module[len] == '.')
			return false;
	return true;
}

/* Length of the first run of v[], nodes of one module: it ends where another module runs. */
static int
call_length(const pm_graph *g, const place *v, int n)
{
	for (int i = 1; i < n; i++)
		for (int32_t k = v[i - 1].node + 1; k < v[i].node; k++)
			if (g->nodes[k].module != NULL)
				return i;
	return n;
}

static bool
same_weights(const pm_node *x, const pm_node *y)
{
	if (strcmp(x->op_name, y->op_name) != 0 || x->n_weights != y->n_weights || x->attrs.frozen != y->attrs.frozen)
		return false;
	for (int k = 0; k < x->n_weights; k++)
		if (x->weights[k].rank != y->weights[k].rank ||
			memcmp(x->weights[k].dim, y->weights[k].dim, sizeof(x->weights[k].dim[0]) * (size_t) x->weights[k].rank) != 0)
			return false;
	return true;
}

/* The place of the next node with weights, from i on; n if there is none. */
static int
next_weights(const pm_graph *g, const place *v, int n, int i)
{
	while (i < n && g->nodes[v[i].node].n_weights == 0)
		i++;
	return i;
}

/* Whether two calls read weights of the same shapes in the same order. */
static bool
same_call(const pm_graph *g, const place *v, int n, const place *w, int m)
{
	int			i = next_weights(g, v, n, 0);
	int			k = next_weights(g, w, m, 0);

	while (i < n && k < m && same_weights(&g->nodes[v[i].node], &g->nodes[w[k].node]))
	{
		i = next_weights(g, v, n, i + 1);
		k = next_weights(g, w, m, k + 1);
	}
	return i == n && k == m;
}

/* Share the frozen weights of all calls of a module, v[], with the first. */
static pm_code
share_calls(pm_graph *g, const place *v, int n, pm_arena *a, pm_status *st)
{
	int			first = call_length(g, v, n);
	int			len;
	pm_code		rc = PM_OK;

	for (int i = first; i < n && rc == PM_OK; i += len)
	{
		len = call_length(g, v + i, n - i);
		if (!same_call(g, v, first, v + i, len))
			continue;
		for (int j = i; j < i + len && rc == PM_OK; j++)
			for (int k = 0; k < g->nodes[v[j].node].n_weights && g->nodes[v[j].node].attrs.frozen && rc == PM_OK; k++)
				rc = say_shared(g, v[j].node, k, a, st);
	}
	return rc;
}

/*
 * A module without others inside is one stretch of nodes each time that it is called.  If other modules run between its nodes,
 * it was called again.
 */
static pm_code
share_frozen(pm_graph *g, place *v, pm_arena *a, pm_status *st)
{
	int			n = 0;
	int			end;
	pm_code		rc = PM_OK;

	for (int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i].module != NULL)
			v[n++] = (place) {g->nodes[i].module, i};
	qsort(v, (size_t) n, sizeof(place), by_module);
	for (int i = 0; i < n && rc == PM_OK; i = end)
	{
		bool		frozen = false;

		for (end = i; end < n && strcmp(v[end].module, v[i].module) == 0; end++)
			frozen |= has_frozen(&g->nodes[v[end].node]);
		if (frozen && is_innermost(v[i].module, v + end, n - end))
			rc = share_calls(g, v + i, end - i, a, st);
	}
	return rc;
}

static pm_code
find_frozen(pm_graph *g, pm_arena *a, pm_status *st)
{
	bool		any = false;
	pm_arena	scratch;
	place	   *v;
	pm_code		rc;

	for (int i = 0; i < g->n_nodes && !any; i++)
		any = has_frozen(&g->nodes[i]);
	if (!any)
		return PM_OK;
	pm_arena_init_within(&scratch, a);
	v = PM_NEW(&scratch, place, g->n_nodes);
	rc = v == NULL ? pm_no_memory(st, &scratch) : share_frozen(g, v, a, st);
	pm_arena_release(&scratch);
	return rc;
}

pm_code
pm_graph_find_shared(pm_graph *g, pm_arena *a, pm_status *st)
{
	int			n;
	double		sum;
	double		excess;
	double		slack;
	pm_arena	scratch;
	weight	   *w;
	pm_code		rc = PM_OK;

	for (int i = 0; i < g->n_nodes && rc == PM_OK; i++)
		if (g->nodes[i].n_weights > 0 && g->nodes[i].attrs.tied >= 0)
			rc = say_shared(g, i, 0, a, st);
	if (rc == PM_OK)
		rc = find_frozen(g, a, st);
	if (rc != PM_OK)
		return rc;
	sum = sum_trained(g, &n);
	excess = sum - g->declared_params;
	slack = ROUNDING * g->declared_params;
	if (!(excess > slack))
		return PM_OK;
	pm_arena_init_within(&scratch, a);
	w = PM_NEW(&scratch, weight, n);
	rc = w == NULL ? pm_no_memory(st, &scratch) : share(g, w, excess, slack, a, st);
	pm_arena_release(&scratch);
	return rc;
}
