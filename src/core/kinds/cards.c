/*
 * cards.c - levels of cards: learning, asking and storing them.
 */
#include "kinds/cards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/solve.h"

#define MAX_LEVEL	5.0			/* of a factor's logarithm */
#define MAX_LOG		1000.0		/* of a stored number */
#define NOISE		0.15		/* of a level about the regression, in logarithms */
#define LEAST_SHARE	0.3			/* a row that is less of device time tells no more about it */
#define LEAST_LEVELS 3
#define PULL		1.0			/* a level is pulled to the regression as if by so many networks */
#define ROUNDS		20

#define TRAIT_CLOCK	6
#define TRAIT_RIDGE	8
#define USUAL_CLOCK	0.2			/* of TRAIT_CLOCK */

/* What a trait of a data sheet is worth before any card is known: mean and standard deviation. */
static const struct
{
	double		mean,
				sd;
}			prior[PM_N_CARD_TRAITS] = {
	{0, 0.5},					/* every card */
	{0, 0.3},					/* not of the maker of CUDA */
	{0, 0.3},					/* 16 bits without matrix units */
	{0, 0.3},					/* tf32 */
	{0, 0.3},					/* amp, bf16 */
	{0, 0.3},					/* fp16 */
	[TRAIT_CLOCK] = {0.5, 0.2},	/* ln(boost clock / base clock): what power takes of the clock */
	{-0.3, 0.2},				/* FP32 on lanes that integers do not share */
	[TRAIT_RIDGE] = {0, 0.1},	/* ln(FLOPs a byte at the peaks / 25) */
};

/* Whether integer and FP32 instructions take turns: Maxwell, Pascal, and the later parts for graphics, by compute capability. */
static bool
shares_lanes(double capability)
{
	return (capability >= 5 && capability < 7) || (capability > 8.05 && capability < 9) || capability >= 11;
}

static void
traits_of(const pm_gpu *g, int dtype, int work, double *z)
{
	bool		matrix = !isnan(g->fp16_tensor_tflops);

	memset(z, 0, PM_N_CARD_TRAITS * sizeof(double));
	if (g->is_cpu)
		return;
	z[0] = 1;
	z[1] = isnan(g->compute_capability);
	z[2] = dtype != PM_FP32 && dtype != PM_TF32 && !matrix;
	z[3] = dtype == PM_TF32;
	z[4] = dtype == PM_AMP || dtype == PM_BF16;
	z[5] = dtype == PM_FP16;
	z[TRAIT_CLOCK] = !isnan(g->base_clock_ghz) && g->clock_ghz > g->base_clock_ghz ? log(g->clock_ghz / g->base_clock_ghz) : 0;
	z[TRAIT_RIDGE] = log(g->fp32_tflops * 1000 / g->mem_bw_gbs / 25);
	z[7] = work == PM_CARD_CONV && dtype == PM_FP32 && !isnan(g->compute_capability) && !shares_lanes(g->compute_capability);
}

/* What the traits z say of a level. */
static double
sum_of_traits(const double *weight, const double *z)
{
	double		sum = 0;

	for (int k = 0; k < PM_N_CARD_TRAITS; k++)
		sum += weight[k] * z[k];
	return sum;
}

static double
regression(const pm_cards *c, const pm_gpu *g, int dtype, int work)
{
	double		z[PM_N_CARD_TRAITS];

	traits_of(g, dtype, work, z);
	return sum_of_traits(c->trait[work], z);
}

/*
 * Factors on arithmetic and memory of a card that has no level at all, such
 * that a better sheet is never slower.  A clock above the base clock brings less
 * than it says, but something: its weight is 0 to 1, of what the ridge leaves;
 * and it says nothing of memory, nor does the ridge.  The ridge counts in FP32
 * alone, where all arithmetic has the peak that it is of.
 */
static void
guess_from_sheet(const pm_cards *c, const pm_gpu *g, int dtype, int work, double *compute, double *memory)
{
	double		z[PM_N_CARD_TRAITS];
	double		weight[PM_N_CARD_TRAITS];

	traits_of(g, dtype, work, z);
	memcpy(weight, c->trait[work], sizeof(weight));
	weight[TRAIT_RIDGE] = dtype == PM_FP32 ? fmin(fmax(weight[TRAIT_RIDGE], 0), 1) : 0;
	weight[TRAIT_CLOCK] = fmin(fmax(weight[TRAIT_CLOCK], 0), 1 - weight[TRAIT_RIDGE]);
	*compute = sum_of_traits(weight, z);
	weight[TRAIT_RIDGE] = 0;
	z[TRAIT_CLOCK] = g->is_cpu ? 0 : USUAL_CLOCK;
	*memory = sum_of_traits(weight, z);
}

