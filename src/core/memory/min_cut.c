/*
 * min_cut.c - Dinic's maximum flow: as much flows as the cut weighs.
 *
 * Each vertex is two, one that its edges reach and one that they leave, with
 * an arc between that carries its weight.
 */
#include "memory/min_cut.h"

#include <math.h>

typedef struct flow
{
	pm_arena   *a;
	int			n;				/* vertices: 2 for each of the network, source, sink */
	int			n_arcs;
	int32_t    *first;			/* [n] arc, then next */
	int32_t    *next;			/* [arcs] */
	int32_t    *to;				/* [arcs]; arc i ^ 1 leads back */
	double	   *room;			/* [arcs] what may still flow */
	int32_t    *level;			/* [n] arcs from the source, -1: none with room leads there */
	int32_t    *at;				/* [n] arc to try next */
	int32_t    *queue;			/* [n] vertices, then the arcs of a path */
} flow;

#define IN(v)		(2 * (v))
#define OUT(v)		(2 * (v) + 1)
#define SOURCE(f)	((f)->n - 2)
#define SINK(f)		((f)->n - 1)

static void
arc(flow *f, int from, int to, double room)
{
	for (int back = 0; back < 2; back++)
	{
		int			start = back ? to : from;

		f->to[f->n_arcs] = back ? from : to;
		f->room[f->n_arcs] = back ? 0 : room;
		f->next[f->n_arcs] = f->first[start];
		f->first[start] = f->n_arcs++;
	}
}

static bool
make(flow *f, const pm_cut_network *net, pm_arena *a)
{
	int			arcs = 2 * (3 * net->n + net->n_edges);

	*f = (flow) {.a = a, .n = 2 * net->n + 2};
	f->first = PM_NEW(a, int32_t, f->n);
	f->level = PM_NEW(a, int32_t, f->n);
	f->at = PM_NEW(a, int32_t, f->n);
	f->queue = PM_NEW(a, int32_t, f->n);
	f->next = PM_NEW(a, int32_t, arcs);
	f->to = PM_NEW(a, int32_t, arcs);
	f->room = PM_NEW(a, double, arcs);
	if (!f->first || !f->level || !f->at || !f->queue || !f->next || !f->to || !f->room)
		return false;
	for (int v = 0; v < f->n; v++)
		f->first[v] = -1;
	for (int v = 0; v < net->n; v++)
	{
		arc(f, IN(v), OUT(v), net->weight[v]);
		if (net->source[v])
			arc(f, SOURCE(f), IN(v), INFINITY);
		if (net->sink[v])
			arc(f, OUT(v), SINK(f), INFINITY);
	}
	for (int e = 0; e < net->n_edges; e++)
		arc(f, OUT(net->from[e]), IN(net->to[e]), INFINITY);
	return true;
}

/* How far each vertex is from the source; whether the sink is reached. */
static bool
find_levels(flow *f)
{
	int			done = 0;
	int			known = 1;

	for (int v = 0; v < f->n; v++)
	{
		f->level[v] = -1;
		f->at[v] = f->first[v];
	}
	f->level[f->queue[0] = SOURCE(f)] = 0;
	while (done < known)
	{
		int			v = f->queue[done++];

		for (int e = f->first[v]; e >= 0; e = f->next[e])
			if (f->room[e] > 0 && f->level[f->to[e]] < 0)
			{
				f->level[f->to[e]] = f->level[v] + 1;
				f->queue[known++] = f->to[e];
			}
	}
	return f->level[SINK(f)] >= 0;
}

/* The arcs of a way to the sink into queue; how many, 0: there is no more. */
static int
find_path(flow *f)
{
	int			n = 0;
	int			v = SOURCE(f);

	while (v != SINK(f))
	{
		int			e = f->at[v];

		if (e >= 0 && f->room[e] > 0 && f->level[f->to[e]] == f->level[v] + 1)
		{
			f->queue[n++] = e;
			v = f->to[e];
		}
		else if (e >= 0)
			f->at[v] = f->next[e];
		else if (n == 0)
			return 0;
		else					/* a dead end: back, and on with the next arc */
		{
			v = f->to[f->queue[--n] ^ 1];
			f->at[v] = f->next[f->at[v]];
		}
	}
	return n;
}

/* Mark in level the vertices from which the sink can be reached with 0, others with -1. */
static void
find_sink_side(flow *f)
{
	int			done = 0;
	int			known = 1;

	for (int v = 0; v < f->n; v++)
		f->level[v] = -1;
	f->level[f->queue[0] = SINK(f)] = 0;
	while (done < known)
	{
		int			v = f->queue[done++];

		for (int e = f->first[v]; e >= 0; e = f->next[e])
			if (f->room[e ^ 1] > 0 && f->level[f->to[e]] < 0)
			{
				f->level[f->to[e]] = 0;
				f->queue[known++] = f->to[e];
			}
	}
}

pm_code
pm_min_cut(const pm_cut_network *net, pm_arena *a, bool *cut, pm_status *st)
{
	flow		f;
	int			n;

	if (!make(&f, net, a))
		return pm_no_memory(st, a);
	while (find_levels(&f))
	{
		while ((n = find_path(&f)) > 0)
		{
			double		most = INFINITY;

			for (int i = 0; i < n; i++)
				most = fmin(most, f.room[f.queue[i]]);
			for (int i = 0; i < n; i++)
			{
				f.room[f.queue[i]] -= most;
				f.room[f.queue[i] ^ 1] += most;
			}
		}
		if (pm_stopped(a, st))
			return PM_CANCELLED;
	}
	find_sink_side(&f);
	for (int v = 0; v < net->n; v++)
		cut[v] = f.level[IN(v)] < 0 && f.level[OUT(v)] >= 0;
	return PM_OK;
}
