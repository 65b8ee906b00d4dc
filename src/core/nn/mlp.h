/*
 * mlp.h - a perceptron of one hidden layer: y = gelu(x W1 + b1) W2 + b2.
 */
#ifndef PM_MLP_H
#define PM_MLP_H

#include "nn/tensors.h"
#include "nn/workspace.h"

typedef struct pm_mlp
{
	int			in,
				hidden,
				out;
	size_t		w1, b1, w2, b2; /* where its tensors stand among the parameters */
} pm_mlp;

typedef struct pm_mlp_acts
{
	pm_real    *pre, *act;		/* [rows, hidden] derivative and value of GELU */
	pm_real    *dact;			/* [rows, hidden] scratch of the backward pass */
} pm_mlp_acts;

/* Add the tensors of a perceptron to t, as a part of a network; returns their offsets.  layer: as in pm_tensors_enter().  last: how W2 starts. */
pm_mlp		pm_mlp_add(pm_tensors *t, const char *part, int layer, int in, int hidden, int out, pm_tensor_start last);
/* Take the memory for the activations of a perceptron with `hidden` units over so many rows. */
void		pm_mlp_take(size_t hidden, size_t rows, pm_cursor *c, pm_mlp_acts *t);
/* y[rows, out] from x[rows, in] */
void		pm_mlp_forward(pm_real *y, const pm_real *x, const pm_mlp *m, const pm_real *w, int rows, pm_mlp_acts *t);
/* From dy[rows, out] and the x of the forward pass: adds to grad; dx[rows, in] is overwritten, NULL: not wanted. */
void		pm_mlp_back(pm_real *dx, pm_real *grad, const pm_real *dy, const pm_real *x, const pm_mlp *m,
						const pm_real *w, int rows, pm_mlp_acts *t);

#endif
