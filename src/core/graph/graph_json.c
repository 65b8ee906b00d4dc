/*
 * graph_json.c - reader of perfmodel-graph/1.
 *
 * The text is read twice.  The first pass checks that the whole of it is JSON
 * and notes where the values of the top-level keys lie, because their order is
 * not ours to choose: a document that went through jsonb has "nodes" ahead of
 * "format".  The second pass reads the known values; unknown keys are stepped
 * over.  Everything kept is in the caller's arena; strings are copied.
 */
#include "graph/graph_json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/graph_finish.h"
#include "graph/json_reader.h"

#define FORMAT			"perfmodel-graph/1"
#define NAME_CACHE		64
#define LIST_MAX		PM_MAX_RANK /* of which pads take 2 * PM_MAX_SPATIAL */

static_assert(PM_JSON_MAX_STRING == PM_MAX_NAME_LEN, "names are as long as strings may be");

/* State of one import. */
typedef struct reader
{
	pm_json		json;
	int			n_nodes;
	int64_t		n_edges;		/* inputs read so far */
	const char *names[NAME_CACHE];	/* recent names of operators and modules, by hash */
} reader;

/* A shape: an array of at most PM_MAX_RANK whole numbers in [0, PM_MAX_DIM]. */
static bool
read_shape(pm_json *r, const char *key, pm_shape *s)
{
	int			n = 0;
	int			more;

	if (pm_json_peek(r) != '[')
		return pm_json_bad(r, PM_ERR_INPUT, key, pm_json_peek(r) == 'n' ? "has no shape" : "is not an array of dimensions");
	r->p++;
	while ((more = pm_json_next_element(r, ']', &n)) > 0)
	{
		int64_t		dim = 0;

		if (n > PM_MAX_RANK)
			return pm_json_bad(r, PM_ERR_LIMIT, key, "has more than %d dimensions", PM_MAX_RANK);
		if (!pm_json_int(r, key, &dim))
			return false;
		if (dim < 0 || dim > PM_MAX_DIM)
			return pm_json_bad(r, PM_ERR_LIMIT, key, "has dimension %lld, but dimensions lie between 0 and 2^40", (long long) dim);
		s->dim[n - 1] = dim;
	}
	s->rank = n;
	return more == 0;
}

/* An array of shapes; errors name the element. */
static bool
read_shapes(pm_json *r, const char *key, int *n_shapes, pm_shape **shapes)
{
	char		name[PM_JSON_KEY_SIZE + 16];
	int			count;
	int			more;
	int			n = 0;

	if (pm_json_peek(r) != '[')
		return pm_json_bad(r, PM_ERR_INPUT, key, "is not an array of shapes");
	if (!pm_json_count(r, &count))
		return false;
	*n_shapes = count;
	*shapes = count == 0 ? NULL : PM_NEW_PACKED(r->arena, pm_shape, (size_t) count);
	if (count > 0 && *shapes == NULL)
		return pm_json_no_memory(r);
	r->p++;
	while ((more = pm_json_next_element(r, ']', &n)) > 0)
	{
		snprintf(name, sizeof(name), "%s[%d]", key, n - 1);
		if (!read_shape(r, name, &(*shapes)[n - 1]))
			return false;
	}
	return more == 0;
}

/* ---------- attributes ---------- */

/* A short list of whole numbers as it came: n may exceed what v holds. */
typedef struct int_list
{
	bool		odd;			/* there was something else in it */
	int			n;
	int64_t		v[LIST_MAX];
	double		first;			/* whole or not; NaN: no number */
} int_list;

typedef struct attr_lists
{
	int_list	kernel,
				stride,
				pad,
				dilation,
				alpha,
				perm;
} attr_lists;

/* A list, or a bare number for a list of one. Other contents only make it odd: they may be none of ours. */
static bool
read_list(pm_json *r, int_list *l)
{
	int			more;
	bool		bare = pm_json_peek(r) != '[';

	l->n = 0;
	if (pm_json_peek(r) == 'n')
		return pm_json_literal(r, "null");
	if (!bare)
		r->p++;
	while ((more = bare ? l->n++ == 0 : pm_json_next_element(r, ']', &l->n)) > 0)
	{
		char		c = pm_json_peek(r);
		pm_json_number		num = {.exact = false, .i = 0, .d = NAN};

		if (c == '-' || (c >= '0' && c <= '9') ? !pm_json_number_at(r, &num) : !pm_json_skip(r, 0))
			return false;
		l->odd |= !num.exact;
		if (l->n == 1)
			l->first = num.d;
		if (l->n <= LIST_MAX)
			l->v[l->n - 1] = num.i;
	}
	if (bare)
		l->n = 1;
	return more == 0;
}

