/*
 * habitat.c - the predictor kind "habitat": a step that was measured on other
 * cards, times the ratio of this card to those.
 *
 * It keeps every training row as a base: network, format, card, batch and how
 * far the row was from what an opclass predictor of the same rows says of it.
 * Asked about the network on a card, it takes for each other card the base
 * whose batch is nearest, at most BATCH_RANGE times away, and answers
 *
 *     step = f(here) * exp(w * median over cards of ln(measured / f(there)))
 *
 * where f is opclass: for w = 1 the measured step times the learned ratio of
 * the two cards.  w shrinks a few cards towards the graph's own prediction:
 * w = k r / (1 + (k - 1) r) for k cards, where r is how alike errors on the
 * same network are, learned from the training rows.
 *
 * With operators = 'wave' operators other than convolutions, matrix products
 * and recurrent ones have Habitat's wave scaling (wave.h) in place of learned
 * ratios, as in its paper.  docs/cards.md has the errors of both.
 */
#include "kinds/kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "features/sheets.h"
#include "kinds/cards.h"
#include "kinds/settings.h"
#include "kinds/wave.h"

#define BATCH_RANGE		4.0		/* factor between the batches of a question and of a base */
#define ALIKE_STEPS		20		/* values of r that are tried */
#define MAX_GPUS		4096	/* in a stored form */
#define BASE_BYTES		32		/* of a base in a stored form */

enum
{
	OPT_OPERATORS, OPT_CALIBRATION, OPT_SEED, N_OPTIONS
};

enum
{
	LEARNED, WAVE
};

static const pm_option options[N_OPTIONS] = {
	[OPT_OPERATORS] = {"operators", PM_OPT_CHOICE, LEARNED, 0, 1, "learned|wave",
	"ratio of two cards for operators other than convolutions, products and recurrent ones: learned, or wave scaling"},
	[OPT_CALIBRATION] = PM_OPTION_CALIBRATION,
	[OPT_SEED] = {"seed", PM_OPT_INT, 42, 0, 2147483647, NULL, "not used: nothing is random"},
};

/* A measured step. */
typedef struct base
{
	uint64_t	structure;
	int			dtype;
	int			layout;
	int			gpu;			/* index into habitat.gpus */
	double		batch;
	double		error;			/* ln(measured / predicted by opclass) */
} base;

typedef struct habitat
{
	pm_predictor inner;			/* opclass */
	int			n_gpus;
	pm_gpu	   *gpus;			/* [n_gpus] sheets of the training rows */
	int			n;
	base	   *bases;			/* [n] sorted by structure, dtype, layout, gpu, batch */
	double		alike;			/* r, 0..1 */
} habitat;

/* ---- bases ---- */

static int
by_network(const base *x, const base *y)
{
	if (x->structure != y->structure)
		return x->structure < y->structure ? -1 : 1;
	return x->dtype != y->dtype ? x->dtype - y->dtype : x->layout - y->layout;
}

static int
by_key(const void *a, const void *b)
{
	const base *x = a;
	const base *y = b;
	int			order = by_network(x, y);

	if (order != 0)
		return order;
	if (x->gpu != y->gpu)
		return x->gpu - y->gpu;
	if (x->batch != y->batch)
		return x->batch < y->batch ? -1 : 1;
	return (x->error > y->error) - (x->error < y->error);
}

