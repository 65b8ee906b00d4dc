/*
 * trust.c - calibrated intervals and the domain of a predictor (docs/trust.md).
 *
 * Intervals are split-conformal in the logarithm: residuals u = ln(measured /
 * predicted) of predictions by models that had not seen the row's structure,
 * and their quantiles, the two tails apart.  Rows of one structure are not
 * independent, so together they weigh as much as one: what counts as evidence
 * is structures, and a new structure is what is promised to be covered.
 *
 * The domain is what the training rows span: devices with the formats and
 * batches they were used with, and for each type of operator the sizes it had.
 * Sizes are remembered as a cover: enough of the operators that every other one
 * is close to one of them.
 */
#include "predictor/trust.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* ---- constants that docs/trust.md gives reasons for ---- */

#define MIN_STRUCTURES		10	/* for any interval */
#define GROUP_STRUCTURES	20	/* for one of a device, or of a device and a layout ... */
#define GROUP_ROWS			50	/* ... and so many rows */
#define MAX_POINTS			400 /* residuals kept for a group */
#define OUTSIDE_FACTOR		2.0 /* on the log-interval out of the domain */

#define UNSEEN_SHARE		0.02	/* of the roofline time in types of operators that were not seen */
#define UNLIKE_SHARE		0.10	/* in operators that none of their type in training is like */
#define ALIKE				0.75	/* log2: all sizes within a factor of 1.7 */
#define COVER				0.25	/* log2: distance of the operators that are remembered */
#define GPU_NETWORKS		5	/* structures that a device was measured with, at the least */
#define BATCH_SLACK			2.0 /* times below the smallest and above the largest batch */
#define STEP_SLACK			2.0 /* log2: a factor of 4 on the roofline time of the step */

#define MAX_NAMES			4096	/* gpus, frameworks, types in a stored form */
#define MAX_COVER			4096	/* operators remembered of a type; what is beyond counts as unlike */
#define ANY					(-1)

/*
 * Sizes of an operator for one sample of the batch: these slots of its token,
 * then rows of its matrix product, then elements of its output.
 */
static const int dims[] = {
	PM_HAS_IN_CH, PM_HAS_OUT_CH, PM_HAS_IN_H, PM_HAS_IN_W, PM_HAS_K_H, PM_HAS_K_W, PM_HAS_S_H, PM_HAS_GROUPS,
	PM_HAS_CH_PER_GROUP, PM_HAS_GEMM_N, PM_HAS_GEMM_K, PM_HAS_HEADS, PM_HAS_SEQ_LEN
};

#define N_DIMS		((int) (sizeof(dims) / sizeof(dims[0])))
#define N_SIZES		(N_DIMS + 2)
#define ABSENT		(-100)		/* a size that the operator does not have: far from all that do */

static const char *const size_names[] = {
	"in_ch", "out_ch", "in_h", "in_w", "k_h", "k_w", "s_h", "groups", "ch_per_group", "gemm_n", "gemm_k", "heads", "seq_len",
	"rows", "out_elems"
};
static_assert(sizeof(size_names) / sizeof(size_names[0]) == N_SIZES, "each size has a name");
static const pm_names sizes = {"size", N_SIZES, size_names};

typedef struct device
{
	const char *name;
	int			rows;
	int			structures;		/* of these */
	int			used[PM_N_DTYPES][PM_N_LAYOUTS];	/* rows */
	double		min_batch,
				max_batch;
} device;

typedef struct framework
{
	const char *name;
	int			rows;
} framework;

/* A type of operator. Those that the catalogue does not know are told apart by name. */
typedef struct op_type
{
	const char *name;
	int			id;				/* pm_type_id; -1: the catalogue does not know it */
	int			n;				/* operators remembered */
	int			room;
	pm_real    *sizes;			/* [n, sizes.n of the domain] log2(1 + size) */
} op_type;

/* Residuals of a part of the rows, sorted, the weight of a structure being 1. */
typedef struct group
{
	int			gpu;			/* index into the devices, or ANY */
	int			layout;			/* or ANY */
	int			structures;
	int			n;
	double	   *u;				/* [n] ln(measured / predicted), ascending */
	double	   *w;				/* [n] weights, which sum to structures */
} group;

struct pm_trust
{
	int			n_gpus;
	device	   *gpus;
	int			n_frameworks;
	framework  *frameworks;
	bool		knows_optimizers;	/* false: learned by 0.1.0, which did not ask */
	double		optimizers[PM_N_OPTIMIZERS];	/* rows of each */
	pm_translation sizes;		/* that operators are remembered by */
	int			n_types;
	op_type    *types;
	int32_t    *type_at;		/* [pm_type_count()] index into types, -1: not seen */
	double		min_step,
				max_step;		/* log2 of the roofline time of the step, us */
	int			n_groups;		/* narrower before wider; 0: not calibrated */
	group	   *groups;
};

bool
pm_trust_calibrated(const pm_trust *t)
{
	return t->n_groups > 0;
}

int
pm_trust_gpu_count(const pm_trust *t)
{
	return t->n_gpus;
}

const char *
pm_trust_gpu(const pm_trust *t, int i)
{
	return t->gpus[i].name;
}

/* ---- residuals of a group ---- */

typedef struct residual
{
	uint64_t	structure;
	double		u;
	double		w;
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
}

static bool
in_group(const pm_sample *s, const char *gpu, int layout)
{
	return (gpu == NULL || strcmp(s->query.gpu->name, gpu) == 0) && (layout == ANY || (int) s->query.layout == layout);
}

