/*
 * step_compiled.c - what a compiled step writes to memory, and what it keeps for the backward pass.
 *
 * Operators that follow each other become one kernel (change/compile.c); what only such a kernel reads is never written.
 * The compiler then chooses what is kept: the tensors of least size from which kernels of the backward pass can compute
 * again what they need (PyTorch, torch/_functorch/partitioners.py, min_cut_rematerialization_partition).  Its rules: products,
 * convolutions, poolings and random numbers are not computed again; nor is what an operator reads in the backward pass that
 * is not fused, as it would have to be written there.
 */
#include "memory/step_build.h"

#include <string.h>

#include "graph/op_fused.h"
#include "graph/op_operands.h"
#include "memory/min_cut.h"

#define BATCH	64				/* at which tensors are compared */

typedef struct chooser
{
	pm_step_build *b;
	pm_code		rc;
	int32_t    *level;			/* [nodes] operators that are not fused before it, on the longest path */
	bool	   *split;			/* [nodes] it is read in parts */
	uint8_t    *need;			/* [tensors] READ_... by the backward pass */
	int32_t    *number;			/* [tensors] in the network, -1: not in it */
	int32_t    *tensor;			/* [n] of the network */
	int			n;
	int32_t    *stack;			/* [tensors] */
	uint8_t    *seen;			/* [tensors] */
	int			node;			/* whose needs are counted */
} chooser;

#define READ_FUSED	1			/* by a kernel that may compute it again */
#define READ_WHOLE	2			/* by an operator that must find it in memory */

#define ROOT(c, node) ((c)->b->compiled[node].root)
#define TENSOR(node, form)	(PM_N_FORMS * (node) + (form))

static int
n_tensors(const chooser *c)
{
	return PM_N_FORMS * c->b->g->n_nodes;
}

static const pm_node *
node_at(const chooser *c, int tensor)
{
	return &c->b->g->nodes[tensor / PM_N_FORMS];
}

bool
pm_step_is_fused(const pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];

	return b->compiled != NULL && !pm_step_is_view(n) && pm_op_is_fused(n) && b->fused[i] == 0 && b->keeps[n->op].pass != PM_PASS_IN_PLACE;
}

/* The tensor that operator i reads as its input number k. */
static int
read_of(const chooser *c, int i, int k)
{
	const pm_step_build *b = c->b;
	const pm_node *n = &b->g->nodes[i];
	int			p = ROOT(c, n->inputs[k]);
	int			cast = pm_op_row_of(n->op)->cast;
	int			size = b->size[p];
	bool		casts = b->o->dtype == PM_AMP && (cast == PM_CAST_HALF || cast == PM_CAST_FLOAT) && (size == 2 || size == 4);

	return TENSOR(p, casts && size != pm_step_compute_size(b, i) ? PM_FORM_CAST : PM_FORM_OUTPUT);
}

static double
bytes_of(const chooser *c, int tensor)
{
	int			node = tensor / PM_N_FORMS;
	const int	sizes[PM_N_FORMS] = {[PM_FORM_OUTPUT] = c->b->size[node], [PM_FORM_CAST] = 6 - c->b->size[node], [PM_FORM_MASK] = 1};

	if (c->b->fused[node] == PM_FUSED_INSIDE || c->b->g->nodes[node].op == c->b->input_op)
		return tensor % PM_N_FORMS == PM_FORM_CAST ? pm_node_count(&c->b->g->nodes[node], BATCH) * sizes[PM_FORM_CAST] : 0;
	return pm_node_count(&c->b->g->nodes[node], BATCH) * sizes[tensor % PM_N_FORMS];
}

/* Activations of straight pieces, whose gradient asks where the output is above 0, or whether the input is between two bounds. */
static bool
is_sign(const pm_node *n)
{
	return strcmp(pm_op_name(n->op), "Relu") == 0 || strcmp(pm_op_name(n->op), "LeakyRelu") == 0;
}

