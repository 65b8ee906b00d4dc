/*
 * drift.c - bets against the promise that ranks are uniform (docs/drift.md).
 */
#include "drift/drift.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const pm_drift_sort_name[PM_N_DRIFT_SORTS] = {"none", "slower", "faster", "wider"};

/*
 * Bets are on densities k r^(k - 1) of the rank r: on high ranks, on low ones,
 * and on both ends. Nobody knows how far a shift goes, so the money is divided:
 * most of it wins soonest where a shift is about as large as the usual error, and
 * some is left for small shifts that last.
 */
static const struct
{
	double		power;			/* k */
	double		part;			/* of the money of each sort */
} bets[] = {{4, 0.8}, {1.6, 0.2}};

/* Shifts are looked for more than errors to both sides. */
static const double sort_part[PM_N_DRIFT_SORTS] = {[PM_DRIFT_SLOWER] = 0.4,[PM_DRIFT_FASTER] = 0.4,[PM_DRIFT_WIDER] = 0.2};

#define N_POWERS	((int) (sizeof(bets) / sizeof(bets[0])))
#define N_BETS		(3 * N_POWERS)

typedef struct place
{
	double		rank;
	int			row;
} place;

typedef struct bettor
{
	const pm_drift_row *rows;
	int			n;
	int			calibration;	/* networks */
	int		   *next;			/* [n] the next row of the same network, -1: none */
	int		   *position;		/* [n] of the row among all ranks, from 1 */
	double	   *below;			/* [n + 1] Fenwick tree: weight of the networks before, by position */
	double		log_money[N_BETS];
} bettor;

/* A number in 0..1 that is the same at every look, and tells nothing about the row. */
static double
drawn(int64_t network, int nth)
{
	return (double) (pm_mix(pm_mix((uint64_t) network) + (uint64_t) nth) >> 11) * 0x1p-53;
}

static double
rank_of(const pm_drift_row *r, int nth)
{
	return r->low + (r->high - r->low) * drawn(r->network, nth);
}

/* ---- weights of ranks ---- */

static void
add_weight(bettor *b, int position, double weight)
{
	for (int i = position; i <= b->n; i += i & -i)
		b->below[i] += weight;
}

static double
weight_below(const bettor *b, int position)
{
	double		sum = 0;

	for (int i = position - 1; i > 0; i -= i & -i)
		sum += b->below[i];
	return sum;
}

static int
by_rank(const void *a, const void *b)
{
	const place *x = a;
	const place *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->row - y->row;
}

/* ---- sorting ---- */

#define PIECE 65536				/* elements that are sorted without a question whether to stop */

typedef struct sorting
{
	size_t		size;			/* of an element */
	int			(*compare) (const void *a, const void *b);
	pm_arena   *arena;
	pm_status  *st;
} sorting;

/* from[at..middle) and from[middle..end), both sorted, become to[at..end). */
static pm_code
merge(const sorting *s, const char *from, char *to, size_t at, size_t middle, size_t end)
{
	size_t		right = middle;
	size_t		left = at;

	for (; at < end; at++)
	{
		bool		take_left = left < middle && (right >= end || s->compare(from + left * s->size, from + right * s->size) <= 0);
		size_t	   *next = take_left ? &left : &right;

		if (at % PIECE == 0 && pm_stopped(s->arena, s->st))
			return PM_CANCELLED;
		memcpy(to + at * s->size, from + (*next)++ * s->size, s->size);
	}
	return PM_OK;
}

/* qsort, which a cancel ends: pieces are sorted, then merged. */
static pm_code
sort(void *elements, size_t n, const sorting *s)
{
	char	   *from = elements;
	char	   *to = n > PIECE ? pm_alloc_unset(s->arena, n, s->size) : NULL;

	for (size_t at = 0; at < n; at += PIECE)
	{
		if (pm_stopped(s->arena, s->st))
			return PM_CANCELLED;
		qsort(from + at * s->size, n - at < PIECE ? n - at : PIECE, s->size, s->compare);
	}
	if (n > PIECE && !to)
		return pm_no_memory(s->st, s->arena);
	for (size_t width = PIECE; width < n; width *= 2)
	{
		char	   *sorted = to;

		for (size_t at = 0; at < n; at += 2 * width)
			if (merge(s, from, to, at, at + width < n ? at + width : n, at + 2 * width < n ? at + 2 * width : n) != PM_OK)
				return PM_CANCELLED;
		to = from;
		from = sorted;
	}
	if (from != elements)
		memcpy(elements, from, n * s->size);
	return PM_OK;
}

/* ---- networks ---- */

typedef struct member
{
	int64_t		network;
	int			row;
} member;

static int
by_network(const void *a, const void *b)
{
	const member *x = a;
	const member *y = b;

	if (x->network != y->network)
		return x->network < y->network ? -1 : 1;
	return x->row - y->row;
}

/* Chain the rows of each network; first[i]: row i is the first of its network. */
static pm_code
chain_networks(bettor *b, bool *first, pm_arena *a, pm_status *st)
{
	member	   *m = PM_NEW(a, member, b->n);
	pm_code		rc;

	if (!m)
		return pm_no_memory(st, a);
	for (int i = 0; i < b->n; i++)
		m[i] = (member) {b->rows[i].network, i};
	if ((rc = sort(m, b->n, &(sorting) {sizeof(member), by_network, a, st})) != PM_OK)
		return rc;
	for (int i = 0; i < b->n; i++)
	{
		bool		more = i + 1 < b->n && m[i + 1].network == m[i].network;

		b->next[m[i].row] = more ? m[i + 1].row : -1;
		first[m[i].row] = i == 0 || m[i - 1].network != m[i].network;
	}
	return PM_OK;
}

