/*
 * unrolled.c - recurrent layers on a CPU: position by position.
 */
#include "graph/unrolled.h"

#include "graph/op_catalogue.h"
#include "graph/recurrent.h"

/*
 * What one position of one layer and direction takes in addition to the products
 * with the inputs, which run for all positions at once.  Counted by
 * __torch_dispatch__ with PyTorch 1.13 on a CPU, for sequences of 8 and 16
 * (aten/src/ATen/native/RNN.cpp).  Passes go over [batch, hidden].
 */
typedef struct unrolled
{
	double		gates;
	double		kernels_forward;
	double		kernels_backward;
	double		passes_forward;
	double		passes_backward;
} unrolled;

static const unrolled lstm = {4, 11, 19, 34, 41};
static const unrolled gru = {3, 13, 18, 33, 41};
static const unrolled plain = {1, 3, 7, 5, 6};

/*
 * Passes over the matrix of the hidden state in the backward pass of a position: the gradient of the state reads it,
 * its own gradient is written, and added to that of the positions before.
 */
#define MATRIX_PASSES	5

void
pm_rnn_unroll(const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_work *w)
{
	const pm_node *n = &g->nodes[i];
	const pm_op_row *row = pm_op_row_of(n->op);
	const unrolled *u;
	double		e = dtype == PM_BF16 || dtype == PM_FP16 ? 2 : 4;
	double		cells,
				matrix,
				state;

	if (row->flops != PM_FLOPS_RNN)
		return;
	u = row->factor == lstm.gates ? &lstm : row->factor == gru.gates ? &gru : &plain;
	cells = pm_rnn_directions(n) * (double) n->attrs.num_layers;
	/* the first position is what pm_node_work() counts */
	matrix = e * cells * (pm_rnn_steps(n) - 1) * u->gates * pm_rnn_hidden(n) * pm_rnn_hidden(n);
	state = e * cells * pm_rnn_tokens(n, batch) * pm_rnn_hidden(n);
	w->bytes_forward += matrix + u->passes_forward * state;
	w->kernels_forward = cells * pm_rnn_steps(n) * u->kernels_forward;
	if (w->kernels_backward > 0)
	{
		w->bytes_backward += MATRIX_PASSES * matrix + u->passes_backward * state;
		w->kernels_backward = cells * pm_rnn_steps(n) * u->kernels_backward;
	}
}
