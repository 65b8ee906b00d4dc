/*
 * probes.c - greedy choice of measurements on the regression of recalibrate.c.
 *
 * With the covariance C of the numbers, the mean variance of all questions is
 * tr(C S), S the mean of z z'.  A measurement z with the error variance v makes
 * C smaller by C z z' C / (v + z' C z), and the mean variance by
 * z' C S C z / (v + z' C z).
 */
#include "predictor/probes.h"

#include <math.h>
#include <string.h>

#include "predictor/evidence.h"

#define NUMBER_STEP		PM_N_FACTORS	/* format and layout are the same in all questions, and go with it */
#define N_NUMBERS		(PM_N_FACTORS + 2)	/* the last: the slope over log_ms */

#define ERROR_VARIANCE	(PM_STRUCTURE_SD * PM_STRUCTURE_SD + PM_ROW_SD * PM_ROW_SD)

typedef struct choice
{
	const pm_probe_questions *q;
	double		centre;			/* mean of log_ms */
	int			p;				/* numbers that some question answers to */
	int			map[N_NUMBERS];	/* [p] which */
	double		c[N_NUMBERS][N_NUMBERS];	/* [p][p] covariance of the numbers */
	double		s[N_NUMBERS][N_NUMBERS];	/* [p][p] mean of z z' */
	bool	   *done;			/* [q->n] its network is measured */
} choice;

static double
number_of(const choice *x, int i, int number)
{
	if (number < PM_N_FACTORS)
		return x->q->z[(size_t) i * PM_N_FACTORS + number];
	return number == NUMBER_STEP ? 1 : x->q->log_ms[i] - x->centre;
}

/* z[x->p] of question i. */
static void
numbers_of(const choice *x, int i, double *z)
{
	for (int k = 0; k < x->p; k++)
		z[k] = number_of(x, i, x->map[k]);
}

/* Most elements of a state are of operators and formats that no question has. */
static void
choose_numbers(choice *x)
{
	for (int number = 0; number < N_NUMBERS; number++)
	{
		bool		acts = number >= PM_N_FACTORS;

		for (int i = 0; i < x->q->n && !acts; i++)
			acts = number_of(x, i, number) != 0;
		if (acts)
			x->map[x->p++] = number;
	}
}

/* Variance of a number before anything is measured. */
static double
prior_of(const choice *x, int number)
{
	double		cell = pm_cell_prior(x->q->known);
	double		sd = number < PM_N_FACTORS ? pm_state_left(number, x->q->known) * pm_state_prior(number) : PM_SLOPE_PRIOR;

	return number == NUMBER_STEP ? PM_STEP_PRIOR * PM_STEP_PRIOR + cell * cell : sd * sd;
}

static void
begin(choice *x)
{
	const pm_probe_questions *q = x->q;
	double		z[N_NUMBERS];

	for (int i = 0; i < q->n; i++)
		x->centre += q->log_ms[i] / q->n;
	choose_numbers(x);
	for (int i = 0; i < q->n; i++)
	{
		numbers_of(x, i, z);
		for (int j = 0; j < x->p; j++)
			for (int k = 0; k < x->p && z[j] != 0; k++)
				x->s[j][k] += z[j] * z[k] / q->n;
	}
	for (int k = 0; k < x->p; k++)
		x->c[k][k] = prior_of(x, x->map[k]);
}

/* y = m z of p numbers, m symmetric; returns z' m z. */
static double
times(double (*m)[N_NUMBERS], int p, const double *z, double *y)
{
	double		sum = 0;

	memset(y, 0, p * sizeof(double));
	for (int k = 0; k < p; k++)
		for (int j = 0; j < p && z[k] != 0; j++)
			y[j] += m[k][j] * z[k];
	for (int j = 0; j < p; j++)
		sum += z[j] * y[j];
	return sum;
}

/* By how much measuring question i lessens the mean variance. */
static double
gain_of(choice *x, int i)
{
	double		z[N_NUMBERS] = {0},
				cz[N_NUMBERS],
				scz[N_NUMBERS];
	double		variance;

	numbers_of(x, i, z);
	variance = ERROR_VARIANCE + times(x->c, x->p, z, cz);
	return times(x->s, x->p, cz, scz) / variance;
}

static void
measure(choice *x, int i)
{
	double		z[N_NUMBERS] = {0},
				cz[N_NUMBERS];
	double		variance;

	numbers_of(x, i, z);
	variance = ERROR_VARIANCE + times(x->c, x->p, z, cz);
	for (int j = 0; j < x->p; j++)
		for (int k = 0; k < x->p; k++)
			x->c[j][k] -= cz[j] * cz[k] / variance;
	for (int k = 0; k < x->q->n; k++)
		x->done[k] |= x->q->network[k] == x->q->network[i];
}

static double
doubt_of(const choice *x)
{
	double		sum = 0;

	for (int j = 0; j < x->p; j++)
		for (int k = 0; k < x->p; k++)
			sum += x->c[j][k] * x->s[k][j];
	return sqrt(fmax(sum, 0));
}

pm_code
pm_choose_probes(const pm_probe_questions *q, int most, pm_arena *scratch, int *picked, int *n_picked, double *doubt, pm_status *st)
{
	choice	   *x = PM_NEW(scratch, choice, 1);

	*n_picked = 0;
	if (!x || !(x->done = PM_NEW(scratch, bool, q->n + 1)))
		return pm_no_memory(st, scratch);
	x->q = q;
	begin(x);
	for (int i = 0; i < q->n && q->measured != NULL; i++)
	{
		if (pm_stopped(scratch, st))
			return PM_CANCELLED;
		if (q->measured[i] && !x->done[i])
			measure(x, i);
	}
	doubt[0] = doubt_of(x);
	while (*n_picked < most)
	{
		double		best = 0;
		int			at = -1;

		for (int i = 0; i < q->n; i++)
		{
			double		gain;

			if (i % PM_POLL_EVERY == 0 && pm_stopped(scratch, st))
				return PM_CANCELLED;
			if (x->done[i] || !((gain = gain_of(x, i)) > best))
				continue;
			best = gain;
			at = i;
		}
		if (at < 0)
			break;
		measure(x, at);
		picked[(*n_picked)++] = at;
		doubt[*n_picked] = doubt_of(x);
	}
	return PM_OK;
}
