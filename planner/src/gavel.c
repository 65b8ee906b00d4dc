/*
 * gavel.c - which share of its time each job gets on which kind of device.
 */
#include "gavel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const gavel_policy_name[GAVEL_N_POLICIES] = {"max_min", "makespan", "cost"};

/*
 * Rows: one a class (the shares of a job), one a kind (its devices), one a class
 * (what the policy wants of each job). Columns: class times kind, then t or
 * 1 / tau, or for cost what is unmet of each class.
 */
typedef struct programme
{
	const gavel_input *in;
	gavel_policy policy;
	int			n;				/* classes */
	const int  *first;			/* [n] a job of each class */
	const double *count;		/* [n] jobs of each class */
	double	   *scale;			/* [n] of the third kind of row, so that its numbers are near 1 */
	lp_problem	lp;
} programme;

static const double *
throughput_of(const programme *p, int class)
{
	return p->in->throughput + (size_t) p->first[class] * p->in->n_kinds;
}

/* Of the rate of a job, a part that makes no difference, and whose coefficients would only cost digits. */
#define NEGLIGIBLE 1e-9

static double
fastest(const programme *p, int class)
{
	double		best = 0;

	for (int j = 0; j < p->in->n_kinds; j++)
		if (p->in->workers[j] > 0 && throughput_of(p, class)[j] > best)
			best = throughput_of(p, class)[j];
	return best;
}

/* ---------- classes ---------- */

static bool
same_job(const gavel_input *in, int a, int b)
{
	return memcmp(&in->jobs[a], &in->jobs[b], sizeof(gavel_job)) == 0 &&
		memcmp(in->throughput + (size_t) a * in->n_kinds, in->throughput + (size_t) b * in->n_kinds, sizeof(double) * in->n_kinds) == 0;
}

static size_t
hash_bytes(size_t h, const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * (size_t) 1099511628211u;
	return h;
}

/* class_of[n_jobs], first[] and count[] of the classes; how many there are. table[size] is for the search, size a power of 2. */
static int
find_classes(const gavel_input *in, int *class_of, int *first, double *count, int *table, size_t size)
{
	int			n = 0;

	memset(table, -1, sizeof(int) * size);
	for (int m = 0; m < in->n_jobs; m++)
	{
		size_t		at = hash_bytes(hash_bytes((size_t) 14695981039346656037u, &in->jobs[m], sizeof(gavel_job)),
									in->throughput + (size_t) m * in->n_kinds, sizeof(double) * in->n_kinds);

		at ^= at >> 29;
		for (at &= size - 1; table[at] >= 0 && !same_job(in, first[table[at]], m); at = (at + 1) & (size - 1))
			;
		if (table[at] < 0)
		{
			table[at] = n;
			first[n] = m;
			count[n++] = 0;
		}
		class_of[m] = table[at];
		count[table[at]]++;
	}
	return n;
}

/* ---------- the programme ---------- */

static void
add(programme *p, int *at, int row, double value)
{
	p->lp.row[*at] = row;
	p->lp.value[(*at)++] = value;
}

/* What a second of kind j brings for what the policy wants of the class, in terms of its scale. */
static double
wanted_value(const programme *p, int class, int j)
{
	return throughput_of(p, class)[j] / p->scale[class];
}

/* An equal share of the whole cluster, as the rate of this class. */
static double
equal_rate(const programme *p, int class)
{
	double		all = 0;
	double		rate = 0;

	for (int j = 0; j < p->in->n_kinds; j++)
	{
		all += p->in->workers[j] / p->in->n_jobs;
		rate += p->in->workers[j] / p->in->n_jobs * throughput_of(p, class)[j];
	}
	return rate / fmax(1, all);
}

static void
set_rows(programme *p)
{
	for (int m = 0; m < p->n; m++)
	{
		const gavel_job *job = &p->in->jobs[p->first[m]];
		double		best = fastest(p, m);
		double		need = p->policy == GAVEL_COST && job->deadline_s < INFINITY ? job->steps / job->deadline_s : 0;
		int			row = p->n + p->in->n_kinds + m;

		p->lp.row_low[m] = -LP_FREE;
		p->lp.row_high[m] = 1;
		p->scale[m] = p->policy == GAVEL_MAX_MIN ? equal_rate(p, m) * job->weight / job->gpus :
			p->policy == GAVEL_MAKESPAN ? job->steps : need;
		/* no device that it runs on, or nothing (or next to nothing) that is wanted of it: a row that holds */
		if (best <= 0 || p->scale[m] <= 0 || (p->policy == GAVEL_COST && need < NEGLIGIBLE * best))
			p->scale[m] = 0;
		p->lp.row_low[row] = p->scale[m] > 0 ? p->policy == GAVEL_COST ? 1 : 0 : -LP_FREE;
		p->lp.row_high[row] = LP_FREE;
	}
	for (int j = 0; j < p->in->n_kinds; j++)
	{
		p->lp.row_low[p->n + j] = -LP_FREE;
		p->lp.row_high[p->n + j] = p->in->workers[j];
	}
}

