/*
 * evidence.c - Bayesian regression with errors of structures.
 *
 * The errors of the rows of a structure have the covariance
 * D + tau^2 1 1', D diagonal, whose inverse is
 * W - W 1 1' W / (1 / tau^2 + sum of W), W = 1 / D (Woodbury).
 */
#include "predictor/evidence.h"

#include <math.h>
#include <string.h>

#include "nn/solve.h"

#define FREEDOM			4.0		/* of Student's t */
#define KNOWN_AS		10		/* the errors of structures are PM_STRUCTURE_SD as if so many structures had shown it */
#define ROUNDS			20

static int
end_of(const pm_evidence *e, int from)
{
	int			end = from;

	while (end < e->n && e->structure[end] == e->structure[from])
		end++;
	return end;
}

/* m[p, p] += factor a a' */
static void
add_square(double *m, int p, double factor, const double *a)
{
	for (int j = 0; j < p; j++)
		if (a[j] != 0)
			for (int k = 0; k < p; k++)
				m[(size_t) j * p + k] += factor * a[j] * a[k];
}

/* One structure's part of the normal equations: w[n] are 1 / variances of its rows, belief how far it counts. y, u may be NULL. */
static void
add_structure(double *m, double *y, int p, const double *z, const double *u, const double *w, int n, double tau, double belief,
			  double *sum_z)
{
	double		sum_w = 0,
				sum_u = 0;
	double		pull;

	memset(sum_z, 0, p * sizeof(double));
	for (int i = 0; i < n; i++)
	{
		const double *zi = z + (size_t) i * p;

		add_square(m, p, belief * w[i], zi);
		sum_w += w[i];
		if (u != NULL)
			sum_u += w[i] * u[i];
		for (int k = 0; k < p; k++)
		{
			sum_z[k] += w[i] * zi[k];
			if (y != NULL)
				y[k] += belief * w[i] * zi[k] * u[i];
		}
	}
	pull = 1 / (1 / (tau * tau) + sum_w);
	add_square(m, p, -belief * pull, sum_z);
	for (int k = 0; k < p && y != NULL; k++)
		y[k] -= belief * pull * sum_z[k] * sum_u;
}

typedef struct solution
{
	double	   *v;				/* [p] */
	double	   *m;				/* [p, p] */
	double	   *left;			/* [p, p] of m, overwritten */
	double	   *y;				/* [p] */
	double	   *sum_z;			/* [p] */
	double	   *error;			/* [n] */
	double	   *w;				/* [n] */
	double		tau;
} solution;

static void
set_errors(const pm_evidence *e, solution *s)
{
	for (int i = 0; i < e->n; i++)
	{
		s->error[i] = e->u[i];
		for (int k = 0; k < e->p; k++)
			s->error[i] -= e->z[(size_t) i * e->p + k] * s->v[k];
	}
}

/* Of Student's t: how far an error counts whose usual square is `variance`. */
static double
belief_in(double square, double variance)
{
	return (FREEDOM + 1) / (FREEDOM + square / variance);
}

/* Mean error of a structure, and how far it counts. */
static double
structure_error(const pm_evidence *e, const solution *s, int from, int end)
{
	double		sum = 0,
				total = 0;

	for (int i = from; i < end; i++)
	{
		sum += e->weight[i] * s->error[i];
		total += e->weight[i];
	}
	return sum / total;
}

/* The normal equations; trusting: every row and structure counts as it is. */
static void
build(const pm_evidence *e, bool trusting, solution *s)
{
	memset(s->m, 0, (size_t) e->p * e->p * sizeof(double));
	memset(s->y, 0, e->p * sizeof(double));
	for (int i = 0; i < e->n;)
	{
		int			end = end_of(e, i);
		double		mean = structure_error(e, s, i, end);
		double		rows = PM_ROW_SD * PM_ROW_SD;

		for (int k = i; k < end; k++)
			s->w[k] = e->weight[k] / rows * (trusting ? 1 : fmin(belief_in((s->error[k] - mean) * (s->error[k] - mean), rows), 1));
		add_structure(s->m, s->y, e->p, e->z + (size_t) i * e->p, e->u + i, s->w + i, end - i, s->tau,
					  trusting ? 1 : fmin(belief_in(mean * mean, s->tau * s->tau + rows / (end - i)), 1), s->sum_z);
		i = end;
	}
	for (int k = 0; k < e->p; k++)
		s->m[(size_t) k * e->p + k] += 1 / (e->prior[k] * e->prior[k]);
}

/* Errors that structures show, towards the usual ones while they are few. */
static void
set_tau(const pm_evidence *e, solution *s)
{
	double		sum = 0;
	int			n = 0;

	for (int i = 0; i < e->n; n++)
	{
		int			end = end_of(e, i);
		double		mean = structure_error(e, s, i, end);

		sum += mean * mean * belief_in(mean * mean, s->tau * s->tau);
		i = end;
	}
	s->tau = sqrt((KNOWN_AS * PM_STRUCTURE_SD * PM_STRUCTURE_SD + sum) / (KNOWN_AS + n));
}

static bool
make_room(const pm_evidence *e, double *v, pm_arena *a, solution *s)
{
	size_t		square = (size_t) e->p * e->p;

	*s = (solution) {.v = v, .m = PM_NEW(a, double, square), .left = PM_NEW(a, double, square), .y = PM_NEW(a, double, e->p),
		.sum_z = PM_NEW(a, double, e->p), .error = PM_NEW(a, double, e->n + 1), .w = PM_NEW(a, double, e->n + 1),
		.tau = PM_STRUCTURE_SD};
	return s->m && s->left && s->y && s->sum_z && s->error && s->w;
}

pm_code
pm_evidence_solve(const pm_evidence *e, double *v, double *precision, pm_arena *scratch, pm_status *st)
{
	solution	s;

	if (!make_room(e, v, scratch, &s))
		return pm_no_memory(st, scratch);
	memset(v, 0, e->p * sizeof(double));
	set_errors(e, &s);
	for (int round = 0; round < ROUNDS; round++)
	{
		if (pm_stopped(scratch, st))
			return PM_CANCELLED;
		build(e, round == 0, &s);
		memcpy(s.left, s.m, (size_t) e->p * e->p * sizeof(double));
		/* the priors make m positive definite; where rounding does not leave it so, v stays as it is */
		if (!pm_solve_spd(s.left, s.y, e->p))
			break;
		memcpy(v, s.y, e->p * sizeof(double));
		set_errors(e, &s);
		/* a scale that goes on moving would keep the rest moving too */
		if (round < ROUNDS / 2)
			set_tau(e, &s);
	}
	if (precision != NULL)
		memcpy(precision, s.m, (size_t) e->p * e->p * sizeof(double));
	return PM_OK;
}

void
pm_evidence_add(double *precision, int p, const double *z, int n, double *weight, double *sum_z)
{
	for (int i = 0; i < n; i++)
		weight[i] = 1 / (PM_ROW_SD * PM_ROW_SD);
	add_structure(precision, NULL, p, z, NULL, weight, n, PM_STRUCTURE_SD, 1, sum_z);
}
