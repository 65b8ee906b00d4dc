/*
 * share.c - how much of an answer of "mdot" comes from its base.
 *
 * A network has seen few cards.  On others, and on GPUs with few rows, its
 * errors are larger than those of the base.  So the weight of the base falls
 * with the number of the card's networks, from that of unknown cards to the
 * option's.  Networks of convolutions and others are counted apart: thirty
 * language models of a card do not say how it runs a ResNet.
 */
#include "kinds/mdot/mdot.h"

#include <math.h>
#include <string.h>

#define ABROAD_SHARE	0.7		/* least share of the base on a card that no row was measured on */
#define AT_HOME			0.5		/* networks of a card over those of the card with most, from which on the network knows it as well */

const pm_cards *
pm_mdot_cards_of(const pm_mdot *m)
{
	return m->base.kind != NULL ? m->base.kind->cards(&m->base) : NULL;
}

bool
pm_mdot_is_abroad(const pm_mdot *m, const pm_question *q)
{
	for (int i = 1; i < m->codec.n_gpus; i++)
		if (strcmp(m->codec.gpus[i], q->gpu->name) == 0)
			return false;
	return true;
}

double
pm_mdot_conv_share(const pm_tokens *t)
{
	double		share = 0;

	for (int i = 0; i < t->n; i++)
		if (pm_card_work_of(t->op_class[i]) == PM_CARD_CONV)
			share += pm_roofline_share(t, i);
	return share;
}

/* 0..1: how well the networks know a card by steps that are mostly this kind of work, compared with the card that they know best. */
static double
known_work(const pm_cards *cards, const char *gpu, pm_card_work work)
{
	int			most = pm_cards_networks(cards, NULL, work);

	return most == 0 ? 1 : fmin(pm_cards_networks(cards, gpu, work) / (AT_HOME * most), 1);
}

double
pm_mdot_base_share(const pm_predictor *p, const pm_question *q, double conv_share)
{
	const pm_mdot *m = p->impl;
	double		share = p->options.value[OPT_BASE_SHARE];
	double		most = fmax(share, ABROAD_SHARE);
	double		known;

	if (pm_mdot_is_abroad(m, q))
		return most;
	if (q->gpu->is_cpu)
		return share;
	known = conv_share * known_work(pm_mdot_cards_of(m), q->gpu->name, PM_CARD_CONV) +
		(1 - conv_share) * known_work(pm_mdot_cards_of(m), q->gpu->name, PM_CARD_REST);
	return share + (1 - known) * (most - share);
}
