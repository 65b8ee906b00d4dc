/*
 * recurrent.h - sizes of LSTM, GRU and RNN.
 */
#ifndef PM_RECURRENT_H
#define PM_RECURRENT_H

#include "graph/graph.h"

/* 2 when bidirectional, else 1. */
double		pm_rnn_directions(const pm_node *n);
/* Units of one layer and direction: from the attribute, else from the width of the output. */
double		pm_rnn_hidden(const pm_node *n);
/* Positions of a sequence: the dimension of a rank-3 output that is neither batch nor width. */
double		pm_rnn_steps(const pm_node *n);
/* Positions of all sequences of a batch: elements of the output over its width. */
double		pm_rnn_tokens(const pm_node *n, int64_t batch);
/* Elements of the matrices of all layers and directions; computed from the sizes and the number of gates if the node has no weights. */
double		pm_rnn_matrices(const pm_graph *g, const pm_node *n, double gates);
/* Of these, what the first layer multiplies its input with. */
double		pm_rnn_input_matrices(const pm_graph *g, const pm_node *n, double gates);

#endif
