/*
 * place.c - on which machines jobs of several devices run.
 */
#include "plan/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct placing
{
	const pm_machine *nodes;
	int			n_nodes;
	int32_t    *free;			/* [n_nodes] */
	bool	   *taken;			/* [n_nodes] by the job that is being placed */
} placing;

/* The machine that has room with the least left over; -1: none. */
static int
best_fit(const placing *p, int32_t pool, int32_t gpus)
{
	int			best = -1;

	for (int i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].pool == pool && !p->taken[i] && p->free[i] >= gpus && (best < 0 || p->free[i] < p->free[best]))
			best = i;
	return best;
}

static int
most_room(const placing *p, int32_t pool)
{
	int			best = -1;

	for (int i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].pool == pool && !p->taken[i] && p->free[i] > 0 && (best < 0 || p->free[i] > p->free[best]))
			best = i;
	return best;
}

static int64_t
all_free(const placing *p, int32_t pool)
{
	int64_t		sum = 0;

	for (int i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].pool == pool)
			sum += p->free[i];
	return sum;
}

static pm_code
make_room(pm_placement *out, int *room, int more, pm_arena *a, pm_status *st)
{
	pm_placed  *v;

	if (out->n + more <= *room)
		return PM_OK;
	*room = 2 * (out->n + more) + 64;
	v = PM_LONGER(a, pm_placed, out->v, out->n, *room);
	if (v == NULL)
		return pm_no_memory(st, a);
	out->v = v;
	return PM_OK;
}

/* The parts of a job for which there is room in all. */
static pm_code
place_job(placing *p, int32_t job, int32_t pool, int32_t gpus, pm_placement *out, pm_arena *a, pm_status *st)
{
	memset(p->taken, 0, sizeof(bool) * p->n_nodes);
	while (gpus > 0)
	{
		int			node = best_fit(p, pool, gpus);
		int32_t		part;

		if (node < 0)
			node = most_room(p, pool);
		part = p->free[node] < gpus ? p->free[node] : gpus;
		out->v[out->n++] = (pm_placed) {job, node, part};
		out->parts[job]++;
		p->taken[node] = true;
		p->free[node] -= part;
		gpus -= part;
		if (pm_stopped(a, st))
			return PM_CANCELLED;
	}
	return PM_OK;
}

pm_code
pm_place(const pm_queue_job *jobs, int n, const int32_t *order, const pm_machine *nodes, int n_nodes,
		 pm_placement *out, pm_arena *a, pm_status *st)
{
	placing		p = {.nodes = nodes,.n_nodes = n_nodes};
	int			room = 0;
	pm_code		rc;

	*out = (pm_placement) {0};
	p.free = PM_NEW(a, int32_t, n_nodes + 1);
	p.taken = PM_NEW(a, bool, n_nodes + 1);
	out->parts = PM_NEW(a, int32_t, n + 1);
	if (p.free == NULL || p.taken == NULL || out->parts == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < n_nodes; i++)
		p.free[i] = nodes[i].free;
	for (int k = 0; k < n; k++)
	{
		const pm_queue_job *j = &jobs[order[k]];

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		if (j->elapsed_s >= 0 || all_free(&p, j->pool) < j->gpus)
			continue;
		if ((rc = make_room(out, &room, j->gpus < n_nodes ? j->gpus : n_nodes, a, st)) != PM_OK)
			return rc;
		if ((rc = place_job(&p, order[k], j->pool, j->gpus, out, a, st)) != PM_OK)
			return rc;
	}
	return PM_OK;
}

/* ---------- two jobs on one device ---------- */

/* NaN where the load of either is not known. */
static double
slowdown_of(const pm_device_need *a, const pm_device_need *b)
{
	double		busy = a->busy + b->busy;

	return busy <= 1 ? 1 : busy;
}

/* The place of a job that `job` shares a device with at the least cost; -1: none. */
static int
best_partner(const pm_queue_job *jobs, int job, const pm_device_need *need, double max_slowdown, const pm_placement *out, int n_alone, const pm_pair *pair)
{
	int			best = -1;

	for (int i = 0; i < n_alone; i++)
	{
		int			other = out->v[i].job;

		if (jobs[other].gpus != 1 || jobs[other].pool != jobs[job].pool || pair[other].with >= 0 ||
			!(need[other].peak_mb + need[job].peak_mb <= need[job].memory_mb) || !(slowdown_of(&need[other], &need[job]) <= max_slowdown))
			continue;
		if (best < 0 || slowdown_of(&need[other], &need[job]) < slowdown_of(&need[out->v[best].job], &need[job]))
			best = i;
	}
	return best;
}

pm_code
pm_place_together(const pm_queue_job *jobs, int n, const int32_t *order, const pm_device_need *need, double max_slowdown,
				  pm_placement *out, pm_pair *pair, pm_arena *a, pm_status *st)
{
	int			n_alone = out->n;
	int			room = out->n;
	pm_code		rc;

	for (int i = 0; i < n; i++)
		pair[i] = (pm_pair) {-1, 1};
	if ((rc = make_room(out, &room, n, a, st)) != PM_OK)
		return rc;
	for (int k = 0; k < n; k++)
	{
		int			job = order[k];
		int			at;

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		if (jobs[job].elapsed_s >= 0 || jobs[job].gpus != 1 || out->parts[job] > 0 || isnan(need[job].busy))
			continue;
		at = best_partner(jobs, job, need, max_slowdown, out, n_alone, pair);
		if (at < 0)
			continue;
		pair[job] = (pm_pair) {out->v[at].job, slowdown_of(&need[out->v[at].job], &need[job])};
		pair[out->v[at].job] = (pm_pair) {job, pair[job].slowdown};
		out->v[out->n++] = (pm_placed) {job, out->v[at].node, 1};
		out->parts[job] = 1;
	}
	return PM_OK;
}
