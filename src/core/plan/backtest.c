/*
 * backtest.c - how wrong pm_queue_eta() was of late, where it is known when jobs started.
 */
#include "plan/backtest.h"
#include "plan/censored.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct backtest
{
	const pm_past_job *past;
	int			n;
	int			n_questions;
	const pm_pool *devices;
	int			n_pools;
	pm_eta_options options;
	pm_ratio   *p50;			/* [PM_BACKTEST_MOMENTS * n] */
	pm_ratio   *p90;
	int			n_ratios;
	int			moments;
	int		   *pool_moments;	/* [n_pools] in which jobs waited for the kind of device */
} backtest;

/* The queue at a moment, as it was known then. */
typedef struct scene
{
	pm_queue_job *jobs;			/* [n] */
	int		   *of;				/* [n] job of the past */
	pm_queue_job *recent;
	pm_pool    *free;
	int32_t    *order;
	pm_eta	   *eta;
	int		   *waiting;		/* [n_pools] jobs that wait */
	int			n;
	int			n_waiting;
	int			n_recent;
} scene;

static pm_code
make_room(const backtest *b, scene *s, pm_arena *a, pm_status *st)
{
	*s = (scene) {
		.jobs = PM_NEW(a, pm_queue_job, b->n + 1),.of = PM_NEW(a, int, b->n + 1),.recent = PM_NEW(a, pm_queue_job, b->n + 1),
		.free = PM_NEW(a, pm_pool, b->n_pools + 1),.order = PM_NEW(a, int32_t, b->n + 1),.eta = PM_NEW(a, pm_eta, b->n + 1),
		.waiting = PM_NEW(a, int, b->n_pools + 1)
	};
	if (s->jobs == NULL || s->of == NULL || s->recent == NULL || s->free == NULL || s->order == NULL || s->eta == NULL || s->waiting == NULL)
		return pm_no_memory(st, a);
	return PM_OK;
}

static void
set_scene(const backtest *b, double at, scene *s)
{
	memcpy(s->free, b->devices, sizeof(pm_pool) * b->n_pools);
	for (int i = 0; i < b->n; i++)
	{
		const pm_past_job *p = &b->past[i];
		pm_queue_job j = p->job;

		j.submit_s -= at;
		j.deadline_s -= at;
		if (j.submit_s > 0)
			continue;
		if (j.submit_s > -b->options.window_s)
			s->recent[s->n_recent++] = j;
		if (p->finish_s <= at)
			continue;
		if (p->start_s <= at)
		{
			j.elapsed_s = at - p->start_s;
			s->free[j.pool].free -= j.gpus;
		}
		s->n_waiting += j.elapsed_s < 0;
		s->waiting[j.pool] += j.elapsed_s < 0;
		s->of[s->n] = i;
		s->jobs[s->n++] = j;
	}
	/* the history may show more devices in use than there are now */
	for (int p = 0; p < b->n_pools; p++)
		s->free[p].free = s->free[p].free < 0 ? 0 : s->free[p].free;
}

static void
keep_ratios(backtest *b, double at, const scene *s)
{
	for (int i = 0; i < s->n; i++)
	{
		double		start_s = b->past[s->of[i]].start_s;
		bool		open = start_s > 0;
		double		wait = (open ? 0 : start_s) - at + PM_ETA_GRACE_S;
		int32_t		pool = s->jobs[i].pool;
		pm_ratio	r = {.weight = 1.0 / s->n_waiting,.pool = pool,.open = open};

		if (s->jobs[i].elapsed_s >= 0 || !isfinite(s->eta[i].start_p90_s))
			continue;
		r.pool_weight = 1.0 / s->waiting[pool];
		r.value = wait / (s->eta[i].start_p50_s + PM_ETA_GRACE_S);
		b->p50[b->n_ratios] = r;
		r.value = wait / (s->eta[i].start_p90_s + PM_ETA_GRACE_S);
		b->p90[b->n_ratios++] = r;
	}
}

int
pm_backtest_draws(int64_t n)
{
	int64_t		draws = PM_BACKTEST_WORK / (n > 0 ? n : 1);

	return (int) (draws < PM_BACKTEST_DRAWS_MIN ? PM_BACKTEST_DRAWS_MIN : draws > PM_BACKTEST_DRAWS_MAX ? PM_BACKTEST_DRAWS_MAX : draws);
}

