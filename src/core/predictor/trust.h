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
/* Causes about measurements that a device lacks. A device without any measurements has none of them. */
#define PM_MEASURED_CAUSES	((1u << PM_CAUSE_GPU_SELDOM_SEEN) | (1u << PM_CAUSE_LAYOUT_NOT_SEEN) | (1u << PM_CAUSE_DTYPE_NOT_SEEN) | \
							 (1u << PM_CAUSE_DTYPE_SELDOM_SEEN) | (1u << PM_CAUSE_BATCH_ABOVE) | (1u << PM_CAUSE_BATCH_BELOW))
/* Causes that are a matter of the network's distance; intervals that know the distance have them in it. */
#define PM_FAR_CAUSES	((1u << PM_CAUSE_OPERATORS_NOT_SEEN) | (1u << PM_CAUSE_OPERATOR_SIZES_NOT_SEEN) | (1u << PM_CAUSE_NETWORK_UNLIKE))
#define PM_LEVEL_USUAL	0.9		/* of reports */

/*
 * Learn from the rows of d.  crossed[n]: predictions of the rows by models that
 * have not seen their structures.  The first set must be that of folds of
 * networks; its distances are used as the usual ones.  If n is 0, or there are
 * predictions of fewer than 10 structures, there are no intervals.
 */
pm_code		pm_trust_fit(const pm_dataset *d, const pm_crossed *crossed, int n, const pm_hooks *hooks, pm_arena *a,
						 const pm_trust **trust, pm_status *st);

/*
 * Add new rows to what old knows.  cross[i] is the prediction of row i by a
 * predictor that has not learned from its structure, or NaN.  If seen[i] (NULL:
 * never), this is only partly true.  The intervals of a device come from the new
 * rows alone if there are enough, else from old and new rows together.
 * retrained: the domain is that of d.  Otherwise the devices of d are added to
 * the old domain, but not its operators, because nothing was learned about them.
 */
pm_code		pm_trust_update(const pm_trust *old, const pm_dataset *d, const double *cross, const bool *seen,
							bool retrained, const pm_hooks *hooks, pm_arena *a, const pm_trust **trust, pm_status *st);

/* Whether intervals are calibrated. */
bool		pm_trust_calibrated(const pm_trust *t);

/* Devices of the training rows, in order of their first row. */
int			pm_trust_gpu_count(const pm_trust *t);
const char *pm_trust_gpu(const pm_trust *t, int i);
/* Number of different networks measured on a device; 0: the device was not in training. */
int			pm_trust_gpu_structures(const pm_trust *t, const char *gpu);
/* The same of forward passes of inference. */
int			pm_trust_pass_gpu_count(const pm_trust *t);
const char *pm_trust_pass_gpu(const pm_trust *t, int i);
int			pm_trust_pass_gpu_structures(const pm_trust *t, const char *gpu);
/* pm_domain_knows_passes(). */
bool		pm_trust_knows_passes(const pm_trust *t, const char *gpu);
/* Whether a framework of this name was in training. Both may be NULL. */
bool		pm_trust_knows_framework(const pm_trust *t, const char *name);
/* pm_domain_framework(). */
const char *pm_trust_gpu_framework(const pm_trust *t, const char *gpu);
/* pm_domain_format(); t may be NULL. */
pm_dtype	pm_trust_format(const pm_trust *t, const pm_gpu *gpu, pm_dtype asked);
/*
 * *framework: that the question s is answered for, by pm_domain_framework_for(). t may be NULL: then the one that s names.  It is another
 * pointer than that of s where it is another framework.  PM_ERR_MEMORY, PM_ERR_INPUT.
 */
pm_code		pm_trust_framework(const pm_trust *t, const pm_sample *s, pm_arena *scratch, const char **framework, pm_status *st);
/* pm_domain_other_releases(). */
pm_code		pm_trust_other_releases(const pm_trust *t, const pm_sample *s, const char *framework, pm_arena *scratch, const char ***other, int *n,
									pm_status *st);

/*
 * Interval and domain of the prediction for s.  A question of inference is judged as the training step that contains
 * its forward pass; pm_trust_judge_work() gets the work of that step, too.  level: PM_LEVEL_MIN..PM_LEVEL_MAX, else
 * PM_ERR_OPTION.  Other errors are those of pm_tokens_build() for s.  doubted: pm_add_doubts() (doubts.h) later widens the
 * interval of a device that was not in training.  Such a device then counts as one of few rows, and its interval is not
 * doubled for being new.
 */
pm_code		pm_trust_judge(const pm_trust *t, const pm_sample *s, double predicted, double level, bool doubted,
						   pm_arena *scratch, pm_verdict *v, pm_status *st);

/*
 * pm_trust_judge() in two parts.  pm_trust_prepare() fills *novelty, which
 * depends only on graph, device and formats; its bytes are in arena a.
 * pm_trust_judge_work() does the rest, from *novelty and the work of s.
 */
pm_code		pm_trust_prepare(const pm_trust *t, const pm_sample *s, pm_arena *a, pm_arena *scratch,
							 pm_novelty *novelty, pm_status *st);
pm_code		pm_trust_judge_work(const pm_trust *t, const pm_sample *s, const pm_novelty *novelty, const pm_tokens *work,
								double predicted, double level, bool doubted, pm_verdict *v, pm_status *st);

/*
 * The interval that q would have without measurements on its device, with the network's distance and the other causes of v.
 * Returns false, and sets NaN, if there are no intervals.
 */
bool		pm_trust_unmeasured(const pm_trust *t, const pm_question *q, double predicted, double level, bool doubted,
								const pm_verdict *v, double *low_ms, double *high_ms);

/* Add to the reason of *v while there is room. */
void		pm_verdict_remark(pm_verdict *v, const char *what);
/* Add to *v a cause that puts the question out of the domain; why: added to the reason while there is room. */
void		pm_verdict_leave(pm_verdict *v, pm_cause cause, const char *why);

void		pm_trust_save(const pm_trust *t, pm_buffer *b);
/* PM_ERR_FORMAT when damaged. */
pm_code		pm_trust_load(pm_reader *r, pm_arena *a, const pm_trust **trust, pm_status *st);

#endif
