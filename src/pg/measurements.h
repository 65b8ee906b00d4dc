/*
 * measurements.h - rows of perfmodel.profile in the form from which the core
 * learns.
 */
#ifndef PM_PG_MEASUREMENTS_H
#define PM_PG_MEASUREMENTS_H

#include "fmgr.h"
#include "utils/array.h"
#include "utils/hsearch.h"

#include "predictor/predictor.h"

/* Measurements as the core wants them, with the words that reports group by. */
typedef struct pm_rows
{
	pm_dataset	set;
	int			n_graphs;
	uint64		hash;			/* of everything the core is told about them */
	int64	   *ids;
	double	   *peak_memory_mb; /* NaN: not measured */
	const char **gpu;
	const char **dtype;
	const char **layout;
	const char **framework;		/* "" when not known */
	const char **family;
	MemoryContext cxt;			/* of all of it */
	HTAB	   *sheets;			/* data sheets by hash of the name */
	Size		limit;			/* bytes that cxt may take; 0: any */
} pm_rows;

/*
 * Which measurements argument i names.  "All" is said by leaving the argument
 * out: its default is perfmodel.all_profiles(), for which NULL is returned.  A
 * query that found nothing passes NULL or an empty array, and that is none.
 */
extern ArrayType *pm_profiles_arg(FunctionCallInfo fcinfo, int i, bool *none);
/* The same; none is an error. */
extern ArrayType *pm_some_profiles_arg(FunctionCallInfo fcinfo, int i);

/*
 * Of very many ids those that measurements have, each once; else the ids as they are.  For = ANY, which the server prepares
 * in one go that no cancel ends, 10 s long for tens of millions of ids.
 */
extern ArrayType *pm_stored_profiles(ArrayType *ids);

/* The quantity that argument i names, "step_ms" by default; an unknown one is an error that lists the known. */
extern const pm_quantity *pm_quantity_arg(FunctionCallInfo fcinfo, int i);

/* What becomes of measurements of inference. */
typedef enum pm_rows_use
{
	PM_ROWS_STEPS,				/* to name one is an error */
	PM_ROWS_ANY_MODE,			/* those that are named are rows like the others, with their mode */
	PM_ROWS_PASSES_APART		/* they are set.passes; the arrays have them behind the steps */
} pm_rows_use;

/*
 * Load measurements into the current context.  ids NULL: all training steps on
 * one device, and with PM_ROWS_PASSES_APART all of inference.  limit: bytes that the context may take then, 0: any.  Raises for
 * ids that do not exist, rows that are of other use, and when the limit is passed.  Rows of graphs whose steps cannot be
 * predicted are left out, with a notice.
 */
extern pm_rows *pm_rows_load(ArrayType *ids, pm_rows_use use, bool merged, Size limit);

/* Keep only the rows whose peak of memory was measured; raises when there are none. */
extern void pm_rows_keep_peaks(pm_rows *r);

/*
 * What each row says, as a hash that is the same in every database: the
 * function row_hash().  bigint[], sorted and each once, in the current context.
 */
extern Datum pm_rows_hashes(const pm_rows *r);

/* Bytes of rows and graphs, with what else is in their context. */
extern Size pm_rows_bytes(const pm_rows *r);

/* Raise when they are more than allowed. */
extern void pm_rows_check_limit(const pm_rows *r);

/* A NOTICE about rows whose times their devices cannot have, such as seconds in place of milliseconds; of many rows it looks at some. */
extern void pm_rows_notice_times(const pm_rows *r);

/* The same about rows that are far from what a predictor says of them, predicted_ms[set.n], and that the other NOTICE does not have. */
extern void pm_rows_notice_far(const pm_rows *r, const double *predicted_ms);

/* The sheet of a device of the rows by its exact name, in their memory; made of the table's when it is new. */
extern const pm_gpu *pm_rows_sheet(pm_rows *r, const char *name);

#endif
