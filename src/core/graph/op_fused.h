/*
 * op_fused.h - operators that a compiler makes one kernel of, when they follow each other.
 *
 * TorchInductor fuses what works on single elements or on rows (Ansel et al. 2024, PyTorch 2, section 4.4).
 */
#ifndef PM_OP_FUSED_H
#define PM_OP_FUSED_H

#include "graph/graph.h"

/* Reductions end a kernel: who reads them waits for all of it. */
bool		pm_op_ends_kernel(const pm_node *n);
bool		pm_op_is_fused(const pm_node *n);

#endif
