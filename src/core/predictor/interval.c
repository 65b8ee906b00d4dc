/*
 * interval.c - calibrated intervals (docs/trust.md).
 *
 * Intervals are split-conformal in the logarithm: residuals u = ln(measured /
 * predicted) of predictions by models that had not seen the row's structure,
 * and their quantiles, the two tails apart.  Rows of one structure are not
 * independent, so together they weigh as much as one: what counts as evidence
 * is structures, and a new structure is what is promised to be covered.
 */
#include "predictor/interval.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- constants that docs/trust.md gives reasons for ---- */

#define MIN_STRUCTURES		10	/* for any interval */
#define GROUP_STRUCTURES	20	/* for one of a device, or of a device and a layout ... */
#define GROUP_ROWS			50	/* ... and so many rows */
#define MAX_POINTS			400 /* residuals kept for a group */
#define WEIGHT_ERROR		1e-6	/* of a sum of weights, which are float32: a quantile at which one ends stays there */
#define ANY					(-1)
#define SLOPE_STRUCTURES	50	/* to learn the slope from */
#define USUAL_SLOPE			4.0 /* where there are fewer */
#define MAX_SLOPE			20.0
#define SLOPE_STEP			0.1
#define HALF_WAY			0.3 /* distance at which the scale has half of what distance adds to it */

/* Residuals of a part of the rows, sorted, the weight of a structure being 1. */
typedef struct group
{
	int			gpu;			/* index into the devices, or ANY */
	int			layout;			/* or ANY */
	int			structures;
	int			n;
	double	   *u;				/* [n] ln(measured / predicted) over the scale of its distance, ascending */
	double	   *w;				/* [n] weights, which sum to structures */
} group;

struct pm_intervals
{
	int			n_gpus;
	const char *const *gpus;	/* [n_gpus] the devices of the domain */
	int			n_groups;		/* narrower before wider; 0: not calibrated */
	group	   *groups;
	double		slope;			/* what distance adds to the scale of residuals at the most; 0: distances are not known */
	double		reach;			/* largest distance that residuals are of */
};

bool
pm_intervals_calibrated(const pm_intervals *t)
{
	return t->n_groups > 0;
}

/* Of residuals at a distance, in units of that at distance 0. */
static double
scale_at(double slope, double distance)
{
	return 1 + slope * distance / (distance + HALF_WAY);
}

static double
scale_of(const pm_intervals *t, double distance)
{
	return scale_at(t->slope, fmin(distance, t->reach));
}

bool
pm_intervals_reach(const pm_intervals *t, double distance)
{
	return t->slope > 0 && distance <= t->reach;
}

/* ---- residuals of a group ---- */

typedef struct residual
{
	uint64_t	structure;
	double		u;
	double		w;
	double		distance;
	bool		seen;			/* its structure was, by what predicted it */
} residual;

static int
by_structure(const void *a, const void *b)
{
	const residual *x = a;
	const residual *y = b;

	if (x->structure != y->structure)
		return x->structure < y->structure ? -1 : 1;
	return (x->u > y->u) - (x->u < y->u);
}

static int
by_residual(const void *a, const void *b)
{
	const residual *x = a;
	const residual *y = b;

	if (x->u != y->u)
		return x->u < y->u ? -1 : 1;
	return (x->w > y->w) - (x->w < y->w);
}

/* Weigh each row by one over the rows of its structure; returns how many structures there are. */
static int
weigh(residual *r, int n)
{
	int			structures = 0;

	qsort(r, n, sizeof(residual), by_structure);
	for (int i = 0; i < n;)
	{
		int			end = i;

		while (end < n && r[end].structure == r[i].structure)
			end++;
		for (int k = i; k < end; k++)
			r[k].w = 1.0 / (end - i);
		i = end;
		structures++;
	}
	return structures;
}

