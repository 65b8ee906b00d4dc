/*
 * quantity.c - the table of quantities.
 */
#include "features/quantity.h"

#include <stddef.h>
#include <string.h>

const pm_quantity pm_quantities[PM_N_QUANTITIES] = {
	/* a nanosecond is less than any launch; ten days are more than any step */
	[PM_STEP_MS] = {.id = PM_STEP_MS, .name = "step_ms", .unit = "ms", .min = 1e-6, .max = 1e9},
	/* as profile.peak_memory_mb, where 0 is not a measurement */
	[PM_PEAK_MEMORY_MB] = {.id = PM_PEAK_MEMORY_MB, .name = "peak_memory_mb", .unit = "MB", .min = 1e-6, .max = 1e9},
};

const pm_quantity *
pm_quantity_find(const char *name)
{
	for (int i = 0; i < PM_N_QUANTITIES; i++)
		if (strcmp(pm_quantities[i].name, name) == 0)
			return &pm_quantities[i];
	return NULL;
}
