/*
 * order.c - the order in which jobs of a queue start.
 */
#include "plan/order.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

const char *const pm_policy_name[PM_N_POLICIES] = {"fifo", "sjf", "srtf", "srsf", "edf"};

int
pm_policy_find(const char *name)
{
	for (int i = 0; i < PM_N_POLICIES; i++)
		if (strcasecmp(name, pm_policy_name[i]) == 0)
			return i;
	return -1;
}

double
pm_policy_key(pm_policy policy, const pm_queue_job *j)
{
	double		left = j->work.p50_s - fmax(j->elapsed_s, 0);
	double		key = j->submit_s;

	/* a job that has run longer than was predicted: no time that is known is left */
	left = left < 0 ? 0 : left;
	if (policy == PM_SJF)
		key = j->work.p50_s;
	else if (policy == PM_SRTF)
		key = left;
	else if (policy == PM_SRSF)
		key = left * j->gpus;
	else if (policy == PM_EDF)
		key = j->deadline_s;
	return isnan(key) ? INFINITY : key;
}

typedef struct keyed
{
	double		key;
	double		submit_s;
	int32_t		job;
} keyed;

static int
by_key(const void *a, const void *b)
{
	const keyed *x = a;
	const keyed *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->submit_s != y->submit_s)
		return x->submit_s < y->submit_s ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

pm_code
pm_queue_order(const pm_queue_job *jobs, int n, pm_policy policy, int32_t *order, pm_arena *a, pm_status *st)
{
	keyed	   *k = PM_NEW(a, keyed, n > 0 ? n : 1);

	if (k == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		k[i] = (keyed) {pm_policy_key(policy, &jobs[i]), jobs[i].submit_s, i};
	qsort(k, n, sizeof(keyed), by_key);
	for (int i = 0; i < n; i++)
		order[i] = k[i].job;
	return PM_OK;
}
