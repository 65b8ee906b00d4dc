/*
 * passes.c - forward passes of inference that train along, and the error on
 * those of the networks that a fold tests.
 */
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the fold tests rows of the network of a pass, or, by families, of its family. */
static bool
is_tested(const rows *r, const folds *f, int fold, bool families, const rows *passes, int pass)
{
	for (int i = 0; i < r->set.n; i++)
		if (f->fold_of[i] == fold &&
			(r->set.samples[i].query.graph->structure == passes->set.samples[pass].query.graph->structure ||
			 (families && strcmp(r->family[i], passes->family[pass]) == 0)))
			return true;
	return false;
}

bool *
join_passes(const rows *passes, const rows *r, const folds *f, int fold, bool families, pm_arena *a, pm_dataset *train)
{
	bool	   *tested = PM_NEW(a, bool, passes->set.n + 1);

	train->passes = PM_NEW(a, pm_sample, passes->set.n + 1);
	for (int i = 0; i < passes->set.n; i++)
		if (!(tested[i] = is_tested(r, f, fold, families, passes, i)))
			train->passes[train->n_passes++] = passes->set.samples[i];
	return tested;
}

void
print_passes(const rows *passes, const bool *tested, const pm_predictor *p)
{
	pm_errors	sum = {0};
	pm_status	st;

	for (int i = 0; i < passes->set.n; i++)
	{
		const pm_sample *s = &passes->set.samples[i];
		pm_arena	scratch;
		double		ms;

		if (!tested[i])
			continue;
		pm_arena_init_malloc(&scratch);
		if (pm_predictor_predict(p, s, &scratch, &ms, NULL, NULL, &st) != PM_OK)
			die(s->query.graph->name, &st);
		pm_errors_add(&sum, s->step_ms, ms);
		pm_arena_release(&scratch);
	}
	if (sum.n > 0)
		printf("  forward passes  test %4d  mape %6.2f %%\n", sum.n, 100 * pm_errors_mape(&sum));
}
