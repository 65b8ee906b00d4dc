/*
 * opclass.c - the predictor kind "opclass": the step as a sum over classes of
 * operators (convolutions by kind), each linear in what its operators load:
 *
 *     step = sum over classes c of  a_c compute_c + b_c memory_c + l_c launches_c
 *            + u update + k                                      all coefficients >= 0
 *
 * and then the same with the types of operators that the training rows have in
 * place of the classes; the classes serve types that these rows do not have.
 *
 * compute and memory are times at the device's peaks (tokens.h), so that a and
 * b are the inverse of the share of the peak that is reached, and carry over
 * to other devices.  docs/rivals.md tells where the idea comes from.
 *
 * Rows are divided by their step: the error is relative.  Coefficients are
 * fitted for all rows, pulled towards usual ones, then for each layout and
 * dtype, then for each device and framework of these, each pulled towards the
 * one above it; a prediction takes the closest that there is.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "features/inputs.h"
#include "kinds/kind.h"
#include "nn/nnls.h"

/* Columns: three of each group of operators, then these two. */
enum
{
	COMPUTE, MEMORY, LAUNCH, N_TERMS
};

#define UPDATE(groups)		(N_TERMS * (groups))	/* factor on the optimizer's roofline time */
#define CONSTANT(groups)	(UPDATE(groups) + 1)	/* ms */
#define N_COEFS(groups)		(UPDATE(groups) + 2)

/* The classes, the kinds of convolutions, and of each of these the special ones. */
#define N_CLASSES	(PM_N_GROUPS + PM_N_CONV_KINDS)
#define MAX_TYPES	1024
#define SPECIAL		" special"	/* behind the name of its kind */

/* Where nothing is known: half of the peak rate, two thirds of the bandwidth, a usual launch. */
static const double usual[N_TERMS] = {2, 1.5, 3};	/* -, -, us */

#define USUAL_UPDATE	1.5
#define USUAL_CONSTANT	1.0		/* ms; how far it may go: it is pulled to 0 */
#define LEAST_MS		1e-3	/* a step is at least a launch */

#define REWEIGHTINGS	12
#define SMALL_ERROR		0.02	/* relative; below, the absolute error is smoothed */

#define MAX_STRATA		1024	/* further ones do with the wider */
#define ANY				(-1)

enum
{
	OPT_PULL, OPT_LOSS, OPT_BY_TYPE, OPT_BY_DEVICE, OPT_CALIBRATION, OPT_SEED, N_OPTIONS
};

enum
{
	LOSS_ABSOLUTE, LOSS_SQUARED
};

static const pm_option options[N_OPTIONS] = {
	[OPT_PULL] = {"pull", PM_OPT_REAL, 1e-4, 1e-9, 1e6, NULL,
	"price of a coefficient's distance from where it is pulled, in squared relative errors of one row"},
	[OPT_LOSS] = {"loss", PM_OPT_CHOICE, LOSS_ABSOLUTE, 0, 1, "absolute|squared",
	"relative error to minimise: its absolute value, or its square"},
	[OPT_BY_TYPE] = {"by_type", PM_OPT_BOOL, 1, 0, 1, NULL,
	"coefficients for each type of operator seen; those of its class only where it was not"},
	[OPT_BY_DEVICE] = {"by_device", PM_OPT_BOOL, 1, 0, 1, NULL,
	"coefficients also for each gpu and framework seen, pulled towards the common ones"},
	[OPT_CALIBRATION] = PM_OPTION_CALIBRATION,
	[OPT_SEED] = {"seed", PM_OPT_INT, 42, 0, 2147483647, NULL, "not used: nothing is random"},
};

/* Coefficients for a part of the rows. */
typedef struct stratum
{
	int			rows;			/* trained on */
	int			layout;			/* or ANY */
	int			dtype;			/* or ANY */
	const char *gpu;			/* NULL: any */
	const char *framework;		/* NULL: any */
	double	   *by_class;		/* [N_COEFS(N_CLASSES)] factors; us a launch; ms */
	double	   *by_type;		/* [N_COEFS(n_types)] */
} stratum;

