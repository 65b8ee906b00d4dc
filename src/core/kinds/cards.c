/*
 * cards.c - levels of cards: learning and asking them.
 */
#include "kinds/cards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEVEL	5.0			/* of a factor's logarithm */
#define ODD			0.35		/* distance of a level from its guess at which the word of one network counts half: the pull is then that of one network more */
#define LEAST_SHARE	0.3			/* a row that is less of device time tells no more about it */
#define MOST_ABOVE_AMP	0.69	/* of a level in FP16 that may be of matrix products: they would take twice as long as in AMP */

/* What the sheet says of memory, whatever the format: nothing that is about arithmetic. */
static double
memory_from_sheet(const pm_cards *c, const pm_gpu *g, int work)
{
	double		z[PM_N_CARD_TRAITS];

	pm_card_traits_of(g, PM_FP32, work, z);
	z[PM_TRAIT_RIDGE] = z[PM_TRAIT_LANES] = 0;
	return pm_card_traits_sum(c->trait[work], z);
}

/*
 * Factors on arithmetic and memory of a card that has no level at all, such
 * that a better sheet is never slower.  The ridge counts in FP32 alone, where
 * all arithmetic has the rate that it is of, with a weight of 0 to 1.
 */
static void
guess_from_sheet(const pm_cards *c, const pm_gpu *g, int dtype, int work, double *compute, double *memory)
{
	double		z[PM_N_CARD_TRAITS];
	double		weight[PM_N_CARD_TRAITS];

	pm_card_traits_of(g, dtype, work, z);
	memcpy(weight, c->trait[work], sizeof(weight));
	weight[PM_TRAIT_RIDGE] = dtype == PM_FP32 ? fmin(fmax(weight[PM_TRAIT_RIDGE], 0), 1) : 0;
	*compute = pm_card_traits_sum(weight, z);
	*memory = memory_from_sheet(c, g, work);
}

static const pm_card_level *
find_level(const pm_cards *c, const char *gpu, int dtype, int work)
{
	for (int i = 0; i < c->n; i++)
		if (c->level[i].dtype == dtype && c->level[i].work == work && strcmp(c->level[i].gpu, gpu) == 0)
			return &c->level[i];
	return NULL;
}

/* The regression, and what other dtypes of the card are off it, all of them or those but FP16. */
static double
guess_from(const pm_cards *c, const pm_gpu *g, int dtype, int work, bool with_fp16)
{
	double		off = 0;
	int			n = 0;

	for (int i = 0; i < c->n; i++)
		if (c->level[i].work == work && strcmp(c->level[i].gpu, g->name) == 0 && (with_fp16 || c->level[i].dtype != PM_FP16))
		{
			off += c->level[i].level - pm_card_regression(c, g, c->level[i].dtype, work);
			n++;
		}
	return pm_card_regression(c, g, dtype, work) + off / (n + 1);
}

/*
 * Whether a level in FP16 may be about what it is a factor on: arithmetic, which on matrix units is the same as AMP's.  Steps of
 * networks of convolutions may be mostly other operators and have hardly any arithmetic beside convolutions.  The level of other
 * operators would grow until that little accounts for what is particular about these steps: 25 times the time at the peak and more,
 * and with it that of the card's memory, which is the mean of all formats.  Such a level says nothing.
 */
static bool
is_plausible(const pm_cards *c, const pm_gpu *g, const pm_card_level *fp16)
{
	return fp16->work == PM_CARD_CONV || fp16->structures == 0 || isnan(g->fp16_tensor_tflops) ||
		fp16->level <= guess_from(c, g, PM_AMP, fp16->work, false) + MOST_ABOVE_AMP;
}

/* Level of a card that has none for this dtype: the regression, and what its other dtypes are off it. */
static double
guess(const pm_cards *c, const pm_gpu *g, int dtype, int work)
{
	const pm_card_level *fp16 = find_level(c, g->name, PM_FP16, work);

	return guess_from(c, g, dtype, work, fp16 == NULL || is_plausible(c, g, fp16));
}

static double
within_bounds(double level)
{
	return fmin(fmax(level, -MAX_LEVEL), MAX_LEVEL);
}

int
pm_cards_learned_as(const pm_gpu *g, int dtype)
{
	return dtype == PM_BF16 && pm_gpu_computes_in(g, PM_BF16) ? PM_AMP : dtype;
}