/* Level of a card that has none for this dtype: the regression, and what its other dtypes are off it. */
static double
guess(const pm_cards *c, const pm_gpu *g, int dtype, int work)
{
	double		off = 0;
	int			n = 0;

	for (int i = 0; i < c->n; i++)
		if (c->level[i].work == work && strcmp(c->level[i].gpu, g->name) == 0)
		{
			off += c->level[i].level - regression(c, g, c->level[i].dtype, work);
			n++;
		}
	return regression(c, g, dtype, work) + off / (n + 1);
}

static const pm_card_level *
find_level(const pm_cards *c, const char *gpu, int dtype, int work)
{
	for (int i = 0; i < c->n; i++)
		if (c->level[i].dtype == dtype && c->level[i].work == work && strcmp(c->level[i].gpu, gpu) == 0)
			return &c->level[i];
	return NULL;
}

static double
within_bounds(double level)
{
	return fmin(fmax(level, -MAX_LEVEL), MAX_LEVEL);
}

static double
level_of(const pm_cards *c, const pm_gpu *g, int dtype, int work)
{
	const pm_card_level *l = find_level(c, g->name, dtype, work);

	return within_bounds(l != NULL ? l->level : c->n > 0 ? guess(c, g, dtype, work) : 0);
}

static bool
has_levels(const pm_cards *c, const char *gpu)
{
	for (int i = 0; i < c->n; i++)
		if (strcmp(c->level[i].gpu, gpu) == 0)
			return true;
	return false;
}

pm_card_known
pm_cards_known(const pm_cards *c, const char *gpu)
{
	pm_card_known known = PM_CARD_FROM_SHEET;

	for (int i = 0; c != NULL && i < c->n; i++)
		if (strcmp(c->level[i].gpu, gpu) == 0)
		{
			if (c->level[i].structures > 0)
				return PM_CARD_FROM_NETWORKS;
			known = PM_CARD_FROM_OPERATORS;
		}
	return known;
}

double
pm_cards_expected(const pm_cards *c, const pm_gpu *g, int dtype, int work, bool *measured)
{
	int			of = work == PM_CARD_MEMORY ? PM_CARD_REST : work;
	const pm_card_level *l = find_level(c, g->name, dtype, of);
	double		compute = 0,
				memory = 0;

	*measured = l != NULL && l->structures > 0;
	if (*measured)
		return l->level;
	if (pm_cards_known(c, g->name) == PM_CARD_FROM_NETWORKS)
		return guess(c, g, dtype, of);
	guess_from_sheet(c, g, dtype, of, &compute, &memory);
	return work == PM_CARD_MEMORY ? memory : compute;
}

/* The level of a card's memory, whatever the format; NULL: the same as that of each kind of work. */
static const pm_card_level *
find_memory_level(const pm_cards *c, const char *gpu)
{
	for (int i = 0; i < c->n; i++)
		if (c->level[i].work == PM_CARD_MEMORY && strcmp(c->level[i].gpu, gpu) == 0)
			return &c->level[i];
	return NULL;
}

/* Of a card that has levels. */
static void
levels_of(const pm_cards *c, const pm_gpu *g, int dtype, int work, double *compute, double *memory)
{
	const pm_card_level *l = find_level(c, g->name, dtype, work);
	const pm_card_level *m = find_memory_level(c, g->name);

	*compute = *memory = level_of(c, g, dtype, work);
	if (m != NULL && (l == NULL || l->structures == 0))
		*memory = m->level;
}

pm_card_factors
pm_cards_factors(const pm_cards *c, const pm_question *q)
{
	bool		known = c != NULL && has_levels(c, q->gpu->name);
	pm_card_factors f;

	for (int work = 0; work < PM_N_CARD_WORKS; work++)
	{
		double		compute = 0,
					memory = 0;

		if (known)
			levels_of(c, q->gpu, (int) q->dtype, work, &compute, &memory);
		else if (c != NULL && c->n > 0)
			guess_from_sheet(c, q->gpu, (int) q->dtype, work, &compute, &memory);
		f.compute[work] = exp(within_bounds(compute));
		f.memory[work] = exp(within_bounds(memory));
	}
	return f;
}