static bool
is_between(const pm_node *n)
{
	static const char *const names[] = {"Clip", "HardTanh", "HardSigmoid"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(pm_op_name(n->op), names[i]) == 0)
			return true;
	return false;
}

/* Whether operator i reads what others, which are not fused, have read before: as a residual sum does. */
static bool
reads_far(const chooser *c, int i)
{
	const pm_node *n = &c->b->g->nodes[i];

	for (int k = 0; k < n->n_inputs; k++)
	{
		int			p = ROOT(c, n->inputs[k]);

		if (c->level[i] > c->level[p] + !pm_step_is_fused(c->b, p))
			return true;
	}
	return false;
}

/* Whether a kernel of the backward pass can compute it from what the operator read. */
static bool
can_run_again(const chooser *c, int tensor)
{
	static const char *const moves[] = {"Concat", "CumSum", "Resize"};	/* and what has several outputs */
	const pm_node *n = node_at(c, tensor);

	if (tensor % PM_N_FORMS != PM_FORM_OUTPUT)
		return true;
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		if (strcmp(pm_op_name(n->op), moves[i]) == 0)
			return false;
	if (n->n_inputs == 0 || n->n_shapes > 1 || pm_op_ends_kernel(n) || !pm_step_is_fused(c->b, tensor / PM_N_FORMS))
		return false;
	return !(c->b->o->recomputes_less && (pm_op_class(n->op) == PM_CLASS_NORM || c->split[tensor / PM_N_FORMS])) && !reads_far(c, tensor / PM_N_FORMS);
}

/* What it is computed from; the k-th, or -1 behind the last. */
static int
source_of(const chooser *c, int tensor, int k)
{
	const pm_node *n = node_at(c, tensor);

	if (tensor % PM_N_FORMS == PM_FORM_CAST || (tensor % PM_N_FORMS == PM_FORM_MASK && is_sign(n)))
		return k == 0 ? TENSOR(tensor / PM_N_FORMS, PM_FORM_OUTPUT) : -1;
	return k < n->n_inputs ? TENSOR(ROOT(c, n->inputs[k]), PM_FORM_OUTPUT) : -1;
}

/* ---------- what the backward pass reads ---------- */

typedef void (*on_need) (chooser *c, int tensor, bool whole);

static void
note_need(chooser *c, int tensor, bool whole)
{
	c->need[tensor] |= whole ? READ_WHOLE : READ_FUSED;
}


static bool
needs_input(const pm_step_build *b, int i, int k)
{
	const pm_node *n = &b->g->nodes[i];
	int			keep = b->keeps[n->op].keep;
	bool		factors = (keep & PM_KEEP_FACTORS) != 0 && n->n_inputs + n->n_weights + n->n_consts > 1;

	if (pm_op_row_of(n->op)->back == PM_BACK_SPREAD && (keep & PM_KEEP_INDEX) == 0)
		return false;			/* eager mode keeps it for its shape */
	if ((keep & PM_KEEP_DIVISOR) != 0)
		return n->n_inputs > 1 && b->g->nodes[n->inputs[k == 0 ? 1 : 0]].grad;
	return (keep & PM_KEEP_ALL) != 0 || (k == 0 && (keep & (PM_KEEP_INPUT | PM_KEEP_NORMED)) != 0) || (factors && pm_step_partner_needs(b->g, n, k));
}

/* Call f for each tensor that the backward pass of operator i reads. */
static void
each_need(chooser *c, int i, on_need f)
{
	const pm_step_build *b = c->b;
	const pm_node *n = &b->g->nodes[i];
	bool		whole = !pm_step_is_fused(b, i);

	if (!n->grad || pm_step_is_view(n) || n->op == b->input_op)
		return;
	if (!whole && (is_sign(n) || is_between(n)))
	{
		f(c, TENSOR(i, PM_FORM_MASK), false);
		return;
	}
	for (int k = 0; k < n->n_inputs; k++)
		if (needs_input(b, i, k))
			f(c, read_of(c, i, k), whole);
	if ((b->keeps[n->op].keep & PM_KEEP_OUTPUT) != 0 || b->fused[i] == PM_FUSED_END)
		f(c, TENSOR(i, PM_FORM_OUTPUT), whole);
}

