/*
 * operator_sql.c - documents of single operators, the rows of op_profile.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/memutils.h"

#include "context_arena.h"
#include "graph/op_catalogue.h"
#include "encoding.h"
#include "errors.h"
#include "graphs.h"

PG_FUNCTION_INFO_V1(pm_operator_name);

/* The only node of g that is not an input; an error when there is none or more than one. */
static const pm_node *
only_operator(const pm_graph *g)
{
	const pm_node *found = NULL;
	int			n = 0;

	for (int i = 0; i < g->n_nodes; i++)
		if (strcmp(g->nodes[i].op_name, "Input") != 0)
		{
			found = &g->nodes[i];
			n++;
		}
	if (n != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the document has %d operators besides Input, but must have one", n),
				 errhint("A row of perfmodel.op_profile is about a single operator; whole networks go to perfmodel.load_graph().")));
	return found;
}

/* operator_name(operator jsonb) returns text */
Datum
pm_operator_name(PG_FUNCTION_ARGS)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel operator", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	const pm_node *node;
	pm_arena	arena;
	pm_graph	graph;
	text	   *name;

	pm_context_arena(&arena, work, 0);
	pm_graph_from_doc(PG_GETARG_JSONB_P(0), &arena, &graph);
	node = only_operator(&graph);
	if (node->op == PM_OP_UNKNOWN)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("unknown operator \"%s\"", pm_shown_name(pm_message_from_core(node->op_name))),
				 errdetail("perfmodel does not know operators of this type, and could not learn from their times.")));
	MemoryContextSwitchTo(old);
	name = cstring_to_text(pm_from_core(node->op_name));
	MemoryContextDelete(work);
	PG_RETURN_TEXT_P(name);
}