/* An integer attribute; null is the same as absent. */
static bool
read_attr_int(pm_json *r, const char *key, int64_t *value)
{
	if (pm_json_peek(r) == 'n')
		return pm_json_literal(r, "null");
	return pm_json_int(r, key, value);
}

/* true, false, or a number, which is true unless it is 0. */
static bool
read_attr_flag(pm_json *r, const char *key, bool *value)
{
	char		c = pm_json_peek(r);
	int64_t		number = *value;

	if (c == 't' || c == 'f')
		return pm_json_bool(r, key, value);
	if (!read_attr_int(r, key, &number))
		return false;
	*value = number != 0;
	return true;
}

static bool
read_direction(pm_json *r, bool *bidirectional)
{
	char		buf[PM_MAX_NAME_LEN + 8];

	if (!pm_json_string(r, "attrs.direction", buf))
		return false;
	*bidirectional = strcmp(buf, "bidirectional") == 0;
	return true;
}

/* One attribute. Those that the catalogue does not use are stepped over. */
static bool
read_attr(pm_json *r, const char *key, pm_attrs *a, attr_lists *l)
{
	if (strcmp(key, "kernel_shape") == 0)
		return read_list(r, &l->kernel);
	if (strcmp(key, "strides") == 0)
		return read_list(r, &l->stride);
	if (strcmp(key, "pads") == 0)
		return read_list(r, &l->pad);
	if (strcmp(key, "dilations") == 0)
		return read_list(r, &l->dilation);
	if (strcmp(key, "group") == 0)
		return read_attr_int(r, "attrs.group", &a->group);
	if (strcmp(key, "axis") == 0)
		return read_attr_int(r, "attrs.axis", &a->axis);
	if (strcmp(key, "hidden_size") == 0)
		return read_attr_int(r, "attrs.hidden_size", &a->hidden_size);
	if (strcmp(key, "num_layers") == 0)
		return read_attr_int(r, "attrs.num_layers", &a->num_layers);
	if (strcmp(key, "num_heads") == 0)
		return read_attr_int(r, "attrs.num_heads", &a->num_heads);
	if (strcmp(key, "is_causal") == 0)
		return read_attr_flag(r, "attrs.is_causal", &a->is_causal);
	if (strcmp(key, "frozen") == 0)
		return read_attr_flag(r, "attrs.frozen", &a->frozen);
	if (strcmp(key, "plain") == 0)
		return read_attr_flag(r, "attrs.plain", &a->plain);
	if (strcmp(key, "alpha") == 0 || strcmp(key, "values") == 0)
		return read_list(r, &l->alpha);
	if (strcmp(key, "perm") == 0)
		return read_list(r, &l->perm);
	if (strcmp(key, "tied") == 0)
		return read_attr_int(r, "attrs.tied", &a->tied);
	if (strcmp(key, "direction") == 0)
		return read_direction(r, &a->bidirectional);
	if (strcmp(key, "bidirectional") == 0)
		return pm_json_bool(r, "attrs.bidirectional", &a->bidirectional);
	if (strcmp(key, "requires_grad") == 0)
		return pm_json_bool(r, "attrs.requires_grad", &a->requires_grad);
	return pm_json_skip(r, 0);
}

/*
 * Spread a list over the kernel's dimensions: one value each, one for all, or
 * (pads) two each, begins first, of which the mean is kept.
 */