typedef struct opclass
{
	int			n_types;		/* that have coefficients of their own */
	const char **types;			/* [n_types] names, so that a catalogue that grows does not shift them */
	int32_t    *slot;			/* [type_count()] place among the types, -1: its class has to do */
	int			n;				/* strata, the wider before the narrower */
	stratum    *strata;
} opclass;

/* ---- what the coefficients multiply ---- */

/*
 * Whether vendors' libraries have other kernels for this convolution than for
 * most of its kind: grouped ones that run on matrix units, others of a wide
 * window (op_geometry.h).
 */
static bool
is_special(const pm_tokens *t, int token)
{
	bool		grouped = t->type[token] == pm_type_id(PM_OP_UNKNOWN, PM_CONV_GROUPED);

	return t->slots[(size_t) token * PM_N_SLOTS + (grouped ? PM_HAS_GROUP_FAST : PM_HAS_WIDE_WINDOW)] != 0;
}

static int
class_of(const pm_tokens *t, int token)
{
	int			group = pm_token_group(t, token);

	return group + (group >= PM_N_CLASSES && is_special(t, token) ? PM_N_CONV_KINDS : 0);
}

/* Types of tokens, and behind them the special convolutions by kind. */
static int
type_count(void)
{
	return pm_type_count() + PM_N_CONV_KINDS;
}

static int
type_of(const pm_tokens *t, int token)
{
	bool		conv = t->type[token] >= pm_op_count();

	return t->type[token] + (conv && is_special(t, token) ? PM_N_CONV_KINDS : 0);
}

/* "Relu", "Conv/grouped", "Conv/grouped special"; in buf, of 64 bytes. */
static const char *
type_name(int type, char *buf)
{
	bool		special = type >= pm_type_count();
	char		plain[64];

	snprintf(buf, 64, "%.50s%s", pm_type_name(type - (special ? PM_N_CONV_KINDS : 0), plain), special ? SPECIAL : "");
	return buf;
}

/* -1 when not known. */
static int
type_find(const char *name)
{
	char		buf[64];

	for (int type = 0; type < type_count(); type++)
		if (strcmp(type_name(type, buf), name) == 0)
			return type;
	return -1;
}

/* The load of one copy of a token in ms and thousands of launches; *update: its optimizer's time. */
static void
load_of(const pm_tokens *t, int i, double *v, double *update)
{
	*update = t->phase_us[3 * i + 2] / 1000;
	v[COMPUTE] = t->compute_us[i] / 1000;
	/* the update is memory-bound on every device: its traffic is counted once, and not here */
	v[MEMORY] = fmax(t->memory_us[i] / 1000 - *update, 0);
	v[LAUNCH] = t->kernels[i] / 1000;
}

/* Loads of a row, all copies, in columns by class or by type (m->slot). */
static void
aggregate(const opclass *m, bool by_type, const pm_tokens *t, double *x)
{
	int			groups = by_type ? m->n_types : N_CLASSES;

	memset(x, 0, N_COEFS(groups) * sizeof(double));
	for (int i = 0; i < t->n; i++)
	{
		double		copies = t->skeleton->copies[i];
		double	   *at = x + N_TERMS * (by_type ? m->slot[type_of(t, i)] : class_of(t, i));
		double		v[N_TERMS];
		double		update;

		load_of(t, i, v, &update);
		for (int k = 0; k < N_TERMS; k++)
			at[k] += copies * v[k];
		x[UPDATE(groups)] += copies * update;
	}
	x[CONSTANT(groups)] = 1;
}

/* ---- strata ---- */

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool
covers(const stratum *s, const pm_question *q)
{
	return (s->layout == ANY || s->layout == (int) q->layout) && (s->dtype == ANY || s->dtype == (int) q->dtype) &&
		(s->gpu == NULL || (same_text(s->gpu, q->gpu->name) && same_text(s->framework, q->framework)));
}

/* The narrowest that covers q: wider ones stand before narrower ones, and the first covers everything. */
static const stratum *
closest(const opclass *m, const pm_question *q)
{
	int			i = m->n - 1;

	while (i > 0 && !covers(&m->strata[i], q))
		i--;
	return &m->strata[i];
}

