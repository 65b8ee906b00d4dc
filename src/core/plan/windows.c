/*
 * windows.c - training in windows of time in which devices are idle.
 */
#include "plan/windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRID 400
#define CANDIDATES 32

/* A job in the window that is being filled, and how many steps it gets. */
typedef struct candidate
{
	int32_t		job;
	double		most;			/* gain if it had the window alone */
	double		steps;
} candidate;

typedef struct filling_state
{
	const pm_window *windows;
	const pm_filler *jobs;
	double		overhead_s;		/* start-up and checkpoint */
	double	   *left;			/* [n_jobs] steps */
	double	   *busy_until;		/* [n_jobs] */
	candidate  *candidates;		/* [n_jobs] */
	int			n;
	pm_arena   *arena;
	pm_status  *st;
	float	   *best;			/* [CANDIDATES + 1][GRID + 1] gain of the first so many in so many cells */
	int16_t    *cells;			/* [CANDIDATES][GRID + 1] cells of the last of them */
} filling_state;

/* Steps of a job in so much time, start-up and checkpoint paid. */
static double
steps_in(const filling_state *f, int32_t job, double time_s)
{
	/* a hair more, so that a time that is a whole number of steps holds them all */
	double		steps = floor((time_s - f->overhead_s) / f->jobs[job].step_s + 1e-9);

	if (!(steps >= 1))
		return 0;
	return steps < f->left[job] ? steps : f->left[job];
}

static double
time_of(const filling_state *f, int32_t job, double steps)
{
	return steps > 0 ? f->overhead_s + steps * f->jobs[job].step_s : 0;
}

