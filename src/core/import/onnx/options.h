/*
 * options.h - what the importer reads, and what a caller may say about a model.
 */
#ifndef PM_ONNX_OPTIONS_H
#define PM_ONNX_OPTIONS_H

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

#endif
