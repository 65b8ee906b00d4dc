/*
 * measurements.h - rows of perfmodel.profile as the core learns from them.
 */
#ifndef PM_PG_MEASUREMENTS_H
#define PM_PG_MEASUREMENTS_H

#include "fmgr.h"
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
 * Which measurements argument i names.  "All" is said by leaving the argument
 * out: its default is perfmodel.all_profiles(), for which NULL is returned.  A
 * query that found nothing passes NULL or an empty array, and that is none.
 */
extern ArrayType *pm_profiles_arg(FunctionCallInfo fcinfo, int i, bool *none);
/* The same; none is an error. */
extern ArrayType *pm_some_profiles_arg(FunctionCallInfo fcinfo, int i);

/* The quantity that argument i names, "step_ms" by default; an unknown one is an error that lists the known. */
extern const pm_quantity *pm_quantity_arg(FunctionCallInfo fcinfo, int i);

/*
 * Load measurements into the current context.  ids NULL: all training steps on
 * one device.  Raises for ids that do not exist and rows that cannot be used.
 */
extern pm_rows *pm_rows_load(ArrayType *ids, bool merged);

#endif
