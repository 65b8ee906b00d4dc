/*
 * to_graph.c - makes one graph from two walks over a model.
 *
 * A dimension that differs between the two batch sizes is proportional to the
 * batch; its value at batch 1 lies on the line through both.
 */
#include "import/onnx/to_graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/graph_finish.h"
#include "graph/graph_attrs.h"
#include "graph/text.h"

typedef struct builder
{
	ox_model   *m;
	const ox_run *a;
	const ox_run *b;
	int32_t    *number;			/* [n_ops] id in the graph, -1: left out */
	pm_graph   *g;
	pm_text		attrs;			/* of all nodes, one after the other */
	bool		failed;
} builder;

static void
no_memory(builder *w)
{
	if (!w->failed)
		pm_no_memory(w->m->st, w->m->arena);
	w->failed = true;
}

/* ---------- from two batches to one ---------- */

static void
bad_batch(builder *w, const ox_op *op, const char *fmt,...) PM_PRINTF(3, 4);
static void
bad_batch(builder *w, const ox_op *op, const char *fmt,...)
{
	char		what[160];
	va_list		args;

	if (w->failed)
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	w->failed = true;
	ox_fail(w->m, op->from, "%s", what);
	pm_hint(w->m->st, "Every shape must have at most one dimension that is proportional to the batch.");
}

/* The value at batch 1 of what is x and y in the two walks. */
static int64_t
at_one(builder *w, const ox_op *op, int64_t x, int64_t y)
{
	int64_t		apart = w->b->batch - w->a->batch;
	int64_t		slope = (y - x) / apart;

	if ((y - x) % apart != 0)
		bad_batch(w, op, "its shape does not grow evenly with the batch");
	return x - slope * (w->a->batch - 1);
}

static pm_shape
shape_at_one(builder *w, const ox_op *op, const pm_shape *x, const pm_shape *y)
{
	pm_shape	s = {.rank = x->rank};

	if (x->rank != y->rank)
		bad_batch(w, op, "its result has %d dimensions at one batch size and %d at another", x->rank, y->rank);
	for (int i = 0; i < s.rank && !w->failed; i++)
		s.dim[i] = at_one(w, op, x->dim[i], y->dim[i]);
	return s;
}

/* The dimension that follows the batch, -1: none. */
static int
batch_dim(builder *w, const ox_op *op, const pm_shape *x, const pm_shape *y)
{
	int			found = -1;

	for (int i = 0; i < x->rank && i < y->rank; i++)
	{
		if (x->dim[i] == y->dim[i])
			continue;
		if (found >= 0)
			bad_batch(w, op, "dimensions %d and %d of its result both follow the batch", found, i);
		else if (x->dim[i] % w->a->batch != 0 || x->dim[i] / w->a->batch != y->dim[i] / w->b->batch ||
				 y->dim[i] % w->b->batch != 0)
			bad_batch(w, op, "dimension %d of its result is %lld at batch %lld and %lld at batch %lld", i,
					  (long long) x->dim[i], (long long) w->a->batch, (long long) y->dim[i], (long long) w->b->batch);
		found = i;
	}
	return found;
}

/* n shapes at batch 1 in the arena; NULL for none. */
static pm_shape *
shapes_at_one(builder *w, const ox_op *op, const char *key, int n, const pm_shape *x, int n_y, const pm_shape *y)
{
	pm_shape   *s = n > 0 ? PM_NEW_PACKED(w->m->arena, pm_shape, (size_t) n) : NULL;

	if (n != n_y)
		bad_batch(w, op, "it has %d \"%s\" at one batch size and %d at another", n, key, n_y);
	else if (n > 0 && s == NULL)
		no_memory(w);
	for (int i = 0; i < n && !w->failed; i++)
		s[i] = shape_at_one(w, op, &x[i], &y[i]);
	return s;
}

/* ---------- one node ---------- */

/* Printable ASCII only, at most 63 bytes. */
static const char *
kept_name(builder *w, const char *s)
{
	char		buf[64];
	const char *name;

	ox_shown(s, buf);
	name = pm_strdup(w->m->arena, buf, strlen(buf));
	if (name == NULL)
		no_memory(w);
	return name;
}

/*
 * The path of the module that runs a node, out of the scopes in its name:
 * PyTorch writes "/layer1/layer1.0/conv1/Conv" for an operator of
 * layer1.0.conv1, where a scope that begins with the one before it takes its
 * place.  The length, 0 when the name has no scopes or they are too long.
 */
