/*
 * nn.c - layers and their gradients.
 *
 * Products go to OpenBLAS; the loops between them are ours.  They are written
 * so that the compiler vectorises them (no libm call inside, reductions marked
 * with "omp simd") and compiled for several instruction sets.  No flag relaxes
 * floating point for the whole program: NaN checks must work.
 */
#include "nn/nn.h"

#include <math.h>
#include <string.h>

/*
 * Where fast_exp saturates.  Volatile, because a compiler that knows the
 * limits turns the clamps into branches, and loops with branches do not
 * vectorise; each loop's function reads them once.
 */
typedef struct exp_range
{
	pm_real		low,
				high;
} exp_range;

static const volatile exp_range exp_limits = {-87, 88};

/* To the nearest whole number; without a call in GCC's vectorised loops. */
#ifdef __clang__
#define ROUND(x) ((int32_t) __builtin_lrintf(x))
#else
#define ROUND(x) __builtin_irintf(x)
#endif

/*
 * exp(x) for the loops below.  Float: exact power of two times a polynomial of
 * degree 6 on [-ln2/2, ln2/2] (Cephes' expf coefficients), relative error
 * about 2e-7; saturates at the ends of the range instead of overflowing.
 */
static inline pm_real
fast_exp(pm_real x, exp_range range)
{
	x = x < range.low ? range.low : x;
	x = x > range.high ? range.high : x;
#ifdef PM_DOUBLE
	return exp(x);
#else
	union
	{
		float		f;
		int32_t		i;
	}			scale;
	int32_t		n = ROUND(x * 1.44269504f);
	float		r = x - (float) n * 0.693359375f;
	float		p = 1.9875691500e-4f;

	r = r + (float) n * 2.12194440e-4f;
	p = p * r + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	p = p * r * r + r + 1.0f;
	scale.i = (int32_t) (((uint32_t) n + 127) << 23);	/* n is anything when x is NaN; p is NaN then */
	return p * scale.f;
#endif
}

/* tanh through exp; exact limits on both sides because fast_exp saturates */
static inline pm_real
fast_tanh(pm_real x, exp_range range)
{
	return 1 - 2 / (fast_exp(2 * x, range) + 1);
}

PM_CLONES static void
add_bias(pm_real *y, const pm_real *b, int r, int o)
{
	for (int i = 0; i < r; i++)
		for (int j = 0; j < o; j++)
			y[(size_t) i * o + j] = b[j];
}

void
pm_linear(pm_real *y, const pm_real *x, const pm_real *w, const pm_real *b, int r, int i, int o)
{
	if (b != NULL)
		add_bias(y, b, r, o);
	pm_gemm(false, false, r, o, i, 1, x, i, w, o, b != NULL ? 1 : 0, y, o);
}

void
pm_linear_back(pm_real *dx, pm_real *dw, pm_real *db, const pm_real *dy, const pm_real *x,
			   const pm_real *w, int r, int i, int o, bool add)
{
	if (dx != NULL)
		pm_gemm(false, true, r, i, o, 1, dy, o, w, o, add ? 1 : 0, dx, i);
	pm_gemm(true, false, i, o, r, 1, x, i, dy, o, 1, dw, o);
	if (db != NULL)
		pm_column_sums(db, dy, r, o);
}

PM_CLONES void
pm_column_sums(pm_real *restrict out, const pm_real *restrict x, int r, int c)
{
	int			i = 0;

	for (; i + 4 <= r; i += 4, x += (size_t) 4 * c)
		for (int j = 0; j < c; j++)
			out[j] += (x[j] + x[c + j]) + (x[2 * c + j] + x[3 * c + j]);
	for (; i < r; i++, x += c)
		for (int j = 0; j < c; j++)
			out[j] += x[j];
}

