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
 * at least five networks of the kind and in the format of the question, or if
 * the predictor was recalibrated on it.  The answers for all others are held
 * between those for the cards of which more is known: more networks of this
 * kind of work, then more networks, then single operators, then the name that
 * comes first.  Each of these is held by better known ones in turn, so answers
 * for all cards without an own answer are in the order of their sheets.
 *
 * If own answers contradict the sheets, so that a better card takes longer than
 * a worse one, a card between them is only held between the two.
 */
#ifndef PM_BOUNDS_H
#define PM_BOUNDS_H

#include "kinds/kind.h"

#define PM_OWN_NETWORKS	5		/* that give a card an answer of its own */

/* The cards that a question must be asked about to answer it for the last of them. */
typedef struct pm_sisters
{
	int			n;				/* >= 1 */
	const pm_gpu **gpu;			/* [n] best known first; the last one is the card of the question, without its name */
	bool	   *own;			/* [n] it has its own answer */
} pm_sisters;

/* *sisters, in arena a, for the question s.  PM_ERR_MEMORY, PM_ERR_INPUT. */
pm_code		pm_sisters_find(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch, pm_sisters *sisters, pm_status *st);

/* The answer for the last card, given what the predictor says of each by itself; ms[sisters->n] is changed. */
double		pm_sisters_settle(const pm_sisters *sisters, double *ms);

#endif