/* ---------- what is kept ---------- */

/* Number the tensors that may be kept for what is read: these, and what they can be computed from, up to what is kept anyway. */
static void
number_tensors(chooser *c)
{
	int			n = 0;

	for (int t = 0; t < n_tensors(c); t++)
	{
		c->number[t] = -1;
		if ((c->seen[t] = c->need[t] == READ_FUSED))
			c->stack[n++] = t;
	}
	while (n > 0)
	{
		int			t = c->stack[--n];

		c->tensor[c->number[t] = c->n++] = t;
		for (int k = 0, s; can_run_again(c, t) && (s = source_of(c, t, k)) >= 0; k++)
			if (!c->seen[s] && (c->need[s] & READ_WHOLE) == 0)
			{
				c->seen[s] = 1;
				c->stack[n++] = s;
			}
	}
	memset(c->seen, 0, n_tensors(c));
}

/* Whether a kernel writes it in the forward pass anyway. */
static bool
lives(const chooser *c, int t)
{
	return t % PM_N_FORMS != PM_FORM_MASK && (c->b->compiled[t / PM_N_FORMS].lives & (1 << t % PM_N_FORMS)) != 0;
}

/* The network of these tensors into *net, with room for its lists. */
static bool
make_network(chooser *c, pm_arena *a, pm_cut_network *net)
{
	double	   *weight = PM_NEW(a, double, c->n);
	bool	   *source = PM_NEW(a, bool, c->n);
	bool	   *sink = PM_NEW(a, bool, c->n);
	int32_t    *from;
	int32_t    *to;
	int			most = 0;
	int			n = 0;

	for (int v = 0; v < c->n; v++)
		most += node_at(c, c->tensor[v])->n_inputs + 1;
	from = PM_NEW(a, int32_t, most);
	to = PM_NEW(a, int32_t, most);
	if (!weight || !source || !sink || !from || !to)
		return false;
	for (int v = 0; v < c->n; v++)
	{
		int			t = c->tensor[v];
		bool		again = can_run_again(c, t);

		weight[v] = bytes_of(c, t) * (lives(c, t) ? 1 : 2);	/* to be written, and kept */
		source[v] = !again;
		sink[v] = c->need[t] == READ_FUSED;
		for (int k = 0, s; again && (s = source_of(c, t, k)) >= 0; k++)
			if (c->number[s] >= 0)
			{
				from[n] = c->number[s];
				to[n++] = v;
			}
	}
	*net = (pm_cut_network) {c->n, weight, source, sink, n, from, to};
	return true;
}

/* The tensor is read in the backward pass of c->node; *n of the stack are to be computed again. */
static void
reach(chooser *c, int tensor, int *n)
{
	bool		kept = c->seen[tensor] == 2;

	if (c->seen[tensor] == 1)
		return;
	c->seen[tensor] = 1;
	if (kept)
		c->b->compiled[tensor / PM_N_FORMS].until[tensor % PM_N_FORMS] = c->node;
	else
		c->stack[(*n)++] = tensor;
}

/* What is kept for this tensor is kept until the backward pass of c->node is done, or longer. */
static void
keep_until(chooser *c, int tensor, bool whole)
{
	int			n = 0;

	(void) whole;
	reach(c, tensor, &n);
	while (n > 0)
	{
		int			t = c->stack[--n];

		for (int k = 0, s; can_run_again(c, t) && (s = source_of(c, t, k)) >= 0; k++)
			reach(c, s, &n);
	}
}