static bool
has_stratum(const opclass *m, const stratum *s)
{
	for (int i = 0; i < m->n; i++)
		if (m->strata[i].layout == s->layout && m->strata[i].dtype == s->dtype &&
			same_text(m->strata[i].gpu, s->gpu) && same_text(m->strata[i].framework, s->framework))
			return true;
	return false;
}

/* The one of level 0 (everything), 1 (layout and dtype) or 2 (gpu and framework, too) that q is in. */
static stratum
stratum_of(int level, const pm_question *q)
{
	return (stratum) {
		.layout = level > 0 ? (int) q->layout : ANY, .dtype = level > 0 ? (int) q->dtype : ANY,
		.gpu = level > 1 ? q->gpu->name : NULL, .framework = level > 1 ? q->framework : NULL
	};
}

/* ---- the least squares problem ---- */

/* A row without its zeros: loads divided by the measured step. */
typedef struct sparse
{
	int			n;
	int32_t    *column;
	double	   *value;
} sparse;

typedef struct problem
{
	const pm_dataset *d;
	int			groups;
	const sparse *rows;			/* [d->n] */
	double	   *weight;			/* [d->n] in this round; 0: not in the stratum */
	double		pull;
	bool		absolute;		/* errors, not their squares */
} problem;

/* How far a coefficient may go for the price of one pull. */
static double
spread_of(int groups, int j)
{
	return j == CONSTANT(groups) ? USUAL_CONSTANT : j == UPDATE(groups) ? USUAL_UPDATE : usual[j % N_TERMS];
}

/* Columns come in rising order, so that this fills the upper triangle. */
static void
add_row(double *g, double *h, int n, const sparse *x, double w)
{
	for (int j = 0; j < x->n; j++)
	{
		double	   *row = g + (size_t) x->column[j] * n;
		double		v = w * x->value[j];

		h[x->column[j]] += v;
		for (int k = j; k < x->n; k++)
			row[x->column[k]] += v * x->value[k];
	}
}

/* Coefficients for the present weights, pulled towards start. */
static pm_code
solve(const problem *p, const double *start, double *coef, pm_arena *scratch, pm_status *st)
{
	int			n = N_COEFS(p->groups);
	double	   *g = PM_NEW(scratch, double, (size_t) n * n);
	double	   *h = PM_NEW(scratch, double, n);

	if (!g || !h)
		return pm_no_memory(st, scratch);
	for (int i = 0; i < p->d->n; i++)
	{
		if (i % PM_POLL_EVERY == 0 && pm_stopped(scratch, st))
			return PM_CANCELLED;
		if (p->weight[i] > 0)
			add_row(g, h, n, &p->rows[i], p->weight[i]);
	}
	for (int j = 0; j < n; j++)
	{
		double		spread = spread_of(p->groups, j);
		double		stiffness = p->pull / (spread * spread);

		g[(size_t) j * n + j] += stiffness;
		h[j] += stiffness * start[j];
		for (int k = 0; k < j; k++)
			g[(size_t) j * n + k] = g[(size_t) k * n + j];
	}
	return pm_nnls(g, h, n, coef, scratch, st);
}

static double
relative_error(const sparse *x, const double *coef)
{
	double		sum = -1;

	for (int j = 0; j < x->n; j++)
		sum += x->value[j] * coef[x->column[j]];
	return fabs(sum);
}

/*
 * Weights with which squares count as absolute values where the error now is
 * (iteratively reweighted least squares), scaled to keep their sum, so that
 * the pull stays worth what it was.
 */
static void
reweight(problem *p, const double *coef)
{
	double		before = 0;
	double		after = 0;

	for (int i = 0; i < p->d->n; i++)
		if (p->weight[i] > 0)
		{
			before += p->d->samples[i].weight;
			p->weight[i] = p->d->samples[i].weight / fmax(relative_error(&p->rows[i], coef), SMALL_ERROR);
			after += p->weight[i];
		}
	for (int i = 0; i < p->d->n; i++)
		p->weight[i] *= after > 0 ? before / after : 1;
}

