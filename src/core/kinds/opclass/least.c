/*
 * least.c - what coefficients of the kind "opclass" are at least.
 *
 * Rows at small batches hardly show what a large matrix product takes, or an
 * elementwise operator: launches and weights are most of it.  Without a bound,
 * 0 fits them as well.  Rows of forward and backward passes alone, which many
 * cards have and no others, say nothing of the update.
 */
#include "kinds/opclass/opclass.h"

#include <math.h>

#define LEAST_PRODUCT	0.75	/* of the time of large matrix products at the peak; some of it counts as memory */
#define LEAST_MEMORY	1.0		/* of the time of traffic at the bandwidth */

/*
 * Share of the bandwidth that an update is taken to reach.  Elementwise kernels of NeuSight's single operators (add, mul and
 * div of 100 MB and more, 8 cards) reach 0.71 to 0.91, as medians of a card.
 */
#define UPDATE_SHARE	0.75

/*
 * What an update takes at most, beyond its traffic at that share: PyTorch's updates of small tensors take up to 3 times
 * their traffic at the bandwidth (timm's rows), because each term of the formula is a kernel to launch, for Adam about a
 * dozen.  On cards with few rows, with an update and without, chance decides what the fit takes for one.
 */
#define MOST_UPDATE		3.0
#define LAUNCHES_US		60.0

/* Class of a group of columns; PM_CLASS_OTHER for operators that are not known. */
static int
class_of_group(const char *const *types, int group)
{
	int			type = types != NULL ? pm_opclass_type_find(types[group]) : -1;

	if (types == NULL)
		return group < PM_N_CLASSES ? group : PM_CLASS_CONV;
	if (type < 0 || type == PM_OP_UNKNOWN)
		return PM_CLASS_OTHER;
	return type >= pm_op_count() ? PM_CLASS_CONV : (int) pm_op_class(type);
}

/* Convolutions have algorithms with less arithmetic, and copies are counted by what frameworks usually do: both have no bound. */
void
pm_opclass_least(const pm_columns *c, const char *const *types, double compute_factor, double memory_factor, double *least)
{
	for (int g = 0; g < c->groups; g++)
	{
		int			class = class_of_group(types, g);

		if (class == PM_CLASS_GEMM && c->product[g] >= 0)
			for (int f = 0; f < PM_N_DTYPES; f++)
				least[pm_term_product(c, f, c->product[g])] = LEAST_PRODUCT / compute_factor;
		else if (class == PM_CLASS_NORM || class == PM_CLASS_ELEMENTWISE || class == PM_CLASS_POOL || class == PM_CLASS_ATTENTION ||
				 class == PM_CLASS_EMBEDDING)
			least[PM_N_TERMS * g + PM_TERM_MEMORY] = LEAST_MEMORY / memory_factor;
	}
}

bool
pm_opclass_knows_update(const pm_question *q)
{
	return !q->gpu->is_cpu && q->optimizer != PM_OPT_OTHER && !pm_framework_fuses(q->framework);
}

double
pm_opclass_bounded_update(double traffic_ms, double update_ms)
{
	double		least = traffic_ms / UPDATE_SHARE;
	double		most = least + fmin((MOST_UPDATE - 1 / UPDATE_SHARE) * traffic_ms, LAUNCHES_US / 1000);

	return fmin(fmax(update_ms, least), most);
}
