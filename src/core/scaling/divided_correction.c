/*
 * divided_correction.c - a Gaussian process on the differences between measured and
 * predicted steps.
 */
#include "scaling/divided_correction.h"
#include "scaling/groups.h"
#include "nn/solve.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FEATURES	PM_DIVIDED_FEATURES
#define POINTS		PM_DIVIDED_POINTS
#define ROUNDS		2			/* points are chosen anew with the lengths that were found */
#define MAX_PASSES	20
#define SAME		1e-9		/* what the points before may leave of one */

/* Lengths and noises that are tried; a length of 0.7 is a factor of 2. */
static const double lengths[] = {0.35, 0.7, 1.4};
static const double noises[] = {0.05, 0.15, 0.4, 1};
#define N_LENGTHS	((int) (sizeof(lengths) / sizeof(lengths[0])))
#define N_NOISES	((int) (sizeof(noises) / sizeof(noises[0])))

bool
pm_divided_correction_is_for(const pm_parallel *p)
{
	return p->tp * p->pp > 1;
}

void
pm_divided_correction_features(const pm_step_shape *s, const pm_parallel *p, double *x)
{
	x[PM_BY_TP] = log(p->tp);
	x[PM_BY_PP] = log(p->pp);
	x[PM_BY_COPIES] = log(pm_sharers(p));
	x[PM_BY_WIDTH] = log(fmax((s->gradient_bytes + s->frozen_bytes) / (s->layers > 0 ? s->layers : 1), 1)) / 2;
	x[PM_BY_TOKENS] = log(fmax(s->activation_bytes, 1)) - x[PM_BY_WIDTH];
}

static double
distance(const double *x, const double *y, const double *length)
{
	double		sum = 0;

	for (int k = 0; k < FEATURES; k++)
		sum += pow((x[k] - y[k]) / length[k], 2);
	return sum;
}

static double
likeness(const pm_divided_correction *c, const double *x, const double *y)
{
	return exp(-distance(x, y, c->length) / 2);
}

/* False: two points are one, as the lengths see them, or the numbers are not finite. */
static bool
prepare(pm_divided_correction *c)
{
	double		sum = 0;

	for (int i = 0; i < c->n; i++)
	{
		for (int j = 0; j <= i; j++)
			c->factor[i * POINTS + j] = likeness(c, c->at[i], c->at[j]) + (i == j ? c->noise * c->noise : 0);
		if (!pm_cholesky_row(c->factor, POINTS, i, SAME))
			return false;
		c->weight[i] = c->left[i];
		sum += c->left[i] * c->left[i];
	}
	c->spread = fmax(sqrt(sum / c->n), 1e-9);
	pm_cholesky_solve(c->factor, POINTS, c->n, c->weight);
	return isfinite(c->spread);
}

/* ---- points ---- */

/* The next point is the measurement farthest from all points; of[n]: the nearest point of each. */
static void
spread_points(const double *x, int n, pm_divided_correction *c, double *nearest, int *of)
{
	int			next = 0;

	c->n = 0;
	for (int i = 0; i < n; i++)
		nearest[i] = DBL_MAX;
	while (c->n < POINTS && nearest[next] > SAME)
	{
		memcpy(c->at[c->n], x + next * FEATURES, sizeof(c->at[0]));
		for (int i = 0; i < n; i++)
		{
			double		d = distance(x + i * FEATURES, c->at[c->n], c->length);

			if (d < nearest[i])
			{
				nearest[i] = d;
				of[i] = c->n;
			}
		}
		c->n++;
		next = 0;
		for (int i = 1; i < n; i++)
			if (nearest[i] > nearest[next])
				next = i;
	}
}

