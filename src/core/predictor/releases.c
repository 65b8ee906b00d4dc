/*
 * releases.c - how much the answers for the releases of a framework differ.
 *
 * A question that names a release that the card was not measured with is answered for
 * one of those that it was measured with.  The others may be as near to it.  One that
 * names none is about the release that answers.
 */
#include "predictor/releases.h"

#include <math.h>

#include "predictor/trust.h"

#define SPREAD_BATCH	32		/* at which releases are compared, whatever the batch of the question */

/* The predictor that is asked about releases. */
static const pm_predictor *
compared_by(const pm_predictor *p)
{
	const pm_predictor *base = p->kind->base != NULL ? p->kind->base(p) : NULL;

	return base != NULL ? base : p;
}

/* *ms for a release; NaN: it cannot be answered. */
static pm_code
ask(const pm_predictor *p, const pm_sample *step, const char *release, pm_arena *scratch, double *ms, pm_status *st)
{
	pm_sample	q = *step;
	pm_code		rc;

	q.query.framework = release;
	rc = p->kind->predict(p, &q, scratch, ms, NULL, NULL, st);
	if (rc == PM_ERR_MEMORY || rc == PM_CANCELLED)
		return rc;
	if (rc != PM_OK || !(*ms > 0))
		*ms = NAN;
	return PM_OK;
}

pm_code
pm_releases_spread(const pm_predictor *p, const pm_sample *s, const char *answering, pm_arena *scratch, pm_spread *x, pm_status *st)
{
	const pm_predictor *asked = compared_by(p);
	pm_sample	step = *s;
	const char **other;
	double		own;
	int			n;
	pm_code		rc;

	*x = (pm_spread) {0};
	x->answering = answering;
	if (answering == NULL || s->query.framework == NULL || s->query.framework[0] == '\0')
		return PM_OK;
	step.query.mode = PM_TRAIN;
	step.query.batch = SPREAD_BATCH;
	step.query.dtype = pm_trust_format(p->trust, s->query.gpu, s->query.dtype);
	rc = pm_trust_other_releases(p->trust, &step, answering, scratch, &other, &n, st);
	if (rc == PM_OK && n > 0)
		rc = ask(asked, &step, answering, scratch, &own, st);
	for (int i = 0; i < n && rc == PM_OK; i++)
	{
		double		ms;

		if ((rc = ask(asked, &step, other[i], scratch, &ms, st)) != PM_OK)
			return rc;
		/* fmin and fmax leave out what is NaN */
		x->least = fmin(x->least, log(ms / own));
		x->most = fmax(x->most, log(ms / own));
	}
	return rc;
}
