/*
 * loss.h - losses of one error; each also gives its derivative by the error.
 */
#ifndef PM_LOSS_H
#define PM_LOSS_H

/* Where Huber's loss of a logarithmic error turns from a square into a line: an error of about 20 %. */
#define PM_HUBER_DELTA 0.2

/* Huber's: half the square within +-PM_HUBER_DELTA, a line beyond. */
double		pm_huber(double error, double *slope);
/* Cauchy's: like half the square for errors well below scale; far beyond it errors pull less and less. */
double		pm_cauchy(double error, double scale, double *slope);

#endif
