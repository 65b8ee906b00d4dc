/*
 * recalibrate.c - fitting a few numbers per device to new measurements.
 *
 * Each device is a small regression of u = ln(measured / predicted) by
 * iteratively reweighted least squares with Huber's weights, so that a few bad
 * measurements do not count, and with a normal prior about 0 on every number,
 * so that a few rows do not count for more than they are.  As in trust.c, the
 * rows of one structure together weigh as much as one: they err together.
 *
 * The scale of the noise is what the rows show, held near SIGMA while they are
 * few: with it the priors say how many structures it takes to be believed.
 */
#include "predictor/recalibrate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kinds/cards.h"
#include "nn/solve.h"
#include "base/metrics.h"
#include "features/split.h"

#define PRIOR_A			0.5		/* standard deviations of the numbers, in logarithms: a new device ... */
#define LEAST_PRIOR_A	0.05	/* ... and one that the predictor knows from many networks */
#define SIGMA_OF_MEAN	1.25	/* standard deviation over mean absolute error, of a normal distribution */
#define PRIOR_B			0.1
#define PRIOR_D			0.2		/* ... and a format or layout on it */
#define SIGMA			0.1		/* noise of a structure ... */
#define SIGMA_ROWS		5		/* ... as if so many structures had shown it */
#define HUBER			1.5
#define ROUNDS			25
#define MAX_FOLDS		10

#define N_CELLS			(PM_N_DTYPES * PM_N_LAYOUTS)
#define MAX_NUMBERS		(2 + N_CELLS)

/* ---- one device ---- */

