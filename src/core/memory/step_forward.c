/*
 * step_forward.c - outputs, casts, and what autograd saves.
 */
#include "memory/step_build.h"

#include <string.h>

#include "graph/op_operands.h"
#include "graph/recurrent.h"

bool
pm_step_is_product(const pm_node *n)
{
	return pm_is_product(pm_op_row_of(n->op));
}

bool
pm_step_is_view(const pm_node *n)
{
	return n->view;
}

/* ---------- types ---------- */

static bool
has_dimension(int n, const pm_shape *shapes)
{
	for (int i = 0; i < n; i++)
		if (shapes[i].rank > 0)
			return true;
	return false;
}

/* Bytes of an element of the output of an operator that autocast leaves alone. */
static int
widest_size(const pm_step_build *b, const pm_node *n)
{
	int			size = 0;

	if (n->n_inputs == 0)
		return n->n_weights > 0 || n->op == PM_OP_UNKNOWN ? pm_step_param_size(b) : pm_step_half_size(b);
	if (pm_op_row_of(n->op)->class == PM_CLASS_EMBEDDING && n->n_weights > 0)
		return pm_step_param_size(b);
	if (pm_op_row_of(n->op)->cast == PM_CAST_FIRST)
		return b->size[n->inputs[0]];
	for (int i = 0; i < n->n_inputs; i++)
		size = b->size[n->inputs[i]] > size ? b->size[n->inputs[i]] : size;
	if (has_dimension(n->n_weights, n->weights) || has_dimension(n->n_consts, n->consts))
		size = pm_step_param_size(b);
	return size;
}

static int
output_size(const pm_step_build *b, const pm_node *n)
{
	int			cast = pm_op_row_of(n->op)->cast;

	if (n->op == b->input_op)
		return pm_step_param_size(b);
	if (cast == PM_CAST_HALF)
		return pm_step_half_size(b);
	if (cast == PM_CAST_FLOAT || cast == PM_CAST_FLOAT_FUSED)
		return pm_step_param_size(b);
	return widest_size(b, n);
}

/* ---------- what is saved ---------- */

typedef struct operand
{
	int32_t		tensor;			/* PM_NO_TENSOR: a parameter or a constant */
	bool		grad;
} operand;

static void
save(pm_step_build *b, int i, int32_t t)
{
	if (t < 0)
		return;
	pm_step_hold(b, t);
	pm_step_link(b, &b->saved[i], t);
}

bool
pm_step_partner_needs(const pm_graph *g, const pm_node *n, int k)
{
	if (pm_node_trains(n))
		return true;
	for (int j = 0; j < n->n_inputs; j++)
		if (j != k && g->nodes[n->inputs[j]].grad)
			return true;
	return false;
}

/* Parameters in 2 bytes: the gradient of the data needs them. */
static void
save_weight_copies(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];

	for (int32_t l = b->cast[i]; l >= 0; l = b->links[l].next)
		for (int k = 0; k < n->n_inputs; k++)
			if (b->g->nodes[n->inputs[k]].grad)
			{
				save(b, i, b->links[l].tensor);
				break;
			}
}

/* Each factor whose partner needs a gradient. in: the inputs as they are computed with. */
static void
save_factors(pm_step_build *b, int i, const int32_t *in)
{
	const pm_node *n = &b->g->nodes[i];

	if (n->n_inputs + n->n_weights + n->n_consts < 2)
		return;					/* the other factor is a number */
	for (int k = 0; k < n->n_inputs; k++)
		if (pm_step_partner_needs(b->g, n, k))
			save(b, i, in[k]);
	save_weight_copies(b, i);
}

static void
save_quotient(pm_step_build *b, int i, const int32_t *in)
{
	const pm_node *n = &b->g->nodes[i];

	if (n->n_inputs < 2)
		return;
	if (b->g->nodes[n->inputs[0]].grad)
		save(b, i, in[1]);
	if (b->g->nodes[n->inputs[1]].grad)
		save(b, i, in[0]);
}

/* Mean and deviation: of a channel over the batch, or of each row that is normalised; a graph does not say into how many groups. */
#define USUAL_GROUPS	32		/* PyTorch's users mostly take these */

static void
save_statistics(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];
	double		count = pm_shape_count(&n->shape);
	double		width = n->n_weights > 0 ? pm_shape_count(&n->weights[0]) : 1;
	const char *op = pm_op_name(n->op);
	double		rows;

	if (strcmp(op, "BatchNormalization") == 0 || strcmp(op, "InPlaceABN") == 0)
	{
		pm_step_link(b, &b->saved[i], pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, 2 * width, false, 4));
		return;
	}
	rows = strcmp(op, "GroupNormalization") == 0 ? USUAL_GROUPS : count / (width > 0 ? width : 1);
	pm_step_link(b, &b->saved[i], pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, 2 * rows, n->batch_dim >= 0, 4));
}

