/*
 * eta.c - when jobs of a queue start and end, as quantiles over draws.
 */
#include "plan/eta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct drawing
{
	const pm_queue_job *jobs;	/* [n], then [n_recent] that are to come */
	int			n;
	int			n_recent;
	int			n_questions;
	int			draws;
	double	   *z;				/* [n_questions] of this draw */
	double	   *least;			/* [n] how far out the error of a running job lies at least */
	double	   *duration_s;		/* [n] of this draw */
	double	   *start_s;
	double	   *finish_s;
	float	   *starts;			/* [n * draws] */
	float	   *finishes;
} drawing;

static pm_code
make_room(drawing *d, pm_arena *a, pm_status *st)
{
	d->least = PM_NEW(a, double, d->n + d->n_recent + 1);
	d->z = PM_NEW(a, double, d->n_questions + 1);
	d->duration_s = PM_NEW(a, double, d->n + d->n_recent + 1);
	d->start_s = PM_NEW(a, double, d->n + d->n_recent + 1);
	d->finish_s = PM_NEW(a, double, d->n + d->n_recent + 1);
	d->starts = PM_NEW(a, float, (size_t) d->n * d->draws + 1);
	d->finishes = PM_NEW(a, float, (size_t) d->n * d->draws + 1);
	if (d->least == NULL || d->z == NULL || d->duration_s == NULL || d->start_s == NULL || d->finish_s == NULL ||
		d->starts == NULL || d->finishes == NULL)
		return pm_no_memory(st, a);
	return PM_OK;
}

/* A job that runs has run for a while. */
static void
learn_from_running(drawing *d)
{
	for (int i = 0; i < d->n + d->n_recent; i++)
	{
		const pm_queue_job *j = &d->jobs[i];

		d->least[i] = j->elapsed_s < 0 || isnan(j->work.p50_s) ? -INFINITY : pm_duration_z(&j->work, j->elapsed_s);
	}
}

/*
 * How far out an error is believed to lie. A job that hangs has run far longer
 * than any error explains: it is taken to go on for a tenth of that again.
 */
#define FARTHEST 8
#define OVERDUE 0.1

static double
rest_of(const pm_queue_job *j, double z)
{
	double		left = pm_duration_at(&j->work, fmin(z, FARTHEST)) - j->elapsed_s;

	return left > 0 ? left : OVERDUE * j->elapsed_s;
}

/* From the uniform distribution between 0 and 1, which themselves have no normal number. */
static double
between_0_and_1(pm_rng *rng)
{
	return (pm_rng_uniform(rng) * 0x1p53 + 0.5) / (0x1p53 + 1);
}

static void
draw_durations(drawing *d, pm_rng *rng)
{
	for (int q = 0; q < d->n_questions; q++)
		d->z[q] = pm_normal_z(between_0_and_1(rng));
	for (int i = 0; i < d->n + d->n_recent; i++)
	{
		const pm_queue_job *j = &d->jobs[i];
		double		z = d->z[j->question];

		if (isnan(j->work.p50_s))
			d->duration_s[i] = NAN;
		else if (j->elapsed_s < 0)
			d->duration_s[i] = pm_duration_at(&j->work, z);
		else
			/* one that has outlasted the error of its question has one of its own */
			d->duration_s[i] = rest_of(j, z > d->least[i] ? z : pm_normal_above(d->least[i], between_0_and_1(rng)));
	}
}

static int
compare_float(const void *a, const void *b)
{
	float		x = *(const float *) a;
	float		y = *(const float *) b;

	return (x > y) - (x < y);
}

/* The quantile of sorted numbers, as percentile_cont of SQL. */
static double
quantile(const float *v, int n, double p)
{
	double		at = p * (n - 1);
	int			below = (int) at;

	if (at == below || v[below] == v[below + 1])
		return v[below];
	return v[below] + (at - below) * ((double) v[below + 1] - v[below]);
}

