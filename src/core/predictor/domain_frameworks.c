/*
 * domain_frameworks.c - the framework for a question that names none, or a
 * release that the card was not measured with: the release of most measurements
 * of the card, in training or, if there were any later, in the recalibration.
 *
 * A card may have been measured with one release on some networks, and with
 * another on others, such as language models.  If none is named, a network that
 * is unlike all of the usual release and much nearer to those of the other, in
 * what takes its time and in its size, is answered for that one.
 *
 * What is learned of a release on one card holds for this card alone.  So a
 * release that training knows from other cards is answered for as one that it
 * does not know.
 *
 * What is learned of all frameworks of a card together is true for none of
 * them: on its own rows, a predictor errs twice as much by it.  But a card that
 * was measured with another framework alone than most, such as TensorFlow where
 * the others had PyTorch, is answered for by what cards have in common.
 */
#include "kinds/frameworks.h"
#include "predictor/domain.h"
#include "predictor/domain_parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MUCH_NEARER	0.03		/* distance by which another release must be nearer than the usual one, to answer instead, ... */
#define UNLIKE		0.05		/* ... if the usual one is farther than that */
#define DOUBLING	0.03		/* distance for each doubling by which a network is larger, or smaller, than all of a release */

/* Rows of all releases of framework i. */
static int
rows_of_all_releases(const pm_domain *t, int i)
{
	int			rows = 0;

	for (int k = 0; k < t->n_frameworks; k++)
		if (pm_same_framework(t->frameworks[k].name, t->frameworks[i].name))
			rows += t->frameworks[k].rows;
	return rows;
}

/* A release of the framework that most rows are of; -1 where no row names one. */
static int
most_used(const pm_domain *t)
{
	int			most = -1;

	for (int i = 0; i < t->n_frameworks; i++)
		if (most < 0 || rows_of_all_releases(t, i) > rows_of_all_releases(t, most))
			most = i;
	return most;
}

/* rows[n_frameworks] of d on a device. */
static void
count_rows(const pm_domain *t, const pm_dataset *d, const char *gpu, int *rows)
{
	memset(rows, 0, t->n_frameworks * sizeof(int));
	for (int i = 0; i < d->n; i++)
	{
		const pm_question *q = &d->samples[i].query;
		int			at = q->framework != NULL && strcmp(q->gpu->name, gpu) == 0 ? pm_domain_find_framework(t, q->framework) : -1;

		if (at >= 0)
			rows[at]++;
	}
}

/* Whether framework i, with so many rows on a device, may answer for it: a release of framework `usual` with enough of them. */
static bool
may_answer(const pm_domain *t, int usual, int i, const int *rows)
{
	return rows[i] >= LEAST_ROWS && pm_same_framework(t->frameworks[i].name, t->frameworks[usual].name);
}

/* Of the releases that may answer, the one of most rows[n_frameworks]; -1: there is none. */
static int
release_of_most(const pm_domain *t, int usual, const int *rows)
{
	int			most = -1;

	for (int i = 0; i < t->n_frameworks; i++)
		if (may_answer(t, usual, i, rows) && (most < 0 || rows[i] > rows[most]))
			most = i;
	return most;
}

/* ---- releases with networks of their own ---- */

/* Whether a release answers for a device: it is the usual one or in the list. */
static bool
answers_for(const pm_domain *t, int gpu, int framework)
{
	for (int i = 0; i < t->n_releases; i++)
		if (t->releases[i].gpu == gpu && t->releases[i].framework == framework)
			return true;
	return t->gpus[gpu].framework == framework;
}

