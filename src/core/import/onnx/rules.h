/*
 * rules.h - the rule for each operator. Private to the importer.
 */
#ifndef PM_ONNX_RULES_H
#define PM_ONNX_RULES_H

#include "import/onnx/walk.h"

/* Computes the outputs of n in the walk r (walk.h). False: an error. */
typedef bool (*ox_rule_fn) (ox_run *r, const ox_node *n);

typedef struct ox_rule
{
	const char *name;			/* "Conv", or "com.microsoft.FusedMatMul" */
	ox_rule_fn	apply;
	int			min_in;
	int			max_in;			/* -1: any number */
	const char *as;				/* name in the new graph; NULL: the same */
} ox_rule;

/* The rule for the operator op of a domain ("": ONNX's own); NULL: there is none. */
const ox_rule *ox_rule_find(const char *domain, const char *op);
/* Name of the i-th rule, from 0, without refused operators; NULL after the last. */
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