/* Cell of a point at fraction p of the weight: cells are narrow towards both ends, where quantiles are read. */
static int
cell_of(double p)
{
	int			cell = (int) (MAX_POINTS / M_PI * acos(1 - 2 * fmin(fmax(p, 0), 1)));

	return cell < MAX_POINTS ? cell : MAX_POINTS - 1;
}

/*
 * Join residuals of a cell into one point of their weight: the smallest of them
 * below the median, the largest above, so that no interval becomes narrower.
 */
static void
compress(group *g, const residual *r, int n)
{
	double		total = g->structures;
	double		sum = 0;
	int			last = -1;

	g->n = 0;
	for (int i = 0; i < n; i++)
	{
		double		p = (sum + r[i].w / 2) / total;
		int			cell = n <= MAX_POINTS ? i : cell_of(p);

		sum += r[i].w;
		if (cell != last)
		{
			g->u[g->n] = r[i].u;
			g->w[g->n++] = 0;
			last = cell;
		}
		else if (p > 0.5)
			g->u[g->n - 1] = r[i].u;
		g->w[g->n - 1] += r[i].w;
	}
	/* as they are stored */
	for (int i = 0; i < g->n; i++)
		g->w[i] = (float) g->w[i];
}

static bool
in_group(const pm_sample *s, const char *gpu, int layout)
{
	return (gpu == NULL || strcmp(s->query.gpu->name, gpu) == 0) && (layout == ANY || (int) s->query.layout == layout);
}

/* The rows that residuals are taken of. */
typedef struct evidence
{
	const pm_dataset *d;
	const pm_crossed *crossed;	/* [n] */
	int			n;
	const bool *seen;			/* [d->n] may be NULL */
} evidence;

/* Residuals of the rows of a group, over their scales. */
static int
residuals_of(const pm_intervals *t, const evidence *e, const char *gpu, int layout, residual *r)
{
	int			n = 0;

	for (int k = 0; k < e->n; k++)
		for (int i = 0; i < e->d->n; i++)
		{
			const pm_sample *s = &e->d->samples[i];
			double		distance = e->crossed[k].distance != NULL ? e->crossed[k].distance[i] : 0;
			double		u = log(s->step_ms / e->crossed[k].ms[i]) / scale_of(t, distance);

			if (isfinite(u) && in_group(s, gpu, layout))
				r[n++] = (residual) {.structure = e->crossed[k].unit != NULL ? e->crossed[k].unit[i] : s->query.graph->structure, .u = u, .distance = distance,
					.seen = e->seen != NULL && e->seen[i]};
		}
	return n;
}

/* As it is stored, and not nearer to 0, so that no interval becomes narrower. */
static double
as_stored(double u)
{
	float		f = (float) u;

	return fabs(f) >= fabs(u) ? f : nextafterf(f, u > 0 ? INFINITY : -INFINITY);
}

/* Give g, whose structures are counted, these weighed residuals, which are sorted here. */
static pm_code
fill_group(group *g, residual *r, int n, pm_arena *a, pm_status *st)
{
	int			points = n < MAX_POINTS ? n : MAX_POINTS;

	for (int i = 0; i < n; i++)
		r[i].u = as_stored(r[i].u);
	qsort(r, n, sizeof(residual), by_residual);
	g->u = PM_NEW(a, double, points);
	g->w = PM_NEW(a, double, points);
	if (!g->u || !g->w)
		return pm_no_memory(st, a);
	compress(g, r, n);
	return PM_OK;
}

/* Add the group of these rows when there are enough. */
static pm_code
add_group(pm_intervals *t, int gpu, int layout, const evidence *e, residual *r, pm_arena *a, pm_status *st)
{
	group	   *g = &t->groups[t->n_groups];
	bool		widest = gpu == ANY && layout == ANY;
	int			n = residuals_of(t, e, gpu == ANY ? NULL : t->gpus[gpu], layout, r);

	*g = (group) {.gpu = gpu, .layout = layout, .structures = weigh(r, n)};
	if (g->structures < (widest ? MIN_STRUCTURES : GROUP_STRUCTURES) || (!widest && n < GROUP_ROWS))
		return PM_OK;
	t->n_groups++;
	return fill_group(g, r, n, a, st);
}