static bool
spread(pm_json *r, const char *key, const int_list *l, int spatial, int64_t *out)
{
	if (l->n == 0)
		return true;			/* the default stays */
	if (l->odd)
		return pm_json_bad(r, PM_ERR_INPUT, key, "is not a list of whole numbers");
	if (l->n != 1 && l->n != spatial && !(l->n == 2 * spatial && strcmp(key, "attrs.pads") == 0))
		return pm_json_bad(r, PM_ERR_INPUT, key, "has %d values for %d kernel dimensions", l->n, spatial);
	for (int i = 0; i < spatial; i++)
	{
		int64_t		v = l->v[l->n == 1 ? 0 : i];

		if (v < 0 || v > PM_MAX_DIM)
			return pm_json_bad(r, PM_ERR_LIMIT, key, "has value %lld, but values lie between 0 and 2^40", (long long) v);
		if (l->n == 2 * spatial && l->n > 1 && strcmp(key, "attrs.pads") == 0)
		{
			int64_t		last = l->v[spatial + i];

			if (last < 0 || last > PM_MAX_DIM)
				return pm_json_bad(r, PM_ERR_LIMIT, key, "has value %lld, but values lie between 0 and 2^40", (long long) last);
			v = (v + last + 1) / 2;
		}
		out[i] = v;
	}
	return true;
}

/* A list that is no permutation is none of ours: how the tensor lies is then not known. */
static void
apply_perm(pm_attrs *a, const int_list *l)
{
	unsigned	seen = 0;

	if (l->odd || l->n > PM_MAX_RANK)
		return;
	for (int i = 0; i < l->n; i++)
	{
		if (l->v[i] < 0 || l->v[i] >= l->n)
			return;
		seen |= 1u << l->v[i];
		a->perm[i] = (uint8_t) l->v[i];
	}
	if (seen == (1u << l->n) - 1)
		a->n_perm = l->n;
}

/* Strides and the like mean something only next to a kernel; Pad's pads are another thing. */
static bool
apply_lists(pm_json *r, pm_attrs *a, const attr_lists *l)
{
	int			spatial = l->kernel.n;

	if (l->alpha.n > 0 && isfinite(l->alpha.first))
		a->alpha = l->alpha.first;
	apply_perm(a, &l->perm);
	if (spatial == 0)
		return true;
	if (spatial > PM_MAX_SPATIAL)
		return pm_json_bad(r, PM_ERR_LIMIT, "attrs.kernel_shape", "has more than %d dimensions", PM_MAX_SPATIAL);
	a->spatial = spatial;
	return spread(r, "attrs.kernel_shape", &l->kernel, spatial, a->kernel) &&
		spread(r, "attrs.strides", &l->stride, spatial, a->stride) &&
		spread(r, "attrs.pads", &l->pad, spatial, a->pad) &&
		spread(r, "attrs.dilations", &l->dilation, spatial, a->dilation);
}

static bool
read_attrs(reader *d, pm_node *node)
{
	pm_json    *r = &d->json;
	attr_lists	lists;
	char		key[PM_JSON_KEY_SIZE];
	int			n = 0;
	int			more;

	if (pm_json_peek(r) != '{')
		return pm_json_bad(r, PM_ERR_INPUT, "attrs", "is not an object");
	memset(&lists, 0, sizeof(lists));
	node->attrs_at = (size_t) (r->p - r->text);
	r->p++;
	while ((more = pm_json_next_key(r, &n, key)) > 0)
		if (!read_attr(r, key, &node->attrs, &lists))
			return false;
	node->attrs_len = (size_t) (r->p - r->text) - node->attrs_at;
	return more == 0 && apply_lists(r, &node->attrs, &lists);
}

/* ---------- nodes ---------- */

static bool
read_id(reader *d, pm_node *node)
{
	pm_json    *r = &d->json;
	int64_t		id = 0;

	(void) node;
	if (!pm_json_int(r, "id", &id))
		return false;
	if (id == r->node)
		return true;
	pm_json_bad(r, PM_ERR_INPUT, "id", "is %lld, but ids must be dense from 0, in order", (long long) id);
	pm_detail(r->st, "The entry at position %d of \"nodes\" must have the id %d.", r->node, r->node);
	return false;
}

/* Names of operators and modules repeat; a small cache by hash keeps most copies out of the arena. */
static bool
read_name(reader *d, const char *key, const char **name)
{
	char		buf[PM_JSON_MAX_STRING + 8];
	size_t		len;
	const char **slot;

	if (!pm_json_string(&d->json, key, buf))
		return false;
	len = strlen(buf);
	slot = &d->names[pm_mix(pm_hash(PM_HASH_INIT, buf, len)) % NAME_CACHE];
	if (*slot == NULL || strcmp(*slot, buf) != 0)
		*slot = pm_strdup(d->json.arena, buf, len);
	*name = *slot;
	return *slot != NULL || pm_json_no_memory(&d->json);
}

