/*
 * bounds.h - answers for cards of which little is known keep the order of their
 * data sheets.
 *
 * A card that is at least as good as another in every figure of the sheet
 * (pm_gpu_at_least) takes at most as long for the same question.  Predictions by
 * themselves do not know of it: a measured card may be faster than its sheet
 * lets one expect, or was measured with an older framework than its sister.
 *
 * A card has its own answer, whatever its sisters have, if it was measured with
 * at least five networks of the kind of the question (in any format).  The answer for any other card is held by
 * what the predictor says of each card that can be compared with it and of which
 * more is known: that was measured with more networks of this kind of work, then
 * with more networks, then with single operators, then the name that comes first.
 * The best known one is heard last, so its word counts where they contradict each
 * other.
 *
 * A recalibration fits its numbers to the answer that is held so, by what training
 * alone says of all cards: measurements that agree with it change nothing.  It
 * also learns how far the card is to be released, for each kind of work by itself
 * (PM_STATE_RELEASED).  The rest of what others add to the logarithm stays.
 *
 * So if X is better than Y, neither has an own answer, and neither was recalibrated, X is not slower.  Say
 * that X is better known, so that it is one of those that hold Y.  After Y has heard
 * it, Y is not below what X begins with.  Those that come after it hold X and Y
 * alike: who is better than X is better than Y, and who is worse than Y is worse
 * than X.  One that can be compared with X alone is worse than it, and lowers it; one
 * that can be compared with Y alone raises it.  The same holds the other way round,
 * and for two cards that nobody measured, which begin in order.
 */
#ifndef PM_BOUNDS_H
#define PM_BOUNDS_H

#include "kinds/cards.h"
#include "kinds/kind.h"

#define PM_OWN_NETWORKS	5		/* that give a card an answer of its own */

/* The cards that a question must be asked about to answer it for the last of them. */
typedef struct pm_sisters
{
	int			n;				/* >= 1 */
	const pm_gpu **gpu;			/* [n] best known first; the last one is the card of the question, without its name */
	pm_card_work work;			/* that most of the question is; where n > 1 */
	bool		recalibrated;	/* the card was: all are asked about what training alone says, the card too ... */
	double		held;			/* ... and so much of the logarithm that this adds is left */
} pm_sisters;

/* p without what recalibrations added: what training alone says. */
pm_predictor pm_as_trained(const pm_predictor *p);

/* *sisters, in arena a, for the question s.  PM_ERR_MEMORY, PM_ERR_INPUT. */
pm_code		pm_sisters_find(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch, pm_sisters *sisters, pm_status *st);

/*
 * The answer for the last card, given ms[sisters->n], what is said of each by itself: by the predictor, or by training alone if the card
 * was recalibrated.
 */
double		pm_sisters_settle(const pm_sisters *sisters, const double *ms);

/* The same, but if the card was recalibrated, what is left of it on own_ms, the recalibrated answer for the card by itself. */
double		pm_sisters_hold(const pm_sisters *sisters, const double *ms, double own_ms);

#endif
