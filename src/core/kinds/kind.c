/*
 * kind.c - the list of kinds, and what is the same for several of them.
 */
#include "kinds/kind.h"

#include <math.h>
#include <string.h>

static const pm_kind *const kinds[] = {&pm_kind_mdot, &pm_kind_roofline, &pm_kind_linear,
	&pm_kind_perfnet, &pm_kind_gnn, &pm_kind_ets, &pm_kind_transformer,
	&pm_kind_opclass, &pm_kind_seer, &pm_kind_habitat};

#define N_KINDS ((int) (sizeof(kinds) / sizeof(kinds[0])))

const pm_kind *
pm_kind_at(int i)
{
	return i >= 0 && i < N_KINDS ? kinds[i] : NULL;
}

const pm_kind *
pm_kind_find(const char *name)
{
	for (int i = 0; i < N_KINDS; i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

void
pm_share_by_roofline(const pm_tokens *t, double step_ms, pm_part *parts, int *n_parts)
{
	for (int i = 0; i < t->n; i++)
		parts[i] = (pm_part) {.token = i, .forward_ms = NAN, .backward_ms = NAN, .update_ms = NAN,
			.step_ms = step_ms * pm_roofline_share(t, i), .bound = t->bound[i]};
	*n_parts = t->n;
}
