/*
 * decode.c - from reduced bytes to values and nodes by number.
 */
#include "import/onnx/decode.h"

#include <string.h>

#include "import/onnx/elements.h"
#include "import/onnx/rules.h"
#include "import/onnx/wire.h"

/* ---------- values by name ---------- */

static pm_code
check_tensor(ox_model *m, const PmOnnx__Tensor *t, const char *what, const char *name)
{
	char		buf[64];

	if (t->n_dims > PM_MAX_RANK)
		return pm_fail(m->st, PM_ERR_LIMIT, "%s \"%s\" has %d dimensions, but %d are the limit", what, ox_shown(name, buf),
					   (int) t->n_dims, PM_MAX_RANK);
	for (size_t i = 0; i < t->n_dims; i++)
		if (t->dims[i] < 0 || t->dims[i] > PM_MAX_DIM)
			return pm_fail(m->st, PM_ERR_LIMIT, "%s \"%s\" has a dimension below 0 or above 2^40", what, ox_shown(name, buf));
	return PM_OK;
}

typedef struct names
{
	ox_model   *m;
	int		   *slot;			/* open addressing, -1: free */
	uint64_t	mask;
} names;

static bool
names_init(names *t, ox_model *m, size_t most)
{
	size_t		n = 64;

	while (n < 2 * most)
		n *= 2;
	t->m = m;
	t->mask = n - 1;
	t->slot = PM_NEW(m->arena, int, n);
	m->values = PM_NEW(m->arena, ox_value, most + 1);
	if (t->slot == NULL || m->values == NULL)
		return false;
	memset(t->slot, 0xff, n * sizeof(int));
	return true;
}

/* Number of the value called name; a new one when add. -1: not there. */
static int
lookup(names *t, const char *name, bool add)
{
	uint64_t	at = pm_mix(pm_hash(PM_HASH_INIT, name, strlen(name))) & t->mask;
	ox_model   *m = t->m;

	for (; t->slot[at] >= 0; at = (at + 1) & t->mask)
		if (strcmp(m->values[t->slot[at]].name, name) == 0)
			return t->slot[at];
	if (!add)
		return -1;
	t->slot[at] = m->n_values;
	m->values[m->n_values] = (ox_value)
	{
		.name = name, .producer = -1
	};
	return m->n_values++;
}

/* ---------- the graph ---------- */

static pm_code
read_initializers(ox_model *m, const PmOnnx__Graph *g, names *t)
{
	for (size_t i = 0; i < g->n_initializer; i++)
	{
		const PmOnnx__Tensor *x = g->initializer[i];
		const char *name = x->name == NULL ? "" : x->name;
		pm_code		code = check_tensor(m, x, "initializer", name);
		ox_value   *v;

		if (code != PM_OK)
			return code;
		v = &m->values[lookup(t, name, true)];
		v->is_init = true;
		v->has_shape = true;
		if (!ox_tensor(m, x, &v->dtype, &v->shape, &v->data))
			return pm_no_memory(m->st, m->arena);
	}
	for (size_t i = 0; i < g->n_sparse_initializer; i++)
	{
		const PmOnnx__SparseTensor *s = g->sparse_initializer[i];
		PmOnnx__Tensor x = PM_ONNX__TENSOR__INIT;
		const char *name = s->values == NULL || s->values->name == NULL ? "" : s->values->name;
		pm_code		code;
		ox_value   *v;

		x.n_dims = s->n_dims;
		x.dims = s->dims;
		code = check_tensor(m, &x, "initializer", name);
		if (code != PM_OK)
			return code;
		v = &m->values[lookup(t, name, true)];
		v->is_init = v->has_shape = true;
		v->dtype = s->values == NULL ? 0 : s->values->data_type;
		v->shape.rank = (int) s->n_dims;
		for (size_t k = 0; k < s->n_dims; k++)
			v->shape.dim[k] = s->dims[k];
	}
	return PM_OK;
}

