/*
 * fold_patterns.h - the patterns of operators that are joined. Private to the
 * importer.
 */
#ifndef PM_ONNX_FOLD_PATTERNS_H
#define PM_ONNX_FOLD_PATTERNS_H

#include "import/onnx/fold_tools.h"

/*
 * Each function checks whether node n is the last node of its pattern, and then
 * replaces the pattern.  n has a first input.  PM_OK, also if there is no such
 * pattern; PM_ERR_MEMORY.
 */
pm_code		ox_fold_layer_norm(ox_folder *f, ox_node *n);
pm_code		ox_fold_group_norm(ox_folder *f, ox_node *n);
pm_code		ox_fold_gelu_erf(ox_folder *f, ox_node *n);
pm_code		ox_fold_gelu_tanh(ox_folder *f, ox_node *n);
pm_code		ox_fold_hard(ox_folder *f, ox_node *n);
pm_code		ox_fold_gated(ox_folder *f, ox_node *n);
pm_code		ox_fold_glu(ox_folder *f, ox_node *n);
pm_code		ox_fold_log_sigmoid(ox_folder *f, ox_node *n);
pm_code		ox_fold_reciprocal_root(ox_folder *f, ox_node *n);
pm_code		ox_fold_linear(ox_folder *f, ox_node *n);
pm_code		ox_fold_attention(ox_folder *f, ox_node *n);
pm_code		ox_fold_roll(ox_folder *f, ox_node *n);
pm_code		ox_fold_chunk(ox_folder *f, ox_node *n);
pm_code		ox_fold_padded_pool(ox_folder *f, ox_node *n);
pm_code		ox_fold_packing(ox_folder *f, ox_node *n);
pm_code		ox_fold_stack_layers(ox_folder *f, ox_node *n);

#endif
