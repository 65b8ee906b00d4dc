/*
 * step.c - a step from its first tensor to its last: weights, forward pass,
 * loss, backward pass, update.
 */
#include "memory/step.h"

#include <string.h>

#include "graph/op_operands.h"
#include "memory/step_build.h"

const char *const pm_memory_role_name[PM_N_MEMORY_ROLES] = {
	"weights", "gradients", "optimizer", "activations", "gradient flow", "workspace"
};
const char *const pm_step_phase_name[PM_N_PHASES] = {"start", "forward", "backward", "update"};

/* ---------- tensors ---------- */

/* Room for one more element of *p; false when there is no memory. */
static bool
grow(pm_step_build *b, void **p, int used, int *room, size_t size)
{
	void	   *more;

	if (used < *room)
		return true;
	if ((more = pm_longer(b->arena, *p, used, (size_t) *room * 2, size)) == NULL)
	{
		b->failed = true;
		return false;
	}
	*p = more;
	*room *= 2;
	return true;
}

static void
event(pm_step_build *b, int32_t e)
{
	int			room = b->event_room;

	if (!grow(b, (void **) &b->s->events, b->s->n_events, &room, sizeof(int32_t)) ||
		!grow(b, (void **) &b->s->at, b->s->n_events, &b->event_room, sizeof(int32_t)))
		return;
	b->s->events[b->s->n_events] = e;
	b->s->at[b->s->n_events++] = b->now;
}

/* Whether the output of a node has a number for each pair of a query and a key. */
static bool
is_score(const pm_step_build *b, int node)
{
	return b->attention[node] == PM_FUSED_INSIDE;
}

int32_t
pm_step_new(pm_step_build *b, pm_memory_role role, double fixed, double per)
{
	int			room = b->tensor_room;
	int32_t		t = b->s->n_tensors;

	if (b->failed)
		return PM_NO_TENSOR;
	if (!grow(b, (void **) &b->s->tensors, t, &room, sizeof(pm_memory_tensor)) ||
		!grow(b, (void **) &b->refs, t, &b->tensor_room, sizeof(int32_t)))
		return PM_NO_TENSOR;
	b->s->tensors[t] = (pm_memory_tensor) {
		fixed, per, b->now, (uint8_t) role, false, b->now >= 0 && is_score(b, b->now), b->now >= 0 && b->g->nodes[b->now].expert
	};
	b->refs[t] = 1;
	b->s->n_tensors++;
	event(b, t);
	return t;
}

int32_t
pm_step_new_count(pm_step_build *b, pm_memory_role role, double count, bool by_batch, int size)
{
	return pm_step_new(b, role, by_batch ? 0 : count * size, by_batch ? count * size : 0);
}

int32_t
pm_step_new_like(pm_step_build *b, pm_memory_role role, int node, int size)
{
	const pm_node *n = &b->g->nodes[node];
	int32_t		t = pm_step_new_count(b, role, b->fused[node] == PM_FUSED_INSIDE ? 0 : pm_node_count(n, 1), n->batch_dim >= 0, size);

	if (t >= 0)
		b->s->tensors[t].score = is_score(b, node);
	return t;
}

void
pm_step_hold(pm_step_build *b, int32_t t)
{
	if (t >= 0 && !b->failed)
		b->refs[t]++;
}

void
pm_step_drop(pm_step_build *b, int32_t t)
{
	if (t >= 0 && !b->failed && --b->refs[t] == 0)
		event(b, ~t);
}

void
pm_step_link(pm_step_build *b, int32_t *head, int32_t t)
{
	if (t < 0 || b->failed || !grow(b, (void **) &b->links, b->n_links, &b->link_room, sizeof(pm_tensor_link)))
		return;
	b->links[b->n_links] = (pm_tensor_link) {t, *head};
	*head = b->n_links++;
}

void
pm_step_drop_list(pm_step_build *b, int32_t *head)
{
	for (int32_t l = *head; l >= 0; l = b->links[l].next)
		pm_step_drop(b, b->links[l].tensor);
	*head = -1;
}

/* ---------- sizes of elements ---------- */

int
pm_step_param_size(const pm_step_build *b)
{
	return b->o->dtype == PM_BF16 || b->o->dtype == PM_FP16 ? 2 : 4;
}

