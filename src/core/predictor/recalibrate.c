/*
 * recalibrate.c - fitting a few numbers per device to new measurements.
 *
 * Each device is a Bayesian regression (evidence.h) of u = ln(measured /
 * predicted) on the state of its card (card_state.h), on a factor and an
 * exponent of the whole step, and on a factor for each format and layout.  Each
 * number has a normal prior about 0, as wide as known cards differ, and
 * narrower on a card that the predictor knows from many networks: a few rows
 * do not count for more than they are.
 *
 * What is fitted to is the answer as other cards hold it (bounds.h): rows that agree
 * with it leave all numbers at 0.  How far they release the card is one more number
 * for each kind of work.
 *
 * How a prediction answers to the state is taken from the predictor itself
 * (sensitivity.h), first at a state of 0, then where the regression before it
 * led (Gauss-Newton): what launches were hidden behind shows only once these
 * have their time.  A kind whose predictions have no parts has factor, exponent
 * and formats alone.
 */
#include "predictor/recalibrate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kinds/cards.h"
#include "base/metrics.h"
#include "features/split.h"
#include "predictor/doubts.h"
#include "predictor/evidence.h"
#include "predictor/sensitivity.h"

/* Standard deviations of the numbers, in logarithms, where there is no state; card_state.h has the others. */
#define PRIOR_A			0.5		/* where the kind knows no cards */
#define LEAST_PRIOR_A	0.05	/* on a device that is known from many networks */
#define PRIOR_B			0.1
#define PRIOR_D			0.4		/* a format or layout, over the whole step */
#define SIGMA_OF_MEAN	1.25	/* standard deviation over mean absolute error, of a normal distribution */
#define MAX_FOLDS		10
#define HALVINGS		3		/* of numbers that do not help, before they are given up */
#define CHECKED_ROWS	200		/* at most, of a device */

/* How far a regression at a new state moves the numbers from those before it to its own; the last one the farthest. */
static const double moves[] = {0.5, 0.7};

#define N_MOVES			((int) (sizeof(moves) / sizeof(moves[0])))

#define N_CELLS			(PM_N_DTYPES * PM_N_LAYOUTS)

/* The numbers of a device. */
enum
{
	NUMBER_STATE, NUMBER_A = PM_N_STATE, NUMBER_B, NUMBER_CELL, N_NUMBERS = NUMBER_CELL + N_CELLS
};

/* ---- one device ---- */

/* A row of the regression. */
typedef struct point
{
	const char *gpu;
	uint64_t	structure;
	int			row;			/* of the data set */
	const pm_sample *sample;
	int			cell;			/* dtype and layout */
	const pm_holding *held;		/* the prediction is that of training for the card by itself, held by this */
	double		x;				/* ln(prediction for the card by itself) - centre */
	double		u;				/* ln(measured / predicted) */
	double		target;			/* what z . state is to be: u, less what the prediction is off z . state at the state of z */
	double		weight;
	double	   *z;				/* [PM_N_STATE] */
} point;