static bool
has_group(const pm_intervals *t, int gpu)
{
	for (int i = 0; i < t->n_groups; i++)
		if (t->groups[i].gpu == gpu)
			return true;
	return false;
}

/*
 * Devices of few rows each have one group together: their errors are like each
 * other's, and larger than those of a device with many, which would drown them
 * in a group of all rows.
 */
static pm_code
add_shared_group(pm_intervals *t, const evidence *e, residual *r, pm_arena *a, pm_status *st)
{
	group		shared = {.layout = ANY};
	int			n_groups = t->n_groups;
	int			n = 0;
	pm_code		rc;

	for (int gpu = 0; gpu < t->n_gpus; gpu++)
		if (!has_group(t, gpu))
			n += residuals_of(t, e, t->gpus[gpu], ANY, r + n);
	shared.structures = weigh(r, n);
	if (shared.structures < MIN_STRUCTURES)
		return PM_OK;
	if ((rc = fill_group(&shared, r, n, a, st)) != PM_OK)
		return rc;
	for (int gpu = 0; gpu < t->n_gpus; gpu++)
	{
		shared.gpu = gpu;
		if (!has_group(t, gpu))
			t->groups[n_groups++] = shared;
	}
	t->n_groups = n_groups;
	return PM_OK;
}

static pm_code
make_intervals(const char *const *gpus, int n_gpus, pm_arena *a, pm_intervals **t, pm_status *st)
{
	if ((*t = PM_NEW(a, pm_intervals, 1)) == NULL)
		return pm_no_memory(st, a);
	(*t)->n_gpus = n_gpus;
	(*t)->gpus = gpus;
	(*t)->groups = PM_NEW(a, group, (size_t) n_gpus * (PM_N_LAYOUTS + 1) + 1);
	return (*t)->groups != NULL ? PM_OK : pm_no_memory(st, a);
}

/*
 * The slope under which the residuals are likeliest, if they have a Laplace
 * distribution whose scale is scale_at(): the sum of w ln(scale) plus that of
 * the weights times ln(sum of w |u| / scale) is smallest.
 */
static double
likeliest_slope(const residual *r, int n)
{
	double		best = INFINITY;
	double		slope = 0;

	for (int step = 0; step * SLOPE_STEP <= MAX_SLOPE; step++)
	{
		double		weights = 0;
		double		logs = 0;
		double		errors = 0;
		double		loss;

		for (int i = 0; i < n; i++)
		{
			double		scale = scale_at(step * SLOPE_STEP, r[i].distance);

			weights += r[i].w;
			logs += r[i].w * log(scale);
			errors += r[i].w * fabs(r[i].u) / scale;
		}
		loss = logs + weights * log(errors);
		if (loss < best)
		{
			best = loss;
			slope = step * SLOPE_STEP;
		}
	}
	return slope;
}

/* Slope and reach, from all residuals whose distances are known. r: room for them. */
static void
fit_slope(pm_intervals *t, const evidence *e, residual *r)
{
	int			n;
	int			structures;

	for (int k = 0; k < e->n; k++)
		if (e->crossed[k].distance == NULL)
			return;
	n = residuals_of(t, e, NULL, ANY, r);
	structures = weigh(r, n);
	for (int i = 0; i < n; i++)
		t->reach = fmax(t->reach, r[i].distance);
	/* it is never 0, which stands for distances that are not known */
	t->slope = structures < SLOPE_STRUCTURES ? USUAL_SLOPE : fmax(likeliest_slope(r, n), SLOPE_STEP);
}