int
pm_step_half_size(const pm_step_build *b)
{
	return b->o->dtype == PM_FP32 || b->o->dtype == PM_TF32 ? 4 : 2;
}

int
pm_step_compute_size(const pm_step_build *b, int node)
{
	const pm_node *n = &b->g->nodes[node];

	switch ((pm_cast) pm_op_row_of(n->op)->cast)
	{
		case PM_CAST_HALF:
			return pm_step_half_size(b);
		case PM_CAST_FLOAT:
			return pm_step_param_size(b);
		case PM_CAST_FLOAT_FUSED:	/* its gradient comes back in the type of the input */
			return n->n_inputs > 0 ? b->size[n->inputs[0]] : pm_step_param_size(b);
		case PM_CAST_FIRST:
		case PM_CAST_WIDEST:
		case PM_CAST_PROMOTE:
			break;
	}
	return b->size[node];
}

/* ---------- the step ---------- */

/* Weights, their gradients and the optimizer's states, which are there before the step. */
static void
persistent(pm_step_build *b)
{
	static const int states[PM_N_OPTIMIZERS] = {
		[PM_SGD_MOMENTUM] = 1, [PM_ADAM] = 2, [PM_ADAMW] = 2, [PM_OPT_OTHER] = 2
	};
	int			size = pm_step_param_size(b);

	for (int i = 0; i < b->g->n_nodes; i++)
	{
		const pm_node *n = &b->g->nodes[i];

		b->now = i;
		for (int k = 0; k < n->n_consts; k++)
			(void) pm_step_new_count(b, PM_MEMORY_WEIGHTS, pm_shape_count(&n->consts[k]), false, size);
		for (int k = 0; k < n->n_weights; k++)
		{
			double		count = pm_shape_count(&n->weights[k]);

			if (!pm_node_owns(n, k))
				continue;
			(void) pm_step_new_count(b, PM_MEMORY_WEIGHTS, count, false, size);
			if (n->attrs.frozen)
				continue;
			if (b->o->gradients_stay && pm_node_sparse(n))
				(void) pm_step_new_count(b, PM_MEMORY_GRADIENTS, pm_looked_up(b->g, n, 1), n->batch_dim >= 0, size);
			else if (b->o->gradients_stay)
				(void) pm_step_new_count(b, PM_MEMORY_GRADIENTS, count, false, size);
			for (int j = 0; j < states[b->o->optimizer]; j++)
				(void) pm_step_new_count(b, PM_MEMORY_OPTIMIZER, count, false, size);
		}
	}
}

/*
 * The loss keeps its log-softmax in 4 bytes.  The backward pass begins with the
 * gradient of that, then of the output; the caller holds the output all along.
 */
static void
loss(pm_step_build *b)
{
	int			i = b->g->output >= 0 ? b->g->output : b->g->n_nodes - 1;
	const pm_node *n = &b->g->nodes[i];
	double		count = pm_node_count(n, 1);
	bool		by_batch = n->batch_dim >= 0;
	int			size = pm_step_param_size(b);
	int32_t		kept;
	int32_t		first;
	int32_t		flow;

	b->now = -1;
	kept = pm_step_new_count(b, PM_MEMORY_ACTIVATIONS, count, by_batch, size);
	b->s->phase_at[PM_PHASE_BACKWARD] = b->s->n_events;
	first = pm_step_new_count(b, PM_MEMORY_FLOW, count, by_batch, size);
	flow = pm_step_new_count(b, PM_MEMORY_FLOW, count, by_batch, size);
	pm_step_drop(b, first);
	if (b->size[i] != size)
	{
		int32_t		narrow = pm_step_new_count(b, PM_MEMORY_FLOW, count, by_batch, b->size[i]);

		pm_step_drop(b, flow);
		flow = narrow;
	}
	pm_step_drop(b, kept);
	pm_step_contribute(b, i, flow);
}

/* The 2-byte copies of weights that autocast made are forgotten where it ends; the backward pass may hold them still. */
static void
leave_autocast(pm_step_build *b)
{
	for (int i = 0; i < b->g->n_nodes; i++)
		pm_step_drop_list(b, &b->cast[i]);
}

