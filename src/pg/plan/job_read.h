/*
 * job_read.h - reads a job from its row in a table.
 */
#ifndef PM_PG_PLAN_JOB_READ_H
#define PM_PG_PLAN_JOB_READ_H

#include "datatype/timestamp.h"

#include "question.h"

/* What a function shows of a job beside the plan. Times that are not there are DT_NOBEGIN. */
typedef struct pm_job_row
{
	char	   *id;				/* or NULL */
	char	   *team;			/* or NULL */
	char	   *gpu;			/* usual name where it is one of a device, else as it stands there; NULL: none */
	TimestampTz submitted_at;
	TimestampTz started_at;
	TimestampTz deadline;
	TimestampTz finished_at;	/* of what is over, where that was asked for */
	double		p10_s;			/* of the whole run from its start; NaN: no forecast, or no interval */
	double		p50_s;
	double		p90_s;
	double		step_ms;		/* NaN: not known */
	double		steps_left;		/* NaN: not known */
	double		share_left;		/* of the work: p50_s and so on are of that */
	bool		live;			/* waits or runs; not: over, and read for what was submitted of late */
	bool		asked;			/* the predictor was */
	bool		hindsight;		/* it is over, and its forecast is what it took */
	bool		lacks_memory;	/* waits, and surely does not fit into the memory of its device */
	bool		lacks_count;	/* nobody knows how many devices it needs; in queue[] it has one */
	double		weight;			/* NaN: none given */
	double		noise_scale;	/* NaN: none given */
	bool		in_domain;
	bool		domain_known;
	char	   *note;			/* or NULL */
} pm_job_row;

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

/* Put a further sentence into the note of a row. */
extern void pm_job_note(pm_job_row *row, const char *what);

/*
 * Read a row of the query of pm_jobs_read() into *r and *q; texts are in cxt.  A value that cannot be is
 * left out of both, and a note of one of them says which.
 */
extern void pm_job_read_row(uint64 row, MemoryContext cxt, pm_job_row *r, pm_job_question *q);

/* A column of the query; NULL: DT_NOBEGIN. */
extern TimestampTz pm_job_time_or_none(uint64 row, int col);

#endif
