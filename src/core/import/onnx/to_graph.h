/*
 * to_graph.h - two walks over a model become one graph.  Private to the importer.
 */
#ifndef PM_ONNX_TO_GRAPH_H
#define PM_ONNX_TO_GRAPH_H

#include "import/onnx/walk.h"

/* Compare the walks a and b at two batch sizes; *g is finished, its memory of m->arena. */
pm_code		ox_to_graph(ox_model *m, const ox_run *a, const ox_run *b, pm_graph *g);

#endif
