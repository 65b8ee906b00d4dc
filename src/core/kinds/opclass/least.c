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
 * What an update takes at most, over its traffic at the bandwidth.  PyTorch's updates of many small tensors take 2 to 3 times
 * that (timm's rows); on cards with few rows, with an update and without, chance decides what the fit takes for one.
 */
#define MOST_UPDATE		3.0

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

/* Whether the bandwidth of the device says what the update takes. */
static bool
has_known_update(const pm_question *q)
{
	return !q->gpu->is_cpu && q->optimizer != PM_OPT_OTHER && !pm_framework_fuses(q->framework);
}

double
pm_opclass_least_update(const pm_question *q)
{
	return has_known_update(q) ? 1 / UPDATE_SHARE : 0;
}

double
pm_opclass_most_update(const pm_question *q)
{
	return has_known_update(q) ? MOST_UPDATE : INFINITY;
}