pm_code
pm_intervals_fit(const pm_dataset *d, const pm_crossed *crossed, int n, const char *const *gpus, int n_gpus, pm_arena *a,
				 const pm_intervals **intervals, pm_status *st)
{
	evidence	e = {.d = d, .crossed = crossed, .n = n};
	residual   *r = PM_NEW(a, residual, (size_t) d->n * (n > 0 ? n : 1));
	pm_intervals *t;
	pm_code		rc = make_intervals(gpus, n_gpus, a, &t, st);

	if (rc != PM_OK || !r)
		return rc != PM_OK ? rc : pm_no_memory(st, a);
	*intervals = t;
	if (n == 0)
		return PM_OK;
	fit_slope(t, &e, r);
	for (int gpu = 0; gpu < t->n_gpus; gpu++)
		for (int layout = 0; layout < PM_N_LAYOUTS && rc == PM_OK; layout++)
			rc = add_group(t, gpu, layout, &e, r, a, st);
	for (int gpu = 0; gpu < t->n_gpus && rc == PM_OK; gpu++)
		rc = add_group(t, gpu, ANY, &e, r, a, st);
	if (rc == PM_OK)
		rc = add_shared_group(t, &e, r, a, st);
	return rc == PM_OK ? add_group(t, ANY, ANY, &e, r, a, st) : rc;
}

/* ---- quantiles ---- */

/* Median of a group, about which tails are stretched. */
static double
median(const group *g)
{
	double		sum = 0;
	int			i = 0;

	while (i < g->n - 1 && (sum += g->w[i]) < g->structures / 2.0 * (1 - WEIGHT_ERROR))
		i++;
	return g->u[i];
}

/*
 * The residual that a new one exceeds (upper) or falls short of (lower) with a
 * probability of at most `tail`: the new one counts as one more structure, at
 * the far end.  Where the group is too small for that tail, its last residual
 * is stretched as the tail of an exponential distribution would be:
 * by ln(1/tail) / ln(structures + 1) from the median.
 */
static double
tail_quantile(const group *g, double tail, bool upper)
{
	double		beyond = 1;		/* weight at the far end, the new one's */
	double		allowed = tail * (g->structures + 1);
	double		centre = median(g);
	int			far = upper ? g->n - 1 : 0;

	if (allowed < 1)
		return centre + (g->u[far] - centre) * log(1 / tail) / log(g->structures + 1.0);
	for (int i = 0; i < g->n; i++)
	{
		int			at = upper ? g->n - 1 - i : i;

		beyond += g->w[at];
		if (beyond > allowed * (1 + WEIGHT_ERROR))
			return g->u[at];
	}
	return centre;
}

static const group *
find_group(const pm_intervals *t, const pm_question *q)
{
	for (int i = 0; i < t->n_groups; i++)
	{
		const group *g = &t->groups[i];

		if ((g->gpu == ANY || strcmp(t->gpus[g->gpu], q->gpu->name) == 0) &&
			(g->layout == ANY || g->layout == (int) q->layout))
			return g;
	}
	return NULL;
}

static bool
same_residuals(const group *g, const group *h)
{
	return g->structures == h->structures && g->n == h->n && memcmp(g->u, h->u, g->n * sizeof(double)) == 0 &&
		memcmp(g->w, h->w, g->n * sizeof(double)) == 0;
}

/* Each such device has a group, and all these are the same.  One that was recalibrated since has another. */
const char *
pm_intervals_few_rows(const pm_intervals *t)
{
	for (int i = 0; i < t->n_groups; i++)
		for (int k = 0; k < i; k++)
		{
			const group *g = &t->groups[i];
			const group *h = &t->groups[k];

			if (g->gpu != ANY && h->gpu != ANY && g->gpu != h->gpu && g->layout == ANY && h->layout == ANY && same_residuals(g, h))
				return t->gpus[h->gpu];
		}
	return NULL;
}

static double
held(double value)
{
	return fmin(fmax(value, DBL_MIN), DBL_MAX);
}

