/*
 * seer.c - the predictor kind "seer": a formula from the data sheet, with a
 * dozen constants that say what share of the sheet is reached.
 *
 * Each phase of an operator (forward, backward, update) is limited by
 * arithmetic, by memory, or by neither, when it is too small for the device:
 *
 *     t = max(compute, memory) + launches LAUNCH
 *     compute = padded FLOPs / (peak rate depth fill)        depth = K / (K + DEPTH)
 *     memory = bytes / (bandwidth share fill)                fill = blocks / (blocks + FILL)
 *
 *     step = sum t + CONSTANT
 *
 * Padding and blocks (a multiprocessor) are geometry; rate and share are
 * constants for the kind of operator.  docs/rivals.md has all formulas and their
 * source.
 *
 * The constants are the same for all devices and dtypes; each layout that the
 * training rows have gets its own set, pulled towards that of all rows.
 */
#include <math.h>
#include <string.h>

#include "nn/solve.h"
#include "features/inputs.h"
#include "kinds/kind.h"

/* All are positive and fitted as logarithms. */
enum
{
	RATE_MATRIX,				/* share of the peak: matrix products and 1x1 convolutions, on matrix units */
	RATE_CONV,					/* other convolutions on matrix units */
	RATE_PLAIN,					/* everything else that computes */
	RATE_GROUPED,				/* grouped convolutions that libraries have no kernel on matrix units for */
	RATE_DEPTHWISE,				/* depthwise convolutions */
	SHARE_STREAM,				/* share of the bandwidth: elementwise, pooling, copies, updates */
	SHARE_NORM,					/* normalisation, softmax: statistics make them read more than once */
	SHARE_PRODUCT,				/* convolutions and matrix products */
	DEPTH,						/* inner dimension of a product at half of its rate */
	FILL,						/* blocks a multiprocessor at half of the rate */
	LAUNCH,						/* us */
	CONSTANT,					/* ms a step */
	N_CONSTANTS
};

/* Where nothing is known; what the fit starts from and is pulled to. */
static const double usual[N_CONSTANTS] = {
	[RATE_MATRIX] = 0.6, [RATE_CONV] = 0.6, [RATE_PLAIN] = 0.6, [RATE_GROUPED] = 0.2, [RATE_DEPTHWISE] = 0.2,
	[SHARE_STREAM] = 0.7, [SHARE_NORM] = 0.7, [SHARE_PRODUCT] = 0.5,
	[DEPTH] = 32, [FILL] = 0.5, [LAUNCH] = 5, [CONSTANT] = 0.5
};

#define VECTOR			8		/* matrix units take inner and outer dimensions in steps of this */
#define BLOCK_ELEMENTS	1024	/* of other operators, that one block computes */

#define ITERATIONS		60
#define SMALL_ERROR		0.05	/* of ln(predicted/measured); below, the absolute error is smoothed */
#define LEAST_GAIN		1e-5	/* of the loss, to go on */
#define MAX_DAMPING		1e8
#define MAX_STEP		1.0		/* of a logarithm */

enum
{
	OPT_PULL, OPT_MAX_ROWS, OPT_CALIBRATION, OPT_SEED, N_OPTIONS
};

static const pm_option options[N_OPTIONS] = {
	[OPT_PULL] = {"pull", PM_OPT_REAL, 1e-3, 1e-9, 1e6, NULL,
	"price of a constant's factor of e from where it is pulled, in squared logarithmic errors of one row"},
	[OPT_MAX_ROWS] = {"max_rows", PM_OPT_INT, 2000, 10, 1000000, NULL,
	"rows to fit to at most, taken evenly: a dozen constants do not need more"},
	[OPT_CALIBRATION] = PM_OPTION_CALIBRATION,
	[OPT_SEED] = {"seed", PM_OPT_INT, 42, 0, 2147483647, NULL, "not used: nothing is random"},
};

