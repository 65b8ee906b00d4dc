/*
 * memory_judging.h - judges methods to predict memory on measurements.
 */
#ifndef PM_PG_MEMORY_JUDGING_H
#define PM_PG_MEMORY_JUDGING_H

#include "utils/jsonb.h"

#include "memory/memory_kinds.h"
#include "outcome.h"

/* An unknown one is an error that lists the known. */
extern const pm_memory_kind *pm_memory_kind_or_error(const char *name);

/* The only option of a kind of memory: the seed, by which networks are dealt to folds. options may be NULL. Raises. */
extern uint64 pm_memory_kind_seed(const pm_memory_kind *kind, Jsonb *options);

/* Predict the rows of each fold of o from the others. Raises. */
extern void pm_memory_cross_validate(const pm_memory_kind *kind, pm_outcome *o, int n_folds, pm_costs *cost);

#endif