bool
pm_intervals_of(const pm_intervals *t, const pm_question *q, double predicted, double distance, double level, double stretch,
				double *low, double *high)
{
	const group *g = find_group(t, q);
	double		tail = (1 - level) / 2;

	*low = *high = NAN;
	if (g == NULL)
		return false;
	stretch *= scale_of(t, distance);
	/* residuals may all lie on one side: the prediction itself is always inside */
	*low = held(predicted * exp(stretch * fmin(tail_quantile(g, tail, false), 0)));
	*high = held(predicted * exp(stretch * fmax(tail_quantile(g, tail, true), 0)));
	return true;
}

void
pm_interval_widen(double step_ms, double doubt, double *low_ms, double *high_ms)
{
	*low_ms = fmax(step_ms * exp(-hypot(log(step_ms / *low_ms), doubt)), DBL_MIN);
	*high_ms = fmin(step_ms * exp(hypot(log(*high_ms / step_ms), doubt)), DBL_MAX);
}

void
pm_interval_stretch(double step_ms, double factor, double *low_ms, double *high_ms)
{
	*low_ms = fmax(step_ms * pow(*low_ms / step_ms, factor), DBL_MIN);
	*high_ms = fmin(step_ms * pow(*high_ms / step_ms, factor), DBL_MAX);
}

/* ---- what is known, and new rows ---- */

static const group *
exact_group(const pm_intervals *t, const char *gpu, int layout)
{
	for (int i = 0; i < t->n_groups; i++)
	{
		const group *g = &t->groups[i];

		if (g->layout == layout && (gpu == NULL ? g->gpu == ANY : g->gpu != ANY && strcmp(t->gpus[g->gpu], gpu) == 0))
			return g;
	}
	return NULL;
}

/* Structures among r[n], sorted by structure, that were not seen. */
static int
count_unseen(const residual *r, int n)
{
	int			count = 0;

	for (int i = 0; i < n; i++)
		count += !r[i].seen && (i == 0 || r[i].structure != r[i - 1].structure);
	return count;
}

/* Room for all rows and a group's points in r. */
static pm_code
update_group(pm_intervals *t, const pm_intervals *old, int gpu, int layout, const evidence *e, residual *r, pm_arena *a,
			 pm_status *st)
{
	const char *name = gpu == ANY ? NULL : t->gpus[gpu];
	const group *before = exact_group(old, name, layout);
	group	   *g = &t->groups[t->n_groups];
	int			n = residuals_of(t, e, name, layout, r);
	int			unseen;

	*g = (group) {.gpu = gpu, .layout = layout, .structures = weigh(r, n)};
	unseen = count_unseen(r, n);
	/* of a device that is new, or had too few rows: what is known of all devices is the next best */
	if (before == NULL && layout == ANY && n > 0)
		before = exact_group(old, NULL, ANY);
	if (name != NULL && unseen >= GROUP_STRUCTURES && n >= GROUP_ROWS)
		before = NULL;
	else if (before == NULL && (name != NULL || unseen < MIN_STRUCTURES))
		return PM_OK;
	for (int i = 0; before != NULL && i < before->n; i++)
		r[n++] = (residual) {.u = before->u[i], .w = before->w[i]};
	g->structures += before != NULL ? before->structures : 0;
	t->n_groups++;
	return fill_group(g, r, n, a, st);
}