/* A point becomes the mean of the measurements that are nearest to it. */
static void
average_points(const double *x, const double *left, int n, pm_divided_correction *c, const int *of)
{
	int			count[POINTS] = {0};
	double		squares = 0;

	memset(c->left, 0, sizeof(c->left));
	memset(c->at, 0, sizeof(c->at));
	for (int i = 0; i < n; i++)
	{
		count[of[i]]++;
		c->left[of[i]] += left[i];
		for (int k = 0; k < FEATURES; k++)
			c->at[of[i]][k] += x[i * FEATURES + k];
	}
	for (int p = 0; p < c->n; p++)
	{
		c->left[p] /= count[p];
		for (int k = 0; k < FEATURES; k++)
			c->at[p][k] /= count[p];
	}
	for (int i = 0; i < n; i++)
		squares += pow(left[i] - c->left[of[i]], 2);
	c->scatter = sqrt(squares / n);
	c->rows = n;
}

/* ---- lengths and noise ---- */

/*
 * Minus the logarithm of how likely each point is, told by the others, with the
 * sd that makes them likeliest (Rasmussen and Williams, 5.10 to 5.12).
 */
static double
unlikely(pm_divided_correction *c, double *gain)
{
	double		squares = 0,
				logs = 0,
				error = 0,
				without = 0;

	if (!prepare(c))
		return DBL_MAX;
	for (int i = 0; i < c->n; i++)
	{
		double		unit[POINTS] = {0};
		double		variance,
					e;

		unit[i] = 1;
		pm_cholesky_solve(c->factor, POINTS, c->n, unit);
		variance = 1 / unit[i];
		e = c->weight[i] * variance;
		squares += e * e / variance;
		logs += log(variance) / 2;
		error += fabs(e);
		without += fabs(c->left[i]);
	}
	c->sd = fmax(sqrt(squares / c->n), 1e-6);
	*gain = without > 0 ? error / without : 1;
	return c->n * log(c->sd) + logs;
}

/* How far the points reach along a feature. */
static double
reach(const pm_divided_correction *c, int feature)
{
	double		low = c->at[0][feature];
	double		high = low;

	for (int i = 1; i < c->n; i++)
	{
		low = fmin(low, c->at[i][feature]);
		high = fmax(high, c->at[i][feature]);
	}
	return high - low;
}

/* *what becomes that of the n values of `from` that makes the points likeliest, if it is better than *best. */
static void
choose(pm_divided_correction *c, double *what, const double *from, int n, double *best)
{
	double		chosen = *what;
	double		gain;

	for (int t = 0; t < n; t++)
	{
		double		bad;

		*what = from[t];
		bad = unlikely(c, &gain);
		if (bad < *best - 1e-9)
		{
			*best = bad;
			chosen = from[t];
		}
	}
	*what = chosen;
}

static pm_code
search(pm_divided_correction *c, const pm_arena *a, pm_status *st)
{
	double		gain;
	double		best = unlikely(c, &gain);
	double		before;
	int			pass = 0;

	do
	{
		before = best;
		/* another tp is another set of kernels, whose time nothing tells: that length stays the shortest */
		for (int k = PM_BY_TP + 1; k < FEATURES; k++)
		{
			int			n = 1;

			if (pm_stopped(a, st))
				return PM_CANCELLED;
			while (n < N_LENGTHS && lengths[n] <= reach(c, k))
				n++;
			choose(c, &c->length[k], lengths, n, &best);
		}
		choose(c, &c->noise, noises, N_NOISES, &best);
	} while (best < before - 1e-9 && ++pass < MAX_PASSES);
	return PM_OK;
}

pm_code
pm_divided_correction_fit(const double *x, const double *left, int n, pm_arena *scratch, pm_divided_correction *to, double *gain, pm_status *st)
{
	double	   *nearest = PM_NEW(scratch, double, n > 0 ? n : 1);
	int		   *of = PM_NEW(scratch, int, n > 0 ? n : 1);
	pm_code		rc;

	if (nearest == NULL || of == NULL)
		return pm_no_memory(st, scratch);
	memset(to, 0, sizeof(*to));
	*gain = 1;
	if (n < PM_DIVIDED_MIN_ROWS)
		return PM_OK;
	for (int k = 0; k < FEATURES; k++)
		to->length[k] = lengths[0];
	to->noise = noises[1];
	for (int round = 0; round < ROUNDS; round++)
	{
		spread_points(x, n, to, nearest, of);
		average_points(x, left, n, to, of);
		if ((rc = search(to, scratch, st)) != PM_OK)
			return rc;
	}
	if (unlikely(to, gain) == DBL_MAX || *gain > PM_DIVIDED_WORTH)
		to->n = 0;
	return PM_OK;
}

