/*
 * cards_operators.c - levels of cards that are known from single operators
 * only.
 *
 * An operator by itself shows another level than a network in training: nothing
 * runs beside it, its operands may be in the cache, the clock falls later, and
 * often its forward pass alone was timed.  That difference, the offset, is taken
 * to be the same for all cards, for a kind of work and for the passes that were
 * timed.  It is the mean, over the other cards with operators, of the level of
 * networks less the median level of the operators.  Cards whose level is guessed
 * count next to nothing: they tell the offset where no network was measured on any
 * of these cards.  So operators tell how cards differ, and networks how far all of
 * them are from what operators show.
 */
#include "kinds/cards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_OPERATORS	8		/* fewer say nothing */
#define PULL			10.0	/* a level is pulled to what is guessed as if by so many operators */
#define GUESSED			0.01	/* weight of a card whose level is guessed, where a measured one has 1 */
#define USUAL_SPREAD	0.75	/* of the spread of a guess from the data sheet: how far operators are off, before any card shows it */
#define USUAL_CARDS		2.0		/* the usual spread counts as that of so many cards */

/* Operators of one card, format and kind of work, timed in the same passes. */
typedef struct group
{
	const pm_gpu *gpu;
	int			dtype;
	int			work;
	bool		both;
	int			n;
	double		median;
	double		expected;		/* level of networks, or a guess */
	bool		measured;		/* of networks */
} group;

static int
compare(const void *a, const void *b)
{
	const pm_card_operator *x = a;
	const pm_card_operator *y = b;
	int			c = strcmp(x->gpu->name, y->gpu->name);

	if (c != 0)
		return c;
	if (x->dtype != y->dtype)
		return x->dtype - y->dtype;
	if (x->work != y->work)
		return x->work - y->work;
	if (x->both != y->both)
		return x->both - y->both;
	return (x->level > y->level) - (x->level < y->level);
}

/* Whether compare() tells x and y apart by nothing but their level. */
static bool
is_same(const pm_card_operator *x, const pm_card_operator *y)
{
	return strcmp(x->gpu->name, y->gpu->name) == 0 && x->dtype == y->dtype && x->work == y->work && x->both == y->both;
}

static int
make_groups(const pm_cards *c, pm_card_operator *o, int n, group *g)
{
	int			groups = 0;

	qsort(o, n, sizeof(*o), compare);
	for (int i = 0, end = 0; i < n; i = end)
	{
		while (end < n && is_same(&o[i], &o[end]))
			end++;
		if (end - i < LEAST_OPERATORS)
			continue;
		g[groups] = (group) {.gpu = o[i].gpu, .dtype = o[i].dtype, .work = o[i].work, .both = o[i].both, .n = end - i,
			.median = o[i + (end - i) / 2].level};
		g[groups].expected = pm_cards_expected(c, o[i].gpu, o[i].dtype, o[i].work, &g[groups].measured);
		groups++;
	}
	return groups;
}

/* From all groups of this work and these passes but those of the card `without` (NULL: from all). */
static pm_card_offset
offset_of(const group *g, int n, int work, bool both, const char *without)
{
	pm_card_offset offset = {0};

	for (int i = 0; i < n; i++)
		if (g[i].work == work && g[i].both == both && (without == NULL || strcmp(g[i].gpu->name, without) != 0))
		{
			double		weight = g[i].measured ? 1 : GUESSED;

			offset.add += weight * (g[i].expected - g[i].median);
			offset.cards += weight;
		}
	if (offset.cards > 0)
		offset.add /= offset.cards;
	return offset;
}

/* Cards with networks are left out in turn: how far operators are off for them. */
static double
spread_of(const pm_cards *c, const group *g, int n, int work)
{
	double		sum = USUAL_CARDS * USUAL_SPREAD * c->spread[work];
	double		cards = USUAL_CARDS;

	for (int i = 0; i < n; i++)
	{
		pm_card_offset offset;

		if (g[i].work != work || !g[i].measured)
			continue;
		offset = offset_of(g, n, work, g[i].both, g[i].gpu->name);
		if (offset.cards > 0)
		{
			sum += fmin(fabs(g[i].expected - g[i].median - offset.add), PM_MOST_CARD_SPREAD);
			cards++;
		}
	}
	return fmin(sum / cards, PM_MOST_CARD_SPREAD);
}

