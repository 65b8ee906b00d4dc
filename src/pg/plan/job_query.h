/*
 * job_query.h - the query that reads the jobs of a table.
 */
#ifndef PM_PG_PLAN_JOB_QUERY_H
#define PM_PG_PLAN_JOB_QUERY_H

#include "plan/job_table.h"

/* Columns of the query, in its order. */
enum
{
	Q_ID = 1, Q_TEAM, Q_GRAPH, Q_GRAPH_ID, Q_GPU, Q_GPU_COUNT, Q_BATCH, Q_DTYPE, Q_LAYOUT, Q_FRAMEWORK, Q_OPTIMIZER, Q_CLUSTER, Q_WEIGHT, Q_NOISE, Q_STEPS, Q_DONE, Q_DURATION,
	Q_P90, Q_SUBMITTED, Q_STARTED, Q_DEADLINE, Q_FINISHED, Q_LIVE
};

/*
 * A row for each job that is not over, by the time of submission.  recent: those, too, that were submitted or ended after
 * the time in the argument behind the table's own.
 */
extern char *pm_job_query(const pm_job_table *t, bool recent);

/* Raise for text that is no time, in all rows (recent) or in those of jobs that are not over. Within SPI. */
extern void pm_job_check_times(const pm_job_table *t, bool recent);

/*
 * Raise for any text in the rows of pm_job_query() that cannot be read as what its column means.  asked: the table with
 * all arguments of the query.  Within SPI.
 */
extern void pm_job_check_values(const pm_job_table *t, const pm_job_table *asked, bool recent);

#endif
