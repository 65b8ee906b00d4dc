/*
 * decompose.c - the largest rate that all of many different jobs can have, by prices of devices.
 */
#include "decompose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Groups of jobs: with more of them fewer rounds are needed, and each takes longer. */
#define GROUPS			20
/* Of each group, before there are prices. */
#define FIRST_OFFERS	4
/* How far prices are drawn towards the best ones so far. */
#define SMOOTHING		0.6

/* What a group does at some prices: all its jobs at one rate. */
typedef struct offer
{
	int			group;
	int			prices;			/* its number among the prices */
	double		rate;
	double	   *used;			/* [n_kinds] devices */
} offer;

/* Where the cheapest shares of a job go on at a higher price. */
typedef struct bend
{
	double		rate;
	double		steeper;		/* price of a rate, more than before */
} bend;

/* The cheapest shares of a job: corners from rate 0, each all time on one kind. */
typedef struct hull
{
	int			n;
	int		   *kind;			/* [n_kinds] */
	double	   *rate;
	double	   *cost;
} hull;

typedef struct solver
{
	const decompose_input *in;
	int			n_groups;
	double	   *rate;			/* [n * n_kinds] in units of `unit` */
	double		unit;
	int		   *by_rate;		/* [n * n_kinds] kinds of each job that it runs on, the slowest first */
	int		   *n_by_rate;		/* [n] */
	double		most;			/* no rate of all can be larger */
	hull		h;				/* of the job that is looked at */
	bend	   *bends;			/* of a group */
	offer	   *offers;
	int			n_offers;
	double	   *prices;			/* [rounds][n_kinds] of devices, all that offers were made at */
	int			n_prices;
	double	   *best;			/* [n_kinds] of devices, then [n_groups] of rates: those of the least bound */
	double	   *asked;			/* the same, of the master */
	double	   *mixed;			/* the same, that offers are made at */
	double		bound;
	double		reached;
	lp_problem	master;
	lp_solution mix;
	bool		(*stop) (void *arg);
	void	   *arg;
} solver;

/* ---------- one job ---------- */

static void
sort_kinds(solver *s, int m)
{
	const decompose_input *in = s->in;
	const double *rate = s->rate + (size_t) m * in->n_kinds;
	int		   *v = s->by_rate + (size_t) m * in->n_kinds;
	int			n = 0;

	for (int j = 0; j < in->n_kinds; j++)
	{
		int			at = n;

		if (rate[j] <= 0 || in->workers[j] <= 0)
			continue;
		for (; at > 0 && rate[v[at - 1]] > rate[j]; at--)
			v[at] = v[at - 1];
		v[at] = j;
		n++;
	}
	s->n_by_rate[m] = n;
	s->most = fmin(s->most, n > 0 ? rate[v[n - 1]] : 0);
}

/* The lower convex hull of (rate, cost) over the kinds, from (0, 0) to the fastest. */
static const hull *
make_hull(solver *s, int m, const double *prices)
{
	const decompose_input *in = s->in;
	hull	   *h = &s->h;
	const int  *kinds = s->by_rate + (size_t) m * in->n_kinds;

	h->n = 0;
	for (int i = 0; i < s->n_by_rate[m]; i++)
	{
		double		rate = s->rate[(size_t) m * in->n_kinds + kinds[i]];
		double		cost = in->use[m] * prices[kinds[i]];

		while (h->n > 0)
		{
			double		r0 = h->n > 1 ? h->rate[h->n - 2] : 0;
			double		c0 = h->n > 1 ? h->cost[h->n - 2] : 0;

			if ((h->cost[h->n - 1] - c0) * (rate - r0) < (cost - c0) * (h->rate[h->n - 1] - r0))
				break;
			h->n--;
		}
		h->kind[h->n] = kinds[i];
		h->rate[h->n] = rate;
		h->cost[h->n++] = cost;
	}
	return h;
}

/* The corner at or above a rate, and how much of the way from the one before to it is gone. */
static int
corner_above(const hull *h, double rate, double *part)
{
	double		from = 0;
	int			i = 0;

	while (i < h->n - 1 && h->rate[i] < rate)
		from = h->rate[i++];
	*part = h->rate[i] > from ? fmin(1, (rate - from) / (h->rate[i] - from)) : 1;
	return i;
}

/* Add `weight` of the cheapest shares for a rate to to[n_kinds]; returns what they cost. */
static double
add_shares(const hull *h, double rate, double weight, double *to)
{
	double		part;
	int			i;

	if (h->n == 0 || rate <= 0)
		return 0;
	i = corner_above(h, rate, &part);
	to[h->kind[i]] += weight * part;
	if (i > 0)
		to[h->kind[i - 1]] += weight * (1 - part);
	return part * h->cost[i] + (i > 0 ? (1 - part) * h->cost[i - 1] : 0);
}