/* What all cards have in common; of a predictor that is trained on, what it knows of that stays. */
static void
set_common(pm_cards *c, const group *g, int n)
{
	for (int work = 0; work < PM_N_CARD_LEVELS; work++)
	{
		for (int both = 0; both < 2; both++)
			if (!c->settled || c->offset[work][both].cards == 0)
				c->offset[work][both] = offset_of(g, n, work, both, NULL);
		if (!c->settled || c->operator_spread[work] == 0)
			c->operator_spread[work] = work < PM_N_CARD_WORKS ? spread_of(c, g, n, work) : 0;
	}
}

static bool
is_of_level(const group *g, const pm_card_level *l)
{
	return g->dtype == l->dtype && g->work == l->work && strcmp(g->gpu->name, l->gpu) == 0;
}

/* Drop levels that older operators gave and the groups give anew. */
static void
drop_older(pm_cards *c, const group *g, int n)
{
	int			kept = 0;

	for (int i = 0; i < c->n; i++)
	{
		bool		again = false;

		for (int k = 0; k < n && c->level[i].structures == 0; k++)
			again = again || is_of_level(&g[k], &c->level[i]);
		if (!again)
			c->level[kept++] = c->level[i];
	}
	c->n = kept;
}

/*
 * The level that operators show, offsets added: a mean over the passes that were
 * timed, weighted by how many cards the offset is known from.  False: no other
 * card tells an offset.
 */
static bool
level_of_operators(const pm_cards *c, const group *g, int n, const pm_card_level *like, double *level)
{
	double		sum = 0;
	double		weights = 0;
	double		operators = 0;
	double		expected = 0;

	for (int i = 0; i < n; i++)
	{
		pm_card_offset offset;

		if (!is_of_level(&g[i], like))
			continue;
		offset = c->settled ? c->offset[like->work][g[i].both] : offset_of(g, n, like->work, g[i].both, like->gpu);
		sum += offset.cards * (g[i].median + offset.add);
		weights += offset.cards;
		operators += offset.cards > 0 ? g[i].n : 0;
		expected = g[i].expected;
	}
	if (!(weights > 0))
		return false;
	*level = expected + (sum / weights - expected) * operators / (operators + PULL);
	return true;
}

/* Whether networks say what g would, or a group before it has. */
static bool
is_known(const pm_cards *c, const group *g)
{
	if (g->measured || (g->work == PM_CARD_MEMORY && pm_cards_known(c, g->gpu->name) == PM_CARD_FROM_NETWORKS))
		return true;
	for (int i = 0; i < c->n; i++)
		if (is_of_level(g, &c->level[i]))
			return true;
	return false;
}

pm_code
pm_cards_learn_operators(pm_cards *c, pm_card_operator *o, int n, pm_arena *a, pm_status *st)
{
	group	   *g = PM_NEW(a, group, n + 1);
	pm_card_level *level = PM_LONGER(a, pm_card_level, c->level, c->n, c->n + n + 1);
	int			groups;

	if (!g || !level)
		return pm_no_memory(st, a);
	groups = make_groups(c, o, n, g);
	c->level = level;
	drop_older(c, g, groups);
	set_common(c, g, groups);
	for (int i = 0; i < groups && c->n < PM_MAX_CARD_LEVELS; i++)
	{
		pm_card_level l = {.gpu = g[i].gpu->name, .dtype = g[i].dtype, .work = g[i].work};

		if (is_known(c, &g[i]) || !level_of_operators(c, g, groups, &l, &l.level))
			continue;
		if ((l.gpu = pm_strdup(a, l.gpu, strlen(l.gpu))) == NULL)
			return pm_no_memory(st, a);
		c->level[c->n++] = l;
	}
	return PM_OK;
}