/* Declared shape: numbers, OX_ANY_DIM for what has none; the name of a dynamic one is looked up in options. */
static int64_t
declared_dim(const ox_model *m, const PmOnnx__Dimension *d)
{
	if (d->dim_param != NULL && d->dim_param[0] != '\0')
	{
		for (int i = 0; i < m->options->n_dims; i++)
			if (strcmp(m->options->dims[i].name, d->dim_param) == 0)
				return m->options->dims[i].value;
		return m->batch_name != NULL && strcmp(m->batch_name, d->dim_param) == 0 ? OX_BATCH_DIM : OX_ANY_DIM;
	}
	return d->has_dim_value && d->dim_value >= 0 ? d->dim_value : OX_ANY_DIM;
}

static pm_code
declare(ox_model *m, ox_value *v, const PmOnnx__ValueInfo *info)
{
	const PmOnnx__TensorType *type = info->type == NULL ? NULL : info->type->tensor_type;
	char		buf[64];

	if (type == NULL)
		return PM_OK;
	if (v->dtype == 0)
		v->dtype = type->elem_type;
	if (type->shape == NULL || v->is_init)
		return PM_OK;
	if (type->shape->n_dim > PM_MAX_RANK)
		return pm_fail(m->st, PM_ERR_LIMIT, "value \"%s\" has %d dimensions, but %d are the limit", ox_shown(v->name, buf),
					   (int) type->shape->n_dim, PM_MAX_RANK);
	v->has_shape = true;
	v->shape.rank = (int) type->shape->n_dim;
	for (int i = 0; i < v->shape.rank; i++)
	{
		v->shape.dim[i] = declared_dim(m, type->shape->dim[i]);
		if (v->shape.dim[i] > PM_MAX_DIM)
			return pm_fail(m->st, PM_ERR_LIMIT, "value \"%s\" has a dimension above 2^40", ox_shown(v->name, buf));
	}
	return PM_OK;
}

static pm_code
read_infos(ox_model *m, size_t n, PmOnnx__ValueInfo **info, names *t)
{
	for (size_t i = 0; i < n; i++)
	{
		int			k = lookup(t, info[i]->name == NULL ? "" : info[i]->name, false);
		pm_code		code = ox_stopped(m) ? PM_CANCELLED : k < 0 ? PM_OK : declare(m, &m->values[k], info[i]);

		if (code != PM_OK)
			return code;
	}
	return PM_OK;
}

static int *
read_names(names *t, size_t n, char **name, bool add)
{
	int		   *list = PM_NEW(t->m->arena, int, n + 1);

	for (size_t i = 0; list != NULL && i < n; i++)
		list[i] = name[i][0] == '\0' ? -1 : lookup(t, name[i], add);
	return list;
}

static pm_code
check_node(ox_model *m, const PmOnnx__Node *x, size_t i)
{
	char		buf[64];

	if (x->op_type == NULL || x->op_type[0] == '\0')
		return pm_fail(m->st, PM_ERR_INPUT, "node %d has no operator", (int) i);
	if (x->n_input > OX_MAX_IO || x->n_output > OX_MAX_IO)
		return pm_fail(m->st, PM_ERR_LIMIT, "node %d (%s) has more than %d inputs or outputs", (int) i,
					   ox_shown(x->op_type, buf), OX_MAX_IO);
	if (x->n_attribute > OX_MAX_ATTR)
		return pm_fail(m->st, PM_ERR_LIMIT, "node %d (%s) has more than %d attributes", (int) i,
					   ox_shown(x->op_type, buf), OX_MAX_ATTR);
	for (size_t k = 0; k < x->n_attribute; k++)
		if (x->attribute[k]->t != NULL)
		{
			pm_code		code = check_tensor(m, x->attribute[k]->t, "constant of node",
											x->name != NULL ? x->name : x->op_type);

			if (code != PM_OK)
				return code;
		}
	return PM_OK;
}

