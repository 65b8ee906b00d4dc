/*
 * transfer.c - the weight of a measured step on another device, and the
 * interval of the answer.
 */
#include "predictor/transfer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "features/split.h"
#include "kinds/cards.h"
#include "predictor/trust.h"

#define PARTNERS		4		/* other devices that a row is paired with, at the most */
#define MAX_PAIRS		100000	/* that are learned from; groups come in a random order */
#define LEAST_UNITS		20		/* networks on a device that pairs are about, at the least */
#define LEAST_NETWORKS	5
#define HALF_WAY		0.3		/* distance at which the weight is half way to that of the farthest networks */
#define REWEIGHTINGS	8
#define SMALL_ERROR		0.02	/* relative; below, the absolute error is smoothed */
#define MAX_GPUS		4096	/* in a stored form */

struct pm_transfer
{
	double		near;			/* weight of a network at distance 0 */
	double		far;			/* what it tends to with the distance */
	int			n_gpus;
	const char *const *gpus;	/* [n_gpus] of the pairs */
	const pm_intervals *errors;	/* of what is carried over */
};

/* ---- pairs ---- */

/* A row, and what tells those that it can be paired with. */
typedef struct key
{
	uint64_t	group;			/* network, batch and formats */
	uint64_t	gpu;			/* hash of the name */
	int			row;
} key;

/* Errors of predictions of two rows, ln(measured / predicted): of row `to`, of its partner. */
typedef struct pair
{
	int			to;
	int			set;			/* of predictions */
	double		error;
	double		partner;
	double		bend;			/* 0..1 with the distance */
	double		weight;
} pair;

typedef struct pairs
{
	const pm_dataset *d;
	const pm_crossed *crossed;
	int			sets;			/* of predictions: crossed[sets], the farthest last */
	int			n;
	int			room;
	pair	   *pair;			/* [room] */
} pairs;

static double
bend_at(double distance)
{
	return distance / (distance + HALF_WAY);
}

static uint64_t
group_of(const pm_question *q)
{
	const uint64_t words[] = {q->graph->structure, (uint64_t) q->batch, q->dtype, q->layout, q->optimizer};
	uint64_t	h = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		h = pm_mix(h ^ words[i]);
	return h;
}

static int
by_group(const void *a, const void *b)
{
	const key  *x = a;
	const key  *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	return x->row - y->row;
}

static double
error_of(const pairs *p, int set, int row)
{
	return log(p->d->samples[row].step_ms / p->crossed[set].ms[row]);
}

/* Pair row keys[i] of a group keys[first..end) with rows of other devices: those that follow it, round the group. */
static void
pair_row(pairs *p, int set, const key *keys, int first, int end, int i)
{
	int			to = keys[i].row;
	double		distance = p->crossed[set].distance != NULL ? p->crossed[set].distance[to] : 0;
	double		error = error_of(p, set, to);
	uint64_t	last = keys[i].gpu;
	int			found = 0;

	for (int k = i + 1; k < i + end - first && found < PARTNERS && p->n < p->room; k++)
	{
		const key  *other = &keys[k < end ? k : k - (end - first)];
		double		partner = error_of(p, set, other->row);

		/* one row of each device */
		if (other->gpu == keys[i].gpu || other->gpu == last || !isfinite(error) || !isfinite(partner) || !isfinite(distance))
			continue;
		last = other->gpu;
		p->pair[p->n++] = (pair) {.to = to, .set = set, .error = error, .partner = partner, .bend = bend_at(distance)};
		found++;
	}
}

/* Room for the pairs of rows whose group has several devices. */
static pm_code
make_room(pairs *p, const key *keys, int sets, pm_arena *a, pm_status *st)
{
	double		room = 0;

	for (int first = 0, end; first < p->d->n; first = end)
	{
		for (end = first; end < p->d->n && keys[end].group == keys[first].group; end++)
			;
		if (keys[first].gpu != keys[end - 1].gpu)
			room += (double) (end - first) * sets * PARTNERS;
	}
	p->room = (int) fmin(room, MAX_PAIRS);
	p->pair = PM_NEW(a, pair, p->room);
	return p->pair != NULL ? PM_OK : pm_no_memory(st, a);
}