/* A row of the regression. */
typedef struct point
{
	const char *gpu;
	uint64_t	structure;
	int			row;			/* of the data set */
	int			cell;			/* dtype and layout */
	double		x;				/* ln(predicted) - centre */
	double		u;				/* ln(measured / predicted) */
	double		weight;
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

static int
by_size(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (x[0] > y[0]) - (x[0] < y[0]);
}

/* pairs[n][2]: value, weight; reordered. */
static double
weighted_median(double (*pairs)[2], int n)
{
	double		total = 0,
				sum = 0;
	int			i = 0;

	qsort(pairs, n, sizeof(pairs[0]), by_size);
	for (int k = 0; k < n; k++)
		total += pairs[k][1];
	while (i < n - 1 && (sum += pairs[i][1]) < total / 2)
		i++;
	return pairs[i][0];
}

/* One regression: numbers v = (a, b, d of each cell). */
typedef struct regression
{
	const point *p;
	int			n;
	double		structures;
	double		sigma;
	double		prior_a;
	double		v[MAX_NUMBERS];
	double	  (*pairs)[2];		/* [n] scratch */
} regression;

static double
residual(const regression *r, const point *p)
{
	return p->u - r->v[0] - r->v[1] * p->x - r->v[2 + p->cell];
}

static void
reweighted_step(regression *r)
{
	double		m[MAX_NUMBERS][MAX_NUMBERS] = {{0}};
	double		y[MAX_NUMBERS] = {0};

	for (int i = 0; i < r->n; i++)
	{
		const point *p = &r->p[i];
		double		e = fabs(residual(r, p)) / r->sigma;
		double		w = p->weight * (e > HUBER ? HUBER / e : 1) / (r->sigma * r->sigma);
		int			at[3] = {0, 1, 2 + p->cell};
		double		z[3] = {1, p->x, 1};

		for (int j = 0; j < 3; j++)
		{
			y[at[j]] += w * z[j] * p->u;
			for (int k = 0; k < 3; k++)
				m[at[j]][at[k]] += w * z[j] * z[k];
		}
	}
	for (int k = 0; k < MAX_NUMBERS; k++)
	{
		double		prior = k == 0 ? r->prior_a : k == 1 ? PRIOR_B : r->prior_a * PRIOR_D / PRIOR_A;

		m[k][k] += 1 / (prior * prior);
	}
	/* the priors make m positive definite; where rounding does not leave it so, v stays as it is */
	if (pm_solve_spd(&m[0][0], y, MAX_NUMBERS))
		memcpy(r->v, y, sizeof(y));
	r->v[1] = fmin(fmax(r->v[1], -PM_CORRECTION_MAX_B), PM_CORRECTION_MAX_B);
}

/* Noise that the residuals show, towards SIGMA while structures are few. */
static void
set_sigma(regression *r)
{
	double		shown;

	for (int i = 0; i < r->n; i++)
	{
		r->pairs[i][0] = fabs(residual(r, &r->p[i]));
		r->pairs[i][1] = r->p[i].weight;
	}
	shown = 1.4826 * weighted_median(r->pairs, r->n);
	r->sigma = sqrt((SIGMA_ROWS * SIGMA * SIGMA + r->structures * shown * shown) / (SIGMA_ROWS + r->structures));
}

/* From the median, so that the first weights are of use. */
static void
start(regression *r)
{
	for (int i = 0; i < r->n; i++)
	{
		r->pairs[i][0] = r->p[i].u;
		r->pairs[i][1] = r->p[i].weight;
	}
	memset(r->v, 0, sizeof(r->v));
	r->v[0] = weighted_median(r->pairs, r->n);
}

static void
regress(regression *r)
{
	start(r);
	for (int i = 0; i < ROUNDS; i++)
	{
		/* a scale that goes on moving would keep the rest moving too */
		if (i < ROUNDS / 2)
			set_sigma(r);
		reweighted_step(r);
	}
}

/* Points of one device, sorted by structure: weights, centre and range. */
static void
describe_device(point *p, int n, pm_device_correction *c)
{
	double		sum = 0,
				total = 0;

	c->low = DBL_MAX;
	c->high = -DBL_MAX;
	for (int i = 0; i < n;)
	{
		int			end = i;

		int			from = i;

		while (end < n && p[end].structure == p[i].structure)
			end++;
		c->structures++;
		for (; i < end; i++)
		{
			p[i].weight /= end - from;
			sum += p[i].weight * p[i].x;
			total += p[i].weight;
			c->low = fmin(c->low, p[i].x);
			c->high = fmax(c->high, p[i].x);
			c->used[p[i].cell / PM_N_LAYOUTS][p[i].cell % PM_N_LAYOUTS]++;
		}
	}
	c->rows = n;
	c->centre = sum / total;
}

/*
 * How far the factor of a device is expected to be from 1: as far as guesses of
 * cards were off, where the kind knows cards; and the less, the more
 * networks the predictor has learned from on it, so that one row does not undo
 * what thousands say; not less than LEAST_PRIOR_A, so that twenty networks on a
 * machine that has become slower are still believed.
 */
static double
prior_of(const pm_predictor *base, const char *gpu)
{
	const pm_device_correction *before = pm_correction_find(base->correction, gpu);
	/* those that it was recalibrated on count for its domain, and its numbers are fitted afresh */
	int			known = pm_trust_gpu_structures(base->trust, gpu) - (before != NULL ? before->structures : 0);

	double		spread = pm_cards_spread(base->kind->cards != NULL ? base->kind->cards(base) : NULL);
	double		unknown = spread > 0 ? SIGMA_OF_MEAN * spread : PRIOR_A;

	return fmax(unknown / sqrt(1.0 + fmax(known, 0)), LEAST_PRIOR_A);
}

static void
fit_device(const pm_predictor *base, point *p, int n, double (*pairs)[2], pm_device_correction *c)
{
	regression	r = {.p = p, .n = n, .pairs = pairs, .prior_a = prior_of(base, p->gpu)};

	describe_device(p, n, c);
	for (int i = 0; i < n; i++)
		p[i].x -= c->centre;
	r.structures = c->structures;
	regress(&r);
	c->a = r.v[0];
	c->b = r.v[1];
	for (int k = 0; k < N_CELLS; k++)
		if (c->used[k / PM_N_LAYOUTS][k % PM_N_LAYOUTS] > 0)
			c->d[k / PM_N_LAYOUTS][k % PM_N_LAYOUTS] = r.v[2 + k];
}

/* ---- all devices ---- */

/* Points of the rows that are not in fold `without` (-1: all); returns how many. */
static int
make_points(const pm_dataset *d, const double *predicted, const int *fold_of, int without, point *p)
{
	int			n = 0;

	for (int i = 0; i < d->n; i++)
	{
		const pm_sample *s = &d->samples[i];

		if (without >= 0 && fold_of[i] == without)
			continue;
		p[n++] = (point) {.gpu = s->query.gpu->name, .structure = s->query.graph->structure, .row = i,
			.cell = (int) s->query.dtype * PM_N_LAYOUTS + (int) s->query.layout,
			.x = log(predicted[i]), .u = log(s->step_ms / predicted[i]), .weight = s->weight > 0 ? s->weight : 1};
	}
	qsort(p, n, sizeof(point), by_device);
	return n;
}

static pm_code
fit_points(const pm_predictor *base, point *p, int n, pm_arena *a, pm_correction **c, pm_status *st)
{
	double	  (*pairs)[2] = pm_alloc(a, n + 1, sizeof(pairs[0]));
	int			devices = 0;

	for (int i = 0; i < n; i++)
		devices += i == 0 || strcmp(p[i].gpu, p[i - 1].gpu) != 0;
	*c = PM_NEW(a, pm_correction, 1);
	if (!pairs || !*c || ((*c)->device = PM_NEW(a, pm_device_correction, devices + 1)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < n;)
	{
		pm_device_correction *device = &(*c)->device[(*c)->n++];
		int			end = i;

		while (end < n && strcmp(p[end].gpu, p[i].gpu) == 0)
			end++;
		device->gpu = pm_strdup(a, p[i].gpu, strlen(p[i].gpu));
		if (!device->gpu)
			return pm_no_memory(st, a);
		fit_device(base, p + i, end - i, pairs, device);
		i = end;
	}
	return PM_OK;
}

/* Fresh corrections, and those of base for the devices that have none. */
static pm_code
keep_others(pm_correction *c, const pm_correction *before, pm_arena *a, pm_status *st)
{
	pm_device_correction *all;

	if (before == NULL)
		return PM_OK;
	if ((all = PM_NEW(a, pm_device_correction, c->n + before->n)) == NULL)
		return pm_no_memory(st, a);
	memcpy(all, c->device, c->n * sizeof(*all));
	c->device = all;
	for (int i = 0; i < before->n; i++)
		if (pm_correction_find(c, before->device[i].gpu) == NULL)
			all[c->n++] = before->device[i];
	return PM_OK;
}

/* ---- the whole ---- */

static pm_code
predict_all(const pm_predictor *base, const pm_dataset *d, const pm_hooks *hooks, pm_arena *a, double *plain,
			double *corrected, pm_status *st)
{
	pm_predictor p = *base;
	pm_code		rc = PM_OK;

	p.correction = NULL;
	for (int i = 0; i < d->n && rc == PM_OK; i++)
	{
		pm_arena	scratch;

		if (hooks != NULL && hooks->stop != NULL && hooks->stop(hooks->ctx))
			return pm_fail(st, PM_CANCELLED, "recalibration was cancelled");
		pm_arena_init_within(&scratch, a);
		rc = pm_predictor_predict(&p, &d->samples[i], &scratch, &plain[i], NULL, NULL, st);
		pm_arena_release(&scratch);
		if (rc == PM_OK)
			corrected[i] = pm_correction_apply(base->correction, &d->samples[i].query, plain[i]);
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

/* Each row corrected by numbers that were fitted without its structure; NaN when there is only one. */
static pm_code
cross_correct(const pm_predictor *base, const pm_dataset *d, const double *plain, int structures, point *p,
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
		rc = fit_points(base, p, make_points(d, plain, fold_of, fold, p), &scratch, &c, st);
		for (int i = 0; i < d->n && rc == PM_OK; i++)
			if (fold_of[i] == fold)
				cross[i] = pm_correction_apply(c, &d->samples[i].query, plain[i]);
		pm_arena_release(&scratch);
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
		for (int k = 0; k < N_CELLS; k++)
			n += c->device[i].used[k / PM_N_LAYOUTS][k % PM_N_LAYOUTS] > 0;
	}
	return n;
}

pm_code
pm_recalibrate(const pm_predictor *base, const pm_dataset *d, const bool *seen, const pm_hooks *hooks,
			   pm_arena *a, pm_predictor *out, pm_recalibration *r, pm_status *st)
{
	double	   *plain = PM_NEW(a, double, d->n + 1);
	double	   *before = PM_NEW(a, double, d->n + 1);
	double	   *cross = PM_NEW(a, double, d->n + 1);
	point	   *p = PM_NEW(a, point, d->n + 1);
	pm_correction *c;
	pm_code		rc;

	if (!plain || !before || !cross || !p)
		return pm_no_memory(st, a);
	if (d->n == 0)
	{
		pm_fail(st, PM_ERR_DATA, "there are no profiles to recalibrate on");
		pm_hint(st, "Give their profile_ids by profiles => ..., or leave the argument out to use all measurements that the predictor was not trained on.");
		return PM_ERR_DATA;
	}
	if ((rc = pm_check_profiles(d, pm_predictor_quantity(base), st)) != PM_OK ||
		(rc = predict_all(base, d, hooks, a, plain, before, st)) != PM_OK ||
		(rc = count_structures(d, a, &r->structures, st)) != PM_OK ||
		(rc = cross_correct(base, d, plain, r->structures, p, a, cross, st)) != PM_OK ||
		(rc = fit_points(base, p, make_points(d, plain, NULL, -1, p), a, &c, st)) != PM_OK)
		return rc;
	r->n_numbers = count_numbers(c);
	if ((rc = keep_others(c, base->correction, a, st)) != PM_OK)
		return rc;
	errors(d, before, &r->mape_before, &r->mae_before, &r->rmse_before);
	errors(d, cross, &r->mape_after, &r->mae_after, &r->rmse_after);
	if (isinf(r->mape_before) || isinf(r->mape_after) || isinf(r->rmse_before) || isinf(r->rmse_after))
		return pm_diverged(st, "its predictions are too far off for an error to be given");
	*out = *base;
	out->correction = c;
	return pm_trust_update(base->trust, d, cross, seen, false, hooks, a, &out->trust, st);
}