static size_t
module_path(const char *name, char *path, size_t size)
{
	const char *last = strrchr(name, '/');
	size_t		len = 0;
	size_t		before = 0;		/* length of the scope before */

	while (last != NULL && name < last)
	{
		size_t		n = strcspn(name, "/");

		if (n > before && before > 0 && name[before] == '.' && memcmp(path + len - before, name, before) == 0)
			len -= before;
		else if (n > 0 && len > 0)
			path[len++] = '.';
		if (len + n + 2 > size)
			return 0;
		for (size_t i = 0; i < n; i++)
			path[len++] = name[i] >= ' ' && name[i] < 127 ? name[i] : '?';
		before = n > 0 ? n : before;
		name += n + 1;
	}
	path[len] = '\0';
	return len;
}

static const char *
module_of(builder *w, const ox_op *op)
{
	char		path[PM_MAX_NAME_LEN + 1];
	size_t		len = op->from == NULL || op->from->name == NULL ? 0 : module_path(op->from->name, path, sizeof(path));
	const char *module = len == 0 ? NULL : pm_strdup(w->m->arena, path, len);

	if (len > 0 && module == NULL)
		no_memory(w);
	return module;
}

static void
put_key(builder *w, const ox_op *op, const ox_key *x, const ox_key *y)
{
	pm_text    *t = &w->attrs;
	char		buf[64];

	pm_text_printf(t, "\"%s\":", x->key);
	if (x->text != NULL)
		pm_text_printf(t, "\"%s\"", ox_shown(x->text, buf));
	else if (x->n == -1)
		pm_text_printf(t, "%.6g", x->real);
	else if (x->n == -2)
		pm_text_printf(t, "%lld", (long long) at_one(w, op, x->v[0], y->v[0]));
	else
	{
		pm_text_put(t, "[", 1);
		for (int i = 0; i < x->n; i++)
			if (x->reals != NULL)
				pm_text_printf(t, i ? ",%.6g" : "%.6g", x->reals[i]);
			else
				pm_text_printf(t, i ? ",%lld" : "%lld", (long long) at_one(w, op, x->v[i], y->v[i]));
		pm_text_put(t, "]", 1);
	}
}

static bool
same_keys(const ox_op *x, const ox_op *y)
{
	if (x->n_keys != y->n_keys)
		return false;
	for (int i = 0; i < x->n_keys; i++)
		if (strcmp(x->keys[i].key, y->keys[i].key) != 0 || x->keys[i].n != y->keys[i].n)
			return false;
	return true;
}

static void
put_attrs(builder *w, const ox_op *x, const ox_op *y, pm_node *n)
{
	if (x->n_keys == 0 || !same_keys(x, y))
		return;
	n->attrs_at = w->attrs.len;
	pm_text_put(&w->attrs, "{", 1);
	for (int i = 0; i < x->n_keys; i++)
	{
		if (i > 0)
			pm_text_put(&w->attrs, ",", 1);
		put_key(w, x, &x->keys[i], &y->keys[i]);
	}
	pm_text_put(&w->attrs, "}", 1);
	n->attrs_len = w->attrs.len - n->attrs_at;
	if (w->attrs.no_memory)
		no_memory(w);
}

static void
make_node(builder *w, const ox_op *x, const ox_op *y, pm_node *n)
{
	pm_node_init(n);
	n->op_name = kept_name(w, x->name);
	n->module = module_of(w, x);
	n->n_inputs = x->n_inputs;
	n->inputs = x->n_inputs > 0 ? PM_NEW_PACKED(w->m->arena, int32_t, (size_t) x->n_inputs) : NULL;
	if (x->n_inputs > 0 && n->inputs == NULL)
		no_memory(w);
	for (int i = 0; i < x->n_inputs && !w->failed; i++)
		n->inputs[i] = w->number[x->inputs[i]];
	n->shape = shape_at_one(w, x, &x->shape, &y->shape);
	n->batch_dim = batch_dim(w, x, &x->shape, &y->shape);
	n->n_shapes = x->n_shapes;
	n->shapes = shapes_at_one(w, x, "shapes", x->n_shapes, x->shapes, y->n_shapes, y->shapes);
	n->n_weights = x->n_weights;
	n->weights = shapes_at_one(w, x, "weights", x->n_weights, x->weights, y->n_weights, y->weights);
	n->n_consts = x->n_consts;
	n->consts = shapes_at_one(w, x, "consts", x->n_consts, x->consts, y->n_consts, y->consts);
	put_attrs(w, x, y, n);
	n->view = x->view;
}

