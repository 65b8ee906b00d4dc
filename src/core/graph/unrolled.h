/*
 * unrolled.h - work of recurrent layers if no library has a fused kernel for
 * them.
 */
#ifndef PM_UNROLLED_H
#define PM_UNROLLED_H

#include "graph/op_work.h"

/*
 * Make *w, what pm_node_work() says of node i at the same batch and dtype, the
 * work on a processor that has no fused kernels for recurrent layers: the
 * gates and the products with the hidden state run position by position, and
 * so do their gradients, which autograd adds up.  Other nodes are left as they are.
 */
void		pm_rnn_unroll(const pm_graph *g, int i, int64_t batch, pm_dtype dtype, pm_work *w);

#endif