/* Let the usual release of a device answer for all networks if none is named: all are equally far from each release. */
static pm_code
forget_networks(pm_domain *t, int gpu, pm_arena *a, pm_status *st)
{
	uint32_t   *none = PM_NEW(a, uint32_t, PM_NETWORK_WORDS(t->n_networks));

	if (!none)
		return pm_no_memory(st, a);
	for (int i = 0; i < t->n_releases; i++)
		if (t->releases[i].gpu == gpu)
			t->releases[i] = (release) {.gpu = gpu, .framework = t->releases[i].framework, .min_step = -DBL_MAX, .max_step = DBL_MAX, .has = none};
	return PM_OK;
}

/* The networks of the rows of d on the device of a release with its framework. */
static pm_code
find_networks(const pm_domain *t, const pm_dataset *d, const row_network *networks, release *r, pm_arena *a, pm_status *st)
{
	if ((r->has = PM_NEW(a, uint32_t, PM_NETWORK_WORDS(t->n_networks))) == NULL)
		return pm_no_memory(st, a);
	r->min_step = DBL_MAX;
	r->max_step = -DBL_MAX;
	for (int i = 0; i < d->n; i++)
	{
		const pm_question *q = &d->samples[i].query;

		if (q->framework == NULL || strcmp(q->framework, t->frameworks[r->framework].name) != 0 || strcmp(q->gpu->name, t->gpus[r->gpu].name) != 0)
			continue;
		r->has[networks[i].at / 32] |= UINT32_C(1) << networks[i].at % 32;
		r->min_step = fmin(r->min_step, networks[i].step);
		r->max_step = fmax(r->max_step, networks[i].step);
	}
	return PM_OK;
}

/* Those of a device that may answer, if there are several.  The list has room for all. */
static pm_code
add_releases(pm_domain *t, int gpu, int usual, const int *rows, const pm_dataset *d, const row_network *networks, pm_arena *a, pm_status *st)
{
	int			answering = 0;
	pm_code		rc = PM_OK;

	for (int i = 0; i < t->n_frameworks; i++)
		answering += may_answer(t, usual, i, rows);
	for (int i = 0; i < t->n_frameworks && answering > 1 && rc == PM_OK; i++)
		if (may_answer(t, usual, i, rows) && t->n_releases < MAX_NAMES)
		{
			release    *r = &t->releases[t->n_releases++];

			*r = (release) {.gpu = gpu, .framework = i};
			rc = find_networks(t, d, networks, r, a, st);
		}
	return rc;
}

/* The list as a copy, with room for those of d: each has at least LEAST_ROWS. */
static pm_code
make_room(pm_domain *t, const pm_dataset *d, pm_arena *a, pm_status *st)
{
	release    *list = PM_LONGER(a, release, t->releases, t->n_releases, t->n_releases + d->n / LEAST_ROWS);

	if (!list)
		return pm_no_memory(st, a);
	t->releases = list;
	return PM_OK;
}

pm_code
pm_domain_choose_frameworks(pm_domain *t, int first, const pm_dataset *d, const row_network *networks, pm_arena *a, pm_status *st)
{
	int			usual = most_used(t);
	int		   *rows = PM_NEW(a, int, t->n_frameworks + 1);
	pm_code		rc = make_room(t, d, a, st);

	if (rc == PM_OK && !rows)
		return pm_no_memory(st, a);
	for (int gpu = 0; gpu < t->n_gpus && rc == PM_OK; gpu++)
	{
		int			most;

		count_rows(t, d, t->gpus[gpu].name, rows);
		most = release_of_most(t, usual, rows);
		if (most < 0 && gpu < first)
			continue;
		/*
		 * A recalibration fits the answers for the releases of its rows: the same must answer a question that names none.  Rows of a
		 * release that the device was not measured with are answered for the usual one.
		 */
		if (gpu >= first || t->gpus[gpu].framework < 0 || answers_for(t, gpu, most))
			t->gpus[gpu].framework = most;
		rc = forget_networks(t, gpu, a, st);
		if (networks != NULL && rc == PM_OK)
			rc = add_releases(t, gpu, usual, rows, d, networks, a, st);
	}
	return rc;
}