static const char *const names[N_CONSTANTS] = {
	[RATE_MATRIX] = "rate_matrix", [RATE_CONV] = "rate_conv", [RATE_PLAIN] = "rate_plain", [RATE_GROUPED] = "rate_grouped",
	[RATE_DEPTHWISE] = "rate_depthwise", [SHARE_STREAM] = "share_stream", [SHARE_NORM] = "share_norm",
	[SHARE_PRODUCT] = "share_product", [DEPTH] = "depth", [FILL] = "fill", [LAUNCH] = "launch", [CONSTANT] = "constant"
};
static const pm_names constant_names = {"constant", N_CONSTANTS, names};

typedef struct seer
{
	double		layout[PM_N_LAYOUTS][N_CONSTANTS];
} seer;

/* ---- the formula ---- */

/* One phase of all copies of an operator: what does not depend on the constants. */
typedef struct phase
{
	uint8_t		rate;			/* constant that divides compute */
	uint8_t		share;			/* constant that divides memory */
	double		compute;		/* us at peak, padding included, one copy */
	double		memory;			/* us at peak, one copy */
	double		launches;		/* one copy */
	double		depth;			/* inner dimension; 0: not a product */
	double		blocks;			/* a multiprocessor; infinite when the sheet does not tell how many it has */
	double		copies;
} phase;

/* us of all copies, and how they divide: the larger of compute and memory, the other of them 0, and launches. */
typedef struct cost
{
	double		compute;
	double		memory;
	double		launch;
} cost;

static cost
cost_of(const phase *p, const double *c)
{
	double		fill = 1 + c[FILL] / p->blocks;
	double		depth = p->depth > 0 ? 1 + c[DEPTH] / p->depth : 1;
	double		compute = p->copies * p->compute * depth * fill / c[p->rate];
	double		memory = p->copies * p->memory * fill / c[p->share];
	bool		arithmetic = compute >= memory;

	return (cost) {
		.compute = arithmetic ? compute : 0, .memory = arithmetic ? 0 : memory,
		.launch = p->copies * p->launches * c[LAUNCH]
	};
}

/* slope[j] += d us / d ln c[j] */
static void
add_slopes(const phase *p, const double *c, const cost *k, double *slope)
{
	double		device = k->compute + k->memory;

	slope[p->rate] -= k->compute;
	slope[p->share] -= k->memory;
	slope[LAUNCH] += k->launch;
	slope[FILL] += device * c[FILL] / (p->blocks + c[FILL]);
	if (p->depth > 0)
		slope[DEPTH] += k->compute * c[DEPTH] / (p->depth + c[DEPTH]);
}

/* By how much x grows when brought up to a multiple of step. */
static double
padding(double x, double step)
{
	return x > 0 ? step * ceil(x / step) / x : 1;
}

static int
rate_of(const pm_work *w, const pm_geometry *g)
{
	if (g->conv == PM_CONV_DEPTHWISE)
		return RATE_DEPTHWISE;
	if (g->conv == PM_CONV_GROUPED && !(g->group_narrow > 0))
		return RATE_GROUPED;
	if (!w->tensor_core)
		return RATE_PLAIN;
	return g->conv == PM_CONV_NONE || g->conv == PM_CONV_1X1 ? RATE_MATRIX : RATE_CONV;
}

static int
share_of(int op_class)
{
	switch (op_class)
	{
		case PM_CLASS_CONV:
		case PM_CLASS_GEMM:
			return SHARE_PRODUCT;
		case PM_CLASS_NORM:
		case PM_CLASS_ATTENTION:
			return SHARE_NORM;
		default:
			return SHARE_STREAM;
	}
}

/* What the phases of an operator have in common. */
static phase
common_of(const pm_tokens *t, int i, const pm_question *q, const pm_work *w, const pm_geometry *g)
{
	bool		known = q->gpu->sm_count > 0;	/* a gap is NaN */
	double		tiles = g->gemm_batch * ceil(g->gemm_m / PM_TILE_M) * ceil(g->gemm_n / PM_TILE_N);
	double		blocks = tiles > 0 ? tiles : ceil(w->out_elems / BLOCK_ELEMENTS);

	return (phase) {
		.rate = (uint8_t) rate_of(w, g), .share = (uint8_t) share_of(t->op_class[i]),
		.blocks = known ? fmax(blocks, 1) / q->gpu->sm_count : INFINITY, .depth = g->gemm_k, .copies = t->skeleton->copies[i]
	};
}