static void
choose(chooser *c, pm_arena *a, pm_status *st)
{
	pm_step_build *b = c->b;
	pm_cut_network	net;
	bool	   *cut = PM_NEW(a, bool, n_tensors(c));

	for (int i = 0; i < b->g->n_nodes; i++)
		each_need(c, i, note_need);
	number_tensors(c);
	if (cut == NULL || !make_network(c, a, &net))
	{
		c->rc = pm_no_memory(st, a);
		return;
	}
	if ((c->rc = pm_min_cut(&net, a, cut, st)) != PM_OK)
		return;
	for (int t = 0; t < n_tensors(c); t++)
		if ((c->need[t] & READ_WHOLE) != 0 || (c->number[t] >= 0 && cut[c->number[t]]))
			c->seen[t] = 2;
	/* the first in the forward pass is the last in the backward pass */
	for (c->node = 0; c->node < b->g->n_nodes; c->node++)
		each_need(c, c->node, keep_until);
	for (int i = 0; i < b->g->n_nodes; i++)
		for (int form = PM_FORM_OUTPUT; form <= PM_FORM_CAST; form++)
			if (b->compiled[i].until[form] >= 0)
				b->compiled[i].lives |= 1 << form;
}

/* ---------- what is written ---------- */

static void
find_levels(chooser *c)
{
	const pm_step_build *b = c->b;

	for (int i = 0; i < b->g->n_nodes; i++)
	{
		const pm_node *n = &b->g->nodes[i];
		bool		fused = pm_step_is_fused(b, i);

		ROOT(c, i) = pm_step_is_view(n) && n->n_inputs > 0 ? ROOT(c, n->inputs[0]) : i;
		c->split[ROOT(c, i)] |= strcmp(pm_op_name(n->op), "Split") == 0;
		for (int k = 0; k < n->n_inputs; k++)
		{
			int			p = ROOT(c, n->inputs[k]);
			bool		waits = fused && (!pm_step_is_fused(b, p) || pm_op_ends_kernel(&b->g->nodes[p]));

			if (c->level[p] + waits > c->level[i])
				c->level[i] = c->level[p] + waits;
		}
	}
}

/* What a kernel has to write, as another one reads it. */
static void
find_written(chooser *c)
{
	pm_step_build *b = c->b;
	int			output = b->g->output >= 0 ? b->g->output : b->g->n_nodes - 1;

	for (int i = 0; i < b->g->n_nodes; i++)
	{
		const pm_node *n = &b->g->nodes[i];
		bool		fused = pm_step_is_fused(b, i);

		b->compiled[i].until[PM_FORM_OUTPUT] = b->compiled[i].until[PM_FORM_CAST] = b->compiled[i].until[PM_FORM_MASK] = -1;
		b->compiled[i].cast = PM_NO_TENSOR;
		b->compiled[i].cast_reader = -1;
		if (!fused || n->n_shapes > 1)
			b->compiled[i].lives |= 1 << PM_FORM_OUTPUT;
		for (int k = 0; !pm_step_is_view(n) && k < n->n_inputs; k++)
		{
			int			t = read_of(c, i, k);
			int			p = t / PM_N_FORMS;

			if (!fused)
			{
				b->compiled[p].lives |= 1 << t % PM_N_FORMS;
				if (t % PM_N_FORMS == PM_FORM_CAST)
					b->compiled[p].cast_reader = i;
			}
			else if (c->level[p] != c->level[i])
				b->compiled[p].lives |= 1 << PM_FORM_OUTPUT;
		}
	}
	b->compiled[ROOT(c, output)].lives |= 1 << PM_FORM_OUTPUT;
}

pm_code
pm_step_compile(pm_step_build *b)
{
	chooser		c = {.b = b};
	int			n = b->g->n_nodes;
	pm_arena   *a = b->arena;

	b->compiled = PM_NEW(a, pm_compiled, n);
	c.level = PM_NEW(a, int32_t, n);
	c.split = PM_NEW(a, bool, n);
	c.need = PM_NEW(a, uint8_t, n_tensors(&c));
	c.seen = PM_NEW(a, uint8_t, n_tensors(&c));
	c.number = PM_NEW(a, int32_t, n_tensors(&c));
	c.tensor = PM_NEW(a, int32_t, n_tensors(&c));
	c.stack = PM_NEW(a, int32_t, n_tensors(&c) + 1);
	if (!b->compiled || !c.level || !c.split || !c.need || !c.seen || !c.number || !c.tensor || !c.stack)
		return pm_no_memory(b->st, a);
	for (int i = 0; i < n; i++)
		pm_step_find_size(b, i);
	find_levels(&c);
	find_written(&c);
	if (!b->o->inference)
		choose(&c, a, b->st);
	return c.rc;
}

