/*
 * fit.c - a cluster fitted to measured steps, by the simplex method of Nelder
 * and Mead: nine numbers, and a function that is not smooth where the link
 * begins to decide.
 */
#include "scaling/fit.h"

#include <math.h>
#include <string.h>

#define N_NUMBERS	9			/* ln of the three factors; steal, straggler, contention */
#define MAX_TRIES	600
#define STARTS		3			/* a simplex that has become flat is put up anew around the best corner */
#define ROW_SPREAD	0.05		/* of the logarithm of a step around the model */
#define HUBER		2.0			/* spreads; beyond, an error counts linearly */
#define LOG_LIMIT	5.0			/* factors between e^-5 and e^5 */

/* How far a number may well be from where it starts. */
static const double spread[N_NUMBERS] = {0.5, 0.5, 0.7, 0.15, 0.02, 0.1, 0.1, 0.4, 0.2};

typedef struct search
{
	const pm_fabric *start;
	const pm_scaled_row *rows;
	int			n;
	double		at_start[N_NUMBERS];
} search;

static void
numbers_of(const pm_fabric *f, double *v)
{
	v[0] = log(f->intra_factor);
	v[1] = log(f->inter_factor);
	v[2] = log(fmax(f->latency_factor, exp(-LOG_LIMIT)));
	v[3] = f->steal;
	v[4] = f->straggler;
	v[5] = f->contention;
	v[6] = log(f->compute_factor);
	v[7] = log(f->pair_factor);
	v[8] = f->contention_power;
}

static pm_fabric
fabric_of(const pm_fabric *start, const double *v)
{
	pm_fabric	f = *start;

	f.intra_factor = exp(fmax(-LOG_LIMIT, fmin(LOG_LIMIT, v[0])));
	f.inter_factor = exp(fmax(-LOG_LIMIT, fmin(LOG_LIMIT, v[1])));
	f.latency_factor = exp(fmax(-LOG_LIMIT, fmin(LOG_LIMIT, v[2])));
	f.steal = fmin(10, fmax(0, v[3]));
	f.straggler = fmin(10, fmax(0, v[4]));
	f.contention = fmin(10, fmax(0, v[5]));
	f.compute_factor = exp(fmax(-1, fmin(1, v[6])));
	f.pair_factor = exp(fmax(-LOG_LIMIT, fmin(LOG_LIMIT, v[7])));
	f.contention_power = fmin(1.2, fmax(0.3, v[8]));
	return f;
}

static double
log_error(const pm_fabric *f, const pm_scaled_row *row)
{
	pm_scaled	s;

	pm_scaled_step(row->shape, &row->parallel, f, 1, &s);
	return log(s.step_ms / row->step_ms);
}

/* What the search makes small; numbers that are out of range cost what they are out. */
static double
badness(const search *s, const double *v)
{
	pm_fabric	f = fabric_of(s->start, v);
	double		sum = 0;

	for (int i = 0; i < N_NUMBERS; i++)
	{
		double		d = (v[i] - s->at_start[i]) / spread[i];

		sum += d * d + (i >= 3 && i <= 5 && v[i] < 0 ? 100 * v[i] * v[i] / (spread[i] * spread[i]) : 0);
	}
	for (int i = 0; i < s->n; i++)
	{
		double		e = fabs(log_error(&f, &s->rows[i])) / ROW_SPREAD;

		sum += e <= HUBER ? e * e : HUBER * (2 * e - HUBER);
	}
	return sum;
}

/* ---- Nelder and Mead ---- */

typedef struct corner
{
	double		v[N_NUMBERS];
	double		bad;
} corner;

static void
order(corner *c)
{
	for (int i = 1; i <= N_NUMBERS; i++)
		for (int k = i; k > 0 && c[k].bad < c[k - 1].bad; k--)
		{
			corner		t = c[k];

			c[k] = c[k - 1];
			c[k - 1] = t;
		}
}