static bool
read_op(reader *d, pm_node *node)
{
	return read_name(d, "op", &node->op_name);
}

static bool
read_module(reader *d, pm_node *node)
{
	return read_name(d, "module", &node->module);
}

static bool
read_input(reader *d, int32_t *input)
{
	pm_json    *r = &d->json;
	int64_t		id = 0;

	if (!pm_json_int(r, "inputs", &id))
		return false;
	if (id >= 0 && id < r->node)
	{
		*input = (int32_t) id;
		return true;
	}
	if (id < 0 || id >= d->n_nodes)
		return pm_json_bad(r, PM_ERR_INPUT, "inputs", "names node %lld, which does not exist", (long long) id);
	pm_json_bad(r, PM_ERR_INPUT, "inputs", "names node %lld, which does not come before it", (long long) id);
	pm_hint(r->st, "Give the nodes in an order in which producers come before consumers; a graph with a cycle has none.");
	return false;
}

static bool
read_inputs(reader *d, pm_node *node)
{
	pm_json    *r = &d->json;
	int			more;
	int			n = 0;

	if (pm_json_peek(r) != '[')
		return pm_json_bad(r, PM_ERR_INPUT, "inputs", "is not an array of node ids");
	if (!pm_json_count(r, &node->n_inputs))
		return false;
	d->n_edges += node->n_inputs;
	if (d->n_edges > PM_MAX_EDGES)
		return pm_json_bad(r, PM_ERR_LIMIT, "inputs", "makes more than %d inputs in the whole graph", PM_MAX_EDGES);
	if (node->n_inputs > 0)
		node->inputs = PM_NEW_PACKED(r->arena, int32_t, (size_t) node->n_inputs);
	if (node->n_inputs > 0 && node->inputs == NULL)
		return pm_json_no_memory(r);
	r->p++;
	while ((more = pm_json_next_element(r, ']', &n)) > 0)
		if (!read_input(d, &node->inputs[n - 1]))
			return false;
	return more == 0;
}

static bool
read_batch_dim(reader *d, pm_node *node)
{
	pm_json    *r = &d->json;
	int64_t		dim = 0;

	node->batch_dim = -1;
	if (pm_json_peek(r) == 'n')
		return pm_json_literal(r, "null");
	if (!pm_json_int(r, "batch_dim", &dim))
		return false;
	if (dim < 0 || dim >= PM_MAX_RANK)
		return pm_json_bad(r, PM_ERR_INPUT, "batch_dim", "is %lld, but must be null or an index in \"shape\"",
				   (long long) dim);
	node->batch_dim = (int) dim;
	return true;
}

static bool
read_node_shape(reader *d, pm_node *n)
{
	return read_shape(&d->json, "shape", &n->shape);
}

static bool
read_node_shapes(reader *d, pm_node *n)
{
	return read_shapes(&d->json, "shapes", &n->n_shapes, &n->shapes);
}

static bool
read_weights(reader *d, pm_node *n)
{
	return read_shapes(&d->json, "weights", &n->n_weights, &n->weights);
}

static bool
read_consts(reader *d, pm_node *n)
{
	return read_shapes(&d->json, "consts", &n->n_consts, &n->consts);
}

static bool
read_view(reader *d, pm_node *n)
{
	return pm_json_bool(&d->json, "view", &n->view);
}

static bool
read_flops(reader *d, pm_node *n)
{
	return pm_json_not_negative(&d->json, "flops", &n->flops);
}

static bool
read_flops0(reader *d, pm_node *n)
{
	return pm_json_not_negative(&d->json, "flops0", &n->flops0);
}

