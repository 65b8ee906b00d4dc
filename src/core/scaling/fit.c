/*
 * fit.c - a cluster fitted to measured steps, by the simplex method of Nelder
 * and Mead: eleven numbers, and a function that is not smooth where the link
 * begins to decide.
 */
#include "scaling/divided_correction.h"
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
#define LEAST_NETWORKS 3		/* from which on they tell how much networks differ */
#define FOLDS		8			/* in which networks are left out, at the most */
#define FEW_ROWS	4			/* that count as rows with this error left */
#define FEW_ERROR	0.1
#define MOST_ERROR	3.0			/* standard deviation of a logarithm */
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
 * f->step_error and f->comm_error: the variance of what is left of a row is the
 * square of the first, and of the second times the share that communication has
 * in the step.  Least squares of the squared errors, neither below 0.  Few rows say
 * little of the first, so that some of a usual size count besides.
 */
static void
find_errors(const search *s, pm_fabric *f)
{
	double		x = 0,
				xx = 0,
				y = 0,
				xy = 0,
				slope;

	for (int i = 0; i < s->n; i++)
	{
		pm_scaled	to;
		pm_fabric	g = *f;
		double		e,
					share;

		g.own_contention = s->own[s->rows[i].network];
		pm_scaled_step(s->rows[i].shape, &s->rows[i].parallel, &g, 1, &to);
		e = pow(log(to.step_ms / s->rows[i].step_ms), 2);
		share = pow(fmin(1, to.comm_ms / to.step_ms), 2);
		x += s->weight[i] * share / s->n;
		xx += s->weight[i] * share * share / s->n;
		y += s->weight[i] * e / s->n;
		xy += s->weight[i] * share * e / s->n;
	}
	slope = xx - x * x > 1e-9 * xx ? fmax(0, (xy - x * y) / (xx - x * x)) : 0;
	if (y < slope * x)
		slope = xy / xx;
	f->step_error = fmin(MOST_ERROR, sqrt((s->n * fmax(0, y - slope * x) + FEW_ROWS * FEW_ERROR * FEW_ERROR) / (s->n + FEW_ROWS)));
	f->comm_error = fmin(MOST_ERROR, sqrt(slope));
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

/* ---- networks that were not measured ---- */

/* Squared logarithmic errors of networks that were left out; above: those of steps that took longer than predicted. */
typedef struct left_out
{
	double		above;			/* means over the rows of a network, sums over networks */
	double		below;
	int			networks;
} left_out;

/* What the rows of a network say of numbers that were fitted without it; nothing of steps that tp or pp divide. */
static void
add_network(const search *s, const pm_fabric *f, int network, left_out *to)
{
	double		above = 0;
	double		below = 0;
	int			n = 0;

	for (int i = 0; i < s->n; i++)
		if (s->rows[i].network == network && !pm_divided_correction_is_for(&s->rows[i].parallel))
		{
			double		e = -log_error(f, &s->rows[i]);

			*(e > 0 ? &above : &below) += e * e;
			n++;
		}
	if (n == 0)
		return;
	to->above += above / n;
	to->below += below / n;
	to->networks++;
}

/* The numbers are fitted once more, beginning with v, without the networks of a fold. rows and weight: room for the others. */
static pm_code
leave_out(const search *s, int fold, const double *v, pm_scaled_row *rows, double *weight, pm_arena *a, left_out *to, pm_status *st)
{
	search		others = *s;
	double		fitted[N_NUMBERS];
	pm_fabric	f;
	pm_code		rc;

	others.rows = rows;
	others.weight = weight;
	others.n = 0;
	for (int i = 0; i < s->n; i++)
		if (s->rows[i].network % FOLDS != fold)
			rows[others.n++] = s->rows[i];
	if (others.n == s->n || others.n == 0)
		return PM_OK;
	memcpy(fitted, v, sizeof(fitted));
	if ((rc = weigh(rows, others.n, a, weight, st)) != PM_OK || (rc = find_better(&others, fitted, a, st)) != PM_OK)
		return rc;
	f = fabric_of(s->start, fitted);
	for (int k = fold; k < s->networks; k += FOLDS)
		add_network(s, &f, k, to);
	return PM_OK;
}

double
pm_few_networks(int n)
{
	static const double t95[] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812};
	int			listed = sizeof(t95) / sizeof(t95[0]);

	return (n - 1 <= listed ? t95[n - 2] : 1.645 + 1.7 / (n - 1)) / 1.645 * sqrt(1 + 1.0 / n);
}

