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
 * layout, framework, optimizer, mode, world_size, nodes, cluster, parallel, predictor, level, on_error. What it has not is
 * NULL or 0 in *q, which stands for the default.  False when an argument is
 * NULL whose NULL makes the answer NULL: all but framework, predictor, nodes, cluster and parallel.
 */
extern bool pm_question_read(FunctionCallInfo fcinfo, pm_asked_words *q, pm_manner *how);

/*
 * Of arguments that it is false for: true, with *p filled, where on_error is 'null' and NULL arguments are to be named;
 * false where NULL is the answer to NULL.
 */
extern bool pm_question_absent(FunctionCallInfo fcinfo, pm_problem *p);

/* The problem of a question that lacks something: what, such as "gpu is null". */
extern void pm_problem_incomplete(const char *what, pm_problem *p);

/*
 * Read the members of an object: those above up to parallel, and "graph", the
 * name of a graph in place of its id. predictor of *q is left alone.  False
 * when a member that the answer needs is missing or null; *p says which.  Raises
 * for members that are not known or not of the right type.  A graph whose name is
 * not known is graph_id 0 with *p filled.
 */
extern bool pm_question_from_jsonb(Jsonb *question, pm_asked_words *q, pm_problem *p);

/* What the words mean. False: *p says why they mean nothing. Raises for what is not the question's fault. */
extern bool pm_question_resolve(const pm_asked_words *q, pm_asked *to, pm_problem *p);

/* The same without a predictor, and without its graph, which *graph is: for what needs none. */
extern bool pm_question_resolve_alone(const pm_asked_words *q, pm_question *to, pm_cached **graph, pm_problem *p);

/* The problem of a question of inference on several GPUs. */
extern void pm_problem_infer_on_several(pm_problem *p);

/* What the predictor alone needs of the words; raises. */
extern void pm_question_predictor(const pm_asked_words *q, pm_predictor_ref *ref);

#endif