pm_code
pm_intervals_update(const pm_intervals *old, const pm_dataset *d, const pm_crossed *crossed, const bool *seen,
					const char *const *gpus, int n_gpus, pm_arena *a, const pm_intervals **intervals, pm_status *st)
{
	evidence	e = {.d = d, .crossed = crossed, .n = 1, .seen = seen};
	residual   *r = PM_NEW(a, residual, d->n + MAX_POINTS);
	pm_intervals *t;
	pm_code		rc = make_intervals(gpus, n_gpus, a, &t, st);

	if (rc != PM_OK || !r)
		return rc != PM_OK ? rc : pm_no_memory(st, a);
	*intervals = t;
	t->slope = old->slope;
	t->reach = old->reach;
	for (int gpu = 0; gpu < t->n_gpus; gpu++)
		for (int layout = 0; layout < PM_N_LAYOUTS && rc == PM_OK; layout++)
			rc = update_group(t, old, gpu, layout, &e, r, a, st);
	for (int gpu = 0; gpu < t->n_gpus && rc == PM_OK; gpu++)
		rc = update_group(t, old, gpu, ANY, &e, r, a, st);
	return rc == PM_OK ? update_group(t, old, ANY, ANY, &e, r, a, st) : rc;
}

/* ---- storing ---- */

void
pm_intervals_save(const pm_intervals *t, pm_buffer *b)
{
	pm_names_save(pm_list_here(PM_LIST_LAYOUT), b);
	pm_put_f64(b, t->slope);
	pm_put_f64(b, t->reach);
	pm_put_u32(b, (uint32_t) t->n_groups);
	for (int i = 0; i < t->n_groups; i++)
	{
		const group *g = &t->groups[i];

		pm_put_u32(b, (uint32_t) (g->gpu + 1));
		pm_put_u32(b, (uint32_t) (g->layout + 1));
		pm_put_u32(b, (uint32_t) g->structures);
		pm_put_u32(b, (uint32_t) g->n);
		for (int k = 0; k < g->n; k++)
		{
			pm_put_f32(b, g->u[k]);
			pm_put_f32(b, g->w[k]);
		}
	}
}

static pm_code
load_group(const pm_intervals *t, const pm_translation *layouts, group *g, pm_reader *r, pm_arena *a, pm_status *st)
{
	double		least = -DBL_MAX;
	double		sum = 0;

	g->gpu = (int) pm_get_u32(r, (uint32_t) t->n_gpus) - 1;
	g->layout = (int) pm_get_u32(r, (uint32_t) layouts->n) - 1;
	if (g->layout != ANY && layouts->here != NULL)
		g->layout = layouts->here[g->layout];
	g->structures = (int) pm_get_u32(r, INT32_MAX);
	g->n = (int) pm_get_u32(r, MAX_POINTS);
	g->u = PM_NEW(a, double, g->n);
	g->w = PM_NEW(a, double, g->n);
	if (!g->u || !g->w)
		return pm_no_memory(st, a);
	for (int k = 0; k < g->n && !r->failed; k++)
	{
		g->u[k] = pm_get_f32(r);
		if (g->u[k] < least)
			r->failed = true;
		least = g->u[k];
		sum += g->w[k] = pm_get_f32(r);
		r->failed = r->failed || g->w[k] <= 0;
	}
	if (g->n < 1 || g->structures < 1 || !(fabs(sum - g->structures) <= 1e-6 * g->structures))
		r->failed = true;
	return PM_OK;
}

pm_code
pm_intervals_load(pm_reader *r, const char *const *gpus, int n_gpus, pm_arena *a, const pm_intervals **intervals, pm_status *st)
{
	pm_translation layouts;
	pm_intervals *t;
	pm_code		rc = make_intervals(gpus, n_gpus, a, &t, st);

	if (rc == PM_OK)
		rc = pm_names_load(pm_list_here(PM_LIST_LAYOUT), r, a, &layouts, st);
	if (rc != PM_OK)
		return rc;
	*intervals = t;
	t->slope = pm_get_above(r, 0);
	t->reach = pm_get_above(r, 0);
	t->n_groups = (int) pm_get_u32(r, (uint32_t) (n_gpus * (PM_N_LAYOUTS + 1) + 1));
	for (int i = 0; i < t->n_groups && rc == PM_OK && !r->failed; i++)
		rc = load_group(t, &layouts, &t->groups[i], r, a, st);
	return rc;
}
