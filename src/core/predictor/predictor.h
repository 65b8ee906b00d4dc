/*
 * predictor.h - what is the same for every kind of predictor: checked training,
 * calibrated intervals, prepared questions.  stored.h stores it.
 */
#ifndef PM_PREDICTOR_H
#define PM_PREDICTOR_H

#include "kinds/settings.h"
#include "predictor/trust.h"

/* Whether all measurements can be learned from: values within the bounds of q, and names that can be stored. */
pm_code		pm_check_profiles(const pm_dataset *d, const pm_quantity *q, pm_status *st);

/* PM_ERR_DIVERGED: the training is no use, and why. */
pm_code		pm_diverged(pm_status *st, const char *why);

/*
 * Validate d against the kind, kind->fit, and learn p->trust.  A kind with the
 * option "calibration_folds" is first trained that often without a part of the
 * structures, to predict that part.  report->valid_* are of those cross
 * predictions where the kind holds nothing out itself.
 *
 * A training that goes on from p->start is not calibrated by folds, as the
 * start has seen what they would hold out: its intervals are those of the start
 * and the errors that this had on rows of other structures (pm_trust_update).
 *
 * PM_ERR_DATA: rows that cannot be learned from; PM_ERR_OPTION: a quantity that
 * the kind cannot learn; PM_ERR_DIVERGED: the predictor answers nothing sound.
 */
pm_code		pm_predictor_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
							 const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st);
pm_code		pm_predictor_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
								 double *step_ms, pm_part *parts, int *n_parts, pm_status *st);
/*
 * An interval for the prediction step_ms of s, and whether s is like what p was
 * trained on; see pm_trust_judge().
 */
pm_code		pm_predictor_judge(const pm_predictor *p, const pm_sample *s, double step_ms, double level,
							   pm_arena *scratch, pm_verdict *v, pm_status *st);

/* ---- a question asked at many batches ---- */

/*
 * What of a question (all of a query but its batch) is computed once: the
 * graph, device and formats through the network, which operators are like those
 * in training.  It refers to the predictor and the skeleton, which must stay.
 * Not for several threads: each use puts its batch in.
 */
typedef struct pm_prepared
{
	int64_t		batch;			/* that work is of; 0: none yet */
	pm_tokens	work;
	void	   *state;			/* the kind's; NULL: it has to be asked anew for each batch */
	const uint8_t *novelty;		/* pm_trust_prepare() */
} pm_prepared;

/* Everything kept is taken from a.  Errors as of pm_predictor_predict(). */
pm_code		pm_predictor_prepare(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch,
								 pm_prepared *x, pm_status *st);
/*
 * pm_predictor_predict() and pm_predictor_judge() of s, which x was prepared
 * for at any batch: the same bits, and nothing is allocated where the kind
 * prepares.
 */
pm_code		pm_predictor_predict_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, pm_arena *scratch,
										  double *step_ms, pm_status *st);
pm_code		pm_predictor_judge_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, double step_ms,
										double level, pm_verdict *v, pm_status *st);

#endif