/* All pairs of the sets of predictions. */
static pm_code
find_pairs(pairs *p, int sets, pm_arena *a, pm_status *st)
{
	int			n = p->d->n;
	key		   *keys = PM_NEW(a, key, n);

	if (!keys)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
	{
		const pm_question *q = &p->d->samples[i].query;

		keys[i] = (key) {group_of(q), pm_hash(PM_HASH_INIT, q->gpu->name, strlen(q->gpu->name)), i};
	}
	qsort(keys, n, sizeof(key), by_group);
	if (make_room(p, keys, sets, a, st) != PM_OK)
		return PM_ERR_MEMORY;
	for (int first = 0, end; first < n; first = end)
	{
		for (end = first; end < n && keys[end].group == keys[first].group; end++)
			;
		if (pm_stopped(a, st))
			return PM_CANCELLED;
		for (int set = 0; set < sets; set++)
			for (int i = first; i < end; i++)
				pair_row(p, set, keys, first, end, i);
	}
	return PM_OK;
}

/* Whether they are of enough networks, on enough devices; each unit gets the weight 1, shared by its pairs. */
static pm_code
weigh(pairs *p, pm_arena *a, bool *enough, pm_status *st)
{
	uint64_t   *unit = PM_NEW(a, uint64_t, p->n);
	uint64_t   *sorted = PM_NEW(a, uint64_t, p->n);
	uint64_t   *network = PM_NEW(a, uint64_t, p->n);
	int		   *same = PM_NEW(a, int, p->n);

	if (!unit || !sorted || !network || !same)
		return pm_no_memory(st, a);
	for (int i = 0; i < p->n; i++)
	{
		const pm_sample *s = &p->d->samples[p->pair[i].to];

		unit[i] = pm_transfer_key(s);
		network[i] = s->query.graph->structure;
	}
	*enough = pm_count_same(unit, p->n, sorted, same) >= LEAST_UNITS && pm_count_different(network, p->n) >= LEAST_NETWORKS;
	for (int i = 0; i < p->n && *enough; i++)
		p->pair[i].weight = 1.0 / same[i];
	return PM_OK;
}

/* ---- the weight ---- */

static double
held(double w)
{
	return fmin(fmax(w, 0), 1);
}

static double
weight_at(const pm_transfer *t, double bend)
{
	return held(t->near + (t->far - t->near) * bend);
}

/*
 * near and far - near so that the sum of |error - (near + (far - near) bend)
 * partner| is smallest: least squares with weights that make them absolute
 * values, and a pull of the slope towards 0 where distances do not differ.
 */
static void
fit_weight(const pairs *p, pm_transfer *t)
{
	double		near = 0.5;
	double		slope = 0;

	for (int round = 0; round < REWEIGHTINGS; round++)
	{
		double		xx[3] = {1e-9, 0, 1e-6};	/* of near, of both, of the slope */
		double		xy[2] = {0};

		for (int i = 0; i < p->n; i++)
		{
			const pair *q = &p->pair[i];
			double		left = fabs(q->error - (near + slope * q->bend) * q->partner);
			double		w = q->weight / (round == 0 ? 1 : fmax(left, SMALL_ERROR));
			double		x = q->partner;
			double		y = q->partner * q->bend;

			xx[0] += w * x * x;
			xx[1] += w * x * y;
			xx[2] += w * y * y;
			xy[0] += w * x * q->error;
			xy[1] += w * y * q->error;
		}
		slope = (xy[1] * xx[0] - xy[0] * xx[1]) / fmax(xx[0] * xx[2] - xx[1] * xx[1], DBL_MIN);
		near = (xy[0] - slope * xx[1]) / xx[0];
		if (!isfinite(slope) || !isfinite(near))
			slope = near = 0;
	}
	t->near = held(near);
	t->far = held(near + slope);
}

double
pm_transfer_weight(const pm_transfer *t, double distance)
{
	return t == NULL ? 1 : weight_at(t, bend_at(distance));
}

/* ---- the interval ---- */

