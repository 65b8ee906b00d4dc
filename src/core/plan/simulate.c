/*
 * simulate.c - one simulation of a queue for pools of devices.
 *
 * Pools do not touch each other, so each is played through by itself. Waiting
 * jobs stand in a heap for each number of devices, so that the next one that
 * fits is found among as many heads as there are different numbers.
 */
#include "plan/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Places in the order, the least on top. */
typedef struct rank_heap
{
	int32_t    *v;
	int			n;
	int32_t		gpus;			/* of all jobs in it */
} rank_heap;

typedef struct ending
{
	double		at_s;
	int32_t		gpus;
} ending;

typedef struct part
{
	int32_t    *jobs;			/* of this pool, by submit_s */
	int			n;
	rank_heap  *classes;
	int			n_classes;
	int64_t		total;			/* devices, those of running jobs included */
	int64_t		free;
} part;

struct pm_simulator
{
	const pm_queue_job *jobs;
	int			n;
	const int32_t *order;
	int32_t    *rank;			/* [n] place in the order */
	int32_t    *class_of;		/* [n] */
	part	   *parts;
	int			n_parts;
	bool		backfill;
	int			n_watched;		/* of jobs: those from there on are only in the way */
	int			n_to_start;		/* watched jobs of the part that is being played through that have not started */
	ending	   *endings;		/* heap, of the part that is being played through */
	int			n_endings;
	pm_arena   *arena;
};

/* ---------- heaps ---------- */

static void
rank_push(rank_heap *h, int32_t rank)
{
	int			at = h->n++;

	for (; at > 0 && h->v[(at - 1) / 2] > rank; at = (at - 1) / 2)
		h->v[at] = h->v[(at - 1) / 2];
	h->v[at] = rank;
}

static int32_t
rank_pop(rank_heap *h)
{
	int32_t		top = h->v[0];
	int32_t		last = h->v[--h->n];
	int			at = 0;

	for (;;)
	{
		int			child = 2 * at + 1;

		if (child >= h->n)
			break;
		if (child + 1 < h->n && h->v[child + 1] < h->v[child])
			child++;
		if (h->v[child] >= last)
			break;
		h->v[at] = h->v[child];
		at = child;
	}
	h->v[at] = last;
	return top;
}

static void
ending_push(pm_simulator *s, ending e)
{
	int			at = s->n_endings++;

	for (; at > 0 && s->endings[(at - 1) / 2].at_s > e.at_s; at = (at - 1) / 2)
		s->endings[at] = s->endings[(at - 1) / 2];
	s->endings[at] = e;
}

static ending
ending_pop(pm_simulator *s)
{
	ending		top = s->endings[0];
	ending		last = s->endings[--s->n_endings];
	int			at = 0;

	for (;;)
	{
		int			child = 2 * at + 1;

		if (child >= s->n_endings)
			break;
		if (child + 1 < s->n_endings && s->endings[child + 1].at_s < s->endings[child].at_s)
			child++;
		if (s->endings[child].at_s >= last.at_s)
			break;
		s->endings[at] = s->endings[child];
		at = child;
	}
	s->endings[at] = last;
	return top;
}

/* ---------- preparing ---------- */

typedef struct by_submit
{
	double		submit_s;
	int32_t		job;
} by_submit;

