/*
 * memory_factors.h - the rows of perfmodel.memory_factor.
 */
#ifndef PM_PG_MEMORY_FACTORS_H
#define PM_PG_MEMORY_FACTORS_H

#include "memory/estimate.h"

/*
 * The factors for a question: those of the table that were calibrated on its
 * device, else those that ship.  Raises.
 */
extern void pm_memory_factors_find(const pm_question *q, pm_memory_factors *f);

#endif