/*
 * Elements that a recurrent network keeps of every step, layer and direction: gates, cell and hidden states.  On a CPU
 * PyTorch makes it of single operators, which keep as much as 8 hidden states (measured with PyTorch 1.13).
 */
static double
recurrent_reserve(const pm_node *n, bool on_cpu)
{
	const pm_op_row *row = pm_op_row_of(n->op);
	double		directions = n->attrs.bidirectional ? 2 : 1;

	return pm_rnn_tokens(n, 1) * (on_cpu ? 8 : row->factor + 2) * pm_rnn_hidden(n) * directions *
		(double) (n->attrs.num_layers > 0 ? n->attrs.num_layers : 1);
}

/* A fused kernel keeps a number a row of its scores; without one, scores before and after dropout are tensors. */
static void
save_attention(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];
	double		keys = pm_attention_keys(b->g, n, 1);
	double		width = n->shape.rank > 0 ? (double) n->shape.dim[n->shape.rank - 1] : 1;
	double		rows = pm_shape_count(&n->shape) / (width > 0 ? width : 1);
	double		heads = n->shape.rank < 4 && n->attrs.num_heads > 0 ? (double) n->attrs.num_heads : 1;
	double		per_score = b->o->fused_attention ? 0 : keys * (pm_step_param_size(b) == pm_step_half_size(b) ? 1 : 3);

	if (per_score > 0)
	{
		int32_t		t = pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, rows * heads * per_score, n->batch_dim >= 0, pm_step_half_size(b));

		if (t >= 0)
			b->s->tensors[t].score = true;
		pm_step_link(b, &b->saved[i], t);
	}
	else
		pm_step_link(b, &b->saved[i], pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, rows * heads, n->batch_dim >= 0, 4));
}

static bool
is_dropout(const pm_node *n)
{
	return strcmp(pm_op_name(n->op), "Dropout") == 0;
}

static void
save_extras(pm_step_build *b, int i, int keep)
{
	const pm_node *n = &b->g->nodes[i];
	double		count = pm_node_count(n, 1);
	pm_class	class = pm_op_class(n->op);

	if ((keep & PM_KEEP_INDEX) != 0)
		pm_step_link(b, &b->saved[i], pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, count, n->batch_dim >= 0, 8));
	if ((keep & PM_KEEP_MASK) != 0 && b->fused[i] == 0)
		pm_step_link(b, &b->saved[i], pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, count, n->batch_dim >= 0,
														b->o->on_cpu && is_dropout(n) ? b->size[i] : 1));
	if ((keep & PM_KEEP_STATISTICS) != 0)
		save_statistics(b, i);
	if (class == PM_CLASS_RECURRENT)
		pm_step_link(b, &b->saved[i], pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, recurrent_reserve(n, b->o->on_cpu), n->batch_dim >= 0,
														pm_step_half_size(b)));
	if (pm_op_row_of(n->op)->flops == PM_FLOPS_ATTENTION)
		save_attention(b, i);
}

/* A norm that programs write as single operators, which compute in 4 bytes. */
static void
save_normed(pm_step_build *b, int i, const int32_t *in)
{
	const pm_node *n = &b->g->nodes[i];

	if (n->n_inputs == 0)
		return;
	if (b->size[n->inputs[0]] == 2 && b->o->dtype != PM_AMP)
		pm_step_link(b, &b->saved[i], pm_step_new_like(b, PM_MEMORY_ACTIVATIONS, n->inputs[0], 4));
	else
		save(b, i, in[0]);		/* under autocast, a copy in 4 bytes already */
	if (pm_node_trains(n))
		pm_step_link(b, &b->saved[i], pm_step_new_like(b, PM_MEMORY_ACTIVATIONS, i, b->size[i]));
}

static void
save_all(pm_step_build *b, int i, const int32_t *in)
{
	const pm_node *n = &b->g->nodes[i];
	int			keep = b->keeps[n->op].keep;

	if (!n->grad)
		return;
	if (b->fused[i] == PM_FUSED_END)
		save(b, i, b->storage[i]);
	if ((keep & PM_KEEP_FACTORS) != 0)
		save_factors(b, i, in);
	if ((keep & PM_KEEP_DIVISOR) != 0)
		save_quotient(b, i, in);
	if (((keep & PM_KEEP_INPUT) != 0 || ((keep & PM_KEEP_SHAPE) != 0 && b->o->gradients_stay) ||
		 ((keep & PM_KEEP_TYPE) != 0 && b->o->softmax_keeps_input)) && n->n_inputs > 0)
		save(b, i, in[0]);
	if ((keep & PM_KEEP_ALL) != 0)
		for (int k = 0; k < n->n_inputs; k++)
			save(b, i, in[k]);
	if ((keep & PM_KEEP_OUTPUT) != 0)
		save(b, i, b->storage[i]);
	if ((keep & PM_KEEP_NORMED) != 0)
		save_normed(b, i, in);
	save_extras(b, i, keep);
}