/* ---------- a node ---------- */

static void
keep(pm_step_build *b, int i, pm_compiled_form form, int32_t t)
{
	int			until = b->compiled[i].until[form];

	if (until < 0 || t < 0)
		return;
	pm_step_hold(b, t);
	pm_step_link(b, &b->saved[until], t);
}

/* Maximum and sum of each row, which say a softmax together with its input. */
static void
keep_rows(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];
	double		width = n->shape.rank > 0 ? (double) n->shape.dim[n->shape.rank - 1] : 1;

	if (pm_op_class(n->op) == PM_CLASS_ATTENTION && n->grad && pm_step_is_fused(b, i) && b->compiled[i].until[PM_FORM_OUTPUT] < 0)
		pm_step_link(b, &b->saved[i], pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, 2 * pm_node_count(n, 1) / (width > 0 ? width : 1), n->batch_dim >= 0, 4));
}

#define TUNING	256e6			/* bytes that triton.testing.do_bench() clears the cache with */

/*
 * Kernels with sums are tried in several forms when they first run.  Layers that are alike share them, so that the backward pass tries
 * its kernels soon after it begins, beside all that is kept; inference, beside what it holds anywhere.
 */
int32_t
pm_step_tune(pm_step_build *b)
{
	for (int i = 0; b->compiled != NULL && i < b->g->n_nodes; i++)
	{
		const pm_node *n = &b->g->nodes[i];
		pm_class	class = pm_op_class(n->op);

		if (pm_step_is_fused(b, i) && (b->o->inference || n->grad) && (class == PM_CLASS_NORM || class == PM_CLASS_ATTENTION || pm_op_ends_kernel(n)))
			return pm_step_new(b, PM_MEMORY_WORKSPACE, TUNING, 0);
	}
	return PM_NO_TENSOR;
}

void
pm_step_write_compiled(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];
	const pm_compiled *of = &b->compiled[i];

	b->storage[i] = (of->lives & 1 << PM_FORM_OUTPUT) == 0 ? PM_NO_TENSOR : n->n_shapes > 1 ?
		pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, pm_node_count_all(n, 1), n->batch_dim >= 0, b->size[i]) :
		pm_step_new_like(b, PM_MEMORY_ACTIVATIONS, i, b->size[i]);
	b->compiled[i].cast = (of->lives & 1 << PM_FORM_CAST) == 0 ? PM_NO_TENSOR : pm_step_new_like(b, PM_MEMORY_ACTIVATIONS, i, 6 - b->size[i]);
}

void
pm_step_keep_compiled(pm_step_build *b, int i)
{
	int32_t		mask;

	keep(b, i, PM_FORM_OUTPUT, b->storage[i]);
	keep(b, i, PM_FORM_CAST, b->compiled[i].cast);
	if (b->compiled[i].until[PM_FORM_MASK] >= 0)
	{
		mask = pm_step_new_like(b, PM_MEMORY_ACTIVATIONS, i, 1);
		keep(b, i, PM_FORM_MASK, mask);
		pm_step_drop(b, mask);
	}
	keep_rows(b, i);
}

void
pm_step_drop_casts(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];

	for (int k = 0; k < n->n_inputs; k++)
	{
		pm_compiled *of = &b->compiled[b->compiled[n->inputs[k]].root];

		if (of->cast_reader != i)
			continue;
		pm_step_drop(b, of->cast);
		of->cast = PM_NO_TENSOR;
	}
}
