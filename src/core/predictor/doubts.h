/*
 * doubts.h - causes that widen an interval in addition to the error on a
 * network: a card without measurements, an optimizer that training has not
 * seen, a question for which the kind lacks a measurement, a forward pass, and
 * releases of the framework that differ.
 */
#ifndef PM_DOUBTS_H
#define PM_DOUBTS_H

#include "kinds/kind.h"
#include "predictor/releases.h"
#include "predictor/trust.h"

/*
 * Whether pm_add_doubts() would widen an interval on q's device by the error of its level, if training had no step on it: the
 * level was guessed, or learned from single operators.  Levels of CPUs are not guessed.
 */
bool		pm_doubts_card(const pm_predictor *p, const pm_question *q);
/* Widen the interval of v around step_ms, at this level, and add to v the causes that put q out of the domain. */
void		pm_add_doubts(const pm_predictor *p, const pm_question *q, double step_ms, double level, const pm_spread *spread, pm_verdict *v);

#endif
