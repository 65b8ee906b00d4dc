/*
 * quantity.h - a quantity that is measured and predicted: a positive number
 * with a unit.
 */
#ifndef PM_QUANTITY_H
#define PM_QUANTITY_H

/* Numbers of the table below. */
typedef enum pm_quantity_id
{
	PM_STEP_MS,
	PM_PEAK_MEMORY_MB,			/* no pm_kind learns it: memory/memory_kinds.h */
	PM_N_QUANTITIES
} pm_quantity_id;

typedef struct pm_quantity
{
	pm_quantity_id id;
	const char *name;			/* of its column, unit included: "step_ms" */
	const char *unit;			/* "ms" */
	double		min,			/* bounds of a measurement, inclusive */
				max;
} pm_quantity;

extern const pm_quantity pm_quantities[PM_N_QUANTITIES];

/* The quantity with this name ("step_ms"); NULL: there is none. */
const pm_quantity *pm_quantity_find(const char *name);

/* For pm_kind.quantities, the set of quantities that a kind learns: the bit of one. */
#define PM_LEARNS(id)	(1u << (id))

#endif