/* ---------- a group ---------- */

static int
by_bend(const void *a, const void *b)
{
	double		x = ((const bend *) a)->rate;
	double		y = ((const bend *) b)->rate;

	return (x > y) - (x < y);
}

/* The rate at which a group earns most, when devices have prices and a rate of all its jobs brings `worth`. */
static double
best_rate(solver *s, int group, const double *prices, double worth)
{
	double		slope = 0;
	int			n = 0;

	for (int m = group; m < s->in->n; m += s->n_groups)
	{
		const hull *h = make_hull(s, m, prices);
		double		before = 0;

		for (int i = 0; i < h->n; i++)
		{
			double		here = i > 0 ? (h->cost[i] - h->cost[i - 1]) / (h->rate[i] - h->rate[i - 1]) : h->cost[i] / h->rate[i];

			if (i == 0)
				slope += here;
			else if (h->rate[i - 1] < s->most)
				s->bends[n++] = (bend) {h->rate[i - 1], here - before};
			before = here;
		}
	}
	if (slope > worth)
		return 0;
	qsort(s->bends, n, sizeof(bend), by_bend);
	for (int i = 0; i < n; i++)
	{
		slope += s->bends[i].steeper;
		if (slope > worth)
			return s->bends[i].rate;
	}
	return s->most;
}

/* What the group uses at a rate and prices; returns what it pays. */
static double
use_of(solver *s, int group, const double *prices, double rate, double *used)
{
	double		cost = 0;

	memset(used, 0, sizeof(double) * s->in->n_kinds);
	for (int m = group; m < s->in->n; m += s->n_groups)
		cost += add_shares(make_hull(s, m, prices), rate, s->in->use[m], used);
	return cost;
}

/* ---------- the master ---------- */

/*
 * Columns: the rate t, then the parts of the offers. Rows: for each group, the
 * rate of its mix is at least t; for each group, its parts are at most 1; for
 * each kind, the devices.
 */
static void
fill_master(solver *s)
{
	lp_problem *p = &s->master;
	int			kinds = s->in->n_kinds;
	int			at = 0;

	p->n_rows = 2 * s->n_groups + kinds;
	p->n_columns = 1 + s->n_offers;
	p->start[0] = 0;
	p->gain[0] = 1;
	p->high[0] = s->most;
	for (int g = 0; g < s->n_groups; g++)
	{
		p->row[at] = g;
		p->value[at++] = -1;
		p->row_low[g] = 0;
		p->row_high[g] = LP_FREE;
		p->row_low[s->n_groups + g] = -LP_FREE;
		p->row_high[s->n_groups + g] = 1;
	}
	for (int j = 0; j < kinds; j++)
	{
		p->row_low[2 * s->n_groups + j] = -LP_FREE;
		p->row_high[2 * s->n_groups + j] = s->in->workers[j];
	}
	for (int k = 0; k < s->n_offers; k++)
	{
		const offer *o = &s->offers[k];

		p->start[1 + k] = at;
		p->gain[1 + k] = 0;
		p->high[1 + k] = LP_FREE;
		p->row[at] = o->group;
		p->value[at++] = o->rate;
		p->row[at] = s->n_groups + o->group;
		p->value[at++] = 1;
		for (int j = 0; j < kinds; j++)
			if (o->used[j] > 0)
			{
				p->row[at] = 2 * s->n_groups + j;
				p->value[at++] = o->used[j];
			}
	}
	p->start[1 + s->n_offers] = at;
}

static lp_status
solve_master(solver *s)
{
	lp_status	status;
	double		sum = 0;
	int			kinds = s->in->n_kinds;

	fill_master(s);
	status = lp_solve(&s->master, s->stop, s->arg, &s->mix);
	if (status != LP_OPTIMAL)
		return status;
	s->reached = s->mix.objective;
	for (int j = 0; j < kinds; j++)
		s->asked[j] = fmax(0, s->mix.dual[2 * s->n_groups + j]);
	for (int g = 0; g < s->n_groups; g++)
		sum += s->asked[kinds + g] = fmax(0, -s->mix.dual[g]);
	/* they are 1 in all where t is above 0 */
	for (int g = 0; g < s->n_groups; g++)
		s->asked[kinds + g] = sum > 0 ? s->asked[kinds + g] / sum : 1.0 / s->n_groups;
	return LP_OPTIMAL;
}

