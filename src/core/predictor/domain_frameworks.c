/*
 * domain_frameworks.c - the framework for a question that names none: the
 * release of most measurements of the card, in training or, if there were any
 * later, in the recalibration.
 *
 * What is learned of all frameworks of a card together is true for none of
 * them: on its own rows, a predictor errs twice as much by it.  But a card that
 * was measured with another framework alone than most, such as TensorFlow where
 * the others had PyTorch, is answered for by what cards have in common.
 */
#include "kinds/frameworks.h"
#include "predictor/domain.h"
#include "predictor/domain_parts.h"

#include <string.h>

#define LEAST_ROWS	3			/* of a release on a card; names that every run makes anew tell nothing */

/* Rows of all releases of framework i. */
static int
rows_of_all_releases(const pm_domain *t, int i)
{
	int			rows = 0;

	for (int k = 0; k < t->n_frameworks; k++)
		if (pm_same_framework(t->frameworks[k].name, t->frameworks[i].name))
			rows += t->frameworks[k].rows;
	return rows;
}

/* A release of the framework that most rows are of; -1 where no row names one. */
static int
most_used(const pm_domain *t)
{
	int			most = -1;

	for (int i = 0; i < t->n_frameworks; i++)
		if (most < 0 || rows_of_all_releases(t, i) > rows_of_all_releases(t, most))
			most = i;
	return most;
}

/* rows[n_frameworks] of d on a device. */
static void
count_rows(const pm_domain *t, const pm_dataset *d, const char *gpu, int *rows)
{
	memset(rows, 0, t->n_frameworks * sizeof(int));
	for (int i = 0; i < d->n; i++)
	{
		const pm_question *q = &d->samples[i].query;
		int			at = q->framework != NULL && strcmp(q->gpu->name, gpu) == 0 ? pm_domain_find_framework(t, q->framework) : -1;

		if (at >= 0)
			rows[at]++;
	}
}

/* Of the releases of framework `usual`, the one of most rows[n_frameworks]; -1 where none has enough. */
static int
release_of_most(const pm_domain *t, int usual, const int *rows)
{
	int			most = -1;

	for (int i = 0; i < t->n_frameworks; i++)
		if (rows[i] >= LEAST_ROWS && (most < 0 || rows[i] > rows[most]) &&
			pm_same_framework(t->frameworks[i].name, t->frameworks[usual].name))
			most = i;
	return most;
}

pm_code
pm_domain_choose_frameworks(pm_domain *t, int first, const pm_dataset *d, pm_arena *a, pm_status *st)
{
	int			usual = most_used(t);
	int		   *rows = PM_NEW(a, int, t->n_frameworks + 1);

	if (!rows)
		return pm_no_memory(st, a);
	for (int gpu = 0; gpu < t->n_gpus; gpu++)
	{
		int			most;

		count_rows(t, d, t->gpus[gpu].name, rows);
		most = release_of_most(t, usual, rows);
		/* a recalibration fits the answers for the releases of its rows: the same must answer a question that names none */
		if (most >= 0 || gpu >= first)
			t->gpus[gpu].framework = most;
	}
	return PM_OK;
}

const char *
pm_domain_framework(const pm_domain *t, const char *gpu)
{
	int			at = pm_domain_find_gpu(t, gpu);
	int			framework = at >= 0 ? t->gpus[at].framework : -1;

	return framework >= 0 ? t->frameworks[framework].name : NULL;
}