static pm_code
list_gpus(pm_transfer *t, const pairs *p, pm_arena *a, pm_status *st)
{
	const char **names = PM_NEW(a, const char *, p->n);

	if (!names)
		return pm_no_memory(st, a);
	t->gpus = names;
	for (int i = 0; i < p->n && t->n_gpus < MAX_GPUS; i++)
	{
		const char *name = p->d->samples[p->pair[i].to].query.gpu->name;
		int			k = 0;

		while (k < t->n_gpus && strcmp(names[k], name) != 0)
			k++;
		if (k == t->n_gpus && !(names[t->n_gpus++] = pm_strdup(a, name, strlen(name))))
			return pm_no_memory(st, a);
	}
	return PM_OK;
}

/* Intervals of the rows that pairs are about, as carried over from their partners. */
static pm_code
fit_intervals(pm_transfer *t, const pairs *p, pm_arena *a, pm_status *st)
{
	pm_dataset	d = {.samples = PM_NEW(a, pm_sample, p->n)};
	double	   *ms = PM_NEW(a, double, p->n);
	double	   *distance = PM_NEW(a, double, p->n);
	uint64_t   *unit = PM_NEW(a, uint64_t, p->n);
	pm_crossed	carried = {.ms = ms, .distance = distance, .unit = unit};

	if (!d.samples || !ms || !distance || !unit)
		return pm_no_memory(st, a);
	for (int i = 0; i < p->n; i++)
	{
		const pair *q = &p->pair[i];
		const pm_crossed *c = &p->crossed[q->set];

		/* errors on families that were left out hold for networks, too; the other way round they are too small */
		if (q->set < p->sets - 1)
			continue;
		d.samples[d.n] = p->d->samples[q->to];
		ms[d.n] = c->ms[q->to] * exp(weight_at(t, q->bend) * q->partner);
		distance[d.n] = c->distance != NULL ? c->distance[q->to] : 0;
		unit[d.n] = pm_transfer_key(&d.samples[d.n]);
		d.n++;
	}
	return pm_intervals_fit(&d, &carried, 1, t->gpus, t->n_gpus, a, &t->errors, st);
}

/* Pairs are in arena scratch; *t, in arena a, stays NULL where there are too few. */
static pm_code
fit_pairs(pairs *p, pm_arena *scratch, pm_arena *a, const pm_transfer **t, pm_status *st)
{
	pm_transfer *x = PM_NEW(a, pm_transfer, 1);
	bool		enough = false;
	pm_code		rc;

	if (!x)
		return pm_no_memory(st, a);
	if ((rc = find_pairs(p, p->sets, scratch, st)) != PM_OK || p->n == 0 || (rc = weigh(p, scratch, &enough, st)) != PM_OK || !enough)
		return rc;
	fit_weight(p, x);
	if ((rc = list_gpus(x, p, a, st)) == PM_OK && (rc = fit_intervals(x, p, a, st)) == PM_OK && pm_intervals_calibrated(x->errors))
		*t = x;
	return rc;
}

pm_code
pm_transfer_fit(const pm_dataset *d, const pm_crossed *crossed, int n, pm_arena *a, const pm_transfer **t, pm_status *st)
{
	pairs		p = {.d = d, .crossed = crossed, .sets = n};
	pm_arena	scratch;
	pm_code		rc;

	*t = NULL;
	if (n == 0)
		return PM_OK;
	pm_arena_init_within(&scratch, a);
	rc = fit_pairs(&p, &scratch, a, t, st);
	pm_arena_release(&scratch);
	return rc;
}

/* ---- carrying over ---- */

/* What a device that was not learned from adds to the logarithm of the interval. */
static double
doubt_of(const pm_predictor *p, const char *gpu, double level)
{
	const pm_cards *cards = pm_predictor_cards(p);

	return cards == NULL ? 0 : pm_cards_doubt(cards, gpu, level);
}

/* Causes that the interval of pairs has in it, or that are remarks. */
#define COVERED	((1u << PM_CAUSE_GPU_NOT_SEEN) | (1u << PM_CAUSE_GPU_SELDOM_SEEN) | (1u << PM_CAUSE_FRAMEWORK_NOT_SEEN))

