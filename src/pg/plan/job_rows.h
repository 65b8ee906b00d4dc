/*
 * job_rows.h - jobs of a table in the form that the planning functions use,
 * with the forecast of the duration of each.
 */
#ifndef PM_PG_PLAN_JOB_ROWS_H
#define PM_PG_PLAN_JOB_ROWS_H

#include "datatype/timestamp.h"

#include "plan/backtest.h"
#include "plan/job_read.h"
#include "plan/job_table.h"
#include "question.h"

typedef struct pm_jobs
{
	int			n;				/* that wait or run */
	int			n_all;			/* and, behind them, those that are over */
	pm_job_row *rows;			/* [n_all] */
	pm_queue_job *queue;		/* [n_all] the same for the core; times from `at` */
	char	  **pools;			/* [n_pools] gpu of each; "" for jobs without one */
	int			n_pools;
	int			n_live_pools;	/* of them, the first ones: those of jobs that wait or run */
	int			n_questions;
	struct pm_job_question *questions;	/* [n_all] what the predictor is asked */
	struct HTAB *fits;			/* of job_memory.h: which steps fit into memory */
} pm_jobs;

/*
 * Read the jobs that are not over, in order of submission, into the current
 * context.  If the table has no duration for a job, ask the predictor (NULL: the
 * active one).  If there is no forecast, the note of the job says why; a waiting
 * job that surely does not fit into the memory of its device has none.
 * recent_from: also read finished jobs that were submitted or ended later;
 * DT_NOBEGIN: none.
 */
extern void pm_jobs_read(const pm_job_table *t, text *predictor, TimestampTz at, TimestampTz recent_from, pm_jobs *jobs);

/*
 * The earliest time, but not before recent_from, for which pm_jobs_read() reads at most `most` finished jobs.
 */
extern TimestampTz pm_jobs_read_from(const pm_job_table *t, TimestampTz recent_from, int most);

/* pm_jobs_read() without durations: pools are as in the table, and the only notes are those of lacks_count. */
extern void pm_jobs_read_only(const pm_job_table *t, text *predictor, TimestampTz at, TimestampTz recent_from, pm_jobs *jobs);

/*
 * Predict the step of a job on gpu_count devices of a kind, in this number of machines (0: as few as possible): quantiles of 10,
 * 50 and 90 % in milliseconds.  False: *why says why there is no answer, such as that it does not fit into memory; otherwise
 * *why is the note of the answer, or NULL.
 */
extern bool pm_jobs_step(pm_jobs *jobs, int job, const char *gpu, int gpu_count, int nodes, double *p10_ms, double *p50_ms, double *p90_ms,
						 bool *in_domain, char **why);

/* Samples of one step of a job on gpu_count devices, each with the batch of the table; NaN: the table has no batch. */
extern double pm_jobs_samples(const pm_jobs *jobs, int job, int gpu_count);

/* Steps left of a job. NaN: not known; then *why says what is wrong with its numbers, or is NULL. */
extern double pm_jobs_steps_left(const pm_jobs *jobs, int job, char **why);

/* The question about a job on its own device; NULL: the predictor was not asked. */
extern const pm_asked_words *pm_jobs_asked(const pm_jobs *jobs, int job);

/* Two notes as one; either may be NULL. */
extern char *pm_both_notes(char *a, char *b);

/*
 * Jobs that were submitted after recent_from and until `at`, as waiting jobs with
 * all of their work, in the current context.  Returns their number.
 */
extern int	pm_jobs_recent(const pm_jobs *jobs, TimestampTz recent_from, TimestampTz at, pm_queue_job **recent);

/* All jobs that were submitted until `at`, with their start and end, in the current context. Returns their number. */
extern int	pm_jobs_past(const pm_jobs *jobs, TimestampTz at, pm_past_job **past);

/* The pool of a device by its name; -1: no job asks for one. */
extern int	pm_jobs_pool(const pm_jobs *jobs, const char *gpu);

/* The devices that waiting and running jobs ask for, in quotes, for an error: the first ten. */
extern char *pm_jobs_kinds(const pm_jobs *jobs);

#endif