/* Coefficients for the rows that s covers, pulled towards start. */
static pm_code
fit_coefs(problem *p, const stratum *s, const double *start, double *coef, const pm_arena *a, pm_status *st)
{
	pm_code		rc = PM_OK;

	for (int i = 0; i < p->d->n; i++)
		p->weight[i] = covers(s, &p->d->samples[i].query) ? p->d->samples[i].weight : 0;
	for (int round = 0; rc == PM_OK && round < (p->absolute ? REWEIGHTINGS : 1); round++)
	{
		pm_arena	scratch;

		if (round > 0)
			reweight(p, coef);
		pm_arena_init_within(&scratch, a);
		rc = solve(p, start, coef, &scratch, st);
		pm_arena_release(&scratch);
	}
	return rc;
}

static bool
make_sparse(const double *x, int n, double scale, pm_arena *a, sparse *s)
{
	for (int j = 0; j < n; j++)
		s->n += x[j] != 0;
	s->column = PM_NEW(a, int32_t, s->n);
	s->value = PM_NEW(a, double, s->n);
	if (!s->column || !s->value)
		return false;
	for (int j = 0, k = 0; j < n; j++)
		if (x[j] != 0)
		{
			s->column[k] = j;
			s->value[k++] = x[j] * scale;
		}
	return true;
}

/* The rows of d, by class or by type. */
static pm_code
make_problem(problem *p, const opclass *m, bool by_type, const pm_tokens *tokens, pm_arena *a, pm_status *st)
{
	int			n = N_COEFS(by_type ? m->n_types : N_CLASSES);
	double	   *x = PM_NEW(a, double, n);
	sparse	   *rows = PM_NEW(a, sparse, p->d->n);

	p->groups = by_type ? m->n_types : N_CLASSES;
	p->rows = rows;
	if (!x || !rows)
		return pm_no_memory(st, a);
	for (int i = 0; i < p->d->n; i++)
	{
		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		aggregate(m, by_type, &tokens[i], x);
		if (!make_sparse(x, n, 1 / p->d->samples[i].step_ms, a, &rows[i]))
			return pm_no_memory(st, a);
	}
	return PM_OK;
}

/* ---- fitting ---- */

/* Types of the training rows, in the order of the catalogue. */
static pm_code
choose_types(opclass *m, const pm_dataset *d, const pm_tokens *tokens, bool by_type, pm_arena *a, pm_status *st)
{
	int			count = type_count();
	char		buf[64];

	m->slot = PM_NEW(a, int32_t, count);
	m->types = PM_NEW(a, const char *, count);
	if (!m->slot || !m->types)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n && by_type; i++)
		for (int k = 0; k < tokens[i].n; k++)
			m->slot[type_of(&tokens[i], k)] = 1;
	for (int i = 0; i < count; i++)
	{
		const char *name = type_name(i, buf);
		bool		seen = m->slot[i] != 0;

		m->slot[i] = seen ? m->n_types : -1;
		if (seen && !(m->types[m->n_types++] = pm_strdup(a, name, strlen(name))))
			return pm_no_memory(st, a);
	}
	return PM_OK;
}

/* What fitting one stratum after the other needs. */
typedef struct fitting
{
	problem		by_class;
	problem		by_type;
	stratum		usual;			/* stands above the first */
} fitting;

/* Usual coefficients, for the first stratum to be pulled to. */
static void
usual_coefs(int groups, double *coef)
{
	for (int j = 0; j < N_COEFS(groups); j++)
		coef[j] = j == CONSTANT(groups) ? 0 : spread_of(groups, j);
}

static int
rows_of(const pm_dataset *d, const stratum *s)
{
	int			n = 0;

	for (int i = 0; i < d->n; i++)
		n += covers(s, &d->samples[i].query);
	return n;
}

