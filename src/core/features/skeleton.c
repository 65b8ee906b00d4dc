/*
 * skeleton.c - from an operator graph to its tokens, positions and relations.
 *
 * Two operators are alike when their type, their geometry and their work are
 * the same, at batch 1 and at batch 2; since work is linear in the batch, they
 * are then alike at every batch.
 */
#include "features/skeleton.h"
#include "graph/graph_finish.h"
#include "graph/op_catalogue.h"
#include "graph/op_work.h"
#include "graph/op_geometry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest relative depth: relative depths use the same wavelengths as depths, so they need a range like that of depths. */
#define RELATIVE_SPAN	64.0

/* Work between two looks at whether to stop: some 10 ms of it. */
#define POLL_OPERATORS	256
#define POLL_ROWS		64

/* ---- which operators are alike ---- */

typedef struct likeness
{
	uint64_t	hash;
	int32_t		op;				/* index into the dag */
} likeness;

static uint64_t
hash_work(uint64_t h, const pm_work *w)
{
	const double v[] = {
		w->flops_forward, w->flops_backward, w->flops_update, w->bytes_forward, w->bytes_backward,
		w->bytes_update, w->bytes_across, w->params, w->in_elems, w->out_elems, w->weight_elems,
		w->kernels_forward, w->kernels_backward, w->tensor_core
	};

	return pm_hash(h, v, sizeof(v));
}

static uint64_t
hash_geometry(uint64_t h, const pm_geometry *g)
{
	const double v[] = {
		g->conv, g->in_ch, g->out_ch, g->in_h, g->in_w, g->out_h, g->out_w, g->k_h, g->k_w, g->s_h,
		g->s_w, g->pad_h, g->pad_w, g->dilation, g->groups, g->ch_per_group, g->gemm_m, g->gemm_n,
		g->gemm_k, g->gemm_batch, g->heads, g->seq_len, g->out_per_group, g->alpha, g->has_bias, g->present
	};

	return pm_hash(h, v, sizeof(v));
}

static uint64_t
operator_hash(const pm_graph *g, int node)
{
	pm_work		w;
	pm_geometry geo;
	uint64_t	h = PM_HASH_INIT;
	int			op = g->nodes[node].op;

	pm_node_geometry(g, node, 1, &geo);
	h = pm_hash(h, &op, sizeof(op));
	if (g->nodes[node].attrs.flash != 0)
		h = pm_hash(h, &g->nodes[node].attrs.flash, sizeof(g->nodes[node].attrs.flash));
	h = hash_geometry(h, &geo);
	h = pm_hash(h, g->nodes[node].flow.runs, sizeof(g->nodes[node].flow.runs));
	/* mixed precision tells apart what each tensor is as well */
	for (int i = 0; i < 2 * PM_N_LAYOUTS; i++)
	{
		pm_node_work(g, node, 1 + i / PM_N_LAYOUTS, PM_AMP, (pm_layout) (i % PM_N_LAYOUTS), PM_SGD, &w);
		h = hash_work(h, &w);
	}
	return pm_mix(h);
}

static int
by_hash(const void *a, const void *b)
{
	const likeness *x = a;
	const likeness *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->op - y->op;
}

/*
 * Give every operator a token.  Tokens are numbered by their first operator,
 * so that an unmerged skeleton keeps the order of the dag.
 */
static pm_code
assign_tokens(pm_skeleton *s, bool merge, pm_arena *a, pm_arena *scratch, pm_status *st)
{
	int			n = s->dag.n;
	likeness   *alike = PM_NEW(scratch, likeness, n);
	int32_t    *first = PM_NEW(scratch, int32_t, n);

	s->token_of = PM_NEW(a, int32_t, n);
	s->node = PM_NEW(a, int32_t, n);
	s->copies = PM_NEW(a, double, n);
	if (!alike || !first || !s->token_of || !s->node || !s->copies)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
	{
		if (i % POLL_OPERATORS == 0 && pm_stopped(scratch, st))
			return PM_CANCELLED;
		alike[i].hash = merge ? operator_hash(s->graph, s->dag.node[i]) : (uint64_t) i;
		alike[i].op = i;
	}
	qsort(alike, n, sizeof(likeness), by_hash);
	for (int i = 0, start = 0; i < n; i++)
	{
		if (alike[i].hash != alike[start].hash)
			start = i;
		first[alike[i].op] = alike[start].op;
	}
	s->n = 0;
	for (int i = 0; i < n; i++)
	{
		if (first[i] == i)
		{
			s->node[s->n] = s->dag.node[i];
			s->token_of[i] = s->n++;
		}
		else
			s->token_of[i] = s->token_of[first[i]];
		s->copies[s->token_of[i]]++;
	}
	return PM_OK;
}

