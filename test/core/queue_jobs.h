/*
 * queue_jobs.h - jobs for the tests of plan/.
 */
#ifndef TEST_QUEUE_JOBS_H
#define TEST_QUEUE_JOBS_H

#include "plan/order.h"

/* A job that waits, one that runs. */
static inline pm_queue_job
waiting(double submit_s, double p50_s, int gpus)
{
	return (pm_queue_job) {.submit_s = submit_s,.deadline_s = INFINITY,.elapsed_s = -1,.work = pm_duration_of(NAN, p50_s, NAN),.gpus = gpus};
}

static inline pm_queue_job
running(double elapsed_s, double p50_s, int gpus)
{
	pm_queue_job j = waiting(-elapsed_s, p50_s, gpus);

	j.elapsed_s = elapsed_s;
	return j;
}

#endif