/* Seconds that a wait at this quantile becomes longer. */
static double
stretched_by(const pm_stretch *f, double quantile, double start_s)
{
	double		p50 = f->p50 > 0 ? f->p50 : 1;
	double		p90 = f->p90 > 0 ? f->p90 : 1;
	double		part = fmax(0, fmin(1, (quantile - 0.5) / 0.4));

	return isfinite(start_s) ? fmax(-start_s, (p50 + part * (p90 - p50) - 1) * (start_s + PM_ETA_GRACE_S)) : 0;
}

static void
summarise(drawing *d, int job, const pm_stretch *stretches, pm_eta *e)
{
	static const pm_stretch none = {.p50 = 1,.p90 = 1};
	const pm_stretch *stretch = stretches != NULL ? &stretches[d->jobs[job].pool] : &none;
	const pm_queue_job *j = &d->jobs[job];
	float	   *starts = d->starts + (size_t) job * d->draws;
	float	   *finishes = d->finishes + (size_t) job * d->draws;
	double		more50 = 0, more90 = 0;
	int			in_time = 0;

	qsort(starts, d->draws, sizeof(float), compare_float);
	qsort(finishes, d->draws, sizeof(float), compare_float);
	e->start_p50_s = quantile(starts, d->draws, 0.5);
	e->start_p90_s = quantile(starts, d->draws, 0.9);
	for (int k = 0; k < d->draws; k++)
	{
		double		more = j->elapsed_s < 0 ? stretched_by(stretch, (k + 0.5) / d->draws, starts[k]) : 0;

		in_time += finishes[k] + more <= j->deadline_s;
	}
	if (j->elapsed_s < 0)
	{
		more50 = stretched_by(stretch, 0.5, e->start_p50_s);
		more90 = stretched_by(stretch, 0.9, e->start_p90_s);
		/* the later quantile stays the later one */
		more90 = fmax(more90, e->start_p50_s + more50 - e->start_p90_s);
		more90 = isfinite(more90) ? more90 : 0;
	}
	e->start_p50_s += more50;
	e->start_p90_s += more90;
	e->finish_p50_s = quantile(finishes, d->draws, 0.5) + more50;
	e->finish_p90_s = fmax(e->finish_p50_s, quantile(finishes, d->draws, 0.9) + more90);
	e->in_time = j->deadline_s == INFINITY ? NAN : (double) in_time / d->draws;
}

pm_code
pm_eta_check(int n, const pm_eta_options *o, pm_status *st)
{
	if (o->draws < PM_ETA_DRAWS_MIN || o->draws > PM_ETA_DRAWS_MAX)
		return pm_fail(st, PM_ERR_OPTION, "draws must be between %d and %d, not %d", PM_ETA_DRAWS_MIN, PM_ETA_DRAWS_MAX, o->draws);
	if (((int64_t) n + o->n_recent) * o->draws > PM_ETA_STARTS_MAX)
	{
		int64_t		most = PM_ETA_STARTS_MAX / ((int64_t) n + o->n_recent);

		pm_fail(st, PM_ERR_LIMIT, "%d jobs with %d draws are too many", n, o->draws);
		if (o->n_recent > 0)
			pm_detail(st, "In each draw, %d jobs that were submitted of late come again, for those that are to come.", o->n_recent);
		if (most >= PM_ETA_DRAWS_MIN)
			pm_hint(st, "Ask with draws => %lld or fewer.", (long long) most);
		else
			pm_hint(st, "Jobs times draws is at most %lld: ask for one kind of GPU at a time.", (long long) PM_ETA_STARTS_MAX);
		return PM_ERR_LIMIT;
	}
	return PM_OK;
}

/* ---------- jobs that are to come ---------- */

/* All jobs in one array, those that are to come last. */
static pm_queue_job *
with_recent(const pm_queue_job *jobs, int n, const pm_eta_options *o, pm_arena *a)
{
	pm_queue_job *all = PM_NEW(a, pm_queue_job, (size_t) n + o->n_recent + 1);

	if (all == NULL)
		return NULL;
	if (n > 0)
		memcpy(all, jobs, sizeof(pm_queue_job) * n);
	for (int i = 0; i < o->n_recent; i++)
	{
		all[n + i] = o->recent[i];
		all[n + i].elapsed_s = -1;
	}
	return all;
}

