/*
 * rules.h - operators by name, and what is done with a node of each. Private to the importer.
 */
#ifndef PM_ONNX_RULES_H
#define PM_ONNX_RULES_H

#include "import/onnx/walk.h"

typedef bool (*ox_rule_fn) (ox_run *r, const ox_node *n);

typedef struct ox_rule
{
	const char *name;			/* "Conv", or "com.microsoft.FusedMatMul" */
	ox_rule_fn	apply;
	int			min_in;
	int			max_in;			/* -1: any number */
	const char *as;				/* name in the document, NULL: the same */
} ox_rule;

/* NULL: not known. */
const ox_rule *ox_rule_find(const char *domain, const char *op);
/* The name of the i-th rule, NULL behind the last; refused operators are left out. */
const char *ox_rule_name(int i);

/* The tables, one for each file of rules; the last row has no name. */
extern const ox_rule ox_rules_elementwise[];
extern const ox_rule ox_rules_windows[];
extern const ox_rule ox_rules_products[];
extern const ox_rule ox_rules_layers[];
extern const ox_rule ox_rules_norms[];
extern const ox_rule ox_rules_shapes[];
extern const ox_rule ox_rules_moves[];
extern const ox_rule ox_rules_fused[];

#endif