/* One parameter at a time is updated, with scratch memory of its size; on a GPU PyTorch 2 updates all of Adam's at once (foreach). */
static void
update(pm_step_build *b)
{
	double		largest = 0;

	b->now = -1;
	b->s->phase_at[PM_PHASE_UPDATE] = b->s->n_events;
	for (int i = 0; i < b->g->n_nodes; i++)
		for (int k = 0; pm_node_trains(&b->g->nodes[i]) && k < b->g->nodes[i].n_weights; k++)
		{
			double		count = pm_shape_count(&b->g->nodes[i].weights[k]);

			largest = count > largest && !pm_node_sparse(&b->g->nodes[i]) ? count : largest;
		}
	if (b->o->optimizer == PM_OPT_NONE || b->o->fused_update)
		return;
	if ((b->o->optimizer == PM_ADAM || b->o->optimizer == PM_ADAMW) && !b->o->gradients_stay && !b->o->on_cpu)
		largest = b->g->params - b->g->sparse;
	pm_step_drop(b, pm_step_new_count(b, PM_MEMORY_WORKSPACE, largest, false, pm_step_param_size(b)));
}

/*
 * What nodes [from, to) read of nodes before them stays until their gradients
 * are done; a second hold is for the pass that runs them again.
 */
static void
hold_inputs(pm_step_build *b, int from, int to, int32_t *held)
{
	for (int i = 0; i < from; i++)
	{
		if (b->last_use[i] < from || b->storage[i] < 0)
			continue;
		pm_step_hold(b, b->storage[i]);
		pm_step_link(b, held, b->storage[i]);
		if (b->last_use[i] < to)
			pm_step_hold(b, b->storage[i]);
	}
}

static void
with_checkpoints(pm_step_build *b)
{
	int32_t    *cuts;
	int			n = pm_step_segments(b, &cuts);
	int			output = b->g->output >= 0 ? b->g->output : b->g->n_nodes - 1;
	int32_t    *held = PM_NEW(b->arena, int32_t, n + 1);
	int32_t		last;

	if (cuts == NULL || held == NULL)
	{
		b->failed = true;
		return;
	}
	for (int i = 0; i < n; i++)
	{
		held[i] = -1;
		hold_inputs(b, cuts[i], cuts[i + 1], &held[i]);
		pm_step_forward(b, cuts[i], cuts[i + 1], false);
	}
	leave_autocast(b);
	/* the loss needs the value of the output, which the last segment leaves behind */
	loss(b);
	last = b->storage[output];
	for (int i = n - 1; i >= 0; i--)
	{
		pm_step_forward(b, cuts[i], cuts[i + 1], true);
		leave_autocast(b);
		pm_step_backward(b, cuts[i], cuts[i + 1]);
		for (int j = cuts[i]; j < cuts[i + 1]; j++)
			if (b->last_use[j] >= cuts[i + 1])
				pm_step_drop(b, b->storage[j]);
		pm_step_drop_list(b, &held[i]);
	}
	pm_step_drop(b, last);
}

/* Who asks keeps the output alone. */
static void
infer(pm_step_build *b)
{
	int			output = b->g->output >= 0 ? b->g->output : b->g->n_nodes - 1;

	int32_t		tuning;

	b->now = -1;
	tuning = pm_step_tune(b);
	pm_step_forward(b, 0, b->g->n_nodes, false);
	leave_autocast(b);
	b->now = -1;
	pm_step_drop(b, tuning);
	pm_step_drop(b, b->storage[output]);
	for (int phase = PM_PHASE_BACKWARD; phase < PM_N_PHASES; phase++)
		b->s->phase_at[phase] = b->s->n_events;
}

static void
simulate(pm_step_build *b)
{
	persistent(b);
	b->s->phase_at[PM_PHASE_FORWARD] = b->s->n_events;
	if (b->o->inference)
		infer(b);
	else if (b->o->checkpointing)
		with_checkpoints(b);
	else
	{
		int			output = b->g->output >= 0 ? b->g->output : b->g->n_nodes - 1;

		pm_step_forward(b, 0, b->g->n_nodes, true);
		leave_autocast(b);
		loss(b);
		pm_step_backward(b, 0, b->g->n_nodes);
		pm_step_drop(b, b->storage[output]);
	}
	if (!b->o->inference)
		update(b);
	b->s->phase_at[PM_N_PHASES] = b->s->n_events;
}