double
pm_cards_spread(const pm_cards *c)
{
	double		spread = 0;

	for (int work = 0; c != NULL && work < PM_N_CARD_WORKS; work++)
		spread = fmax(spread, c->spread[work]);
	return spread;
}

double
pm_cards_doubt(const pm_cards *c, const char *gpu, double level)
{
	pm_card_known known = pm_cards_known(c, gpu);
	double		spread = known == PM_CARD_FROM_SHEET ? pm_cards_spread(c) : 0;

	for (int work = 0; known == PM_CARD_FROM_OPERATORS && work < PM_N_CARD_LEVELS; work++)
		spread = fmax(spread, c->operator_spread[work]);
	return spread * log(1 / (1 - level));
}

/* ---- learning ---- */

/* What a row says about the level of its card. */
typedef struct point
{
	const pm_gpu *gpu;
	int			dtype;
	int			work;
	uint64_t	structure;
	double		level;
	double		weight;
} point;

static int
by_card(const void *a, const void *b)
{
	const point *x = a;
	const point *y = b;
	int			c = strcmp(x->gpu->name, y->gpu->name);

	if (c != 0)
		return c;
	if (x->dtype != y->dtype)
		return x->dtype - y->dtype;
	if (x->work != y->work)
		return x->work - y->work;
	if (x->structure != y->structure)
		return x->structure < y->structure ? -1 : 1;
	return (x->level > y->level) - (x->level < y->level);
}

static int
by_level(const void *a, const void *b)
{
	const point *x = a;
	const point *y = b;

	return (x->level > y->level) - (x->level < y->level);
}

static int
gather(const pm_cards *c, const pm_dataset *d, const double *error, const double (*share)[PM_N_CARD_WORKS], point *p)
{
	int			n = 0;

	for (int i = 0; i < d->n; i++)
	{
		const pm_question *q = &d->samples[i].query;
		int			work = share[i][PM_CARD_CONV] > share[i][PM_CARD_REST] ? PM_CARD_CONV : PM_CARD_REST;
		double		part = share[i][work];

		if (!isfinite(error[i]) || !(part > 0))
			continue;
		p[n++] = (point) {.gpu = q->gpu, .dtype = (int) q->dtype, .work = work, .structure = q->graph->structure, .weight = part,
			.level = level_of(c, q->gpu, (int) q->dtype, work) + error[i] / fmax(part, LEAST_SHARE)};
	}
	qsort(p, n, sizeof(point), by_card);
	return n;
}

/* Rows of one structure together weigh as much as one; returns how many there are. */
static int
weigh_structures(point *p, int n)
{
	int			structures = 0;

	for (int i = 0; i < n; structures++)
	{
		int			end = i;

		while (end < n && p[end].structure == p[i].structure)
			end++;
		for (int k = i; k < end; k++)
			p[k].weight /= end - i;
		i = end;
	}
	return structures;
}

/* Reorders p. */
static double
weighted_median(point *p, int n)
{
	double		total = 0,
				sum = 0;
	int			i = 0;

	qsort(p, n, sizeof(point), by_level);
	for (int k = 0; k < n; k++)
		total += p[k].weight;
	while (i < n - 1 && (sum += p[i].weight) < total / 2)
		i++;
	return p[i].level;
}

/* Weights of the traits for a kind of work, from all cards but `without` (NULL: from all): ridge regression towards the priors, with Cauchy's weights. */
static void
regress(pm_cards *c, int work, const pm_gpu *const *gpus, const char *without)
{
	for (int k = 0; k < PM_N_CARD_TRAITS; k++)
		c->trait[work][k] = prior[k].mean;
	for (int round = 0; round < ROUNDS; round++)
	{
		double		m[PM_N_CARD_TRAITS][PM_N_CARD_TRAITS] = {{0}};
		double		y[PM_N_CARD_TRAITS];

		for (int k = 0; k < PM_N_CARD_TRAITS; k++)
		{
			m[k][k] = 1 / (prior[k].sd * prior[k].sd);
			y[k] = prior[k].mean * m[k][k];
		}
		for (int i = 0; i < c->n; i++)
		{
			double		z[PM_N_CARD_TRAITS];
			double		e = (c->level[i].level - regression(c, gpus[i], c->level[i].dtype, work)) / NOISE;
			double		n = c->level[i].structures;
			double		w = n / (n + PULL) / (1 + e * e) / (NOISE * NOISE);

			if (c->level[i].work != work || (without != NULL && strcmp(c->level[i].gpu, without) == 0))
				continue;
			traits_of(gpus[i], c->level[i].dtype, work, z);
			for (int j = 0; j < PM_N_CARD_TRAITS; j++)
			{
				y[j] += w * z[j] * c->level[i].level;
				for (int k = 0; k < PM_N_CARD_TRAITS; k++)
					m[j][k] += w * z[j] * z[k];
			}
		}
		/* the priors make m positive definite; where rounding does not leave it so, the weights stay as they are */
		if (pm_solve_spd(&m[0][0], y, PM_N_CARD_TRAITS))
			memcpy(c->trait[work], y, sizeof(y));
	}
}

