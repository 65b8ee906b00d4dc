/*
 * sensitivity.h - the effect of each element of a card's state on a prediction.
 */
#ifndef PM_SENSITIVITY_H
#define PM_SENSITIVITY_H

#include "kinds/kind.h"
#include "predictor/card_state.h"

/* Whether the kind of p, with its options, takes the factors of a state. */
bool		pm_has_state(const pm_predictor *p);

/*
 * z[PM_N_FACTORS]: by how much ln(step) grows with each element, on a card in state[PM_N_FACTORS] (NULL: all 0);
 * 0 for elements that none of its operators belongs to, and all 0 where pm_has_state() is false.
 * *ms: the answer of p for a card in that state, without the correction of p.  Errors of predicting s.
 */
pm_code		pm_sensitivity(const pm_predictor *p, const pm_sample *s, const double *state, pm_arena *scratch, double *ms, double *z,
						   pm_status *st);

#endif