static bool
same_op(const ox_op *x, const ox_op *y)
{
	return strcmp(x->name, y->name) == 0 && x->n_inputs == y->n_inputs && x->view == y->view &&
		(x->n_inputs == 0 || memcmp(x->inputs, y->inputs, sizeof(int32_t) * (size_t) x->n_inputs) == 0);
}

/* ---------- the graph ---------- */

/* Number what an output depends on, and the inputs; the id of the first output's node, or -1. */
static int
number_ops(builder *w)
{
	const ox_run *r = w->a;
	int			count = 0;
	int			output = -1;
	bool		any = false;

	for (int i = 0; i < r->n_ops; i++)
		w->number[i] = strcmp(r->ops[i].name, "Input") == 0 ? 0 : -1;
	for (int k = 0; k < w->m->n_values; k++)
		if (w->m->values[k].is_output && r->values[k].origin == OX_NODE)
		{
			w->number[r->values[k].node] = 0;
			output = output < 0 ? r->values[k].node : output;
			any = true;
		}
	for (int i = r->n_ops - 1; i >= 0; i--)
		for (int k = 0; k < r->ops[i].n_inputs && (w->number[i] == 0 || !any); k++)
			w->number[r->ops[i].inputs[k]] = 0;
	for (int i = 0; i < r->n_ops; i++)
		if (w->number[i] == 0 || !any)
			w->number[i] = count++;
	w->g->n_nodes = count;
	return output < 0 ? -1 : w->number[output];
}

static void
set_head(builder *w)
{
	pm_graph   *g = w->g;
	char		source[128];
	char		buf[64];

	memset(g, 0, sizeof(*g));
	g->output = number_ops(w);
	g->model = "";
	if (w->m->options->name == NULL && w->m->graph_name[0] != '\0')
		g->name = kept_name(w, w->m->graph_name);
	snprintf(source, sizeof(source), "onnx opset %d, %s", w->m->opset, ox_shown(w->m->producer, buf));
	g->source = pm_strdup(w->m->arena, source, strlen(source));
	g->declared_params = w->a->params;
	if (w->a->n_ops > 0)
		g->input = shape_at_one(w, &w->a->ops[0], &w->a->ops[0].shape, &w->b->ops[0].shape);
	g->nodes = PM_NEW(w->m->arena, pm_node, (size_t) g->n_nodes);
	if (g->source == NULL || (g->nodes == NULL && g->n_nodes > 0))
		no_memory(w);
}

static pm_code
make_nodes(builder *w)
{
	for (int i = 0; i < w->a->n_ops && !w->failed; i++)
	{
		if (ox_stopped(w->m))
			return PM_CANCELLED;
		if (w->number[i] < 0)
			continue;
		if (!same_op(&w->a->ops[i], &w->b->ops[i]))
			bad_batch(w, &w->a->ops[i], "another operator runs at another batch size");
		make_node(w, &w->a->ops[i], &w->b->ops[i], &w->g->nodes[w->number[i]]);
	}
	return w->failed ? w->m->st->code : PM_OK;
}

/* What the attributes mean, by the rules of documents. */
static pm_code
read_attrs(builder *w)
{
	w->g->text = w->attrs.s;
	for (int i = 0; i < w->g->n_nodes; i++)
	{
		pm_code		code = w->g->nodes[i].attrs_len == 0 ? PM_OK : pm_attrs_from_json(w->g, i, w->m->arena, w->m->st);

		if (code != PM_OK)
			return code;
	}
	return PM_OK;
}

pm_code
ox_to_graph(ox_model *m, const ox_run *a, const ox_run *b, pm_graph *g)
{
	builder		w = {.m = m, .a = a, .b = b, .g = g, .attrs = {.arena = m->arena}};
	pm_code		code;

	w.number = PM_NEW(m->arena, int32_t, (size_t) a->n_ops + 1);
	if (w.number == NULL)
		return pm_no_memory(m->st, m->arena);
	if (a->n_ops != b->n_ops)
		return pm_fail(m->st, PM_ERR_INPUT, "model runs other operators at batch %lld than at batch %lld",
					   (long long) b->batch, (long long) a->batch);
	set_head(&w);
	code = make_nodes(&w);
	if (code == PM_OK)
		code = read_attrs(&w);
	return code == PM_OK ? pm_graph_finish(g, m->arena, m->st) : code;
}