/* The worst corner, mirrored at the middle of the others and stretched. */
static corner
mirrored(const search *s, const corner *c, double stretch)
{
	corner		to = {{0}, 0};

	for (int i = 0; i < N_NUMBERS; i++)
	{
		double		middle = 0;

		for (int k = 0; k < N_NUMBERS; k++)
			middle += c[k].v[i] / N_NUMBERS;
		to.v[i] = middle + stretch * (middle - c[N_NUMBERS].v[i]);
	}
	to.bad = badness(s, to.v);
	return to;
}

static void
shrink(const search *s, corner *c)
{
	for (int k = 1; k <= N_NUMBERS; k++)
	{
		for (int i = 0; i < N_NUMBERS; i++)
			c[k].v[i] = (c[k].v[i] + c[0].v[i]) / 2;
		c[k].bad = badness(s, c[k].v);
	}
}

static void
move_worst(const search *s, corner *c)
{
	corner		next = mirrored(s, c, 1);

	if (next.bad < c[0].bad)
	{
		corner		far = mirrored(s, c, 2);

		c[N_NUMBERS] = far.bad < next.bad ? far : next;
	}
	else if (next.bad < c[N_NUMBERS - 1].bad)
		c[N_NUMBERS] = next;
	else
	{
		next = mirrored(s, c, next.bad < c[N_NUMBERS].bad ? 0.5 : -0.5);
		if (next.bad < c[N_NUMBERS].bad)
			c[N_NUMBERS] = next;
		else
			shrink(s, c);
	}
}

/* From *v, which becomes the best that was found. */
static pm_code
find_better(const search *s, double *v, const pm_arena *a, pm_status *st)
{
	corner		c[N_NUMBERS + 1];

	for (int k = 0; k <= N_NUMBERS; k++)
	{
		memcpy(c[k].v, v, sizeof(c[k].v));
		if (k > 0)
			c[k].v[k - 1] += spread[k - 1];
		c[k].bad = badness(s, c[k].v);
	}
	order(c);
	for (int i = 0; i < MAX_TRIES && c[N_NUMBERS].bad - c[0].bad > 1e-6 * (1 + c[0].bad); i++)
	{
		if (pm_stopped(a, st))
			return PM_CANCELLED;
		move_worst(s, c);
		order(c);
	}
	memcpy(v, c[0].v, sizeof(c[0].v));
	return PM_OK;
}

/* ---- */

double
pm_fabric_error(const pm_fabric *f, const pm_scaled_row *rows, int n)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
		sum += fabs(expm1(log_error(f, &rows[i])));
	return n > 0 ? sum / n : 0;
}

/*
 * Standard deviation of what is left, as if communication were off by it: the
 * error of the step over the share that communication has in it, pooled.
 */
static double
spread_left(const pm_fabric *f, const pm_scaled_row *rows, int n)
{
	double		sum = 0;
	double		weight = 0;

	for (int i = 0; i < n; i++)
	{
		pm_scaled	s;
		double		e = log_error(f, &rows[i]);

		pm_scaled_step(rows[i].shape, &rows[i].parallel, f, 1, &s);
		sum += e * e;
		weight += pow(fmin(1, s.comm_ms / s.step_ms), 2);
	}
	return fmin(3, sqrt(sum / fmax(weight, 0.01 * n)));
}

pm_code
pm_fabric_fit(pm_fabric *f, const pm_scaled_row *rows, int n, pm_arena *scratch, double *before, double *after, pm_status *st)
{
	search		s = {.start = f,.rows = rows,.n = n};
	double		v[N_NUMBERS];
	pm_code		rc;

	if (n < 1)
		return pm_fail(st, PM_ERR_DATA, "there are no measurements on several GPUs to fit cluster \"%.*s\" to", pm_shown(f->name), f->name);
	numbers_of(f, s.at_start);
	*before = pm_fabric_error(f, rows, n);
	memcpy(v, s.at_start, sizeof(v));
	for (int i = 0; i < STARTS; i++)
		if ((rc = find_better(&s, v, scratch, st)) != PM_OK)
			return rc;
	*f = fabric_of(f, v);
	f->comm_error = spread_left(f, rows, n);
	f->fitted_rows = n;
	*after = pm_fabric_error(f, rows, n);
	return PM_OK;
}