/* Fit s, which q is in, and add it; one that has all the rows of its parent has its coefficients. */
static pm_code
fit_stratum(opclass *m, stratum s, const pm_question *q, fitting *f, pm_arena *a, pm_status *st)
{
	const stratum *parent = m->n > 0 ? closest(m, q) : &f->usual;
	pm_code		rc;

	s.rows = rows_of(f->by_class.d, &s);
	s.gpu = s.gpu ? pm_strdup(a, s.gpu, strlen(s.gpu)) : NULL;
	s.framework = s.framework ? pm_strdup(a, s.framework, strlen(s.framework)) : NULL;
	s.by_class = PM_NEW(a, double, N_COEFS(N_CLASSES));
	s.by_type = PM_NEW(a, double, N_COEFS(m->n_types));
	if (!s.by_class || !s.by_type)
		return pm_no_memory(st, a);
	if (parent->rows == s.rows)
	{
		memcpy(s.by_class, parent->by_class, N_COEFS(N_CLASSES) * sizeof(double));
		memcpy(s.by_type, parent->by_type, N_COEFS(m->n_types) * sizeof(double));
		m->strata[m->n++] = s;
		return PM_OK;
	}
	rc = fit_coefs(&f->by_class, &s, parent->by_class, s.by_class, a, st);
	if (rc == PM_OK && m->n_types > 0)
		rc = fit_coefs(&f->by_type, &s, parent->by_type, s.by_type, a, st);
	m->strata[m->n++] = s;
	return rc;
}

static pm_code
make_fitting(fitting *f, const opclass *m, const pm_tokens *tokens, pm_arena *a, pm_status *st)
{
	pm_code		rc = make_problem(&f->by_class, m, false, tokens, a, st);

	if (rc == PM_OK && m->n_types > 0)
		rc = make_problem(&f->by_type, m, true, tokens, a, st);
	if (rc != PM_OK)
		return rc;
	f->usual.by_class = PM_NEW(a, double, N_COEFS(N_CLASSES));
	f->usual.by_type = PM_NEW(a, double, N_COEFS(m->n_types));
	if (!f->usual.by_class || !f->usual.by_type)
		return pm_no_memory(st, a);
	usual_coefs(N_CLASSES, f->usual.by_class);
	usual_coefs(m->n_types, f->usual.by_type);
	return PM_OK;
}

static pm_code
fit_strata(opclass *m, int levels, fitting *f, pm_arena *a, pm_status *st)
{
	const pm_dataset *d = f->by_class.d;
	pm_code		rc = PM_OK;

	for (int level = 0; level < levels; level++)
		for (int i = 0; rc == PM_OK && i < d->n && m->n < MAX_STRATA; i++)
		{
			const pm_question *q = &d->samples[i].query;
			stratum		s = stratum_of(level, q);

			if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
				rc = PM_CANCELLED;
			else if (!has_stratum(m, &s))
				rc = fit_stratum(m, s, q, f, a, st);
		}
	return rc;
}

/* Strata that d will have at most: their coefficients are what grows with it. */
static double
strata_memory(const pm_dataset *d)
{
	double		n = fmin(1 + 2.0 * d->n, MAX_STRATA);

	return n * sizeof(double) * (N_COEFS(N_CLASSES) + N_COEFS(type_count()));
}

static double
opclass_memory(const pm_options *o, const pm_dataset *d, int threads)
{
	double		n = N_COEFS(type_count());
	double		rows = 0;

	(void) o;
	(void) threads;
	/* by class and by type: a number and its column for each term of each token at the most, and 128 bytes of rounding up */
	for (int i = 0; i < d->n; i++)
		rows += 2 * (sizeof(sparse) + 256 + 12.0 * fmin(N_COEFS(d->samples[i].skeleton->n), n));
	return pm_arena_memory(pm_inputs_memory(d) + rows + d->n * sizeof(double) + strata_memory(d) +
						   MAX_STRATA * (double) sizeof(stratum)) +
		pm_arena_memory(2 * n * n * sizeof(double));
}

