/*
 * onnx.h - ONNX models become graphs.
 *
 * The way of a model, one file each:
 *   wire.c    cuts large payloads and unknown fields out of the bytes
 *   decode.c  protobuf-c, then values and nodes by number
 *   fold.c    finds what exporters have taken apart (LayerNormalization, Gelu ...)
 *   run.c     walks the nodes at one batch size, with rules from rules_*.c:
 *             shapes, constants, and the operators that PyTorch would launch
 *   to_graph.c  compares two such walks, which tells what follows the batch
 *             size, and makes the graph
 *
 * Weights are never copied: only their shapes matter.
 */
#ifndef PM_ONNX_H
#define PM_ONNX_H

#include "import/onnx/options.h"

/*
 * Turn the model in bytes[len] into a finished graph; all memory is of a, whose
 * hooks are asked on the way.  g->name is NULL when options name it.
 * PM_ERR_INPUT: not a model, or one that cannot be understood, with node,
 * operator and inputs in the message; PM_ERR_LIMIT; PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_onnx_import(const void *bytes, size_t len, const pm_onnx_options *options, pm_arena *a, pm_graph *g, pm_status *st);

/* i-th operator that has a rule, NULL behind the last, for documentation and tests. */
const char *pm_onnx_operator(int i);

#endif
