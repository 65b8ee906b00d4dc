/*
 * fit.c - training of the kind "opclass": strata of the rows, and for each of
 * them non-negative least squares.
 */
#include "kinds/opclass/opclass.h"

#include <math.h>
#include <string.h>

#include "nn/nnls.h"

/* Where nothing is known: half of the peak rate, two thirds of the bandwidth, a usual launch. */
static const double usual[PM_N_TERMS] = {2, 1.5, 3};	/* -, -, us */

#define USUAL_UPDATE	1.5
#define USUAL_CONSTANT	1.0		/* ms; how far it may go: it is pulled to 0 */
#define REWEIGHTINGS	12
#define UNLIKE			0.4		/* coefficients that differ from the class's by more than this part are pulled less and less */
#define LEAST_SPREAD	0.25	/* of the usual coefficient: what a class's counts at least as for the price of its types */
#define PULL_START		0.01	/* of the pull to the class in the first round, ... */
#define PULL_ROUNDS		8		/* ... which is whole after these */
#define CARD_ROUNDS		4
#define FORMAT_PULL		0.1		/* price of how far a format is off the others, in squared relative errors of one row; 0.01 to 1 are as good */
#define SMALL_ERROR		0.02	/* relative; below, the absolute error is smoothed */

/* ---- strata ---- */

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool
covers(const pm_stratum *s, const pm_question *q)
{
	return (s->cpu == PM_ANY || s->cpu == q->gpu->is_cpu) && (s->layout == PM_ANY || s->layout == (int) q->layout) &&
		(s->framework == NULL || same_text(s->framework, q->framework)) &&
		(s->gpu == NULL || (same_text(s->gpu, q->gpu->name) && same_text(s->framework, q->framework)));
}

/* The narrowest that covers q: wider ones stand before narrower ones, and the first covers everything. */
const pm_stratum *
pm_opclass_closest(const pm_opclass *m, const pm_question *q)
{
	int			i = m->n - 1;

	while (i > 0 && !covers(&m->strata[i], q))
		i--;
	return &m->strata[i];
}

static bool
has_stratum(const pm_opclass *m, const pm_stratum *s)
{
	for (int i = 0; i < m->n; i++)
		if (m->strata[i].cpu == s->cpu && m->strata[i].layout == s->layout &&
			same_text(m->strata[i].gpu, s->gpu) && same_text(m->strata[i].framework, s->framework))
			return true;
	return false;
}

/* What q is in: everything, its kind of device, also its layout, its framework, its device. */
enum
{
	LEVEL_ALL, LEVEL_DEVICES, LEVEL_LAYOUT, LEVEL_FRAMEWORK, LEVEL_DEVICE, N_LEVELS
};

