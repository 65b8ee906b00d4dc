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

#include "graph/graph_attrs.h"
#include "graph/graph_finish.h"
#include "graph/json_reader.h"

#define FORMAT			"perfmodel-graph/1"
#define NAME_CACHE		64

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

static bool
read_attrs(reader *d, pm_node *n)
{
	return pm_read_attrs(&d->json, n);
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
