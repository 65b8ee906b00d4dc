/*
 * rules_layers.h - rules for recurrent layers and attention that fold.c joined.
 * Private to the importer.
 */
#ifndef PM_ONNX_RULES_LAYERS_H
#define PM_ONNX_RULES_LAYERS_H

#include "import/onnx/walk.h"

/* The rules (ox_rule_fn) for a fused attention, and for LSTM, GRU and RNN. */
bool		ox_scaled_dot_product(ox_run *r, const ox_node *n);
bool		ox_recurrent(ox_run *r, const ox_node *n);

#endif
