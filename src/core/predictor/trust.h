/*
 * trust.h - what a prediction is worth: an interval calibrated on cross
 * predictions, and whether the question is like what was trained on.
 *
 * Both are learned by pm_trust_fit() from the training rows, whatever the kind
 * of predictor, and stored with it.  docs/trust.md says what is promised.
 */
#ifndef PM_TRUST_H
#define PM_TRUST_H

#include "kinds/kind.h"
#include "predictor/domain.h"
#include "predictor/interval.h"

#define PM_LEVEL_MIN	0.5		/* levels that intervals are given for, inclusive */
#define PM_LEVEL_MAX	0.999
#define PM_OUTSIDE_FACTOR 2.0	/* on the log-interval out of the domain; docs/trust.md gives reasons */
/* Causes that say what was not measured on a device. None of them is said of a device on which nothing was. */
#define PM_MEASURED_CAUSES	((1u << PM_CAUSE_GPU_SELDOM_SEEN) | (1u << PM_CAUSE_LAYOUT_NOT_SEEN) | (1u << PM_CAUSE_DTYPE_NOT_SEEN) | \
							 (1u << PM_CAUSE_DTYPE_SELDOM_SEEN) | (1u << PM_CAUSE_BATCH_ABOVE) | (1u << PM_CAUSE_BATCH_BELOW))
#define PM_LEVEL_USUAL	0.9		/* of reports */

/*
 * Learn from the rows of d.  crossed[n]: predictions of the rows by models that
 * have not seen their structures; the first set is that of folds of networks,
 * whose distances are the usual ones.  n 0, or predictions of fewer than 10
 * structures: there will be no intervals.
 */
pm_code		pm_trust_fit(const pm_dataset *d, const pm_crossed *crossed, int n, const pm_hooks *hooks, pm_arena *a,
						 const pm_trust **trust, pm_status *st);

/*
 * What is known, and new rows besides.  cross[i] is the prediction of row i
 * by what has not learned from its structure, NaN where there is none; where
 * seen[i] (NULL: nowhere) that is only partly so.  The intervals of a device
 * come from new rows alone where there are enough, else from those before and
 * the new ones together.  retrained: the domain is that of d; else the devices
 * of d are added to it, and operators are not, as nothing was learned of them.
 */
pm_code		pm_trust_update(const pm_trust *old, const pm_dataset *d, const double *cross, const bool *seen,
							bool retrained, const pm_hooks *hooks, pm_arena *a, const pm_trust **trust, pm_status *st);

/* Whether intervals are calibrated. */
bool		pm_trust_calibrated(const pm_trust *t);

/* Devices of the training rows, in the order in which they came. */
int			pm_trust_gpu_count(const pm_trust *t);
const char *pm_trust_gpu(const pm_trust *t, int i);
/* Different networks that a device was measured with; 0: it was not. */
int			pm_trust_gpu_structures(const pm_trust *t, const char *gpu);
/* pm_domain_format(); t may be NULL. */
pm_dtype	pm_trust_format(const pm_trust *t, const pm_gpu *gpu, pm_dtype asked);
/* asked, or where that is NULL or empty pm_domain_framework(); t may be NULL. */
const char *pm_trust_framework(const pm_trust *t, const pm_gpu *gpu, const char *asked);

/*
 * Judge what was predicted for s; a question of inference as the training step that it is the forward pass of, whose
 * work pm_trust_judge_work() is given too.  level: PM_LEVEL_MIN..PM_LEVEL_MAX, else
 * PM_ERR_OPTION.  Errors of s itself are those of pm_tokens_build().  doubted: a device that was not in training is widened
 * by its own doubt afterwards (doubts.h).  It then counts as one of few rows, and being new does not double its interval.
 */
pm_code		pm_trust_judge(const pm_trust *t, const pm_sample *s, double predicted, double level, bool doubted,
						   pm_arena *scratch, pm_verdict *v, pm_status *st);

/*
 * The part of it that depends on the graph, device and formats alone: *novelty,
 * its bytes in arena a.  And the rest, given that and the work of s;
 * pm_trust_judge() is the two after each other.
 */
pm_code		pm_trust_prepare(const pm_trust *t, const pm_sample *s, pm_arena *a, pm_arena *scratch,
							 pm_novelty *novelty, pm_status *st);
pm_code		pm_trust_judge_work(const pm_trust *t, const pm_sample *s, const pm_novelty *novelty, const pm_tokens *work,
								double predicted, double level, bool doubted, pm_verdict *v, pm_status *st);

/*
 * The interval of q as if nothing had been measured on its device, with the network's distance and the other causes of v.
 * false, and NaN: not calibrated.
 */
bool		pm_trust_unmeasured(const pm_trust *t, const pm_question *q, double predicted, double level, bool doubted,
								const pm_verdict *v, double *low_ms, double *high_ms);

void		pm_trust_save(const pm_trust *t, pm_buffer *b);
/* PM_ERR_FORMAT when damaged. */
pm_code		pm_trust_load(pm_reader *r, pm_arena *a, const pm_trust **trust, pm_status *st);

#endif
