/*
 * job_memory.h - whether the training step of a job fits into the memory of a
 * device.
 *
 * It uses the model of predict_memory(). A plan in which a job ends with "out
 * of memory" would be worse than no plan.
 */
#ifndef PM_PG_PLAN_JOB_MEMORY_H
#define PM_PG_PLAN_JOB_MEMORY_H

#include "utils/hsearch.h"

#include "question.h"

/* Figures in MB of 2^20 bytes, of each of the devices of the job. NaN: not known. */
typedef struct pm_job_fit
{
	double		need_mb;		/* the least that the step runs with */
	double		has_mb;			/* what the device leaves to programs */
	double		p_fits;			/* probability that it fits */
} pm_job_fit;

/* Whether the step of a question fits. All NaN where the question has a problem, or the memory of the device is not known. */
extern pm_job_fit pm_job_fit_ask(const pm_asked_words *q);

/* What was asked for already, in the current context: jobs of one question are asked for once. */
extern HTAB *pm_job_fits(void);

/* The same, but for what was asked for already. */
extern pm_job_fit pm_job_fit_of(HTAB *fits, const pm_asked_words *q);

/* Whether it surely does not fit: with a probability below 1 - PM_MEMORY_SURE. */
extern bool pm_job_cannot_fit(const pm_job_fit *f);

/* A sentence about a step that does not, or may not, fit on that device; NULL where there is nothing to say. */
extern char *pm_job_fit_note(const pm_job_fit *f, const char *gpu);

#endif