/* Values that no earlier node, input or initializer makes: a cycle, wrong order, or a damaged file. */
static pm_code
check_inputs(ox_model *m, const PmOnnx__Node *x, ox_node *n)
{
	for (int k = 0; k < n->n_in; k++)
	{
		char		buf[64];

		if (x->input[k][0] == '\0' || n->in[k] >= 0)
			continue;
		ox_shown(x->input[k], buf);
		ox_fail(m, n, "input %d, \"%s\", comes from no earlier node, input or initializer", k, buf);
		pm_hint(m->st, "Nodes must be in an order in which producers come first, without cycles.");
		return PM_ERR_INPUT;
	}
	return PM_OK;
}

static pm_code
check_outputs(ox_model *m, ox_node *n, int number)
{
	for (int k = 0; k < n->n_out; k++)
	{
		ox_value   *v = n->out[k] < 0 ? NULL : &m->values[n->out[k]];
		char		buf[64];

		if (v == NULL)
			continue;
		if (v->producer >= 0 || v->is_init || v->is_input)
			return ox_fail(m, n, "its output \"%s\" is made twice", ox_shown(v->name, buf));
		v->producer = number;
	}
	return PM_OK;
}

static pm_code
read_nodes(ox_model *m, const PmOnnx__Graph *g, names *t)
{
	m->nodes = PM_NEW(m->arena, ox_node, g->n_node + 1);
	if (m->nodes == NULL)
		return pm_no_memory(m->st, m->arena);
	for (size_t i = 0; i < g->n_node; i++)
	{
		const PmOnnx__Node *x = g->node[i];
		ox_node    *n = &m->nodes[i];
		pm_code		code = ox_stopped(m) ? PM_CANCELLED : check_node(m, x, i);

		if (code != PM_OK)
			return code;
		*n = (ox_node)
		{
			.op = x->op_type, .domain = x->domain != NULL ? x->domain : "", .name = x->name != NULL ? x->name : "",
				.n_in = (int) x->n_input, .n_out = (int) x->n_output, .n_attr = x->n_attribute, .attr = x->attribute
		};
		n->in = read_names(t, x->n_input, x->input, false);
		if (n->in == NULL)
			return pm_no_memory(m->st, m->arena);
		code = check_inputs(m, x, n);
		if (code != PM_OK)
			return code;
		n->out = read_names(t, x->n_output, x->output, true);
		if (n->out == NULL)
			return pm_no_memory(m->st, m->arena);
		code = check_outputs(m, n, (int) i);
		if (code != PM_OK)
			return code;
		n->rule = ox_rule_find(n->domain, n->op);
		m->n_nodes++;
	}
	return PM_OK;
}

static void
count_uses(ox_model *m, const PmOnnx__Graph *g, names *t)
{
	for (int i = 0; i < m->n_nodes; i++)
		for (int k = 0; k < m->nodes[i].n_in; k++)
			if (m->nodes[i].in[k] >= 0)
				m->values[m->nodes[i].in[k]].uses++;
	for (size_t i = 0; i < g->n_output; i++)
	{
		int			k = g->output[i]->name == NULL ? -1 : lookup(t, g->output[i]->name, false);

		if (k >= 0)
			m->values[k].is_output = true;
	}
}

/* ---------- opset ---------- */

static pm_code
read_opset(ox_model *m, const PmOnnx__Model *p)
{
	for (size_t i = 0; i < p->n_opset_import; i++)
	{
		const char *domain = p->opset_import[i]->domain;

		if (domain == NULL || domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0)
			m->opset = p->opset_import[i]->version < 0 || p->opset_import[i]->version > 1000 ? 0 :
				(int) p->opset_import[i]->version;
	}
	if (m->opset >= PM_ONNX_MIN_OPSET && m->opset <= PM_ONNX_MAX_OPSET)
		return PM_OK;
	pm_fail(m->st, PM_ERR_INPUT, "model has opset %d, but opsets %d to %d are understood", m->opset, PM_ONNX_MIN_OPSET,
			PM_ONNX_MAX_OPSET);
	pm_hint(m->st, "Export the model with opset_version between %d and %d.", PM_ONNX_MIN_OPSET, PM_ONNX_MAX_OPSET);
	return PM_ERR_INPUT;
}