/* The three phases of token i. */
static void
phases_of(const pm_tokens *t, int i, const pm_question *q, phase *p)
{
	int			node = t->skeleton->node[i];
	pm_work		w;
	pm_geometry g;
	double		peak;
	double		bandwidth = q->gpu->mem_bw_gbs * 1e9;
	double		pad = 1;

	pm_node_work(q->graph, node, q->batch, q->dtype, q->layout, q->optimizer, &w);
	pm_node_geometry(q->graph, node, q->batch, &g);
	peak = pm_gpu_rate(q->gpu, q->dtype, w.tensor_core, g.conv != PM_CONV_NONE);
	if (w.tensor_core && g.gemm_m > 0)
		pad = padding(g.gemm_k, VECTOR) * padding(g.gemm_n, VECTOR);
	p[0] = p[1] = p[2] = common_of(t, i, q, &w, &g);
	p[0].compute = 1e6 * pad * w.flops_forward / peak;
	p[0].memory = 1e6 * w.bytes_forward / bandwidth;
	p[0].launches = w.kernels_forward;
	p[1].compute = 1e6 * pad * w.flops_backward / peak;
	p[1].memory = 1e6 * w.bytes_backward / bandwidth;
	p[1].launches = w.kernels_backward;
	/* optimizers take all parameters in a few launches: streams without an end */
	p[2] = (phase) {.rate = RATE_PLAIN, .share = SHARE_STREAM, .blocks = INFINITY, .copies = p[0].copies,
		.compute = 1e6 * w.flops_update / pm_gpu_rate(q->gpu, q->dtype, false, false), .memory = 1e6 * w.bytes_update / bandwidth};
}

/* ---- fitting ---- */

/* A row: its phases one after the other. */
typedef struct row
{
	int			n;
	phase	   *phases;
	double		log_ms;
	double		weight;
	int			layout;
} row;

typedef struct problem
{
	int			n;
	row		   *rows;
	double		pull;
	const double *start;		/* [N_CONSTANTS] logarithms that the constants are pulled to */
	double	   *error;			/* [n] ln(predicted/measured) */
	double	   *slope;			/* [n, N_CONSTANTS] */
	double	   *moved;			/* [n] */
	const pm_arena *arena;		/* whose hooks are asked whether to stop */
} problem;

/* Of all rows; slope may be NULL. */
static void
errors(const problem *p, const double *theta, double *error, double *slope)
{
	double		c[N_CONSTANTS];

	for (int j = 0; j < N_CONSTANTS; j++)
		c[j] = exp(theta[j]);
	for (int i = 0; i < p->n; i++)
	{
		double		d[N_CONSTANTS] = {[CONSTANT] = 1000 * c[CONSTANT]};
		double		us = 1000 * c[CONSTANT];

		for (int k = 0; k < p->rows[i].n; k++)
		{
			cost		part = cost_of(&p->rows[i].phases[k], c);

			us += part.compute + part.memory + part.launch;
			if (slope != NULL)
				add_slopes(&p->rows[i].phases[k], c, &part, d);
		}
		error[i] = log(us / 1000) - p->rows[i].log_ms;
		for (int j = 0; j < N_CONSTANTS && slope != NULL; j++)
			slope[(size_t) i * N_CONSTANTS + j] = d[j] / us;
	}
}

/* Errors count as such, very small ones as squares; and what the constants' way costs. */
static double
loss(const problem *p, const double *theta, const double *error)
{
	double		sum = 0;

	for (int i = 0; i < p->n; i++)
	{
		double		e = fabs(error[i]);

		sum += p->rows[i].weight * (e < SMALL_ERROR ? e * e / (2 * SMALL_ERROR) : e - SMALL_ERROR / 2);
	}
	for (int j = 0; j < N_CONSTANTS; j++)
		sum += p->pull * (theta[j] - p->start[j]) * (theta[j] - p->start[j]) / (2 * SMALL_ERROR);
	return sum;
}

