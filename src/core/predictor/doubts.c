/*
 * doubts.c - causes that widen an interval in addition to the error on a
 * network.
 */
#include "predictor/doubts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kinds/cards.h"
#include "predictor/correction.h"
#include "predictor/infer.h"
#include "predictor/trust.h"

/*
 * The correction of a card, if its recalibration had steps in the format of a question; else NULL.  Steps in one format say little
 * about another, which has units and kernels of its own.
 */
static const pm_device_correction *
said_of_card(const pm_predictor *p, const pm_question *q)
{
	const pm_device_correction *c = pm_correction_find(p->correction, q->gpu->name);
	pm_dtype	format = pm_trust_format(p->trust, q->gpu, q->dtype);

	return c != NULL && pm_correction_measured(c, format) ? c : NULL;
}

/*
 * What is left of the doubt about a card after a recalibration on so many networks, 0..1.  With 1, 2, 5 and 10 networks
 * mean errors on cards left out fall to 0.70, 0.58, 0.38 and 0.40 of those from the sheet (docs/cards.md, kind mdot; opclass
 * nearly the same): this is about their curve.
 */
static double
doubt_left(const pm_device_correction *c)
{
	return c == NULL ? 1 : 1 / sqrt(1 + c->structures);
}

bool
pm_doubts_card(const pm_predictor *p, const pm_question *q)
{
	const pm_cards *cards = pm_predictor_cards(p);

	return cards != NULL && !q->gpu->is_cpu && pm_cards_doubt(cards, q->gpu->name, PM_LEVEL_USUAL) > 0;
}

/* The interval of a card without training rows also holds the possible error of its guessed level. */
static void
doubt_card(const pm_predictor *p, const pm_question *q, double step_ms, double level, pm_verdict *v)
{
	const pm_cards *cards = pm_predictor_cards(p);
	double		doubt;

	if (isnan(v->low_ms) || cards == NULL)
		return;
	doubt = pm_cards_doubt(cards, q->gpu->name, level) * doubt_left(said_of_card(p, q));
	if (doubt > 0)
		pm_interval_widen(step_ms, doubt, &v->low_ms, &v->high_ms);
}

/*
 * The interval of a card that training had no step of, by what a recalibration said of it: its networks, each left out, erred
 * `surprise` times as much as expected.  What was expected counts as EXPECTED_NETWORKS more of them.
 */
#define EXPECTED_NETWORKS	5

static void
weigh_surprise(const pm_predictor *p, const pm_question *q, double step_ms, pm_verdict *v)
{
	const pm_device_correction *c = said_of_card(p, q);
	double		factor;

	if (c == NULL || c->surprise == 0 || isnan(v->low_ms) || !pm_doubts_card(p, q))
		return;
	factor = (EXPECTED_NETWORKS + c->structures * c->surprise) / (EXPECTED_NETWORKS + c->structures);
	pm_interval_stretch(step_ms, factor, &v->low_ms, &v->high_ms);
}

/*
 * A card that was measured, but not in this format or at such a batch, is known no worse than by its sheet: its interval
 * is at most as wide as it would be without the measurements.
 */
static void
bound_by_sheet(const pm_predictor *p, const pm_question *q, double step_ms, double level, pm_verdict *v)
{
	const pm_cards *cards = pm_predictor_cards(p);
	double		low_ms;
	double		high_ms;

	if (isnan(v->low_ms) || cards == NULL || q->gpu->is_cpu || !(v->causes & PM_MEASURED_CAUSES) ||
		(v->causes & (1u << PM_CAUSE_GPU_NOT_SEEN)) ||
		!pm_trust_unmeasured(p->trust, q, step_ms, level, pm_cards_doubt(cards, "", level) > 0, v, &low_ms, &high_ms))
		return;
	/* no card is called so: the doubt about one of which nothing was measured */
	pm_interval_widen(step_ms, pm_cards_doubt(cards, "", level), &low_ms, &high_ms);
	v->low_ms = fmax(v->low_ms, low_ms);
	v->high_ms = fmin(v->high_ms, high_ms);
}

/*
 * An optimizer that training has not seen is predicted from the bytes that it moves, at level 0.9 within a factor of 2: updates in
 * timm's steps take 2 to 3 times their traffic, where 4/3 is what is assumed at least.  Only the update is in doubt: the rest of the
 * step is as with others.
 */
#define UPDATE_DOUBT	1.0

static void
doubt_optimizer(double step_ms, double level, pm_verdict *v)
{
	double		usual = log1p(UPDATE_DOUBT * v->update_share);

	if ((v->causes & (1u << PM_CAUSE_OPTIMIZER_NOT_SEEN)) && !isnan(v->low_ms))
		pm_interval_widen(step_ms, usual * log(1 - level) / log(1 - PM_LEVEL_USUAL), &v->low_ms, &v->high_ms);
}