static pm_stratum
stratum_of(int level, const pm_question *q)
{
	return (pm_stratum) {
		.cpu = level >= LEVEL_DEVICES ? q->gpu->is_cpu : PM_ANY, .layout = level >= LEVEL_LAYOUT ? (int) q->layout : PM_ANY,
		.framework = level >= LEVEL_FRAMEWORK ? q->framework : NULL, .gpu = level >= LEVEL_DEVICE ? q->gpu->name : NULL
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
	const pm_columns *c;
	const char *const *types;	/* [c->groups] names; NULL: columns are of classes */
	pm_card_factors *factors;	/* [d->n] of the cards */
	const sparse *rows;			/* [d->n] */
	double	   *weight;			/* [d->n] in this round; 0: not in the stratum */
	double	   *price;			/* [c->n] of a coefficient's squared distance from its start, in this round */
	double	   *least;			/* [c->n] that coefficients are at least */
	bool		floor;			/* that there are such bounds */
	double		pull;
	double		class_pull;		/* of types to their classes; 0: none */
	bool		absolute;		/* errors, not their squares */
} problem;

/* How far a coefficient may go for the price of one pull. */
static double
spread_of(const pm_columns *c, int j)
{
	if (j >= PM_N_SHARED(c->groups))
		return usual[PM_TERM_COMPUTE];
	return j == PM_TERM_CONSTANT(c->groups) ? USUAL_CONSTANT : j == PM_TERM_UPDATE(c->groups) ? USUAL_UPDATE : usual[j % PM_N_TERMS];
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

/*
 * What products of one format are off where they start is pulled to the mean of
 * what those of all formats are: a format that few rows tell of, or rows that
 * are hardly arithmetic, is known by the others.  g's upper triangle, and h.
 */
static void
add_format_prices(const problem *p, const double *start, double *g, double *h)
{
	const pm_columns *c = p->c;
	double		price = FORMAT_PULL / (usual[PM_TERM_COMPUTE] * usual[PM_TERM_COMPUTE]);

	for (int k = 0; k < c->products; k++)
		for (int f = 0; f < PM_N_DTYPES; f++)
			for (int e = 0; e < PM_N_DTYPES; e++)
			{
				int			row = pm_term_product(c, f, k);
				int			column = pm_term_product(c, e, k);
				double		v = price * ((e == f) - 1.0 / PM_N_DTYPES);

				h[row] += v * start[column];
				if (column >= row)
					g[(size_t) row * c->n + column] += v;
			}
}

/* Coefficients for the present weights, pulled towards start: the least, and what is above. */
static pm_code
solve(const problem *p, const double *start, double *coef, pm_arena *scratch, pm_status *st)
{
	int			n = p->c->n;
	double	   *g = PM_NEW(scratch, double, (size_t) n * n);
	double	   *h = PM_NEW(scratch, double, n);
	pm_code		rc;

	if (!g || !h)
		return pm_no_memory(st, scratch);
	for (int i = 0; i < p->d->n; i++)
	{
		if (i % PM_POLL_EVERY == 0 && pm_stopped(scratch, st))
			return PM_CANCELLED;
		if (p->weight[i] > 0)
			add_row(g, h, n, &p->rows[i], p->weight[i]);
	}
	add_format_prices(p, start, g, h);
	for (int j = 0; j < n; j++)
	{
		g[(size_t) j * n + j] += p->price[j];
		h[j] += p->price[j] * start[j];
		for (int k = 0; k < j; k++)
			g[(size_t) j * n + k] = g[(size_t) k * n + j];
	}
	for (int j = 0; j < n; j++)
		for (int k = 0; k < n; k++)
			h[j] -= g[(size_t) j * n + k] * p->least[k];
	rc = pm_nnls(g, h, n, coef, scratch, st);
	for (int j = 0; j < n; j++)
		coef[j] += p->least[j];
	return rc;
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

/* The same price for all that is usually of a size. */
static void
set_prices(problem *p)
{
	for (int j = 0; j < p->c->n; j++)
	{
		double		spread = spread_of(p->c, j);

		p->price[j] = p->pull / (spread * spread);
	}
}

/*
 * Prices of types whose start is their class: distances are relative, and
 * Cauchy's weights let go of a type that is unlike its class (in-place batch
 * norm takes several times as long as other norms).  Which ones are shows only
 * if they are not held from the beginning; so the pull grows.
 */
static void
set_class_prices(problem *p, int round, const double *start, const double *coef)
{
	double		pull = p->class_pull * pow(PULL_START, fmax(0, 1 - round / (double) PULL_ROUNDS));

	for (int j = 0; j < p->c->n; j++)
	{
		double		size = fmax(start[j], LEAST_SPREAD * spread_of(p->c, j));
		double		unlike = round > 0 ? (coef[j] - start[j]) / size / UNLIKE : 0;

		if (j == PM_TERM_UPDATE(p->c->groups) || j == PM_TERM_CONSTANT(p->c->groups))
			continue;
		p->price[j] = pull / (size * size) / (1 + unlike * unlike);
	}
}

/* Mean of the logarithms of the cards' factors on arithmetic, or on memory, of the rows that count. */
static double
mean_level(const problem *p, bool memory)
{
	double		sum = 0;
	double		weight = 0;

	for (int i = 0; i < p->d->n; i++)
	{
		const pm_card_factors *f = &p->factors[i];

		sum += p->weight[i] * log(memory ? f->memory[PM_CARD_REST] : f->compute[PM_CARD_REST]);
		weight += p->weight[i];
	}
	return weight > 0 ? sum / weight : 0;
}

static void
set_least(problem *p, const pm_stratum *s)
{
	memset(p->least, 0, p->c->n * sizeof(double));
	if (p->floor && s->cpu != 1 && !pm_framework_fuses(s->framework))
		pm_opclass_least(p->c, p->types, exp(mean_level(p, false)), exp(mean_level(p, true)), p->least);
}

/* Coefficients for the rows that s covers, pulled towards start, which may be that of the classes. */
static pm_code
fit_coefs(problem *p, const pm_stratum *s, const double *start, bool start_is_class, double *coef, const pm_arena *a,
		  pm_status *st)
{
	int			rounds = p->absolute || start_is_class ? REWEIGHTINGS : 1;
	pm_code		rc = PM_OK;

	for (int i = 0; i < p->d->n; i++)
		p->weight[i] = covers(s, &p->d->samples[i].query) ? p->d->samples[i].weight : 0;
	set_prices(p);
	set_least(p, s);
	for (int round = 0; rc == PM_OK && round < rounds; round++)
	{
		pm_arena	scratch;

		if (round > 0 && p->absolute)
			reweight(p, coef);
		if (start_is_class)
			set_class_prices(p, round, start, coef);
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
make_problem(problem *p, const pm_opclass *m, bool by_type, const pm_tokens *tokens, pm_arena *a, pm_status *st)
{
	const pm_columns *c = by_type ? &m->of_types : &m->of_classes;
	int			n = c->n;
	double	   *x = PM_NEW(a, double, n);
	sparse	   *rows = PM_NEW(a, sparse, p->d->n);

	p->c = c;
	p->types = by_type ? m->types : NULL;
	p->rows = rows;
	p->price = PM_NEW(a, double, n);
	p->least = PM_NEW(a, double, n);
	p->factors = PM_NEW(a, pm_card_factors, p->d->n);
	if (!x || !rows || !p->price || !p->least || !p->factors)
		return pm_no_memory(st, a);
	for (int i = 0; i < p->d->n; i++)
	{
		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		p->factors[i] = pm_cards_factors(&m->cards, &p->d->samples[i].query);
		pm_opclass_aggregate(m, by_type, &tokens[i], &p->factors[i], x);
		if (!make_sparse(x, n, 1 / p->d->samples[i].step_ms, a, &rows[i]))
			return pm_no_memory(st, a);
	}
	return PM_OK;
}

/* ---- fitting ---- */

/* Types of the training rows, in the order of the catalogue; *class_of[m->n_types]: the class of each. */
static pm_code
choose_types(pm_opclass *m, const pm_dataset *d, const pm_tokens *tokens, bool by_type, int32_t **class_of, pm_arena *a,
			 pm_status *st)
{
	int			count = pm_opclass_type_count();
	char		buf[64];

	m->slot = PM_NEW(a, int32_t, count);
	m->types = PM_NEW(a, const char *, count);
	m->is_product = PM_NEW(a, bool, count);
	*class_of = PM_NEW(a, int32_t, count);
	if (!m->slot || !m->types || !m->is_product || !*class_of)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n && by_type; i++)
		for (int k = 0; k < tokens[i].n; k++)
			m->slot[pm_opclass_type(&tokens[i], k)] = 1 + pm_opclass_class(&tokens[i], k);
	for (int i = 0; i < count; i++)
	{
		const char *name = pm_opclass_type_name(i, buf);
		bool		seen = m->slot[i] != 0;

		if (seen)
		{
			(*class_of)[m->n_types] = m->slot[i] - 1;
			m->is_product[m->n_types] = pm_opclass_is_product(name);
		}
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
	const int32_t *class_of;	/* [n_types] */
	pm_stratum		usual;			/* stands above the first */
} fitting;

/* Usual coefficients, for the first stratum to be pulled to. */
static void
usual_coefs(const pm_columns *c, double *coef)
{
	for (int j = 0; j < c->n; j++)
		coef[j] = j == PM_TERM_CONSTANT(c->groups) ? 0 : spread_of(c, j);
}

static int
rows_of(const pm_dataset *d, const pm_stratum *s)
{
	int			n = 0;

	for (int i = 0; i < d->n; i++)
		n += covers(s, &d->samples[i].query);
	return n;
}

/* The column of its class that stands for column j of a type. */
static int
column_of_class(const pm_opclass *m, const int32_t *class_of, int j)
{
	int			product = j - PM_N_SHARED(m->n_types);
	int			group = product < 0 ? j / PM_N_TERMS : m->of_types.group[product % m->of_types.products];
	int			class = class_of[group];

	if (product < 0)
		return PM_N_TERMS * class + j % PM_N_TERMS;
	return pm_term_product(&m->of_classes, product / m->of_types.products, m->of_classes.product[class]);
}

/* Types of the first stratum start from what their classes have there, if they are pulled to them at all. */
static pm_code
fit_types(const pm_opclass *m, const pm_stratum *s, const pm_stratum *parent, fitting *f, pm_arena *a, pm_status *st)
{
	bool		to_class = parent == &f->usual && f->by_type.class_pull > 0;
	int			n = m->of_types.n;
	double	   *start = PM_NEW(a, double, n);

	if (!start)
		return pm_no_memory(st, a);
	memcpy(start, parent->by_type, n * sizeof(double));
	for (int j = 0; j < n && to_class; j++)
		if (j < PM_TERM_UPDATE(m->n_types) || j >= PM_N_SHARED(m->n_types))
			start[j] = s->by_class[column_of_class(m, f->class_of, j)];
	return fit_coefs(&f->by_type, s, start, to_class, s->by_type, a, st);
}

/* Fit s, which q is in, and add it; one that has all the rows of its parent has its coefficients. */
static pm_code
fit_stratum(pm_opclass *m, pm_stratum s, const pm_question *q, fitting *f, pm_arena *a, pm_status *st)
{
	const pm_stratum *parent = m->n > 0 ? pm_opclass_closest(m, q) : &f->usual;
	pm_code		rc;

	s.rows = rows_of(f->by_class.d, &s);
	/* narrower ones know no more */
	if (parent != &f->usual && parent->rows == s.rows)
		return PM_OK;
	s.gpu = s.gpu ? pm_strdup(a, s.gpu, strlen(s.gpu)) : NULL;
	s.framework = s.framework ? pm_strdup(a, s.framework, strlen(s.framework)) : NULL;
	s.by_class = PM_NEW(a, double, m->of_classes.n);
	s.by_type = PM_NEW(a, double, m->of_types.n);
	if (!s.by_class || !s.by_type)
		return pm_no_memory(st, a);
	rc = fit_coefs(&f->by_class, &s, parent->by_class, false, s.by_class, a, st);
	if (rc == PM_OK && m->n_types > 0)
		rc = fit_types(m, &s, parent, f, a, st);
	m->strata[m->n++] = s;
	return rc;
}

static pm_code
make_fitting(fitting *f, const pm_opclass *m, const pm_tokens *tokens, const int32_t *class_of, pm_arena *a, pm_status *st)
{
	pm_code		rc = make_problem(&f->by_class, m, false, tokens, a, st);

	f->class_of = class_of;
	if (rc == PM_OK && m->n_types > 0)
		rc = make_problem(&f->by_type, m, true, tokens, a, st);
	if (rc != PM_OK)
		return rc;
	f->usual.by_class = PM_NEW(a, double, m->of_classes.n);
	f->usual.by_type = PM_NEW(a, double, m->of_types.n);
	if (!f->usual.by_class || !f->usual.by_type)
		return pm_no_memory(st, a);
	usual_coefs(&m->of_classes, f->usual.by_class);
	usual_coefs(&m->of_types, f->usual.by_type);
	return PM_OK;
}

static pm_code
fit_strata(pm_opclass *m, int levels, fitting *f, pm_arena *a, pm_status *st)
{
	const pm_dataset *d = f->by_class.d;
	pm_code		rc = PM_OK;

	for (int level = 0; level < levels; level++)
		for (int i = 0; rc == PM_OK && i < d->n && m->n < PM_MAX_STRATA; i++)
		{
			const pm_question *q = &d->samples[i].query;
			pm_stratum		s = stratum_of(level, q);

			if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
				rc = PM_CANCELLED;
			else if (!has_stratum(m, &s))
				rc = fit_stratum(m, s, q, f, a, st);
		}
	return rc;
}

/* What the times of a column are of: a kind of work on the device, or PM_N_CARD_WORKS, the host. */
static int
work_of_column(const pm_opclass *m, bool by_type, const pm_columns *c, int j)
{
	int			product = j - PM_N_SHARED(c->groups);
	int			group = product >= 0 ? c->group[product % c->products] : j / PM_N_TERMS;

	if (product < 0 && j >= PM_TERM_UPDATE(c->groups))
		return j == PM_TERM_CONSTANT(c->groups) ? PM_N_CARD_WORKS : PM_CARD_REST;
	if (product < 0 && j % PM_N_TERMS == PM_TERM_LAUNCH)
		return PM_N_CARD_WORKS;
	if (!by_type)
		return group >= PM_N_CLASSES ? PM_CARD_CONV : pm_card_work_of(group);
	return strncmp(m->types[group], "Conv/", 5) == 0 ? PM_CARD_CONV : PM_CARD_REST;
}

/* What coefficients of all rows say of each: ln(measured / predicted), and the parts that are the device's. */
static void
common_errors(const pm_opclass *m, bool by_type, const problem *p, const double *coef, double *error,
			  double (*share)[PM_N_CARD_WORKS])
{
	for (int i = 0; i < p->d->n; i++)
	{
		const sparse *x = &p->rows[i];
		double		sum[PM_N_CARD_WORKS + 1] = {0};
		double		all = 0;

		for (int k = 0; k < x->n; k++)
			sum[work_of_column(m, by_type, p->c, x->column[k])] += x->value[k] * coef[x->column[k]];
		for (int w = 0; w <= PM_N_CARD_WORKS; w++)
			all += sum[w];
		error[i] = -log(all);
		for (int w = 0; w < PM_N_CARD_WORKS; w++)
			share[i][w] = sum[w] / all;
	}
}

/* Host times by format, from the same: what is not the device's is the host's. */
static pm_code
learn_hosts(pm_cards *cards, const pm_dataset *d, const double *error, const double (*share)[PM_N_CARD_WORKS], pm_arena *a, pm_status *st)
{
	pm_arena	scratch;
	pm_host_row *row;
	int			n = 0;
	pm_code		rc;

	pm_arena_init_within(&scratch, a);
	if ((row = PM_NEW(&scratch, pm_host_row, d->n + 1)) == NULL)
	{
		rc = pm_no_memory(st, &scratch);
		pm_arena_release(&scratch);
		return rc;
	}
	for (int i = 0; i < d->n; i++)
	{
		const pm_question *q = &d->samples[i].query;
		double		device = 0;

		for (int w = 0; w < PM_N_CARD_WORKS; w++)
			device += share[i][w];
		if (isfinite(error[i]) && !q->gpu->is_cpu)
			row[n++] = (pm_host_row) {.gpu = q->gpu->name, .framework = q->framework, .half = pm_is_half((int) q->dtype),
				.structure = q->graph->structure, .device = device * exp(-error[i]),
				.host = (1 - device) * exp(-error[i]) / pm_hosts_factor(&cards->hosts, q->gpu->name, (int) q->dtype)};
	}
	rc = pm_hosts_learn(&cards->hosts, row, n, a, &scratch, st);
	pm_arena_release(&scratch);
	return rc;
}

/* Levels of the cards, from what coefficients that are the same for all cards leave of the rows. */
static pm_code
learn_cards(pm_opclass *m, const pm_cards *from, const pm_dataset *d, const pm_tokens *tokens, const problem *like, pm_arena *a,
			pm_status *st)
{
	double	   *error = PM_NEW(a, double, d->n + 1);
	double	  (*share)[PM_N_CARD_WORKS] = pm_alloc(a, d->n + 1, sizeof(share[0]));
	pm_stratum	all = {.cpu = PM_ANY, .layout = PM_ANY};
	pm_code		rc = PM_OK;

	if (!error || !share)
		return pm_no_memory(st, a);
	if (from != NULL)
	{
		m->cards = *from;
		m->cards.settled = true;
	}
	for (int round = 0; round < CARD_ROUNDS && rc == PM_OK; round++)
	{
		pm_arena	scratch;
		fitting		f = {.by_class = *like, .by_type = *like};
		bool		by_type = m->n_types > 0;
		double	   *coef = PM_NEW(a, double, by_type ? m->of_types.n : m->of_classes.n);

		if (!coef)
			return pm_no_memory(st, a);
		pm_arena_init_within(&scratch, a);
		if ((rc = make_fitting(&f, m, tokens, NULL, &scratch, st)) == PM_OK &&
			(rc = fit_coefs(by_type ? &f.by_type : &f.by_class, &all, by_type ? f.usual.by_type : f.usual.by_class, false,
							coef, &scratch, st)) == PM_OK)
			common_errors(m, by_type, by_type ? &f.by_type : &f.by_class, coef, error, share);
		pm_arena_release(&scratch);
		if (rc == PM_OK)
			rc = pm_cards_update(&m->cards, d, error, share, a, st);
		if (rc == PM_OK && !m->cards.settled)
			rc = learn_hosts(&m->cards, d, error, share, a, st);
	}
	return rc;
}

/* If all groups were products. */
static double
most_columns(int groups)
{
	return PM_N_SHARED(groups) + (double) PM_N_DTYPES * groups;
}

/* If training has every type that there is. */
static double
columns_of_types(void)
{
	int			types = pm_opclass_type_count();
	double		products = 0;
	char		name[64];

	for (int i = 0; i < types; i++)
		products += pm_opclass_is_product(pm_opclass_type_name(i, name));
	return PM_N_SHARED(types) + PM_N_DTYPES * products;
}

/* Strata that d will have at most: their coefficients are what grows with it. */
static double
strata_memory(const pm_dataset *d)
{
	double		n = fmin(1 + 4.0 * d->n, PM_MAX_STRATA);

	return n * sizeof(double) * (most_columns(PM_N_OPCLASSES) + columns_of_types());
}

double
pm_opclass_memory(const pm_options *o, const pm_dataset *d, int threads)
{
	double		n = columns_of_types();
	double		rows = 0;

	(void) o;
	(void) threads;
	/* by class and by type: a number and its column for each term of each token at the most, and 128 bytes of rounding up */
	for (int i = 0; i < d->n; i++)
		rows += 2 * (sizeof(sparse) + 256 + 12.0 * fmin(PM_N_SHARED(d->samples[i].skeleton->n), n));
	return pm_arena_memory(pm_inputs_memory(d) + rows + (d->n + 6 * n) * sizeof(double) + d->n * (double) (sizeof(pm_host_row) + 2 * sizeof(pm_card_factors)) + strata_memory(d) +
						   PM_MAX_STRATA * (double) sizeof(pm_stratum)) +
		pm_arena_memory(2 * n * n * sizeof(double));
}

pm_code
pm_opclass_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
			const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	pm_opclass    *m = PM_NEW(a, pm_opclass, 1);
	problem		common = {.d = d, .weight = PM_NEW(a, double, d->n), .pull = p->options.value[PM_OPCLASS_PULL],
		.class_pull = p->options.value[PM_OPCLASS_CLASS_PULL],
		.floor = p->options.value[PM_OPCLASS_FLOOR] != 0, .absolute = p->options.value[PM_OPCLASS_LOSS] == PM_OPCLASS_ABSOLUTE};
	fitting		f = {.by_class = common, .by_type = common};
	double		started = pm_now();
	pm_tokens  *tokens;
	int32_t    *class_of;
	pm_code		rc;

	(void) seed;
	(void) threads;
	(void) hooks;
	if (!m || !common.weight || !(m->strata = PM_NEW(a, pm_stratum, PM_MAX_STRATA)))
		return pm_no_memory(st, a);
	if ((rc = pm_tokens_of(d, a, &tokens, st)) != PM_OK ||
		(rc = choose_types(m, d, tokens, p->options.value[PM_OPCLASS_BY_TYPE] != 0, &class_of, a, st)) != PM_OK ||
		(rc = pm_opclass_make_columns(m, a, st)) != PM_OK ||
		(rc = learn_cards(m, p->start != NULL ? p->start->predictor->kind->cards(p->start->predictor) : NULL, d, tokens, &common, a, st)) != PM_OK ||
		(rc = make_fitting(&f, m, tokens, class_of, a, st)) != PM_OK ||
		(rc = fit_strata(m, p->options.value[PM_OPCLASS_BY_DEVICE] != 0 ? N_LEVELS : LEVEL_FRAMEWORK, &f, a, st)) != PM_OK ||
		(pm_opclass_learns_operators(&p->options) && (rc = pm_opclass_fit_operators(m, d, a, st)) != PM_OK) ||
		(rc = pm_cards_keep_sheets(&m->cards, d->samples, d->n, a, st)) != PM_OK ||
		(rc = pm_cards_keep_sheets(&m->cards, d->operators, d->n_operators, a, st)) != PM_OK)
		return rc;
	p->impl = m;
	report->seconds = pm_now() - started;
	report->n_params = (int64_t) m->n * (m->of_classes.n + (m->n_types > 0 ? m->of_types.n : 0));
	return PM_OK;
}
