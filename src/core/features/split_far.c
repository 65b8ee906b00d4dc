/*
 * split_far.c - folds of networks that are unlike all others.
 */
#include "features/split_far.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHARES_BATCH	32		/* at which the shares of the time are taken */

/* A structure and the shares of its roofline time by type of operator. */
typedef struct point
{
	uint64_t	structure;
	int			row;			/* the first that has it */
	int			fold;
	double		nearest;		/* distance to the nearest centre */
	pm_real    *share;			/* [pm_type_count()] */
} point;

/* A structure and a fold that it might be in. */
typedef struct bid
{
	double		distance;
	uint64_t	structure;
	int			point;
	int			fold;
} bid;

static int
by_structure(const void *a, const void *b)
{
	const point *x = a;
	const point *y = b;

	if (x->structure != y->structure)
		return x->structure < y->structure ? -1 : 1;
	return x->row - y->row;
}

static int
by_distance(const void *a, const void *b)
{
	const bid  *x = a;
	const bid  *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	if (x->structure != y->structure)
		return x->structure < y->structure ? -1 : 1;
	return x->fold - y->fold;
}

static pm_code
take_shares(point *p, const pm_sample *s, pm_arena *a, pm_status *st)
{
	pm_question	q = s->query;
	pm_tokens	t;
	pm_arena	scratch;
	pm_code		rc;

	if ((p->share = PM_NEW(a, pm_real, pm_type_count())) == NULL)
		return pm_no_memory(st, a);
	q.batch = SHARES_BATCH;
	pm_arena_init_within(&scratch, a);
	rc = pm_tokens_build_work(s->skeleton, &q, &scratch, &t, st);
	for (int i = 0; rc == PM_OK && i < t.n; i++)
		p->share[t.type[i]] += (pm_real) pm_roofline_share(&t, i);
	pm_arena_release(&scratch);
	return rc;
}

/* The different structures of the rows, in the order of their hashes. */
static pm_code
find_points(const pm_dataset *d, pm_arena *a, point **points, int *n, pm_status *st)
{
	point	   *p = PM_NEW(a, point, d->n);
	pm_code		rc = PM_OK;

	if (!p)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
		p[i] = (point) {.structure = d->samples[i].query.graph->structure, .row = i, .nearest = INFINITY, .fold = -1};
	qsort(p, d->n, sizeof(point), by_structure);
	*n = 0;
	for (int i = 0; i < d->n && rc == PM_OK; i++)
	{
		if (*n > 0 && p[*n - 1].structure == p[i].structure)
			continue;
		p[*n] = p[i];
		rc = pm_stopped(a, st) ? PM_CANCELLED : take_shares(&p[*n], &d->samples[p[i].row], a, st);
		(*n)++;
	}
	*points = p;
	return rc;
}

/* Half the sum of the differences: 0..1. */
static double
distance(const pm_real *x, const pm_real *y)
{
	double		sum = 0;

	for (int i = 0; i < pm_type_count(); i++)
		sum += fabs(x[i] - y[i]);
	return sum / 2;
}

/* The structure that is farthest from the mean of all. */
static pm_code
outermost(const point *p, int n, pm_arena *a, int *at, pm_status *st)
{
	pm_real    *mean = PM_NEW(a, pm_real, pm_type_count());
	double		most = -1;

	if (!mean)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < pm_type_count(); k++)
			mean[k] += p[i].share[k] / (pm_real) n;
	for (int i = 0; i < n; i++)
		if (distance(p[i].share, mean) > most)
		{
			most = distance(p[i].share, mean);
			*at = i;
		}
	return PM_OK;
}

/* Each centre is as far as can be from those before it; what every structure's distance to each is. */
static pm_code
place_centres(point *p, int n, int folds, pm_arena *a, bid *bids, pm_status *st)
{
	int			centre = 0;
	pm_code		rc = outermost(p, n, a, &centre, st);

	for (int fold = 0; fold < folds && rc == PM_OK; fold++)
	{
		int			next = 0;

		for (int i = 0; i < n; i++)
		{
			double		far = distance(p[i].share, p[centre].share);

			bids[(size_t) fold * n + i] = (bid) {.distance = far, .structure = p[i].structure, .point = i, .fold = fold};
			p[i].nearest = fmin(p[i].nearest, far);
			if (p[i].nearest > p[next].nearest)
				next = i;
		}
		centre = next;
	}
	return rc;
}

/* The nearest pairs first, as long as the fold has room. */
static pm_code
fill_folds(point *p, int n, int folds, bid *bids, pm_arena *a, pm_status *st)
{
	int		   *members = PM_NEW(a, int, folds);
	int			room = (n + folds - 1) / folds;

	if (!members)
		return pm_no_memory(st, a);
	qsort(bids, (size_t) folds * n, sizeof(bid), by_distance);
	for (size_t i = 0; i < (size_t) folds * n; i++)
	{
		const bid  *b = &bids[i];

		if (p[b->point].fold < 0 && members[b->fold] < room)
		{
			p[b->point].fold = b->fold;
			members[b->fold]++;
		}
	}
	return PM_OK;
}

/* Where a structure stands among p[n], which has it. */
static int
find_point(const point *p, int n, uint64_t structure)
{
	int			low = 0;
	int			high = n - 1;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (p[middle].structure < structure)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

pm_code
pm_split_far(int folds, const pm_dataset *d, pm_arena *a, int *fold_of, pm_status *st)
{
	point	   *p = NULL;
	bid		   *bids;
	int			n = 0;
	pm_code		rc;

	if ((rc = find_points(d, a, &p, &n, st)) != PM_OK)
		return rc;
	if (n < folds)
		return pm_fail(st, PM_ERR_DATA, "split \"far\" needs at least %d networks, one for each fold; there %s %d", folds,
					   n == 1 ? "is" : "are", n);
	if ((bids = PM_NEW(a, bid, (size_t) folds * n)) == NULL)
		return pm_no_memory(st, a);
	if ((rc = place_centres(p, n, folds, a, bids, st)) != PM_OK || (rc = fill_folds(p, n, folds, bids, a, st)) != PM_OK)
		return rc;
	for (int i = 0; i < d->n; i++)
		fold_of[i] = p[find_point(p, n, d->samples[i].query.graph->structure)].fold;
	return PM_OK;
}