/* A unit in which what is reached is 1, or tolerances of the solver would be large against it. */
static void
change_unit(solver *s)
{
	double		f = s->reached;

	s->unit *= f;
	s->most /= f;
	s->bound /= f;
	for (size_t i = 0; i < (size_t) s->in->n * s->in->n_kinds; i++)
		s->rate[i] /= f;
	for (int k = 0; k < s->n_offers; k++)
		s->offers[k].rate /= f;
	for (int j = 0; j < s->in->n_kinds; j++)
		s->best[j] /= f;
}

/* ---------- rounds ---------- */

/* Every group makes an offer at these prices; how many the master wants, and a bound for all. */
static int
ask_groups(solver *s, const double *v)
{
	int			kinds = s->in->n_kinds;
	double		bound = 0;
	int			wanted = 0;
	double	   *prices = s->prices + (size_t) s->n_prices * kinds;

	memcpy(prices, v, sizeof(double) * kinds);
	for (int j = 0; j < kinds; j++)
		bound += v[j] * s->in->workers[j];
	for (int g = 0; g < s->n_groups; g++)
	{
		offer	   *o = &s->offers[s->n_offers];
		double		gain;

		o->rate = best_rate(s, g, prices, v[kinds + g]);
		bound += v[kinds + g] * o->rate - use_of(s, g, prices, o->rate, o->used);
		gain = s->asked[kinds + g] * o->rate - fmax(0, s->mix.dual[s->n_groups + g]);
		for (int j = 0; j < kinds; j++)
			gain -= s->asked[j] * o->used[j];
		if (o->rate <= 0 || gain <= 1e-12 * s->most)
			continue;
		o->group = g;
		o->prices = s->n_prices;
		s->n_offers++;
		wanted++;
	}
	s->n_prices += wanted > 0;
	if (bound < s->bound)
	{
		s->bound = bound;
		memcpy(s->best, v, sizeof(double) * (kinds + s->n_groups));
	}
	return wanted;
}

/* To begin with: all at a rate, by prices that make every kind cost the same in all. */
static void
first_offers(solver *s)
{
	int			kinds = s->in->n_kinds;

	for (int j = 0; j < kinds; j++)
		s->prices[j] = s->in->workers[j] > 0 ? 1 / s->in->workers[j] : 0;
	for (int i = 0; i < FIRST_OFFERS; i++)
		for (int g = 0; g < s->n_groups; g++)
		{
			offer	   *o = &s->offers[s->n_offers++];

			o->rate = s->most * pow(4, -i);
			o->group = g;
			o->prices = 0;
			use_of(s, g, s->prices, o->rate, o->used);
		}
	s->n_prices = 1;
}

/* Prices between the best and those of the master, nearer to the master's where nothing else is wanted. */
static int
ask_between(solver *s)
{
	int			n = s->in->n_kinds + s->n_groups;

	for (double pull = s->bound < INFINITY ? SMOOTHING : 0;; pull = pull > 0.1 ? pull / 3 : 0)
	{
		int			wanted;

		for (int i = 0; i < n; i++)
			s->mixed[i] = pull * s->best[i] + (1 - pull) * s->asked[i];
		wanted = ask_groups(s, s->mixed);
		if (wanted > 0 || pull == 0 || s->n_prices >= DECOMPOSE_ROUNDS)
			return wanted;
	}
}

/* ---------- the answer ---------- */

/* The solver's rows hold to within its tolerance; what it gives too much, all give back. */
static void
fit_devices(const decompose_input *in, double *share)
{
	double		most = 1;

	for (int j = 0; j < in->n_kinds; j++)
	{
		double		used = 0;

		for (int m = 0; m < in->n; m++)
			used += in->use[m] * share[(size_t) m * in->n_kinds + j];
		most = used > 0 ? fmax(most, used / in->workers[j]) : most;
	}
	for (int m = 0; m < in->n; m++)
	{
		double		sum = 0;

		for (int j = 0; j < in->n_kinds; j++)
			sum += share[(size_t) m * in->n_kinds + j];
		most = fmax(most, sum);
	}
	for (size_t i = 0; i < (size_t) in->n * in->n_kinds; i++)
		share[i] /= most;
}