const char *
pm_domain_framework(const pm_domain *t, const char *gpu)
{
	int			at = pm_domain_find_gpu(t, gpu);
	int			framework = at >= 0 ? t->gpus[at].framework : -1;

	return framework >= 0 ? t->frameworks[framework].name : NULL;
}

const char *
pm_domain_stands_for(const pm_domain *t, const pm_question *q)
{
	const char *asked = q->framework;
	int			gpu = pm_domain_find_gpu(t, q->gpu->name);
	int			usual = gpu >= 0 ? t->gpus[gpu].framework : -1;
	int			at = pm_domain_find_framework(t, asked);

	/* of which releases passes were is not remembered, so that one asked for may be among them */
	if (q->mode == PM_INFERENCE && pm_domain_knows_passes(t, q->gpu->name))
		return asked;
	if (usual < 0 || (at >= 0 && answers_for(t, gpu, at)) || !pm_same_framework(t->frameworks[usual].name, asked) ||
		pm_framework_fuses(t->frameworks[usual].name) != pm_framework_fuses(asked))
		return asked;
	return t->frameworks[usual].name;
}

/* How far a network is from those of a release: of its time, what the nearest does not share, and more if it is larger or smaller than all. */
static double
distance_to(const pm_domain *t, const release *r, const double *share, double step)
{
	double		beyond = fmax(0, fmax(step - r->max_step, r->min_step - step));

	return pm_networks_distance(t, r->has, share) + DOUBLING * beyond;
}

/* The place of the usual release of a device among the releases; -1: the device has none. */
static int
usual_of(const pm_domain *t, int gpu)
{
	for (int i = 0; i < t->n_releases; i++)
		if (t->releases[i].gpu == gpu && t->releases[i].framework == t->gpus[gpu].framework)
			return i;
	return -1;
}

/*
 * How far a network is from each release of a device, in the format in which it is nearest: distance[n_releases].  Neither the format
 * nor the optimizer of the question may matter, or a step in TF32 might be answered for another release than in FP32, and be slower.
 */
static pm_code
find_distances(const pm_domain *t, int gpu, int usual, const pm_sample *s, pm_arena *scratch, double *distance, pm_status *st)
{
	pm_sample	q = *s;

	q.query.optimizer = PM_SGD_MOMENTUM;
	q.query.mode = PM_TRAIN;
	for (int i = 0; i < t->n_releases; i++)
		distance[i] = INFINITY;
	/* where the usual release is that near, it answers */
	for (int k = 0; k < PM_N_DTYPES && distance[usual] > UNLIKE; k++)
	{
		double	   *share;
		double		step;
		pm_code		rc;

		q.query.dtype = (pm_dtype) (((int) s->query.dtype + k) % PM_N_DTYPES);
		if ((rc = pm_domain_shares(t, &q, scratch, &share, &step, st)) != PM_OK)
			return rc;
		for (int i = 0; i < t->n_releases; i++)
			if (t->releases[i].gpu == gpu)
				distance[i] = fmin(distance[i], distance_to(t, &t->releases[i], share, step));
	}
	return PM_OK;
}

/* For a question that names none. */
static pm_code
nearest_release(const pm_domain *t, const pm_sample *s, pm_arena *scratch, const char **framework, pm_status *st)
{
	int			gpu = pm_domain_find_gpu(t, s->query.gpu->name);
	int			usual = gpu >= 0 ? usual_of(t, gpu) : -1;
	int			nearest = usual;
	double	   *distance;
	pm_code		rc;

	*framework = pm_domain_framework(t, s->query.gpu->name);
	if (usual < 0)
		return PM_OK;
	if ((distance = PM_NEW(scratch, double, t->n_releases)) == NULL)
		return pm_no_memory(st, scratch);
	if ((rc = find_distances(t, gpu, usual, s, scratch, distance, st)) != PM_OK)
		return rc;
	if (distance[usual] <= UNLIKE)
		return PM_OK;
	distance[usual] -= MUCH_NEARER;
	for (int i = 0; i < t->n_releases; i++)
		if (distance[i] < distance[nearest])
			nearest = i;
	*framework = t->frameworks[t->releases[nearest].framework].name;
	return PM_OK;
}

