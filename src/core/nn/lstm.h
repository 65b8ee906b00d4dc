/*
 * lstm.h - one direction of an LSTM over many short sequences, forward and
 * backward.
 *
 *   z = x_t Wx + b + h Wh       i, f, o = sigmoid(z), g = tanh(z)
 *   c = mask (f c + i g)        h = mask (o tanh(c))
 *
 * (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000.)
 * The caller computes x_t Wx + b, once for inputs that repeat.  Row t * r + s is
 * step t of sequence s.  Where mask is 0, the state is zero, so a sequence may
 * begin late and end early.
 */
#ifndef PM_LSTM_H
#define PM_LSTM_H

#include "nn/nn.h"

typedef struct pm_lstm
{
	int			h;				/* width of the state */
	int			steps;
	int			r;				/* sequences */
	bool		reverse;		/* from the last step to the first */
} pm_lstm;

/* Activations; every one [steps * r, ...]. */
typedef struct pm_lstm_acts
{
	pm_real    *gates;			/* 4h: i, f, o, g; before the forward pass x Wx + b */
	pm_real    *c;				/* h */
	pm_real    *tanh_c;			/* h */
	pm_real    *out;			/* h: the states */
	pm_real    *dc;				/* [r, h] scratch of the backward pass */
} pm_lstm_acts;

/* From t->gates, which has x Wx + b, to t->out.  wh[h, 4h]; mask[steps * r] of 0 and 1. */
void		pm_lstm_forward(const pm_lstm *l, const pm_real *wh, const pm_real *mask, pm_lstm_acts *t);
/*
 * dout[steps * r, h]: gradient of t->out, overwritten.  Adds to dwh; leaves
 * the gradient of x Wx + b in t->gates.
 */
void		pm_lstm_back(const pm_lstm *l, pm_real *dwh, pm_real *dout, const pm_real *wh, const pm_real *mask,
						 pm_lstm_acts *t);

#endif