static pm_code
refuse_functions(ox_model *m, const PmOnnx__Model *p)
{
	char		buf[64];

	if (p->n_functions == 0)
		return PM_OK;
	pm_fail(m->st, PM_ERR_INPUT, "model has local functions, among them \"%s\"", ox_shown(p->functions[0]->name, buf));
	pm_hint(m->st, "Inline them first: onnx.inliner.inline_local_functions(model).");
	return PM_ERR_INPUT;
}

/* ---------- inputs ---------- */

static bool
dynamic(const PmOnnx__ValueInfo *info)
{
	const PmOnnx__TensorType *type = info->type == NULL ? NULL : info->type->tensor_type;

	if (type == NULL || type->shape == NULL)
		return false;
	for (size_t i = 0; i < type->shape->n_dim; i++)
	{
		const PmOnnx__Dimension *d = type->shape->dim[i];

		if ((d->dim_param != NULL && d->dim_param[0] != '\0') || !d->has_dim_value || d->dim_value < 0)
			return true;
	}
	return false;
}

/*
 * A model exported without its parameters has them as inputs.  When something
 * is dynamic, what is not is a parameter; otherwise what the exporter named
 * like one.
 */
static bool
looks_like_parameter(const char *name)
{
	size_t		n = strlen(name);

	for (const char *const *end = (const char *const[]){"weight", "bias", "running_mean", "running_var", "kernel", "gamma",
						"beta", "num_batches_tracked", NULL}; *end != NULL; end++)
		if (n >= strlen(*end) && strcmp(name + n - strlen(*end), *end) == 0)
			return true;
	return strchr(name, '.') != NULL || strncmp(name, "onnx::", 6) == 0;
}

static pm_code
read_inputs(ox_model *m, const PmOnnx__Graph *g, names *t)
{
	bool		any = false;

	for (size_t i = 0; i < g->n_input; i++)
		any = any || dynamic(g->input[i]);
	m->inputs = PM_NEW(m->arena, int, g->n_input + 1);
	if (m->inputs == NULL)
		return pm_no_memory(m->st, m->arena);
	for (size_t i = 0; i < g->n_input; i++)
	{
		const char *name = g->input[i]->name == NULL ? "" : g->input[i]->name;
		int			k = lookup(t, name, true);
		ox_value   *v = &m->values[k];
		char		buf[64];
		pm_code		code;

		if (v->is_init)
			continue;
		if (v->is_input)
			return pm_fail(m->st, PM_ERR_INPUT, "input \"%s\" comes twice", ox_shown(name, buf));
		code = declare(m, v, g->input[i]);
		if (code != PM_OK)
			return code;
		if (!v->has_shape)
			return pm_fail(m->st, PM_ERR_INPUT, "input \"%s\" has no shape", ox_shown(name, buf));
		if (any ? !dynamic(g->input[i]) : i > 0 && looks_like_parameter(name))
			v->is_init = true;
		else
		{
			v->is_input = true;
			m->inputs[m->n_inputs++] = k;
		}
	}
	if (m->n_inputs == 0)
		return pm_fail(m->st, PM_ERR_INPUT, "model has no inputs");
	return PM_OK;
}

/* ---------- the batch ---------- */

typedef struct dim_seen
{
	const char *name;			/* "" when it has none */
	int			input;
	int			index;
} dim_seen;

static const char *
param_of(const PmOnnx__Dimension *d)
{
	return d->dim_param == NULL ? "" : d->dim_param;
}

static bool
given(const ox_model *m, const char *name)
{
	for (int i = 0; i < m->options->n_dims; i++)
		if (strcmp(m->options->dims[i].name, name) == 0)
			return true;
	return false;
}

