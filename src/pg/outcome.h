/*
 * outcome.h - predictions of measurements, and the rows that evaluate() and
 * cross_validate() make of them.
 */
#ifndef PM_PG_OUTCOME_H
#define PM_PG_OUTCOME_H

#include "features/quantity.h"
#include "measurements.h"
#include "results.h"

/* Predictions of rows, in the unit of the quantity; fold -1: not tested. */
typedef struct pm_outcome
{
	const pm_rows *rows;
	const pm_quantity *quantity;
	double	   *measured;		/* [n] */
	double	   *predicted;		/* [n] */
	double	   *low;			/* [n] of the interval at PM_LEVEL_USUAL; NaN: none */
	double	   *high;			/* [n] */
	signed char *domain;		/* [n] 1 in, 0 out, -1 not known */
	int		   *fold;			/* [n] */
} pm_outcome;

/* Times of the folds of a cross-validation. */
typedef struct pm_costs
{
	double		train_s;		/* all trainings together */
	double		predict_s;		/* all predictions together */
	int			n_trained;
	int			n_predicted;
} pm_costs;

/* Room for predictions of rows, in the current context, all in fold 0. Raises when there are no rows. */
extern pm_outcome pm_make_outcome(const pm_rows *rows, const pm_quantity *quantity);

/* Assign rows to folds by a pm_split; returns the number of folds. Raises if the rows do not allow it. */
extern int	pm_assign_folds(pm_outcome *o, int split, int folds, uint64 seed);

/* Add the row "overall", with cost (may be NULL), and the rows of groups of measurements. */
extern void pm_report_errors(pm_rows_out *out, const pm_outcome *o, const pm_costs *cost);
/* Rows for each word among words[rows], in their order; the column grouped_by says grouping. */
extern void pm_report_grouping(pm_rows_out *out, const pm_outcome *o, const char *grouping, const char *const *words);
/* A row for each fold. */
extern void pm_report_folds(pm_rows_out *out, const pm_outcome *o);

#endif
