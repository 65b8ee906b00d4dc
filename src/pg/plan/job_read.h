/*
 * job_read.h - a job as its row in a table says it.
 */
#ifndef PM_PG_PLAN_JOB_READ_H
#define PM_PG_PLAN_JOB_READ_H

#include "plan/job_rows.h"

/* What the row says beside what pm_job_row shows. */
typedef struct pm_job_question
{
	pm_asked_words words;
	bool		has_batch;
	const char *no_batch;		/* why not */
	bool		has_graph_id;
	char	   *graph;			/* name, or NULL */
	char	   *taken;			/* a sentence about a word that was taken for another; NULL: none was */
	const char *not_meant;		/* why that means no graph */
	int32		gpu_count;
	double		steps;			/* NaN: none */
	double		done;
	double		duration_s;
	double		duration_p90_s;
} pm_job_question;

/*
 * Read a row of the query of pm_jobs_read() into *r and *q; texts are in cxt.  What the row says that nobody can mean
 * is in their notes.
 */
extern void pm_job_read_row(uint64 row, MemoryContext cxt, pm_job_row *r, pm_job_question *q);

/* A column of the query; NULL: DT_NOBEGIN. */
extern TimestampTz pm_job_time_or_none(uint64 row, int col);

#endif
