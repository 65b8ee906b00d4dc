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
} standing;

/* Whether the sheet is that of another card than gpu, at least as good as it in every figure or at most. */
static bool
is_related(const pm_gpu *sheet, const pm_gpu *gpu)
{
	return strcmp(sheet->name, gpu->name) != 0 && (pm_gpu_at_least(gpu, sheet) || pm_gpu_at_least(sheet, gpu));
}

static standing
standing_of(const pm_predictor *p, const pm_cards *c, const pm_gpu *gpu, pm_card_work work)
{
	const pm_device_correction *corrected = pm_correction_find(p->correction, gpu->name);
	standing	s = {.gpu = gpu, .of_work = pm_cards_networks(c, gpu->name, work)};

	s.networks = s.of_work + pm_cards_networks(c, gpu->name, work == PM_CARD_CONV ? PM_CARD_REST : PM_CARD_CONV);
	s.operators = pm_cards_known(c, gpu->name) == PM_CARD_FROM_OPERATORS;
	/* in any format: else one format might be held and another not, and TF32 come out slower than FP32 */
	s.enough = s.of_work >= PM_OWN_NETWORKS || (corrected != NULL && corrected->structures >= PM_OWN_NETWORKS);
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

/* The cards of c that can be compared with gpu, itself included, by standing; those behind gpu are left out. */
static int
line_up(const pm_predictor *p, const pm_cards *c, const pm_gpu *gpu, pm_card_work work, standing *list)
{
	int			n = 0;

	list[n] = standing_of(p, c, gpu, work);
	list[n].asked = true;
	if (list[n++].own)
		return n;
	for (int i = 0; i < c->n_sheets; i++)
		if (is_related(&c->sheets[i], gpu))
		{
			list[n] = standing_of(p, c, &c->sheets[i], work);
			/* few measurements of a recalibration say nothing of other cards */
			n += list[n].enough || !list[n].own;
		}
	qsort(list, n, sizeof(standing), by_standing);
	while (!list[n - 1].asked)
		n--;
	return n;
}

static pm_code
keep(const standing *list, int n, pm_arena *a, pm_sisters *sisters, pm_status *st)
{
	pm_gpu	   *asked = PM_NEW(a, pm_gpu, 1);

	*sisters = (pm_sisters) {.n = n, .gpu = PM_NEW(a, const pm_gpu *, n)};
	if (!asked || !sisters->gpu)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		sisters->gpu[i] = list[i].gpu;
	/* the question may be gone when a prepared one is answered */
	*asked = *sisters->gpu[n - 1];
	asked->name = NULL;
	sisters->gpu[n - 1] = asked;
	return PM_OK;
}

/* Whether c knows a card that may hold the answer for gpu. */
static bool
has_relatives(const pm_cards *c, const pm_gpu *gpu)
{
	for (int i = 0; c != NULL && i < c->n_sheets; i++)
		if (is_related(&c->sheets[i], gpu))
			return true;
	return false;
}

pm_predictor
pm_as_trained(const pm_predictor *p)
{
	pm_predictor plain = *p;

	plain.correction = NULL;
	return plain;
}

pm_code
pm_sisters_find(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch, pm_sisters *sisters, pm_status *st)
{
	const pm_cards *c = pm_predictor_cards(p);
	const pm_gpu *gpu = s->query.gpu;
	const pm_device_correction *corrected = pm_correction_find(p->correction, gpu->name);
	pm_predictor plain = pm_as_trained(p);
	standing	alone = {.gpu = gpu};
	standing   *list;
	pm_card_work work = PM_CARD_REST;
	pm_code		rc;

	if (!has_relatives(c, gpu))
		return keep(&alone, 1, a, sisters, st);
	if ((rc = work_of(s, scratch, &work, st)) != PM_OK)
		return rc;
	if (pm_correction_held(corrected, work) == 0)
		return keep(&alone, 1, a, sisters, st);
	if ((list = PM_NEW(scratch, standing, c->n_sheets + 1)) == NULL)
		return pm_no_memory(st, scratch);
	rc = keep(list, line_up(corrected != NULL ? &plain : p, c, gpu, work, list), a, sisters, st);
	sisters->work = work;
	sisters->recalibrated = corrected != NULL && sisters->n > 1;
	sisters->held = pm_correction_held(corrected, work);
	return rc;
}

double
pm_sisters_settle(const pm_sisters *sisters, const double *ms)
{
	int			last = sisters->n - 1;
	double		held = ms[last];

	for (int k = last - 1; k >= 0; k--)
	{
		if (pm_gpu_at_least(sisters->gpu[last], sisters->gpu[k]))
			held = fmin(held, ms[k]);
		if (pm_gpu_at_least(sisters->gpu[k], sisters->gpu[last]))
			held = fmax(held, ms[k]);
	}
	return held;
}

double
pm_sisters_hold(const pm_sisters *sisters, const double *ms, double own_ms)
{
	if (!sisters->recalibrated)
		return pm_sisters_settle(sisters, ms);
	return own_ms * pow(pm_sisters_settle(sisters, ms) / ms[sisters->n - 1], sisters->held);
}
