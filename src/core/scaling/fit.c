/*
 * fit.c - a cluster fitted to measured steps, by the simplex method of Nelder
 * and Mead: eleven numbers, and a function that is not smooth where the link
 * begins to decide.
 */
#include "scaling/correction.h"
#include "scaling/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRIES	600
#define STARTS		3			/* a simplex that has become flat is put up anew around the best corner */
#define ROW_SPREAD	0.05		/* of measured over predicted around 1 */
#define HUBER		2.0			/* spreads; beyond, an error counts linearly */
#define LOG_LIMIT	5.0			/* factors between e^-5 and e^5 */
#define FASTEST		0.7			/* ln 2: the most by which a link is faster than its row says */
#define MIN_OVERLAP	0.05
#define ROUNDS		2			/* of numbers of the cluster and of networks, in turn */
#define OWN_COST	10			/* of a unit of a network's own contention, for each row */
#define SMALLEST_OWN 0.005
#define OWN_STEP	1.1			/* from a value that is tried to the next */
#define SWITCHED_HOST 0.01		/* spread of HOST where a switch keeps messages off what the GPUs share */

/* The numbers of a cluster; factors as logarithms. */
enum
{
	INTRA, INTER, LATENCY, STEAL, STRAGGLER, CONTENTION, COMPUTE, PAIR, CONTENTION_POWER, HOST, OVERLAP, N_NUMBERS
};

/* How far a number may well be from where it starts. */
static const double spread[N_NUMBERS] = {
	[INTRA] = 0.5,[INTER] = 0.5,[LATENCY] = 0.7,[STEAL] = 0.05,[STRAGGLER] = 0.02,[CONTENTION] = 0.1,[COMPUTE] = 0.1,[PAIR] = 0.4,
	[CONTENTION_POWER] = 0.2,[HOST] = 0.1,[OVERLAP] = 0.3
};
static const bool not_negative[N_NUMBERS] = {[STEAL] = true,[STRAGGLER] = true,[CONTENTION] = true,[HOST] = true};

typedef struct search
{
	const pm_fabric *start;
	const pm_scaled_row *rows;
	const double *weight;		/* [n] of a row */
	int			n;
	double	   *own;			/* [networks] contention of a network's own */
	const double *own_start;
	int			networks;
	double		at_start[N_NUMBERS];
} search;

static void
numbers_of(const pm_fabric *f, double *v)
{
	v[INTRA] = log(f->intra_factor);
	v[INTER] = log(f->inter_factor);
	v[LATENCY] = log(fmax(f->latency_factor, exp(-LOG_LIMIT)));
	v[STEAL] = f->steal;
	v[STRAGGLER] = f->straggler;
	v[CONTENTION] = f->contention;
	v[COMPUTE] = log(f->compute_factor);
	v[PAIR] = log(f->pair_factor);
	v[CONTENTION_POWER] = f->contention_power;
	v[HOST] = f->host_s_per_gb;
	v[OVERLAP] = f->overlap;
}

static double
within(double v, double min, double max)
{
	return fmin(max, fmax(min, v));
}

static pm_fabric
fabric_of(const pm_fabric *start, const double *v)
{
	pm_fabric	f = *start;

	/* a link that comes with a factor of its own may keep it */
	f.intra_factor = exp(within(v[INTRA], -LOG_LIMIT, fmax(FASTEST, log(start->intra_factor))));
	f.inter_factor = exp(within(v[INTER], -LOG_LIMIT, fmax(FASTEST, log(start->inter_factor))));
	f.latency_factor = exp(within(v[LATENCY], -LOG_LIMIT, LOG_LIMIT));
	f.steal = within(v[STEAL], 0, 10);
	f.straggler = within(v[STRAGGLER], 0, 10);
	f.contention = within(v[CONTENTION], 0, 10);
	f.compute_factor = exp(within(v[COMPUTE], -1, 1));
	f.pair_factor = exp(within(v[PAIR], -LOG_LIMIT, fmax(FASTEST - log(f.inter_factor), log(start->pair_factor))));
	f.contention_power = within(v[CONTENTION_POWER], 0.3, 1.2);
	f.host_s_per_gb = within(v[HOST], 0, 100);
	f.overlap = within(v[OVERLAP], MIN_OVERLAP, 1);
	return f;
}

/* ln of predicted over measured step of a network that f is of. */
static double
log_error(const pm_fabric *f, const pm_scaled_row *row)
{
	pm_scaled	s;

	pm_scaled_step(row->shape, &row->parallel, f, 1, &s);
	return log(s.step_ms / row->step_ms);
}