static const struct node_key
{
	const char *key;
	bool		required;
	bool		(*read) (reader *d, pm_node *n);
}			node_keys[] =
{
	{"id", true, read_id},
	{"op", true, read_op},
	{"inputs", true, read_inputs},
	{"shape", true, read_node_shape},
	{"batch_dim", true, read_batch_dim},
	{"attrs", false, read_attrs},
	{"weights", false, read_weights},
	{"consts", false, read_consts},
	{"view", false, read_view},
	{"flops", false, read_flops},
	{"flops0", false, read_flops0},
	{"shapes", false, read_node_shapes},
	{"module", false, read_module},
};

#define N_NODE_KEYS ((int) (sizeof(node_keys) / sizeof(node_keys[0])))

static_assert(sizeof(node_keys) / sizeof(node_keys[0]) <= 32, "read_node has a bit for each key");

static bool
read_node(reader *d, pm_node *node)
{
	pm_json    *r = &d->json;
	char		key[PM_JSON_KEY_SIZE];
	unsigned	seen = 0;
	int			n = 0;
	int			k;
	int			more;

	if (pm_json_peek(r) != '{')
	{
		r->code = pm_fail(r->st, PM_ERR_INPUT, "node %d is not an object", r->node);
		return false;
	}
	pm_node_init(node);
	r->p++;
	while ((more = pm_json_next_key(r, &n, key)) > 0)
	{
		for (k = 0; k < N_NODE_KEYS && strcmp(node_keys[k].key, key) != 0; k++)
			;
		if (k < N_NODE_KEYS && (seen & 1u << k) != 0)
			return pm_json_bad(r, PM_ERR_INPUT, key, "is given twice");
		if (k < N_NODE_KEYS ? !node_keys[k].read(d, node) : !pm_json_skip(r, 0))
			return false;
		if (k < N_NODE_KEYS)
			seen |= 1u << k;
	}
	for (k = 0; more == 0 && k < N_NODE_KEYS; k++)
		if (node_keys[k].required && (seen & 1u << k) == 0)
			return pm_json_bad(r, PM_ERR_INPUT, node_keys[k].key, "is missing");
	return more == 0;
}

static bool
read_nodes(reader *d, pm_graph *g)
{
	pm_json    *r = &d->json;
	int			more;
	int			n = 0;

	if (pm_json_peek(r) != '[')
		return pm_json_bad(r, PM_ERR_INPUT, "nodes", "is not an array");
	if (!pm_json_count(r, &d->n_nodes))
		return false;
	if (d->n_nodes == 0)
		return pm_json_bad(r, PM_ERR_INPUT, "nodes", "is empty");
	if (d->n_nodes > PM_MAX_NODES)
		return pm_json_bad(r, PM_ERR_LIMIT, "nodes", "has %d nodes, but %d are the limit", d->n_nodes, PM_MAX_NODES);
	g->n_nodes = d->n_nodes;
	g->nodes = PM_NEW(r->arena, pm_node, (size_t) d->n_nodes);
	if (g->nodes == NULL)
		return pm_json_no_memory(r);
	r->p++;
	while ((more = pm_json_next_element(r, ']', &n)) > 0)
	{
		r->node = n - 1;
		if (!read_node(d, &g->nodes[n - 1]))
			return false;
	}
	r->node = -1;
	return more == 0;
}

/* ---------- the document ---------- */

/* The top-level keys, in the order in which they are read. */
enum
{
	KEY_FORMAT, KEY_NAME, KEY_MODEL, KEY_FAMILY, KEY_SOURCE, KEY_INPUT, KEY_PARAMS, KEY_NODES, KEY_OUTPUT, N_KEYS
};

static const char *const top_keys[N_KEYS] = {
	"format", "name", "model", "family", "source", "input", "params", "nodes", "output"
};

/* First pass: the whole text is JSON; at[k] is where the value of key k starts, or NULL. */
static bool
scan_document(reader *d, const char *at[N_KEYS])
{
	pm_json    *r = &d->json;
	char		key[PM_JSON_KEY_SIZE];
	int			n = 0;
	int			k;
	int			more;

	if (pm_json_peek(r) != '{')
	{
		if (pm_json_skip(r, 0))
			r->code = pm_fail(r->st, PM_ERR_INPUT, "graph is not a JSON object");
		return false;
	}
	r->p++;
	while ((more = pm_json_next_key(r, &n, key)) > 0)
	{
		for (k = 0; k < N_KEYS && strcmp(top_keys[k], key) != 0; k++)
			;
		if (k < N_KEYS && at[k] != NULL)
			return pm_json_bad(r, PM_ERR_INPUT, key, "is given twice");
		if (k < N_KEYS)
			at[k] = r->p;
		if (!pm_json_skip(r, 1))
			return false;
	}
	if (more == 0 && pm_json_peek(r) != '\0')
		return pm_json_syntax(r, "something follows the graph");
	return more == 0 && (r->p == r->end || pm_json_syntax(r, "something follows the graph"));
}

