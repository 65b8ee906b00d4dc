/*
 * evidence.h - Bayesian regression: a few numbers, each with a normal prior with
 * mean 0, from measured steps of one card.
 *
 * u = z . v + error of the structure + error of the row
 *
 * Rows of one structure have a common error, so a network that was measured at ten
 * batches counts as one network, but the differences between its rows count, too.
 * Structures and rows with unusually large errors count less (Student's t).
 */
#ifndef PM_EVIDENCE_H
#define PM_EVIDENCE_H

#include "base/core.h"

#define PM_STRUCTURE_SD	0.10	/* usual error of a structure, in logarithms ... */
#define PM_ROW_SD		0.05	/* ... and of a row of it */

typedef struct pm_evidence
{
	int			n;				/* rows, those of a structure next to each other */
	int			p;				/* numbers */
	double	   *z;				/* [n, p] */
	double	   *u;				/* [n] ln(measured / predicted) */
	double	   *weight;			/* [n] of the row, usually 1 */
	int		   *structure;		/* [n] */
	const double *prior;		/* [p] standard deviations, > 0 */
} pm_evidence;

/*
 * v[p]: the most probable numbers; precision[p, p]: the inverse of their covariance,
 * both triangles; NULL: not wanted.  Memory comes from scratch.  PM_ERR_MEMORY, and
 * errors of the solver.
 */
pm_code		pm_evidence_solve(const pm_evidence *e, double *v, double *precision, pm_arena *scratch, pm_status *st);

/* Add to precision[p, p] the precision that one more structure with rows z[n, p] gives at usual errors. weight[n], sum_z[p]: scratch. For tests. */
void		pm_evidence_add(double *precision, int p, const double *z, int n, double *weight, double *sum_z);

#endif