PM_CLONES pm_real
pm_dot(const pm_real *a, const pm_real *b, int n)
{
	pm_real		s = 0;

#pragma omp simd reduction(+:s)
	for (int i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}

PM_CLONES void
pm_row_sums(pm_real *out, const pm_real *x, int r, int c)
{
	for (int i = 0; i < r; i++)
	{
		pm_real		s = 0;

#pragma omp simd reduction(+:s)
		for (int j = 0; j < c; j++)
			s += x[(size_t) i * c + j];
		out[i] += s;
	}
}

/*
 * Layer norms come in the widths that networks have by default, which the
 * compiler can unroll, and in any other.
 */
#define FOR_WIDTHS(call) \
	do { \
		if (d == 64) { enum { D = 64 }; call; } \
		else if (d == 32) { enum { D = 32 }; call; } \
		else { const int D = d; call; } \
	} while (0)

#define INLINE static inline __attribute__((always_inline))

INLINE void
norm_rows(pm_real *restrict y, pm_real *restrict xhat, pm_real *restrict rstd, const pm_real *restrict x,
		  const pm_real *restrict g, const pm_real *restrict b, int r, int d)
{
	for (int i = 0; i < r; i++)
	{
		const pm_real *xi = x + (size_t) i * d;
		pm_real    *hi = xhat + (size_t) i * d;
		pm_real    *yi = y + (size_t) i * d;
		pm_real		mean = 0;
		pm_real		var = 0;
		pm_real		rs;

#pragma omp simd reduction(+:mean)
		for (int j = 0; j < d; j++)
			mean += xi[j];
		mean /= d;
#pragma omp simd reduction(+:var)
		for (int j = 0; j < d; j++)
			var += (xi[j] - mean) * (xi[j] - mean);
		rs = 1 / (pm_real) sqrt(var / d + (pm_real) 1e-5);
		rstd[i] = rs;
		for (int j = 0; j < d; j++)
		{
			hi[j] = (xi[j] - mean) * rs;
			yi[j] = hi[j] * g[j] + b[j];
		}
	}
}

PM_CLONES void
pm_layer_norm(pm_real *y, pm_real *xhat, pm_real *rstd, const pm_real *x, const pm_real *g,
			  const pm_real *b, int r, int d)
{
	FOR_WIDTHS(norm_rows(y, xhat, rstd, x, g, b, r, D));
}

INLINE void
norm_rows_back(pm_real *restrict dx, const pm_real *restrict dy, const pm_real *restrict xhat, const pm_real *restrict rstd,
			   const pm_real *restrict g, int r, int d, bool add)
{
	for (int i = 0; i < r; i++)
	{
		const pm_real *dyi = dy + (size_t) i * d;
		const pm_real *hi = xhat + (size_t) i * d;
		pm_real    *dxi = dx + (size_t) i * d;
		pm_real		s = 0;
		pm_real		sh = 0;

#pragma omp simd reduction(+:s, sh)
		for (int j = 0; j < d; j++)
		{
			s += dyi[j] * g[j];
			sh += dyi[j] * g[j] * hi[j];
		}
		s /= d;
		sh /= d;
		if (add)
			for (int j = 0; j < d; j++)
				dxi[j] += rstd[i] * (dyi[j] * g[j] - s - hi[j] * sh);
		else
			for (int j = 0; j < d; j++)
				dxi[j] = rstd[i] * (dyi[j] * g[j] - s - hi[j] * sh);
	}
}

/* Gain and shift: sums over columns, four rows at a time. */
INLINE void
norm_columns_back(pm_real *restrict dg, pm_real *restrict db, const pm_real *restrict dy, const pm_real *restrict h, int r, int d)
{
	int			i = 0;

	for (; i + 4 <= r; i += 4, dy += (size_t) 4 * d, h += (size_t) 4 * d)
		for (int j = 0; j < d; j++)
		{
			dg[j] += (dy[j] * h[j] + dy[d + j] * h[d + j]) + (dy[2 * d + j] * h[2 * d + j] + dy[3 * d + j] * h[3 * d + j]);
			db[j] += (dy[j] + dy[d + j]) + (dy[2 * d + j] + dy[3 * d + j]);
		}
	for (; i < r; i++, dy += d, h += d)
		for (int j = 0; j < d; j++)
		{
			dg[j] += dy[j] * h[j];
			db[j] += dy[j];
		}
}

PM_CLONES void
pm_layer_norm_back(pm_real *dx, pm_real *dg, pm_real *db, const pm_real *dy, const pm_real *xhat,
				   const pm_real *rstd, const pm_real *g, int r, int d, bool add)
{
	FOR_WIDTHS(norm_rows_back(dx, dy, xhat, rstd, g, r, D, add); norm_columns_back(dg, db, dy, xhat, r, D));
}

#define GELU_A ((pm_real) 0.7978845608028654)	/* sqrt(2/pi) */
#define GELU_B ((pm_real) 0.044715)

static inline pm_real
gelu(pm_real v, pm_real *slope, exp_range range)
{
	pm_real		t = fast_tanh(GELU_A * (v + GELU_B * v * v * v), range);
	pm_real		dt = (1 - t * t) * GELU_A * (1 + 3 * GELU_B * v * v);

	*slope = (pm_real) 0.5 * (1 + t + v * dt);
	return (pm_real) 0.5 * v * (1 + t);
}

PM_CLONES void
pm_gelu(pm_real *restrict y, pm_real *restrict x, size_t n)
{
	const exp_range range = {exp_limits.low, exp_limits.high};

	for (size_t i = 0; i < n; i++)
		y[i] = gelu(x[i], &x[i], range);
}

PM_CLONES static void
gelu_of_sum(pm_real *restrict y, pm_real *restrict x, const pm_real *restrict b, int r, int o)
{
	const exp_range range = {exp_limits.low, exp_limits.high};

	for (int i = 0; i < r; i++)
		for (int j = 0; j < o; j++)
		{
			size_t		at = (size_t) i * o + j;

			y[at] = gelu(x[at] + b[j], &x[at], range);
		}
}

void
pm_linear_gelu(pm_real *act, pm_real *slope, const pm_real *x, const pm_real *w, const pm_real *b, int r, int i, int o)
{
	pm_gemm(false, false, r, o, i, 1, x, i, w, o, 0, slope, o);
	gelu_of_sum(act, slope, b, r, o);
}

PM_CLONES void
pm_sigmoid(pm_real *x, size_t n)
{
	const exp_range range = {exp_limits.low, exp_limits.high};

	for (size_t i = 0; i < n; i++)
		x[i] = 1 / (1 + fast_exp(-x[i], range));
}

PM_CLONES void
pm_tanh(pm_real *x, size_t n)
{
	const exp_range range = {exp_limits.low, exp_limits.high};

	for (size_t i = 0; i < n; i++)
		x[i] = fast_tanh(x[i], range);
}

/* Rows too short to fill a vector: the exponentials of all of them in one loop. */
PM_CLONES static void
softmax_short(pm_real *s, int r, int c)
{
	const exp_range range = {exp_limits.low, exp_limits.high};

	for (int i = 0; i < r; i++)
	{
		pm_real    *si = s + (size_t) i * c;
		pm_real		top = si[0];

		for (int j = 1; j < c; j++)
			top = si[j] > top ? si[j] : top;
		for (int j = 0; j < c; j++)
			si[j] -= top;
	}
	for (size_t i = 0; i < (size_t) r * c; i++)
		s[i] = fast_exp(s[i], range);
	for (int i = 0; i < r; i++)
	{
		pm_real    *si = s + (size_t) i * c;
		pm_real		sum = 0;

		for (int j = 0; j < c; j++)
			sum += si[j];
		sum = 1 / sum;
		for (int j = 0; j < c; j++)
			si[j] *= sum;
	}
}

PM_CLONES static void
softmax_long(pm_real *s, int r, int c)
{
	const exp_range range = {exp_limits.low, exp_limits.high};

	for (int i = 0; i < r; i++)
	{
		pm_real    *si = s + (size_t) i * c;
		pm_real		top = si[0];
		pm_real		sum = 0;

#pragma omp simd reduction(max:top)
		for (int j = 0; j < c; j++)
			top = si[j] > top ? si[j] : top;
#pragma omp simd reduction(+:sum)
		for (int j = 0; j < c; j++)
		{
			si[j] = fast_exp(si[j] - top, range);
			sum += si[j];
		}
		sum = 1 / sum;
		for (int j = 0; j < c; j++)
			si[j] *= sum;
	}
}

void
pm_softmax(pm_real *s, int r, int c)
{
	if (c < 8)
		softmax_short(s, r, c);
	else
		softmax_long(s, r, c);
}

PM_CLONES void
pm_softmax_triples(pm_real *s, int n)
{
	const exp_range range = {exp_limits.low, exp_limits.high};

	for (pm_real *a = s, *b = s + n, *c = s + 2 * n; a < s + 9 * n; a += 3 * n, b += 3 * n, c += 3 * n)
#pragma omp simd
		for (int t = 0; t < n; t++)
		{
			pm_real		top = a[t] > b[t] ? a[t] : b[t];
			pm_real		ea,
						eb,
						ec,
						part;

			top = c[t] > top ? c[t] : top;
			ea = fast_exp(a[t] - top, range);
			eb = fast_exp(b[t] - top, range);
			ec = fast_exp(c[t] - top, range);
			part = 1 / (ea + eb + ec);
			a[t] = ea * part;
			b[t] = eb * part;
			c[t] = ec * part;
		}
}

PM_CLONES void
pm_softmax_back(pm_real *da, const pm_real *a, int r, int c)
{
	for (int i = 0; i < r; i++)
	{
		pm_real    *di = da + (size_t) i * c;
		const pm_real *ai = a + (size_t) i * c;
		pm_real		dot = 0;

#pragma omp simd reduction(+:dot)
		for (int j = 0; j < c; j++)
			dot += di[j] * ai[j];
		for (int j = 0; j < c; j++)
			di[j] = ai[j] * (di[j] - dot);
	}
}

#define DRAWS 64				/* random numbers at a time */

/* No branch: which way it would go cannot be foretold. */
PM_CLONES static void
mask_from_bits(pm_real *restrict mask, const uint64_t *restrict bits, int n, unsigned cut, pm_real keep)
{
	for (int i = 0; i < n / 4; i++)
		for (int k = 0; k < 4; k++)
			mask[4 * i + k] = keep * (pm_real) (int32_t) ((uint32_t) (bits[i] >> 16 * k & 0xffff) >= cut);
	for (int i = n & ~3; i < n; i++)
		mask[i] = keep * (pm_real) (int32_t) ((uint32_t) (bits[i / 4] >> 16 * (i & 3) & 0xffff) >= cut);
}

void
pm_dropout_mask(pm_real *mask, size_t n, double p, pm_rng *rng)
{
	/* Four 16-bit draws from each 64-bit number: p is resolved to 1/65536. */
	const unsigned cut = (unsigned) (p * 65536);
	const pm_real keep = (pm_real) (1 / (1 - p));

	uint64_t	bits[DRAWS];

	for (size_t from = 0; from < n; from += 4 * DRAWS)
	{
		int			left = n - from < 4 * DRAWS ? (int) (n - from) : 4 * DRAWS;

		pm_rng_fill(rng, bits, (left + 3) / 4);
		mask_from_bits(mask + from, bits, left, cut, keep);
	}
}

PM_CLONES void
pm_mul(pm_real *x, const pm_real *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= m[i];
}

PM_CLONES void
pm_mul_by(pm_real *x, pm_real f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= f;
}

PM_CLONES void
pm_add(pm_real *x, const pm_real *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] += y[i];
}

