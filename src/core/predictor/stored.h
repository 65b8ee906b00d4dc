/*
 * stored.h - predictors as bytes: writing and reading them.
 */
#ifndef PM_STORED_H
#define PM_STORED_H

#include "predictor/predictor.h"

/* Whoever keeps predictors neither stores nor reads larger ones: some 500 million weights, far more than any kind has. */
#define PM_MAX_STORED_BYTES ((size_t) 2 * 1024 * 1024 * 1024)

/*
 * The whole stored form: magic, format version, kind, quantity, schema, options, what the kind knows, trust, correction,
 * CRC-32C.
 */
pm_code		pm_predictor_save(const pm_predictor *p, pm_arena *a, uint8_t **data, size_t *len, pm_status *st);
/*
 * The same of a predictor that was just trained on d, which is then read back
 * and asked some of the rows: it must answer with the same bits, and soundly.
 * PM_ERR_DIVERGED: it does not, and is not worth keeping.
 */
pm_code		pm_predictor_save_proven(const pm_predictor *p, const pm_dataset *d, pm_arena *a, uint8_t **data, size_t *len,
									 pm_status *st);
/*
 * PM_ERR_FORMAT: damaged.  PM_ERR_OUTDATED: of another release, which this one
 * cannot use; the message says what differs.
 */
pm_code		pm_predictor_load(const uint8_t *data, size_t len, pm_arena *a, pm_predictor *p, pm_status *st);

#endif