pm_code
pm_domain_framework_for(const pm_domain *t, const pm_sample *s, pm_arena *scratch, const char **framework, pm_status *st)
{
	const char *asked = s->query.framework;

	if (asked == NULL || asked[0] == '\0')
		return nearest_release(t, s, scratch, framework, st);
	*framework = pm_domain_stands_for(t, &s->query);
	return PM_OK;
}

/* Whether a release of a device may have been meant by a question that is answered for another: the usual one, and those that know such networks. */
static bool
may_be_meant(const pm_domain *t, const release *r, const pm_sample *s, const double *share, double step)
{
	double		distance = distance_to(t, r, share, step);

	return r->framework == t->gpus[r->gpu].framework || (distance < 1 && distance <= t->limit[s->query.gpu->is_cpu]);
}

pm_code
pm_domain_other_releases(const pm_domain *t, const pm_sample *s, const char *framework, pm_arena *scratch, const char ***other, int *n, pm_status *st)
{
	int			gpu = pm_domain_find_gpu(t, s->query.gpu->name);
	double	   *share;
	double		step;
	pm_code		rc;

	*n = 0;
	if (gpu < 0 || usual_of(t, gpu) < 0)
		return PM_OK;
	if ((*other = PM_NEW(scratch, const char *, t->n_releases)) == NULL)
		return pm_no_memory(st, scratch);
	if ((rc = pm_domain_shares(t, s, scratch, &share, &step, st)) != PM_OK)
		return rc;
	for (int i = 0; i < t->n_releases; i++)
	{
		const release *r = &t->releases[i];
		const char *name = t->frameworks[r->framework].name;

		if (r->gpu == gpu && strcmp(name, framework) != 0 && may_be_meant(t, r, s, share, step))
			(*other)[(*n)++] = name;
	}
	return PM_OK;
}

/* ---- storing ---- */

void
pm_releases_save(const pm_domain *t, pm_buffer *b)
{
	pm_put_u32(b, (uint32_t) t->n_releases);
	for (int i = 0; i < t->n_releases; i++)
	{
		const release *r = &t->releases[i];

		pm_put_u32(b, (uint32_t) r->gpu);
		pm_put_u32(b, (uint32_t) r->framework);
		pm_put_f64(b, r->min_step);
		pm_put_f64(b, r->max_step);
		for (size_t k = 0; k < PM_NETWORK_WORDS(t->n_networks); k++)
			pm_put_u32(b, r->has[k]);
	}
}

pm_code
pm_releases_load(pm_domain *t, pm_reader *r, pm_arena *a, pm_status *st)
{
	size_t		words = PM_NETWORK_WORDS(t->n_networks);

	t->n_releases = (int) pm_get_u32(r, t->n_gpus > 0 && t->n_frameworks > 0 ? MAX_NAMES : 0);
	if (r->failed)
		return PM_OK;
	if ((t->releases = PM_NEW(a, release, t->n_releases)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < t->n_releases && !r->failed; i++)
	{
		release    *to = &t->releases[i];

		to->gpu = (int) pm_get_u32(r, (uint32_t) (t->n_gpus - 1));
		to->framework = (int) pm_get_u32(r, (uint32_t) (t->n_frameworks - 1));
		to->min_step = pm_get_f64(r);
		to->max_step = pm_get_above(r, to->min_step);
		if ((to->has = PM_NEW_PACKED(a, uint32_t, words)) == NULL)
			return pm_no_memory(st, a);
		for (size_t k = 0; k < words; k++)
			to->has[k] = pm_get_raw_u32(r);
	}
	return PM_OK;
}
