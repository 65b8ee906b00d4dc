/*
 * bounds.c - which cards hold the answer for another, and how.
 */
#include "predictor/bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "features/sheets.h"
#include "kinds/cards.h"
#include "predictor/correction.h"
#include "predictor/domain.h"
#include "predictor/trust.h"

/* What is known of a card for a question. */
typedef struct standing
{
	const pm_gpu *gpu;
	bool		asked;			/* the card of the question */
	bool		own;
	bool		enough;			/* networks for an answer of its own */
	int			of_work;		/* networks of the kind of work */
	int			networks;
	bool		operators;
	bool		needed;
} standing;

static bool
are_related(const pm_gpu *a, const pm_gpu *b)
{
	return pm_gpu_at_least(a, b) || pm_gpu_at_least(b, a);
}

static standing
standing_of(const pm_predictor *p, const pm_cards *c, const pm_gpu *gpu, pm_dtype dtype, pm_card_work work)
{
	const pm_device_correction *corrected = pm_correction_find(p->correction, gpu->name);
	int			format = (int) pm_trust_format(p->trust, gpu, dtype);
	standing	s = {.gpu = gpu, .of_work = pm_cards_networks(c, gpu->name, work)};

	s.networks = s.of_work + pm_cards_networks(c, gpu->name, work == PM_CARD_CONV ? PM_CARD_REST : PM_CARD_CONV);
	s.operators = pm_cards_known(c, gpu->name) == PM_CARD_FROM_OPERATORS;
	s.enough = pm_cards_networks_in(c, gpu->name, format, work) >= PM_OWN_NETWORKS ||
		(corrected != NULL && corrected->structures >= PM_OWN_NETWORKS);
	s.own = s.enough || corrected != NULL;
	return s;
}

/* Best known first. */
static int
by_standing(const void *a, const void *b)
{
	const standing *x = a;
	const standing *y = b;

	if (x->enough != y->enough)
		return y->enough - x->enough;
	if (x->of_work != y->of_work)
		return y->of_work - x->of_work;
	if (x->networks != y->networks)
		return y->networks - x->networks;
	if (x->operators != y->operators)
		return y->operators - x->operators;
	return strcmp(x->gpu->name, y->gpu->name);
}

/* The kind of work that most arithmetic of the network is, whatever card, format and batch. */
static pm_code
work_of(const pm_sample *s, pm_arena *scratch, pm_card_work *work, pm_status *st)
{
	pm_question q = s->query;
	pm_tokens	t;
	pm_code		rc;

	q.batch = 1;
	if ((rc = pm_tokens_build_work(s->skeleton, &q, scratch, &t, st)) == PM_OK)
		*work = pm_domain_kind_of(&t) == PM_NETWORK_CONV ? PM_CARD_CONV : PM_CARD_REST;
	return rc;
}

/* Of list[n], best known first, what is needed for the card that was asked about, at the same places. */
static void
mark_needed(standing *list, int n)
{
	for (int i = n - 1; i >= 0; i--)
		for (int k = i + 1; k < n && !list[i].needed; k++)
			list[i].needed = list[k].needed && !list[k].own && are_related(list[i].gpu, list[k].gpu);
}

/* Cards of the same architecture as gpu, itself included, by standing; those behind gpu are left out. */
static int
line_up(const pm_predictor *p, const pm_cards *c, const pm_gpu *gpu, pm_dtype dtype, pm_card_work work, standing *list)
{
	int			n = 0;

	list[n] = standing_of(p, c, gpu, dtype, work);
	list[n].asked = list[n].needed = true;
	if (list[n++].own)
		return n;
	for (int i = 0; i < c->n_sheets; i++)
		if (strcmp(c->sheets[i].name, gpu->name) != 0 && pm_gpu_same_architecture(gpu, &c->sheets[i]))
			list[n++] = standing_of(p, c, &c->sheets[i], dtype, work);
	qsort(list, n, sizeof(standing), by_standing);
	while (!list[n - 1].asked)
		n--;
	mark_needed(list, n);
	return n;
}

static pm_code
keep_needed(const standing *list, int n, pm_arena *a, pm_sisters *sisters, pm_status *st)
{
	pm_gpu	   *asked = PM_NEW(a, pm_gpu, 1);

	*sisters = (pm_sisters) {.gpu = PM_NEW(a, const pm_gpu *, n), .own = PM_NEW(a, bool, n)};
	if (!asked || !sisters->gpu || !sisters->own)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		if (list[i].needed)
		{
			sisters->gpu[sisters->n] = list[i].gpu;
			sisters->own[sisters->n++] = list[i].own;
		}
	/* the question may be gone when a prepared one is answered */
	*asked = *sisters->gpu[sisters->n - 1];
	asked->name = NULL;
	sisters->gpu[sisters->n - 1] = asked;
	return PM_OK;
}

/* Whether c knows a card that may hold the answer for gpu. */
static bool
has_relatives(const pm_cards *c, const pm_gpu *gpu)
{
	for (int i = 0; c != NULL && i < c->n_sheets; i++)
		if (strcmp(c->sheets[i].name, gpu->name) != 0 && are_related(gpu, &c->sheets[i]))
			return true;
	return false;
}

pm_code
pm_sisters_find(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch, pm_sisters *sisters, pm_status *st)
{
	const pm_cards *c = p->kind->cards != NULL ? p->kind->cards(p) : NULL;
	const pm_gpu *gpu = s->query.gpu;
	standing	alone = {.gpu = gpu, .own = true, .needed = true};
	standing   *list;
	pm_card_work work = PM_CARD_REST;
	pm_code		rc;

	if (!has_relatives(c, gpu))
		return keep_needed(&alone, 1, a, sisters, st);
	if ((rc = work_of(s, scratch, &work, st)) != PM_OK)
		return rc;
	if ((list = PM_NEW(scratch, standing, c->n_sheets + 1)) == NULL)
		return pm_no_memory(st, scratch);
	return keep_needed(list, line_up(p, c, gpu, s->query.dtype, work, list), a, sisters, st);
}

/* From the least to the most that answers may be. */
typedef struct range
{
	double		least;
	double		most;
} range;

/* What the answers for the cards before i that have their own answers, or those that have none, let the answer for i be. */
static range
range_of(const pm_sisters *sisters, const double *ms, int i, bool own)
{
	range		r = {0, INFINITY};

	for (int k = 0; k < i; k++)
	{
		if (sisters->own[k] != own)
			continue;
		if (pm_gpu_at_least(sisters->gpu[i], sisters->gpu[k]))
			r.most = fmin(r.most, ms[k]);
		if (pm_gpu_at_least(sisters->gpu[k], sisters->gpu[i]))
			r.least = fmax(r.least, ms[k]);
	}
	return r;
}

/* Where own answers contradict the sheets, the least is above the most. */
static double
within(range r, double ms)
{
	return fmin(fmax(ms, fmin(r.least, r.most)), fmax(r.least, r.most));
}

/* Own answers last: they never put those that are held already into another order, even where they contradict each other. */
double
pm_sisters_settle(const pm_sisters *sisters, double *ms)
{
	for (int i = 0; i < sisters->n; i++)
		if (!sisters->own[i])
			ms[i] = within(range_of(sisters, ms, i, true), within(range_of(sisters, ms, i, false), ms[i]));
	return ms[sisters->n - 1];
}
