/*
 * options.h - the versions that the importer reads, and what a caller can say
 * about a model.
 */
#ifndef PM_ONNX_OPTIONS_H
#define PM_ONNX_OPTIONS_H

#include "graph/graph.h"

#define PM_ONNX_MIN_OPSET	9
#define PM_ONNX_MAX_OPSET	21

/* The size of a dynamic dimension that is not the batch. */
typedef struct pm_onnx_dim
{
	const char *name;			/* dim_param */
	int64_t		value;
} pm_onnx_dim;

typedef struct pm_onnx_options
{
	const char *name;			/* the name that the caller will give the graph; NULL: it gets that of the model's graph */
	int			batch_dim;		/* dimension of every input that is the batch; -1: find the dynamic one */
	int			n_dims;
	const pm_onnx_dim *dims;	/* [n_dims] */
} pm_onnx_options;

#endif
