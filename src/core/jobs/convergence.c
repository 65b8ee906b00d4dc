/*
 * convergence.c - curves of samples over batch size, and the choice among them.
 */
#include "jobs/convergence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_BATCHES		3		/* to choose anything but a constant */
#define CLEARLY			0.7		/* share of the error of a constant that another curve may have at most */
#define LEAST_SPREAD	0.05	/* seeds alone vary so much */
#define FIRST_SPREAD	0.5		/* where one or two batches are known */
/*
 * What each doubling outside of the known batches adds to the spread, as squares.
 * The rate with the largest likelihood on the trainings of docs/scaling.md whose
 * smallest or largest batches are left out is 0.24; for batches between the known
 * ones it is 0.03, so that nothing is added there.
 */
#define SPREAD_OUTSIDE	0.25
#define REACH_OUTSIDE	1		/* doublings outside of all runs up to which they say how likely the target is reached */
#define GRID			60		/* values tried for critical and for low, a factor apart */

const char *const pm_curve_name[PM_N_CURVES] = {
	[PM_CURVE_CONSTANT] = "constant", [PM_CURVE_NOISE] = "noise", [PM_CURVE_BOTH] = "both", [PM_CURVE_BETWEEN] = "between"
};

typedef struct points
{
	int			n;
	double		batch[PM_MAX_BATCHES];	/* ascending */
	double		log_samples[PM_MAX_BATCHES];
} points;

/*
 * The term of small batches is a square: steps of a fixed learning rate hold the
 * loss up by an amount in proportion to 1 / batch, and a target near what a batch can
 * reach at all takes more than in proportion to that.
 */
static double
bend(double batch, double critical, double low)
{
	return 1 + batch / critical + (low / batch) * (low / batch);
}

/* The least samples for given critical and low, and how far off the points are then. */
static double
fit_least(const points *p, double critical, double low, double *log_least)
{
	double		mean = 0;
	double		sum = 0;

	for (int i = 0; i < p->n; i++)
		mean += (p->log_samples[i] - log(bend(p->batch[i], critical, low))) / p->n;
	for (int i = 0; i < p->n; i++)
		sum += pow(p->log_samples[i] - log(bend(p->batch[i], critical, low)) - mean, 2);
	*log_least = mean;
	return sum;
}

/* The i-th value to try, from a hundredth of the smallest batch to a hundred times the largest. */
static double
tried(const points *p, int i)
{
	double		from = p->batch[0] / 100;
	double		to = p->batch[p->n - 1] * 100;

	return from * pow(to / from, (double) i / (GRID - 1));
}

static void
fit_bent(const points *p, bool with_low, pm_curve *c)
{
	double		best = INFINITY;
	double		log_least;

	for (int i = 0; i <= GRID; i++)
		for (int k = 0; k <= (with_low ? GRID : 0); k++)
		{
			double		critical = i == GRID ? INFINITY : tried(p, i);
			double		low = k == 0 ? 0 : tried(p, k - 1);
			double		e = fit_least(p, critical, low, &log_least);

			if (e < best)
			{
				best = e;
				c->critical = critical;
				c->low = low;
				c->least = exp(log_least);
			}
		}
}