static double
stretch_of(const pm_transfer *t, const pm_side *to)
{
	uint32_t	causes = to->verdict->causes & ~COVERED;

	if (pm_intervals_reach(t->errors, to->distance))
		causes &= ~PM_FAR_CAUSES;
	return causes == 0 ? 1 : PM_OUTSIDE_FACTOR;
}

/* As wide as the interval of the prediction for `to`. */
static void
like_prediction(const pm_side *to, pm_carried *out)
{
	out->low_ms = fmax(out->step_ms * (to->verdict->low_ms / to->predicted_ms), DBL_MIN);
	out->high_ms = fmin(out->step_ms * (to->verdict->high_ms / to->predicted_ms), DBL_MAX);
	if (isnan(to->verdict->low_ms))
		out->low_ms = out->high_ms = NAN;
}

/* A step that stays where it was measured is known at least as well as one that was predicted. */
static void
narrow_to_prediction(const pm_side *to, pm_carried *out)
{
	pm_carried	like = *out;

	like_prediction(to, &like);
	if (isnan(like.low_ms))
		return;
	out->low_ms = fmax(out->low_ms, like.low_ms);
	out->high_ms = fmin(out->high_ms, like.high_ms);
}

void
pm_predictor_carry(const pm_predictor *p, const pm_side *from, double measured_ms, const pm_side *to, double level, pm_carried *out)
{
	const pm_transfer *t = p->transfer;
	bool		stays = strcmp(from->query->gpu->name, to->query->gpu->name) == 0;
	double		doubt;

	out->weight = stays ? 1 : pm_transfer_weight(t, to->distance);
	out->step_ms = stays ? measured_ms : to->predicted_ms * pow(measured_ms / from->predicted_ms, out->weight);
	/* far from what a step can take, as from a damaged measurement */
	out->step_ms = fmin(fmax(out->step_ms, DBL_MIN), DBL_MAX);
	if (t == NULL || !pm_intervals_of(t->errors, to->query, out->step_ms, to->distance, level, stretch_of(t, to), &out->low_ms, &out->high_ms))
	{
		like_prediction(to, out);
		return;
	}
	if (stays)
	{
		narrow_to_prediction(to, out);
		return;
	}
	doubt = hypot(doubt_of(p, to->query->gpu->name, level), out->weight * doubt_of(p, from->query->gpu->name, level));
	if (doubt > 0)
		pm_interval_widen(out->step_ms, doubt, &out->low_ms, &out->high_ms);
}

/* ---- storing ---- */

void
pm_transfer_save(const pm_transfer *t, pm_buffer *b)
{
	pm_put_f64(b, t->near);
	pm_put_f64(b, t->far);
	pm_put_u32(b, (uint32_t) t->n_gpus);
	for (int i = 0; i < t->n_gpus; i++)
		pm_put_text(b, t->gpus[i]);
	pm_intervals_save(t->errors, b);
}

pm_code
pm_transfer_load(pm_reader *r, pm_arena *a, const pm_transfer **t, pm_status *st)
{
	pm_transfer *x = PM_NEW(a, pm_transfer, 1);
	const char **names;
	pm_code		rc = PM_OK;

	if (!x)
		return pm_no_memory(st, a);
	*t = x;
	x->near = pm_get_above(r, 0);
	x->far = pm_get_above(r, 0);
	x->n_gpus = (int) pm_get_u32(r, MAX_GPUS);
	names = PM_NEW(a, const char *, x->n_gpus);
	if (!names)
		return pm_no_memory(st, a);
	x->gpus = names;
	for (int i = 0; i < x->n_gpus && !r->failed; i++)
		if ((names[i] = pm_get_text(r, a)) == NULL && !r->failed)
			return pm_no_memory(st, a);
	if (x->near > 1 || x->far > 1)
		r->failed = true;
	if (!r->failed)
		rc = pm_intervals_load(r, x->gpus, x->n_gpus, a, &x->errors, st);
	if (rc == PM_OK && (r->failed || !pm_intervals_calibrated(x->errors)))
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has a damaged calibration of pairs");
	return rc;
}