/* A question that the kind lacks a measurement for is out of the domain, whatever else is said of it. */
static void
doubt_kind(const pm_predictor *p, const pm_question *q, double step_ms, pm_verdict *v)
{
	bool		inside = v->in_domain;

	if (p->kind->informed == NULL || p->kind->informed(p, q))
		return;
	pm_verdict_leave(v, PM_CAUSE_NOT_MEASURED_ELSEWHERE, "the network was not measured on another device near this batch");
	if (inside && !isnan(v->low_ms))
		pm_interval_stretch(step_ms, PM_OUTSIDE_FACTOR, &v->low_ms, &v->high_ms);
}

/*
 * A card that training has no steps of may be known from single operators, in some formats: say so behind the other remarks, which may be
 * about something else, such as the framework.
 */
static void
mention_operators(const pm_predictor *p, const pm_question *q, pm_verdict *v)
{
	const pm_cards *cards = pm_predictor_cards(p);
	bool		formats[PM_N_DTYPES] = {false};
	size_t		len = strlen(v->reason);
	char		list[80] = "";

	if (!(v->causes & (1u << PM_CAUSE_GPU_NOT_SEEN)) || pm_cards_known(cards, q->gpu->name) != PM_CARD_FROM_OPERATORS)
		return;
	for (int i = 0; i < cards->n; i++)
		if (strcmp(cards->level[i].gpu, q->gpu->name) == 0)
			formats[cards->level[i].dtype] = true;
	for (int f = 0; f < PM_N_DTYPES; f++)
		if (formats[f])
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", list[0] ? ", " : "", pm_dtype_name[f]);
	snprintf(v->reason + len, PM_REASON_SIZE - len, "; single operators on gpu \"%.*s\" were, in %s",
			 pm_shown(q->gpu->name), q->gpu->name, list);
}

/* A question that names no release is answered for another than the usual one of the card: domain_frameworks.c says why. */
static void
mention_release(const pm_predictor *p, const pm_question *q, const pm_spread *spread, pm_verdict *v)
{
	const char *usual = pm_trust_gpu_framework(p->trust, q->gpu->name);
	char		what[220];

	if (spread->answering == NULL || usual == NULL || strcmp(spread->answering, usual) == 0)
		return;
	snprintf(what, sizeof(what), "answered for framework \"%.*s\", of which training knows nearer networks than of \"%.*s\"",
			 pm_shown(spread->answering), spread->answering, pm_shown(usual), usual);
	pm_verdict_remark(v, what);
}

/*
 * If a question names a release that the card was not measured with, and it was measured with several others on networks like this one, the
 * interval reaches as far as their answers; at levels below the usual one, a part of it.  A question that names none is one about the
 * release that answers.
 */
static void
doubt_release(const pm_predictor *p, const pm_question *q, double step_ms, double level, const pm_spread *spread, pm_verdict *v)
{
	double		part = fmin(log(1 - level) / log(1 - PM_LEVEL_USUAL), 1);
	double		least = step_ms * exp(part * spread->least);
	double		most = step_ms * exp(part * spread->most);
	char		what[120];

	mention_release(p, q, spread, v);
	if (!(least < v->low_ms) && !(most > v->high_ms))
		return;
	v->causes |= 1u << PM_CAUSE_RELEASES_DIFFER;
	v->low_ms = fmin(v->low_ms, least);
	v->high_ms = fmax(v->high_ms, most);
	snprintf(what, sizeof(what), "by releases of the framework that were measured on this device, the step differs from %.2f to %.2f times",
			 exp(spread->least), exp(spread->most));
	pm_verdict_remark(v, what);
}

#define WIDEST_FACTOR	100.0	/* between the bounds of an interval of level 0.9 that still says something */

/*
 * Rows that contradict each other, such as passes of 1e-6 ms beside such of 1e9 ms, leave an interval that holds
 * everything: a question like them is not one that the predictor can answer. The limit grows with the level as the
 * interval of Laplace's distribution does.
 */
static void
doubt_measurements(double level, pm_verdict *v)
{
	double		factor = v->high_ms / v->low_ms;
	char		why[120];

	if (!v->in_domain || isnan(factor) || factor <= fmax(WIDEST_FACTOR, pow(1 - level, -2)))
		return;
	snprintf(why, sizeof(why), "measurements in training contradict each other: the interval spans a factor of %.2g", factor);
	pm_verdict_leave(v, PM_CAUSE_MEASUREMENTS_DISAGREE, why);
}

void
pm_add_doubts(const pm_predictor *p, const pm_question *q, double step_ms, double level, const pm_spread *spread, pm_verdict *v)
{
	mention_operators(p, q, v);
	doubt_card(p, q, step_ms, level, v);
	bound_by_sheet(p, q, step_ms, level, v);
	weigh_surprise(p, q, step_ms, v);
	doubt_optimizer(step_ms, level, v);
	doubt_kind(p, q, step_ms, v);
	if (q->mode == PM_INFERENCE)
		pm_infer_doubt(p->passes, q, step_ms, level, v);
	doubt_release(p, q, step_ms, level, spread, v);
	doubt_measurements(level, v);
}
