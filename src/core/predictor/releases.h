/*
 * releases.h - how much the answers for the releases of a framework differ on a
 * card that was measured with several.
 */
#ifndef PM_RELEASES_H
#define PM_RELEASES_H

#include "kinds/kind.h"

/* Answers for other releases, over that for the one that answers: logarithms. */
typedef struct pm_spread
{
	double		least;			/* <= 0 */
	double		most;			/* >= 0 */
	const char *answering;		/* the release, if the question names another or none; NULL: it names what answers, or no release does */
} pm_spread;

/*
 * What the releases that may have been meant by s say of its network.  answering: the one that answers it, or NULL, as above.  It is the same
 * for all batches: the training step is asked about at one.  If the kind has a base, this is asked, since it takes a small part of the time.
 * PM_ERR_MEMORY, PM_ERR_INPUT; what cannot be answered for a release does not count.
 */
pm_code		pm_releases_spread(const pm_predictor *p, const pm_sample *s, const char *answering, pm_arena *scratch, pm_spread *x, pm_status *st);

#endif
