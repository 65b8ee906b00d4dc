/*
 * unrolled.h - work of recurrent layers if no library has a fused kernel for
 * them.
 */
#ifndef PM_UNROLLED_H
#define PM_UNROLLED_H

#include "graph/op_work.h"

/*
 * Change *w, the work of node i from pm_node_work() at the same batch and dtype,
 * to the work without fused kernels for recurrent layers: gates and products with
 * the hidden state run position by position, and so do their gradients, which
 * autograd adds.  *w of other nodes does not change.
 */
void		pm_rnn_unroll(const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_work *w);

#endif
