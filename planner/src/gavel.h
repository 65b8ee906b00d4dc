/*
 * gavel.h - which share of its time each job gets on which kind of device: Gavel's programmes.
 *
 * After Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for
 * Deep Learning Workloads" (OSDI 2020), as its published code has them
 * (scheduler/policies). X[m][j] is the share of time that job m runs on kind j,
 * T[m][j] how many steps a second it does there, g[m] how many devices it holds:
 *
 *   sum_j X[m][j] <= 1,   sum_m g[m] X[m][j] <= workers[j],   X >= 0
 *
 *   max_min    maximise the least of g[m] / w[m] * T[m].X[m] / T[m].P,
 *              P[j] = workers[j] / n / max(1, sum_j workers[j] / n): an equal share
 *   makespan   minimise the time in which all jobs end: maximise 1 / tau with
 *              T[m].X[m] >= steps[m] / tau
 *   cost       maximise sum_mj T[m][j] / (price[j] g[m]) X[m][j] with
 *              T[m].X[m] >= steps[m] / deadline[m]: each job's steps for its own
 *              money, added up, not all steps for all money; Gavel leaves g[m] out
 *
 * Jobs with the same numbers are one job to the programme, with a multiplicity:
 * the programmes are linear, so some best solution treats equals equally.
 *
 * With many different jobs, max_min and makespan are solved by prices of the
 * devices (decompose.h), to within 1 in 100,000 of a bound that is reported.
 */
#ifndef PLANNER_GAVEL_H
#define PLANNER_GAVEL_H

#include "decompose.h"
#include "lp.h"

typedef enum gavel_policy
{
	GAVEL_MAX_MIN,
	GAVEL_MAKESPAN,
	GAVEL_COST,
	GAVEL_N_POLICIES
} gavel_policy;

extern const char *const gavel_policy_name[GAVEL_N_POLICIES];	/* max_min, makespan, cost */

/* Numbers of one job; all finite, steps and devices above 0. */
typedef struct gavel_job
{
	double		gpus;
	double		weight;			/* max_min: > 0 */
	double		steps;			/* makespan, cost */
	double		deadline_s;		/* cost: > 0; INFINITY: none */
} gavel_job;

typedef struct gavel_input
{
	int			n_jobs;
	int			n_kinds;
	const gavel_job *jobs;
	const double *throughput;	/* [n_jobs * n_kinds] steps a second; 0: cannot run there */
	const double *workers;		/* [n_kinds] devices, >= 0 */
	const double *price;		/* [n_kinds] of a device and hour, > 0; cost only */
	int			whole_up_to;	/* max_min, makespan: with more different jobs the programme is decomposed; 0: GAVEL_WHOLE_UP_TO */
} gavel_input;

#define GAVEL_WHOLE_UP_TO	500

typedef struct gavel_result
{
	double		objective;		/* max_min: the least fairness; makespan: seconds; cost: the sum above */
	double		bound;			/* no shares have a better one; the objective itself where the programme was solved as a whole */
	double	   *share;			/* [n_jobs * n_kinds] X */
	double	   *unmet;			/* [n_jobs] cost: share of the rate that its deadline needs which it does not get */
	int			n_classes;		/* different jobs */
} gavel_result;

/*
 * Fill *r; share and unmet are the caller's. Deadlines that cannot be met are
 * met as far as can be (unmet > 0). LP_INFEASIBLE: makespan, and a job that can
 * run nowhere.
 */
extern lp_status gavel_assign(const gavel_input *in, gavel_policy policy, planner_alloc alloc, bool (*stop) (void *arg), void *arg, gavel_result *r);

#endif