/* ---------- one node ---------- */

#define MAX_CAST 64				/* inputs of one node that may have a copy of another type */

/* The inputs in the type that the operator computes in; returns how many of in[] are copies, which come last in made[]. */
static int
cast_inputs(pm_step_build *b, int i, int size, int32_t *in, int32_t *made)
{
	const pm_node *n = &b->g->nodes[i];
	int			cast = pm_op_row_of(n->op)->cast;
	bool		casts = b->o->dtype == PM_AMP && (cast == PM_CAST_HALF || cast == PM_CAST_FLOAT);
	int			n_made = 0;

	for (int k = 0; k < n->n_inputs && k < MAX_CAST; k++)
	{
		int			p = n->inputs[k];

		in[k] = b->storage[p];
		if (!casts || b->size[p] == size || (b->size[p] != 2 && b->size[p] != 4))
			continue;
		in[k] = made[n_made++] = pm_step_new_like(b, PM_MEMORY_ACTIVATIONS, p, size);
	}
	return n_made;
}

/* Whether autocast has the copy from the operator that owns the weight: an embedding has none of its table. */
static bool
is_cast_already(const pm_step_build *b, const pm_node *n, int k)
{
	const pm_node *owner = k == 0 && n->attrs.tied >= 0 ? &b->g->nodes[n->attrs.tied] : n;

	return !pm_node_owns(n, k) && !n->attrs.frozen && pm_op_row_of(owner->op)->cast == PM_CAST_HALF;
}

/* Autocast keeps the 2-byte copy of a parameter until it ends; of a frozen one, there is a copy for each use. */
static void
cast_weights(pm_step_build *b, int i, int size)
{
	const pm_node *n = &b->g->nodes[i];

	if (b->o->dtype != PM_AMP || pm_op_row_of(n->op)->cast != PM_CAST_HALF || size == pm_step_param_size(b))
		return;
	for (int k = 0; k < n->n_weights; k++)
	{
		int32_t		copy;

		if (is_cast_already(b, n, k))
			continue;
		copy = pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, pm_shape_count(&n->weights[k]), false, size);
		if (copy >= 0)
			b->s->tensors[copy].copy = true;
		pm_step_link(b, &b->cast[i], copy);
	}
}

/* What a convolution on a CPU computes its output in, to be dropped when the output is there. */
static int32_t
blocked_output(pm_step_build *b, int i)
{
	int32_t		data;
	int32_t		kernel;
	int32_t		result;

	if (!pm_step_is_blocked(b, i))
		return PM_NO_TENSOR;
	data = pm_step_block_of(b, b->g->nodes[i].inputs[0]);
	kernel = pm_step_block_of_kernel(b, i);
	result = pm_step_block_of(b, i);
	pm_step_drop(b, kernel);
	pm_step_drop(b, data);
	return result;
}

/* Whether the output lies where the first input was, which nobody else reads any more. */
static bool
overwrites_input(const pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];
	int			p = n->n_inputs > 0 ? n->inputs[0] : -1;

	return b->keeps[n->op].pass == PM_PASS_IN_PLACE && p >= 0 && b->g->nodes[p].op != b->input_op && b->storage[p] >= 0 &&
		b->last_use[p] == i && b->size[p] == b->size[i] && b->g->nodes[p].n_shapes <= 1 && n->n_shapes <= 1 &&
		pm_node_count(n, 1) == pm_node_count(&b->g->nodes[p], 1) && pm_node_count(n, 2) == pm_node_count(&b->g->nodes[p], 2);
}

/* Whether the output of a node is kept while others of its segment are computed again. */
static bool
is_dear(const pm_step_build *b, int i)
{
	pm_class	class = pm_op_class(b->g->nodes[i].op);

	return b->o->products_stay && b->g->nodes[i].grad && (class == PM_CLASS_GEMM || class == PM_CLASS_CONV || class == PM_CLASS_RECURRENT);
}

/* The output of node i, by which it is known from now on. */
static int32_t
output_of(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];

	if (n->n_shapes > 1)
		return pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, pm_node_count_all(n, 1), n->batch_dim >= 0, b->size[i]);
	return pm_step_new_like(b, PM_MEMORY_ACTIVATIONS, i, b->size[i]);
}

