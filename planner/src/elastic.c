/*
 * elastic.c - how many devices of which kind each job gets, when jobs can run on more or fewer.
 */
#include "elastic.h"

#include <math.h>
#include <stdlib.h>

const char *const elastic_policy_name[ELASTIC_N_POLICIES] = {"optimus", "sia"};

/* Sia's numbers. */
#define POWER (-0.5)
#define WITHOUT 1.1

static double
goodput(const elastic_input *in, int job, int kind, int count)
{
	return in->goodput[((size_t) job * in->n_kinds + kind) * in->n_counts + count];
}

/* Devices that are left of each kind. */
static double *
copy_workers(const elastic_input *in, planner_alloc alloc)
{
	double	   *left = alloc(sizeof(double) * in->n_kinds);

	for (int k = 0; left && k < in->n_kinds; k++)
		left[k] = in->workers[k];
	return left;
}

/* ---------- optimus ---------- */

typedef struct ranked
{
	double		key;
	int			job;
} ranked;

static int
by_key(const void *a, const void *b)
{
	const ranked *x = a;
	const ranked *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

/* The least number of devices on which the job runs on this kind; -1: none. */
static int
least_count(const elastic_input *in, int job, int kind)
{
	for (int c = 0; c < in->n_counts; c++)
		if (goodput(in, job, kind, c) > 0)
			return c;
	return -1;
}

/* The kind with room on which the job is fastest with its least number; -1: none. */
static int
fastest_kind(const elastic_input *in, int job, const double *left, int *count)
{
	int			best = -1;

	for (int k = 0; k < in->n_kinds; k++)
	{
		int			c = least_count(in, job, k);

		if (c < 0 || in->count[c] > left[k])
			continue;
		if (best < 0 || goodput(in, job, k, c) > goodput(in, job, best, *count))
		{
			best = k;
			*count = c;
		}
	}
	return best;
}

/* Seconds that the next number of devices saves, for each device more; 0: it has none, or there is no room. */
static double
saving(const elastic_input *in, const elastic_result *r, int job, const double *left)
{
	int			c = r->count[job];
	int			k = r->kind[job];
	double		more, now, then;

	if (k < 0 || c + 1 >= in->n_counts)
		return 0;
	more = in->count[c + 1] - in->count[c];
	now = goodput(in, job, k, c);
	then = goodput(in, job, k, c + 1);
	if (more > left[k] || then <= now)
		return 0;
	return (in->work[job] / now - in->work[job] / then) / more;
}

static lp_status
allocate_optimus(const elastic_input *in, planner_alloc alloc, bool (*stop) (void *arg), void *arg, elastic_result *r)
{
	double	   *left = copy_workers(in, alloc);
	ranked	   *order = alloc(sizeof(ranked) * (in->n_jobs + 1));

	if (!left || !order)
		return LP_NO_MEMORY;
	for (int m = 0; m < in->n_jobs; m++)
	{
		int			c = 0;
		int			k = fastest_kind(in, m, in->workers, &c);

		order[m] = (ranked) {k < 0 ? INFINITY : in->work[m] / goodput(in, m, k, c), m};
		r->kind[m] = -1;
		r->count[m] = 0;
	}
	qsort(order, in->n_jobs, sizeof(ranked), by_key);
	for (int i = 0; i < in->n_jobs; i++)
	{
		int			m = order[i].job;

		r->kind[m] = fastest_kind(in, m, left, &r->count[m]);
		if (r->kind[m] >= 0)
			left[r->kind[m]] -= in->count[r->count[m]];
	}
	for (;;)
	{
		int			best = -1;
		double		most = 0;

		if (stop != NULL && stop(arg))
			return LP_STOPPED;
		for (int m = 0; m < in->n_jobs; m++)
		{
			double		s = saving(in, r, m, left);

			if (s > most)
			{
				most = s;
				best = m;
			}
		}
		if (best < 0)
			break;
		left[r->kind[best]] -= in->count[r->count[best] + 1] - in->count[r->count[best]];
		r->count[best]++;
	}
	r->objective = r->bound = 0;
	for (int m = 0; m < in->n_jobs; m++)
		if (r->kind[m] >= 0)
			r->objective += in->work[m] / goodput(in, m, r->kind[m], r->count[m]);
	return LP_OPTIMAL;
}

/* ---------- sia ---------- */

/* What the objective gains by this choice for the job; 0: it cannot be. */
static double
gain(const elastic_input *in, const double *least, int job, int kind, int count)
{
	double		g = goodput(in, job, kind, count);

	if (g <= 0 || in->count[count] > in->workers[kind])
		return 0;
	return fmax(WITHOUT - pow(g / least[job], POWER), 0);
}

static double
least_goodput(const elastic_input *in, int job)
{
	double		least = INFINITY;

	for (int k = 0; k < in->n_kinds; k++)
		for (int c = 0; c < in->n_counts; c++)
			if (goodput(in, job, k, c) > 0)
				least = fmin(least, goodput(in, job, k, c));
	return least;
}

/* Rows: one a job, one a kind. Columns: job, kind, count. */
static bool
make_programme(const elastic_input *in, const double *least, planner_alloc alloc, lp_problem *p)
{
	size_t		columns = (size_t) in->n_jobs * in->n_kinds * in->n_counts;
	int			at = 0;

	*p = (lp_problem) {.n_rows = in->n_jobs + in->n_kinds,.n_columns = (int) columns};
	p->start = alloc(sizeof(int) * (columns + 1));
	p->row = alloc(sizeof(int) * 2 * columns);
	p->value = alloc(sizeof(double) * 2 * columns);
	p->gain = alloc(sizeof(double) * columns);
	p->high = alloc(sizeof(double) * columns);
	p->row_low = alloc(sizeof(double) * p->n_rows);
	p->row_high = alloc(sizeof(double) * p->n_rows);
	if (!p->start || !p->row || !p->value || !p->gain || !p->high || !p->row_low || !p->row_high)
		return false;
	for (size_t i = 0; i < columns; i++)
	{
		int			job = (int) (i / in->n_counts / in->n_kinds);
		int			kind = (int) (i / in->n_counts % in->n_kinds);
		int			count = (int) (i % in->n_counts);

		p->start[i] = at;
		p->gain[i] = gain(in, least, job, kind, count);
		p->high[i] = p->gain[i] > 0 ? LP_FREE : 0;
		p->row[at] = job;
		p->value[at++] = 1;
		p->row[at] = in->n_jobs + kind;
		p->value[at++] = in->count[count];
	}
	p->start[columns] = at;
	for (int i = 0; i < p->n_rows; i++)
	{
		p->row_low[i] = -LP_FREE;
		p->row_high[i] = i < in->n_jobs ? 1 : in->workers[i - in->n_jobs];
	}
	return true;
}

/* The choice of a job that x takes whole and for which there is room; false: there is none. */
static bool
find_whole(const elastic_input *in, const double *x, const double *left, int job, int *kind, int *count)
{
	bool		found = false;

	for (int k = 0; k < in->n_kinds; k++)
		for (int c = 0; c < in->n_counts; c++)
			if (x[((size_t) job * in->n_kinds + k) * in->n_counts + c] > 0.999 && in->count[c] <= left[k] + 1e-9)
			{
				*kind = k;
				*count = c;
				found = true;
			}
	return found;
}

/* Take the choices that are whole. */
static void
take_whole(const elastic_input *in, const double *x, double *left, elastic_result *r)
{
	for (int m = 0; m < in->n_jobs; m++)
	{
		r->kind[m] = -1;
		r->count[m] = 0;
		if (find_whole(in, x, left, m, &r->kind[m], &r->count[m]))
			left[r->kind[m]] -= in->count[r->count[m]];
	}
}

static double
gain_now(const elastic_input *in, const double *least, const elastic_result *r, int job)
{
	return r->kind[job] < 0 ? 0 : gain(in, least, job, r->kind[job], r->count[job]);
}

/* Another choice for a job, and what it gains. */
typedef struct change
{
	int			job;			/* -1: none */
	int			kind;
	int			count;
	double		gain;
} change;

/* Let *best be the change of a job that gains most, if that is more than it does. */
static void
improve(const elastic_input *in, const double *least, const double *left, const elastic_result *r, int job, change *best)
{
	for (int k = 0; k < in->n_kinds; k++)
		for (int c = 0; c < in->n_counts; c++)
		{
			double		own = r->kind[job] == k ? in->count[r->count[job]] : 0;
			double		more;

			if (in->count[c] > left[k] + own + 1e-9)
				continue;
			more = gain(in, least, job, k, c) - gain_now(in, least, r, job);
			if (more > best->gain)
				*best = (change) {job, k, c, more};
		}
}

/* Give what is left over, again and again, to the change that gains most; each change gains, so that it ends. */
static lp_status
give_rest(const elastic_input *in, const double *least, double *left, bool (*stop) (void *arg), void *arg, elastic_result *r)
{
	for (;;)
	{
		change		best = {.job = -1, .gain = 1e-9};

		if (stop != NULL && stop(arg))
			return LP_STOPPED;
		for (int m = 0; m < in->n_jobs; m++)
			improve(in, least, left, r, m, &best);
		if (best.job < 0)
			return LP_OPTIMAL;
		if (r->kind[best.job] >= 0)
			left[r->kind[best.job]] += in->count[r->count[best.job]];
		r->kind[best.job] = best.kind;
		r->count[best.job] = best.count;
		left[best.kind] -= in->count[best.count];
	}
}

static lp_status
allocate_sia(const elastic_input *in, planner_alloc alloc, bool (*stop) (void *arg), void *arg, elastic_result *r)
{
	double	   *left = copy_workers(in, alloc);
	double	   *least = alloc(sizeof(double) * (in->n_jobs + 1));
	lp_problem	p;
	lp_solution s = {0};
	lp_status	status;

	if (!left || !least)
		return LP_NO_MEMORY;
	for (int m = 0; m < in->n_jobs; m++)
		least[m] = least_goodput(in, m);
	if (!make_programme(in, least, alloc, &p))
		return LP_NO_MEMORY;
	s.x = alloc(sizeof(double) * (p.n_columns + 1));
	s.dual = alloc(sizeof(double) * (p.n_rows + 1));
	if (!s.x || !s.dual)
		return LP_NO_MEMORY;
	status = lp_solve(&p, stop, arg, &s);
	if (status != LP_OPTIMAL)
		return status;
	take_whole(in, s.x, left, r);
	status = give_rest(in, least, left, stop, arg, r);
	r->bound = s.objective;
	r->objective = 0;
	for (int m = 0; m < in->n_jobs; m++)
		r->objective += gain_now(in, least, r, m);
	return status;
}

lp_status
elastic_allocate(const elastic_input *in, elastic_policy policy, planner_alloc alloc, bool (*stop) (void *arg), void *arg, elastic_result *r)
{
	return policy == ELASTIC_SIA ? allocate_sia(in, alloc, stop, arg, r) : allocate_optimus(in, alloc, stop, arg, r);
}