double
pm_sum_squares(const pm_real *x, size_t n)
{
	double		s = 0;

#pragma omp simd reduction(+:s)
	for (size_t i = 0; i < n; i++)
		s += (double) x[i] * x[i];
	return s;
}

bool
pm_all_finite(const pm_real *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

void
pm_init_xavier(pm_real *w, int fan_in, int fan_out, double gain, pm_rng *rng)
{
	double		limit = gain * sqrt(6.0 / (fan_in + fan_out));

	for (size_t i = 0; i < (size_t) fan_in * fan_out; i++)
		w[i] = (pm_real) ((2 * pm_rng_uniform(rng) - 1) * limit);
}

PM_CLONES void
pm_adamw_step(pm_real *w, pm_real *m, pm_real *v, const pm_real *g, const uint8_t *decay, size_t n,
			  const pm_adamw *o, int t, double grad_scale)
{
	const pm_real b1 = (pm_real) o->beta1;
	const pm_real b2 = (pm_real) o->beta2;
	const pm_real scale = (pm_real) grad_scale;
	const pm_real rate = (pm_real) (o->rate / (1 - pow(o->beta1, t)));
	const pm_real fix2 = (pm_real) (1 / (1 - pow(o->beta2, t)));
	const pm_real shrink = (pm_real) (o->rate * o->weight_decay);
	const pm_real eps = (pm_real) o->epsilon;

	for (size_t i = 0; i < n; i++)
	{
		pm_real		gi = g[i] * scale;

		m[i] = b1 * m[i] + (1 - b1) * gi;
		v[i] = b2 * v[i] + (1 - b2) * gi * gi;
#ifdef PM_DOUBLE
		w[i] -= rate * m[i] / (sqrt(v[i] * fix2) + eps) + shrink * (pm_real) decay[i] * w[i];
#else
		w[i] -= rate * m[i] / (sqrtf(v[i] * fix2) + eps) + shrink * (pm_real) decay[i] * w[i];
#endif
	}
}

PM_CLONES void
pm_ema(pm_real *ema, const pm_real *w, size_t n, double keep)
{
	const pm_real k = (pm_real) keep;

	for (size_t i = 0; i < n; i++)
		ema[i] = k * ema[i] + (1 - k) * w[i];
}
