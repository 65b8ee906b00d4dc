/*
 * question.h - questions as SQL asks them: read from arguments or from jsonb,
 * and turned into questions of the core.
 *
 * The arguments of a function are found by their names, so C does not depend on
 * their order, and each member of a question is read in one place. For a new
 * member, add a line in the table of question.c, one in pm_asked_words, one in
 * pm_question_resolve(), and an argument in SQL.
 */
#ifndef PM_PG_QUESTION_H
#define PM_PG_QUESTION_H

#include "fmgr.h"
#include "utils/jsonb.h"

#include "cache/answer.h"
#include "cache/prepared_cache.h"
#include "problem.h"

/* How a question is to be answered. */
typedef struct pm_manner
{
	double		level;			/* of the interval */
	bool		problem_is_null;	/* on_error => 'null' */
} pm_manner;

/*
 * Read the arguments that the function has of graph_id, gpu, batch, dtype,
 * layout, framework, optimizer, mode, world_size, nodes, cluster, parallel, predictor, level, on_error. For an argument that
 * the function does not have, *q has NULL or 0, which means the default.  Returns
 * false if an argument is NULL, except framework, predictor, nodes, cluster and parallel: then the answer is NULL.
 */
extern bool pm_question_read(FunctionCallInfo fcinfo, pm_asked_words *q, pm_manner *how);

/*
 * After pm_question_read() returned false.  With on_error => 'null': true, and *p names the NULL arguments.  Otherwise false:
 * the answer is NULL.
 */
extern bool pm_question_absent(FunctionCallInfo fcinfo, pm_problem *p);

/* Fill *p for an incomplete question; what says what is missing, such as "gpu is null". */
extern void pm_problem_incomplete(const char *what, pm_problem *p);

/*
 * Read the members of an object: those above up to parallel, and "graph", the
 * name of a graph in place of its id. q->predictor does not change.  Returns
 * false if a member that the answer needs is missing or null; *p says which.
 * Raises for unknown members and for wrong types.  If the name of a graph is not
 * known, graph_id is 0 and *p is filled.
 */
extern bool pm_question_from_jsonb(Jsonb *question, pm_asked_words *q, pm_problem *p);

/*
 * Look up the words of a question. False: *p says what is wrong with the question, also that its dtype is fp8 or that it is about
 * torch.compile. Raises for all other failures.
 */
extern bool pm_question_resolve(const pm_asked_words *q, pm_asked *to, pm_problem *p);

/* The same for callers that compute the answer where no predictor has learned it: dtype fp8 and torch.compile (computed.h). */
extern bool pm_question_resolve_computed(const pm_asked_words *q, pm_asked *to, pm_problem *p);

/* pm_question_resolve() without a predictor, for functions that need none; *graph is the graph of the question. */
extern bool pm_question_resolve_alone(const pm_asked_words *q, pm_question *to, pm_cached **graph, pm_problem *p);

/* The number of machines that was given, at least 1: 0 has a meaning of its own in the core, as few as have room. Raises. */
extern int	pm_checked_nodes(int nodes);

/* The dtypes that a question may have, quoted. */
extern char *pm_known_dtypes(void);

/* Fill *p for a question of inference on several GPUs. */
extern void pm_problem_infer_on_several(pm_problem *p);

/* Look up only the predictor of a question. Raises if there is none. */
extern void pm_question_predictor(const pm_asked_words *q, pm_predictor_ref *ref);

#endif