/* Bases of the network and format of q; returns how many. */
static int
bases_of(const habitat *m, const pm_question *q, const base **first)
{
	base		key = {.structure = q->graph->structure, .dtype = (int) q->dtype, .layout = (int) q->layout};
	int			low = 0;
	int			high = m->n;
	int			n = 0;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (by_network(&m->bases[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*first = m->bases + low;
	while (low + n < m->n && by_network(&m->bases[low + n], &key) == 0)
		n++;
	return n;
}

static double
batch_distance(const base *b, int64_t batch)
{
	return fabs(log(b->batch / (double) batch));
}

/* Of bases[n], of one network, the nearest in batch of each card but q's: chosen[], at most n of them; returns how many. */
static int
choose(const habitat *m, const pm_question *q, const base *bases, int n, const base **chosen)
{
	int			k = 0;

	for (int i = 0; i < n; i++)
	{
		const base *b = &bases[i];

		if (batch_distance(b, q->batch) > log(BATCH_RANGE) * (1 + 1e-9) || strcmp(m->gpus[b->gpu].name, q->gpu->name) == 0)
			continue;
		if (k > 0 && chosen[k - 1]->gpu == b->gpu)
		{
			if (batch_distance(b, q->batch) < batch_distance(chosen[k - 1], q->batch))
				chosen[k - 1] = b;
		}
		else
			chosen[k++] = b;
	}
	return k;
}

/* The bases that answer q, at most one a card: *chosen in scratch; returns how many, or -1: no memory. */
static int
choose_bases(const habitat *m, const pm_question *q, pm_arena *scratch, const base ***chosen)
{
	const base *first;
	int			n = bases_of(m, q, &first);

	if ((*chosen = PM_NEW(scratch, const base *, n + 1)) == NULL)
		return -1;
	return choose(m, q, first, n, *chosen);
}

static double
median_of(double *v, int n)
{
	for (int i = 1; i < n; i++)
		for (int k = i; k > 0 && v[k] < v[k - 1]; k--)
		{
			double		swap = v[k];

			v[k] = v[k - 1];
			v[k - 1] = swap;
		}
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* How far the errors on k other cards are believed. */
static double
weight_of(double alike, int k)
{
	return k * alike / (1 + (k - 1) * alike);
}

/* ---- wave scaling ---- */

static bool
has_same_kernel(int op_class)
{
	return op_class != PM_CLASS_CONV && op_class != PM_CLASS_GEMM && op_class != PM_CLASS_RECURRENT;
}

/*
 * ln of the ratio of s's card to a base's with wave scaling over the learned
 * one.  parts[n], tokens t: of s.
 */
static pm_code
wave_excess(const habitat *m, const pm_sample *s, const base *b, double step_ms, const pm_part *parts, int n, pm_arena *scratch,
			double *excess, pm_status *st)
{
	pm_sample	there = *s;
	pm_part    *part = PM_NEW(scratch, pm_part, n);
	double		there_ms;
	double		here_ms = 0;
	int			n_there;
	pm_tokens	t;
	pm_code		rc;

	there.query.gpu = &m->gpus[b->gpu];
	if (!part)
		return pm_no_memory(st, scratch);
	if ((rc = m->inner.kind->predict(&m->inner, &there, scratch, &there_ms, part, &n_there, st)) != PM_OK ||
		(rc = pm_tokens_build(s->skeleton, &there.query, scratch, &t, st)) != PM_OK)
		return rc;
	for (int i = 0; i < n; i++)
	{
		int			token = parts[i].token;

		/* what is not an operator is the host's, and goes along unscaled */
		if (token < 0)
			here_ms += part[i].step_ms;
		else if (has_same_kernel(t.op_class[token]))
			here_ms += part[i].step_ms * pm_wave_ratio(&t, token, there.query.gpu, s->query.gpu);
		else
			here_ms += parts[i].step_ms;
	}
	*excess = log(here_ms / step_ms);
	return PM_OK;
}

/* ---- predicting ---- */

/* ln of the factor on opclass's prediction; 0 where there are no bases. */
static pm_code
correction_of(const pm_predictor *p, const pm_sample *s, double step_ms, const pm_part *parts, int n_parts, pm_arena *scratch,
			  double *correction, pm_status *st)
{
	const habitat *m = p->impl;
	const base **chosen;
	int			k = choose_bases(m, &s->query, scratch, &chosen);
	double	   *error = PM_NEW(scratch, double, k + 1);
	pm_code		rc = PM_OK;

	*correction = 0;
	if (k < 0 || !error)
		return pm_no_memory(st, scratch);
	for (int i = 0; i < k && rc == PM_OK; i++)
	{
		double		excess = 0;

		if (p->options.value[OPT_OPERATORS] == WAVE)
			rc = wave_excess(m, s, chosen[i], step_ms, parts, n_parts, scratch, &excess, st);
		error[i] = chosen[i]->error + excess;
	}
	if (k > 0)
		*correction = weight_of(m->alike, k) * median_of(error, k);
	return rc;
}

static pm_code
habitat_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
				double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	const habitat *m = p->impl;
	double		correction;
	int			n = 0;
	pm_code		rc;

	if (parts == NULL && p->options.value[OPT_OPERATORS] == WAVE &&
		(parts = PM_NEW(scratch, pm_part, s->skeleton->n + 1)) == NULL)
		return pm_no_memory(st, scratch);
	if ((rc = m->inner.kind->predict(&m->inner, s, scratch, step_ms, parts, &n, st)) != PM_OK ||
		(rc = correction_of(p, s, *step_ms, parts, n, scratch, &correction, st)) != PM_OK)
		return rc;
	*step_ms *= exp(correction);
	for (int i = 0; i < n; i++)
		parts[i].step_ms *= exp(correction);
	if (n_parts != NULL)
		*n_parts = n;
	return PM_OK;
}

static bool
habitat_informed(const pm_predictor *p, const pm_question *q)
{
	const habitat *m = p->impl;
	const base *first;
	int			n = bases_of(m, q, &first);

	for (int i = 0; i < n; i++)
		if (batch_distance(&first[i], q->batch) <= log(BATCH_RANGE) * (1 + 1e-9) &&
			strcmp(m->gpus[first[i].gpu].name, q->gpu->name) != 0)
			return true;
	return false;
}

static const pm_cards *
habitat_cards(const pm_predictor *p)
{
	const habitat *m = p->impl;

	return m->inner.kind->cards(&m->inner);
}

/* ---- fitting ---- */

static pm_code
make_inner(habitat *m, const pm_predictor *p, pm_status *st)
{
	m->inner = (pm_predictor) {.kind = pm_kind_find("opclass"), .quantity = p->quantity, .schema = p->schema};
	return pm_options_set(m->inner.kind, NULL, 0, &m->inner.options, st);
}

static int
find_gpu(const habitat *m, const char *name)
{
	for (int i = 0; i < m->n_gpus; i++)
		if (strcmp(m->gpus[i].name, name) == 0)
			return i;
	return -1;
}

/* Index of the sheet of a row, which is copied when it is new; -1: no memory. */
static int
keep_gpu(habitat *m, const pm_gpu *gpu, pm_arena *a)
{
	int			at = find_gpu(m, gpu->name);

	if (at >= 0)
		return at;
	m->gpus[m->n_gpus] = *gpu;
	if ((m->gpus[m->n_gpus].name = pm_strdup(a, gpu->name, strlen(gpu->name))) == NULL)
		return -1;
	return m->n_gpus++;
}

/* One base of each network, format, card and batch: its rows' mean error. */
static void
merge_bases(habitat *m)
{
	int			n = 0;

	qsort(m->bases, m->n, sizeof(base), by_key);
	for (int i = 0, end; i < m->n; i = end)
	{
		const base	first = m->bases[i];
		double		sum = 0;

		for (end = i; end < m->n && by_network(&m->bases[end], &first) == 0 && m->bases[end].gpu == first.gpu &&
			 m->bases[end].batch == first.batch; end++)
			sum += m->bases[end].error;
		m->bases[n] = first;
		m->bases[n++].error = sum / (end - i);
	}
	m->n = n;
}

static pm_code
learn_bases(habitat *m, const pm_dataset *d, pm_arena *a, pm_status *st)
{
	m->gpus = PM_NEW(a, pm_gpu, d->n);
	m->bases = PM_NEW(a, base, d->n);
	if (!m->gpus || !m->bases)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
	{
		const pm_sample *s = &d->samples[i];
		int			gpu = keep_gpu(m, s->query.gpu, a);
		double		ms;
		pm_arena	scratch;
		pm_code		rc;

		if (gpu < 0)
			return pm_no_memory(st, a);
		if (pm_stopped(a, st))
			return PM_CANCELLED;
		pm_arena_init_within(&scratch, a);
		rc = m->inner.kind->predict(&m->inner, s, &scratch, &ms, NULL, NULL, st);
		pm_arena_release(&scratch);
		if (rc != PM_OK)
			return rc;
		m->bases[m->n++] = (base) {.structure = s->query.graph->structure, .dtype = (int) s->query.dtype,
			.layout = (int) s->query.layout, .gpu = gpu, .batch = (double) s->query.batch, .error = log(s->step_ms / ms)};
	}
	merge_bases(m);
	return PM_OK;
}

/* What the other cards say of a row: the median of their errors, and of how many cards. */
typedef struct evidence
{
	double		error;			/* the row's own */
	double		median;
	int			cards;			/* 0: its network was measured on its card alone */
} evidence;

static pm_code
gather(const habitat *m, pm_arena *a, evidence *e, pm_status *st)
{
	for (int i = 0; i < m->n; i++)
	{
		const base *b = &m->bases[i];
		pm_graph	graph = {.structure = b->structure};
		pm_question	q = {.graph = &graph, .gpu = &m->gpus[b->gpu], .batch = (int64_t) b->batch, .dtype = (pm_dtype) b->dtype,
			.layout = (pm_layout) b->layout};
		const base **chosen;
		pm_arena	scratch;
		double	   *v;

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		pm_arena_init_within(&scratch, a);
		e[i] = (evidence) {.error = b->error, .cards = choose_bases(m, &q, &scratch, &chosen)};
		v = PM_NEW(&scratch, double, e[i].cards + 1);
		for (int k = 0; v != NULL && k < e[i].cards; k++)
			v[k] = chosen[k]->error;
		if (v != NULL && e[i].cards > 0)
			e[i].median = median_of(v, e[i].cards);
		pm_arena_release(&scratch);
		if (v == NULL || e[i].cards < 0)
			return pm_no_memory(st, a);
	}
	return PM_OK;
}

/* The r with which the other cards tell the errors of the rows best: the sum of absolute errors is smallest. */
static double
most_alike(const evidence *e, int n)
{
	double		best = INFINITY;
	double		alike = 0;

	for (int step = 0; step <= ALIKE_STEPS; step++)
	{
		double		r = step / (double) ALIKE_STEPS;
		double		sum = 0;

		for (int i = 0; i < n; i++)
			if (e[i].cards > 0)
				sum += fabs(e[i].error - weight_of(r, e[i].cards) * e[i].median);
		if (sum < best)
		{
			best = sum;
			alike = r;
		}
	}
	return alike;
}

static double
habitat_memory(const pm_options *o, const pm_dataset *d, int threads)
{
	habitat		m;
	const pm_predictor p = {0};

	(void) o;
	if (make_inner(&m, &p, NULL) != PM_OK)
		return INFINITY;
	return m.inner.kind->memory(&m.inner.options, d, threads) +
		pm_arena_memory(d->n * (double) (sizeof(base) + sizeof(pm_gpu) + sizeof(evidence) + 64) + sizeof(habitat));
}

static pm_code
habitat_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
			const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	habitat    *m = PM_NEW(a, habitat, 1);
	evidence   *e = PM_NEW(a, evidence, d->n);
	double		started = pm_now();
	pm_code		rc;

	if (!m || !e)
		return pm_no_memory(st, a);
	if ((rc = make_inner(m, p, st)) != PM_OK ||
		(rc = m->inner.kind->fit(&m->inner, d, seed, threads, hooks, a, report, st)) != PM_OK ||
		(rc = learn_bases(m, d, a, st)) != PM_OK ||
		(rc = gather(m, a, e, st)) != PM_OK)
		return rc;
	m->alike = most_alike(e, m->n);
	p->impl = m;
	report->seconds = pm_now() - started;
	report->n_params += m->n + 1;
	return PM_OK;
}

/* ---- storing ---- */

static pm_code
habitat_save(const pm_predictor *p, pm_buffer *b, pm_status *st)
{
	const pm_schema *s = pm_predictor_schema(p);
	const habitat *m = p->impl;
	pm_code		rc = m->inner.kind->save(&m->inner, b, st);

	pm_put_f64(b, m->alike);
	pm_put_u32(b, PM_N_GPU_FIGURES);
	pm_put_u32(b, (uint32_t) m->n_gpus);
	for (int i = 0; i < m->n_gpus; i++)
		pm_gpu_save(&m->gpus[i], b);
	pm_put_u32(b, (uint32_t) m->n);
	for (int i = 0; i < m->n; i++)
	{
		const base *x = &m->bases[i];

		pm_put_u32(b, (uint32_t) x->structure);
		pm_put_u32(b, (uint32_t) (x->structure >> 32));
		pm_put_u32(b, (uint32_t) pm_there(s, PM_LIST_DTYPE, x->dtype));
		pm_put_u32(b, (uint32_t) pm_there(s, PM_LIST_LAYOUT, x->layout));
		pm_put_u32(b, (uint32_t) x->gpu);
		pm_put_u32(b, (uint32_t) x->batch);
		pm_put_f64(b, x->error);
	}
	return rc;
}

static void
load_base(const habitat *m, const pm_schema *s, base *x, pm_reader *r)
{
	x->structure = pm_get_raw_u32(r);
	x->structure |= (uint64_t) pm_get_raw_u32(r) << 32;
	x->dtype = pm_here(s, PM_LIST_DTYPE, (int) pm_get_u32(r, (uint32_t) s->list[PM_LIST_DTYPE].n - 1));
	x->layout = pm_here(s, PM_LIST_LAYOUT, (int) pm_get_u32(r, (uint32_t) s->list[PM_LIST_LAYOUT].n - 1));
	x->gpu = (int) pm_get_u32(r, (uint32_t) m->n_gpus - 1);
	x->batch = pm_get_u32(r, PM_MAX_BATCH);
	x->error = pm_get_f64(r);
	if (x->batch < 1 || fabs(x->error) > 100)
		r->failed = true;
}

static pm_code
load_bases(habitat *m, const pm_schema *s, pm_reader *r, pm_arena *a, pm_status *st)
{
	size_t		left;

	m->n = (int) pm_get_u32(r, INT32_MAX);
	left = r->len - r->at;
	if (r->failed || m->n < 1 || (size_t) m->n > left / BASE_BYTES)
	{
		r->failed = true;
		return PM_OK;
	}
	if ((m->bases = PM_NEW(a, base, m->n)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < m->n && !r->failed; i++)
		load_base(m, s, &m->bases[i], r);
	/* another order of names in this library is another order of bases */
	qsort(m->bases, m->n, sizeof(base), by_key);
	return PM_OK;
}

static pm_code
habitat_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	habitat    *m = PM_NEW(a, habitat, 1);
	pm_code		rc;

	if (!m)
		return pm_no_memory(st, a);
	if ((rc = make_inner(m, p, st)) != PM_OK || (rc = m->inner.kind->load(&m->inner, r, a, st)) != PM_OK)
		return rc;
	p->impl = m;
	m->alike = pm_get_above(r, 0);
	if (m->alike > 1 || pm_get_u32(r, PM_N_GPU_FIGURES) != PM_N_GPU_FIGURES)
		r->failed = true;
	m->n_gpus = (int) pm_get_u32(r, MAX_GPUS);
	if (m->n_gpus < 1)
		r->failed = true;
	m->gpus = PM_NEW(a, pm_gpu, m->n_gpus);
	if (!m->gpus)
		return pm_no_memory(st, a);
	for (int i = 0; i < m->n_gpus && rc == PM_OK && !r->failed; i++)
		rc = pm_gpu_load(&m->gpus[i], r, a, st);
	if (rc == PM_OK && !r->failed)
		rc = load_bases(m, pm_predictor_schema(p), r, a, st);
	if (rc == PM_OK && r->failed)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged measurements");
	return rc;
}

const pm_kind pm_kind_habitat = {
	.name = "habitat",
	.summary = "a step measured on other cards times the ratio of this card to those; opclass where there is none",
	.options = options,
	.n_options = PM_N_OPTIONS(options),
	.min_samples = 10,
	.quantities = PM_LEARNS(PM_STEP_MS),
	.transfers = true,
	.memory = habitat_memory,
	.fit = habitat_fit,
	.predict = habitat_predict,
	.informed = habitat_informed,
	.cards = habitat_cards,
	.save = habitat_save,
	.load = habitat_load
};