/* Each card is left out and guessed; those that are not like any other count like the rest. */
static void
set_spread(pm_cards *c, int work, const pm_gpu *const *gpus)
{
	double		sum = 0;
	int			n = 0;

	for (int i = 0; i < c->n; i++)
		if (c->level[i].work == work && !gpus[i]->is_cpu)
		{
			regress(c, work, gpus, c->level[i].gpu);
			sum += fmin(fabs(c->level[i].level - regression(c, gpus[i], c->level[i].dtype, work)), PM_MOST_CARD_SPREAD);
			n++;
		}
	c->spread[work] = n >= LEAST_LEVELS ? sum / n : 0;
}

static bool
has_level(const pm_card_level *list, int n, const pm_card_level *l)
{
	for (int i = 0; i < n; i++)
		if (list[i].dtype == l->dtype && list[i].work == l->work && strcmp(list[i].gpu, l->gpu) == 0)
			return true;
	return false;
}

pm_code
pm_cards_update(pm_cards *c, const pm_dataset *d, const double *error, const double (*share)[PM_N_CARD_WORKS],
				pm_arena *a, pm_status *st)
{
	point	   *p = PM_NEW(a, point, d->n + 1);
	pm_card_level *level = PM_NEW(a, pm_card_level, d->n + (c->settled ? c->n : 0) + 1);
	const pm_gpu **gpus = PM_NEW(a, const pm_gpu *, d->n + 1);
	int			n = p ? gather(c, d, error, share, p) : 0;
	int			levels = 0;

	if (!p || !level || !gpus)
		return pm_no_memory(st, a);
	for (int i = 0; i < n && levels < PM_MAX_CARD_LEVELS; levels++)
	{
		pm_card_level *l = &level[levels];
		int			end = i;

		while (end < n && p[end].gpu->name == p[i].gpu->name && p[end].dtype == p[i].dtype &&
			   p[end].work == p[i].work)
			end++;
		gpus[levels] = p[i].gpu;
		l->dtype = p[i].dtype;
		l->work = p[i].work;
		l->structures = weigh_structures(p + i, end - i);
		l->level = weighted_median(p + i, end - i);
		if ((l->gpu = pm_strdup(a, gpus[levels]->name, strlen(gpus[levels]->name))) == NULL)
			return pm_no_memory(st, a);
		i = end;
	}
	n = levels;
	for (int i = 0; i < c->n && c->settled; i++)
		if (!has_level(level, n, &c->level[i]))
			level[levels++] = c->level[i];
	c->level = level;
	c->n = levels;
	for (int work = 0; work < PM_N_CARD_WORKS && !c->settled; work++)
	{
		set_spread(c, work, gpus);
		regress(c, work, gpus, NULL);
	}
	for (int i = 0; i < n; i++)
	{
		double		guessed = regression(c, gpus[i], level[i].dtype, level[i].work);

		level[i].level = guessed + (level[i].level - guessed) * level[i].structures / (level[i].structures + PULL);
	}
	return PM_OK;
}

/* ---- storing ---- */

static const char *const work_names[PM_N_CARD_LEVELS] = {
	[PM_CARD_CONV] = "convolutions", [PM_CARD_REST] = "other operators", [PM_CARD_MEMORY] = "memory"
};
static const char *const trait_names[] = {
	"card", "not cuda", "plain 16 bits", "tf32", "amp or bf16", "fp16", "clock", "lanes alone", "ridge",
	"forward operators", "cards of forward operators", "operators", "cards of operators", "spread of operators"
};
static const pm_names works = {"kind of work", PM_N_CARD_LEVELS, work_names};

/* Stored behind the traits. */
enum
{
	FORWARD_ADD = PM_N_CARD_TRAITS, FORWARD_CARDS, BOTH_ADD, BOTH_CARDS, OPERATOR_SPREAD, N_NUMBERS
};
static const pm_names numbers = {"trait of cards", N_NUMBERS, trait_names};

