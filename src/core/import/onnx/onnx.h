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

#include "graph/graph.h"

#define PM_ONNX_MIN_OPSET	9
#define PM_ONNX_MAX_OPSET	21

/* A dynamic dimension that is not the batch, and what it is to be. */
typedef struct pm_onnx_dim
{
	const char *name;			/* dim_param */
	int64_t		value;
} pm_onnx_dim;

typedef struct pm_onnx_options
{
	const char *name;			/* what the graph will be called; NULL: as the model's graph */
	int			batch_dim;		/* dimension of every input that is the batch; -1: find the dynamic one */
	int			n_dims;
	const pm_onnx_dim *dims;	/* [n_dims] */
} pm_onnx_options;

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