static pm_code
opclass_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
			const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	opclass    *m = PM_NEW(a, opclass, 1);
	problem		common = {.d = d, .weight = PM_NEW(a, double, d->n), .pull = p->options.value[OPT_PULL],
		.absolute = p->options.value[OPT_LOSS] == LOSS_ABSOLUTE};
	fitting		f = {.by_class = common, .by_type = common};
	double		started = pm_now();
	pm_tokens  *tokens;
	pm_code		rc;

	(void) seed;
	(void) threads;
	(void) hooks;
	if (!m || !common.weight || !(m->strata = PM_NEW(a, stratum, MAX_STRATA)))
		return pm_no_memory(st, a);
	if ((rc = pm_tokens_of(d, a, &tokens, st)) != PM_OK ||
		(rc = choose_types(m, d, tokens, p->options.value[OPT_BY_TYPE] != 0, a, st)) != PM_OK ||
		(rc = make_fitting(&f, m, tokens, a, st)) != PM_OK ||
		(rc = fit_strata(m, p->options.value[OPT_BY_DEVICE] != 0 ? 3 : 2, &f, a, st)) != PM_OK)
		return rc;
	p->impl = m;
	report->seconds = pm_now() - started;
	report->n_params = (int64_t) m->n * (N_COEFS(N_CLASSES) + (m->n_types > 0 ? N_COEFS(m->n_types) : 0));
	return PM_OK;
}

/* ---- predicting ---- */

/* The three coefficients of a token. */
static const double *
coefs_of(const opclass *m, const stratum *s, const pm_tokens *t, int i)
{
	int			slot = m->slot[type_of(t, i)];

	return slot >= 0 ? s->by_type + N_TERMS * slot : s->by_class + N_TERMS * class_of(t, i);
}

/* Time of all copies of a token, and which of its terms is the largest. */
static pm_part
part_of(const pm_tokens *t, int i, const double *coef, double update_factor)
{
	static const char bounds[N_TERMS] = {'c', 'm', 'l'};
	double		v[N_TERMS];
	double		update;
	double		ms;
	int			largest = 0;

	load_of(t, i, v, &update);
	for (int k = 0; k < N_TERMS; k++)
	{
		v[k] *= coef[k];
		if (v[k] > v[largest])
			largest = k;
	}
	ms = v[COMPUTE] + v[MEMORY] + v[LAUNCH] + update_factor * update;
	return (pm_part) {.token = i, .step_ms = t->skeleton->copies[i] * ms, .forward_ms = NAN, .backward_ms = NAN,
		.update_ms = NAN, .bound = ms > 0 ? bounds[largest] : '-'};
}

/* ms of a step beside its operators. */
static double
rest_of(const double *tail)
{
	return fmax(tail[1], LEAST_MS);
}

static const double *
tail_of(const opclass *m, const stratum *in)
{
	return m->n_types > 0 ? in->by_type + UPDATE(m->n_types) : in->by_class + UPDATE(N_CLASSES);
}

static pm_code
opclass_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
				double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	const opclass *m = p->impl;
	const stratum *in = closest(m, &s->query);
	const double *tail = tail_of(m, in);
	double		rest = rest_of(tail);
	pm_tokens	t;
	pm_code		rc = pm_tokens_build(s->skeleton, &s->query, scratch, &t, st);

	if (rc != PM_OK)
		return rc;
	*step_ms = rest;
	for (int i = 0; i < t.n; i++)
	{
		pm_part		part = part_of(&t, i, coefs_of(m, in, &t, i), tail[0]);

		*step_ms += part.step_ms;
		if (parts != NULL)
			parts[i] = part;
	}
	if (parts == NULL)
		return PM_OK;
	parts[t.n] = (pm_part) {.token = -1, .step_ms = rest, .forward_ms = NAN, .backward_ms = NAN,
		.update_ms = NAN, .bound = '-'};
	*n_parts = t.n + 1;
	return PM_OK;
}

/* Which coefficients the tokens of a question have, whatever the batch. */
typedef struct prepared
{
	const double *tail;			/* of the stratum */
	const double **coefs;		/* [n] of each token */
} prepared;

static pm_code
opclass_prepare(const pm_predictor *p, const pm_sample *s, const pm_tokens *t, pm_arena *a, pm_arena *scratch,
				void **state, pm_status *st)
{
	const opclass *m = p->impl;
	const stratum *in = closest(m, &s->query);
	prepared   *x = PM_NEW(a, prepared, 1);

	(void) scratch;
	if (!x || !(x->coefs = PM_NEW(a, const double *, t->n)))
		return pm_no_memory(st, a);
	x->tail = tail_of(m, in);
	for (int i = 0; i < t->n; i++)
		x->coefs[i] = coefs_of(m, in, t, i);
	*state = x;
	return PM_OK;
}

