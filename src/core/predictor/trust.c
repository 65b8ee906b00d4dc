/*
 * trust.c - the interval and the domain of a predictor, together.
 */
#include "predictor/trust.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct pm_trust
{
	const pm_domain *domain;
	const pm_intervals *intervals;
};

bool
pm_trust_calibrated(const pm_trust *t)
{
	return pm_intervals_calibrated(t->intervals);
}

int
pm_trust_gpu_count(const pm_trust *t)
{
	return pm_domain_gpu_count(t->domain);
}

const char *
pm_trust_gpu(const pm_trust *t, int i)
{
	return pm_domain_gpus(t->domain)[i];
}

int
pm_trust_gpu_structures(const pm_trust *t, const char *gpu)
{
	for (int i = 0; i < pm_trust_gpu_count(t); i++)
		if (strcmp(pm_trust_gpu(t, i), gpu) == 0)
			return pm_domain_gpu_structures(t->domain, i);
	return 0;
}

int
pm_trust_pass_gpu_count(const pm_trust *t)
{
	return pm_domain_pass_gpu_count(t->domain);
}

const char *
pm_trust_pass_gpu(const pm_trust *t, int i)
{
	return pm_domain_pass_gpu(t->domain, i);
}

int
pm_trust_pass_gpu_structures(const pm_trust *t, const char *gpu)
{
	for (int i = 0; i < pm_trust_pass_gpu_count(t); i++)
		if (strcmp(pm_trust_pass_gpu(t, i), gpu) == 0)
			return pm_domain_pass_gpu_structures(t->domain, i);
	return 0;
}

bool
pm_trust_knows_passes(const pm_trust *t, const char *gpu)
{
	return pm_domain_knows_passes(t->domain, gpu);
}

pm_dtype
pm_trust_format(const pm_trust *t, const pm_gpu *gpu, pm_dtype asked)
{
	return t != NULL && t->domain != NULL ? pm_domain_format(t->domain, gpu, asked) : asked;
}

bool
pm_trust_knows_framework(const pm_trust *t, const char *name)
{
	return t != NULL && t->domain != NULL && name != NULL && pm_domain_find_framework(t->domain, name) >= 0;
}

const char *
pm_trust_gpu_framework(const pm_trust *t, const char *gpu)
{
	return t->domain != NULL ? pm_domain_framework(t->domain, gpu) : NULL;
}

pm_code
pm_trust_framework(const pm_trust *t, const pm_sample *s, pm_arena *scratch, const char **framework, pm_status *st)
{
	*framework = s->query.framework;
	return t == NULL || t->domain == NULL ? PM_OK : pm_domain_framework_for(t->domain, s, scratch, framework, st);
}

pm_code
pm_trust_other_releases(const pm_trust *t, const pm_sample *s, const char *framework, pm_arena *scratch, const char ***other, int *n, pm_status *st)
{
	*n = 0;
	return t == NULL || t->domain == NULL ? PM_OK : pm_domain_other_releases(t->domain, s, framework, scratch, other, n, st);
}

pm_code
pm_trust_fit(const pm_dataset *d, const pm_crossed *crossed, int n, const pm_hooks *hooks, pm_arena *a,
			 const pm_trust **trust, pm_status *st)
{
	pm_trust   *t = PM_NEW(a, pm_trust, 1);
	pm_code		rc;

	if (!t)
		return pm_no_memory(st, a);
	*trust = t;
	rc = pm_domain_fit(d, NULL, n > 0 ? crossed[0].distance : NULL, hooks, a, &t->domain, st);
	return rc != PM_OK ? rc : pm_intervals_fit(d, crossed, n, pm_domain_gpus(t->domain), pm_domain_gpu_count(t->domain), a,
											   &t->intervals, st);
}

