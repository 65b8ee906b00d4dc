/*
 * lstm.c - one direction of an LSTM.
 *
 * All sequences take a step together, so that a step is one matrix product.
 */
#include "nn/lstm.h"

#include <string.h>

/* The step before t, or -1. */
static inline int
before(const pm_lstm *l, int t)
{
	int			p = l->reverse ? t + 1 : t - 1;

	return p < l->steps ? p : -1;
}

/* The i-th step in the order of time. */
static inline int
step_at(const pm_lstm *l, int i)
{
	return l->reverse ? l->steps - 1 - i : i;
}

/* c = mask (f c_before + i g), tanh_c and h likewise; c_before NULL: zero */
PM_CLONES static void
cells_forward(const pm_real *gates, const pm_real *c_before, const pm_real *mask, int r, int h,
			  pm_real *c, pm_real *tanh_c, pm_real *out)
{
	for (int s = 0; s < r; s++)
	{
		const pm_real *i = gates + (size_t) s * 4 * h;
		pm_real    *cs = c + (size_t) s * h;

		for (int j = 0; j < h; j++)
			cs[j] = mask[s] * (i[j] * i[3 * h + j] + (c_before ? i[h + j] * c_before[(size_t) s * h + j] : 0));
	}
	memcpy(tanh_c, c, (size_t) r * h * sizeof(pm_real));
	pm_tanh(tanh_c, (size_t) r * h);
	for (int s = 0; s < r; s++)
		for (int j = 0; j < h; j++)
			out[(size_t) s * h + j] = mask[s] * gates[(size_t) s * 4 * h + 2 * h + j] * tanh_c[(size_t) s * h + j];
}

void
pm_lstm_forward(const pm_lstm *l, const pm_real *wh, const pm_real *mask, pm_lstm_acts *t)
{
	int			h = l->h;
	size_t		wide = (size_t) l->r * 4 * h;
	size_t		narrow = (size_t) l->r * h;

	for (int k = 0; k < l->steps; k++)
	{
		int			at = step_at(l, k);
		int			p = before(l, at);
		pm_real    *z = t->gates + at * wide;

		if (p >= 0)
			pm_gemm(false, false, l->r, 4 * h, h, 1, t->out + p * narrow, h, wh, 4 * h, 1, z, 4 * h);
		for (int s = 0; s < l->r; s++)
		{
			pm_sigmoid(z + (size_t) s * 4 * h, 3 * h);
			pm_tanh(z + (size_t) s * 4 * h + 3 * h, h);
		}
		cells_forward(z, p >= 0 ? t->c + p * narrow : NULL, mask + (size_t) at * l->r, l->r, h,
					  t->c + at * narrow, t->tanh_c + at * narrow, t->out + at * narrow);
	}
}

/*
 * Gradient through one step's cells: gates become the gradient of z, and dc
 * that of the cell before.
 */
PM_CLONES static void
cells_back(pm_real *gates, pm_real *dc, const pm_real *dout, const pm_real *c_before, const pm_real *tanh_c,
		   const pm_real *mask, int r, int h)
{
	for (int s = 0; s < r; s++)
		for (int j = 0; j < h; j++)
		{
			pm_real    *z = gates + (size_t) s * 4 * h + j;
			size_t		at = (size_t) s * h + j;
			pm_real		i = z[0];
			pm_real		f = z[h];
			pm_real		o = z[2 * h];
			pm_real		g = z[3 * h];
			pm_real		dh = mask[s] * dout[at];
			pm_real		d = mask[s] * (dc[at] + dh * o * (1 - tanh_c[at] * tanh_c[at]));

			z[0] = d * g * i * (1 - i);
			z[h] = c_before ? d * c_before[at] * f * (1 - f) : 0;
			z[2 * h] = dh * tanh_c[at] * o * (1 - o);
			z[3 * h] = d * i * (1 - g * g);
			dc[at] = d * f;
		}
}

void
pm_lstm_back(const pm_lstm *l, pm_real *dwh, pm_real *dout, const pm_real *wh, const pm_real *mask, pm_lstm_acts *t)
{
	int			h = l->h;
	size_t		wide = (size_t) l->r * 4 * h;
	size_t		narrow = (size_t) l->r * h;

	memset(t->dc, 0, narrow * sizeof(pm_real));
	for (int k = l->steps - 1; k >= 0; k--)
	{
		int			at = step_at(l, k);
		int			p = before(l, at);
		pm_real    *dz = t->gates + at * wide;

		cells_back(dz, t->dc, dout + at * narrow, p >= 0 ? t->c + p * narrow : NULL, t->tanh_c + at * narrow,
				   mask + (size_t) at * l->r, l->r, h);
		if (p >= 0)
			pm_gemm(false, true, l->r, h, 4 * h, 1, dz, 4 * h, wh, 4 * h, 1, dout + p * narrow, h);
	}
	/* all pairs of a step and the one before it in one product */
	pm_gemm(true, false, h, 4 * h, (l->steps - 1) * l->r, 1, t->out + (l->reverse ? narrow : 0), h,
			t->gates + (l->reverse ? 0 : wide), 4 * h, 1, dwh, 4 * h);
}
