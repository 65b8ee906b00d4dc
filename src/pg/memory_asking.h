/*
 * memory_asking.h - questions about memory, read and made ready.
 */
#ifndef PM_PG_MEMORY_ASKING_H
#define PM_PG_MEMORY_ASKING_H

#include "cache/memory_cache.h"
#include "errors.h"
#include "memory/divide.h"
#include "question.h"

/* Valid until the next pm_freshen(). */
typedef struct pm_memory_question
{
	pm_question question;
	pm_cached  *graph;
	pm_step_options options;
	const pm_memory_plan *plan;
	pm_memory_plan divided;		/* plan, where several GPUs train together */
	bool		is_divided;
	double		again_share;	/* of the layers, those that are run as options say; the others keep all */
	pm_memory_split split;		/* from which plan, and how; its plan is NULL if it is not divided */
	pm_memory_factors factors;
} pm_memory_question;

#define PM_MEMORY_SURE	0.95	/* "fits" is said of that probability */

/* Read the arguments of a question, and the one that says whether activations are checkpointed. False: one is NULL. */
extern bool pm_memory_read(FunctionCallInfo fcinfo, int checkpointing_arg, pm_asked_words *words, pm_manner *how, bool *checkpointing);

/* False: *p says why there is no answer. Raises for what is not the question's fault. */
extern bool pm_memory_ask(const pm_asked_words *words, bool checkpointing, pm_memory_question *m, pm_problem *p);

/* The plan once more, after m->options have changed. */
extern void pm_memory_plan_again(const pm_asked_words *words, pm_memory_question *m);

#endif