static bool
is_dynamic_dim(const ox_model *m, const PmOnnx__Dimension *d)
{
	if (param_of(d)[0] != '\0')
		return !given(m, param_of(d));
	return !d->has_dim_value || d->dim_value < 0;
}

static bool
batch_like(const char *name)
{
	return strcmp(name, "N") == 0 || strcmp(name, "n") == 0 || strcmp(name, "B") == 0 || strcmp(name, "b") == 0 ||
		strcmp(name, "bs") == 0 || strstr(name, "batch") != NULL || strstr(name, "Batch") != NULL;
}

/* The name of the dynamic dimension that is the batch: one that says so, else the first of an input, else the only one. */
static const char *
choose_batch(const ox_model *m, const PmOnnx__Graph *g)
{
	const char *leading = NULL;
	const char *any = NULL;

	for (size_t i = 0; i < g->n_input; i++)
	{
		const PmOnnx__TensorType *type = g->input[i]->type == NULL ? NULL : g->input[i]->type->tensor_type;

		for (size_t k = 0; type != NULL && type->shape != NULL && k < type->shape->n_dim; k++)
		{
			const PmOnnx__Dimension *d = type->shape->dim[k];

			if (!is_dynamic_dim(m, d))
				continue;
			if (m->options->batch_dim >= 0 ? (int) k == m->options->batch_dim : batch_like(param_of(d)))
				return param_of(d);
			if (k == 0 && leading == NULL)
				leading = param_of(d);
			if (any == NULL)
				any = param_of(d);
		}
	}
	return leading != NULL ? leading : any;
}

static pm_code
still_dynamic(ox_model *m, const char *input, size_t index, const char *name)
{
	char		a[64],
				b[64];

	pm_fail(m->st, PM_ERR_INPUT, "input \"%s\" has a dynamic dimension %d, \"%s\", beside the batch", ox_shown(input, a),
			(int) index, ox_shown(name, b));
	if (name[0] != '\0')
		pm_hint(m->st, "Give its size, as in dims => '{\"%s\": 128}', or export the model with that dimension fixed.", b);
	else
		pm_hint(m->st, "Export the model with that dimension fixed, or with a name for it.");
	return PM_ERR_INPUT;
}

/* Mark the batch in the inputs; a dimension without a name is the batch when it is the first. */
static pm_code
mark_batch(ox_model *m, const PmOnnx__Graph *g, names *t)
{
	for (size_t i = 0; i < g->n_input; i++)
	{
		int			at = lookup(t, g->input[i]->name == NULL ? "" : g->input[i]->name, false);
		const PmOnnx__TensorType *type = g->input[i]->type == NULL ? NULL : g->input[i]->type->tensor_type;
		ox_value   *v;

		if (at < 0 || !m->values[at].is_input || type == NULL)
			continue;
		v = &m->values[at];
		for (int k = 0; k < v->shape.rank; k++)
		{
			const char *name = param_of(type->shape->dim[k]);

			if (v->shape.dim[k] >= 0)
				continue;
			if (strcmp(name, m->batch_name) != 0 ||
				(name[0] == '\0' && k != (m->options->batch_dim > 0 ? m->options->batch_dim : 0)))
				return still_dynamic(m, g->input[i]->name == NULL ? "" : g->input[i]->name, (size_t) k, name);
			v->shape.dim[k] = OX_BATCH_DIM;
		}
	}
	return PM_OK;
}

