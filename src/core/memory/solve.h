/*
 * solve.h - the few linear equations of the regressions of memory.
 */
#ifndef PM_MEMORY_SOLVE_H
#define PM_MEMORY_SOLVE_H

/* Solve m x = y by elimination: m[n * n], row after row, symmetric and positive definite. m and y are overwritten. */
void		pm_memory_solve(double *m, double *y, double *x, int n);

#endif