/*
 * f->unseen_above and unseen_below, by leaving networks out in turn.  Errors on
 * one side count twice, as those on both would if the sides were alike.  No network
 * is better known than those that were measured.  With few networks both stay what
 * they were.
 */
static pm_code
doubt_unseen(const search *s, const double *v, pm_fabric *f, pm_arena *a, pm_status *st)
{
	pm_scaled_row *rows = PM_NEW(a, pm_scaled_row, s->n);
	double	   *weight = PM_NEW(a, double, s->n);
	left_out	e = {0};

	if (rows == NULL || weight == NULL)
		return pm_no_memory(st, a);
	for (int fold = 0; fold < FOLDS && s->networks >= LEAST_NETWORKS; fold++)
	{
		pm_code		rc = leave_out(s, fold, v, rows, weight, a, &e, st);

		if (rc != PM_OK)
			return rc;
	}
	if (e.networks < LEAST_NETWORKS)
		return PM_OK;
	f->unseen_above = fmin(MOST_ERROR, fmax(f->step_error, pm_few_networks(e.networks) * sqrt(2 * e.above / e.networks)));
	f->unseen_below = fmin(MOST_ERROR, fmax(f->step_error, pm_few_networks(e.networks) * sqrt(2 * e.below / e.networks)));
	return PM_OK;
}

/* ---- what the numbers do not explain ---- */

/* f->correction from the rows that it is for, in scratch; NULL where they say nothing that other rows confirm. */
static pm_code
learn_correction(pm_fabric *f, const pm_scaled_row *rows, int n, pm_arena *scratch, pm_status *st)
{
	double	   *x = PM_NEW(scratch, double, (size_t) n * PM_DIVIDED_FEATURES);
	double	   *left = PM_NEW(scratch, double, n);
	pm_divided_correction *c = PM_NEW(scratch, pm_divided_correction, 1);
	double		gain;
	int			used = 0;
	pm_code		rc;

	if (x == NULL || left == NULL || c == NULL)
		return pm_no_memory(st, scratch);
	for (int i = 0; i < n; i++)
		if (pm_divided_correction_is_for(&rows[i].parallel))
		{
			pm_divided_correction_features(rows[i].shape, &rows[i].parallel, x + used * PM_DIVIDED_FEATURES);
			left[used++] = -log_error(f, &rows[i]);
		}
	if ((rc = pm_divided_correction_fit(x, left, used, scratch, c, &gain, st)) == PM_OK && c->n > 0)
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
	{
		pm_fail(st, PM_ERR_DATA, "there are no measurements on several GPUs to fit cluster \"%.*s\" to", pm_shown(f->name), f->name);
		pm_hint(st, "Insert rows with world_size above 1 into perfmodel.profile, of the device and with no more nodes than the cluster has.");
		return PM_ERR_DATA;
	}
	if ((rc = prepare(&s, rows, n, own, scratch, st)) != PM_OK)
		return rc;
	plain.correction = NULL;
	numbers_of(f, s.at_start);
	*before = mean_error(f, s.own, rows, n);
	rc = own != NULL ? find_all(&s, v, scratch, st) : find_best(&s, v, scratch, st);
	if (rc != PM_OK)
		return rc;
	found = fabric_of(&plain, v);
	find_errors(&s, &found);
	if ((rc = doubt_unseen(&s, v, &found, scratch, st)) != PM_OK || (rc = learn_correction(&found, rows, n, scratch, st)) != PM_OK)
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

void
pm_fabric_forget(pm_fabric *f)
{
	*f = (pm_fabric) {
		.name = f->name,.intra = f->intra,.inter = f->inter,.gpus_per_node = f->gpus_per_node,.adapters = f->adapters,.max_nodes = f->max_nodes,
		.other_gpu = f->other_gpu,.host_s_per_gb = pm_usual_host_s_per_gb(&f->intra, f->gpus_per_node), PM_NOT_FITTED
	};
}