static pm_code
mark_fixed(ox_model *m)
{
	int			d = m->options->batch_dim;

	if (d < 0)
	{
		pm_fail(m->st, PM_ERR_INPUT, "model has no dynamic dimension, so its batch cannot be told from the rest");
		pm_hint(m->st, "Export it with a dynamic batch dimension (dynamic_axes), or say which dimension is the batch: batch_dim => 0.");
		return PM_ERR_INPUT;
	}
	m->fixed = true;
	m->base_batch = 0;
	for (int i = 0; i < m->n_inputs; i++)
	{
		ox_value   *v = &m->values[m->inputs[i]];
		char		buf[64];

		if (d >= v->shape.rank || v->shape.dim[d] <= 0)
			return pm_fail(m->st, PM_ERR_INPUT, "input \"%s\" has no dimension %d that could be the batch",
						   ox_shown(v->name, buf), d);
		if (m->base_batch == 0)
			m->base_batch = v->shape.dim[d];
		if (v->shape.dim[d] == m->base_batch)
			v->shape.dim[d] = OX_BATCH_DIM;
	}
	if (m->base_batch > 1000000)
		return pm_fail(m->st, PM_ERR_LIMIT, "model has a batch of %lld, but 1000000 is the limit", (long long) m->base_batch);
	return PM_OK;
}

/* ---------- all of it ---------- */

static size_t
most_values(const PmOnnx__Graph *g)
{
	size_t		n = g->n_input + g->n_initializer + g->n_sparse_initializer;

	for (size_t i = 0; i < g->n_node; i++)
		n += g->node[i]->n_output;
	return n;
}

static pm_code
read_graph(ox_model *m, const PmOnnx__Graph *g)
{
	names		t;
	pm_code		code;

	if (g->n_node == 0)
		return pm_fail(m->st, PM_ERR_INPUT, "model has no nodes");
	if (g->n_node > PM_MAX_NODES)
		return pm_fail(m->st, PM_ERR_LIMIT, "model has %d nodes, but %d are the limit", (int) g->n_node, PM_MAX_NODES);
	m->graph_name = g->name == NULL ? "" : g->name;
	m->batch_name = choose_batch(m, g);
	if (!names_init(&t, m, most_values(g)))
		return pm_no_memory(m->st, m->arena);
	code = read_initializers(m, g, &t);
	if (code == PM_OK)
		code = read_inputs(m, g, &t);
	if (code == PM_OK)
		code = m->batch_name != NULL ? mark_batch(m, g, &t) : mark_fixed(m);
	if (code == PM_OK)
		code = read_nodes(m, g, &t);
	if (code == PM_OK)
		code = read_infos(m, g->n_value_info, g->value_info, &t);
	if (code == PM_OK)
		code = read_infos(m, g->n_output, g->output, &t);
	if (code == PM_OK)
		count_uses(m, g, &t);
	return code;
}

/* protobuf-c frees nothing: the arena owns all. */
static void *
arena_get(void *a, size_t size)
{
	return pm_alloc(a, size == 0 ? 1 : size, 1);
}

static void
arena_put(void *a, void *p)
{
	(void) a;
	(void) p;
}

pm_code
ox_decode(const void *bytes, size_t len, ox_model *m)
{
	ProtobufCAllocator allocator = {arena_get, arena_put, m->arena};
	uint8_t    *reduced;
	size_t		n;
	PmOnnx__Model *p;
	pm_code		code = pm_onnx_reduce(bytes, len, m->arena, &reduced, &n, m->st);

	if (code != PM_OK)
		return code;
	p = pm_onnx__model__unpack(&allocator, n, reduced);
	if (p == NULL && m->arena->limit > 0 && m->arena->used > m->arena->limit - m->arena->limit / 8)
		return pm_no_memory(m->st, m->arena);
	if (p == NULL)
		return pm_fail(m->st, PM_ERR_INPUT, "the model is not a valid ONNX file");
	if (p->graph == NULL)
	{
		pm_fail(m->st, PM_ERR_INPUT, "model holds no graph");
		pm_hint(m->st, "The argument must be the contents of an .onnx file.");
		return PM_ERR_INPUT;
	}
	m->producer = p->producer_name == NULL ? "" : p->producer_name;
	code = read_opset(m, p);
	if (code == PM_OK)
		code = refuse_functions(m, p);
	return code == PM_OK ? read_graph(m, p->graph) : code;
}
