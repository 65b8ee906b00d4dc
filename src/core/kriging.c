/*
 * kriging.c - see kriging.h.
 *
 * LENGTH and NOISE were chosen on left-out structures of the timm rows; errors
 * of members on rows of their own training sets cannot choose them (docs/mdot.md).
 */
#include "kriging.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"

#define LENGTH		0.8
#define NOISE		1.0
#define REACH		4.0			/* standardised coordinates are held to +-REACH */
#define RESIDUAL	1.0			/* residuals to +-RESIDUAL: a few wild ones must not bend the surface */

typedef struct point
{
	uint64_t	key;
	int			row;
} point;

static int
by_key(const void *a, const void *b)
{
	const point *x = a;
	const point *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->row - y->row;
}

/*
 * The points: first[p] is a row that lies there, mean[p] the mean residual,
 * count[p] how many rows there are.  Returns their number, at most
 * PM_KRIGING_MAX; keys are hashes, so that those beyond are a random choice.
 */
static int
find_points(point *order, const uint64_t *key, const double *residual, int n, int *first, double *mean, double *count)
{
	int			points = 0;

	for (int i = 0; i < n; i++)
		order[i] = (point) {pm_mix(key[i]), i};
	qsort(order, n, sizeof(point), by_key);
	for (int i = 0; i < n; i++)
	{
		int			row = order[i].row;

		if (i == 0 || order[i].key != order[i - 1].key)
		{
			if (points == PM_KRIGING_MAX)
				break;
			first[points++] = row;
		}
		mean[points - 1] += fmax(-RESIDUAL, fmin(RESIDUAL, residual[row]));
		count[points - 1]++;
	}
	for (int p = 0; p < points; p++)
		mean[p] /= count[p];
	return points;
}

static void
fit_scale(pm_kriging *k, const pm_real *raw, const int *first)
{
	for (int j = 0; j < k->d; j++)
	{
		double		sum = 0,
					squares = 0,
					variance;

		for (int p = 0; p < k->n; p++)
			sum += raw[(size_t) first[p] * k->d + j];
		for (int p = 0; p < k->n; p++)
		{
			double		off = raw[(size_t) first[p] * k->d + j] - sum / k->n;

			squares += off * off;
		}
		variance = squares / k->n;
		k->mean[j] = (pm_real) (sum / k->n);
		k->factor[j] = variance > 1e-12 ? (pm_real) (1 / sqrt(variance)) : 0;
	}
}

static void
scale(const pm_kriging *k, const pm_real *raw, pm_real *out)
{
	for (int j = 0; j < k->d; j++)
		out[j] = (pm_real) fmax(-REACH, fmin(REACH, (raw[j] - k->mean[j]) * k->factor[j]));
}

static double
covariance(const pm_real *x, const pm_real *y, int d)
{
	double		sum = 0;

	for (int j = 0; j < d; j++)
		sum += (double) (x[j] - y[j]) * (x[j] - y[j]);
	return exp(-sqrt(sum / d) / LENGTH);
}

static pm_code
solve(pm_kriging *k, const double *mean, const double *count, pm_arena *a, pm_status *st)
{
	double	   *cov = PM_NEW(a, double, (size_t) k->n * k->n);

	if (!cov)
		return pm_no_memory(st, a);
	for (int p = 0; p < k->n; p++)
	{
		for (int q = 0; q < p; q++)
			cov[(size_t) p * k->n + q] = cov[(size_t) q * k->n + p] =
				covariance(k->at + (size_t) p * k->d, k->at + (size_t) q * k->d, k->d);
		cov[(size_t) p * k->n + p] = 1 + NOISE / count[p];
	}
	memcpy(k->alpha, mean, k->n * sizeof(double));
	return pm_solve_spd(cov, k->alpha, k->n, st);
}

pm_code
pm_kriging_fit(pm_kriging *k, const pm_real *raw, int d, const double *residual, const uint64_t *key, int n,
			   pm_arena *a, pm_status *st)
{
	point	   *order = PM_NEW(a, point, n);
	int		   *first = PM_NEW(a, int, n);
	double	   *mean = PM_NEW(a, double, n);
	double	   *count = PM_NEW(a, double, n);

	memset(k, 0, sizeof(*k));
	k->d = d;
	if (!order || !first || !mean || !count)
		return pm_no_memory(st, a);
	k->n = find_points(order, key, residual, n, first, mean, count);
	k->mean = PM_NEW(a, pm_real, d);
	k->factor = PM_NEW(a, pm_real, d);
	k->at = PM_NEW(a, pm_real, (size_t) k->n * d);
	k->alpha = PM_NEW(a, double, k->n);
	if (!k->mean || !k->factor || !k->at || !k->alpha)
		return pm_no_memory(st, a);
	fit_scale(k, raw, first);
	for (int p = 0; p < k->n; p++)
		scale(k, raw + (size_t) first[p] * d, k->at + (size_t) p * d);
	return solve(k, mean, count, a, st);
}

double
pm_kriging_correction(const pm_kriging *k, const pm_real *raw, double *nearest)
{
	pm_real		x[PM_SUMMARY_MAX];
	double		sum = 0;
	double		closest = 0;

	if (k->n > 0)
		scale(k, raw, x);
	for (int p = 0; p < k->n; p++)
	{
		double		c = covariance(x, k->at + (size_t) p * k->d, k->d);

		sum += k->alpha[p] * c;
		closest = fmax(closest, c);
	}
	if (nearest != NULL)
		*nearest = closest;
	return sum;
}

/* ---- storing ---- */

void
pm_kriging_save(const pm_kriging *k, pm_buffer *b)
{
	pm_put_u32(b, (uint32_t) k->n);
	pm_put_reals(b, k->mean, k->n > 0 ? k->d : 0);
	pm_put_reals(b, k->factor, k->n > 0 ? k->d : 0);
	pm_put_reals(b, k->at, (size_t) k->n * k->d);
	for (int p = 0; p < k->n; p++)
		pm_put_f64(b, k->alpha[p]);
}

pm_code
pm_kriging_load(pm_kriging *k, int d, pm_reader *r, pm_arena *a, pm_status *st)
{
	memset(k, 0, sizeof(*k));
	k->d = d;
	k->n = (int) pm_get_u32(r, PM_KRIGING_MAX);
	/* a damaged count must not make it ask for memory that the stored numbers do not fill */
	if (r->failed || (r->len - r->at) / sizeof(float) < ((size_t) k->n + 2) * d * (k->n > 0))
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged weights");
	if (k->n == 0)
		return PM_OK;
	k->mean = PM_NEW(a, pm_real, d);
	k->factor = PM_NEW(a, pm_real, d);
	k->at = PM_NEW(a, pm_real, (size_t) k->n * d);
	k->alpha = PM_NEW(a, double, k->n);
	if (!k->mean || !k->factor || !k->at || !k->alpha)
		return pm_no_memory(st, a);
	pm_get_reals(r, k->mean, d);
	pm_get_reals(r, k->factor, d);
	pm_get_reals(r, k->at, (size_t) k->n * d);
	for (int p = 0; p < k->n; p++)
		k->alpha[p] = pm_get_f64(r);
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged weights") : PM_OK;
}
