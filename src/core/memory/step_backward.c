/*
 * step_backward.c - gradients of outputs, from the last operator to the first.
 */
#include "memory/step_build.h"

#include <string.h>

#include "graph/op_operands.h"

void
pm_step_contribute(pm_step_build *b, int p, int32_t t)
{
	const pm_node *n = &b->g->nodes[p];
	int32_t		have = b->flow[p];

	if (t < 0)
		return;
	if (!n->grad)
	{
		pm_step_drop(b, t);
		return;
	}
	/* readers of one of several outputs each bring a part */
	if (have < 0 || n->n_shapes > 1)
	{
		pm_step_link(b, &b->flow[p], t);
		return;
	}
	/* a second gradient is added: in the memory of the first when nobody else holds that */
	if (b->refs[b->links[have].tensor] > 1)
	{
		int32_t		sum = pm_step_new_like(b, PM_MEMORY_FLOW, p, b->size[p]);

		pm_step_drop(b, b->links[have].tensor);
		if (sum >= 0)
			b->links[have].tensor = sum;
	}
	pm_step_drop(b, t);
}

static double
count_of(const pm_node *n)
{
	return pm_node_count(n, 1);
}

/* What a convolution on a CPU computes a gradient in, of its data or its kernel; to be dropped when the gradient is there. */
static int32_t
blocked_gradient(pm_step_build *b, int i, bool of_kernel)
{
	int32_t		flow;
	int32_t		other;
	int32_t		result;

	if (!pm_step_is_blocked(b, i))
		return PM_NO_TENSOR;
	flow = pm_step_block_of(b, i);
	other = of_kernel ? pm_step_block_of(b, b->g->nodes[i].inputs[0]) : pm_step_block_of_kernel(b, i);
	result = of_kernel ? pm_step_block_of_kernel(b, i) : pm_step_block_of(b, b->g->nodes[i].inputs[0]);
	pm_step_drop(b, other);
	pm_step_drop(b, flow);
	return result;
}

/* The gradient of input k in `size` bytes an element, then in those of the producer. */
static int32_t
input_gradient(pm_step_build *b, int p, int size)
{
	int32_t		t = pm_step_new_like(b, PM_MEMORY_FLOW, p, size);

	if (pm_step_is_fused(b, p))	/* whose kernel reads it in either */
		return t;
	if (size != b->size[p] && (b->size[p] == 2 || b->size[p] == 4))
	{
		int32_t		cast = pm_step_new_like(b, PM_MEMORY_FLOW, p, b->size[p]);

		pm_step_drop(b, t);
		t = cast;
	}
	return t;
}

/* The gradient of a weight: in the type of the product, then in that of the weight, then added to what is there. */
static void
weight_gradients(pm_step_build *b, int i, int size)
{
	const pm_node *n = &b->g->nodes[i];
	int			param = pm_step_param_size(b);

	for (int k = 0; pm_node_trains(n) && k < n->n_weights; k++)
	{
		double		count = pm_shape_count(&n->weights[k]);
		int32_t		blocked = k == 0 ? blocked_gradient(b, i, true) : PM_NO_TENSOR;
		int32_t		t = pm_step_new_count(b, PM_MEMORY_GRADIENTS, count, false, pm_op_row_of(n->op)->cast == PM_CAST_HALF ? size : param);

		if (pm_op_row_of(n->op)->cast == PM_CAST_HALF && size != param)
		{
			int32_t		wide = pm_step_new_count(b, PM_MEMORY_GRADIENTS, count, false, param);

			pm_step_drop(b, t);
			t = wide;
		}
		pm_step_drop(b, blocked);
		if (b->o->gradients_stay || !pm_node_owns(n, k))	/* which is added to what is there */
			pm_step_drop(b, t);
	}
}

/* The rows that were looked up are the gradient of the output, in another shape; rows that were added up are a tensor of their own. */
static void
sparse_gradient(pm_step_build *b, int i, int32_t gradient)
{
	const pm_node *n = &b->g->nodes[i];

	if (b->o->gradients_stay)	/* with the rows of the batches before */
		return;
	if (pm_op_row_of(n->op)->flops == PM_FLOPS_BAG)
		(void) pm_step_new_count(b, PM_MEMORY_GRADIENTS, pm_looked_up(b->g, n, 1), n->batch_dim >= 0, pm_step_param_size(b));
	else
		pm_step_hold(b, gradient);
}

