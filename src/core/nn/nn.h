/*
 * nn.h - layers: forward and backward, and AdamW.
 *
 * Each layer is two functions.  Their arguments are outputs, then inputs, then
 * dimensions.  Backward functions add to the gradients of parameters, and overwrite
 * the gradients of activations unless the comment says otherwise.  Shapes are in
 * brackets, row-major.  These functions allocate nothing and have no state.
 */
#ifndef PM_NN_H
#define PM_NN_H

#include "nn/blas.h"

/* y[r,o] = x[r,i] w[i,o] + b[o]; b may be NULL */
void		pm_linear(pm_real *y, const pm_real *x, const pm_real *w, const pm_real *b, int r, int i, int o);
/* dx[r,i] = dy w^T (dx may be NULL; add: dx += ); dw += x^T dy; db += column sums (db may be NULL) */
void		pm_linear_back(pm_real *dx, pm_real *dw, pm_real *db, const pm_real *dy, const pm_real *x,
						   const pm_real *w, int r, int i, int o, bool add);

/* y = (x - mean) * rstd * g + b over the last dimension; xhat[r,d], rstd[r] kept for backward */
void		pm_layer_norm(pm_real *y, pm_real *xhat, pm_real *rstd, const pm_real *x, const pm_real *g,
						  const pm_real *b, int r, int d);
/* dx[r,d] (add: += ); dg[d], db[d] += */
void		pm_layer_norm_back(pm_real *dx, pm_real *dg, pm_real *db, const pm_real *dy, const pm_real *xhat,
							   const pm_real *rstd, const pm_real *g, int r, int d, bool add);

/* act[r,o] = gelu(x[r,i] w[i,o] + b[o]); slope[r,o] gets the derivative, as pm_gelu() leaves it */
void		pm_linear_gelu(pm_real *act, pm_real *slope, const pm_real *x, const pm_real *w, const pm_real *b, int r, int i, int o);

/*
 * y[n] = gelu(x[n]), tanh form.  x is replaced by the derivative, which shares the
 * costly part and is all that the backward pass needs: pm_mul(dy, x) makes dy to dx.
 */
void		pm_gelu(pm_real *y, pm_real *x, size_t n);

/* in place; n elements */
void		pm_sigmoid(pm_real *x, size_t n);
void		pm_tanh(pm_real *x, size_t n);

/* rows of s[r,c] become softmax(s) in place */
void		pm_softmax(pm_real *s, int r, int c);
/* s[9,n]: rows 0 to 2, 3 to 5 and 6 to 8 become softmax over these three, in each column; for triples */
void		pm_softmax_triples(pm_real *s, int n);
/* ds = a * (da - rowsum(da * a)) in place on da[r,c] */
void		pm_softmax_back(pm_real *da, const pm_real *a, int r, int c);

/* inverted dropout: mask[n] gets 0 (with probability p) or 1/(1-p) */
void		pm_dropout_mask(pm_real *mask, size_t n, double p, pm_rng *rng);
void		pm_mul(pm_real *x, const pm_real *m, size_t n);	/* x *= m */
void		pm_add(pm_real *x, const pm_real *y, size_t n);	/* x += y */
void		pm_mul_by(pm_real *x, pm_real f, size_t n);	/* x *= f */
void		pm_column_sums(pm_real *out, const pm_real *x, int r, int c);	/* out[c] += */
/* Sum of a[n] times b[n]. */
pm_real		pm_dot(const pm_real *a, const pm_real *b, int n);
void		pm_row_sums(pm_real *out, const pm_real *x, int r, int c);	/* out[r] += */
double		pm_sum_squares(const pm_real *x, size_t n);
bool		pm_all_finite(const pm_real *x, size_t n);

/* w[fan_in * fan_out] uniform within +-gain sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010). */
void		pm_init_xavier(pm_real *w, int fan_in, int fan_out, double gain, pm_rng *rng);

/* The constants of AdamW (Loshchilov and Hutter 2019). */
typedef struct pm_adamw
{
	double		rate,
				beta1,
				beta2,
				epsilon,
				weight_decay;
} pm_adamw;
/*
 * One step of n parameters w with moments m and v.  t counts steps from 1; gradients g are multiplied by grad_scale; decay[i] 1:
 * weight decay applies to parameter i.
 */
void		pm_adamw_step(pm_real *w, pm_real *m, pm_real *v, const pm_real *g, const uint8_t *decay, size_t n,
						  const pm_adamw *o, int t, double grad_scale);
/* ema = keep * ema + (1 - keep) * w */
void		pm_ema(pm_real *ema, const pm_real *w, size_t n, double keep);

#endif