/* ---------- lives in the forward pass ---------- */

static void
find_last_uses(pm_step_build *b)
{
	const pm_graph *g = b->g;
	int			output = g->output >= 0 ? g->output : g->n_nodes - 1;

	for (int i = 0; i < g->n_nodes; i++)
	{
		b->last_use[i] = i;
		for (int k = 0; k < g->nodes[i].n_inputs; k++)
			b->last_use[g->nodes[i].inputs[k]] = i;
	}
	b->last_use[output] = g->n_nodes;	/* the loss */
	for (int i = 0; i < g->n_nodes; i++)
		b->expiring[i] = b->saved[i] = b->flow[i] = b->cast[i] = b->storage[i] = b->stays[i] = -1;
	for (int i = g->n_nodes - 1; i >= 0; i--)
		if (b->last_use[i] < g->n_nodes)
		{
			b->next_expiring[i] = b->expiring[b->last_use[i]];
			b->expiring[b->last_use[i]] = i;
		}
}

static bool
make_room(pm_step_build *b)
{
	int			n = b->g->n_nodes;
	int32_t   **by_node[] = {&b->storage, &b->last_use, &b->expiring, &b->next_expiring, &b->saved, &b->flow, &b->cast, &b->stays};

	b->tensor_room = b->event_room = b->link_room = 4 * n + 64;
	b->s->tensors = PM_NEW(b->arena, pm_memory_tensor, b->tensor_room);
	b->refs = PM_NEW(b->arena, int32_t, b->tensor_room);
	b->s->events = PM_NEW(b->arena, int32_t, b->event_room);
	b->s->at = PM_NEW(b->arena, int32_t, b->event_room);
	b->links = PM_NEW(b->arena, pm_tensor_link, b->link_room);
	b->size = PM_NEW(b->arena, uint8_t, n);
	b->fused = PM_NEW(b->arena, uint8_t, n);
	b->attention = PM_NEW(b->arena, uint8_t, n);
	b->keeps = PM_NEW(b->arena, pm_keeps, pm_op_count());
	if (b->s->tensors == NULL || b->refs == NULL || b->s->events == NULL || b->s->at == NULL ||
		b->links == NULL || b->size == NULL || b->fused == NULL || b->attention == NULL || b->keeps == NULL)
		return false;
	for (size_t i = 0; i < sizeof(by_node) / sizeof(by_node[0]); i++)
		if ((*by_node[i] = PM_NEW(b->arena, int32_t, n)) == NULL)
			return false;
	return true;
}

pm_code
pm_step_simulate(const pm_graph *g, const pm_step_options *o, pm_arena *a, pm_step *s, pm_status *st)
{
	pm_step_build b;
	pm_attention *attentions;
	int			n_attentions;
	pm_code		rc;

	memset(&b, 0, sizeof(b));
	memset(s, 0, sizeof(*s));
	b.g = g;
	b.o = o;
	b.arena = a;
	b.st = st;
	b.s = s;
	if (!make_room(&b))
		return pm_no_memory(st, a);
	pm_keeps_of_all(b.keeps);
	b.input_op = pm_op_find("Input");
	find_last_uses(&b);
	if (b.failed)
		return pm_no_memory(st, a);
	if (o->fused_attention && (rc = pm_attention_find(g, o->masked_attention, a, b.fused, &attentions, &n_attentions, st)) != PM_OK)
		return rc;
	if ((rc = pm_attention_find(g, true, a, b.attention, &attentions, &n_attentions, st)) != PM_OK)
		return rc;
	if (o->attention_again && !o->checkpointing && !o->inference && (rc = pm_step_find_cores(&b, attentions, n_attentions)) != PM_OK)
		return rc;
	if (o->compile && !o->checkpointing && !o->attention_again && !o->on_cpu && (rc = pm_step_compile(&b)) != PM_OK)
		return rc;
	if (pm_stopped(a, st))
		return PM_CANCELLED;
	simulate(&b);
	if (pm_stopped(a, st))
		return PM_CANCELLED;
	return b.failed ? pm_no_memory(st, a) : PM_OK;
}
