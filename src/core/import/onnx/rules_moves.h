/*
 * rules_moves.h - the rule for a chunk() that fold.c joined. Private to the importer.
 */
#ifndef PM_ONNX_RULES_MOVES_H
#define PM_ONNX_RULES_MOVES_H

#include "import/onnx/walk.h"

/* The rule (ox_rule_fn) for parts of equal sizes along folded.axis, the last ones smaller. */
bool		ox_chunk(ox_run *r, const ox_node *n);

#endif