/* Ranks of all rows, and where each stands among them. */
static pm_code
place_rows(bettor *b, double *rank, const bool *first, pm_arena *a, pm_status *st)
{
	place	   *p = PM_NEW(a, place, b->n);
	pm_code		rc;

	if (!p)
		return pm_no_memory(st, a);
	for (int i = 0; i < b->n; i++)
	{
		const pm_drift_row *r = &b->rows[i];

		if (!(r->low >= 0 && r->low <= r->high && r->high <= 1))
			return pm_fail(st, PM_ERR_INPUT, "ranks must be within 0..1, not %g to %g", r->low, r->high);
	}
	for (int i = 0; i < b->n; i++)
		for (int row = i, nth = 0; first[i] && row >= 0; row = b->next[row], nth++)
			p[row] = (place) {rank[row] = rank_of(&b->rows[row], nth), row};
	if ((rc = sort(p, b->n, &(sorting) {sizeof(place), by_rank, a, st})) != PM_OK)
		return rc;
	for (int i = 0; i < b->n; i++)
		b->position[p[i].row] = i + 1;
	return PM_OK;
}

/* ---- bets ---- */

/* What a bet of 1 becomes where the rank is r; its mean over uniform ranks is 1. */
static double
payoff(int bet, double r)
{
	double		k = bets[bet % N_POWERS].power;
	double		at = bet < N_POWERS ? r : bet < 2 * N_POWERS ? 1 - r : fabs(2 * r - 1);

	return k * pow(at, k - 1);
}

/*
 * Play the network that begins at row: the mean of what its rows pay, as of a
 * row drawn from it, which is how calibration weighs them, too.
 *
 * The calibration is a sample, whose ranks are not quite uniform. So each new
 * network is ranked among those of the calibration and the new ones before it,
 * and what the sample happened to be is not taken for a drift in the long run.
 */
static pm_code
play_network(bettor *b, const double *rank, int row, int n_before, pm_arena *a, pm_status *st)
{
	double		pays[N_BETS] = {0};
	double		total = (double) b->calibration + n_before + 1;
	int			n = 0;

	for (int i = row; i >= 0; i = b->next[i])
		n++;
	for (int i = row, nth = 0; i >= 0; i = b->next[i], nth++)
	{
		double		among;

		if ((nth + 1) % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		among = (b->calibration * rank[i] + weight_below(b, b->position[i]) + drawn(~b->rows[i].network, nth)) / total;

		for (int bet = 0; bet < N_BETS; bet++)
			pays[bet] += payoff(bet, among) / n;
	}
	for (int bet = 0; bet < N_BETS; bet++)
		b->log_money[bet] += log(fmax(pays[bet], DBL_MIN));
	for (int i = row; i >= 0; i = b->next[i])
		add_weight(b, b->position[i], 1.0 / n);
	return PM_OK;
}

/* All money of bets from..to, of the 1 that all bets began with; each is worth at most e^700, so that the sum is finite. */
static double
money(const bettor *b, int from, int to)
{
	double		sum = 0;

	for (int bet = from; bet < to; bet++)
		sum += exp(fmin(b->log_money[bet], 700)) * bets[bet % N_POWERS].part * sort_part[1 + bet / N_POWERS];
	return sum;
}

static pm_drift_sort
richest(const bettor *b)
{
	pm_drift_sort best = PM_DRIFT_SLOWER;

	for (int sort = PM_DRIFT_FASTER; sort < PM_N_DRIFT_SORTS; sort++)
		if (money(b, (sort - 1) * N_POWERS, sort * N_POWERS) > money(b, (best - 1) * N_POWERS, best * N_POWERS))
			best = sort;
	return best;
}

static pm_code
play(bettor *b, const double *rank, const bool *first, pm_arena *a, pm_drift *result, pm_status *st)
{
	for (int i = 0; i < b->n; i++)
	{
		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		if (!first[i])
			continue;
		if (play_network(b, rank, i, result->n_networks++, a, st) != PM_OK)
			return PM_CANCELLED;
		result->e_now = money(b, 0, N_BETS);
		/* what won is told of the moment of the strongest evidence */
		if (result->e_now > result->e_max || result->n_networks == 1)
			result->sort = richest(b);
		result->e_max = fmax(result->e_max, result->e_now);
	}
	return PM_OK;
}

pm_code
pm_drift_run(const pm_drift_row *rows, int n, int calibration, pm_arena *a, pm_drift *result, pm_status *st)
{
	bettor		b = {.rows = rows,.n = n,.calibration = calibration > PM_DRIFT_CALIBRATION_MIN ? calibration : PM_DRIFT_CALIBRATION_MIN};
	double	   *rank = PM_NEW(a, double, n);
	bool	   *first = PM_NEW(a, bool, n);
	pm_code		rc;

	*result = (pm_drift) {.e_now = 1,.e_max = 1,.sort = PM_DRIFT_NONE};
	if (n == 0)
		return PM_OK;
	b.next = PM_NEW(a, int, n);
	b.position = PM_NEW(a, int, n);
	b.below = PM_NEW(a, double, n + 1);
	if (!rank || !first || !b.next || !b.position || !b.below)
		return pm_no_memory(st, a);
	if ((rc = chain_networks(&b, first, a, st)) != PM_OK || (rc = place_rows(&b, rank, first, a, st)) != PM_OK)
		return rc;
	return play(&b, rank, first, a, result, st);
}
