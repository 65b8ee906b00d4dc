/*
 * measurements.h - rows of perfmodel.profile as the core learns from them.
 */
#ifndef PM_PG_MEASUREMENTS_H
#define PM_PG_MEASUREMENTS_H

#include "utils/array.h"

#include "predictor/predictor.h"

/* Measurements as the core wants them, with the words that reports group by. */
typedef struct pm_rows
{
	pm_dataset	set;
	int			n_graphs;
	uint64		hash;			/* of everything the core is told about them */
	int64	   *ids;
	const char **gpu;
	const char **dtype;
	const char **layout;
	const char **framework;		/* "" when not known */
	const char **family;
} pm_rows;

/*
 * Load measurements into the current context.  ids NULL: all training steps on
 * one device.  Raises for ids that do not exist and rows that cannot be used.
 */
extern pm_rows *pm_rows_load(ArrayType *ids, bool merged);

#endif
