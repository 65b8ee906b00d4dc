/*
 * plausible.c - whether the result of a fit of a cluster is possible.
 */
#include "scaling/fit.h"

#include <math.h>

#define WORST_FIT	0.5			/* a fit that is still wrong by so much says nothing */
#define SLOWEST		0.001		/* of the speed that its row says, bandwidth or fixed time, that a link may be down to */
#define SOONEST		0.6			/* of the time that one GPU needs for the same; caches and clocks explain no more */

/* Rows that are done sooner than the work of one GPU. */
static int
too_soon(const pm_scaled_row *rows, int n)
{
	pm_parallel alone = PM_PARALLEL_NONE;
	int			count = 0;

	for (int i = 0; i < n; i++)
	{
		pm_scaled	s;

		alone.accumulation = rows[i].parallel.accumulation;
		pm_scaled_step(rows[i].shape, &alone, NULL, 1, &s);
		count += rows[i].parallel.tp * rows[i].parallel.pp == 1 && rows[i].step_ms < SOONEST * s.step_ms;
	}
	return count;
}

/* Share of the bandwidth of a link's row that a whole machine is left with; 1 for a link that is not there. */
static double
left_of(const pm_link *link, double factor, const pm_fabric *f)
{
	double		gbs = link->n_rows > 0 ? pm_link_for(link, f->gpus_per_node).busbw_gbs : 1;

	return link->n_rows > 0 ? 1 / (1 / factor + gbs * pm_gpus_of_a_host(f, f->gpus_per_node) * f->host_s_per_gb) : 1;
}

double
pm_fabric_slowest(const pm_fabric *f)
{
	double		gbs = fmin(left_of(&f->intra, f->intra_factor, f), left_of(&f->inter, f->inter_factor * fmin(1, f->pair_factor), f));

	return fmin(gbs, 1 / fmax(f->latency_factor, 1e-9));
}

pm_code
pm_fabric_plausible(const pm_fabric *f, const pm_scaled_row *rows, int n, double before, double after, pm_status *st)
{
	int			soon = too_soon(rows, n);
	double		slowest = pm_fabric_slowest(f);

	if (2 * soon > n)
	{
		pm_fail(st, PM_ERR_DATA, "%d of %d measurements on several GPUs take less than %g of the step on one GPU", soon, n, SOONEST);
		pm_hint(st, "step_ms is the time of one step, in which each GPU trains on a batch of its own.");
	}
	else if (after > WORST_FIT)
	{
		pm_fail(st, PM_ERR_DATA, "the measurements do not fit cluster \"%.*s\": the best fit is wrong by %.0f %%", pm_shown(f->name), f->name, 100 * after);
		pm_hint(st, "Look for measurements with a wrong world_size, nodes or step_ms.");
	}
	else if (after > before + 0.01)
	{
		pm_fail(st, PM_ERR_DATA, "the measurements fit cluster \"%.*s\" no better than what is known of it: %.1f %% before, %.1f %% after",
				pm_shown(f->name), f->name, 100 * before, 100 * after);
		pm_hint(st, "Add measurements of other networks or of other numbers of GPUs.");
	}
	else if (slowest < SLOWEST)
	{
		pm_fail(st, PM_ERR_DATA, "the links of cluster \"%.*s\" would be %.0f times slower than their rows in perfmodel.interconnect say",
				pm_shown(f->name), f->name, 1 / slowest);
		pm_hint(st, "Describe the cluster with the links that it has, or look for measurements that something else slowed down.");
	}
	else
		return PM_OK;
	return PM_ERR_DATA;
}