static double
opclass_predict_prepared(const pm_predictor *p, const void *state, const pm_tokens *work)
{
	const prepared *x = state;
	double		ms = rest_of(x->tail);

	(void) p;
	for (int i = 0; i < work->n; i++)
		ms += part_of(work, i, x->coefs[i], x->tail[0]).step_ms;
	return ms;
}

/* ---- storing ---- */

static void
put_coefs(pm_buffer *b, const double *coef, int n)
{
	for (int j = 0; j < n; j++)
		pm_put_f64(b, coef[j]);
}

/* Groups of the predictor's lists: classes, kinds of convolutions, and the special ones of each kind. */
static int
count_classes(const pm_schema *s)
{
	return s->list[PM_LIST_CLASS].n + 2 * s->list[PM_LIST_CONV_KIND].n;
}

/* Place here of the i-th of them. */
static int
class_here(const pm_schema *s, int i)
{
	int			kinds = s->list[PM_LIST_CONV_KIND].n;
	int			k = i - s->list[PM_LIST_CLASS].n;

	if (k < 0)
		return pm_here(s, PM_LIST_CLASS, i);
	return PM_N_CLASSES + (k >= kinds ? PM_N_CONV_KINDS : 0) + pm_here(s, PM_LIST_CONV_KIND, k % kinds);
}

/* Coefficients of the classes, in the order of the predictor's lists. */
static void
put_class_coefs(pm_buffer *b, const pm_schema *s, const double *coef)
{
	for (int i = 0; i < count_classes(s); i++)
		put_coefs(b, coef + N_TERMS * class_here(s, i), N_TERMS);
	put_coefs(b, coef + UPDATE(N_CLASSES), N_COEFS(N_CLASSES) - UPDATE(N_CLASSES));
}

static void
save_stratum(const opclass *m, const stratum *s, const pm_schema *schema, pm_buffer *b)
{
	/* 0 stands for any, and so does an empty name */
	pm_put_u32(b, s->layout == ANY ? 0 : (uint32_t) pm_there(schema, PM_LIST_LAYOUT, s->layout) + 1);
	pm_put_u32(b, s->dtype == ANY ? 0 : (uint32_t) pm_there(schema, PM_LIST_DTYPE, s->dtype) + 1);
	pm_put_text(b, s->gpu ? s->gpu : "");
	pm_put_text(b, s->framework ? s->framework : "");
	put_class_coefs(b, schema, s->by_class);
	put_coefs(b, s->by_type, N_COEFS(m->n_types));
}

static pm_code
opclass_save(const pm_predictor *p, pm_buffer *b, pm_status *st)
{
	const pm_schema *s = pm_predictor_schema(p);
	const opclass *m = p->impl;

	(void) st;
	pm_put_u32(b, (uint32_t) count_classes(s));
	pm_put_u32(b, (uint32_t) m->n_types);
	for (int i = 0; i < m->n_types; i++)
		pm_put_text(b, m->types[i]);
	pm_put_u32(b, (uint32_t) m->n);
	for (int i = 0; i < m->n; i++)
		save_stratum(m, &m->strata[i], s, b);
	return PM_OK;
}

/* Coefficients are finite and not negative. */
static void
get_coefs(pm_reader *r, double *coef, int n)
{
	for (int j = 0; j < n; j++)
	{
		coef[j] = pm_get_f64(r);
		if (coef[j] < 0)
			r->failed = true;
	}
}