/* Residuals of the rows of a group; seen may be NULL. */
static int
residuals_of(const pm_dataset *d, const double *cross_ms, const bool *seen, const char *gpu, int layout, residual *r)
{
	int			n = 0;

	for (int i = 0; i < d->n; i++)
	{
		double		u = log(d->samples[i].step_ms / cross_ms[i]);

		if (isfinite(u) && in_group(&d->samples[i], gpu, layout))
			r[n++] = (residual) {.structure = d->samples[i].query.graph->structure, .u = u, .seen = seen != NULL && seen[i]};
	}
	return n;
}

/* Give g, whose structures are counted, these weighed residuals, which are sorted here. */
static pm_code
fill_group(group *g, residual *r, int n, pm_arena *a, pm_status *st)
{
	int			points = n < MAX_POINTS ? n : MAX_POINTS;

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
add_group(pm_trust *t, int gpu, int layout, const pm_dataset *d, const double *cross_ms, residual *r,
		  pm_arena *a, pm_status *st)
{
	group	   *g = &t->groups[t->n_groups];
	bool		widest = gpu == ANY && layout == ANY;
	int			n = residuals_of(d, cross_ms, NULL, gpu == ANY ? NULL : t->gpus[gpu].name, layout, r);

	*g = (group) {.gpu = gpu, .layout = layout, .structures = weigh(r, n)};
	if (g->structures < (widest ? MIN_STRUCTURES : GROUP_STRUCTURES) || (!widest && n < GROUP_ROWS))
		return PM_OK;
	t->n_groups++;
	return fill_group(g, r, n, a, st);
}

static bool
has_group(const pm_trust *t, int gpu)
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
add_shared_group(pm_trust *t, const pm_dataset *d, const double *cross_ms, residual *r, pm_arena *a, pm_status *st)
{
	group		shared = {.layout = ANY};
	int			n_groups = t->n_groups;
	int			n = 0;
	pm_code		rc;

	for (int gpu = 0; gpu < t->n_gpus; gpu++)
		if (!has_group(t, gpu))
			n += residuals_of(d, cross_ms, NULL, t->gpus[gpu].name, ANY, r + n);
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
fit_groups(pm_trust *t, const pm_dataset *d, const double *cross_ms, pm_arena *a, pm_status *st)
{
	residual   *r = PM_NEW(a, residual, d->n);
	pm_code		rc = PM_OK;

	t->groups = PM_NEW(a, group, t->n_gpus * (PM_N_LAYOUTS + 1) + 1);
	if (!r || !t->groups)
		return pm_no_memory(st, a);
	for (int gpu = 0; gpu < t->n_gpus; gpu++)
		for (int layout = 0; layout < PM_N_LAYOUTS && rc == PM_OK; layout++)
			rc = add_group(t, gpu, layout, d, cross_ms, r, a, st);
	for (int gpu = 0; gpu < t->n_gpus && rc == PM_OK; gpu++)
		rc = add_group(t, gpu, ANY, d, cross_ms, r, a, st);
	if (rc == PM_OK)
		rc = add_shared_group(t, d, cross_ms, r, a, st);
	return rc == PM_OK ? add_group(t, ANY, ANY, d, cross_ms, r, a, st) : rc;
}

/* ---- quantiles ---- */

/* Median of a group, about which tails are stretched. */
static double
median(const group *g)
{
	double		sum = 0;
	int			i = 0;

	while (i < g->n - 1 && (sum += g->w[i]) < g->structures / 2.0)
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
		if (beyond > allowed * (1 + 1e-12))
			return g->u[at];
	}
	return centre;
}

static const group *
find_group(const pm_trust *t, const pm_question *q)
{
	for (int i = 0; i < t->n_groups; i++)
	{
		const group *g = &t->groups[i];

		if ((g->gpu == ANY || strcmp(t->gpus[g->gpu].name, q->gpu->name) == 0) &&
			(g->layout == ANY || g->layout == (int) q->layout))
			return g;
	}
	return NULL;
}

static double
held(double ms)
{
	return fmin(fmax(ms, DBL_MIN), DBL_MAX);
}

static void
set_interval(const group *g, double step_ms, double level, pm_verdict *v)
{
	double		tail = (1 - level) / 2;
	double		factor = v->in_domain ? 1 : OUTSIDE_FACTOR;

	v->low_ms = v->high_ms = NAN;
	if (g == NULL)
		return;
	/* residuals may all lie on one side: the prediction itself is always inside */
	v->low_ms = held(step_ms * exp(factor * fmin(tail_quantile(g, tail, false), 0)));
	v->high_ms = held(step_ms * exp(factor * fmax(tail_quantile(g, tail, true), 0)));
}

/* ---- sizes of operators ---- */

/* All sizes: v[N_SIZES], from tokens of batch 1. */
static void
all_sizes(const pm_tokens *t, int token, pm_real *v)
{
	const pm_real *slots = t->slots + (size_t) token * PM_N_SLOTS;
	const pm_real *mask = t->slot_mask + (size_t) token * PM_N_SLOTS;

	for (int k = 0; k < N_DIMS; k++)
		v[k] = mask[dims[k]] != 0 ? slots[dims[k]] : ABSENT;
	/* whether the batch makes more rows or more products is a matter of how the operator is written */
	v[N_DIMS] = ABSENT;
	if (mask[PM_HAS_GEMM_M] != 0 && mask[PM_HAS_GEMM_BATCH] != 0)
		v[N_DIMS] = (pm_real) log2(1 + (exp2(slots[PM_HAS_GEMM_M]) - 1) * (exp2(slots[PM_HAS_GEMM_BATCH]) - 1));
	v[N_DIMS + 1] = t->loads[(size_t) token * PM_N_LOADS + PM_LOAD_OUT_ELEMS];
}

/* Those that the domain remembers: v[t->sizes.n]. */
static void
sizes_of(const pm_trust *t, const pm_tokens *tokens, int token, pm_real *v)
{
	pm_real		all[N_SIZES];

	all_sizes(tokens, token, all);
	for (int k = 0; k < t->sizes.n; k++)
		v[k] = all[t->sizes.here != NULL ? t->sizes.here[k] : k];
}

/* Tokens of one sample of the batch. */
static pm_code
tokens_of_one(const pm_sample *s, pm_arena *a, pm_tokens *t, pm_status *st)
{
	pm_question	q = s->query;

	q.batch = 1;
	return pm_tokens_build(s->skeleton, &q, a, t, st);
}

/* Whether an operator that is remembered has all its sizes within `slack` of v. */
static bool
has_like(const op_type *type, const pm_real *v, int n_sizes, double slack)
{
	for (int i = 0; i < type->n; i++)
	{
		const pm_real *have = type->sizes + (size_t) i * n_sizes;
		int			k = 0;

		while (k < n_sizes && fabs(have[k] - v[k]) <= slack)
			k++;
		if (k == n_sizes)
			return true;
	}
	return false;
}

/* Name under which the type of a token is remembered; in buf (64 bytes) or as long-lived as the graph. */
static const char *
type_name(const pm_tokens *t, int token, char *buf)
{
	const pm_node *node = &t->skeleton->graph->nodes[t->skeleton->node[token]];

	return node->op == PM_OP_UNKNOWN ? node->op_name : pm_type_name(t->type[token], buf);
}

static op_type *
find_type(const pm_trust *t, const pm_tokens *tokens, int token)
{
	const pm_node *node = &tokens->skeleton->graph->nodes[tokens->skeleton->node[token]];
	int			at = tokens->type[token];

	if (node->op != PM_OP_UNKNOWN)
		return t->type_at[at] < 0 ? NULL : &t->types[t->type_at[at]];
	for (int i = 0; i < t->n_types; i++)
		if (t->types[i].id < 0 && strcmp(t->types[i].name, node->op_name) == 0)
			return &t->types[i];
	return NULL;
}

/* ---- learning the domain ---- */

static pm_code
add_type(pm_trust *t, const pm_tokens *tokens, int token, pm_arena *a, op_type **type, pm_status *st)
{
	const pm_node *node = &tokens->skeleton->graph->nodes[tokens->skeleton->node[token]];
	char		buf[64];
	const char *name = type_name(tokens, token, buf);

	/* room is made in powers of two; a list that outgrows it moves on */
	if (t->n_types == 0 || (t->n_types >= 64 && (t->n_types & (t->n_types - 1)) == 0))
	{
		op_type    *longer = PM_NEW(a, op_type, t->n_types == 0 ? 64 : 2 * (size_t) t->n_types);

		if (!longer)
			return pm_no_memory(st, a);
		if (t->n_types > 0)
			memcpy(longer, t->types, t->n_types * sizeof(op_type));
		t->types = longer;
	}
	*type = &t->types[t->n_types];
	(*type)->name = pm_strdup(a, name, strlen(name));
	if ((*type)->name == NULL)
		return pm_no_memory(st, a);
	(*type)->id = node->op == PM_OP_UNKNOWN ? -1 : tokens->type[token];
	if ((*type)->id >= 0)
		t->type_at[(*type)->id] = t->n_types;
	t->n_types++;
	return PM_OK;
}

/* Remember an operator of these sizes unless one like it is. */
static pm_code
cover(op_type *type, const pm_real *v, pm_arena *a, pm_status *st)
{
	if (has_like(type, v, N_SIZES, COVER) || type->n == MAX_COVER)
		return PM_OK;
	if (type->n == type->room)
	{
		int			room = type->room == 0 ? 16 : 2 * type->room;
		pm_real    *longer = PM_NEW(a, pm_real, (size_t) room * N_SIZES);

		if (!longer)
			return pm_no_memory(st, a);
		if (type->n > 0)
			memcpy(longer, type->sizes, (size_t) type->n * N_SIZES * sizeof(pm_real));
		type->sizes = longer;
		type->room = room;
	}
	memcpy(type->sizes + (size_t) type->n++ * N_SIZES, v, N_SIZES * sizeof(pm_real));
	return PM_OK;
}

static pm_code
learn_operators(pm_trust *t, const pm_tokens *tokens, pm_arena *a, pm_status *st)
{
	for (int i = 0; i < tokens->n; i++)
	{
		op_type    *type = find_type(t, tokens, i);
		pm_real		v[N_SIZES];
		pm_code		rc;

		/* a graph of thousands of unknown names is none to learn from */
		if (type == NULL && t->n_types >= MAX_NAMES)
			continue;
		if (type == NULL && (rc = add_type(t, tokens, i, a, &type, st)) != PM_OK)
			return rc;
		all_sizes(tokens, i, v);
		if ((rc = cover(type, v, a, st)) != PM_OK)
			return rc;
	}
	return PM_OK;
}

static int
find_gpu(const pm_trust *t, const char *name)
{
	for (int i = 0; i < t->n_gpus; i++)
		if (strcmp(t->gpus[i].name, name) == 0)
			return i;
	return -1;
}

static int
find_framework(const pm_trust *t, const char *name)
{
	for (int i = 0; i < t->n_frameworks; i++)
		if (strcmp(t->frameworks[i].name, name) == 0)
			return i;
	return -1;
}

static int
by_number(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* Of a device, among the rows that are not left out (may be NULL); found: [d->n] scratch. */
static int
different_structures(const pm_dataset *d, const char *gpu, const bool *left_out, uint64_t *found)
{
	int			n = 0;
	int			different = 0;

	for (int i = 0; i < d->n; i++)
		if (in_group(&d->samples[i], gpu, ANY) && !(left_out != NULL && left_out[i]))
			found[n++] = d->samples[i].query.graph->structure;
	qsort(found, n, sizeof(uint64_t), by_number);
	for (int i = 0; i < n; i++)
		different += i == 0 || found[i] != found[i - 1];
	return different;
}

/*
 * Structures of each device: those it had and those of its rows.  seen (may be
 * NULL) marks rows whose structure was trained on, on this device or another:
 * as which of them the device had is not remembered, they count where there are
 * more of them than it had.
 */
static pm_code
count_structures(pm_trust *t, const pm_dataset *d, const bool *seen, pm_arena *a, pm_status *st)
{
	uint64_t   *found = PM_NEW(a, uint64_t, d->n);

	if (!found)
		return pm_no_memory(st, a);
	for (int gpu = 0; gpu < t->n_gpus; gpu++)
	{
		device	   *g = &t->gpus[gpu];
		int			all = different_structures(d, g->name, NULL, found);
		int			fresh = different_structures(d, g->name, seen, found);

		g->structures = g->structures + fresh > all ? g->structures + fresh : all;
	}
	return PM_OK;
}

/* The lists have room for every row. Names are copied, as they outlive the rows; those too long to be stored are not. */
static pm_code
learn_words(pm_trust *t, const pm_question *q, pm_arena *a, pm_status *st)
{
	int			gpu = find_gpu(t, q->gpu->name);
	int			framework = q->framework ? find_framework(t, q->framework) : -1;
	device	   *g;

	if (gpu < 0 && t->n_gpus < MAX_NAMES && strlen(q->gpu->name) <= PM_MAX_NAME_LEN)
	{
		gpu = t->n_gpus++;
		t->gpus[gpu].min_batch = t->gpus[gpu].max_batch = (double) q->batch;
		if ((t->gpus[gpu].name = pm_strdup(a, q->gpu->name, strlen(q->gpu->name))) == NULL)
			return pm_no_memory(st, a);
	}
	if (framework < 0 && q->framework && t->n_frameworks < MAX_NAMES && strlen(q->framework) <= PM_MAX_NAME_LEN)
	{
		framework = t->n_frameworks++;
		if ((t->frameworks[framework].name = pm_strdup(a, q->framework, strlen(q->framework))) == NULL)
			return pm_no_memory(st, a);
	}
	if (framework >= 0)
		t->frameworks[framework].rows++;
	t->optimizers[q->optimizer]++;
	if (gpu < 0)
		return PM_OK;
	g = &t->gpus[gpu];
	g->rows++;
	g->used[q->dtype][q->layout]++;
	g->min_batch = fmin(g->min_batch, (double) q->batch);
	g->max_batch = fmax(g->max_batch, (double) q->batch);
	return PM_OK;
}

static double
log_step(const pm_tokens *tokens)
{
	return log2(tokens->total_roofline_us + 1e-3);
}

static pm_code
learn_row(pm_trust *t, const pm_sample *s, pm_arena *a, pm_arena *scratch, pm_status *st)
{
	pm_tokens	work;
	pm_tokens	one;
	pm_code		rc;

	if ((rc = pm_tokens_build_work(s->skeleton, &s->query, scratch, &work, st)) != PM_OK ||
		(rc = tokens_of_one(s, scratch, &one, st)) != PM_OK ||
		(rc = learn_words(t, &s->query, a, st)) != PM_OK)
		return rc;
	t->min_step = fmin(t->min_step, log_step(&work));
	t->max_step = fmax(t->max_step, log_step(&work));
	return learn_operators(t, &one, a, st);
}

static pm_code
make_trust(pm_trust **t, int rows, pm_arena *a, pm_status *st)
{
	*t = PM_NEW(a, pm_trust, 1);
	if (*t == NULL)
		return pm_no_memory(st, a);
	(*t)->gpus = PM_NEW(a, device, rows);
	(*t)->frameworks = PM_NEW(a, framework, rows);
	(*t)->type_at = PM_NEW(a, int32_t, pm_type_count());
	if (!(*t)->gpus || !(*t)->frameworks || !(*t)->type_at)
		return pm_no_memory(st, a);
	for (int i = 0; i < pm_type_count(); i++)
		(*t)->type_at[i] = -1;
	(*t)->knows_optimizers = true;
	(*t)->sizes.n = N_SIZES;
	(*t)->min_step = DBL_MAX;
	(*t)->max_step = -DBL_MAX;
	return PM_OK;
}

pm_code
pm_trust_fit(const pm_dataset *d, const double *cross_ms, const pm_hooks *hooks, pm_arena *a,
			 const pm_trust **trust, pm_status *st)
{
	pm_trust   *t;
	pm_code		rc = make_trust(&t, d->n, a, st);

	for (int i = 0; i < d->n && rc == PM_OK; i++)
	{
		pm_arena	scratch;

		if (hooks != NULL && hooks->stop != NULL && hooks->stop(hooks->ctx))
			return pm_fail(st, PM_CANCELLED, "training was cancelled");
		pm_arena_init_within(&scratch, a);
		rc = learn_row(t, &d->samples[i], a, &scratch, st);
		pm_arena_release(&scratch);
	}
	if (rc == PM_OK)
		rc = count_structures(t, d, NULL, a, st);
	if (rc == PM_OK && cross_ms != NULL)
		rc = fit_groups(t, d, cross_ms, a, st);
	*trust = t;
	return rc;
}

/* ---- what is known, and new rows ---- */

static const group *
exact_group(const pm_trust *t, const char *gpu, int layout)
{
	for (int i = 0; i < t->n_groups; i++)
	{
		const group *g = &t->groups[i];

		if (g->layout == layout && (gpu == NULL ? g->gpu == ANY : g->gpu != ANY && strcmp(t->gpus[g->gpu].name, gpu) == 0))
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
update_group(pm_trust *t, const pm_trust *old, int gpu, int layout, const pm_dataset *d, const double *cross_ms,
			 const bool *seen, residual *r, pm_arena *a, pm_status *st)
{
	const char *name = gpu == ANY ? NULL : t->gpus[gpu].name;
	const group *before = exact_group(old, name, layout);
	group	   *g = &t->groups[t->n_groups];
	int			n = residuals_of(d, cross_ms, seen, name, layout, r);
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

static pm_code
update_groups(pm_trust *t, const pm_trust *old, const pm_dataset *d, const double *cross_ms, const bool *seen,
			  pm_arena *a, pm_status *st)
{
	residual   *r = PM_NEW(a, residual, d->n + MAX_POINTS);
	pm_code		rc = PM_OK;

	t->n_groups = 0;
	t->groups = PM_NEW(a, group, t->n_gpus * (PM_N_LAYOUTS + 1) + 1);
	if (!r || !t->groups)
		return pm_no_memory(st, a);
	for (int gpu = 0; gpu < t->n_gpus; gpu++)
		for (int layout = 0; layout < PM_N_LAYOUTS && rc == PM_OK; layout++)
			rc = update_group(t, old, gpu, layout, d, cross_ms, seen, r, a, st);
	for (int gpu = 0; gpu < t->n_gpus && rc == PM_OK; gpu++)
		rc = update_group(t, old, gpu, ANY, d, cross_ms, seen, r, a, st);
	return rc == PM_OK ? update_group(t, old, ANY, ANY, d, cross_ms, seen, r, a, st) : rc;
}

/* The old domain with room for the words of n more rows. */
static pm_code
extend(const pm_trust *old, int n, pm_arena *a, pm_trust **t, pm_status *st)
{
	*t = PM_NEW(a, pm_trust, 1);
	if (*t == NULL)
		return pm_no_memory(st, a);
	**t = *old;
	(*t)->gpus = PM_NEW(a, device, old->n_gpus + n);
	(*t)->frameworks = PM_NEW(a, framework, old->n_frameworks + n);
	if (!(*t)->gpus || !(*t)->frameworks)
		return pm_no_memory(st, a);
	memcpy((*t)->gpus, old->gpus, old->n_gpus * sizeof(device));
	memcpy((*t)->frameworks, old->frameworks, old->n_frameworks * sizeof(framework));
	return PM_OK;
}

pm_code
pm_trust_update(const pm_trust *old, const pm_dataset *d, const double *cross_ms, const bool *seen, bool retrained,
				const pm_hooks *hooks, pm_arena *a, const pm_trust **trust, pm_status *st)
{
	pm_trust   *t;
	pm_code		rc;

	if (retrained)
	{
		if ((rc = pm_trust_fit(d, NULL, hooks, a, trust, st)) != PM_OK)
			return rc;
		t = (pm_trust *) *trust;
	}
	else
	{
		if ((rc = extend(old, d->n, a, &t, st)) != PM_OK)
			return rc;
		for (int i = 0; i < d->n && rc == PM_OK; i++)
			rc = learn_words(t, &d->samples[i].query, a, st);
		if (rc == PM_OK)
			rc = count_structures(t, d, seen, a, st);
		*trust = t;
	}
	return rc == PM_OK ? update_groups(t, old, d, cross_ms, seen, a, st) : rc;
}

/* ---- judging ---- */

const char *const pm_cause_name[PM_N_CAUSES] = {
	[PM_CAUSE_GPU_NOT_SEEN] = "gpu_not_seen",
	[PM_CAUSE_GPU_SELDOM_SEEN] = "gpu_seldom_seen",
	[PM_CAUSE_LAYOUT_NOT_SEEN] = "layout_not_seen",
	[PM_CAUSE_DTYPE_NOT_SEEN] = "dtype_not_seen",
	[PM_CAUSE_OPTIMIZER_NOT_SEEN] = "optimizer_not_seen",
	[PM_CAUSE_BATCH_ABOVE] = "batch_above",
	[PM_CAUSE_BATCH_BELOW] = "batch_below",
	[PM_CAUSE_OPERATORS_NOT_SEEN] = "operators_not_seen",
	[PM_CAUSE_OPERATOR_SIZES_NOT_SEEN] = "operator_sizes_not_seen",
	[PM_CAUSE_STEP_ABOVE] = "step_above",
	[PM_CAUSE_STEP_BELOW] = "step_below",
	[PM_CAUSE_FRAMEWORK_NOT_SEEN] = "framework_not_seen",
};

/* Causes, as they are found, and as text, which may run out of room. */
typedef struct causes
{
	char	   *text;
	size_t		len;
	uint32_t	found;			/* a bit for each */
} causes;

static void PM_PRINTF(3, 4)
add_cause(causes *c, pm_cause cause, const char *fmt,...)
{
	char		one[200];
	int			n;
	va_list		ap;

	c->found |= 1u << cause;
	va_start(ap, fmt);
	vsnprintf(one, sizeof(one), fmt, ap);
	va_end(ap);
	n = (int) strlen(one);
	if (c->len + 2 + n >= PM_REASON_SIZE)
		return;
	c->len += (size_t) snprintf(c->text + c->len, PM_REASON_SIZE - c->len, "%s%s", c->len > 0 ? "; " : "", one);
}

static bool
layout_used(const device *g, int layout)
{
	int			rows = 0;

	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		rows += g->used[dtype][layout];
	return rows > 0;
}

static void
judge_words(const pm_trust *t, const pm_question *q, causes *c)
{
	int			at = find_gpu(t, q->gpu->name);
	const device *g = &t->gpus[at < 0 ? 0 : at];

	if (at < 0)
	{
		add_cause(c, PM_CAUSE_GPU_NOT_SEEN, "gpu \"%.*s\" has no profiles", pm_shown(q->gpu->name), q->gpu->name);
		return;
	}
	if (g->structures < GPU_NETWORKS)
		add_cause(c, PM_CAUSE_GPU_SELDOM_SEEN, "gpu \"%.*s\" has profiles of no more than %d network%s", pm_shown(q->gpu->name), q->gpu->name,
				  g->structures, g->structures == 1 ? "" : "s");
	if (!layout_used(g, q->layout))
		add_cause(c, PM_CAUSE_LAYOUT_NOT_SEEN, "gpu \"%.*s\" has no profiles with layout %s", pm_shown(q->gpu->name), q->gpu->name, pm_layout_name[q->layout]);
	else if (g->used[q->dtype][q->layout] == 0)
		add_cause(c, PM_CAUSE_DTYPE_NOT_SEEN, "gpu \"%.*s\" has no profiles with dtype %s and layout %s", pm_shown(q->gpu->name), q->gpu->name,
				  pm_dtype_name[q->dtype], pm_layout_name[q->layout]);
	if (t->knows_optimizers && t->optimizers[q->optimizer] == 0)
		add_cause(c, PM_CAUSE_OPTIMIZER_NOT_SEEN, "optimizer \"%s\" was not in training", pm_optimizer_name[q->optimizer]);
	if (q->batch > BATCH_SLACK * g->max_batch)
		add_cause(c, PM_CAUSE_BATCH_ABOVE, "batch %lld is above %.0f, the largest in training", (long long) q->batch, g->max_batch);
	if (q->batch * BATCH_SLACK < g->min_batch)
		add_cause(c, PM_CAUSE_BATCH_BELOW, "batch %lld is below %.0f, the smallest in training", (long long) q->batch, g->min_batch);
}

/* The part of the step that is not as in training, and the worst operator of it. */
typedef struct part
{
	double		share;
	double		worst;			/* share of the worst token */
	int			token;
} part;

static void
add_share(part *p, double share, int token)
{
	if (p->share == 0 || share > p->worst)
	{
		p->worst = share;
		p->token = token;
	}
	p->share += share;
}

/* What an operator is to the predictor. */
enum
{
	SEEN, UNSEEN, UNLIKE
};

static void
add_operator(causes *c, pm_cause cause, const char *what, const char *type, double share)
{
	add_cause(c, cause, "operators %s, such as %.*s (%.0f %% of roofline time)", what, pm_shown(type), type, 100 * share);
}

static void
judge_operators(const uint8_t *novelty, const pm_tokens *work, causes *c)
{
	part		unseen = {0};
	part		unlike = {0};
	char		buf[64];

	for (int i = 0; i < work->n; i++)
		if (novelty[i] != SEEN)
			add_share(novelty[i] == UNSEEN ? &unseen : &unlike, pm_roofline_share(work, i), i);
	if (unseen.share > UNSEEN_SHARE)
		add_operator(c, PM_CAUSE_OPERATORS_NOT_SEEN, "not in training", type_name(work, unseen.token, buf), unseen.share);
	if (unlike.share > UNLIKE_SHARE)
		add_operator(c, PM_CAUSE_OPERATOR_SIZES_NOT_SEEN, "of sizes not in training", type_name(work, unlike.token, buf), unlike.share);
}

static void
judge_step(const pm_trust *t, const pm_tokens *tokens, causes *c)
{
	double		step = log_step(tokens);

	if (step > t->max_step + STEP_SLACK)
		add_cause(c, PM_CAUSE_STEP_ABOVE, "the step is %.0f times as much work as the largest in training", exp2(step - t->max_step));
	if (step < t->min_step - STEP_SLACK)
		add_cause(c, PM_CAUSE_STEP_BELOW, "the smallest step in training is %.0f times as much work", exp2(t->min_step - step));
}

pm_code
pm_trust_prepare(const pm_trust *t, const pm_sample *s, pm_arena *a, pm_arena *scratch,
				 const uint8_t **novelty, pm_status *st)
{
	uint8_t    *of = PM_NEW(a, uint8_t, s->skeleton->n);
	pm_tokens	one;
	pm_code		rc;

	if (!of)
		return pm_no_memory(st, a);
	if ((rc = tokens_of_one(s, scratch, &one, st)) != PM_OK)
		return rc;
	for (int i = 0; i < one.n; i++)
	{
		const op_type *type = find_type(t, &one, i);
		pm_real		v[N_SIZES];

		sizes_of(t, &one, i, v);
		of[i] = type == NULL ? UNSEEN : has_like(type, v, t->sizes.n, ALIKE) ? SEEN : UNLIKE;
	}
	*novelty = of;
	return PM_OK;
}

pm_code
pm_trust_judge_work(const pm_trust *t, const pm_sample *s, const uint8_t *novelty, const pm_tokens *work,
					double step_ms, double level, pm_verdict *v, pm_status *st)
{
	causes		c = {.text = v->reason};
	const char *framework = s->query.framework;

	memset(v, 0, sizeof(*v));
	if (!(level >= PM_LEVEL_MIN && level <= PM_LEVEL_MAX))
	{
		pm_fail(st, PM_ERR_OPTION, "level must be between %g and %g, not %g", PM_LEVEL_MIN, PM_LEVEL_MAX, level);
		pm_hint(st, "0.9 asks for an interval that holds 9 of 10 measurements.");
		return PM_ERR_OPTION;
	}
	judge_words(t, &s->query, &c);
	judge_operators(novelty, work, &c);
	judge_step(t, work, &c);
	v->in_domain = c.len == 0;
	if (framework != NULL && framework[0] != '\0' && find_framework(t, framework) < 0)
		add_cause(&c, PM_CAUSE_FRAMEWORK_NOT_SEEN, "framework \"%.*s\" was not in training", pm_shown(framework), framework);
	v->causes = c.found;
	set_interval(find_group(t, &s->query), step_ms, level, v);
	return PM_OK;
}

pm_code
pm_trust_judge(const pm_trust *t, const pm_sample *s, double step_ms, double level,
			   pm_arena *scratch, pm_verdict *v, pm_status *st)
{
	const uint8_t *novelty;
	pm_tokens	work;
	pm_code		rc;

	if ((rc = pm_tokens_build_work(s->skeleton, &s->query, scratch, &work, st)) != PM_OK ||
		(rc = pm_trust_prepare(t, s, scratch, scratch, &novelty, st)) != PM_OK)
		return rc;
	return pm_trust_judge_work(t, s, novelty, &work, step_ms, level, v, st);
}

/* ---- storing ---- */

static const pm_names optimizers = {"optimizer", PM_N_OPTIMIZERS, pm_optimizer_name};

static void
save_lists(const pm_trust *t, pm_buffer *b)
{
	pm_names_save(pm_list_here(PM_LIST_DTYPE), b);
	pm_names_save(pm_list_here(PM_LIST_LAYOUT), b);
	pm_put_u32(b, (uint32_t) t->sizes.n);
	for (int k = 0; k < t->sizes.n; k++)
		pm_put_text(b, size_names[t->sizes.here != NULL ? t->sizes.here[k] : k]);
	pm_put_u32(b, t->knows_optimizers);
	pm_named_save(&optimizers, t->optimizers, b);
}

static void
save_words(const pm_trust *t, pm_buffer *b)
{
	pm_put_u32(b, (uint32_t) t->n_gpus);
	for (int i = 0; i < t->n_gpus; i++)
	{
		const device *g = &t->gpus[i];

		pm_put_text(b, g->name);
		pm_put_f64(b, g->min_batch);
		pm_put_f64(b, g->max_batch);
		pm_put_u32(b, (uint32_t) g->structures);
		for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
			for (int layout = 0; layout < PM_N_LAYOUTS; layout++)
				pm_put_u32(b, (uint32_t) g->used[dtype][layout]);
	}
	pm_put_u32(b, (uint32_t) t->n_frameworks);
	for (int i = 0; i < t->n_frameworks; i++)
	{
		pm_put_text(b, t->frameworks[i].name);
		pm_put_u32(b, (uint32_t) t->frameworks[i].rows);
	}
}

static void
save_types(const pm_trust *t, pm_buffer *b)
{
	pm_put_u32(b, (uint32_t) t->n_types);
	for (int i = 0; i < t->n_types; i++)
	{
		const op_type *type = &t->types[i];

		pm_put_u32(b, type->id >= 0);
		pm_put_text(b, type->name);
		pm_put_u32(b, (uint32_t) type->n);
		pm_put_reals(b, type->sizes, (size_t) type->n * t->sizes.n);
	}
}

void
pm_trust_save(const pm_trust *t, pm_buffer *b)
{
	save_lists(t, b);
	save_words(t, b);
	save_types(t, b);
	pm_put_f64(b, t->min_step);
	pm_put_f64(b, t->max_step);
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
			pm_put_f64(b, g->u[k]);
			pm_put_f64(b, g->w[k]);
		}
	}
}

/* A value that must not be below another. */
static double
get_above(pm_reader *r, double least)
{
	double		v = pm_get_f64(r);

	if (!(v >= least))
		r->failed = true;
	return r->failed ? least : v;
}

/* Lists that the numbers below are of. */
typedef struct loaded
{
	pm_translation dtypes;
	pm_translation layouts;
} loaded;

static int
here(const pm_translation *t, int i)
{
	return t->here != NULL ? t->here[i] : i;
}

static const pm_names sizes_1 = {"size", N_SIZES, size_names};	/* as 0.1.0 had them */

static pm_code
load_lists_1(pm_trust *t, loaded *l, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	if (pm_get_u32(r, INT32_MAX) != (uint32_t) sizes_1.n)
		r->failed = true;
	if ((rc = pm_names_match(&sizes, &sizes_1, a, &t->sizes, st)) == PM_OK &&
		(rc = pm_names_match(pm_list_here(PM_LIST_DTYPE), pm_list_format1(PM_LIST_DTYPE), a, &l->dtypes, st)) == PM_OK)
		rc = pm_names_match(pm_list_here(PM_LIST_LAYOUT), pm_list_format1(PM_LIST_LAYOUT), a, &l->layouts, st);
	return rc;
}

static pm_code
load_lists(pm_trust *t, loaded *l, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	if (r->format == 1)
		return load_lists_1(t, l, r, a, st);
	if ((rc = pm_names_load(pm_list_here(PM_LIST_DTYPE), r, a, &l->dtypes, st)) != PM_OK ||
		(rc = pm_names_load(pm_list_here(PM_LIST_LAYOUT), r, a, &l->layouts, st)) != PM_OK ||
		(rc = pm_names_load(&sizes, r, a, &t->sizes, st)) != PM_OK)
		return rc;
	t->knows_optimizers = pm_get_u32(r, 1);
	return pm_named_load(&optimizers, t->optimizers, r, a, st);
}

static void
load_device(pm_reader *r, const loaded *l, pm_arena *a, device *g)
{
	g->name = pm_get_text(r, a);
	g->min_batch = get_above(r, 1);
	g->max_batch = get_above(r, g->min_batch);
	g->structures = (int) pm_get_u32(r, INT32_MAX);
	for (int dtype = 0; dtype < l->dtypes.n; dtype++)
		for (int layout = 0; layout < l->layouts.n; layout++)
		{
			int			rows = (int) pm_get_u32(r, INT32_MAX / (PM_N_DTYPES * PM_N_LAYOUTS));

			g->used[here(&l->dtypes, dtype)][here(&l->layouts, layout)] = rows;
			g->rows += rows;
		}
}

static pm_code
load_words(pm_trust *t, const loaded *l, pm_reader *r, pm_arena *a, pm_status *st)
{
	bool		memory = true;

	t->n_gpus = (int) pm_get_u32(r, MAX_NAMES);
	t->gpus = PM_NEW(a, device, t->n_gpus);
	for (int i = 0; i < t->n_gpus && t->gpus && memory && !r->failed; i++)
	{
		load_device(r, l, a, &t->gpus[i]);
		memory = t->gpus[i].name != NULL || r->failed;
	}
	t->n_frameworks = (int) pm_get_u32(r, MAX_NAMES);
	t->frameworks = PM_NEW(a, framework, t->n_frameworks);
	for (int i = 0; i < t->n_frameworks && t->frameworks && memory && !r->failed; i++)
	{
		t->frameworks[i].name = pm_get_text(r, a);
		t->frameworks[i].rows = (int) pm_get_u32(r, INT32_MAX);
		memory = t->frameworks[i].name != NULL || r->failed;
	}
	return !memory || !t->gpus || !t->frameworks ? pm_no_memory(st, a) : PM_OK;
}

/* Types are found by name, so that a catalogue that grows does not shift them; one that it lost is never asked for. */
static pm_code
load_types(pm_trust *t, pm_reader *r, pm_arena *a, pm_status *st)
{
	t->n_types = (int) pm_get_u32(r, MAX_NAMES);
	t->types = PM_NEW(a, op_type, t->n_types);
	t->type_at = PM_NEW(a, int32_t, pm_type_count());
	if (!t->types || !t->type_at)
		return pm_no_memory(st, a);
	for (int i = 0; i < pm_type_count(); i++)
		t->type_at[i] = -1;
	for (int i = 0; i < t->n_types && !r->failed; i++)
	{
		op_type    *type = &t->types[i];
		bool		known = pm_get_u32(r, 1) != 0;

		type->name = pm_get_text(r, a);
		if (type->name == NULL)
			return r->failed ? PM_OK : pm_no_memory(st, a);
		type->id = known ? pm_type_find(type->name) : -1;
		if (type->id >= 0)
			t->type_at[type->id] = i;
		type->n = (int) pm_get_u32(r, MAX_COVER);
		if ((type->sizes = PM_NEW(a, pm_real, (size_t) type->n * t->sizes.n)) == NULL)
			return pm_no_memory(st, a);
		pm_get_reals(r, type->sizes, (size_t) type->n * t->sizes.n);
	}
	return PM_OK;
}

static pm_code
load_group(const pm_trust *t, const loaded *l, group *g, pm_reader *r, pm_arena *a, pm_status *st)
{
	double		least = -DBL_MAX;
	double		sum = 0;

	g->gpu = (int) pm_get_u32(r, (uint32_t) t->n_gpus) - 1;
	g->layout = (int) pm_get_u32(r, (uint32_t) l->layouts.n) - 1;
	if (g->layout != ANY)
		g->layout = here(&l->layouts, g->layout);
	g->structures = (int) pm_get_u32(r, INT32_MAX);
	g->n = (int) pm_get_u32(r, MAX_POINTS);
	g->u = PM_NEW(a, double, g->n);
	g->w = PM_NEW(a, double, g->n);
	if (!g->u || !g->w)
		return pm_no_memory(st, a);
	for (int k = 0; k < g->n && !r->failed; k++)
	{
		least = g->u[k] = get_above(r, least);
		sum += g->w[k] = get_above(r, DBL_MIN);
	}
	if (g->n < 1 || g->structures < 1 || !(fabs(sum - g->structures) <= 1e-6 * g->structures))
		r->failed = true;
	return PM_OK;
}

pm_code
pm_trust_load(pm_reader *r, pm_arena *a, const pm_trust **trust, pm_status *st)
{
	pm_trust   *t = PM_NEW(a, pm_trust, 1);
	loaded		l;
	pm_code		rc;

	if (!t)
		return pm_no_memory(st, a);
	if ((rc = load_lists(t, &l, r, a, st)) != PM_OK ||
		(rc = load_words(t, &l, r, a, st)) != PM_OK || (rc = load_types(t, r, a, st)) != PM_OK)
		return rc;
	t->min_step = pm_get_f64(r);
	t->max_step = get_above(r, t->min_step);
	t->n_groups = (int) pm_get_u32(r, (uint32_t) (t->n_gpus * (PM_N_LAYOUTS + 1) + 1));
	t->groups = PM_NEW(a, group, t->n_groups);
	if (!t->groups)
		return pm_no_memory(st, a);
	for (int i = 0; i < t->n_groups && rc == PM_OK && !r->failed; i++)
		rc = load_group(t, &l, &t->groups[i], r, a, st);
	*trust = t;
	if (rc != PM_OK)
		return rc;
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has a damaged calibration") : PM_OK;
}