/* The most that a unit of share gains, for the price of a deadline that is not met. */
static double
largest_gain(const programme *p)
{
	double		most = 1;

	for (int i = 0; i < p->n * p->in->n_kinds; i++)
		most = fmax(most, p->lp.gain[i]);
	return most;
}

/* t, or 1 / tau: each class that something is wanted of gets at least that. For cost: unmet shares, at a price that no share outweighs. */
static void
set_last_columns(programme *p, int *at)
{
	int			column = p->n * p->in->n_kinds;
	int			wanted = p->n + p->in->n_kinds;

	if (p->policy != GAVEL_COST)
	{
		bool		any = false;

		for (int m = 0; m < p->n; m++)
			if (p->scale[m] > 0)
			{
				add(p, at, wanted + m, -1);
				any = true;
			}
		p->lp.gain[column] = 1;
		/* where nobody can have anything it is no limit */
		p->lp.high[column] = any ? LP_FREE : 0;
		p->lp.start[++column] = *at;
	}
	else
	{
		double		most = largest_gain(p);

		for (int m = 0; m < p->n; m++)
		{
			if (p->scale[m] > 0)
				add(p, at, wanted + m, 1);
			p->lp.gain[column] = -1e3 * most * p->count[m];
			p->lp.high[column] = 1;
			p->lp.start[++column] = *at;
		}
	}
	p->lp.n_columns = column;
}

/*
 * Values of max_min and makespan are spread over many powers of ten (steps of
 * jobs), so the row of each class is divided by the rate that it wants; t and
 * 1 / tau are then in the unit of `unit`.
 */
static void
set_columns(programme *p, double unit)
{
	int			at = 0;

	for (int m = 0; m < p->n; m++)
	{
		double		best = fastest(p, m);

		for (int j = 0; j < p->in->n_kinds; j++)
		{
			int			column = m * p->in->n_kinds + j;
			double		t = throughput_of(p, m)[j];
			bool		runs = t > NEGLIGIBLE * best && p->in->workers[j] > 0;

			p->lp.start[column] = at;
			p->lp.high[column] = runs ? LP_FREE : 0;
			p->lp.gain[column] = p->policy == GAVEL_COST && runs ? p->count[m] * t / (p->in->price[j] * p->in->jobs[p->first[m]].gpus) : 0;
			add(p, &at, m, 1);
			if (runs)
			{
				add(p, &at, p->n + j, p->count[m] * p->in->jobs[p->first[m]].gpus);
				if (p->scale[m] > 0)
					add(p, &at, p->n + p->in->n_kinds + m, wanted_value(p, m, j) / unit);
			}
		}
	}
	p->lp.start[p->n * p->in->n_kinds] = at;
	set_last_columns(p, &at);
}

/* The typical value in the rows of what is wanted. */
static double
usual_value(const programme *p)
{
	double		sum = 0;
	int			n = 0;

	for (int m = 0; m < p->n; m++)
		if (p->scale[m] > 0)
		{
			sum += log(fastest(p, m) / p->scale[m]);
			n++;
		}
	return p->policy == GAVEL_COST || n == 0 ? 1 : exp(sum / n);
}

static bool
make_rows(programme *p, planner_alloc alloc)
{
	size_t		rows = 2 * (size_t) p->n + p->in->n_kinds;

	p->lp.n_rows = (int) rows;
	p->lp.row_low = alloc(sizeof(double) * rows);
	p->lp.row_high = alloc(sizeof(double) * rows);
	p->scale = alloc(sizeof(double) * p->n);
	return p->lp.row_low && p->lp.row_high && p->scale;
}

static bool
make_columns(programme *p, planner_alloc alloc)
{
	size_t		columns = (size_t) p->n * p->in->n_kinds + p->n + 1;
	size_t		room = 3 * (size_t) p->n * p->in->n_kinds + p->n + 1;

	p->lp.start = alloc(sizeof(int) * (columns + 1));
	p->lp.row = alloc(sizeof(int) * room);
	p->lp.value = alloc(sizeof(double) * room);
	p->lp.gain = alloc(sizeof(double) * columns);
	p->lp.high = alloc(sizeof(double) * columns);
	return p->lp.start && p->lp.row && p->lp.value && p->lp.gain && p->lp.high;
}

/* ---------- the answer ---------- */

static double
clamp(double v)
{
	return v < 1e-9 ? 0 : v > 1 ? 1 : v;
}

/* The objective of a rate t of the programme. */
static double
objective_of(const programme *p, double unit, double t)
{
	return p->policy == GAVEL_MAKESPAN ? 1 / (t * unit) : t * unit;
}