/* A product that stays is not computed again: its output is there, and the inputs are kept for the backward pass. */
static void
run_again(pm_step_build *b, int i)
{
	int32_t		in[MAX_CAST];
	int32_t		made[MAX_CAST];
	int			n_made = cast_inputs(b, i, pm_step_compute_size(b, i), in, made);

	b->storage[i] = b->stays[i];
	b->stays[i] = PM_NO_TENSOR;
	cast_weights(b, i, pm_step_compute_size(b, i));
	if (b->g->nodes[i].n_inputs <= MAX_CAST)
		save_all(b, i, in);
	for (int k = 0; k < n_made; k++)
		pm_step_drop(b, made[k]);
	if (b->g->nodes[i].attrs.frozen)
		pm_step_drop_list(b, &b->cast[i]);
}

static void
run_operator(pm_step_build *b, int i, bool keeping)
{
	const pm_node *n = &b->g->nodes[i];
	int32_t		in[MAX_CAST];
	int32_t		made[MAX_CAST];
	int			n_made;
	int			size;
	int32_t		blocked;

	b->size[i] = (uint8_t) output_size(b, n);
	size = pm_step_compute_size(b, i);
	n_made = cast_inputs(b, i, size, in, made);
	cast_weights(b, i, size);
	blocked = blocked_output(b, i);
	if (overwrites_input(b, i))
		pm_step_hold(b, b->storage[i] = b->storage[n->inputs[0]]);
	else
		b->storage[i] = output_of(b, i);
	pm_step_drop(b, blocked);
	if (!keeping && is_dear(b, i))
		pm_step_hold(b, b->stays[i] = b->storage[i]);
	if (keeping && n->n_inputs <= MAX_CAST && (b->core == NULL || b->core[i] < 0 || b->core_runs_again))
		save_all(b, i, in);
	for (int k = 0; k < n_made; k++)
		pm_step_drop(b, made[k]);
	if (n->attrs.frozen)
		pm_step_drop_list(b, &b->cast[i]);
}

/* The same in a compiled step, in which kernels read casts and write what others read. */
static void
run_compiled(pm_step_build *b, int i, bool keeping)
{
	const pm_node *n = &b->g->nodes[i];

	cast_weights(b, i, pm_step_compute_size(b, i));
	pm_step_write_compiled(b, i);
	if (keeping)
		pm_step_keep_compiled(b, i);
	if (keeping && n->grad)
	{
		if ((b->keeps[n->op].keep & PM_KEEP_FACTORS) != 0)
			save_weight_copies(b, i);
		save_extras(b, i, b->keeps[n->op].keep | ((b->keeps[n->op].keep & PM_KEEP_NORMED) != 0 ? PM_KEEP_STATISTICS : 0));
	}
	pm_step_drop_casts(b, i);
	if (n->attrs.frozen)
		pm_step_drop_list(b, &b->cast[i]);
}

void
pm_step_find_size(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];

	if (!pm_step_is_view(n))
		b->size[i] = (uint8_t) output_size(b, n);
	else
		b->size[i] = n->n_inputs > 0 ? b->size[n->inputs[0]] : (uint8_t) pm_step_param_size(b);
}

static void
run_view(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];

	b->size[i] = n->n_inputs > 0 ? b->size[n->inputs[0]] : (uint8_t) pm_step_param_size(b);
	b->storage[i] = n->n_inputs > 0 ? b->storage[n->inputs[0]] : PM_NO_TENSOR;
	pm_step_hold(b, b->storage[i]);
}

/* Whether node i is an input of the network. */
static bool
is_batch(const pm_step_build *b, int i)
{
	return b->g->nodes[i].op == b->input_op && !b->g->nodes[i].view;
}

void
pm_step_forward(pm_step_build *b, int from, int to, bool keeping)
{
	for (int i = from; i < to && !b->failed; i++)
	{
		b->now = i;
		if (b->core != NULL && b->core[i] >= 0 && !b->core_runs_again)
			pm_step_keep_core_reads(b, i);
		if (pm_step_is_view(&b->g->nodes[i]) || (b->o->inference && is_dropout(&b->g->nodes[i])))
			run_view(b, i);
		else if (b->compiled != NULL)
			run_compiled(b, i, keeping);
		else if (keeping && b->stays[i] >= 0)
			run_again(b, i);
		else if (!is_batch(b, i) || b->storage[i] < 0)	/* a segment that runs again has its batch */
			run_operator(b, i, keeping);
		for (int e = b->expiring[i]; e >= 0; e = b->next_expiring[e])
			if (!is_batch(b, e))	/* which the caller keeps */
				pm_step_drop(b, b->storage[e]);
	}
}