static int
by_size(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/* The median: a single batch that is too small for the target says nothing about the others. */
static double
middle(const points *p)
{
	double		sorted[PM_MAX_BATCHES];

	memcpy(sorted, p->log_samples, p->n * sizeof(double));
	qsort(sorted, p->n, sizeof(double), by_size);
	return (sorted[(p->n - 1) / 2] + sorted[p->n / 2]) / 2;
}

static void
fit_kind(const points *p, pm_curve_kind kind, pm_curve *c)
{
	c->kind = kind;
	c->critical = INFINITY;
	c->low = 0;
	if (kind == PM_CURVE_NOISE || kind == PM_CURVE_BOTH)
		fit_bent(p, kind == PM_CURVE_BOTH, c);
	else
		c->least = exp(middle(p));
	c->n = p->n;
	for (int i = 0; i < p->n; i++)
	{
		c->batch[i] = p->batch[i];
		c->samples[i] = exp(p->log_samples[i]);
	}
}

static double
between(const pm_curve *c, double batch)
{
	int			i = 0;
	double		at;

	if (batch <= c->batch[0])
		return c->samples[0];
	if (batch >= c->batch[c->n - 1])
		return c->samples[c->n - 1];
	while (batch > c->batch[i + 1])
		i++;
	at = log(batch / c->batch[i]) / log(c->batch[i + 1] / c->batch[i]);
	return exp(log(c->samples[i]) * (1 - at) + log(c->samples[i + 1]) * at);
}

double
pm_curve_at(const pm_curve *c, double batch)
{
	return c->kind == PM_CURVE_BETWEEN ? between(c, batch) : c->least * bend(batch, c->critical, c->low);
}

/* Doublings of the batch above `to`, or negative below `from`. */
static double
doublings_outside(double batch, double from, double to)
{
	return batch > to ? log2(batch / to) : batch < from ? log2(batch / from) : 0;
}

double
pm_curve_outside(const pm_curve *c, double batch)
{
	return doublings_outside(batch, c->batch[0], c->batch[c->n - 1]);
}

double
pm_curve_spread(const pm_curve *c, double batch)
{
	return hypot(c->spread, SPREAD_OUTSIDE * pm_curve_outside(c, batch));
}

double
pm_curve_p_reached(const pm_curve *c, double batch)
{
	return fabs(doublings_outside(batch, c->from, c->to)) > REACH_OUTSIDE ? NAN : c->p_reached;
}

/* Mean square of the error in ln(samples) at each batch in turn, the others known. */
static double
left_out_error(const points *p, pm_curve_kind kind)
{
	double		sum = 0;

	for (int i = 0; i < p->n; i++)
	{
		points		others = {0};
		pm_curve	c;

		for (int k = 0; k < p->n; k++)
			if (k != i)
			{
				others.batch[others.n] = p->batch[k];
				others.log_samples[others.n++] = p->log_samples[k];
			}
		fit_kind(&others, kind, &c);
		sum += pow(log(pm_curve_at(&c, p->batch[i])) - p->log_samples[i], 2);
	}
	return sum / p->n;
}

static void
choose(const points *p, pm_curve *to)
{
	double		constant = left_out_error(p, PM_CURVE_CONSTANT);
	double		best = CLEARLY * CLEARLY * constant;
	pm_curve_kind kind = PM_CURVE_CONSTANT;

	for (int k = PM_CURVE_NOISE; k < PM_N_CURVES; k++)
	{
		double		e = left_out_error(p, (pm_curve_kind) k);

		if (e < best)
		{
			best = e;
			kind = (pm_curve_kind) k;
		}
	}
	fit_kind(p, kind, to);
	to->spread = fmax(LEAST_SPREAD, sqrt(kind == PM_CURVE_CONSTANT ? constant : best));
}

/* One or two batches: nothing but a measured noise scale says how others differ. */
static void
fit_few(const points *p, double phi, pm_curve *to)
{
	double		log_least;

	fit_kind(p, PM_CURVE_CONSTANT, to);
	to->spread = FIRST_SPREAD;
	if (!(phi > 0) || isinf(phi))
		return;
	to->kind = PM_CURVE_NOISE;
	to->critical = phi;
	fit_least(p, phi, 0, &log_least);
	to->least = exp(log_least);
}

pm_code
pm_curve_fit(const pm_runs *runs, int n, double phi, pm_curve *to, pm_status *st)
{
	points		p = {0};
	double		reached = 0;
	double		all = 0;

	memset(to, 0, sizeof(*to));
	for (int i = 0; i < n; i++)
	{
		all += runs[i].runs;
		reached += runs[i].reached;
		if (runs[i].reached == 0)
			continue;
		if (p.n == PM_MAX_BATCHES)
			return pm_fail(st, PM_ERR_LIMIT, "a training with more than %d batch sizes", PM_MAX_BATCHES);
		p.batch[p.n] = runs[i].batch;
		p.log_samples[p.n++] = log(runs[i].samples);
	}
	if (p.n == 0)
		return pm_fail(st, PM_ERR_DATA, "no run has reached the target");
	if (p.n < MIN_BATCHES)
		fit_few(&p, phi, to);
	else
		choose(&p, to);
	to->p_reached = reached / all;
	to->from = runs[0].batch;
	to->to = runs[n - 1].batch;
	return PM_OK;
}
