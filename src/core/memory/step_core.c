/*
 * step_core.c - attention that runs again in the backward pass: from the product
 * of query and key to that with the value.
 *
 * Only what these operators read of others is kept (Korthikanti et al., arXiv
 * 2205.05198: selective activation recomputation).  An attention that is one
 * kernel keeps no scores, and does not run again.
 */
#include "memory/step_build.h"

pm_code
pm_step_find_cores(pm_step_build *b, const pm_attention *found, int n)
{
	int			n_nodes = b->g->n_nodes;

	b->core = PM_NEW(b->arena, int32_t, n_nodes);
	b->core_from = PM_NEW(b->arena, int32_t, n_nodes);
	b->core_reads = PM_NEW(b->arena, int32_t, n_nodes);
	if (b->core == NULL || b->core_from == NULL || b->core_reads == NULL)
		return pm_no_memory(b->st, b->arena);
	for (int i = 0; i < n_nodes; i++)
		b->core[i] = b->core_reads[i] = -1;
	for (int a = 0; a < n; a++)
	{
		int			end = found[a].end;

		if (!b->g->nodes[end].grad || b->fused[end] != 0 || b->last_use[end] <= end)
			continue;
		b->core_from[end] = found[a].scores;
		b->core[end] = end;
	}
	/* each operator between has one reader, so that it is of the attention of which that is */
	for (int i = n_nodes - 1; i >= 0; i--)
		for (int k = 0; b->core[i] >= 0 && k < b->g->nodes[i].n_inputs; k++)
		{
			int			p = b->g->nodes[i].inputs[k];

			if (b->attention[p] == PM_FUSED_INSIDE && p >= b->core_from[b->core[i]])
				b->core[p] = b->core[i];
		}
	return PM_OK;
}

/* Whether n reads with its input number k what no input before it reads. */
static bool
reads_first(const pm_node *n, int k)
{
	for (int j = 0; j < k; j++)
		if (n->inputs[j] == n->inputs[k])
			return false;
	return true;
}

void
pm_step_keep_core_reads(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];

	for (int k = 0; k < n->n_inputs; k++)
		if (b->core[n->inputs[k]] != b->core[i])
		{
			pm_step_hold(b, b->storage[n->inputs[k]]);
			pm_step_link(b, &b->core_reads[b->core[i]], b->storage[n->inputs[k]]);
		}
}

/* What the forward pass gives back after node i, its last reader, it gives back once more when that runs again. */
static void
hold_what_expires(pm_step_build *b, int i)
{
	const pm_node *n = &b->g->nodes[i];

	for (int k = 0; k < n->n_inputs; k++)
	{
		int			p = n->inputs[k];

		if (b->core[p] != b->core[i] && b->last_use[p] == i && reads_first(n, k) && b->g->nodes[p].op != b->input_op)
			pm_step_hold(b, b->storage[p]);
	}
}

void
pm_step_run_core_again(pm_step_build *b, int end)
{
	int32_t		output = b->storage[end];

	b->core_runs_again = true;
	for (int i = b->core_from[end]; i <= end; i++)
		if (b->core[i] == end)
		{
			hold_what_expires(b, i);
			pm_step_forward(b, i, i + 1, true);
		}
	b->core_runs_again = false;
	/* whoever reads it has the first one */
	pm_step_drop(b, b->storage[end]);
	b->storage[end] = output;
	pm_step_drop_list(b, &b->core_reads[end]);
	b->now = end;
}
