/*
 * decompose.h - the largest rate that all of many different jobs can have, by prices of devices.
 *
 *   maximise t  with  rate[m].X[m] >= t,  sum_j X[m][j] <= 1,
 *                     sum_m use[m] X[m][j] <= workers[j],  X >= 0
 *
 * As one linear programme it has two rows a job, and takes a solver time that
 * grows faster than the jobs. But jobs meet in the devices alone: once these
 * have prices, the cheapest shares of a job for a rate are a walk along a convex
 * hull of as many points as there are kinds. So jobs are dealt to groups; a
 * small programme (the master) mixes what groups have offered so far, and its
 * dual variables are the next prices (Dantzig and Wolfe 1960). Prices are
 * drawn towards the best ones so far, or they swing (Wentges 1997).
 *
 * Every prices give a bound that no shares can exceed, by duality. The answer
 * has both: what is reached, and the bound.
 */
#ifndef PLANNER_DECOMPOSE_H
#define PLANNER_DECOMPOSE_H

#include "lp.h"

/* Stop where the bound is this near, in parts of it, or after so many rounds of prices. */
#define DECOMPOSE_GAP		1e-5
#define DECOMPOSE_ROUNDS	200

typedef struct decompose_input
{
	int			n;				/* jobs */
	int			n_kinds;
	const double *rate;			/* [n * n_kinds] >= 0 */
	const double *use;			/* [n] devices that all of its time takes, > 0 */
	const double *workers;		/* [n_kinds] >= 0 */
} decompose_input;

typedef struct decompose_result
{
	double	   *share;			/* [n * n_kinds] X, of the caller */
	double		objective;		/* t that these shares reach */
	double		bound;			/* no shares reach more */
	int			rounds;
} decompose_result;

/* Memory for `size` bytes, or NULL. */
typedef void *(*planner_alloc) (size_t size);

/* Fill *r; without jobs, with 0. A job that can run nowhere makes 0 of everything: leave it out. LP_STOPPED, LP_NO_MEMORY, LP_FAILED as of lp_solve(). */
extern lp_status decompose(const decompose_input *in, planner_alloc alloc, bool (*stop) (void *arg), void *arg, decompose_result *r);

#endif