static bool
same_tensor(const pm_step_build *b, int i, int p)
{
	return count_of(&b->g->nodes[p]) == count_of(&b->g->nodes[i]) && b->size[p] == b->size[i];
}

/* Whether the kernel of operator i writes the gradient of p where that of its output was, or not at all. */
static bool
writes_in_place(const pm_step_build *b, int i, int p, int32_t g)
{
	if (!pm_step_is_fused(b, i))
		return false;
	return b->storage[p] == PM_NO_TENSOR || (b->refs[g] == 1 && same_tensor(b, i, p));
}

/* Gradients of the inputs of an operator, one after the other. g: that of its output. */
static void
input_gradients(pm_step_build *b, int i, int32_t g)
{
	const pm_node *n = &b->g->nodes[i];
	const pm_keeps *k = &b->keeps[n->op];
	int			size = pm_step_compute_size(b, i);
	bool		fused = pm_step_is_fused(b, i);

	for (int j = 0; j < n->n_inputs; j++)
	{
		int			p = n->inputs[j];
		int32_t		blocked;
		int32_t		again;
		bool		shares = k->pass == PM_PASS_SAME || (k->pass == PM_PASS_ADD && same_tensor(b, i, p)) || writes_in_place(b, i, p, g);

		if (!b->g->nodes[p].grad)
			continue;
		if (shares)
		{
			pm_step_hold(b, g);
			pm_step_contribute(b, p, g);
			continue;
		}
		/* the product is as large as the output before it is summed to a smaller factor */
		if ((k->keep & (PM_KEEP_FACTORS | PM_KEEP_DIVISOR)) != 0 && !pm_step_is_product(n) && !fused &&
			count_of(&b->g->nodes[p]) < count_of(n))
			pm_step_drop(b, pm_step_new_like(b, PM_MEMORY_FLOW, i, b->size[i]));
		blocked = j == 0 ? blocked_gradient(b, i, false) : PM_NO_TENSOR;
		/* what the output overwrote is computed from it again */
		again = k->pass == PM_PASS_IN_PLACE ? pm_step_new_like(b, PM_MEMORY_FLOW, i, b->size[i]) : PM_NO_TENSOR;
		pm_step_contribute(b, p, input_gradient(b, p, fused ? b->size[p] : size));
		pm_step_drop(b, again);
		pm_step_drop(b, blocked);
	}
}

static void
back_operator(pm_step_build *b, int i)
{
	int32_t		l = b->flow[i];

	if (l < 0)
		return;
	input_gradients(b, i, b->links[l].tensor);
	if (pm_node_sparse(&b->g->nodes[i]))
		sparse_gradient(b, i, b->links[l].tensor);
	else
		weight_gradients(b, i, pm_step_compute_size(b, i));
}

/* Whether the gradient of the view is that of its source, in another shape. */
static bool
reshapes(const pm_node *n, const pm_node *source)
{
	return n->n_shapes <= 1 && source->n_shapes <= 1 && count_of(n) == count_of(source);
}

/* A view of a part, or of a broadcast: the gradient of the source is a tensor of its own. */
static void
back_view(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];
	int32_t		l = b->flow[i];
	int			p;

	if (l < 0 || n->n_inputs == 0)
		return;
	p = n->inputs[0];
	if (!b->g->nodes[p].grad)
		return;
	/* of several outputs, the reader's view is of one: it goes on as a part */
	if (reshapes(n, &b->g->nodes[p]) || b->g->nodes[p].n_shapes > 1)
	{
		pm_step_hold(b, b->links[l].tensor);
		pm_step_contribute(b, p, b->links[l].tensor);
	}
	else
		pm_step_contribute(b, p, input_gradient(b, p, b->size[p]));
}

void
pm_step_backward(pm_step_build *b, int from, int to)
{
	int32_t		tuning;

	b->now = -1;
	tuning = pm_step_tune(b);
	for (int i = to - 1; i >= from && !b->failed; i--)
	{
		b->now = i;
		if (b->core != NULL && b->core[i] == i)
			pm_step_run_core_again(b, i);
		if (pm_step_is_view(&b->g->nodes[i]))
			back_view(b, i);
		else
			back_operator(b, i);
		if (pm_step_is_fused(b, i) && b->g->nodes[i].grad)
		{
			pm_step_drop(b, tuning);
			tuning = PM_NO_TENSOR;
		}
		pm_step_drop_list(b, &b->saved[i]);
		pm_step_drop_list(b, &b->flow[i]);
	}
	pm_step_drop(b, tuning);
}
