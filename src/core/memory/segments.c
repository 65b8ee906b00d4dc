/*
 * segments.c - activation checkpointing: the possible cuts of a graph, and the
 * choice among them.
 */
#include <string.h>

#include "memory/step_build.h"

/* A place between nodes at - 1 and at that a single tensor crosses. */
typedef struct cut
{
	int32_t		at;
	double		crossing;		/* bytes a sample of that tensor */
	double		before;			/* bytes a sample of all outputs of nodes before it */
} cut;

/* The node whose output a view shows. */
static int32_t
root_of(const pm_graph *g, const int32_t *root, int i)
{
	return pm_step_is_view(&g->nodes[i]) && g->nodes[i].n_inputs > 0 ? root[g->nodes[i].inputs[0]] : i;
}

static double
bytes_of(const pm_step_build *b, int i)
{
	return b->g->nodes[i].batch_dim >= 0 ? pm_node_count_all(&b->g->nodes[i], 1) * pm_step_half_size(b) : 0;
}

/* Every possible cut, ascending; returns how many. cuts[n_nodes + 1], root, until[n_nodes]. */
static int
find_cuts(const pm_step_build *b, cut *cuts, int32_t *root, int32_t *until, int32_t *ending)
{
	const pm_graph *g = b->g;
	int			n = 0;
	int			live = 0;
	double		crossing = 0;
	double		before = 0;

	for (int i = 0; i < g->n_nodes; i++)
	{
		root[i] = root_of(g, root, i);
		until[i] = 0;
		if (until[root[i]] < b->last_use[i])
			until[root[i]] = b->last_use[i];
	}
	memset(ending, 0, sizeof(int32_t) * (size_t) (g->n_nodes + 1));
	cuts[n++] = (cut) {0, 0, 0};
	for (int i = 0; i < g->n_nodes; i++)
	{
		bool		counts = root[i] == i && g->nodes[i].batch_dim >= 0 && pm_op_class(g->nodes[i].op) != PM_CLASS_OTHER;

		if (counts && until[i] > i)
		{
			live++;
			crossing += bytes_of(b, i);
			ending[until[i]]++;
		}
		if (counts)
			before += bytes_of(b, i);
		live -= ending[i];
		for (int k = 0; k < g->nodes[i].n_inputs; k++)
		{
			int32_t		r = root[g->nodes[i].inputs[k]];

			if (until[r] == i && r != i && g->nodes[r].batch_dim >= 0 && pm_op_class(g->nodes[r].op) != PM_CLASS_OTHER)
			{
				crossing -= bytes_of(b, r);
				until[r] = -1;	/* counted once */
			}
		}
		if (live == 1 && i + 1 < g->n_nodes)
			cuts[n++] = (cut) {i + 1, crossing, before};
	}
	cuts[n++] = (cut) {g->n_nodes, 0, before};
	return n;
}

/* Take every cut at which a segment would outgrow `most` bytes; what that stores and the largest segment. at may be NULL. */
static double
pack(const cut *cuts, int n, double most, int32_t *at, int *n_at)
{
	double		stored = 0;
	double		largest = 0;
	int			start = 0;

	*n_at = 0;
	if (at != NULL)
		at[*n_at] = 0;
	(*n_at)++;
	for (int i = 1; i < n; i++)
	{
		if (i < n - 1 && cuts[i + 1].before - cuts[start].before <= most)
			continue;
		if (cuts[i].before - cuts[start].before > largest)
			largest = cuts[i].before - cuts[start].before;
		stored += cuts[i].crossing;
		if (at != NULL)
			at[*n_at] = cuts[i].at;
		(*n_at)++;
		start = i;
	}
	return stored + largest;
}

int
pm_step_segments(const pm_step_build *b, int32_t **out)
{
	int			n_nodes = b->g->n_nodes;
	cut		   *cuts = PM_NEW(b->arena, cut, n_nodes + 2);
	int32_t    *root = PM_NEW(b->arena, int32_t, n_nodes);
	int32_t    *until = PM_NEW(b->arena, int32_t, n_nodes);
	int32_t    *ending = PM_NEW(b->arena, int32_t, n_nodes + 1);
	int			n;
	int			n_at = 0;
	double		best = -1;
	double		best_most = 0;

	*out = PM_NEW(b->arena, int32_t, n_nodes + 2);
	if (cuts == NULL || root == NULL || until == NULL || ending == NULL || *out == NULL)
	{
		*out = NULL;
		return 0;
	}
	n = find_cuts(b, cuts, root, until, ending);
	for (double most = cuts[n - 1].before; most > cuts[n - 1].before / 4096; most /= 1.3)
	{
		double		cost = pack(cuts, n, most, NULL, &n_at);

		if (best < 0 || cost < best)
		{
			best = cost;
			best_most = most;
		}
	}
	(void) pack(cuts, n, best_most, *out, &n_at);
	return n_at - 1;
}