/* The mix of the offers as shares of jobs. */
static void
spread_mix(solver *s, decompose_result *r)
{
	const decompose_input *in = s->in;

	memset(r->share, 0, sizeof(double) * in->n * in->n_kinds);
	for (int k = 0; k < s->n_offers; k++)
	{
		const offer *o = &s->offers[k];

		if (s->mix.x[1 + k] <= 0)
			continue;
		for (int m = o->group; m < in->n; m += s->n_groups)
			add_shares(make_hull(s, m, s->prices + (size_t) o->prices * in->n_kinds), o->rate, s->mix.x[1 + k],
					   r->share + (size_t) m * in->n_kinds);
	}
	fit_devices(in, r->share);
	r->objective = INFINITY;
	for (int m = 0; m < in->n; m++)
	{
		double		rate = 0;

		for (int j = 0; j < in->n_kinds; j++)
			rate += in->rate[(size_t) m * in->n_kinds + j] * r->share[(size_t) m * in->n_kinds + j];
		r->objective = fmin(r->objective, rate);
	}
}

static bool
make_room(solver *s, planner_alloc alloc)
{
	const decompose_input *in = s->in;
	size_t		offers = (size_t) (DECOMPOSE_ROUNDS + FIRST_OFFERS) * s->n_groups;
	size_t		prices = in->n_kinds + s->n_groups;
	double	   *used = alloc(sizeof(double) * offers * in->n_kinds);

	s->rate = alloc(sizeof(double) * in->n * in->n_kinds);
	s->by_rate = alloc(sizeof(int) * in->n * in->n_kinds);
	s->n_by_rate = alloc(sizeof(int) * in->n);
	s->bends = alloc(sizeof(bend) * (in->n / s->n_groups + 1) * in->n_kinds);
	s->offers = alloc(sizeof(offer) * offers);
	s->prices = alloc(sizeof(double) * (DECOMPOSE_ROUNDS + 1) * in->n_kinds);
	s->h.kind = alloc(sizeof(int) * in->n_kinds);
	s->h.rate = alloc(sizeof(double) * in->n_kinds);
	s->h.cost = alloc(sizeof(double) * in->n_kinds);
	s->best = alloc(sizeof(double) * prices);
	s->asked = alloc(sizeof(double) * prices);
	s->mixed = alloc(sizeof(double) * prices);
	s->master.start = alloc(sizeof(int) * (offers + 2));
	s->master.row = alloc(sizeof(int) * (offers * (in->n_kinds + 2) + s->n_groups));
	s->master.value = alloc(sizeof(double) * (offers * (in->n_kinds + 2) + s->n_groups));
	s->master.gain = alloc(sizeof(double) * (offers + 1));
	s->master.high = alloc(sizeof(double) * (offers + 1));
	s->master.row_low = alloc(sizeof(double) * (prices + s->n_groups));
	s->master.row_high = alloc(sizeof(double) * (prices + s->n_groups));
	s->mix.x = alloc(sizeof(double) * (offers + 1));
	s->mix.dual = alloc(sizeof(double) * (prices + s->n_groups));
	if (!used || !s->rate || !s->by_rate || !s->n_by_rate || !s->bends || !s->offers || !s->prices || !s->h.kind || !s->h.rate || !s->h.cost || !s->best || !s->asked || !s->mixed ||
		!s->master.start || !s->master.row || !s->master.value || !s->master.gain || !s->master.high || !s->master.row_low ||
		!s->master.row_high || !s->mix.x || !s->mix.dual)
		return false;
	for (size_t k = 0; k < offers; k++)
		s->offers[k].used = used + k * in->n_kinds;
	return true;
}

lp_status
decompose(const decompose_input *in, planner_alloc alloc, bool (*stop) (void *arg), void *arg, decompose_result *r)
{
	solver		s = {.in = in,.n_groups = in->n < GROUPS ? in->n : GROUPS,.unit = 1,.most = INFINITY,.bound = INFINITY,.stop = stop,.arg = arg};

	r->objective = r->bound = r->rounds = 0;
	if (in->n == 0)
		return LP_OPTIMAL;
	if (!make_room(&s, alloc))
		return LP_NO_MEMORY;
	memcpy(s.rate, in->rate, sizeof(double) * in->n * in->n_kinds);
	for (int m = 0; m < in->n; m++)
		sort_kinds(&s, m);
	first_offers(&s);
	for (r->rounds = 0;; r->rounds++)
	{
		lp_status	status = solve_master(&s);

		if (status != LP_OPTIMAL)
			return status;
		if (stop != NULL && stop(arg))
			return LP_STOPPED;
		if (s.reached > 0 && (s.reached < 0.5 || s.reached > 2))
		{
			change_unit(&s);
			continue;
		}
		if ((s.bound < INFINITY && s.bound - s.reached <= DECOMPOSE_GAP * s.bound) || s.n_prices >= DECOMPOSE_ROUNDS)
			break;
		if (ask_between(&s) == 0)
			break;
	}
	spread_mix(&s, r);
	r->bound = fmax(s.bound * s.unit, r->objective);
	return LP_OPTIMAL;
}
