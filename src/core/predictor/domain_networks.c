/*
 * domain_networks.c - of which kind a network is, what the time of training
 * networks is made of, and how much of a question's time none of them has.
 *
 * The distance of two networks is half the sum of the differences of their
 * shares (total variation): 0 when the same types of operators take the same
 * shares of the time, 1 when they have none in common.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/metrics.h"
#include "predictor/domain.h"
#include "predictor/domain_parts.h"

#define SAME	0.01			/* distance within which one network stands for another */
#define USUAL_PART			0.95	/* of the training networks, whose distances are usual ... */
#define USUAL_DISTANCE		0.15	/* ... and what is usual in any case */

pm_network_kind
pm_domain_kind_of(const pm_tokens *t)
{
	double		flops[PM_N_NETWORK_KINDS] = {0};
	pm_network_kind most = PM_NETWORK_OTHER;

	for (int i = 0; i < t->n; i++)
	{
		int			class = t->op_class[i];

		flops[class == PM_CLASS_CONV ? PM_NETWORK_CONV : class == PM_CLASS_RECURRENT ? PM_NETWORK_RECURRENT : PM_NETWORK_OTHER] +=
			t->skeleton->copies[i] * t->flops[i];
	}
	for (int kind = 0; kind < PM_NETWORK_OTHER; kind++)
		if (flops[kind] > flops[most])
			most = (pm_network_kind) kind;
	return most;
}

/* What a network and one that is remembered have in common. */
static double
overlap(const network *n, const double *share)
{
	double		sum = 0;

	for (int i = 0; i < n->n; i++)
	{
		double		asked = share[n->type[i]];

		sum += n->share[i] < asked ? n->share[i] : asked;
	}
	return sum;
}

/* The network that shares most with one, of those in `has`; -1: there is none. *distance: 0..1, what they do not share. */
static int
nearest_of(const struct pm_domain *t, const uint32_t *has, const double *share, double *distance)
{
	int			nearest = -1;
	double		most = 0;

	for (int i = 0; i < t->n_networks; i++)
	{
		double		common = has == NULL || has[i / 32] >> i % 32 & 1 ? overlap(&t->networks[i], share) : -1;

		if (common > most || (common == most && nearest < 0))
		{
			most = common;
			nearest = i;
		}
	}
	*distance = fmax(0, 1 - most);
	return nearest;
}

double
pm_networks_distance(const struct pm_domain *t, const uint32_t *has, const double *share)
{
	double		distance;

	if (!t->knows_networks)
		return 0;
	nearest_of(t, has, share, &distance);
	return distance;
}

static pm_code
make_room(struct pm_domain *t, pm_arena *a, pm_status *st)
{
	int			room = t->room == 0 ? 64 : 2 * t->room;
	network    *longer = PM_LONGER(a, network, t->networks, t->n_networks, room);

	if (!longer)
		return pm_no_memory(st, a);
	t->networks = longer;
	t->room = room;
	return PM_OK;
}

static pm_code
take_network(network *n, int types, pm_arena *a, pm_status *st)
{
	n->n = types;
	n->type = PM_NEW_PACKED(a, int32_t, types);
	n->share = PM_NEW_PACKED(a, pm_real, types);
	return n->type && n->share ? PM_OK : pm_no_memory(st, a);
}

pm_code
pm_networks_learn(struct pm_domain *t, const double *share, pm_arena *a, int32_t *index, pm_status *st)
{
	network    *n;
	int			types = 0;
	double		distance;
	pm_code		rc;

	t->knows_networks = true;
	*index = nearest_of(t, NULL, share, &distance);
	if (t->n_networks == MAX_NETWORKS || (t->n_networks > 0 && distance <= SAME))
		return PM_OK;
	*index = t->n_networks;
	if (t->n_networks == t->room && (rc = make_room(t, a, st)) != PM_OK)
		return rc;
	for (int i = 0; i < t->n_types; i++)
		types += share[i] > 0;
	n = &t->networks[t->n_networks];
	if ((rc = take_network(n, types, a, st)) != PM_OK)
		return rc;
	for (int i = 0, k = 0; i < t->n_types; i++)
		if (share[i] > 0)
		{
			n->type[k] = i;
			n->share[k++] = (pm_real) share[i];
		}
	t->n_networks++;
	return PM_OK;
}

/* The limit from the rows whose device is a CPU or is not (cpu 1 or 0), or from all (cpu -1); 0: the distance of none is known. known: [d->n] */
static double
usual_limit(const pm_dataset *d, const double *distance, int cpu, double *known)
{
	int			n = 0;

	for (int i = 0; i < d->n; i++)
		if (!isnan(distance[i]) && (cpu < 0 || d->samples[i].query.gpu->is_cpu == cpu))
			known[n++] = distance[i];
	pm_sort(known, n);
	return n > 0 ? fmax(pm_percentile(known, n, USUAL_PART), USUAL_DISTANCE) : 0;
}

pm_code
pm_networks_limit(struct pm_domain *t, const pm_dataset *d, const double *distance, pm_arena *a, pm_status *st)
{
	double	   *known = PM_NEW(a, double, d->n);
	double		all;

	if (!known)
		return pm_no_memory(st, a);
	all = usual_limit(d, distance, -1, known);
	for (int cpu = 0; cpu < 2 && all > 0; cpu++)
	{
		double		of_kind = usual_limit(d, distance, cpu, known);

		t->limit[cpu] = of_kind > 0 ? of_kind : all;
	}
	return PM_OK;
}

/* ---- storing ---- */

void
pm_networks_save(const struct pm_domain *t, pm_buffer *b)
{
	pm_put_u32(b, t->knows_networks);
	for (int cpu = 0; cpu < 2; cpu++)
		pm_put_f64(b, fmin(t->limit[cpu], DBL_MAX));
	pm_put_u32(b, (uint32_t) t->n_networks);
	for (int i = 0; i < t->n_networks; i++)
	{
		const network *n = &t->networks[i];

		pm_put_u32(b, (uint32_t) n->n);
		for (int k = 0; k < n->n; k++)
			pm_put_u32(b, (uint32_t) n->type[k]);
		pm_put_reals(b, n->share, (size_t) n->n);
	}
}

pm_code
pm_networks_load(struct pm_domain *t, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	t->limit[0] = t->limit[1] = INFINITY;
	if (r->failed)
		return PM_OK;
	t->knows_networks = pm_get_u32(r, 1);
	for (int cpu = 0; cpu < 2; cpu++)
		t->limit[cpu] = pm_get_above(r, 0);
	t->n_networks = t->room = (int) pm_get_u32(r, MAX_NETWORKS);
	if ((t->networks = PM_NEW(a, network, t->n_networks)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < t->n_networks && !r->failed; i++)
	{
		network    *n = &t->networks[i];
		int			types = (int) pm_get_u32(r, (uint32_t) t->n_types);

		if ((rc = take_network(n, types, a, st)) != PM_OK)
			return rc;
		for (int k = 0; k < types; k++)
			n->type[k] = (int32_t) pm_get_u32(r, (uint32_t) (t->n_types - 1));
		pm_get_reals(r, n->share, (size_t) types);
	}
	return PM_OK;
}