/*
 * variance: what the points leave of it, 0 to 1.  Near them their errors, told by
 * the others, count; where they say nothing, an error is as large as theirs without correction.
 */
static double
error_share_of(const pm_divided_correction *c, double variance)
{
	double		near = c->sd * c->sd;
	double		far = fmax(c->sd, c->spread) * fmax(c->sd, c->spread);
	double		around = c->scatter * c->scatter;

	return fmin(1, sqrt((variance * (near + variance * (far - near)) + around) / (c->spread * c->spread + around)));
}

double
pm_divided_correction_at(const pm_divided_correction *c, const double *x, double *error_share)
{
	double		like[POINTS];
	double		solved[POINTS];
	double		sum = 0;
	double		variance = 1 + c->noise * c->noise;

	for (int i = 0; i < c->n; i++)
	{
		like[i] = solved[i] = likeness(c, x, c->at[i]);
		sum += c->weight[i] * like[i];
	}
	if (error_share != NULL)
	{
		pm_cholesky_solve(c->factor, POINTS, c->n, solved);
		for (int i = 0; i < c->n; i++)
			variance -= like[i] * solved[i];
		*error_share = error_share_of(c, fmin(1, fmax(variance, c->noise * c->noise)));
	}
	return fmin(PM_DIVIDED_FACTOR, fmax(1 / PM_DIVIDED_FACTOR, exp(sum)));
}

/* ---- the stored form ---- */

void
pm_divided_correction_write(const pm_divided_correction *c, double *to)
{
	*to++ = c->rows;
	*to++ = c->sd;
	*to++ = c->noise;
	*to++ = c->scatter;
	memcpy(to, c->length, sizeof(c->length));
	to += FEATURES;
	for (int i = 0; i < c->n; i++)
	{
		memcpy(to, c->at[i], sizeof(c->at[i]));
		to[FEATURES] = c->left[i];
		to += FEATURES + 1;
	}
}

static bool
between(double v, double min, double max)
{
	return v >= min && v <= max;
}

static bool
is_plausible(const pm_divided_correction *c)
{
	bool		ok = between(c->rows, c->n, INT32_MAX) && between(c->sd, 1e-9, 10) && between(c->noise, 0.01, 10) && between(c->scatter, 0, 10);

	for (int k = 0; k < FEATURES; k++)
		ok = ok && between(c->length[k], 0.1, 10);
	for (int i = 0; i < c->n; i++)
	{
		ok = ok && between(c->left[i], -10, 10);
		for (int k = 0; k < FEATURES; k++)
			ok = ok && between(c->at[i][k], -100, 100);
	}
	return ok;
}

pm_code
pm_divided_correction_read(const double *numbers, int n, pm_divided_correction *to, pm_status *st)
{
	int			points = (n - PM_DIVIDED_HEAD) / (FEATURES + 1);

	memset(to, 0, sizeof(*to));
	if (points >= 1 && points <= POINTS && n == PM_DIVIDED_NUMBERS(points) && between(numbers[0], points, INT32_MAX))
	{
		to->n = points;
		to->rows = (int) numbers[0];
		to->sd = numbers[1];
		to->noise = numbers[2];
		to->scatter = numbers[3];
		memcpy(to->length, numbers + 4, sizeof(to->length));
		for (int i = 0; i < points; i++)
		{
			const double *point = numbers + PM_DIVIDED_HEAD + i * (FEATURES + 1);

			memcpy(to->at[i], point, sizeof(to->at[i]));
			to->left[i] = point[FEATURES];
		}
		if (is_plausible(to) && prepare(to))
			return PM_OK;
	}
	return pm_fail(st, PM_ERR_DATA, "these %d numbers are not a correction that perfmodel.fit_cluster() has stored", n);
}