/* The same with what the network of the row has of its own; own NULL: nothing. */
static double
own_log_error(const pm_fabric *f, const double *own, const pm_scaled_row *row)
{
	pm_fabric	g = *f;

	if (own != NULL)
		g.own_contention = own[row->network];
	return log_error(&g, row);
}

/* What row i adds to what the search makes small. */
static double
row_badness(const search *s, const pm_fabric *f, int i)
{
	double		e = fabs(expm1(own_log_error(f, s->own, &s->rows[i]))) / ROW_SPREAD;

	return s->weight[i] * (e <= HUBER ? e * e : HUBER * (2 * e - HUBER));
}

/*
 * What the search makes small: relative errors, as they are reported, so that
 * between networks that suffer from their neighbours and others it prefers the
 * shorter step.  Numbers that are out of range cost what they are out.
 */
static double
badness(const search *s, const double *v)
{
	pm_fabric	f = fabric_of(s->start, v);
	double		sum = 0;

	for (int i = 0; i < N_NUMBERS; i++)
	{
		double		d = (v[i] - s->at_start[i]) / (i == HOST && s->start->intra.kind == PM_LINK_NVSWITCH ? SWITCHED_HOST : spread[i]);

		sum += d * d + (not_negative[i] && v[i] < 0 ? 100 * pow(v[i] / spread[i], 2) : 0);
	}
	for (int i = 0; i < s->n; i++)
	{
		int			k = s->rows[i].network;

		sum += row_badness(s, &f, i) + s->weight[i] * OWN_COST * fabs(s->own[k] - s->own_start[k]);
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

/*
 * From where the cluster is, and from where the processors of a machine are what
 * its GPUs wait for: slow links and slow neighbours look alike from afar, and a
 * simplex stays with the one that it met first.
 */
static pm_code
find_best(const search *s, double *v, const pm_arena *a, pm_status *st)
{
	double		other[N_NUMBERS];
	pm_code		rc;

	memcpy(v, s->at_start, sizeof(other));
	memcpy(other, s->at_start, sizeof(other));
	other[CONTENTION] += 2 * spread[CONTENTION];
	for (int i = 0; i < STARTS; i++)
		if ((rc = find_better(s, v, a, st)) != PM_OK || (rc = find_better(s, other, a, st)) != PM_OK)
			return rc;
	if (badness(s, other) < badness(s, v))
		memcpy(v, other, sizeof(other));
	return PM_OK;
}

/* ---- what networks have of their own ---- */

/* Badness of the rows of network k with u of its own. */
static double
own_badness(const search *s, const pm_fabric *f, int k, double u)
{
	double		sum = 0;

	s->own[k] = u;
	for (int i = 0; i < s->n; i++)
		if (s->rows[i].network == k)
			sum += row_badness(s, f, i) + s->weight[i] * OWN_COST * fabs(u - s->own_start[k]);
	return sum;
}

/* The best of a row of values for each network, with the numbers v of the cluster. */
static pm_code
find_own(const search *s, const double *v, const pm_arena *a, pm_status *st)
{
	pm_fabric	f = fabric_of(s->start, v);

	for (int k = 0; k < s->networks; k++)
	{
		double		best = s->own_start[k];
		double		bad = own_badness(s, &f, k, best);

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		for (double u = 0; u <= PM_OWN_CONTENTION_MAX; u = fmax(SMALLEST_OWN, u * OWN_STEP))
		{
			double		b = own_badness(s, &f, k, u);

			if (b < bad)
			{
				bad = b;
				best = u;
			}
		}
		s->own[k] = best;
	}
	return PM_OK;
}

/*
 * The numbers v of the cluster, and s->own, in turn: networks that are unlike the
 * others no longer decide how slow its links are.
 */
static pm_code
find_all(const search *s, double *v, const pm_arena *a, pm_status *st)
{
	double		next[2][N_NUMBERS];
	pm_code		rc = find_best(s, v, a, st);

	for (int i = 0; i < ROUNDS && rc == PM_OK && s->networks > 1; i++)
	{
		memcpy(next[0], v, sizeof(next[0]));
		memcpy(next[1], s->at_start, sizeof(next[1]));
		if ((rc = find_own(s, v, a, st)) != PM_OK)
			return rc;
		for (int k = 0; k < 2; k++)
		{
			if ((rc = find_better(s, next[k], a, st)) != PM_OK)
				return rc;
			if (badness(s, next[k]) < badness(s, v))
				memcpy(v, next[k], sizeof(next[k]));
		}
	}
	return rc;
}

/* ---- */

/* own NULL: every network has f->own_contention. */
static double
mean_error(const pm_fabric *f, const double *own, const pm_scaled_row *rows, int n)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
		sum += fabs(expm1(own_log_error(f, own, &rows[i])));
	return n > 0 ? sum / n : 0;
}

double
pm_fabric_error(const pm_fabric *f, const pm_scaled_row *rows, int n)
{
	return mean_error(f, NULL, rows, n);
}

/*
 * Standard deviation of what is left, as if communication were off by it: the
 * error of the step over the share that communication has in it, pooled.
 */
static double
spread_left(const pm_fabric *f, const double *own, const pm_scaled_row *rows, int n)
{
	double		sum = 0;
	double		weight = 0;

	for (int i = 0; i < n; i++)
	{
		pm_scaled	s;
		pm_fabric	g = *f;
		double		e;

		g.own_contention = own[rows[i].network];
		e = log_error(&g, &rows[i]);
		pm_scaled_step(rows[i].shape, &rows[i].parallel, &g, 1, &s);
		sum += e * e;
		weight += pow(fmin(1, s.comm_ms / s.step_ms), 2);
	}
	return fmin(3, sqrt(sum / fmax(weight, 0.01 * n)));
}

/* ---- networks of the same weight ---- */

static int
by_number(const void *a, const void *b)
{
	int			x = *(const int *) a;
	int			y = *(const int *) b;

	return x < y ? -1 : x > y;
}

/* How many of n ascending numbers are at most v. */
static int
count_up_to(const int *sorted, int n, int v)
{
	int			from = 0;

	for (int to = n; from < to;)
	{
		int			middle = from + (to - from) / 2;

		if (sorted[middle] <= v)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The rows of a network count as much as those of any other, whatever their number; all rows together count n. */
static pm_code
weigh(const pm_scaled_row *rows, int n, pm_arena *a, double *weight, pm_status *st)
{
	int		   *sorted = PM_NEW(a, int, n);
	int			networks = 0;

	if (sorted == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		sorted[i] = rows[i].network;
	qsort(sorted, n, sizeof(int), by_number);
	for (int i = 0; i < n; i++)
		networks += i == 0 || sorted[i] != sorted[i - 1];
	for (int i = 0; i < n; i++)
		weight[i] = (double) n / networks / (count_up_to(sorted, n, rows[i].network) - count_up_to(sorted, n, rows[i].network - 1));
	return PM_OK;
}

/* ---- what cannot be ---- */

#define WORST_FIT	0.5			/* a fit that is still wrong by so much says nothing */
#define SLOWEST		0.001		/* of the speed that its row says, bandwidth or fixed time, that a link may be down to */
#define SOONEST		0.6			/* of the time that one GPU needs for the same; caches and clocks explain no more */

/* Rows that are done sooner than the work of one GPU. */
static int
too_soon(const pm_scaled_row *rows, int n)
{
	pm_parallel alone = PM_PARALLEL_NONE;
	int			count = 0;

	for (int i = 0; i < n; i++)
	{
		pm_scaled	s;

		alone.accumulation = rows[i].parallel.accumulation;
		pm_scaled_step(rows[i].shape, &alone, NULL, 1, &s);
		count += rows[i].parallel.tp * rows[i].parallel.pp == 1 && rows[i].step_ms < SOONEST * s.step_ms;
	}
	return count;
}

/* Share of the bandwidth of a link's row that a whole machine is left with; 1 for a link that is not there. */
static double
left_of(const pm_link *link, double factor, const pm_fabric *f)
{
	double		gbs = link->n_rows > 0 ? pm_link_for(link, f->gpus_per_node).busbw_gbs : 1;

	return link->n_rows > 0 ? 1 / (1 / factor + gbs * pm_gpus_of_a_host(f, f->gpus_per_node) * f->host_s_per_gb) : 1;
}

double
pm_fabric_slowest(const pm_fabric *f)
{
	double		gbs = fmin(left_of(&f->intra, f->intra_factor, f), left_of(&f->inter, f->inter_factor * fmin(1, f->pair_factor), f));

	return fmin(gbs, 1 / fmax(f->latency_factor, 1e-9));
}

pm_code
pm_fabric_plausible(const pm_fabric *f, const pm_scaled_row *rows, int n, double before, double after, pm_status *st)
{
	int			soon = too_soon(rows, n);
	double		slowest = pm_fabric_slowest(f);

	if (2 * soon > n)
	{
		pm_fail(st, PM_ERR_DATA, "%d of %d measurements on several GPUs take less than %g of the step on one GPU", soon, n, SOONEST);
		pm_hint(st, "step_ms is the time of one step, in which each GPU trains on a batch of its own.");
	}
	else if (after > WORST_FIT)
	{
		pm_fail(st, PM_ERR_DATA, "the measurements do not fit cluster \"%.*s\": the best fit is wrong by %.0f %%", pm_shown(f->name), f->name, 100 * after);
		pm_hint(st, "Look for measurements with a wrong world_size, nodes or step_ms.");
	}
	else if (after > before + 0.01)
	{
		pm_fail(st, PM_ERR_DATA, "the measurements fit cluster \"%.*s\" no better than what is known of it: %.1f %% before, %.1f %% after",
				pm_shown(f->name), f->name, 100 * before, 100 * after);
		pm_hint(st, "Add measurements of other networks or of other numbers of GPUs.");
	}
	else if (slowest < SLOWEST)
	{
		pm_fail(st, PM_ERR_DATA, "the links of cluster \"%.*s\" would be %.0f times slower than their rows in perfmodel.interconnect say",
				pm_shown(f->name), f->name, 1 / slowest);
		pm_hint(st, "Describe the cluster with the links that it has, or look for measurements that something else slowed down.");
	}
	else
		return PM_OK;
	return PM_ERR_DATA;
}

/* ---- what the numbers do not explain ---- */

/* f->correction from the rows that it is for, in scratch; NULL where they say nothing that other rows confirm. */
static pm_code
learn_correction(pm_fabric *f, const pm_scaled_row *rows, int n, pm_arena *scratch, pm_status *st)
{
	double	   *x = PM_NEW(scratch, double, (size_t) n * PM_CORRECTION_FEATURES);
	double	   *left = PM_NEW(scratch, double, n);
	pm_correction *c = PM_NEW(scratch, pm_correction, 1);
	double		gain;
	int			used = 0;
	pm_code		rc;

	if (x == NULL || left == NULL || c == NULL)
		return pm_no_memory(st, scratch);
	for (int i = 0; i < n; i++)
		if (pm_correction_is_for(&rows[i].parallel))
		{
			pm_correction_features(rows[i].shape, &rows[i].parallel, x + used * PM_CORRECTION_FEATURES);
			left[used++] = -log_error(f, &rows[i]);
		}
	if ((rc = pm_correction_fit(x, left, used, scratch, c, &gain, st)) == PM_OK && c->n > 0)
		f->correction = c;
	return rc;
}

/* ---- */

/* What a search needs besides the rows: weights, and room for what networks have of their own. */
static pm_code
prepare(search *s, const pm_scaled_row *rows, int n, const double *own, pm_arena *a, pm_status *st)
{
	double	   *weight = PM_NEW(a, double, n);
	double	   *start;

	s->rows = rows;
	s->n = n;
	for (int i = 0; i < n; i++)
		s->networks = rows[i].network >= s->networks ? rows[i].network + 1 : s->networks;
	start = PM_NEW(a, double, s->networks);
	s->own = PM_NEW(a, double, s->networks);
	if (weight == NULL || start == NULL || s->own == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < s->networks; i++)
		s->own[i] = start[i] = own != NULL ? own[i] : 0;
	s->weight = weight;
	s->own_start = start;
	return weigh(rows, n, a, weight, st);
}

pm_code
pm_fabric_fit(pm_fabric *f, const pm_scaled_row *rows, int n, double *own, pm_arena *scratch, double *before, double *after, pm_status *st)
{
	/* the numbers are fitted by themselves, and corrected afterwards */
	pm_fabric	plain = *f;
	search		s = {.start = &plain};
	double		v[N_NUMBERS];
	pm_fabric	found;
	pm_code		rc;

	if (n < 1)
		return pm_fail(st, PM_ERR_DATA, "there are no measurements on several GPUs to fit cluster \"%.*s\" to", pm_shown(f->name), f->name);
	if ((rc = prepare(&s, rows, n, own, scratch, st)) != PM_OK)
		return rc;
	plain.correction = NULL;
	numbers_of(f, s.at_start);
	*before = mean_error(f, s.own, rows, n);
	rc = own != NULL ? find_all(&s, v, scratch, st) : find_best(&s, v, scratch, st);
	if (rc != PM_OK)
		return rc;
	found = fabric_of(&plain, v);
	found.comm_error = spread_left(&found, s.own, rows, n);
	if ((rc = learn_correction(&found, rows, n, scratch, st)) != PM_OK)
		return rc;
	*after = mean_error(&found, s.own, rows, n);
	if ((rc = pm_fabric_plausible(&found, rows, n, *before, *after, st)) != PM_OK)
		return rc;
	found.fitted_rows = n;
	*f = found;
	if (own != NULL)
		memcpy(own, s.own, sizeof(double) * s.networks);
	return PM_OK;
}
