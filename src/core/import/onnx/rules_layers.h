/*
 * rules_layers.h - recurrent layers and attention, for what fold.c puts together. Private to the importer.
 */
#ifndef PM_ONNX_RULES_LAYERS_H
#define PM_ONNX_RULES_LAYERS_H

#include "import/onnx/walk.h"

bool		ox_scaled_dot_product(ox_run *r, const ox_node *n);
bool		ox_recurrent(ox_run *r, const ox_node *n);

#endif