/* They come again, from a moment of the window on that is drawn. */
static void
draw_arrivals(pm_queue_job *all, int n, const pm_eta_options *o, pm_rng *rng)
{
	double		shift = pm_rng_uniform(rng) * o->window_s;

	for (int i = 0; i < o->n_recent; i++)
	{
		const pm_queue_job *j = &o->recent[i];

		all[n + i].submit_s = fmod(j->submit_s + o->window_s + shift, o->window_s);
		all[n + i].deadline_s = j->deadline_s + all[n + i].submit_s - j->submit_s;
	}
}

/* A simulator of all jobs, in memory that goes after the draw. */
static pm_code
simulate_with_recent(drawing *d, pm_queue_job *all, const pm_pool *pools, int n_pools, const pm_eta_options *o, pm_rng *rng,
					 pm_arena *part, pm_eta *eta, pm_status *st)
{
	int			n = d->n + d->n_recent;
	int32_t    *order = PM_NEW(part, int32_t, n + 1);
	pm_simulator *s;
	pm_code		rc;

	if (order == NULL)
		return pm_no_memory(st, part);
	draw_arrivals(all, d->n, o, rng);
	if ((rc = pm_queue_order(all, n, o->policy, order, part, st)) != PM_OK ||
		(rc = pm_simulator_init(&s, all, n, order, pools, n_pools, o->backfill, part, st)) != PM_OK)
		return rc;
	pm_simulator_watch(s, d->n);
	for (int i = 0; i < d->n; i++)
		eta[i].fits = pm_simulator_fits(s, i);
	return pm_simulate(s, d->duration_s, d->start_s, d->finish_s, st);
}

static void
keep_draw(drawing *d, int k)
{
	for (int i = 0; i < d->n; i++)
	{
		d->starts[(size_t) i * d->draws + k] = (float) d->start_s[i];
		d->finishes[(size_t) i * d->draws + k] = (float) d->finish_s[i];
	}
}

pm_code
pm_queue_eta(const pm_queue_job *jobs, int n, int n_questions, const int32_t *order, const pm_pool *pools, int n_pools,
			 const pm_eta_options *options, pm_eta *eta, pm_arena *a, pm_status *st)
{
	drawing		d = {.jobs = jobs,.n = n,.n_recent = options->n_recent,.n_questions = n_questions,.draws = options->draws};
	pm_simulator *s = NULL;
	pm_queue_job *all;
	pm_arena	part;
	pm_rng		rng;
	pm_code		code = PM_OK;

	if ((code = pm_eta_check(n, options, st)) != PM_OK)
		return code;
	d.jobs = all = with_recent(jobs, n, options, a);
	if (all == NULL)
		return pm_no_memory(st, a);
	if ((code = make_room(&d, a, st)) != PM_OK ||
		(code = pm_simulator_init(&s, all, n, order, pools, n_pools, options->backfill, a, st)) != PM_OK)
		return code;
	for (int i = 0; i < n; i++)
		eta[i] = (pm_eta) {NAN, NAN, NAN, NAN, NAN, pm_simulator_fits(s, i)};
	pm_rng_seed(&rng, options->seed);
	learn_from_running(&d);
	pm_arena_init_within(&part, a);
	for (int k = 0; k < d.draws && code == PM_OK; k++)
	{
		draw_durations(&d, &rng);
		if (options->n_recent > 0)
		{
			code = simulate_with_recent(&d, all, pools, n_pools, options, &rng, &part, eta, st);
			pm_arena_reset(&part, (size_t) 64 << 20);
		}
		else
			code = pm_simulate(s, d.duration_s, d.start_s, d.finish_s, st);
		keep_draw(&d, k);
	}
	pm_arena_release(&part);
	if (code != PM_OK)
		return code;
	for (int i = 0; i < n; i++)
	{
		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		if (!isnan(jobs[i].work.p50_s))
			summarise(&d, i, options->stretch, &eta[i]);
	}
	return PM_OK;
}
