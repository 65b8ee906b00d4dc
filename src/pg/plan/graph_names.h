/*
 * graph_names.h - what the name of a network in a table of jobs means: one rule
 * for all that read such a table.
 *
 * The name of a graph means that graph. Else what perfmodel.name_alias says,
 * which must be the name of a graph. Else a graph whose name, or whose model's
 * name, is the same in another spelling (names.h), where there is only one.
 * What is merely similar is never meant.
 *
 * resolve_job_names() says what was found; plans ask only about names that are
 * neither a graph nor in name_alias, which the server's own join has found.
 */
#ifndef PM_PG_PLAN_GRAPH_NAMES_H
#define PM_PG_PLAN_GRAPH_NAMES_H

#include "postgres.h"

#include "plan/names.h"

typedef struct pm_graph_names
{
	bool		read;			/* the table of graphs was */
	MemoryContext cxt;			/* of what is kept */
	pm_arena	arena;
	pm_name_list list;
	char	  **label;			/* [things] names of graphs */
	int64	   *graph_id;		/* [things] */
	struct HTAB *seen;			/* names that pm_graph_of() was asked; NULL: none yet */
} pm_graph_names;

/* A list that is read when it is first asked, in the current context; it lives as long as that. */
extern void pm_graph_names_begin(pm_graph_names *g);

/*
 * What a name means. min_score: least likeness of candidates that are told, 0
 * to 1; 1: none. Returns what name_alias says where that was followed, or NULL;
 * the match is PM_MATCH_UNKNOWN where it leads nowhere. Raises.
 */
extern const char *pm_graph_meant(pm_graph_names *g, const char *name, double min_score, pm_name_found *found);

/*
 * The same for plans, each name looked up once: its graph_id; false: it means
 * none, and *why says why, for a note.
 */
extern bool pm_graph_of(pm_graph_names *g, const char *name, int64 *graph_id, const char **why);

/* Room for so many names of so many things, in the current context; raises. */
extern void pm_name_list_begin(pm_name_list *list, char ***label, pm_arena *arena, uint64 things, uint64 names);
extern void pm_name_list_add(pm_name_list *list, const char *name, int32 thing, pm_name_rank rank);
extern pm_name_found pm_name_list_find(const pm_name_list *list, const char *name, double min_score);

#endif