static void
save_numbers(const pm_cards *c, int work, pm_buffer *b)
{
	double		v[N_NUMBERS];

	memcpy(v, c->trait[work], sizeof(c->trait[work]));
	v[FORWARD_ADD] = c->offset[work][0].add;
	v[FORWARD_CARDS] = c->offset[work][0].cards;
	v[BOTH_ADD] = c->offset[work][1].add;
	v[BOTH_CARDS] = c->offset[work][1].cards;
	v[OPERATOR_SPREAD] = c->operator_spread[work];
	pm_named_save(&numbers, v, b);
	pm_put_f64(b, c->spread[work]);
}

void
pm_cards_save(const pm_cards *c, const pm_schema *s, pm_buffer *b)
{
	pm_names_save(&works, b);
	for (int work = 0; work < PM_N_CARD_LEVELS; work++)
		save_numbers(c, work, b);
	pm_put_u32(b, (uint32_t) c->n);
	for (int i = 0; i < c->n; i++)
	{
		pm_put_text(b, c->level[i].gpu);
		pm_put_u32(b, (uint32_t) pm_there(s, PM_LIST_DTYPE, c->level[i].dtype));
		pm_put_u32(b, (uint32_t) c->level[i].work);
		pm_put_u32(b, (uint32_t) c->level[i].structures);
		pm_put_f64(b, c->level[i].level);
	}
}

static pm_code
load_level(pm_card_level *l, const pm_schema *s, const pm_translation *t, pm_reader *r, pm_arena *a, pm_status *st)
{
	int			dtype;
	int			work;

	l->gpu = pm_get_text(r, a);
	if (l->gpu == NULL && !r->failed)
		return pm_no_memory(st, a);
	dtype = (int) pm_get_u32(r, (uint32_t) s->list[PM_LIST_DTYPE].n - 1);
	work = (int) pm_get_u32(r, (uint32_t) t->n - 1);
	l->structures = (int) pm_get_u32(r, INT32_MAX);
	l->level = pm_get_f64(r);
	if (!(fabs(l->level) <= MAX_LOG))
		r->failed = true;
	if (r->failed)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged levels of cards");
	l->dtype = pm_here(s, PM_LIST_DTYPE, dtype);
	l->work = t->here != NULL ? t->here[work] : work;
	return PM_OK;
}

static bool
is_spread(double x)
{
	return x >= 0 && x <= PM_MOST_CARD_SPREAD;
}

/* What predictors of before single operators do not say of these is 0. */
static pm_code
load_numbers(pm_cards *c, int work, pm_reader *r, pm_arena *a, pm_status *st)
{
	double		v[N_NUMBERS] = {0};
	bool		fits = true;
	pm_code		rc;

	for (int k = 0; k < PM_N_CARD_TRAITS; k++)
		v[k] = NAN;
	if ((rc = pm_named_load(&numbers, v, r, a, st)) != PM_OK)
		return rc;
	for (int k = 0; k < N_NUMBERS; k++)
		fits = fits && fabs(v[k]) <= MAX_LOG;
	memcpy(c->trait[work], v, sizeof(c->trait[work]));
	c->offset[work][0] = (pm_card_offset) {v[FORWARD_ADD], v[FORWARD_CARDS]};
	c->offset[work][1] = (pm_card_offset) {v[BOTH_ADD], v[BOTH_CARDS]};
	c->operator_spread[work] = v[OPERATOR_SPREAD];
	c->spread[work] = pm_get_f64(r);
	if (!fits || !is_spread(c->spread[work]) || !is_spread(c->operator_spread[work]) || v[FORWARD_CARDS] < 0 || v[BOTH_CARDS] < 0)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged levels of cards");
	return PM_OK;
}

pm_code
pm_cards_load(pm_cards *c, const pm_schema *s, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_translation t;
	pm_code		rc = pm_names_load(&works, r, a, &t, st);

	for (int i = 0; rc == PM_OK && i < t.n; i++)
		rc = load_numbers(c, t.here != NULL ? t.here[i] : i, r, a, st);
	if (rc != PM_OK)
		return rc;
	c->n = (int) pm_get_u32(r, PM_MAX_CARD_LEVELS);
	if ((c->level = PM_NEW(a, pm_card_level, c->n + 1)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < c->n && rc == PM_OK; i++)
		rc = load_level(&c->level[i], s, &t, r, a, st);
	if (rc == PM_OK && r->failed)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged levels of cards");
	return rc;
}
