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

#define NUMBER_STEP		PM_N_STATE	/* format and layout are the same in all questions, and go with it */
#define NUMBER_SLOPE	(PM_N_STATE + 1)
#define P				(PM_N_STATE + 2)

#define ERROR_VARIANCE	(PM_STRUCTURE_SD * PM_STRUCTURE_SD + PM_ROW_SD * PM_ROW_SD)

typedef struct choice
{
	const pm_probe_questions *q;
	double		centre;			/* mean of log_ms */
	double		c[P][P];		/* covariance of the numbers */
	double		s[P][P];		/* mean of z z' */
	bool	   *done;			/* [q->n] its network is measured */
} choice;

static void
numbers_of(const choice *x, int i, double *z)
{
	memcpy(z, x->q->z + (size_t) i * PM_N_STATE, PM_N_STATE * sizeof(double));
	z[NUMBER_STEP] = 1;
	z[NUMBER_SLOPE] = x->q->log_ms[i] - x->centre;
}

static void
begin(choice *x)
{
	const pm_probe_questions *q = x->q;
	double		z[P];

	for (int i = 0; i < q->n; i++)
		x->centre += q->log_ms[i] / q->n;
	for (int i = 0; i < q->n; i++)
	{
		numbers_of(x, i, z);
		for (int j = 0; j < P; j++)
			for (int k = 0; k < P; k++)
				x->s[j][k] += z[j] * z[k] / q->n;
	}
	for (int k = 0; k < PM_N_STATE; k++)
	{
		double		sd = pm_state_left(k, q->known) * pm_state_prior(k);

		x->c[k][k] = sd * sd;
	}
	x->c[NUMBER_STEP][NUMBER_STEP] = PM_STEP_PRIOR * PM_STEP_PRIOR + PM_CELL_PRIOR * PM_CELL_PRIOR;
	x->c[NUMBER_SLOPE][NUMBER_SLOPE] = PM_SLOPE_PRIOR * PM_SLOPE_PRIOR;
}

/* y = m z; returns z' m z. */
static double
times(double (*m)[P], const double *z, double *y)
{
	double		sum = 0;

	for (int j = 0; j < P; j++)
	{
		y[j] = 0;
		for (int k = 0; k < P; k++)
			y[j] += m[j][k] * z[k];
		sum += z[j] * y[j];
	}
	return sum;
}

/* By how much measuring question i lessens the mean variance. */
static double
gain_of(choice *x, int i)
{
	double		z[P],
				cz[P],
				scz[P];
	double		variance;

	numbers_of(x, i, z);
	variance = ERROR_VARIANCE + times(x->c, z, cz);
	return times(x->s, cz, scz) / variance;
}

static void
measure(choice *x, int i)
{
	double		z[P],
				cz[P];
	double		variance;

	numbers_of(x, i, z);
	variance = ERROR_VARIANCE + times(x->c, z, cz);
	for (int j = 0; j < P; j++)
		for (int k = 0; k < P; k++)
			x->c[j][k] -= cz[j] * cz[k] / variance;
	for (int k = 0; k < x->q->n; k++)
		x->done[k] |= x->q->network[k] == x->q->network[i];
}

static double
doubt_of(const choice *x)
{
	double		sum = 0;

	for (int j = 0; j < P; j++)
		for (int k = 0; k < P; k++)
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