static int
by_device(const void *a, const void *b)
{
	const point *x = a;
	const point *y = b;
	int			c = strcmp(x->gpu, y->gpu);

	if (c != 0)
		return c;
	if (x->structure != y->structure)
		return x->structure < y->structure ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Points of one device, sorted by structure: centre and range. */
static void
describe_device(const point *p, int n, pm_device_correction *c)
{
	double		sum = 0,
				total = 0;

	c->low = DBL_MAX;
	c->high = -DBL_MAX;
	for (int i = 0; i < n; i++)
	{
		c->structures += i == 0 || p[i].structure != p[i - 1].structure;
		sum += p[i].weight * p[i].x;
		total += p[i].weight;
		c->low = fmin(c->low, p[i].x);
		c->high = fmax(c->high, p[i].x);
		c->used[p[i].cell / PM_N_LAYOUTS][p[i].cell % PM_N_LAYOUTS]++;
	}
	c->rows = n;
	c->centre = sum / total;
}

/* Networks that base has learned from on a device, those that it was recalibrated on aside: its numbers are fitted afresh. */
static double
known_networks(const pm_predictor *base, const char *gpu)
{
	const pm_device_correction *before = pm_correction_find(base->correction, gpu);

	return fmax(pm_trust_gpu_structures(base->trust, gpu) - (before != NULL ? before->structures : 0), 0);
}

/*
 * Without a state: how far the factor of a device is expected to be from 1: as
 * far as guesses of cards were off, where the kind knows cards; and the less,
 * the more networks the predictor has learned from on it, so that one row does
 * not undo what thousands say; not less than LEAST_PRIOR_A, so that twenty
 * networks on a machine that has become slower are still believed.
 */
static double
prior_of_step(const pm_predictor *base, double known)
{
	double		spread = pm_cards_spread(pm_predictor_cards(base));
	double		unknown = spread > 0 ? SIGMA_OF_MEAN * spread : PRIOR_A;

	return fmax(unknown / sqrt(1.0 + known), LEAST_PRIOR_A);
}

static bool
acts(const point *p, int n, int element)
{
	for (int i = 0; i < n; i++)
		if (p[i].z[element] != 0)
			return true;
	return false;
}

/* prior[N_NUMBERS]; 0: the number is not fitted, because no row would tell of it. */
static void
set_priors(const pm_predictor *base, const pm_device_correction *c, const point *p, int n, double *prior)
{
	bool		state = pm_has_state(base);
	double		known = known_networks(base, p->gpu);
	double		step = state ? PM_STEP_PRIOR : prior_of_step(base, known);

	for (int k = 0; k < PM_N_STATE; k++)
		prior[k] = acts(p, n, k) ? pm_state_prior(k) * pm_state_left(k, known) : 0;
	prior[NUMBER_A] = step;
	prior[NUMBER_B] = state ? PM_SLOPE_PRIOR : PRIOR_B;
	for (int k = 0; k < N_CELLS; k++)
		prior[NUMBER_CELL + k] = c->used[k / PM_N_LAYOUTS][k % PM_N_LAYOUTS] == 0 ? 0 : state ? pm_cell_prior(known) : PRIOR_D * step;
}

/* z of one row, for the numbers of map[p] alone. */
static void
fill_row(const point *p, const int *map, int n, double *z)
{
	for (int k = 0; k < n; k++)
	{
		int			number = map[k];

		z[k] = number < PM_N_STATE ? p->z[number] : number == NUMBER_A ? 1 : number == NUMBER_B ? p->x : number - NUMBER_CELL == p->cell;
	}
}

static pm_code
make_evidence(const point *p, int n, const double *prior, int *map, pm_arena *a, pm_evidence *e, pm_status *st)
{
	double	   *sd = PM_NEW(a, double, N_NUMBERS);
	int			structure = 0;

	*e = (pm_evidence) {.n = n, .u = PM_NEW(a, double, n), .weight = PM_NEW(a, double, n), .structure = PM_NEW(a, int, n), .prior = sd};
	if (!sd || !e->u || !e->weight || !e->structure)
		return pm_no_memory(st, a);
	for (int k = 0; k < N_NUMBERS; k++)
		if (prior[k] > 0)
		{
			map[e->p] = k;
			sd[e->p++] = prior[k];
		}
	if ((e->z = pm_alloc(a, (size_t) n * e->p, sizeof(double))) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
	{
		structure += i > 0 && p[i].structure != p[i - 1].structure;
		e->u[i] = p[i].target;
		e->weight[i] = p[i].weight;
		e->structure[i] = structure;
		fill_row(&p[i], map, e->p, e->z + (size_t) i * e->p);
	}
	return PM_OK;
}

/*
 * Numbers v[N_NUMBERS] times scale into the correction, and what the state made of the rows on average: z . state, and what
 * the prediction is off it.
 */
static void
keep_numbers(const point *p, int n, const double *v, double scale, pm_device_correction *c)
{
	memset(c->by_state, 0, sizeof(c->by_state));
	for (int k = 0; k < PM_N_STATE; k++)
		c->state[k] = k < PM_N_FACTORS ? scale * v[k] : fmin(fmax(scale * v[k], 0), 1);
	c->a = scale * v[NUMBER_A];
	c->b = fmin(fmax(scale * v[NUMBER_B], -PM_CORRECTION_MAX_B), PM_CORRECTION_MAX_B);
	for (int k = 0; k < N_CELLS; k++)
		c->d[k / PM_N_LAYOUTS][k % PM_N_LAYOUTS] = scale * v[NUMBER_CELL + k];
	for (int i = 0; i < n; i++)
	{
		double		made = scale * (p[i].u - p[i].target);

		for (int k = 0; k < PM_N_STATE; k++)
			made += c->state[k] * p[i].z[k];
		c->by_state[p[i].cell / PM_N_LAYOUTS][p[i].cell % PM_N_LAYOUTS] +=
			made / c->used[p[i].cell / PM_N_LAYOUTS][p[i].cell % PM_N_LAYOUTS];
	}
}

static pm_code
predict_with(const pm_predictor *base, const pm_correction *c, const pm_sample *s, const pm_holding *held, const pm_arena *a, double *ms,
			 pm_status *st)
{
	pm_predictor p = *base;
	pm_arena	scratch;
	pm_code		rc;

	p.correction = c;
	pm_arena_init_within(&scratch, a);
	rc = pm_predictor_predict_held(&p, s, held, &scratch, ms, st);
	pm_arena_release(&scratch);
	return rc;
}

/* Mean absolute error in logarithms with c, of CHECKED_ROWS rows of its device at most; *before: without it. */
static pm_code
mean_error(const pm_predictor *base, const point *p, int n, pm_device_correction *c, const pm_arena *a,
		   double *before, double *after, pm_status *st)
{
	pm_correction one = {.n = 1, .device = c};
	int			step = 1 + (n - 1) / CHECKED_ROWS;
	double		total = 0;

	*before = *after = 0;
	for (int i = 0; i < n; i += step)
	{
		double		ms;
		pm_code		rc = predict_with(base, &one, p[i].sample, p[i].held, a, &ms, st);

		if (rc != PM_OK)
			return rc;
		*before += p[i].weight * fabs(p[i].u);
		*after += p[i].weight * fabs(log(p[i].sample->step_ms / ms));
		total += p[i].weight;
	}
	*before /= total;
	*after /= total;
	return PM_OK;
}

/*
 * The regression takes ln(step) to be linear in the state.  Where rows ask for
 * a state far from 0 it is not, and the whole of what was fitted can be worse
 * on the very rows than nothing: then half of it, a quarter, ... or nothing is kept.
 */
static pm_code
keep_what_helps(const pm_predictor *base, const point *p, int n, const double *v, const pm_arena *a,
				pm_device_correction *c, pm_status *st)
{
	double		scale = 1;

	keep_numbers(p, n, v, scale, c);
	for (int i = 0; i <= HALVINGS && pm_has_state(base); i++)
	{
		double		before,
					after;
		pm_code		rc = mean_error(base, p, n, c, a, &before, &after, st);

		if (rc != PM_OK || after <= before)
			return rc;
		scale = i < HALVINGS ? scale / 2 : 0;
		keep_numbers(p, n, v, scale, c);
	}
	return PM_OK;
}

/* The numbers of the regression at the present z and targets of the points into v[N_NUMBERS]. */
static pm_code
solve_device(const point *p, int n, const double *prior, const pm_arena *a, double *v, pm_status *st)
{
	double		fitted[N_NUMBERS];
	int			map[N_NUMBERS];
	pm_evidence e;
	pm_arena	scratch;
	pm_code		rc;

	memset(v, 0, N_NUMBERS * sizeof(double));
	pm_arena_init_within(&scratch, a);
	if ((rc = make_evidence(p, n, prior, map, &scratch, &e, st)) == PM_OK)
		rc = pm_evidence_solve(&e, fitted, NULL, &scratch, st);
	for (int k = 0; k < e.p && rc == PM_OK; k++)
		v[map[k]] = fitted[k];
	pm_arena_release(&scratch);
	return rc;
}

/* How the logarithm of a prediction answers to a release: by losing what it is held by. */
static void
answer_to_release(const pm_holding *held, double *z)
{
	z[PM_STATE_RELEASED + held->work] = -held->by;
}

/* z and targets of the points at a state. */
static pm_code
move_points(const pm_predictor *base, point *p, int n, const double *state, const pm_arena *a, pm_status *st)
{
	pm_predictor plain = pm_as_trained(base);
	pm_code		rc = PM_OK;

	for (int i = 0; i < n && rc == PM_OK; i++)
	{
		pm_arena	scratch;
		double		ms = 1;

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		pm_arena_init_within(&scratch, a);
		rc = pm_sensitivity(&plain, p[i].sample, state, &scratch, &ms, p[i].z, st);
		pm_arena_release(&scratch);
		p[i].target = log(p[i].sample->step_ms / ms) - p[i].held->by;
		for (int k = 0; k < PM_N_FACTORS; k++)
			p[i].target += p[i].z[k] * state[k];
	}
	return rc;
}

/* Moves the points to where the regressions lead, and v with them. */
static pm_code
follow(const pm_predictor *base, point *p, int n, const double *prior, const pm_arena *a, double *v, pm_status *st)
{
	double		next[N_NUMBERS];
	pm_code		rc = PM_OK;

	for (int move = 0; move < N_MOVES && rc == PM_OK; move++)
	{
		if ((rc = move_points(base, p, n, v, a, st)) == PM_OK)
			rc = solve_device(p, n, prior, a, next, st);
		for (int k = 0; k < N_NUMBERS; k++)
			v[k] += moves[move] * (next[k] - v[k]);
	}
	return rc;
}

/* c from the points of one device, which are moved to where the regressions lead if moving says so. */
static pm_code
fit_device(const pm_predictor *base, point *p, int n, bool moving, const pm_arena *a, pm_device_correction *c, pm_status *st)
{
	double		prior[N_NUMBERS];
	double		v[N_NUMBERS];
	pm_code		rc;

	describe_device(p, n, c);
	for (int i = 0; i < n; i++)
		p[i].x -= c->centre;
	set_priors(base, c, p, n, prior);
	rc = solve_device(p, n, prior, a, v, st);
	if (rc == PM_OK && moving && pm_has_state(base))
		rc = follow(base, p, n, prior, a, v, st);
	return rc == PM_OK ? keep_what_helps(base, p, n, v, a, c, st) : rc;
}

/* ---- all devices ---- */

/* What base says of the rows of a data set. */
typedef struct answers
{
	double	   *plain;			/* [n] without its correction, for the card by itself */
	pm_holding    *held;			/* [n] */
	double	   *corrected;		/* [n] what it answers */
	double	   *z;				/* [n, PM_N_STATE] of pm_sensitivity(), ... */
	double	   *target;			/* [n] ... and what of a point belongs to them */
} answers;

/* Points of the rows that are not in fold `without` (-1: all); returns how many. */
static int
make_points(const pm_dataset *d, const answers *x, const int *fold_of, int without, point *p)
{
	int			n = 0;

	for (int i = 0; i < d->n; i++)
	{
		const pm_sample *s = &d->samples[i];

		if (without >= 0 && fold_of[i] == without)
			continue;
		p[n++] = (point) {.gpu = s->query.gpu->name, .structure = s->query.graph->structure, .row = i, .sample = s,
			.cell = (int) s->query.dtype * PM_N_LAYOUTS + (int) s->query.layout, .held = &x->held[i], .x = log(x->plain[i]),
			.u = log(s->step_ms / x->plain[i]) - x->held[i].by, .target = x->target[i], .weight = s->weight > 0 ? s->weight : 1,
			.z = x->z + (size_t) i * PM_N_STATE};
	}
	qsort(p, n, sizeof(point), by_device);
	return n;
}

/* The corrections of all devices. */
static pm_code
fit_points(const pm_predictor *base, point *p, int n, bool moving, pm_arena *a, pm_correction **c, pm_status *st)
{
	int			devices = 0;
	pm_code		rc = PM_OK;

	for (int i = 0; i < n; i++)
		devices += i == 0 || strcmp(p[i].gpu, p[i - 1].gpu) != 0;
	*c = PM_NEW(a, pm_correction, 1);
	if (!*c || ((*c)->device = PM_NEW(a, pm_device_correction, devices + 1)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < n && rc == PM_OK;)
	{
		pm_device_correction *device = &(*c)->device[(*c)->n++];
		int			end = i;

		while (end < n && strcmp(p[end].gpu, p[i].gpu) == 0)
			end++;
		device->gpu = pm_strdup(a, p[i].gpu, strlen(p[i].gpu));
		if (!device->gpu)
			return pm_no_memory(st, a);
		rc = fit_device(base, p + i, end - i, moving, a, device, st);
		i = end;
	}
	return rc;
}

/* Fresh corrections, and those of base for the devices that have none. */
static pm_code
keep_others(pm_correction *c, const pm_correction *before, pm_arena *a, pm_status *st)
{
	pm_device_correction *all;

	if (before == NULL)
		return PM_OK;
	if ((all = PM_LONGER(a, pm_device_correction, c->device, c->n, c->n + before->n)) == NULL)
		return pm_no_memory(st, a);
	c->device = all;
	for (int i = 0; i < before->n; i++)
		if (pm_correction_find(c, before->device[i].gpu) == NULL)
			all[c->n++] = before->device[i];
	return PM_OK;
}

/* ---- the whole ---- */

/* What base answers, with its correction and held. */
static pm_code
predict_row(const pm_predictor *base, const pm_sample *s, const answers *x, int i, pm_arena *scratch, pm_status *st)
{
	const pm_question *q = &s->query;

	x->corrected[i] = x->plain[i] * exp(x->held[i].by);
	/* it may answer for another format than the one of the row */
	return base->correction == NULL && pm_trust_format(base->trust, q->gpu, q->dtype) == q->dtype ? PM_OK :
		pm_predictor_predict(base, s, scratch, &x->corrected[i], NULL, NULL, st);
}

static pm_code
predict_all(const pm_predictor *base, const pm_dataset *d, const pm_hooks *hooks, pm_arena *a, answers *x, pm_status *st)
{
	pm_predictor p = pm_as_trained(base);
	pm_code		rc = PM_OK;

	for (int i = 0; i < d->n && rc == PM_OK; i++)
	{
		const pm_sample *s = &d->samples[i];
		double	   *z = x->z + (size_t) i * PM_N_STATE;
		pm_arena	scratch;

		if (hooks != NULL && hooks->stop != NULL && hooks->stop(hooks->ctx))
			return pm_fail(st, PM_CANCELLED, "recalibration was cancelled");
		pm_arena_init_within(&scratch, a);
		if ((rc = pm_sensitivity(&p, s, NULL, &scratch, &x->plain[i], z, st)) == PM_OK &&
			(rc = pm_predictor_held(&p, s, x->plain[i], &scratch, &x->held[i], st)) == PM_OK)
			rc = predict_row(base, s, x, i, &scratch, st);
		answer_to_release(&x->held[i], z);
		x->target[i] = log(s->step_ms / x->plain[i]) - x->held[i].by;
		pm_arena_release(&scratch);
	}
	return rc;
}

static pm_code
count_structures(const pm_dataset *d, pm_arena *a, int *count, pm_status *st)
{
	uint64_t   *hash = PM_NEW(a, uint64_t, d->n);

	if (!hash)
		return pm_no_memory(st, a);
	*count = pm_count_structures(d, hash);
	return PM_OK;
}

/* The corrections from all rows; x has z and targets where they led. */
static pm_code
fit_all(const pm_predictor *base, const pm_dataset *d, answers *x, point *p, pm_arena *a, pm_correction **c, pm_status *st)
{
	int			n = make_points(d, x, NULL, -1, p);
	pm_code		rc = fit_points(base, p, n, true, a, c, st);

	for (int i = 0; i < n; i++)
		x->target[p[i].row] = p[i].target;
	return rc;
}

/*
 * Each row corrected by numbers that were fitted without its structure, by one regression where those from all rows led; NaN
 * when there is only one structure.
 */
static pm_code
cross_correct(const pm_predictor *base, const pm_dataset *d, const answers *x, int structures, point *p,
			  pm_arena *a, double *cross, pm_status *st)
{
	int			folds = structures < MAX_FOLDS ? structures : MAX_FOLDS;
	int		   *fold_of = PM_NEW(a, int, d->n);
	pm_code		rc = PM_OK;

	if (!fold_of)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
		cross[i] = NAN;
	if (structures < 2)
		return PM_OK;
	rc = pm_split_assign(PM_SPLIT_STRUCTURE, folds, 0, d, a, fold_of, &folds, st);
	for (int fold = 0; fold < folds && rc == PM_OK; fold++)
	{
		pm_arena	scratch;
		pm_correction *c;

		pm_arena_init_within(&scratch, a);
		rc = fit_points(base, p, make_points(d, x, fold_of, fold, p), false, &scratch, &c, st);
		for (int i = 0; i < d->n && rc == PM_OK; i++)
			if (fold_of[i] == fold)
				rc = predict_with(base, c, &d->samples[i], &x->held[i], &scratch, &cross[i], st);
		pm_arena_release(&scratch);
	}
	return rc;
}

/* Means of logarithms over the rows of a network, sums over networks. */
typedef struct expectation
{
	double		error;			/* with the network left out */
	double		expected;		/* what the interval says of it; NaN: there are no intervals */
} expectation;

/* The n rows p are of one network. */
static pm_code
add_network(const pm_predictor *out, const point *p, int n, const double *cross, pm_arena *a, expectation *to, pm_status *st)
{
	for (int i = 0; i < n; i++)
	{
		double		ms = cross[p[i].row];
		pm_arena	scratch;
		pm_verdict	v;
		pm_code		rc;

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		pm_arena_init_within(&scratch, a);
		rc = pm_predictor_judge(out, p[i].sample, ms, PM_LEVEL_USUAL, &scratch, &v, st);
		pm_arena_release(&scratch);
		if (rc != PM_OK)
			return rc;
		to->error += fabs(log(p[i].sample->step_ms / ms)) / n;
		/* of Laplace's distribution, whose inner part the interval is */
		to->expected += log(v.high_ms / v.low_ms) / 2 / -log(1 - PM_LEVEL_USUAL) / n;
	}
	return PM_OK;
}

/*
 * How far the networks of n rows p of a device, each left out, surprised `out`, whose correction c is: each counts as much as
 * any other.  0: without intervals, or of one network alone.
 */
static pm_code
measure_surprise(const pm_predictor *out, const point *p, int n, const double *cross, pm_arena *a, pm_device_correction *c, pm_status *st)
{
	expectation sum = {0};

	if (c->structures < 2)
		return PM_OK;
	for (int i = 0, end; i < n; i = end)
	{
		pm_code		rc;

		for (end = i; end < n && p[end].structure == p[i].structure;)
			end++;
		if ((rc = add_network(out, p + i, end - i, cross, a, &sum, st)) != PM_OK)
			return rc;
	}
	if (sum.expected > 0)
		c->surprise = fmin(sum.error / sum.expected, PM_MOST_SURPRISE);
	return PM_OK;
}

/* The surprises of the cards among the devices of rows whose level is in doubt; c is the correction of out, that of p's devices first. */
static pm_code
measure_surprises(const pm_predictor *out, const point *p, int n, const double *cross, pm_arena *a, pm_correction *c, pm_status *st)
{
	pm_code		rc = PM_OK;

	for (int i = 0, k = 0; i < n && rc == PM_OK; k++)
	{
		int			end = i;

		while (end < n && strcmp(p[end].gpu, p[i].gpu) == 0)
			end++;
		if (pm_doubts_card(out, &p[i].sample->query))
			rc = measure_surprise(out, p + i, end - i, cross, a, &c->device[k], st);
		i = end;
	}
	return rc;
}

static void
errors(const pm_dataset *d, const double *predicted, double *mape, double *mae, double *rmse)
{
	pm_errors	sum = {0};

	for (int i = 0; i < d->n; i++)
		pm_errors_add(&sum, d->samples[i].step_ms, predicted[i]);
	*mape = pm_errors_mape(&sum);
	*mae = pm_errors_mae(&sum);
	*rmse = pm_errors_rmse(&sum);
}

static int
count_numbers(const pm_correction *c)
{
	int			n = 0;

	for (int i = 0; i < c->n; i++)
	{
		n += 2;
		for (int k = 0; k < PM_N_STATE; k++)
			n += c->device[i].state[k] != 0;
		for (int k = 0; k < N_CELLS; k++)
			n += c->device[i].used[k / PM_N_LAYOUTS][k % PM_N_LAYOUTS] > 0;
	}
	return n;
}

pm_code
pm_recalibrate_on_steps(const pm_predictor *base, const pm_dataset *d, const bool *seen, const pm_hooks *hooks,
						pm_arena *a, pm_predictor *out, pm_recalibration *r, pm_status *st)
{
	answers		x = {.plain = PM_NEW(a, double, d->n + 1), .held = PM_NEW(a, pm_holding, d->n + 1), .corrected = PM_NEW(a, double, d->n + 1),
		.z = PM_NEW(a, double, (size_t) d->n * PM_N_STATE + 1), .target = PM_NEW(a, double, d->n + 1)};
	double	   *cross = PM_NEW(a, double, d->n + 1);
	point	   *p = PM_NEW(a, point, d->n + 1);
	pm_correction *c;
	pm_code		rc;

	if (!x.plain || !x.held || !x.corrected || !x.z || !x.target || !cross || !p)
		return pm_no_memory(st, a);
	if ((rc = pm_check_profiles(d, pm_predictor_quantity(base), st)) != PM_OK ||
		(rc = predict_all(base, d, hooks, a, &x, st)) != PM_OK ||
		(rc = count_structures(d, a, &r->structures, st)) != PM_OK ||
		(rc = fit_all(base, d, &x, p, a, &c, st)) != PM_OK ||
		(rc = cross_correct(base, d, &x, r->structures, p, a, cross, st)) != PM_OK)
		return rc;
	r->n_numbers = count_numbers(c);
	if ((rc = keep_others(c, base->correction, a, st)) != PM_OK)
		return rc;
	r->before = x.corrected;
	errors(d, x.corrected, &r->mape_before, &r->mae_before, &r->rmse_before);
	errors(d, cross, &r->mape_after, &r->mae_after, &r->rmse_after);
	if ((rc = pm_check_errors((double[]) {r->mape_before, r->mape_after, r->rmse_before, r->rmse_after}, 4, st)) != PM_OK)
		return rc;
	*out = *base;
	out->correction = c;
	if ((rc = pm_trust_update(base->trust, d, cross, seen, false, hooks, a, &out->trust, st)) != PM_OK)
		return rc;
	return measure_surprises(out, p, make_points(d, &x, NULL, -1, p), cross, a, c, st);
}
