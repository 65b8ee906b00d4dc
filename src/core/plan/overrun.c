/*
 * overrun.c - how much longer past jobs ran than predicted, by kind of device.
 */
#include "plan/overrun.h"

#include <math.h>

#include "plan/censored.h"

typedef struct ratios
{
	pm_ratio   *v;				/* [n] */
	int		   *question;		/* [n] of each */
	int		   *jobs;			/* [n_questions] */
	int			n;
	int			n_over;
} ratios;

static bool
has_run(const pm_past_job *p)
{
	return !p->hindsight && isfinite(p->start_s) && p->start_s < 0 && p->job.work.p50_s > 0 && isfinite(p->job.work.p50_s);
}

/* True over predicted duration of each job that has started. */
static void
collect(const pm_past_job *past, int n, ratios *r)
{
	for (int i = 0; i < n; i++)
	{
		const pm_past_job *p = &past[i];
		bool		open = !isfinite(p->finish_s);
		double		ran = (open ? 0 : p->finish_s) - p->start_s;

		if (!has_run(p) || !(ran > 0))
			continue;
		r->question[r->n] = p->job.question;
		r->jobs[p->job.question]++;
		r->n_over += !open;
		r->v[r->n++] = (pm_ratio) {.value = ran / p->job.work.p50_s,.pool = p->job.pool,.open = open};
	}
	for (int i = 0; i < r->n; i++)
		r->v[i].weight = r->v[i].pool_weight = 1.0 / r->jobs[r->question[i]];
}

/* The median's logarithm, drawn towards `all` by as many questions as there are. */
static double
shrunk_log(pm_ratio *v, int n, double all)
{
	double		questions = 0;

	for (int i = 0; i < n; i++)
		questions += v[i].weight;
	return (questions * log(pm_censored_quantile(v, n, 0.5)) + PM_OVERRUN_SHARED * all) / (questions + PM_OVERRUN_SHARED);
}

static pm_overrun
overrun_of(double log_factor, int n)
{
	double		factor = exp(log_factor);
	double		believed = fmin(fmax(factor, PM_OVERRUN_MIN), PM_OVERRUN_MAX);

	return (pm_overrun) {.factor = believed,.n = n,.capped = believed != factor};
}

pm_code
pm_overruns(const pm_past_job *past, int n, int n_questions, int n_pools, pm_overrun *overrun, pm_arena *a, pm_status *st)
{
	ratios		r = {.v = PM_NEW(a, pm_ratio, n + 1),.question = PM_NEW(a, int, n + 1),.jobs = PM_NEW(a, int, n_questions + 1)};
	double		all;

	for (int p = 0; p < n_pools; p++)
		overrun[p] = (pm_overrun) {.factor = 1};
	if (r.v == NULL || r.question == NULL || r.jobs == NULL)
		return pm_no_memory(st, a);
	collect(past, n, &r);
	if (r.n_over < PM_OVERRUN_LEAST)
		return PM_OK;
	all = shrunk_log(r.v, r.n, 0);
	for (int p = 0; p < n_pools; p++)
		overrun[p] = overrun_of(all, 0);
	pm_ratios_by_pool(r.v, r.n);
	for (int first = 0, next; first < r.n; first = next)
	{
		int			p = r.v[first].pool;

		for (next = first; next < r.n && r.v[next].pool == p; next++)
			;
		overrun[p] = overrun_of(shrunk_log(r.v + first, next - first, all), next - first);
	}
	return PM_OK;
}
