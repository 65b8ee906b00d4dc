/*
 * rivals.h - simpler estimates of memory, to compare the simulation with.
 */
#ifndef PM_MEMORY_RIVALS_H
#define PM_MEMORY_RIVALS_H

#include "memory/calibrate.h"

typedef enum pm_memory_method
{
	PM_MEMORY_CALIBRATED,		/* the simulation, factors from the other folds */
	PM_MEMORY_SHIPPED,			/* the simulation, factors as shipped */
	PM_MEMORY_SUMS,				/* regression on a constant and bytes of weights, of all outputs and of the largest */
	PM_MEMORY_STATIC,			/* context, weights, gradients, optimizer's states and all outputs, nothing fitted */
	PM_N_MEMORY_METHODS
} pm_memory_method;

extern const char *const pm_memory_method_name[PM_N_MEMORY_METHODS];

/* A measured peak with what the methods know of it. MB. */
typedef struct pm_memory_rival_row
{
	pm_memory_sample sample;	/* its network decides the fold: rows of one number stay together */
	double		weights,
				states,			/* gradients and the optimizer's */
				outputs,
				largest,
				inputs,			/* of the network */
				walk;			/* what walk.h says, with weights and states of the optimizer, as the allocator holds it */
} pm_memory_rival_row;

/* weights to walk of a row of a plan at a batch. */
void		pm_memory_rival_row_at(const pm_memory_plan *plan, int64_t batch, pm_memory_rival_row *row);

/* Coefficients of the regression on sums of bytes. */
#define PM_N_MEMORY_SUMS	4

/*
 * Fit the regression to n rows, least squares of relative errors; x[PM_N_MEMORY_SUMS].
 * without: the fold of pm_memory_compare() that is left out, -1: none.
 */
void		pm_memory_sums_fit(const pm_memory_rival_row *rows, int n, int without, double *x);
/* MB. */
double		pm_memory_sums_at(const pm_memory_rival_row *row, const double *x);
/* MB: context, weights, gradients, optimizer's states and all outputs. */
double		pm_memory_static_at(const pm_memory_rival_row *row, const pm_memory_factors *shipped);

typedef struct pm_memory_error
{
	double		mape,			/* percent */
				median,
				p90;
} pm_memory_error;

/*
 * Errors of every method on n rows, each predicted from the other four fifths
 * of the networks. errors[PM_N_MEMORY_METHODS]. PM_ERR_DATA: n is 0; PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_memory_compare(const pm_memory_rival_row *rows, int n, bool is_cpu, const pm_memory_factors *shipped, pm_arena *a,
							  pm_memory_error *errors, pm_status *st);

#endif