/* ---- positions ---- */

/* Sinusoids of every depth, which is also every height, of a dag; and of every depth as a share of the largest. */
typedef struct sinusoids
{
	double	   *of;				/* [max_depth + 1, PM_SINUSOID] */
	double	   *relative;		/* [max_depth + 1, PM_SINUSOID] */
} sinusoids;

static void
fill_sinusoid(double *out, double p)
{
	for (int k = 0; k < PM_SINUSOID; k += 2)
	{
		double		angle = p / pow(10000.0, (double) k / PM_SINUSOID);

		out[k] = sin(angle);
		out[k + 1] = cos(angle);
	}
}

static pm_code
make_sinusoids(const pm_dag *d, pm_arena *scratch, sinusoids *s, pm_status *st)
{
	size_t		n = (size_t) d->max_depth + 1;

	s->of = PM_NEW(scratch, double, n * PM_SINUSOID);
	s->relative = PM_NEW(scratch, double, n * PM_SINUSOID);
	if (!s->of || !s->relative)
		return pm_no_memory(st, scratch);
	for (size_t p = 0; p < n; p++)
	{
		fill_sinusoid(s->of + p * PM_SINUSOID, (double) p);
		fill_sinusoid(s->relative + p * PM_SINUSOID, RELATIVE_SPAN * (double) p / (d->max_depth > 0 ? d->max_depth : 1));
	}
	return PM_OK;
}

/* out[PM_SINUSOID] += scale * S(p), S a row of `of` */
static void
add_sinusoid(pm_real *out, const double *of, int p, double scale)
{
	const double *s = of + (size_t) p * PM_SINUSOID;

	for (int k = 0; k < PM_SINUSOID; k++)
		out[k] += (pm_real) (scale * s[k]);
}

/*
 * Mean of S(depth) over the neighbours.  Depth and not the topological index,
 * which would depend on how ties are broken: a long skip shows as a parent of
 * small depth all the same.
 */
static void
add_neighbours(pm_real *out, const double *of, const pm_dag *d, const int32_t *list, int n, double scale)
{
	for (int i = 0; i < n; i++)
		add_sinusoid(out, of, d->depth[list[i]], scale / n);
}

static int
degree_slot(int degree)
{
	return degree < PM_N_DEGREES ? degree : PM_N_DEGREES - 1;
}

/* Add operator i's share of the position of its token. */
static void
add_position(pm_skeleton *s, const sinusoids *sin_of, int i)
{
	const pm_dag *d = &s->dag;
	int			token = s->token_of[i];
	double		share = 1 / s->copies[token];
	pm_real    *p = s->position + (size_t) token * PM_POSITION_DIM;
	int			n_in = d->parent_at[i + 1] - d->parent_at[i];
	int			n_out = d->child_at[i + 1] - d->child_at[i];

	add_sinusoid(p, sin_of->of, d->depth[i], share);
	p += PM_SINUSOID;
	add_sinusoid(p, sin_of->relative, d->depth[i], share);
	p += PM_SINUSOID;
	add_sinusoid(p, sin_of->of, d->height[i], share);
	p += PM_SINUSOID;
	add_neighbours(p, sin_of->of, d, d->parent + d->parent_at[i], n_in, share);
	p += PM_SINUSOID;
	add_neighbours(p, sin_of->of, d, d->child + d->child_at[i], n_out, share);
	p += PM_SINUSOID;
	p[degree_slot(n_in)] += (pm_real) share;
	p += PM_N_DEGREES;
	p[degree_slot(n_out)] += (pm_real) share;
}

static pm_code
build_positions(pm_skeleton *s, pm_arena *a, pm_arena *scratch, pm_status *st)
{
	sinusoids	sin_of;
	pm_code		rc = make_sinusoids(&s->dag, scratch, &sin_of, st);

	s->position = PM_NEW(a, pm_real, (size_t) s->n * PM_POSITION_DIM);
	if (rc != PM_OK || !s->position)
		return rc != PM_OK ? rc : pm_no_memory(st, a);
	for (int i = 0; i < s->dag.n; i++)
	{
		if (i % POLL_OPERATORS == 0 && pm_stopped(scratch, st))
			return PM_CANCELLED;
		add_position(s, &sin_of, i);
	}
	return PM_OK;
}