/* How far the rows are from what a domain was learned from. */
static pm_code
distances(const pm_domain *domain, const pm_dataset *d, pm_arena *a, double **distance, pm_status *st)
{
	pm_code		rc = PM_OK;

	if ((*distance = PM_NEW(a, double, d->n)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n && rc == PM_OK; i++)
	{
		pm_arena	scratch;

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		pm_arena_init_within(&scratch, a);
		rc = pm_domain_distance(domain, &d->samples[i], &scratch, &(*distance)[i], st);
		pm_arena_release(&scratch);
	}
	return rc;
}

pm_code
pm_trust_update(const pm_trust *old, const pm_dataset *d, const double *cross, const bool *seen, bool retrained,
				const pm_hooks *hooks, pm_arena *a, const pm_trust **trust, pm_status *st)
{
	pm_trust   *t = PM_NEW(a, pm_trust, 1);
	double	   *distance;
	pm_crossed	crossed = {.ms = cross};
	pm_code		rc;

	if (!t)
		return pm_no_memory(st, a);
	*trust = t;
	if ((rc = distances(old->domain, d, a, &distance, st)) != PM_OK)
		return rc;
	crossed.distance = distance;
	rc = retrained ? pm_domain_fit(d, old->domain, distance, hooks, a, &t->domain, st) :
		pm_domain_extend(old->domain, d, seen, a, &t->domain, st);
	return rc != PM_OK ? rc : pm_intervals_update(old->intervals, d, &crossed, seen, pm_domain_gpus(t->domain),
												  pm_domain_gpu_count(t->domain), a, &t->intervals, st);
}

void
pm_verdict_remark(pm_verdict *v, const char *what)
{
	size_t		len = strlen(v->reason);

	if (len + 2 + strlen(what) < PM_REASON_SIZE)
		snprintf(v->reason + len, PM_REASON_SIZE - len, "%s%s", len > 0 ? "; " : "", what);
}

void
pm_verdict_leave(pm_verdict *v, pm_cause cause, const char *why)
{
	v->in_domain = false;
	v->causes |= 1u << cause;
	pm_verdict_remark(v, why);
}

pm_code
pm_trust_prepare(const pm_trust *t, const pm_sample *s, pm_arena *a, pm_arena *scratch,
				 pm_novelty *novelty, pm_status *st)
{
	pm_sample	step = *s;

	step.query.mode = PM_TRAIN;
	return pm_domain_prepare(t->domain, &step, a, scratch, novelty, st);
}

#define REMARKS		((1u << PM_CAUSE_FRAMEWORK_NOT_SEEN) | (1u << PM_CAUSE_RELEASES_DIFFER))

/* What is said of a device by the measurements on it, or by their absence. */
#define DEVICE_CAUSES	((1u << PM_CAUSE_GPU_NOT_SEEN) | PM_MEASURED_CAUSES)

/* What pm_add_doubts() has a part of its own for. */
#define DOUBTED		(1u << PM_CAUSE_OPTIMIZER_NOT_SEEN)

/* Factor on the logarithm of an interval, for the causes that none of the interval's own parts stands for. */
static double
stretch(const pm_trust *t, uint32_t causes, double distance)
{
	causes &= ~(REMARKS | DOUBTED);
	if (pm_intervals_reach(t->intervals, distance))
		causes &= ~PM_FAR_CAUSES;
	return causes == 0 ? 1 : PM_OUTSIDE_FACTOR;
}

/*
 * On a device that was not in training.  Whose doubt is added has the errors on networks that devices of few rows have; where
 * no device has few rows, errors are those on all devices, which are mostly of those with many, and the interval is doubled.
 */
static bool
interval_unseen(const pm_trust *t, const pm_question *q, double predicted, double level, bool doubted, uint32_t causes, double distance,
				double *low_ms, double *high_ms)
{
	const char *like = doubted ? pm_intervals_few_rows(t->intervals) : NULL;
	pm_gpu		stands_for = *q->gpu;
	pm_question other = *q;

	stands_for.name = like != NULL ? like : "";
	other.gpu = &stands_for;
	return pm_intervals_of(t->intervals, &other, predicted, distance, level,
						   like != NULL ? stretch(t, causes & ~DEVICE_CAUSES, distance) : PM_OUTSIDE_FACTOR, low_ms, high_ms);
}

/*
 * On networks that are unlike all in training, a device that is known from hundreds of others is known no better than the rest.  With whole
 * kinds of networks left out of training, 9 of 10 errors (of logarithms) were within this, from such a distance on (docs/trust.md).  Up to the
 * limit from which on a network is unlike, errors are those of the device; from there to this distance, the least width grows.
 */
#define UNLIKE_ERROR	0.55
#define UNLIKE_DISTANCE	0.6

static void
widen_unlike(const pm_trust *t, const pm_question *q, double predicted, double level, pm_verdict *v)
{
	double		limit = pm_domain_limit(t->domain, q->gpu);
	double		part = (v->interval_distance - limit) / (fmax(UNLIKE_DISTANCE, 2 * limit) - limit);
	double		least = UNLIKE_ERROR * fmin(part, 1) * log(1 - level) / log(1 - PM_LEVEL_USUAL);

	if (!(part > 0) || isnan(v->low_ms))
		return;
	v->low_ms = fmin(v->low_ms, fmax(predicted * exp(-least), DBL_MIN));
	v->high_ms = fmax(v->high_ms, fmin(predicted * exp(least), DBL_MAX));
}

pm_code
pm_trust_judge_work(const pm_trust *t, const pm_sample *s, const pm_novelty *novelty, const pm_tokens *work,
					double predicted, double level, bool doubted, pm_verdict *v, pm_status *st)
{
	memset(v, 0, sizeof(*v));
	if (!(level >= PM_LEVEL_MIN && level <= PM_LEVEL_MAX))
	{
		pm_fail(st, PM_ERR_OPTION, "level must be between %g and %g, not %g", PM_LEVEL_MIN, PM_LEVEL_MAX, level);
		pm_hint(st, "0.9 asks for an interval that holds 9 of 10 measurements.");
		return PM_ERR_OPTION;
	}
	pm_domain_judge(t->domain, &s->query, novelty, work, v);
	v->distance = novelty->distance;
	v->interval_distance = novelty->interval_distance;
	if (v->causes & (1u << PM_CAUSE_GPU_NOT_SEEN))
		interval_unseen(t, &s->query, predicted, level, doubted, v->causes, v->interval_distance, &v->low_ms, &v->high_ms);
	else
		pm_intervals_of(t->intervals, &s->query, predicted, v->interval_distance, level, stretch(t, v->causes, v->interval_distance), &v->low_ms, &v->high_ms);
	widen_unlike(t, &s->query, predicted, level, v);
	return PM_OK;
}

bool
pm_trust_unmeasured(const pm_trust *t, const pm_question *q, double predicted, double level, bool doubted, const pm_verdict *v,
					double *low_ms, double *high_ms)
{
	return interval_unseen(t, q, predicted, level, doubted, v->causes, v->interval_distance, low_ms, high_ms);
}

pm_code
pm_trust_judge(const pm_trust *t, const pm_sample *s, double predicted, double level, bool doubted,
			   pm_arena *scratch, pm_verdict *v, pm_status *st)
{
	pm_question step = s->query;
	pm_novelty	novelty;
	pm_tokens	work;
	pm_code		rc;

	step.mode = PM_TRAIN;
	if ((rc = pm_tokens_build_work(s->skeleton, &step, scratch, &work, st)) != PM_OK ||
		(rc = pm_trust_prepare(t, s, scratch, scratch, &novelty, st)) != PM_OK)
		return rc;
	return pm_trust_judge_work(t, s, &novelty, &work, predicted, level, doubted, v, st);
}

void
pm_trust_save(const pm_trust *t, pm_buffer *b)
{
	pm_domain_save(t->domain, b);
	pm_intervals_save(t->intervals, b);
}

pm_code
pm_trust_load(pm_reader *r, pm_arena *a, const pm_trust **trust, pm_status *st)
{
	pm_trust   *t = PM_NEW(a, pm_trust, 1);
	pm_code		rc;

	if (!t)
		return pm_no_memory(st, a);
	*trust = t;
	if ((rc = pm_domain_load(r, a, &t->domain, st)) != PM_OK)
		return rc;
	/* a damaged list of devices is not to be read on from */
	if (!r->failed)
		rc = pm_intervals_load(r, pm_domain_gpus(t->domain), pm_domain_gpu_count(t->domain), a, &t->intervals, st);
	if (rc != PM_OK)
		return rc;
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has a damaged calibration") : PM_OK;
}
