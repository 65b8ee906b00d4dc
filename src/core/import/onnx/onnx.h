/*
 * onnx.h - ONNX models become graphs.
 *
 * The steps, one file each:
 *   wire.c    cuts large payloads and unknown fields out of the bytes
 *   decode.c  decodes them with protobuf-c, and numbers values and nodes
 *   fold.c    joins operators that exporters have taken apart (LayerNormalization,
 *             Gelu ...)
 *   run.c     walks over the nodes at one batch size, with rules from rules_*.c:
 *             shapes, constants, and the operators that PyTorch would launch
 *   to_graph.c  compares two such walks, which shows which dimensions depend on
 *             the batch size, and makes the graph
 *
 * Weights are never copied: only their shapes matter.
 */
#ifndef PM_ONNX_H
#define PM_ONNX_H

#include "import/onnx/options.h"

/*
 * *g: the finished graph of the model in bytes[len].  All memory comes from arena
 * a, whose hooks may stop the import.  If options->name is set, g->name stays NULL,
 * and the caller names the graph.  PM_ERR_INPUT: not a model, or one that cannot be understood, with node,
 * operator and inputs in the message; PM_ERR_LIMIT; PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_onnx_import(const void *bytes, size_t len, const pm_onnx_options *options, pm_arena *a, pm_graph *g, pm_status *st);

/* The i-th operator that has a rule, from 0; NULL after the last. For tests. */
const char *pm_onnx_operator(int i);

#endif