/* Classes that the predictor was trained before are as operators that are not known. */
static void
get_class_coefs(pm_reader *r, const pm_schema *s, double *coef)
{
	bool		known[N_CLASSES] = {false};

	for (int i = 0; i < count_classes(s); i++)
	{
		get_coefs(r, coef + N_TERMS * class_here(s, i), N_TERMS);
		known[class_here(s, i)] = true;
	}
	get_coefs(r, coef + UPDATE(N_CLASSES), N_COEFS(N_CLASSES) - UPDATE(N_CLASSES));
	for (int i = 0; i < N_CLASSES; i++)
		if (!known[i])
			memcpy(coef + N_TERMS * i, coef + N_TERMS * PM_CLASS_MOVE, N_TERMS * sizeof(double));
}

/* ANY, or the place here of a name that is stored by its place in a list, plus 1. */
static int
get_place(pm_reader *r, const pm_schema *s, pm_list_id list)
{
	int			stored = (int) pm_get_u32(r, (uint32_t) s->list[list].n);

	return stored == 0 ? ANY : pm_here(s, list, stored - 1);
}

static pm_code
load_stratum(const opclass *m, const pm_schema *schema, stratum *s, pm_reader *r, pm_arena *a, pm_status *st)
{
	s->layout = get_place(r, schema, PM_LIST_LAYOUT);
	s->dtype = get_place(r, schema, PM_LIST_DTYPE);
	s->gpu = pm_get_text(r, a);
	s->framework = pm_get_text(r, a);
	s->by_class = PM_NEW(a, double, N_COEFS(N_CLASSES));
	s->by_type = PM_NEW(a, double, N_COEFS(m->n_types));
	if (!r->failed && (!s->gpu || !s->framework || !s->by_class || !s->by_type))
		return pm_no_memory(st, a);
	if (r->failed)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged coefficients");
	s->gpu = *s->gpu ? s->gpu : NULL;
	s->framework = *s->framework ? s->framework : NULL;
	get_class_coefs(r, schema, s->by_class);
	get_coefs(r, s->by_type, N_COEFS(m->n_types));
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged coefficients") : PM_OK;
}

/* The types with coefficients of their own; those that this library does not know any more are not asked for. */
static pm_code
load_types(opclass *m, pm_reader *r, pm_arena *a, pm_status *st)
{
	m->n_types = (int) pm_get_u32(r, MAX_TYPES);
	m->types = PM_NEW(a, const char *, m->n_types);
	m->slot = PM_NEW(a, int32_t, type_count());
	if (!m->types || !m->slot)
		return pm_no_memory(st, a);
	for (int i = 0; i < type_count(); i++)
		m->slot[i] = -1;
	for (int i = 0; i < m->n_types; i++)
	{
		int			type;

		m->types[i] = pm_get_text(r, a);
		if (r->failed)
			return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged operator types");
		if (!m->types[i])
			return pm_no_memory(st, a);
		if ((type = type_find(m->types[i])) >= 0)
			m->slot[type] = i;
	}
	return PM_OK;
}

static pm_code
opclass_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	const pm_schema *s = pm_predictor_schema(p);
	opclass    *m = PM_NEW(a, opclass, 1);
	pm_code		rc;

	if (!m)
		return pm_no_memory(st, a);
	if (pm_get_u32(r, INT32_MAX) != (uint32_t) count_classes(s))
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged coefficients");
	if ((rc = load_types(m, r, a, st)) != PM_OK)
		return rc;
	m->n = (int) pm_get_u32(r, MAX_STRATA);
	if (m->n == 0)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged coefficients");
	if (!(m->strata = PM_NEW(a, stratum, m->n)))
		return pm_no_memory(st, a);
	for (int i = 0; i < m->n && rc == PM_OK; i++)
		rc = load_stratum(m, s, &m->strata[i], r, a, st);
	p->impl = m;
	return rc;
}

const pm_kind pm_kind_opclass = {
	.name = "opclass",
	.summary = "non-negative sum of arithmetic, traffic and launches of each class and type of operators",
	.options = options,
	.n_options = PM_N_OPTIONS(options),
	.min_samples = 10,
	.quantities = PM_LEARNS(PM_STEP_MS),
	.memory = opclass_memory,
	.fit = opclass_fit,
	.predict = opclass_predict,
	.prepare = opclass_prepare,
	.predict_prepared = opclass_predict_prepared,
	.save = opclass_save,
	.load = opclass_load
};