static bool
check_format(reader *d)
{
	pm_json    *r = &d->json;
	const char *format;

	if (!pm_json_text(r, "format", &format))
		return false;
	if (strcmp(format, FORMAT) == 0)
		return true;
	r->code = pm_fail(r->st, PM_ERR_INPUT, "graph has the unknown \"format\" \"%s\"", format);
	pm_hint(r->st, "This version reads \"" FORMAT "\".");
	return false;
}

static bool
read_output(reader *d, pm_graph *g)
{
	pm_json    *r = &d->json;
	int64_t		id = 0;

	if (!pm_json_int(r, "output", &id))
		return false;
	if (id < 0 || id >= d->n_nodes)
		return pm_json_bad(r, PM_ERR_INPUT, "output", "names node %lld, which does not exist", (long long) id);
	g->output = (int) id;
	return true;
}

static bool
read_top(reader *d, pm_graph *g, int k)
{
	pm_json    *r = &d->json;
	switch (k)
	{
		case KEY_FORMAT:
			return check_format(d);
		case KEY_NAME:
			return pm_json_text(r, "name", &g->name);
		case KEY_MODEL:
			return pm_json_text(r, "model", &g->model);
		case KEY_FAMILY:
			return pm_json_text(r, "family", &g->family);
		case KEY_SOURCE:
			return pm_json_text(r, "source", &g->source);
		case KEY_INPUT:
			return read_shape(r, "input", &g->input);
		case KEY_PARAMS:
			return pm_json_not_negative(r, "params", &g->declared_params);
		case KEY_NODES:
			return read_nodes(d, g);
		default:
			return read_output(d, g);
	}
}

/* What is wrong with the document as a whole is told with the form that it should have. */
static pm_code
refuse(const reader *d, bool whole)
{
	if (whole && d->json.code == PM_ERR_INPUT && d->json.node < 0 && d->json.st != NULL && d->json.st->hint[0] == '\0')
		pm_hint(d->json.st, "A graph is {\"format\": \"" FORMAT "\", \"name\": \"mynet@224\", \"nodes\": [...]}, as perfmodel_tools export writes it.");
	return d->json.code;
}

pm_code
pm_graph_from_json(const char *text, size_t len, pm_arena *a, pm_graph *g, pm_status *st)
{
	reader		d = {.json = {.text = text,.p = text,.end = text + len,.arena = a,.st = st,.node = -1}};
	const char *at[N_KEYS] = {NULL};
	bool		is_object;

	memset(g, 0, sizeof(*g));
	g->model = "";
	g->source = "";
	g->text = text;
	g->output = -1;
	g->declared_params = NAN;
	is_object = pm_json_peek(&d.json) == '{';
	if (!scan_document(&d, at))
		return refuse(&d, !is_object);
	for (int k = 0; k < N_KEYS; k++)
	{
		if (at[k] == NULL && (k == KEY_FORMAT || k == KEY_NODES))
		{
			pm_json_bad(&d.json, PM_ERR_INPUT, top_keys[k], "is missing");
			return refuse(&d, true);
		}
		d.json.p = at[k];
		if (at[k] != NULL && !read_top(&d, g, k))
			return refuse(&d, k == KEY_FORMAT || k == KEY_NODES);
	}
	return pm_graph_finish(g, a, st);
}

pm_code
pm_attrs_from_json(pm_graph *g, int node, pm_arena *a, pm_status *st)
{
	pm_node    *n = &g->nodes[node];
	const char *text = g->text + n->attrs_at;
	reader		d = {.json = {.text = g->text,.p = text,.end = text + n->attrs_len,.arena = a,.st = st,.node = node}};

	return read_attrs(&d, n) ? PM_OK : d.json.code;
}
