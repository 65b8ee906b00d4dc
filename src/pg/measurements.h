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

/* Measurements for the core, with the words that reports group by. */
typedef struct pm_rows
{
	pm_dataset	set;
	int			n_graphs;
	uint64		hash;			/* of all their data that the core gets */
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
 * The measurements that argument i names.  NULL: all; the argument was left out,
 * and has its default, perfmodel.all_profiles().  *none: the argument is NULL or
 * an empty array, as from a query that found nothing.
 */
extern ArrayType *pm_profiles_arg(FunctionCallInfo fcinfo, int i, bool *none);
/* pm_profiles_arg(), but NULL and an empty array are an error. */
extern ArrayType *pm_some_profiles_arg(FunctionCallInfo fcinfo, int i);

/*
 * If there are very many ids: those of existing measurements, each once; otherwise ids itself.  For = ANY: the server prepares
 * such an array without checking for a cancel, which takes 10 s for tens of millions of ids.
 */
extern ArrayType *pm_stored_profiles(ArrayType *ids);

/* The quantity that argument i names, "step_ms" by default; an unknown one is an error that lists the known. */
extern const pm_quantity *pm_quantity_arg(FunctionCallInfo fcinfo, int i);

/* The use of measurements of inference. */
typedef enum pm_rows_use
{
	PM_ROWS_STEPS,				/* an error if ids name one */
	PM_ROWS_ANY_MODE,			/* rows like the others, with their mode, if ids name them */
	PM_ROWS_PASSES_APART		/* in set.passes; in the arrays, they follow the steps */
} pm_rows_use;

/*
 * Load measurements into the current context.  ids NULL: all training steps on
 * one device, and with PM_ROWS_PASSES_APART also all of inference.  limit: bytes that the context may take; 0: no limit.  Raises
 * for ids that do not exist, for rows of another use, and above the limit.  Rows of graphs whose steps cannot be predicted are
 * left out, with a NOTICE.
 */
extern pm_rows *pm_rows_load(ArrayType *ids, pm_rows_use use, bool merged, Size limit);

/* Keep only the rows whose peak of memory was measured; raises when there are none. */
extern void pm_rows_keep_peaks(pm_rows *r);

/*
 * The hash of each row as in the function row_hash(), the same in every database:
 * bigint[], sorted, without duplicates, in the current context.
 */
extern Datum pm_rows_hashes(const pm_rows *r);

/* Bytes of rows and graphs, with what else is in their context. */
extern Size pm_rows_bytes(const pm_rows *r);

/* Raise when they are more than allowed. */
extern void pm_rows_check_limit(const pm_rows *r);

/* A NOTICE about times that are impossible on their devices, such as seconds instead of milliseconds. Of many rows, only some are checked. */
extern void pm_rows_notice_times(const pm_rows *r);

/* A NOTICE about rows that are far from their predictions, predicted_ms[set.n], except rows of the other NOTICE. */
extern void pm_rows_notice_far(const pm_rows *r, const double *predicted_ms);

/* The sheet of a device by its exact name, in the memory of r; copied from the table at the first call. */
extern const pm_gpu *pm_rows_sheet(pm_rows *r, const char *name);

#endif
