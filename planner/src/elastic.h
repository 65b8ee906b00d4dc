/*
 * elastic.h - how many devices of which kind each job gets, when jobs can run on more or fewer.
 *
 *   optimus  Every job gets its least number of devices where it is fastest, the
 *            shortest first. Then, again and again, the job gets its next number
 *            whose remaining time falls most for each device more, until none
 *            gains (Peng et al., EuroSys 2018).
 *   sia      Choose at most one number and kind for each job so that the sum of
 *            1.1 - (goodput / the job's least goodput)^-0.5 is largest (Sia, SOSP
 *            2023: its 0/1 programme with p = -0.5, and 1.1 for a job without
 *            devices). The linear programme is solved, and at most one job for
 *            each kind of device comes out in parts; these are rounded, and what
 *            is left over is given to whoever gains most. `bound` says how good
 *            any choice could be.
 */
#ifndef PLANNER_ELASTIC_H
#define PLANNER_ELASTIC_H

#include "gavel.h"

typedef enum elastic_policy
{
	ELASTIC_OPTIMUS,
	ELASTIC_SIA,
	ELASTIC_N_POLICIES
} elastic_policy;

extern const char *const elastic_policy_name[ELASTIC_N_POLICIES];	/* optimus, sia */

/* Numbers of devices are in rising order. */
typedef struct elastic_input
{
	int			n_jobs;
	int			n_kinds;
	int			n_counts;
	const double *count;		/* [n_counts] devices */
	const double *goodput;		/* [job][kind][count] samples a second; 0: cannot run so */
	const double *work;			/* [n_jobs] samples left; optimus only */
	const double *workers;		/* [n_kinds] devices */
} elastic_input;

typedef struct elastic_result
{
	int		   *kind;			/* [n_jobs] -1: none */
	int		   *count;			/* [n_jobs] index of count[] */
	double		objective;		/* sia: the sum; optimus: seconds that all jobs with devices still need, added up */
	double		bound;			/* sia: no choice has a larger sum; optimus: 0 */
} elastic_result;

/* Fill *r, whose arrays are the caller's. */
extern lp_status elastic_allocate(const elastic_input *in, elastic_policy policy, planner_alloc alloc, bool (*stop) (void *arg), void *arg, elastic_result *r);

#endif