/* x: of the columns, shares of classes first. */
static void
spread(const programme *p, const int *class_of, const double *x, double unit, double objective, double bound, gavel_result *r)
{
	int			kinds = p->in->n_kinds;

	for (int m = 0; m < p->in->n_jobs; m++)
	{
		for (int j = 0; j < kinds; j++)
			r->share[(size_t) m * kinds + j] = clamp(x[class_of[m] * kinds + j]);
		r->unmet[m] = p->policy == GAVEL_COST ? clamp(x[p->n * kinds + class_of[m]]) : 0;
	}
	r->n_classes = p->n;
	if (p->policy != GAVEL_COST)
	{
		r->objective = objective_of(p, unit, objective);
		r->bound = objective_of(p, unit, bound);
		return;
	}
	r->objective = 0;
	for (int m = 0; m < p->n; m++)
		for (int j = 0; j < kinds; j++)
			r->objective += p->lp.gain[m * kinds + j] * x[m * kinds + j];
	r->bound = r->objective;
}

/* The programme without the classes of which nothing is wanted. */
static lp_status
assign_by_prices(const programme *p, const int *class_of, double unit, planner_alloc alloc, bool (*stop) (void *arg), void *arg, gavel_result *r)
{
	int			kinds = p->in->n_kinds;
	int		   *class = alloc(sizeof(int) * p->n);
	double	   *rate = alloc(sizeof(double) * p->n * kinds);
	double	   *use = alloc(sizeof(double) * p->n);
	double	   *x = alloc(sizeof(double) * p->n * kinds);
	decompose_input in = {.n_kinds = kinds,.rate = rate,.use = use,.workers = p->in->workers};
	decompose_result d = {.share = alloc(sizeof(double) * p->n * kinds)};
	lp_status	status;

	if (!class || !rate || !use || !x || !d.share)
		return LP_NO_MEMORY;
	for (int m = 0; m < p->n; m++)
	{
		if (p->scale[m] <= 0)
			continue;
		for (int j = 0; j < kinds; j++)
			rate[(size_t) in.n * kinds + j] = wanted_value(p, m, j) / unit;
		use[in.n] = p->count[m] * p->in->jobs[p->first[m]].gpus;
		class[in.n++] = m;
	}
	status = decompose(&in, alloc, stop, arg, &d);
	if (status != LP_OPTIMAL)
		return status;
	memset(x, 0, sizeof(double) * p->n * kinds);
	for (int i = 0; i < in.n; i++)
		memcpy(x + (size_t) class[i] * kinds, d.share + (size_t) i * kinds, sizeof(double) * kinds);
	spread(p, class_of, x, unit, d.objective, d.bound, r);
	return LP_OPTIMAL;
}

static lp_status
assign_as_a_whole(programme *p, const int *class_of, double unit, planner_alloc alloc, bool (*stop) (void *arg), void *arg, gavel_result *r)
{
	lp_solution s = {0};
	lp_status	status;

	if (!make_columns(p, alloc))
		return LP_NO_MEMORY;
	set_columns(p, unit);
	s.x = alloc(sizeof(double) * (p->lp.n_columns + 1));
	s.dual = alloc(sizeof(double) * (p->lp.n_rows + 1));
	if (!s.x || !s.dual)
		return LP_NO_MEMORY;
	status = lp_solve(&p->lp, stop, arg, &s);
	if (status == LP_OPTIMAL)
		spread(p, class_of, s.x, unit, s.objective, s.objective, r);
	return status;
}

lp_status
gavel_assign(const gavel_input *in, gavel_policy policy, planner_alloc alloc, bool (*stop) (void *arg), void *arg, gavel_result *r)
{
	size_t		size = 16;
	int		   *class_of = alloc(sizeof(int) * (in->n_jobs + 1));
	int		   *first = alloc(sizeof(int) * (in->n_jobs + 1));
	double	   *count = alloc(sizeof(double) * (in->n_jobs + 1));
	int		   *table;
	programme	p = {.in = in,.policy = policy,.first = first,.count = count};
	double		unit;

	while (size < 2 * (size_t) in->n_jobs)
		size *= 2;
	table = alloc(sizeof(int) * size);
	if (!class_of || !first || !count || !table)
		return LP_NO_MEMORY;
	p.n = find_classes(in, class_of, first, count, table, size);
	if (!make_rows(&p, alloc))
		return LP_NO_MEMORY;
	set_rows(&p);
	for (int m = 0; m < p.n; m++)
		if (policy == GAVEL_MAKESPAN && p.scale[m] <= 0)
			return LP_INFEASIBLE;
	unit = usual_value(&p);
	if (policy != GAVEL_COST && p.n > (in->whole_up_to > 0 ? in->whole_up_to : GAVEL_WHOLE_UP_TO))
		return assign_by_prices(&p, class_of, unit, alloc, stop, arg, r);
	return assign_as_a_whole(&p, class_of, unit, alloc, stop, arg, r);
}
