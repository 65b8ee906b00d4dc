/*
 * nnls.c - non-negative least squares by an active set.
 *
 * A coefficient is either free or held at 0.  The one whose growth would
 * lower the error fastest is freed, the free ones are solved for; those that
 * would turn negative are held again.  A new one goes to the end of the
 * Cholesky factor, so that only its row is computed; rows behind one that is
 * held again are computed anew.
 */
#include <math.h>
#include <string.h>

#include "nn/nnls.h"
#include "nn/solve.h"

#define GRADIENT_EPS	1e-12	/* of the largest element of h: what rounding leaves of a zero */
#define PIVOT_EPS		1e-11	/* of a column's squared length: what others leave of it when they express it */
#define ROUNDS			10		/* a coefficient; the method needs about one */

typedef enum hold
{
	HELD, FREE, DEPENDENT		/* held for good until another is held again */
} hold;

typedef struct nnls
{
	int			n;
	const double *g;
	const double *h;
	double	   *scale;			/* [n] 1 / length of a column; 0: an empty one */
	double	   *factor;			/* [n,n] Cholesky factor of the free part */
	double	   *x;				/* [n] in scaled columns */
	double	   *z;				/* [n] solution of the free part, in the order of index */
	int		   *index;			/* [n] the free ones */
	int			n_free;
	int			n_factored;		/* first rows of factor that are still those of index */
	hold	   *state;			/* [n] */
} nnls;

static double
scaled_g(const nnls *s, int i, int j)
{
	return s->g[(size_t) i * s->n + j] * s->scale[i] * s->scale[j];
}

/* Half the downward slope of the error along coefficient j. */
static double
slope(const nnls *s, int j)
{
	double		w = s->h[j] * s->scale[j];

	for (int k = 0; k < s->n_free; k++)
		w -= scaled_g(s, j, s->index[k]) * s->x[s->index[k]];
	return w;
}

/* The held coefficient that is worth most to free; -1: none, the optimum is reached. */
static int
steepest(const nnls *s, double least)
{
	int			best = -1;

	for (int j = 0; j < s->n; j++)
		if (s->state[j] == HELD && s->scale[j] > 0)
		{
			double		w = slope(s, j);

			if (w > least)
			{
				least = w;
				best = j;
			}
		}
	return best;
}

/* One row of the Cholesky factor; false when the rows above express it. */
static bool
factor_row(nnls *s, int i)
{
	double	   *row = s->factor + (size_t) i * s->n;

	for (int j = 0; j <= i; j++)
		row[j] = scaled_g(s, s->index[i], s->index[j]);
	return pm_cholesky_row(s->factor, s->n, i, PIVOT_EPS);
}

/* z: the optimum over the free coefficients without their sign; false when the last one depends on the others. */
static bool
solve_free(nnls *s)
{
	for (; s->n_factored < s->n_free; s->n_factored++)
		if (!factor_row(s, s->n_factored))
			return false;
	for (int i = 0; i < s->n_free; i++)
		s->z[i] = s->h[s->index[i]] * s->scale[s->index[i]];
	pm_cholesky_solve(s->factor, s->n, s->n_free, s->z);
	return true;
}

/* Go from x towards z as far as nothing turns negative; false when all the way. */
static bool
step_and_hold(nnls *s)
{
	double		share = 1;
	int			first = -1;
	int			kept = 0;

	for (int k = 0; k < s->n_free; k++)
	{
		double		x = s->x[s->index[k]];

		if (s->z[k] <= 0 && (first < 0 || x / (x - s->z[k]) < share))
		{
			share = x > 0 ? x / (x - s->z[k]) : 0;
			first = k;
		}
	}
	for (int k = 0; k < s->n_free; k++)
	{
		int			j = s->index[k];

		s->x[j] += share * (s->z[k] - s->x[j]);
		if (first >= 0 && (k == first || s->x[j] <= 0))
		{
			s->x[j] = 0;
			s->state[j] = HELD;
			s->n_factored = kept < s->n_factored ? kept : s->n_factored;
		}
		else
			s->index[kept++] = j;
	}
	s->n_free = kept;
	return first >= 0;
}

static void
forget_dependence(nnls *s)
{
	for (int j = 0; j < s->n; j++)
		if (s->state[j] == DEPENDENT)
			s->state[j] = HELD;
}

/*
 * Free j and restore the optimum over the free ones.  A column that the
 * others express, or whose own coefficient rounding turns negative at once,
 * has nothing to give: it is set aside, or it would be tried for ever.
 */
static void
release(nnls *s, int j)
{
	s->index[s->n_free++] = j;
	s->state[j] = FREE;
	if (!solve_free(s) || s->z[s->n_free - 1] <= 0)
	{
		s->n_free--;
		s->n_factored = s->n_factored < s->n_free ? s->n_factored : s->n_free;
		s->state[j] = DEPENDENT;
		return;
	}
	while (step_and_hold(s))
	{
		forget_dependence(s);
		/* a part of what was independent is, but for rounding: then x stays where it got to */
		if (!solve_free(s))
			return;
	}
}

static bool
prepare(nnls *s, const double *g, const double *h, int n, pm_arena *a)
{
	s->n = n;
	s->g = g;
	s->h = h;
	s->scale = PM_NEW(a, double, n);
	s->factor = PM_NEW(a, double, (size_t) n * n);
	s->x = PM_NEW(a, double, n);
	s->z = PM_NEW(a, double, n);
	s->index = PM_NEW(a, int, n);
	s->state = PM_NEW(a, hold, n);
	if (!s->scale || !s->factor || !s->x || !s->z || !s->index || !s->state)
		return false;
	for (int j = 0; j < n; j++)
		if (g[(size_t) j * n + j] > 0)
			s->scale[j] = 1 / sqrt(g[(size_t) j * n + j]);
	return true;
}

pm_code
pm_nnls(const double *g, const double *h, int n, double *x, pm_arena *scratch, pm_status *st)
{
	nnls		s = {0};
	double		largest = 0;
	int			j;

	if (!prepare(&s, g, h, n, scratch))
		return pm_no_memory(st, scratch);
	for (int i = 0; i < n; i++)
		largest = fmax(largest, fabs(h[i] * s.scale[i]));
	/* the error falls with each release; only rounding could go round in circles, at the optimum */
	for (int round = 0; round < ROUNDS * n && (j = steepest(&s, GRADIENT_EPS * largest)) >= 0; round++)
		release(&s, j);
	for (int i = 0; i < n; i++)
		x[i] = s.x[i] * s.scale[i];
	return PM_OK;
}