static int
by_most(const void *a, const void *b)
{
	const candidate *x = a;
	const candidate *y = b;

	if (x->most != y->most)
		return x->most > y->most ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

static void
find_candidates(filling_state *f, const pm_window *w, int n_jobs)
{
	f->n = 0;
	for (int j = 0; j < n_jobs; j++)
	{
		double		steps;

		if (f->jobs[j].pool != w->pool || f->jobs[j].gpus > w->gpus || f->busy_until[j] > w->opens_s)
			continue;
		steps = steps_in(f, j, w->closes_s - w->opens_s);
		if (steps > 0)
			f->candidates[f->n++] = (candidate) {j, steps * f->jobs[j].gain, 0};
	}
	qsort(f->candidates, f->n, sizeof(candidate), by_most);
}

/* Give what time is left to the job that gains most from it, one that runs already or one more; false: to none. */
static bool
give_rest(filling_state *f, int n, double *time_s)
{
	int			best = -1;
	double		best_gain = 0;
	double		best_steps = 0;

	for (int i = 0; i < n; i++)
	{
		candidate  *c = &f->candidates[i];
		double		room = *time_s + time_of(f, c->job, c->steps);
		double		steps = steps_in(f, c->job, room);
		double		gain = (steps - c->steps) * f->jobs[c->job].gain;

		if (gain > best_gain)
		{
			best = i;
			best_gain = gain;
			best_steps = steps;
		}
	}
	if (best < 0)
		return false;
	*time_s -= time_of(f, f->candidates[best].job, best_steps) - time_of(f, f->candidates[best].job, f->candidates[best].steps);
	f->candidates[best].steps = best_steps;
	return true;
}

static double
fill_greedily(filling_state *f, double time_s)
{
	double		gain = 0;

	/* as many rounds as there are jobs that end in the window, each over all jobs */
	while (!pm_stopped(f->arena, f->st) && give_rest(f, f->n, &time_s))
		;
	for (int i = 0; i < f->n; i++)
		gain += f->candidates[i].steps * f->jobs[f->candidates[i].job].gain;
	return gain;
}

/* One more candidate, the k-th: best[k + 1] from best[k], and how many cells it takes of each number of them. */
static void
offer_candidate(filling_state *f, int k, double cell)
{
	const float *before = f->best + k * (GRID + 1);
	float	   *now = f->best + (k + 1) * (GRID + 1);
	int16_t    *cells = f->cells + k * (GRID + 1);
	int32_t		job = f->candidates[k].job;
	int			most = (int) ceil(fmin(time_of(f, job, f->left[job]) / cell, GRID));
	float		gain[GRID + 1];

	for (int x = 0; x <= most; x++)
		gain[x] = (float) (steps_in(f, job, x * cell) * f->jobs[job].gain);
	for (int at = 0; at <= GRID; at++)
	{
		now[at] = before[at];
		cells[at] = 0;
		for (int x = 1; x <= most && x <= at; x++)
			if (gain[x] > 0 && before[at - x] + gain[x] > now[at])
			{
				now[at] = before[at - x] + gain[x];
				cells[at] = (int16_t) x;
			}
	}
}

/*
 * The knapsack: best[k][c] is the most that the first k candidates gain in c
 * cells, each with any number of cells of its own. steps[n] takes the choice.
 */
static double
fill_exactly(filling_state *f, double time_s, double *steps)
{
	int			n = f->n < CANDIDATES ? f->n : CANDIDATES;
	double		cell = time_s / GRID;
	double		rest = time_s;
	double		gain = 0;
	int			c = GRID;

	memset(f->best, 0, sizeof(float) * (GRID + 1));
	for (int k = 0; k < n; k++)
		offer_candidate(f, k, cell);
	for (int k = n - 1; k >= 0; k--)
	{
		int			x = f->cells[k * (GRID + 1) + c];

		f->candidates[k].steps = x > 0 ? steps_in(f, f->candidates[k].job, x * cell) : 0;
		rest -= time_of(f, f->candidates[k].job, f->candidates[k].steps);
		c -= x;
	}
	/* what the grid has rounded off */
	while (give_rest(f, n, &rest))
		;
	for (int k = 0; k < n; k++)
	{
		steps[k] = f->candidates[k].steps;
		gain += steps[k] * f->jobs[f->candidates[k].job].gain;
	}
	return gain;
}

static void
take_choice(filling_state *f, int w, pm_fillings *out)
{
	double		at = f->windows[w].opens_s;

	for (int i = 0; i < f->n; i++)
	{
		const candidate *c = &f->candidates[i];
		double		ends;

		if (c->steps <= 0)
			continue;
		ends = fmin(at + time_of(f, c->job, c->steps), f->windows[w].closes_s);
		out->v[out->n++] = (pm_filling) {w, c->job, c->steps, at, ends};
		f->left[c->job] -= c->steps;
		f->busy_until[c->job] = ends;
		at = ends;
	}
}

/* More fillings: each window adds at most as many as there are candidates that get a step. */
static pm_code
make_room(pm_fillings *out, int *room, int more, pm_arena *a, pm_status *st)
{
	pm_filling *v;

	if (out->n + more <= *room)
		return PM_OK;
	*room = 2 * (out->n + more);
	v = PM_LONGER(a, pm_filling, out->v, out->n, *room);
	if (v == NULL)
		return pm_no_memory(st, a);
	out->v = v;
	return PM_OK;
}

static void
fill_window(filling_state *f, double time_s)
{
	double		steps[CANDIDATES];
	double		exact = fill_exactly(f, time_s, steps);

	for (int i = 0; i < f->n; i++)
		f->candidates[i].steps = 0;
	if (fill_greedily(f, time_s) >= exact)
		return;
	for (int i = 0; i < f->n; i++)
		f->candidates[i].steps = i < CANDIDATES ? steps[i] : 0;
}

typedef struct opening
{
	double		opens_s;
	int32_t		window;
} opening;

static int
by_opening(const void *a, const void *b)
{
	const opening *x = a;
	const opening *y = b;

	if (x->opens_s != y->opens_s)
		return x->opens_s < y->opens_s ? -1 : 1;
	return (x->window > y->window) - (x->window < y->window);
}

static int
by_window(const void *a, const void *b)
{
	const pm_filling *x = a;
	const pm_filling *y = b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	return (x->starts_s > y->starts_s) - (x->starts_s < y->starts_s);
}

pm_code
pm_windows_fill(const pm_window *windows, int n_windows, const pm_filler *jobs, int n_jobs,
				double startup_s, double checkpoint_s, pm_fillings *out, pm_arena *a, pm_status *st)
{
	filling_state f = {.windows = windows,.jobs = jobs,.overhead_s = startup_s + checkpoint_s,.arena = a,.st = st};
	opening    *order = PM_NEW(a, opening, n_windows + 1);
	int			room = 0;
	pm_code		rc;

	*out = (pm_fillings) {0};
	f.left = PM_NEW(a, double, n_jobs + 1);
	f.busy_until = PM_NEW(a, double, n_jobs + 1);
	f.candidates = PM_NEW(a, candidate, n_jobs + 1);
	f.best = PM_NEW(a, float, (CANDIDATES + 1) * (GRID + 1));
	f.cells = PM_NEW(a, int16_t, CANDIDATES * (GRID + 1));
	if (order == NULL || f.left == NULL || f.busy_until == NULL || f.candidates == NULL || f.best == NULL || f.cells == NULL)
		return pm_no_memory(st, a);
	for (int j = 0; j < n_jobs; j++)
	{
		f.left[j] = jobs[j].steps;
		f.busy_until[j] = -INFINITY;
	}
	for (int w = 0; w < n_windows; w++)
		order[w] = (opening) {windows[w].opens_s, w};
	qsort(order, n_windows, sizeof(opening), by_opening);
	for (int k = 0; k < n_windows; k++)
	{
		int			w = order[k].window;

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		find_candidates(&f, &windows[w], n_jobs);
		if (f.n == 0)
			continue;
		if ((rc = make_room(out, &room, f.n, a, st)) != PM_OK)
			return rc;
		fill_window(&f, windows[w].closes_s - windows[w].opens_s);
		if (pm_stopped(a, st))
			return PM_CANCELLED;
		take_choice(&f, w, out);
	}
	if (out->n > 0)
		qsort(out->v, out->n, sizeof(pm_filling), by_window);
	return PM_OK;
}