/* Gauss and Newton's matrix and right side of loss(). */
static void
normal_equations(const problem *p, const double *theta, double *a, double *b)
{
	memset(a, 0, N_CONSTANTS * N_CONSTANTS * sizeof(double));
	for (int j = 0; j < N_CONSTANTS; j++)
	{
		a[j * N_CONSTANTS + j] = p->pull / SMALL_ERROR;
		b[j] = p->pull / SMALL_ERROR * (p->start[j] - theta[j]);
	}
	for (int i = 0; i < p->n; i++)
	{
		const double *s = p->slope + (size_t) i * N_CONSTANTS;
		double		w = p->rows[i].weight / fmax(fabs(p->error[i]), SMALL_ERROR);

		for (int j = 0; j < N_CONSTANTS; j++)
		{
			b[j] -= w * s[j] * p->error[i];
			for (int k = 0; k < N_CONSTANTS; k++)
				a[j * N_CONSTANTS + k] += w * s[j] * s[k];
		}
	}
}

/*
 * One step of Levenberg and Marquardt from theta; more damping until the loss falls.
 * *gain: by how much of it; 0 where nothing helps any more.
 */
static pm_code
improve(problem *p, double *theta, double *damping, double *gain, pm_status *st)
{
	double		a[N_CONSTANTS * N_CONSTANTS];
	double		b[N_CONSTANTS];
	double		before = loss(p, theta, p->error);

	errors(p, theta, p->error, p->slope);
	normal_equations(p, theta, a, b);
	for (*gain = 0; *gain == 0 && *damping < MAX_DAMPING;)
	{
		double		damped[N_CONSTANTS * N_CONSTANTS];
		double		next[N_CONSTANTS];

		if (pm_stopped(p->arena, st))
			return PM_CANCELLED;
		memcpy(damped, a, sizeof(a));
		memcpy(next, b, sizeof(b));
		for (int j = 0; j < N_CONSTANTS; j++)
			damped[j * N_CONSTANTS + j] *= 1 + *damping;
		if (!pm_solve_spd(damped, next, N_CONSTANTS))
			return pm_fail(st, PM_ERR_DATA, "the measurements are too few or too much alike to fit the constants");
		for (int j = 0; j < N_CONSTANTS; j++)
			next[j] = theta[j] + fmin(fmax(next[j], -MAX_STEP), MAX_STEP);
		errors(p, next, p->moved, NULL);
		*gain = fmax(1 - loss(p, next, p->moved) / before, 0);
		*damping *= *gain > 0 ? 0.1 : 4;
		if (*gain > 0)
		{
			memcpy(theta, next, sizeof(next));
			memcpy(p->error, p->moved, p->n * sizeof(double));
		}
	}
	return PM_OK;
}

/* Constants c for the rows of p, from start and pulled towards it. */
static pm_code
fit_constants(problem *p, const double *start, double *c, pm_status *st)
{
	double		log_start[N_CONSTANTS];
	double		theta[N_CONSTANTS];
	double		damping = 0.01;
	double		gain = 1;
	pm_code		rc = PM_OK;

	for (int j = 0; j < N_CONSTANTS; j++)
		theta[j] = log_start[j] = log(start[j]);
	p->start = log_start;
	errors(p, theta, p->error, NULL);
	for (int i = 0; rc == PM_OK && i < ITERATIONS && gain > LEAST_GAIN; i++)
	{
		rc = improve(p, theta, &damping, &gain, st);
	}
	for (int j = 0; j < N_CONSTANTS; j++)
		c[j] = exp(theta[j]);
	return rc;
}

/* Which of n rows to take when at most max are wanted: evenly spaced ones. */
static bool
is_taken(int i, int n, int max)
{
	return n <= max || (int64_t) (i + 1) * max / n > (int64_t) i * max / n;
}

/* The phases of token i that do something: their number. */
static int
keep_work(const pm_tokens *t, int i, const pm_question *q, phase *kept)
{
	phase		p[3];
	int			n = 0;

	phases_of(t, i, q, p);
	for (int k = 0; k < 3; k++)
		if (p[k].compute + p[k].memory + p[k].launches > 0)
			kept[n++] = p[k];
	return n;
}

