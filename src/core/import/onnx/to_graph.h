/*
 * to_graph.h - two walks over a model become one graph.  Private to the importer.
 */
#ifndef PM_ONNX_TO_GRAPH_H
#define PM_ONNX_TO_GRAPH_H

#include "import/onnx/walk.h"

/* *g, in m->arena: the finished graph from the walks a and b over m at two batch sizes. PM_ERR_INPUT, PM_ERR_LIMIT, PM_ERR_MEMORY, PM_CANCELLED. */
pm_code		ox_to_graph(ox_model *m, const ox_run *a, const ox_run *b, pm_graph *g);

#endif
