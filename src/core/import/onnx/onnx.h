/*
 * onnx.h - ONNX models become perfmodel-graph/1 documents.
 *
 * The way of a model, one file each:
 *   wire.c    cuts large payloads and unknown fields out of the bytes
 *   decode.c  protobuf-c, then values and nodes by number
 *   fold.c    finds what exporters have taken apart (LayerNormalization, Gelu ...)
 *   run.c     walks the nodes at one batch size, with rules from rules_*.c:
 *             shapes, constants, and the operators that PyTorch would launch
 *   document.c  compares two such walks, which tells what follows the batch
 *             size, and writes the document
 *
 * Weights are never copied: only their shapes matter.
 */
#ifndef PM_ONNX_H
#define PM_ONNX_H

#include "base/core.h"
#include "graph/graph_json.h"

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
	const char *name;			/* of the graph; NULL: that of the model's graph */
	int			batch_dim;		/* dimension of every input that is the batch; -1: find the dynamic one */
	int			n_dims;
	const pm_onnx_dim *dims;	/* [n_dims] */
} pm_onnx_options;

/*
 * Turn the model in bytes[len] into a document for pm_graph_from_json.
 * *text is of the arena, *text_len without the final NUL.  PM_ERR_INPUT: not a
 * model, or one that cannot be understood, with node, operator and inputs in
 * the message; PM_ERR_LIMIT; PM_ERR_MEMORY; PM_CANCELLED when hooks (may be
 * NULL) say stop.
 */
pm_code		pm_onnx_document(const void *bytes, size_t len, const pm_onnx_options *options, const pm_hooks *hooks,
							 pm_arena *a, char **text, size_t *text_len, pm_status *st);

/* i-th operator that has a rule, NULL behind the last, for documentation and tests. */
const char *pm_onnx_operator(int i);

#endif