static pm_code
make_row(const pm_sample *s, pm_arena *a, row *r, pm_status *st)
{
	pm_arena	scratch;
	pm_tokens	t;
	pm_code		rc;

	pm_arena_init_within(&scratch, a);
	rc = pm_tokens_build(s->skeleton, &s->query, &scratch, &t, st);
	r->phases = PM_NEW(a, phase, 3 * (size_t) s->skeleton->n);
	if (rc == PM_OK && !r->phases)
		rc = pm_no_memory(st, a);
	for (int i = 0; rc == PM_OK && i < t.n; i++)
		r->n += keep_work(&t, i, &s->query, r->phases + r->n);
	pm_arena_release(&scratch);
	r->log_ms = log(s->step_ms);
	r->weight = s->weight;
	r->layout = (int) s->query.layout;
	return rc;
}

static pm_code
make_problem(problem *p, const pm_dataset *d, int max, pm_arena *a, pm_status *st)
{
	size_t		n = d->n < max ? d->n : max;
	pm_code		rc = PM_OK;

	p->rows = PM_NEW(a, row, n);
	p->error = PM_NEW(a, double, n);
	p->moved = PM_NEW(a, double, n);
	p->slope = PM_NEW(a, double, n * N_CONSTANTS);
	if (!p->rows || !p->error || !p->moved || !p->slope)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n && rc == PM_OK; i++)
		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			rc = PM_CANCELLED;
		else if (is_taken(i, d->n, max))
			rc = make_row(&d->samples[i], a, &p->rows[p->n++], st);
	return rc;
}

/* The rows of one layout to the front, and only these: their number. */
static int
choose_layout(const problem *all, int layout, row *rows)
{
	int			n = 0;

	for (int i = 0; i < all->n; i++)
		if (all->rows[i].layout == layout)
			rows[n++] = all->rows[i];
	return n;
}

/* Constants for all rows, then for each layout; where all rows are of one, it has them already. */
static pm_code
fit_layouts(seer *m, const problem *all, pm_arena *a, pm_status *st)
{
	problem		p = *all;
	double		common[N_CONSTANTS];
	pm_code		rc = fit_constants(&p, usual, common, st);

	p.rows = PM_NEW(a, row, all->n);
	if (!p.rows)
		return pm_no_memory(st, a);
	for (int layout = 0; rc == PM_OK && layout < PM_N_LAYOUTS; layout++)
	{
		p.n = choose_layout(all, layout, p.rows);
		memcpy(m->layout[layout], common, sizeof(common));
		if (p.n > 0 && p.n < all->n)
			rc = fit_constants(&p, common, m->layout[layout], st);
	}
	return rc;
}

static double
seer_memory(const pm_options *o, const pm_dataset *d, int threads)
{
	double		bytes = 0;

	(void) threads;
	for (int i = 0; i < d->n; i++)
		if (is_taken(i, d->n, (int) o->value[OPT_MAX_ROWS]))
			bytes += 3 * sizeof(phase) * (double) d->samples[i].skeleton->n + 2 * sizeof(row) +
				(2 + N_CONSTANTS) * sizeof(double) + 64;
	/* and the tokens of one row at a time */
	return pm_arena_memory(bytes) + pm_arena_memory(pm_inputs_memory(d) / fmax(d->n, 1) + 65536);
}

static pm_code
seer_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
		 const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	seer	   *m = PM_NEW(a, seer, 1);
	problem		all = {.pull = p->options.value[OPT_PULL], .arena = a};
	double		started = pm_now();
	pm_code		rc;

	(void) seed;
	(void) threads;
	(void) hooks;
	if (!m)
		return pm_no_memory(st, a);
	if ((rc = make_problem(&all, d, (int) p->options.value[OPT_MAX_ROWS], a, st)) != PM_OK ||
		(rc = fit_layouts(m, &all, a, st)) != PM_OK)
		return rc;
	p->impl = m;
	report->seconds = pm_now() - started;
	report->n_params = PM_N_LAYOUTS * N_CONSTANTS;
	return PM_OK;
}

