/*
 * loss.h - losses of one error; each also gives its derivative by the error.
 */
#ifndef PM_LOSS_H
#define PM_LOSS_H

/* Where Huber's loss of a logarithmic error turns from a square into a line: an error of about 20 %. */
#define PM_HUBER_DELTA 0.2

/* Huber's loss: half the square of the error within +-PM_HUBER_DELTA, a line beyond.  *slope: its derivative. */
double		pm_huber(double error, double *slope);
/*
 * Cauchy's loss: scale^2 / 2 ln(1 + (error / scale)^2).  It is half the square of an error far below scale > 0; far above, its
 * *slope falls.
 */
double		pm_cauchy(double error, double scale, double *slope);

#endif
