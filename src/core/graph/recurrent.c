/*
 * recurrent.c - sizes of recurrent layers.
 */
#include "graph/recurrent.h"

#include <math.h>

#include "graph/op_operands.h"

double
pm_rnn_directions(const pm_node *n)
{
	return n->attrs.bidirectional ? 2 : 1;
}

double
pm_rnn_tokens(const pm_node *n, int64_t batch)
{
	pm_operand	out = pm_output_operand(n);
	double		width = pm_dim_at(&out, -1, 1);

	return width > 0 ? pm_count_at(&out, batch) / width : 0;
}

double
pm_rnn_hidden(const pm_node *n)
{
	pm_operand	out = pm_output_operand(n);

	if (n->attrs.hidden_size > 0)
		return (double) n->attrs.hidden_size;
	return pm_dim_at(&out, -1, 1) / pm_rnn_directions(n);
}

double
pm_rnn_steps(const pm_node *n)
{
	pm_operand	out = pm_output_operand(n);

	return out.shape->rank < 3 ? pm_dim_at(&out, 0, 1) : pm_dim_at(&out, n->batch_dim == 0 ? 1 : 0, 1);
}

double
pm_rnn_matrices(const pm_graph *g, const pm_node *n, double gates)
{
	double		count = 0;
	double		h = pm_rnn_hidden(n);
	double		dirs = pm_rnn_directions(n);
	pm_operand	in = {NULL, -1, -1, false, false};

	for (int i = 0; i < n->n_weights; i++)
		if (n->weights[i].rank >= 2)
			count += pm_shape_count(&n->weights[i]);
	if (count > 0)
		return count;
	if (n->n_inputs > 0)
		in = pm_input_operand(g, n, 0);
	count = dirs * gates * h * (h + pm_dim_at(&in, -1, 1));
	return count + ((double) n->attrs.num_layers - 1) * dirs * gates * h * (h + dirs * h);
}

double
pm_rnn_input_matrices(const pm_graph *g, const pm_node *n, double gates)
{
	const pm_shape *stored = n->n_weights > 0 ? &n->weights[0] : NULL;
	pm_operand	in = {NULL, -1, -1, false, false};

	if (n->n_inputs > 0)
		in = pm_input_operand(g, n, 0);
	else if (n->n_consts > 0)
		in.shape = &n->consts[0];
	/* the first weight, of one direction or stacked: its height tells the gates also where outputs are projected */
	if (stored != NULL && stored->rank >= 2 && stored->dim[stored->rank - 1] == pm_dim_at(&in, -1, 1))
		return pm_shape_count(stored) * (stored->rank == 2 ? pm_rnn_directions(n) : 1);
	return fmin(pm_rnn_directions(n) * gates * pm_rnn_hidden(n) * pm_dim_at(&in, -1, 1), pm_rnn_matrices(g, n, gates));
}