static pm_code
look_at(backtest *b, double at, pm_arena *a, pm_status *st)
{
	scene		s;
	pm_code		rc;

	if ((rc = make_room(b, &s, a, st)) != PM_OK)
		return rc;
	set_scene(b, at, &s);
	if (s.n_waiting == 0)
		return PM_OK;
	b->options.recent = s.recent;
	b->options.n_recent = s.n_recent;
	b->options.draws = pm_backtest_draws((int64_t) b->n_questions + s.n + s.n_recent);
	if ((rc = pm_queue_order(s.jobs, s.n, b->options.policy, s.order, a, st)) != PM_OK ||
		(rc = pm_queue_eta(s.jobs, s.n, b->n_questions, s.order, s.free, b->n_pools, &b->options, s.eta, a, st)) != PM_OK)
		return rc;
	keep_ratios(b, at, &s);
	b->moments++;
	for (int p = 0; p < b->n_pools; p++)
		b->pool_moments[p] += s.waiting[p] > 0;
	return PM_OK;
}

/* The quantile 0.9 of so few that the next one is below it with probability 0.9. */
static double
p90_of(int moments)
{
	return fmin(1, 0.9 * (moments + 1) / moments);
}

/* The factor of a kind of device, between its own and that of all, times `more`. */
static double
shrunk(double own, double all, int moments, double more, pm_stretch *s)
{
	double		factor = more * exp((moments * log(own) + PM_STRETCH_SHARED * log(all)) / (moments + PM_STRETCH_SHARED));
	double		believed = fmin(fmax(factor, PM_STRETCH_MIN), PM_STRETCH_MAX);

	s->capped |= believed != factor;
	return believed;
}

/* The factors of each kind of device; those that nobody waited for have the ones of all. What p90 needs more for want of moments is that of all. */
static void
fit_pools(backtest *b, pm_stretch *stretch)
{
	double		all50 = pm_censored_quantile(b->p50, b->n_ratios, 0.5);
	double		plain90 = pm_censored_quantile(b->p90, b->n_ratios, 0.9);
	double		more = pm_censored_quantile(b->p90, b->n_ratios, p90_of(b->moments)) / plain90;

	pm_ratios_by_pool(b->p50, b->n_ratios);
	pm_ratios_by_pool(b->p90, b->n_ratios);
	for (int i = 0; i < b->n_ratios; i++)
	{
		b->p50[i].weight = b->p50[i].pool_weight;
		b->p90[i].weight = b->p90[i].pool_weight;
	}
	for (int p = 0; p < b->n_pools; p++)
	{
		stretch[p].p50 = shrunk(1, all50, 0, 1, &stretch[p]);
		stretch[p].p90 = shrunk(1, plain90, 0, more, &stretch[p]);
	}
	for (int first = 0, next; first < b->n_ratios; first = next)
	{
		int			p = b->p50[first].pool;
		pm_stretch *s = &stretch[p];

		for (next = first; next < b->n_ratios && b->p50[next].pool == p; next++)
			;
		*s = (pm_stretch) {.n = next - first};
		s->p50 = shrunk(pm_censored_quantile(b->p50 + first, next - first, 0.5), all50, b->pool_moments[p], 1, s);
		s->p90 = shrunk(pm_censored_quantile(b->p90 + first, next - first, 0.9), plain90, b->pool_moments[p], more, s);
	}
}

pm_code
pm_eta_backtest(const pm_past_job *past, int n, int n_questions, const pm_pool *devices, int n_pools, const pm_eta_options *options,
				double span_s, pm_stretch *stretch, int *moments, pm_arena *a, pm_status *st)
{
	backtest	b = {.past = past,.n = n,.n_questions = n_questions,.devices = devices,.n_pools = n_pools,.options = *options};
	pm_arena	part;
	pm_code		code = PM_OK;

	for (int p = 0; p < n_pools; p++)
		stretch[p] = (pm_stretch) {.p50 = 1,.p90 = 1};
	b.pool_moments = PM_NEW(a, int, n_pools + 1);
	b.p50 = PM_NEW(a, pm_ratio, (size_t) PM_BACKTEST_MOMENTS * n + 1);
	b.p90 = PM_NEW(a, pm_ratio, (size_t) PM_BACKTEST_MOMENTS * n + 1);
	if (b.p50 == NULL || b.p90 == NULL || b.pool_moments == NULL)
		return pm_no_memory(st, a);
	b.options.stretch = NULL;
	for (int k = 0; k < PM_BACKTEST_MOMENTS && code == PM_OK; k++)
	{
		pm_arena_init_within(&part, a);
		code = look_at(&b, -span_s * (k + 0.5) / PM_BACKTEST_MOMENTS, &part, st);
		pm_arena_release(&part);
	}
	*moments = b.moments;
	if (code != PM_OK || b.moments < PM_BACKTEST_LEAST || b.n_ratios == 0)
		return code;
	fit_pools(&b, stretch);
	return PM_OK;
}
