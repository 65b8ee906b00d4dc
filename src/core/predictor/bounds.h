/*
 * bounds.h - the prediction for a card without measurements is bounded by those
 * for measured cards.
 *
 * A card that is at least as good as a measured one in every figure of the sheet
 * (pm_gpu_at_least) takes at most as long for the same question, and a card that
 * the measured one is at least as good as takes at least as long.  Without
 * bounds a better card might come out slower: a measured card may be faster
 * than its sheet lets one expect, and a guess does not know of it.
 *
 * If measured cards contradict their sheets, so that a better one takes longer
 * than a worse one, a card between them is only held between the two.  Answers for
 * cards without measurements stay in the order of their sheets, because the
 * better of two has the lower bounds.  A card has no bounds if the predictor has
 * a level of it or was recalibrated on it.
 */
#ifndef PM_BOUNDS_H
#define PM_BOUNDS_H

#include "kinds/kind.h"

typedef struct pm_bounds
{
	double		least;			/* ms */
	double		most;
} pm_bounds;

/* No bounds. */
#define PM_NO_BOUNDS	((pm_bounds) {0, INFINITY})

/* Number of sheets to go through by pm_bounds_sheet(); 0: answers for this GPU have no bounds. */
int			pm_bounds_sheets(const pm_predictor *p, const pm_gpu *gpu);

/*
 * The sheet i, from 0 to pm_bounds_sheets() - 1, if answers for it bound those for gpu; else
 * NULL.
 */
const pm_gpu *pm_bounds_sheet(const pm_predictor *p, const pm_gpu *gpu, int i);

/* Narrow *b: the answer for the card of this sheet is ms. */
void		pm_bounds_add(pm_bounds *b, const pm_gpu *gpu, const pm_gpu *sheet, double ms);

/* ms, or the nearest bound if it is outside of b. */
double		pm_bounds_apply(const pm_bounds *b, double ms);

#endif
