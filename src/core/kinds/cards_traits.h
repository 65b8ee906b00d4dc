/*
 * cards_traits.h - what levels of cards are guessed from: a regression of the
 * known ones on a few traits of the data sheet.  For cards.c.
 */
#ifndef PM_CARDS_TRAITS_H
#define PM_CARDS_TRAITS_H

#include "kinds/cards.h"

/* Places of the traits that not all guesses take. */
#define PM_TRAIT_CLOCK	6		/* 0 of every card, since pm_gpu_rate() knows what power takes of the clock; stored predictors name it */
#define PM_TRAIT_LANES	7
#define PM_TRAIT_RIDGE	8

#define PM_CARD_PULL	1.0		/* a level is pulled to the regression as if by so many networks */

/* z[PM_N_CARD_TRAITS] of a card, for a format (pm_dtype) and a kind of work (pm_card_work); all 0 of a CPU. */
void		pm_card_traits_of(const pm_gpu *g, int dtype, int work, double *z);
/* What the traits z say of a level. */
double		pm_card_traits_sum(const double *weight, const double *z);
/* The same of a card, with the weights of c. */
double		pm_card_regression(const pm_cards *c, const pm_gpu *g, int dtype, int work);

/*
 * Set the weights of c for each kind of work from its levels, whose sheets are gpus[c->n]; levels of a card stand together.
 * With `spread` also how far guesses are off for cards that are left out in turn.
 */
pm_code		pm_card_traits_learn(pm_cards *c, const pm_gpu *const *gpus, bool spread, pm_arena *a, pm_status *st);

#endif