static int
compare_submit(const void *a, const void *b)
{
	const by_submit *x = a;
	const by_submit *y = b;

	if (x->submit_s != y->submit_s)
		return x->submit_s < y->submit_s ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

static bool
waits(const pm_queue_job *j)
{
	return j->elapsed_s < 0;
}

/* Jobs of each part by the time that they are submitted at. */
static pm_code
deal_jobs(pm_simulator *s, pm_arena *a, pm_status *st)
{
	by_submit  *all = PM_NEW(a, by_submit, s->n + 1);
	int32_t    *room = PM_NEW(a, int32_t, s->n + 1);

	if (all == NULL || room == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < s->n; i++)
	{
		all[i] = (by_submit) {s->jobs[i].submit_s, i};
		s->parts[s->jobs[i].pool].n++;
	}
	qsort(all, s->n, sizeof(by_submit), compare_submit);
	for (int p = 0; p < s->n_parts; p++)
	{
		s->parts[p].jobs = room;
		room += s->parts[p].n;
		s->parts[p].n = 0;
	}
	for (int i = 0; i < s->n; i++)
	{
		part	   *p = &s->parts[s->jobs[all[i].job].pool];

		p->jobs[p->n++] = all[i].job;
	}
	return PM_OK;
}

static int
compare_int(const void *a, const void *b)
{
	int32_t		x = *(const int32_t *) a;
	int32_t		y = *(const int32_t *) b;

	return (x > y) - (x < y);
}

/* The class of jobs with so many devices, which is there; classes ascend. */
static int
find_class(const part *p, int32_t gpus)
{
	int			low = 0;
	int			high = p->n_classes - 1;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (p->classes[middle].gpus < gpus)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A class for each number of devices that waiting jobs of the part need. */
static pm_code
make_classes(pm_simulator *s, part *p, pm_arena *a, pm_status *st)
{
	int32_t    *gpus = PM_NEW(a, int32_t, p->n + 1);
	int			n = 0;

	if (gpus == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < p->n; i++)
		if (waits(&s->jobs[p->jobs[i]]))
			gpus[n++] = s->jobs[p->jobs[i]].gpus;
	qsort(gpus, n, sizeof(int32_t), compare_int);
	p->classes = PM_NEW(a, rank_heap, n + 1);
	if (p->classes == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < n;)
	{
		rank_heap  *h = &p->classes[p->n_classes++];
		int			first = i;

		h->gpus = gpus[i];
		while (i < n && gpus[i] == h->gpus)
			i++;
		h->v = PM_NEW(a, int32_t, i - first);
		if (h->v == NULL)
			return pm_no_memory(st, a);
	}
	for (int i = 0; i < p->n; i++)
		if (waits(&s->jobs[p->jobs[i]]))
			s->class_of[p->jobs[i]] = find_class(p, s->jobs[p->jobs[i]].gpus);
	return PM_OK;
}

pm_code
pm_simulator_init(pm_simulator **out, const pm_queue_job *jobs, int n, const int32_t *order,
				  const pm_pool *pools, int n_pools, bool backfill, pm_arena *a, pm_status *st)
{
	pm_simulator *s = PM_NEW(a, pm_simulator, 1);
	pm_code		rc;

	if (s == NULL)
		return pm_no_memory(st, a);
	*s = (pm_simulator) {.jobs = jobs,.n = n,.order = order,.n_parts = n_pools,.backfill = backfill,.n_watched = n,.arena = a};
	s->rank = PM_NEW(a, int32_t, n + 1);
	s->class_of = PM_NEW(a, int32_t, n + 1);
	s->parts = PM_NEW(a, part, n_pools + 1);
	s->endings = PM_NEW(a, ending, n + 1);
	if (s->rank == NULL || s->class_of == NULL || s->parts == NULL || s->endings == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		s->rank[order[i]] = i;
	for (int p = 0; p < n_pools; p++)
		s->parts[p].total = s->parts[p].free = pools[p].free;
	for (int i = 0; i < n; i++)
		if (!waits(&jobs[i]))
			s->parts[jobs[i].pool].total += jobs[i].gpus;
	if ((rc = deal_jobs(s, a, st)) != PM_OK)
		return rc;
	for (int p = 0; p < n_pools; p++)
		if ((rc = make_classes(s, &s->parts[p], a, st)) != PM_OK)
			return rc;
	*out = s;
	return PM_OK;
}

void
pm_simulator_watch(pm_simulator *s, int n)
{
	s->n_watched = n;
}

bool
pm_simulator_fits(const pm_simulator *s, int job)
{
	return s->jobs[job].gpus <= s->parts[s->jobs[job].pool].total;
}

/* ---------- playing through ---------- */

/* The class whose first job is to start next; -1: none can. */
static int
next_class(const part *p, int64_t free, bool backfill)
{
	int			best = -1;

	for (int c = 0; c < p->n_classes; c++)
	{
		const rank_heap *h = &p->classes[c];

		if (h->n == 0 || (backfill && h->gpus > free))
			continue;
		if (best < 0 || h->v[0] < p->classes[best].v[0])
			best = c;
	}
	return best >= 0 && p->classes[best].gpus <= free ? best : -1;
}

static pm_code
start_jobs(pm_simulator *s, part *p, double now, int64_t *free, const double *duration_s, double *start_s, double *finish_s, pm_status *st)
{
	int			c;

	for (int started = 1; *free > 0 && (c = next_class(p, *free, s->backfill)) >= 0; started++)
	{
		int32_t		job = s->order[rank_pop(&p->classes[c])];

		start_s[job] = now;
		finish_s[job] = now + duration_s[job];
		*free -= s->jobs[job].gpus;
		ending_push(s, (ending) {finish_s[job], s->jobs[job].gpus});
		s->n_to_start -= job < s->n_watched;
		/* all of them may start at once */
		if (started % PM_POLL_EVERY == 0 && pm_stopped(s->arena, st))
			return PM_CANCELLED;
	}
	return PM_OK;
}

static bool
takes_part(const pm_simulator *s, int32_t job, const double *duration_s)
{
	return waits(&s->jobs[job]) && !isnan(duration_s[job]) && pm_simulator_fits(s, job);
}

/* Jobs that run, and those that can never start; the rest is to arrive. */
static void
begin_part(pm_simulator *s, part *p, const double *duration_s, double *start_s, double *finish_s)
{
	s->n_endings = s->n_to_start = 0;
	for (int c = 0; c < p->n_classes; c++)
		p->classes[c].n = 0;
	for (int i = 0; i < p->n; i++)
	{
		int32_t		job = p->jobs[i];

		start_s[job] = finish_s[job] = INFINITY;
		s->n_to_start += job < s->n_watched && takes_part(s, job, duration_s);
		if (waits(&s->jobs[job]))
			continue;
		start_s[job] = 0;
		finish_s[job] = duration_s[job];
		/* of a job whose end is not known the devices do not come back */
		if (!isnan(duration_s[job]))
			ending_push(s, (ending) {duration_s[job], s->jobs[job].gpus});
	}
}

static pm_code
play_part(pm_simulator *s, part *p, const double *duration_s, double *start_s, double *finish_s, pm_status *st)
{
	int64_t		free = p->free;
	double		now = 0;
	int			next = 0;
	pm_code		rc;

	begin_part(s, p, duration_s, start_s, finish_s);
	for (int events = 0;; events++)
	{
		double		arrival = INFINITY;
		double		end;

		if (events % PM_POLL_EVERY == 0 && pm_stopped(s->arena, st))
			return PM_CANCELLED;
		for (; next < p->n && s->jobs[p->jobs[next]].submit_s <= now; next++)
			if (takes_part(s, p->jobs[next], duration_s))
				rank_push(&p->classes[s->class_of[p->jobs[next]]], s->rank[p->jobs[next]]);
		while (s->n_endings > 0 && s->endings[0].at_s <= now)
			free += ending_pop(s).gpus;
		if ((rc = start_jobs(s, p, now, &free, duration_s, start_s, finish_s, st)) != PM_OK)
			return rc;
		if (next < p->n)
			arrival = s->jobs[p->jobs[next]].submit_s;
		end = s->n_endings > 0 ? s->endings[0].at_s : INFINITY;
		if (s->n_to_start == 0 || (arrival == INFINITY && end == INFINITY))
			return PM_OK;
		now = arrival < end ? arrival : end;
	}
}

pm_code
pm_simulate(pm_simulator *s, const double *duration_s, double *start_s, double *finish_s, pm_status *st)
{
	pm_code		rc;

	for (int p = 0; p < s->n_parts; p++)
		if ((rc = play_part(s, &s->parts[p], duration_s, start_s, finish_s, st)) != PM_OK)
			return rc;
	return PM_OK;
}