/* ---- relations ---- */

/* The entry of a pair of tokens; row and column 0 of the table belong to the job token. */
static inline uint8_t *
relation_of(const pm_skeleton *s, int row, int column)
{
	return s->relation + (size_t) (row + 1) * (s->n + 1) + column + 1;
}

/* Note that operator `column` is `rel` to operator `row`. */
static inline void
mark(pm_skeleton *s, int row, int column, pm_relation rel)
{
	*relation_of(s, s->token_of[row], s->token_of[column]) |= (uint8_t) (1 << rel);
}

static inline bool
is_ancestor(const uint64_t *reach, size_t words, int i, int j)
{
	return (reach[(size_t) i * words + j / 64] >> (j % 64)) & 1;
}

/*
 * Bit t of row k of joined[s->n, words] is set when some copy of token t is
 * below (or above) some copy of token k.  Tokens and not operators, which are
 * many times as many, make up a row.  rows[dag.n, words]: scratch, zeroed.
 */
static pm_code
join_reach(const pm_skeleton *s, bool below, size_t words, uint64_t *rows, uint64_t *joined, const pm_arena *a, pm_status *st)
{
	const pm_dag *d = &s->dag;
	const int32_t *at = below ? d->child_at : d->parent_at;
	const int32_t *next = below ? d->child : d->parent;

	for (int k = 0; k < d->n; k++)
	{
		int			i = below ? d->n - 1 - k : k;
		uint64_t   *row = rows + (size_t) i * words;
		uint64_t   *to = joined + (size_t) s->token_of[i] * words;

		if (k % POLL_OPERATORS == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		for (int e = at[i]; e < at[i + 1]; e++)
		{
			const uint64_t *from = rows + (size_t) next[e] * words;
			int			token = s->token_of[next[e]];

			row[token / 64] |= UINT64_C(1) << (token % 64);
			for (size_t w = 0; w < words; w++)
				row[w] |= from[w];
		}
		for (size_t w = 0; w < words; w++)
			to[w] |= row[w];
	}
	return PM_OK;
}

static void
mark_kinship(pm_skeleton *s)
{
	const pm_dag *d = &s->dag;

	for (int i = 0; i < d->n; i++)
		for (int e = d->parent_at[i]; e < d->parent_at[i + 1]; e++)
		{
			mark(s, i, d->parent[e], PM_REL_PARENT);
			mark(s, d->parent[e], i, PM_REL_CHILD);
		}
}

/* Pairs of siblings that are looked at; a graph of 200,000 nodes could ask for 10^10. */
#define MAX_PAIRS	INT64_C(100000000)

/*
 * Operators in list share a parent (or a child): siblings where neither reaches
 * the other.  *pairs: looked at so far.  False: too many.
 */
static bool
mark_siblings(pm_skeleton *s, const int32_t *list, int n, const uint64_t *reach, size_t words, int64_t *pairs)
{
	*pairs += (int64_t) n * (n - 1) / 2;
	if (*pairs > MAX_PAIRS)
		return false;
	for (int x = 0; x < n; x++)
		for (int y = 0; y < x; y++)
		{
			int			i = list[x];
			int			j = list[y];

			if (is_ancestor(reach, words, i, j) || is_ancestor(reach, words, j, i))
				continue;
			mark(s, i, j, PM_REL_SIBLING);
			mark(s, j, i, PM_REL_SIBLING);
		}
	return true;
}

static uint8_t
closest(uint8_t marks, bool self, bool column_is_earlier)
{
	static const pm_relation order[] = {PM_REL_PARENT, PM_REL_CHILD, PM_REL_SIBLING};
	const uint8_t both = (1 << PM_REL_ANCESTOR) | (1 << PM_REL_DESCENDANT);

	if (self)
		return PM_REL_SELF;
	for (int i = 0; i < 3; i++)
		if (marks & (1 << order[i]))
			return order[i];
	if ((marks & both) == 0)
		return PM_REL_UNRELATED;
	if ((marks & both) == both)
		return column_is_earlier ? PM_REL_ANCESTOR : PM_REL_DESCENDANT;
	return (marks & (1 << PM_REL_ANCESTOR)) ? PM_REL_ANCESTOR : PM_REL_DESCENDANT;
}

static bool
has_bit(const uint64_t *bits, int i)
{
	return (bits[i / 64] >> (i % 64)) & 1;
}

/* Siblings, and the mean depths of tokens times their copies. */
static pm_code
mark_neighbours(pm_skeleton *s, double *depth, pm_arena *scratch, pm_status *st)
{
	const pm_dag *d = &s->dag;
	size_t		words = pm_reach_words(d->n);
	uint64_t   *reach = PM_NEW(scratch, uint64_t, words * d->n);
	int64_t		pairs = 0;
	pm_code		rc;

	if (!reach)
		return pm_no_memory(st, scratch);
	if ((rc = pm_dag_reach(d, scratch, reach, st)) != PM_OK)
		return rc;
	for (int i = 0; i < d->n; i++)
	{
		/* a list of siblings may be long */
		if (pm_stopped(scratch, st))
			return PM_CANCELLED;
		if (!mark_siblings(s, d->child + d->child_at[i], d->child_at[i + 1] - d->child_at[i], reach, words, &pairs) ||
			!mark_siblings(s, d->parent + d->parent_at[i], d->parent_at[i + 1] - d->parent_at[i], reach, words, &pairs))
			return pm_fail(st, PM_ERR_LIMIT, "the graph has too many pairs of operators that read the same tensor or feed the same operator");
		depth[s->token_of[i]] += d->depth[i];
	}
	return PM_OK;
}

/* What was marked, and what is above and below, becomes one relation a pair. */
static pm_code
settle_relations(pm_skeleton *s, const uint64_t *above, const uint64_t *below, size_t words, const double *depth,
				 const pm_arena *a, pm_status *st)
{
	for (int i = 0; i < s->n; i++)
	{
		const uint64_t *over = above + (size_t) i * words;
		const uint64_t *under = below + (size_t) i * words;

		if (i % POLL_ROWS == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		for (int j = 0; j < s->n; j++)
		{
			uint8_t    *r = relation_of(s, i, j);
			uint8_t		marks = (uint8_t) (*r | has_bit(over, j) << PM_REL_ANCESTOR | has_bit(under, j) << PM_REL_DESCENDANT);

			/* mean depths, compared without a division that would round */
			*r = closest(marks, i == j, depth[j] * s->copies[i] <= depth[i] * s->copies[j]);
		}
	}
	for (int i = 0; i <= s->n; i++)
		s->relation[i] = s->relation[(size_t) i * (s->n + 1)] = PM_REL_JOB;
	return PM_OK;
}

static pm_code
build_relations(pm_skeleton *s, pm_arena *a, pm_arena *scratch, pm_status *st)
{
	size_t		words = ((size_t) s->n + 63) / 64;
	uint64_t   *rows = PM_NEW(scratch, uint64_t, words * s->dag.n);
	uint64_t   *below = PM_NEW(scratch, uint64_t, words * s->n);
	uint64_t   *above = PM_NEW(scratch, uint64_t, words * s->n);
	double	   *depth = PM_NEW(scratch, double, s->n);
	pm_code		rc;

	s->relation = PM_NEW(a, uint8_t, (size_t) (s->n + 1) * (s->n + 1));
	if (!rows || !below || !above || !depth || !s->relation)
		return pm_no_memory(st, a);
	if ((rc = join_reach(s, true, words, rows, below, scratch, st)) != PM_OK)
		return rc;
	memset(rows, 0, words * s->dag.n * sizeof(uint64_t));
	mark_kinship(s);
	if ((rc = join_reach(s, false, words, rows, above, scratch, st)) != PM_OK ||
		(rc = mark_neighbours(s, depth, scratch, st)) != PM_OK)
		return rc;
	return settle_relations(s, above, below, words, depth, scratch, st);
}

/* ---- edges between tokens ---- */

/* Copies of each token stand together: of token k, order[first[k]] to order[first[k + 1]]. */
static pm_code
order_copies(const pm_skeleton *s, int32_t *first, int32_t *order, pm_arena *scratch, pm_status *st)
{
	int32_t    *next = PM_NEW(scratch, int32_t, s->n);

	if (!next)
		return pm_no_memory(st, scratch);
	for (int k = 0; k < s->n; k++)
	{
		next[k] = first[k];
		first[k + 1] = first[k] + (int32_t) s->copies[k];
	}
	for (int i = 0; i < s->dag.n; i++)
		order[next[s->token_of[i]]++] = i;
	return PM_OK;
}

/* Edges of the operators in order[n], all copies of one token, from *n_edges on.  share[tokens]: zeroed scratch. */
static void
join_edges(const pm_skeleton *s, const int32_t *order, int n, const int32_t *at, const int32_t *next, double *share,
		   pm_edges *e, int *n_edges)
{
	int			start = *n_edges;

	for (int x = 0; x < n; x++)
	{
		int			i = order[x];
		int			degree = at[i + 1] - at[i];

		for (int k = at[i]; k < at[i + 1]; k++)
		{
			int			to = s->token_of[next[k]];

			if (share[to] == 0)
				e->to[(*n_edges)++] = to;
			share[to] += 1.0 / ((double) n * degree);
		}
	}
	for (int k = start; k < *n_edges; k++)
	{
		e->weight[k] = (pm_real) share[e->to[k]];
		share[e->to[k]] = 0;
	}
}

static pm_code
build_edges(pm_skeleton *s, pm_arena *a, pm_arena *scratch, pm_status *st)
{
	const int32_t *const at[] = {s->dag.parent_at, s->dag.child_at};
	const int32_t *const next[] = {s->dag.parent, s->dag.child};
	int32_t    *first = PM_NEW(scratch, int32_t, s->n + 1);
	int32_t    *order = PM_NEW(scratch, int32_t, s->dag.n);
	double	   *share = PM_NEW(scratch, double, s->n);
	pm_code		rc;

	if (!first || !order || !share)
		return pm_no_memory(st, scratch);
	if ((rc = order_copies(s, first, order, scratch, st)) != PM_OK)
		return rc;
	for (int way = 0; way < PM_N_EDGE_WAYS; way++)
	{
		pm_edges   *e = &s->edges[way];
		int			n = 0;

		e->at = PM_NEW(a, int32_t, s->n + 1);
		e->to = PM_NEW(a, int32_t, at[way][s->dag.n] + 1);
		e->weight = PM_NEW(a, pm_real, at[way][s->dag.n] + 1);
		if (!e->at || !e->to || !e->weight)
			return pm_no_memory(st, a);
		for (int k = 0; k < s->n; k++)
		{
			join_edges(s, order + first[k], first[k + 1] - first[k], at[way], next[way], share, e, &n);
			e->at[k + 1] = n;
		}
	}
	return PM_OK;
}

/* scratch: for what the skeleton does not keep. */
static pm_code
build_skeleton(pm_skeleton *s, bool merge, pm_arena *a, pm_arena *scratch, pm_status *st)
{
	const char *name = s->graph->name ? s->graph->name : "";
	pm_code		rc;

	if ((rc = pm_dag_build(s->graph, a, &s->dag, st)) != PM_OK)
		return rc;
	if (s->dag.n == 0)
		return pm_fail(st, PM_ERR_INPUT, "graph \"%s\" has no operator that does any work", name);
	if (s->dag.n > PM_MAX_OPS)
		return pm_fail(st, PM_ERR_LIMIT, "graph \"%s\" has %d operators, and at most %d can be predicted",
					   name, s->dag.n, PM_MAX_OPS);
	if ((rc = assign_tokens(s, merge, a, scratch, st)) != PM_OK)
		return rc;
	if (s->n > PM_MAX_TOKENS)
		return pm_fail(st, PM_ERR_LIMIT, "graph \"%s\" has %d distinct operators, and at most %d can be predicted",
					   name, s->n, PM_MAX_TOKENS);
	rc = build_positions(s, a, scratch, st);
	if (rc != PM_OK || (rc = build_relations(s, a, scratch, st)) != PM_OK)
		return rc;
	return build_edges(s, a, scratch, st);
}

/* s->trained, if some weights are frozen. */
static pm_code
train_all(pm_skeleton *s, pm_arena *a, pm_status *st)
{
	pm_skeleton *trained;

	if (s->graph->frozen == 0)
		return PM_OK;
	if ((trained = PM_NEW(a, pm_skeleton, 1)) == NULL)
		return pm_no_memory(st, a);
	*trained = *s;
	s->trained = trained;
	return pm_graph_train_all(s->graph, a, &trained->graph, st);
}

pm_code
pm_skeleton_build(const pm_graph *g, bool merge, pm_arena *a, pm_skeleton *s, pm_status *st)
{
	pm_arena	scratch;
	pm_code		rc;

	memset(s, 0, sizeof(*s));
	s->graph = g;
	pm_arena_init_within(&scratch, a);
	rc = build_skeleton(s, merge, a, &scratch, st);
	pm_arena_release(&scratch);
	return rc == PM_OK ? train_all(s, a, st) : rc;
}

/* ---- slim ---- */

/* Give a node a place in the slim graph. */
static void
keep_node(int32_t *place, int node, int *n)
{
	if (place[node] < 0)
		place[node] = (*n)++;
}

/* place[g->n_nodes]: where each node goes, -1: it is left out. Returns how many stay. */
static int
choose_nodes(const pm_skeleton *s, int32_t *place)
{
	const pm_graph *g = s->graph;
	int			n = 0;

	for (int i = 0; i < g->n_nodes; i++)
		place[i] = -1;
	/* tokens first, so that the others can be told apart */
	for (int i = 0; i < s->n; i++)
		keep_node(place, s->node[i], &n);
	for (int i = 0; i < s->n; i++)
	{
		const pm_node *node = &g->nodes[s->node[i]];

		keep_node(place, node->memory, &n);
		for (int k = 0; k < node->n_inputs; k++)
		{
			keep_node(place, node->inputs[k], &n);
			keep_node(place, g->nodes[node->inputs[k]].memory, &n);
		}
	}
	return n;
}

static bool
copy_shapes(pm_shape **to, const pm_shape *from, int n, pm_arena *a)
{
	*to = n > 0 ? PM_NEW_PACKED(a, pm_shape, n) : NULL;
	if (n > 0 && *to != NULL)
		memcpy(*to, from, n * sizeof(pm_shape));
	return n == 0 || *to != NULL;
}

static const char *
copy_name(const pm_node *from, pm_arena *a)
{
	const char *known = pm_op_name(from->op);

	return strcmp(known, from->op_name) == 0 ? known : pm_strdup(a, from->op_name, strlen(from->op_name));
}

/* Inputs of a node that is not a token's are not looked at. */
static bool
copy_node(pm_node *to, const pm_node *from, const int32_t *place, bool token, pm_arena *a)
{
	*to = *from;
	to->module = NULL;
	to->inputs = NULL;
	to->n_inputs = token ? from->n_inputs : 0;
	to->memory = place[from->memory] < 0 ? 0 : place[from->memory];
	if (to->n_inputs > 0 && (to->inputs = PM_NEW_PACKED(a, int32_t, to->n_inputs)) == NULL)
		return false;
	for (int k = 0; k < to->n_inputs; k++)
		to->inputs[k] = place[from->inputs[k]];
	return (to->op_name = copy_name(from, a)) != NULL &&
		copy_shapes(&to->shapes, from->shapes, from->n_shapes, a) &&
		copy_shapes(&to->weights, from->weights, from->n_weights, a) &&
		copy_shapes(&to->consts, from->consts, from->n_consts, a);
}

static pm_code
copy_slim(const pm_skeleton *s, const int32_t *place, pm_arena *a, pm_graph *g, pm_skeleton *slim, pm_status *st)
{
	g->nodes = PM_NEW(a, pm_node, g->n_nodes);
	g->name = s->graph->name ? pm_strdup(a, s->graph->name, strlen(s->graph->name)) : NULL;
	slim->node = PM_NEW(a, int32_t, s->n);
	slim->copies = PM_NEW(a, double, s->n);
	if (!g->nodes || (s->graph->name && !g->name) || !slim->node || !slim->copies)
		return pm_no_memory(st, a);
	for (int i = 0; i < s->graph->n_nodes; i++)
		if (place[i] >= 0 && !copy_node(&g->nodes[place[i]], &s->graph->nodes[i], place, place[i] < s->n, a))
			return pm_no_memory(st, a);
	for (int i = 0; i < s->n; i++)
	{
		slim->node[i] = place[s->node[i]];
		slim->copies[i] = s->copies[i];
	}
	return PM_OK;
}

pm_code
pm_skeleton_slim(const pm_skeleton *s, pm_arena *a, pm_graph *g, pm_skeleton *slim, pm_status *st)
{
	pm_arena	scratch;
	int32_t    *place;
	pm_code		rc;

	pm_arena_init_within(&scratch, a);
	place = PM_NEW(&scratch, int32_t, s->graph->n_nodes);
	if (!place)
		return pm_no_memory(st, &scratch);
	*g = *s->graph;
	g->model = g->family = g->source = "";
	g->text = NULL;
	g->n_nodes = choose_nodes(s, place);
	*slim = (pm_skeleton) {.graph = g, .n = s->n, .dag.n = s->dag.n};
	rc = copy_slim(s, place, a, g, slim, st);
	pm_arena_release(&scratch);
	return rc;
}