/* ---- predicting ---- */

/* All copies of token i; bound is that of most of its time. */
static pm_part
part_of(const pm_tokens *t, int i, const pm_question *q, const double *c)
{
	cost		sum = {0};
	phase		p[3];
	double		us;
	char		bound;

	phases_of(t, i, q, p);
	for (int k = 0; k < 3; k++)
	{
		cost		part = cost_of(&p[k], c);

		sum.compute += part.compute;
		sum.memory += part.memory;
		sum.launch += part.launch;
	}
	us = sum.compute + sum.memory + sum.launch;
	bound = sum.launch > fmax(sum.compute, sum.memory) ? 'l' : sum.compute >= sum.memory ? 'c' : 'm';
	return (pm_part) {.token = i, .step_ms = us / 1000, .forward_ms = NAN, .backward_ms = NAN, .update_ms = NAN,
		.bound = us > 0 ? bound : '-'};
}

static pm_code
seer_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
			 double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	const seer *m = p->impl;
	const double *c = m->layout[s->query.layout];
	pm_tokens	t;
	pm_code		rc = pm_tokens_build(s->skeleton, &s->query, scratch, &t, st);

	if (rc != PM_OK)
		return rc;
	*step_ms = c[CONSTANT];
	for (int i = 0; i < t.n; i++)
	{
		pm_part		part = part_of(&t, i, &s->query, c);

		*step_ms += part.step_ms;
		if (parts != NULL)
			parts[i] = part;
	}
	if (parts == NULL)
		return PM_OK;
	parts[t.n] = (pm_part) {.token = -1, .step_ms = c[CONSTANT], .forward_ms = NAN, .backward_ms = NAN,
		.update_ms = NAN, .bound = '-'};
	*n_parts = t.n + 1;
	return PM_OK;
}

/* ---- storing ---- */

static pm_code
seer_save(const pm_predictor *p, pm_buffer *b, pm_status *st)
{
	const pm_schema *s = pm_predictor_schema(p);
	const seer *m = p->impl;

	(void) st;
	for (int i = 0; i < s->list[PM_LIST_LAYOUT].n; i++)
		pm_named_save(&constant_names, m->layout[pm_here(s, PM_LIST_LAYOUT, i)], b);
	return PM_OK;
}

/* Constants of one layout. */
static pm_code
load_constants(double *c, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	for (int j = 0; j < N_CONSTANTS; j++)
		c[j] = NAN;
	rc = pm_named_load(&constant_names, c, r, a, st);
	for (int j = 0; j < N_CONSTANTS; j++)
		if (!(c[j] > 0))		/* they are divided by */
			r->failed = true;
	return rc;
}

static pm_code
seer_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	const pm_schema *s = pm_predictor_schema(p);
	seer	   *m = PM_NEW(a, seer, 1);
	pm_code		rc = PM_OK;

	if (!m)
		return pm_no_memory(st, a);
	for (int i = 0; i < s->list[PM_LIST_LAYOUT].n && rc == PM_OK && !r->failed; i++)
		rc = load_constants(m->layout[pm_here(s, PM_LIST_LAYOUT, i)], r, a, st);
	/* a layout that it was trained before is as the first */
	for (int layout = 0; layout < PM_N_LAYOUTS; layout++)
		if (pm_there(s, PM_LIST_LAYOUT, layout) < 0)
			memcpy(m->layout[layout], m->layout[pm_here(s, PM_LIST_LAYOUT, 0)], sizeof(m->layout[layout]));
	p->impl = m;
	if (rc != PM_OK)
		return rc;
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged constants") : PM_OK;
}

const pm_kind pm_kind_seer = {
	.name = "seer",
	.summary = "analytic: each operator bound by arithmetic, memory or launches, with a dozen fitted constants",
	.options = options,
	.n_options = PM_N_OPTIONS(options),
	.min_samples = 10,
	.quantities = PM_LEARNS(PM_STEP_MS),
	.memory = seer_memory,
	.fit = seer_fit,
	.predict = seer_predict,
	.save = seer_save,
	.load = seer_load
};
