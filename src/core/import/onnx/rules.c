/*
 * rules.c - the rules by name, and the operators that are refused.
 */
#include "import/onnx/rules.h"

#include <string.h>

#include "import/onnx/operands.h"

/* Operators that have no place in a graph of fixed operators. */
static bool
refuse_control(ox_run *r, const ox_node *n)
{
	ox_error(r, "loops and branches are not supported");
	pm_hint(r->m->st, "Export the model by tracing, so that loops are unrolled and branches decided.");
	return false;
}

static bool
refuse_data(ox_run *r, const ox_node *n)
{
	ox_error(r, "the size of its result depends on data, so the graph has no fixed shapes");
	pm_hint(r->m->st, "Cut the model before this operator, or export it without pre- and postprocessing.");
	return false;
}

static bool
refuse_type(ox_run *r, const ox_node *n)
{
	ox_error(r, "sequences, optional values and strings are not supported");
	pm_hint(r->m->st, "Cut the model before this operator, or export it without pre- and postprocessing.");
	return false;
}

static const ox_rule refused[] =
{
	{"If", refuse_control, 0, -1, ""}, {"Loop", refuse_control, 0, -1, ""}, {"Scan", refuse_control, 0, -1, ""},
	{"NonZero", refuse_data, 0, -1, ""}, {"Unique", refuse_data, 0, -1, ""}, {"Compress", refuse_data, 0, -1, ""},
	{"NonMaxSuppression", refuse_data, 0, -1, ""},
	{"SequenceAt", refuse_type, 0, -1, ""}, {"SequenceConstruct", refuse_type, 0, -1, ""},
	{"SequenceEmpty", refuse_type, 0, -1, ""}, {"SequenceErase", refuse_type, 0, -1, ""},
	{"SequenceInsert", refuse_type, 0, -1, ""}, {"SequenceLength", refuse_type, 0, -1, ""},
	{"SequenceMap", refuse_type, 0, -1, ""}, {"SplitToSequence", refuse_type, 0, -1, ""},
	{"ConcatFromSequence", refuse_type, 0, -1, ""}, {"Optional", refuse_type, 0, -1, ""},
	{"OptionalGetElement", refuse_type, 0, -1, ""}, {"OptionalHasElement", refuse_type, 0, -1, ""},
	{"StringNormalizer", refuse_type, 0, -1, ""}, {"TfIdfVectorizer", refuse_type, 0, -1, ""},
	{"StringConcat", refuse_type, 0, -1, ""}, {"StringSplit", refuse_type, 0, -1, ""}, {"RegexFullMatch", refuse_type, 0, -1, ""},
	{NULL, NULL, 0, 0, NULL}
};

/* The last is that of what is refused. */
static const ox_rule *const tables[] = {ox_rules_elementwise, ox_rules_windows, ox_rules_products, ox_rules_layers, ox_rules_norms,
ox_rules_shapes, ox_rules_moves, refused};

static const ox_rule *
find_in(const ox_rule *table, const char *name)
{
	for (; table->name != NULL; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

/* The standard's operators, and those of com.microsoft, which also takes the standard's names. */
const ox_rule *
ox_rule_find(const char *domain, const char *op)
{
	char		full[96] = "com.microsoft.";
	bool		contrib = strcmp(domain, "com.microsoft") == 0;
	const ox_rule *rule;

	if (domain[0] != '\0' && strcmp(domain, "ai.onnx") != 0 && !contrib)
		return NULL;
	if (strlen(op) > sizeof(full) - 20)
		return NULL;
	strcat(full, op);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (contrib && (rule = find_in(tables[i], full)) != NULL)
			return rule;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if ((rule = find_in(tables[i], op)) != NULL)
			return rule;
	return NULL;
}

const char *
ox_rule_name(int i)
{
	for (size_t t = 0; t + 1 < sizeof(tables) / sizeof(tables[0]); t++)
		for (const ox_rule *rule = tables[t]; rule->name != NULL; rule++)
			if (i-- == 0)
				return rule->name;
	return NULL;
}