static double
level_of(const pm_cards *c, const pm_gpu *g, int dtype, int work)
{
	int			learned_as = pm_cards_learned_as(g, dtype);
	const pm_card_level *l = find_level(c, g->name, learned_as, work);

	return within_bounds(l != NULL ? l->level : c->n > 0 ? guess(c, g, learned_as, work) : 0);
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

int
pm_cards_networks(const pm_cards *c, const char *gpu, pm_card_work work)
{
	int			most = 0;

	for (int i = 0; c != NULL && i < c->n; i++)
	{
		const pm_card_level *l = &c->level[i];

		if (l->work == (int) work && l->structures > most && (gpu == NULL || strcmp(l->gpu, gpu) == 0))
			most = l->structures;
	}
	return most;
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

bool
pm_cards_know_fp16(const pm_cards *c, const pm_gpu *g, int work)
{
	const pm_card_level *fp16 = find_level(c, g->name, PM_FP16, work);
	const pm_card_level *amp = find_level(c, g->name, PM_AMP, work);

	if (fp16 == NULL || fp16->structures == 0)
		return false;
	return work == PM_CARD_CONV || ((amp == NULL || amp->structures == 0) && is_plausible(c, g, fp16));
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

/* Mean of a card's levels of networks over its formats, by networks; NaN: it has none. */
static double
mean_over_formats(const pm_cards *c, const char *gpu, int work)
{
	double		sum = 0;
	double		networks = 0;

	for (int i = 0; i < c->n; i++)
		if (c->level[i].work == work && strcmp(c->level[i].gpu, gpu) == 0)
		{
			sum += c->level[i].structures * c->level[i].level;
			networks += c->level[i].structures;
		}
	return networks > 0 ? sum / networks : NAN;
}

/* Of a card that has levels. */
static void
levels_of(const pm_cards *c, const pm_gpu *g, int dtype, int work, double *compute, double *memory)
{
	const pm_card_level *operators = find_memory_level(c, g->name);
	double		networks = mean_over_formats(c, g->name, work);

	*compute = level_of(c, g, dtype, work);
	*memory = !isnan(networks) ? networks : operators != NULL ? operators->level : memory_from_sheet(c, g, work);
}

pm_card_factors
pm_cards_factors(const pm_cards *c, const pm_question *q)
{
	bool		known = c != NULL && has_levels(c, q->gpu->name);
	pm_card_factors f = {.launch = c != NULL ? pm_hosts_factor(&c->hosts, q->gpu->name, (int) q->dtype) : 1};

	for (int work = 0; work < PM_N_CARD_WORKS; work++)
	{
		double		compute = 0,
					memory = 0;

		if (known)
			levels_of(c, q->gpu, (int) q->dtype, work, &compute, &memory);
		else if (c != NULL && c->n > 0)
			guess_from_sheet(c, q->gpu, (int) q->dtype, work, &compute, &memory);
		if (c != NULL)
		{
			double		framework = pm_framework_level_of(&c->frameworks, q->framework, (int) q->dtype, work);

			compute += framework;
			memory += framework;
		}
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
	/* who has operators besides the sheet knows no less */
	return fmin(spread, pm_cards_spread(c)) * log(1 / (1 - level));
}

/* ---- sheets ---- */

static bool
has_sheet(const pm_cards *c, const char *gpu)
{
	for (int i = 0; i < c->n_sheets; i++)
		if (strcmp(c->sheets[i].name, gpu) == 0)
			return true;
	return false;
}

pm_code
pm_cards_keep_sheets(pm_cards *c, const pm_sample *samples, int n, pm_arena *a, pm_status *st)
{
	pm_gpu	   *sheets = PM_LONGER(a, pm_gpu, c->sheets, c->n_sheets, c->n_sheets + c->n + 1);

	if (!sheets)
		return pm_no_memory(st, a);
	c->sheets = sheets;
	for (int i = 0; i < n; i++)
	{
		const pm_gpu *g = samples[i].query.gpu;

		if (g->is_cpu || has_sheet(c, g->name) || !has_levels(c, g->name))
			continue;
		sheets[c->n_sheets] = *g;
		if ((sheets[c->n_sheets].name = pm_strdup(a, g->name, strlen(g->name))) == NULL)
			return pm_no_memory(st, a);
		c->n_sheets++;
	}
	return PM_OK;
}

/* ---- learning ---- */

/* What a row says about the level of its card. */
typedef struct point
{
	const pm_gpu *gpu;
	const char *framework;		/* NULL: the usual one */
	int			dtype;
	int			work;
	uint64_t	structure;
	double		level;			/* of card and framework together */
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
		p[n++] = (point) {.gpu = q->gpu, .framework = q->framework, .dtype = pm_cards_learned_as(q->gpu, (int) q->dtype), .work = work,
			.structure = q->graph->structure, .weight = part, .level = level_of(c, q->gpu, (int) q->dtype, work) +
			pm_framework_level_of(&c->frameworks, q->framework, (int) q->dtype, work) + error[i] / fmax(part, LEAST_SHARE)};
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

static bool
has_level(const pm_card_level *list, int n, const pm_card_level *l)
{
	for (int i = 0; i < n; i++)
		if (list[i].dtype == l->dtype && list[i].work == l->work && strcmp(list[i].gpu, l->gpu) == 0)
			return true;
	return false;
}

/* Levels of the cards of p[0..n), which is reordered, without those of their frameworks; *gpus: the sheet of each. */
static pm_code
fresh_levels(const pm_frameworks *f, point *p, int n, pm_card_level *level, const pm_gpu **gpus, int *levels, pm_arena *a, pm_status *st)
{
	*levels = 0;
	qsort(p, n, sizeof(point), by_card);
	for (int i = 0; i < n && *levels < PM_MAX_CARD_LEVELS; ++*levels)
	{
		pm_card_level *l = &level[*levels];
		int			end = i;

		for (; end < n && p[end].gpu->name == p[i].gpu->name && p[end].dtype == p[i].dtype && p[end].work == p[i].work; end++)
			p[end].level -= pm_framework_level_of(f, p[end].framework, p[end].dtype, p[end].work);
		gpus[*levels] = p[i].gpu;
		l->dtype = p[i].dtype;
		l->work = p[i].work;
		l->structures = weigh_structures(p + i, end - i);
		l->level = weighted_median(p + i, end - i);
		if ((l->gpu = pm_strdup(a, p[i].gpu->name, strlen(p[i].gpu->name))) == NULL)
			return pm_no_memory(st, a);
		i = end;
	}
	return PM_OK;
}

/* The framework that most rows are of, by the name of one of them; NULL where no row names one. */
static const char *
usual_framework(const point *p, int n)
{
	const char *usual = NULL;
	int			votes = 0;

	/* the candidate that a majority would have; without a majority any will do */
	for (int i = 0; i < n; i++)
		if (p[i].framework != NULL)
		{
			if (votes == 0)
				usual = p[i].framework;
			votes += pm_same_framework(usual, p[i].framework) ? 1 : -1;
		}
	return usual;
}

static bool
is_usual(const char *usual, const point *p)
{
	return usual == NULL || p->framework == NULL || pm_same_framework(usual, p->framework);
}

static int
by_framework(const void *a, const void *b)
{
	const point *x = a;
	const point *y = b;
	int			c = strcmp(x->framework, y->framework);

	if (c == 0)
		c = x->work - y->work;
	if (c == 0)
		c = pm_is_half(x->dtype) - pm_is_half(y->dtype);
	return c != 0 ? c : by_card(a, b);
}

static bool
same_level(const point *x, const point *y)
{
	return x->work == y->work && pm_is_half(x->dtype) == pm_is_half(y->dtype) && strcmp(x->framework, y->framework) == 0;
}

/*
 * The median over cards of what the rows p[0..n) of one framework are off the
 * level that their card has by the usual one, or is guessed to have; pulled to 0
 * as if by one card.
 */
static double
level_of_framework(const pm_cards *c, point *p, int n)
{
	int			cards = 0;

	for (int i = 0; i < n;)
	{
		const point first = p[i];
		const pm_card_level *known = find_level(c, first.gpu->name, first.dtype, first.work);
		double		own = known != NULL ? known->level : pm_card_regression(c, first.gpu, first.dtype, first.work);
		int			end = i;

		while (end < n && p[end].gpu->name == first.gpu->name && p[end].dtype == first.dtype)
			end++;
		weigh_structures(p + i, end - i);
		p[cards] = (point) {.level = weighted_median(p + i, end - i) - own, .weight = 1};
		cards++;
		i = end;
	}
	return weighted_median(p, cards) * cards / (cards + 1);
}

/* Levels of the frameworks of p[0..n) other than the usual one, given levels of cards by the usual one; p is reordered. */
static pm_code
learn_frameworks(pm_cards *c, point *p, int n, pm_arena *a, pm_status *st)
{
	pm_frameworks *f = &c->frameworks;

	f->n = 0;
	if ((f->level = PM_NEW(a, pm_framework_level, n + 1)) == NULL)
		return pm_no_memory(st, a);
	qsort(p, n, sizeof(point), by_framework);
	for (int i = 0; i < n && f->n < PM_MAX_CARD_LEVELS;)
	{
		pm_framework_level *l = &f->level[f->n];
		int			end = i;

		while (end < n && same_level(&p[end], &p[i]))
			end++;
		l->half = pm_is_half(p[i].dtype);
		l->work = p[i].work;
		if ((l->name = pm_strdup(a, p[i].framework, strlen(p[i].framework))) == NULL)
			return pm_no_memory(st, a);
		l->level = within_bounds(level_of_framework(c, p + i, end - i));
		f->n++;
		i = end;
	}
	return PM_OK;
}

/* Frameworks before cards: what the usual one says of cards is compared with what the others say. */
static pm_code
separate_frameworks(pm_cards *c, const point *p, int n, pm_card_level *level, const pm_gpu **gpus, pm_arena *a, pm_status *st)
{
	const char *usual = usual_framework(p, n);
	point	   *by = PM_NEW(a, point, n + 1);
	int			first = 0,
				other = n;
	pm_code		rc;

	if (!by)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		by[is_usual(usual, &p[i]) ? first++ : --other] = p[i];
	c->frameworks.n = 0;
	c->level = level;
	if ((rc = fresh_levels(&c->frameworks, by, first, level, gpus, &c->n, a, st)) != PM_OK)
		return rc;
	if ((rc = pm_card_traits_learn(c, gpus, false, a, st)) != PM_OK)
		return rc;
	return learn_frameworks(c, by + first, n - first, a, st);
}

/* How many networks say of the card of level i what that level says, or half as much, given how far each of the n levels is off its guess. */
static int
agreeing_networks(const pm_card_level *l, const double *off, int n, int i)
{
	int			networks = 0;

	for (int k = 0; k < n; k++)
		if (strcmp(l[k].gpu, l[i].gpu) == 0 && off[k] * off[i] >= off[i] * off[i] / 2)
			networks += l[k].structures;
	return networks;
}

/*
 * Levels of few networks, pulled to their guesses: as if by one network, and by more
 * where few networks say what is far from the guess, which may come from something
 * else than the card.
 */
static pm_code
pull_levels(pm_cards *c, int n, const pm_gpu **gpus, pm_arena *a, pm_status *st)
{
	double	   *off = PM_NEW(a, double, n + 1);

	if (!off)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		off[i] = c->level[i].level - pm_card_regression(c, gpus[i], c->level[i].dtype, c->level[i].work);
	for (int i = 0; i < n; i++)
	{
		double		odd = off[i] / ODD / agreeing_networks(c->level, off, n, i);
		double		pull = PM_CARD_PULL + odd * odd;

		c->level[i].level -= off[i] * pull / (c->level[i].structures + pull);
	}
	return PM_OK;
}

/* Guesses for cards without levels from those in c, and how far they are off; and the levels of few networks pulled to their guesses. */
static pm_code
learn_traits(pm_cards *c, int n, const pm_gpu **gpus, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	if (!c->settled && (rc = pm_card_traits_learn(c, gpus, true, a, st)) != PM_OK)
		return rc;
	return pull_levels(c, n, gpus, a, st);
}

pm_code
pm_cards_update(pm_cards *c, const pm_dataset *d, const double *error, const double (*share)[PM_N_CARD_WORKS],
				pm_arena *a, pm_status *st)
{
	point	   *p = PM_NEW(a, point, d->n + 1);
	pm_card_level *level = PM_NEW(a, pm_card_level, d->n + (c->settled ? c->n : 0) + 1);
	const pm_gpu **gpus = PM_NEW(a, const pm_gpu *, d->n + 1);
	int			n = p ? gather(c, d, error, share, p) : 0;
	int			fresh = 0;
	int			levels;
	pm_code		rc;

	if (!p || !level || !gpus)
		return pm_no_memory(st, a);
	if ((!c->settled && (rc = separate_frameworks(c, p, n, level, gpus, a, st)) != PM_OK) ||
		(rc = fresh_levels(&c->frameworks, p, n, level, gpus, &fresh, a, st)) != PM_OK)
		return rc;
	levels = fresh;
	for (int i = 0; i < c->n && c->settled; i++)
		if (!has_level(level, fresh, &c->level[i]))
			level[levels++] = c->level[i];
	c->level = level;
	c->n = levels;
	for (int i = 0; i < fresh; i++)
		if (level[i].dtype == PM_FP16 && !is_plausible(c, gpus[i], &level[i]))
			level[i].level = guess_from(c, gpus[i], PM_AMP, level[i].work, false);
	return learn_traits(c, fresh, gpus, a, st);
}
